"""Masks, events and status of segd, live over NATS, and requests to it.

    for frame in segd.watch("gate"):
        for name, mask in frame.masks.items():
            print(name, mask.sum(), "pixels")

The same, events, status and requests by asyncio:

    async with segd.connect("nats://127.0.0.1:4222") as client:
        async for frame in client.frames("gate"):
            ...

Messages are those of segd.proto; docs/bus.md of segd has their fields.
"""

from importlib.metadata import version

from .client import Client, NotPermitted, NotServed, Refused, connect
from .frame import Frame, name
from .mask import mask, runs
from .page import Page
from .segd_pb2 import Annotated, CaptureClock, Direction, Event, EventKind, MaskFrame, Object, ObjectList, State, Status
from .watch import Watch, watch

__version__ = version("segd")
__all__ = [
    "Annotated",
    "CaptureClock",
    "Client",
    "Direction",
    "Event",
    "EventKind",
    "Frame",
    "MaskFrame",
    "NotPermitted",
    "NotServed",
    "Object",
    "ObjectList",
    "Page",
    "Refused",
    "State",
    "Status",
    "Watch",
    "connect",
    "mask",
    "name",
    "runs",
    "watch",
]
