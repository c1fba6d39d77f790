#!/usr/bin/env python3
"""Prints every mask of every camera: the camera, the frame's number, and each
object's label and area, counted from the mask as pycocotools decodes it. It reads
protobuf, as segd sends it unless configured to send JSON.

    pip install nats-py protobuf pycocotools
    protoc -I bus/segdv1 --python_out=examples segd.proto   # makes segd_pb2.py
    python3 examples/subscribe.py [nats://127.0.0.1:4222]
"""

import asyncio
import sys

import nats
import segd_pb2
from pycocotools import mask


async def main(url):
    nc = await nats.connect(url)
    sub = await nc.subscribe("segd.v1.*.*.mask")
    async for msg in sub.messages:
        frame = segd_pb2.MaskFrame.FromString(msg.data)
        for obj in frame.objects:
            rle = {"size": [frame.height, frame.width], "counts": obj.counts}
            bitmap = mask.decode(rle)  # height x width, 0 or 1
            print(frame.camera, frame.sequence, obj.label, bitmap.sum(), flush=True)


try:
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "nats://127.0.0.1:4222"))
except KeyboardInterrupt:
    pass
