"""Masks as numpy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .segd_pb2 import MaskFrame, Object

# What segd decodes; a message that says more is not segd's, and would take memory without bound.
MAX_SIDE = 8192
MAX_PIXELS = 8192 * 4608


def runs(counts: str) -> list[int]:
    """Returns the run lengths of COCO's string, background first.

    Five bits a character, lowest first; from the fourth run on the string holds the difference to the run two before.
    Raises ValueError for what is no such string.
    """
    lengths: list[int] = []
    value = shift = 0
    for c in counts:
        piece = ord(c) - 48
        if not 0 <= piece < 64 or shift > 25:
            raise ValueError(f"{c!r} in the run lengths of a mask")
        value |= (piece & 31) << shift
        shift += 5
        if piece & 32:
            continue  # more of the number follows
        if piece & 16:
            value -= 1 << shift
        if len(lengths) > 2:
            value += lengths[-2]
        if value < 0:
            raise ValueError(f"a run of {value} pixels")
        lengths.append(value)
        value = shift = 0
    if shift:
        raise ValueError("run lengths that end within a number")
    return lengths


def size(frame: MaskFrame) -> tuple[int, int]:
    """Returns the width and height of the frame. Raises ValueError if it is larger than any of segd's."""
    width, height = frame.width, frame.height
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS):
        raise ValueError(f"a picture of {width}×{height}")
    return width, height


def mask(frame: MaskFrame, obj: Object) -> NDArray[np.bool_]:
    """Returns the mask of one of the frame's objects, height rows of width pixels, true on the object.

    Raises ValueError if its runs do not cover the picture, or the picture is larger than any of segd's; the other
    objects of the frame may be sound.
    """
    width, height = size(frame)
    lengths = runs(obj.counts)
    if sum(lengths) != width * height:
        raise ValueError(f"runs of {sum(lengths)} pixels in a picture of {width}×{height}")
    inside = np.arange(len(lengths)) % 2 == 1
    return np.repeat(inside, lengths).reshape(width, height).T  # the runs go down the columns
