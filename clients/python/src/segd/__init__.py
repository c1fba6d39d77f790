"""Masks, events and status of segd, live over NATS, and requests to it.

    async with segd.connect("nats://127.0.0.1:4222") as client:
        async for frame in client.masks("gate"):
            for obj in frame.objects:
                print(obj.label, segd.mask(frame, obj).sum(), "pixels")

Messages are those of segd.proto; docs/bus.md of segd has their fields.
"""

from importlib.metadata import version

from .client import Client, NotPermitted, NotServed, Refused, connect
from .mask import mask, runs
from .segd_pb2 import Annotated, CaptureClock, Direction, Event, EventKind, MaskFrame, Object, ObjectList, State, Status

__version__ = version("segd")
__all__ = [
    "Annotated",
    "CaptureClock",
    "Client",
    "Direction",
    "Event",
    "EventKind",
    "MaskFrame",
    "NotPermitted",
    "NotServed",
    "Object",
    "ObjectList",
    "Refused",
    "State",
    "Status",
    "connect",
    "mask",
    "runs",
]
