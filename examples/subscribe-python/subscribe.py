#!/usr/bin/env python3
"""Prints every mask of every camera: the camera, the frame's number, and each
object's name, state, area and centre, taken from the decoded mask.

    python3 -m venv venv
    venv/bin/pip install -r requirements.txt
    venv/bin/python subscribe.py [nats://127.0.0.1:4222]

To use it elsewhere, take segd_pb2.py along, which `make generate` makes of
bus/segdv1/segd.proto. docs/bus.md has every field.
"""

import asyncio
import sys

import nats
from google.protobuf import json_format
from pycocotools import mask

import segd_pb2


def decode(msg):
    """Returns the MaskFrame in a message, which is protobuf or JSON."""
    kind = (msg.headers or {}).get("Content-Type", "")
    if kind == "application/json":
        return json_format.Parse(msg.data, segd_pb2.MaskFrame(), ignore_unknown_fields=True)
    return segd_pb2.MaskFrame.FromString(msg.data)


def line(frame, obj):
    """Returns what to print of one object."""
    rle = {"size": [frame.height, frame.width], "counts": obj.counts}
    bitmap = mask.decode(rle)  # height x width, 0 or 1
    rows, columns = bitmap.nonzero()
    state = segd_pb2.State.Name(obj.state).removeprefix("STATE_").lower()
    text = f"{frame.camera} {frame.sequence} {obj.label} {state} {len(rows)} px"
    if len(rows):
        text += f" around {columns.mean():.1f},{rows.mean():.1f}"
    return text


async def complain(err):
    print(err, file=sys.stderr)


async def main(url):
    # Of a server that is away it tries again for ever, and says so by error_cb.
    nc = await nats.connect(url, max_reconnect_attempts=-1, error_cb=complain)
    sub = await nc.subscribe("segd.v1.*.*.mask")
    async for msg in sub.messages:
        frame = decode(msg)
        for obj in frame.objects:
            print(line(frame, obj), flush=True)


try:
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "nats://127.0.0.1:4222"))
except KeyboardInterrupt:
    pass
