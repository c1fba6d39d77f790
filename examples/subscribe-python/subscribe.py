#!/usr/bin/env python3
"""Prints every mask of every camera: the camera, the frame's number, and each
object's name, state, area and centre, taken from the decoded mask, and the
extent of what has a track.

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


def check(counts, pixels):
    """Raises ValueError unless counts are the runs of so many pixels: pycocotools
    does not look, and makes up a mask, or reads beyond its memory."""
    lengths, value, shift = [], 0, 0
    for c in counts.encode():
        value |= (c - 48 & 31) << shift
        shift += 5
        if c - 48 & 32:
            continue  # more of the number follows
        if c - 48 & 16:
            value -= 1 << shift
        if len(lengths) > 2:
            value += lengths[-2]
        if value < 0:
            raise ValueError(f"a run of {value} pixels")
        lengths.append(value)
        value, shift = 0, 0
    if shift or sum(lengths) != pixels:
        raise ValueError(f"runs of {sum(lengths)} pixels in a picture of {pixels}")


def line(frame, obj):
    """Returns what to print of one object."""
    check(obj.counts, frame.height * frame.width)
    rle = {"size": [frame.height, frame.width], "counts": obj.counts}
    bitmap = mask.decode(rle)  # height x width, 0 or 1
    rows, columns = bitmap.nonzero()
    state = segd_pb2.State.Name(obj.state).removeprefix("STATE_").lower()
    text = f"{frame.camera} {frame.sequence} {obj.label} {state} {len(rows)} px"
    if len(rows):
        text += f" around {columns.mean():.1f},{rows.mean():.1f}"
    if obj.HasField("extent"):  # all of it, also while it is hidden
        e = obj.extent
        text += f" within {e.x},{e.y} {e.width}×{e.height}"
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
            try:
                print(line(frame, obj), flush=True)
            except ValueError as err:  # the others of the frame may be sound
                print(f"{frame.camera} {frame.sequence}, object {obj.id}: {err}", file=sys.stderr)


try:
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "nats://127.0.0.1:4222"))
except KeyboardInterrupt:
    pass
