#!/usr/bin/env python3
"""Prints every mask of every camera: the camera, the frame's number, and each
object's name, state, area and centre, taken from the decoded mask, and the
extent of what has a track.

    make clients                                # in segd's repository: dist/segd-VERSION-py3-none-any.whl
    python3 -m venv venv
    venv/bin/pip install dist/segd-*.whl
    venv/bin/python subscribe.py [nats://127.0.0.1:4222]

docs/bus.md has every field.
"""

import asyncio
import logging
import sys

import segd


def line(frame, obj):
    """Returns what to print of one object."""
    rows, columns = segd.mask(frame, obj).nonzero()
    state = segd.State.Name(obj.state).removeprefix("STATE_").lower()
    text = f"{frame.camera} {frame.sequence} {obj.label} {state} {len(rows)} px"
    if len(rows):
        text += f" around {columns.mean():.1f},{rows.mean():.1f}"
    if obj.HasField("extent"):  # all of it, also while it is hidden
        e = obj.extent
        text += f" within {e.x},{e.y} {e.width}×{e.height}"
    return text


async def main(url):
    async with segd.connect(url, site="*") as client:
        async for frame in client.masks():
            for obj in frame.objects:
                try:
                    print(line(frame, obj), flush=True)
                except ValueError as err:  # the others of the frame may be sound
                    print(f"{frame.camera} {frame.sequence}, object {obj.id}: {err}", file=sys.stderr)


logging.basicConfig()  # what the client complains of
try:
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "nats://127.0.0.1:4222"))
except KeyboardInterrupt:
    pass
