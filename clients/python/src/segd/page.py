"""Frames with their pictures, of segd's page."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import quote, urlsplit

from google.protobuf import json_format

from .client import NotPermitted, NotServed, Refused
from .frame import Frame
from .segd_pb2 import MaskFrame

log = logging.getLogger("segd")

WINDOW = 2  # frames on their way at once
MAX_MESSAGE = 64 << 20  # bytes
PAUSE = 1  # seconds until a connection that was lost is made again


class Page:
    """segd's page, whose live connection has each picture with the masks of exactly that picture.

    The page sends no frame before the loop is done with the last but one; frames that it left out are counted in
    dropped. Messages that cannot be read are left out, logged and counted in bad.
    """

    def __init__(self, url: str = "http://127.0.0.1:8080", token: str | None = None):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"page: {url!r}; accepted: a URL such as http://127.0.0.1:8080")
        self.url = url
        self.bad = 0
        self.dropped = 0
        self._live = parts._replace(scheme="ws" if parts.scheme == "http" else "wss", query="", fragment="")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def frames(self, camera: str) -> AsyncGenerator[Frame, None]:
        """Yields the camera's frames, which have their pictures. It connects again for ever when the page is away."""
        try:
            from websockets.asyncio.client import connect, process_exception
            from websockets.exceptions import ConnectionClosed, InvalidStatus
        except ImportError as err:
            raise ImportError("the page's pictures need the package websockets: pip install 'segd[images]'") from err

        def retry(err: Exception) -> Exception | None:
            fatal = process_exception(err)
            if fatal is None:
                log.warning("the page at %s: %s; it is asked again", self.url, err)
            return fatal

        path = f"{self._live.path.rstrip('/')}/api/v1/cameras/{quote(camera, safe='')}/live"
        to = self._live._replace(path=path, query=f"window={WINDOW}").geturl()
        connections = connect(
            to, additional_headers=self._headers, compression=None, max_size=MAX_MESSAGE, max_queue=WINDOW, process_exception=retry
        )
        try:
            async with aclosing(aiter(connections)) as each:
                async for connection in each:
                    before = self.dropped
                    try:
                        async for message in connection:
                            if isinstance(message, str):
                                continue  # a status or an event
                            try:
                                frame, dropped = _read(message)
                            except (ValueError, RecursionError) as err:
                                self.bad += 1
                                log.warning("the page at %s: %s", self.url, err)
                            else:
                                self.dropped = before + dropped
                                yield frame
                            await connection.send("ok")
                    except ConnectionClosed:
                        pass
                    finally:
                        await connection.close()
                    why = connection.close_reason or connection.close_code
                    log.warning("the page at %s has closed the connection (%s); it is asked again", self.url, why)
                    await asyncio.sleep(PAUSE)
        except InvalidStatus as err:
            status = err.response.status_code
            if status == 404:
                raise NotServed(f"segd at {self.url} has no camera {camera}") from None
            if status in (401, 403):
                raise NotPermitted(f"segd at {self.url} wants another token (HTTP status {status})") from None
            raise Refused(status, f"segd at {self.url} does not show camera {camera}") from None


def _read(message: bytes) -> tuple[Frame, int]:
    """Reads a message of the page: the length of a JSON header, the header, a JPEG. Returns how many frames were left out, too."""
    end = 4 + int.from_bytes(message[:4])
    if not 4 < end <= len(message):
        raise ValueError(f"a header of {end - 4} bytes in a message of {len(message)}")
    header = json.loads(message[4:end])
    if not isinstance(header, dict) or not isinstance(header.get("frame"), dict) or not isinstance(header.get("dropped"), int):
        raise ValueError("a header without frame and dropped")
    try:
        frame = Frame(json_format.ParseDict(header["frame"], MaskFrame(), ignore_unknown_fields=True))
    except json_format.ParseError as err:
        raise ValueError(str(err)) from err
    frame._set_picture(frame.sequence, message[end:])
    return frame, header["dropped"]
