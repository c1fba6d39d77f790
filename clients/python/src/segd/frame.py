"""Frames: masks and pictures as numpy arrays."""

from __future__ import annotations

import importlib.resources
import io
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .mask import mask, size
from .segd_pb2 import MaskFrame, Object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervision import Detections


def name(obj: Object) -> str:
    """Returns an object's label and id, such as "person 1", by which no other object of the camera is called.

    The id is left out where the label ends with it; "object" is the label of what has none.
    """
    label = obj.label or "object"
    return label if re.search(rf"(?<![0-9]){obj.id}\Z", label) else f"{label} {obj.id}"


class Masks(Mapping[str, NDArray[np.bool_]]):
    """The masks of a frame by the objects' names, each decoded when it is first asked for.

    An object that is hidden or lost has a mask without a pixel.
    """

    def __init__(self, frame: MaskFrame):
        self._frame = frame
        self._objects = {name(obj): obj for obj in frame.objects}
        self._decoded: dict[str, NDArray[np.bool_]] = {}

    def __getitem__(self, key: str) -> NDArray[np.bool_]:
        if key not in self._objects:
            there = ", ".join(self._objects) or "none"
            raise KeyError(f"no object {key} in frame {self._frame.sequence} of camera {self._frame.camera}; there are: {there}")
        if key not in self._decoded:
            self._decoded[key] = mask(self._frame, self._objects[key])
        return self._decoded[key]

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)


class Frame:
    """One frame of a camera. message is the MaskFrame that segd sent, which has more than the properties here."""

    def __init__(self, message: MaskFrame):
        self.message = message
        self.image_sequence: int | None = None  # of the frame that the picture is of; None: there is no picture yet
        self._jpeg = b""
        self._image: NDArray[np.uint8] | None = None
        self._fetch: Callable[[Frame], None] | None = None

    def __repr__(self) -> str:
        return f"<segd.Frame {self.sequence} of {self.camera}: {', '.join(self.masks) or 'no objects'}>"

    @property
    def site(self) -> str:
        return self.message.site

    @property
    def camera(self) -> str:
        return self.message.camera

    @property
    def sequence(self) -> int:
        """The frame's number; frames that were dropped leave gaps."""
        return self.message.sequence

    @property
    def capture_time(self) -> datetime:
        return self.message.capture_time.ToDatetime(UTC)

    @property
    def width(self) -> int:
        return self.message.width

    @property
    def height(self) -> int:
        return self.message.height

    @property
    def objects(self) -> Sequence[Object]:
        """The frame's objects as segd sent them, by rising id."""
        return self.message.objects

    @cached_property
    def masks(self) -> Masks:
        """Masks by name: booleans, height rows of width pixels. Asking for a mask that is none raises ValueError."""
        return Masks(self.message)

    def _set_picture(self, sequence: int, jpeg: bytes) -> None:
        """Gives the frame a picture, which is of the frame of that number."""
        self.image_sequence, self._jpeg = sequence, jpeg

    def image(self) -> NDArray[np.uint8]:
        """Returns the picture: height rows of width pixels, blue, green and red as OpenCV has them.

        A frame of the page comes with its picture. For one of NATS, the camera's newest picture is asked for: the
        frame's own until the next one is published. image_sequence tells the number of the frame that it is of.
        """
        if self._image is None:
            if self.image_sequence is None:
                if self._fetch is None:
                    raise RuntimeError(f"frame {self.sequence} has no picture; accepted after: await client.image(frame)")
                self._fetch(self)
            self._image = decode(self._jpeg, *size(self.message))
        return self._image

    def detections(self) -> Detections:
        """Returns the objects that are in sight as supervision has them, by rising id.

        xyxy are the masks' boxes, confidence the scores, tracker_id the ids, data["class_name"] the classes, and
        data["name"] the names that masks has. The class of what people marked is its label. class_id is the number
        of COCO's class, from 0, and 80 for what is none of these.
        """
        try:
            from supervision import Detections
        except ImportError as err:
            raise ImportError("frame.detections() needs the package supervision: pip install 'segd[supervision]'") from err
        width, height = size(self.message)
        seen = [obj for obj in self.objects if obj.area > 0]
        classes = [getattr(obj, "class") or obj.label for obj in seen]
        boxes = [(obj.box.x, obj.box.y, obj.box.x + obj.box.width, obj.box.y + obj.box.height) for obj in seen]
        return Detections(
            xyxy=np.array(boxes, np.float32).reshape(-1, 4),
            mask=np.array([self.masks[name(obj)] for obj in seen], np.bool_).reshape(-1, height, width),
            confidence=np.array([obj.score for obj in seen], np.float32),
            class_id=np.array([coco().get(c, len(coco())) for c in classes], int),
            tracker_id=np.array([obj.id for obj in seen], int),
            data={"class_name": np.array(classes, str), "name": np.array([name(obj) for obj in seen], str)},
        )


@cache
def coco() -> dict[str, int]:
    """Returns the numbers of COCO's 80 classes by name."""
    names = importlib.resources.files(__package__).joinpath("coco.txt").read_text("utf-8")
    return {each: i for i, each in enumerate(names.splitlines())}


def decode(jpeg: bytes, width: int, height: int) -> NDArray[np.uint8]:
    """Decodes a picture of that size, to BGR. Raises ValueError for what is none."""
    try:
        from PIL import Image
    except ImportError as err:
        raise ImportError("frame.image() needs the package pillow: pip install 'segd[images]'") from err
    try:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as picture:
            if picture.size != (width, height):
                raise ValueError(f"a picture of {picture.width}×{picture.height} for masks of {width}×{height}")
            rgb = np.asarray(picture.convert("RGB"))
    except (OSError, Image.DecompressionBombError) as err:
        raise ValueError(f"no picture: {err}") from err
    return np.ascontiguousarray(rgb[:, :, ::-1])
