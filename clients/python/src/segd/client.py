"""Subscriptions and requests."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

import nats
import nats.errors
import numpy as np
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg
from numpy.typing import NDArray

from .frame import Frame
from .segd_pb2 import Annotated, Event, MaskFrame, Object, ObjectList, Status

log = logging.getLogger("segd")

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
PNG = "image/png"

STATUSES = "segd.v1.*.*.status"  # of every camera that a segd serves, once a second
HEARING = 1.8  # seconds for that

QUEUE = 256  # messages that wait for a loop which is slower than they come

NAME = re.compile(r"[A-Za-z0-9_-]+")  # of a site or a camera

M = TypeVar("M", bound=Message)


class Refused(Exception):
    """segd did not do what it was asked. code is HTTP's: 400, 404, 409, 413, 429, 500, 504.

    retry_after is when to ask again after a 429, in seconds; else None.
    """

    def __init__(self, code: int, reason: str, retry_after: int | None = None):
        super().__init__(f"{reason} ({code})")
        self.code = code
        self.reason = reason
        self.retry_after = retry_after


class NotServed(Exception):
    """No segd answers for the camera."""


class NotPermitted(Exception):
    """The NATS server does not let this user ask, or subscribe."""


def _decode(msg: Msg, message: M) -> M:
    """Reads a message into one of its type. Raises ValueError if it is none."""
    kind, _, parameters = (msg.headers or {}).get("Content-Type", PROTOBUF).partition(";")
    name = parameters.strip().removeprefix("message=")
    if name and name != message.DESCRIPTOR.full_name:
        raise ValueError(f"it is a {name}")
    try:
        if kind.strip() == JSON:
            json_format.Parse(msg.data, message, ignore_unknown_fields=True)
        else:
            message.ParseFromString(msg.data)
    except (DecodeError, json_format.ParseError, UnicodeDecodeError) as err:
        raise ValueError(str(err)) from err
    return message


class Client:
    """A connection to the NATS server of a segd; connect makes it.

    Subscriptions last until their loop is left. What comes while a loop is busy waits, up to 256 messages; what is
    beyond that is lost and counted in dropped. Messages that cannot be read are left out, logged and counted in bad.
    A subscription to a camera that no segd serves waits for it, and a warning says so once a camera.
    """

    def __init__(self, connection: Connection, site: str, timeout: float):
        self.connection = connection
        self.site = site
        self.timeout = timeout
        self.bad = 0
        self.dropped = 0
        self._asking: dict[asyncio.Future[None], str] = {}  # each is done when the server denies its subject
        self._looked: set[str] = set()  # cameras that it was looked for who serves them
        self._deaf = False  # this user may not hear the statuses of all cameras

    async def frames(self, camera: str = "*") -> AsyncGenerator[Frame, None]:
        """Yields every frame, of a camera or of all: its masks as arrays by name."""
        async with aclosing(self.masks(camera)) as messages:
            async for message in messages:
                yield Frame(message)

    def masks(self, camera: str = "*") -> AsyncGenerator[MaskFrame, None]:
        """Yields every frame's masks as they are sent, of a camera or of all."""
        return self._subscribe(camera, "mask", MaskFrame)

    def events(self, camera: str = "*") -> AsyncGenerator[Event, None]:
        """Yields events as they happen. One may come twice: see docs/bus.md."""
        return self._subscribe(camera, "event", Event)

    def status(self, camera: str = "*") -> AsyncGenerator[Status, None]:
        """Yields the status of a camera, or of all, once a second each."""
        return self._subscribe(camera, "status", Status)

    async def _subscribe(self, camera: str, kind: str, message: type[M]) -> AsyncGenerator[M, None]:
        subject = f"segd.v1.{self.site}.{camera}.{kind}"
        denied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asking[denied] = subject
        try:
            sub = await self.connection.subscribe(subject, pending_msgs_limit=QUEUE)
        except BaseException:
            del self._asking[denied]
            raise
        denied.add_done_callback(lambda _: asyncio.ensure_future(sub.unsubscribe()))  # which ends the loop
        looking = asyncio.ensure_future(self._look(camera, denied))
        try:
            async for msg in sub.messages:
                try:
                    decoded = _decode(msg, message())
                except ValueError as err:
                    self.bad += 1
                    log.warning("%s: %s", msg.subject, err)
                    continue
                yield decoded
            if denied.done():
                raise NotPermitted(f"this NATS user may not subscribe to {subject}")
        finally:
            looking.cancel()
            del self._asking[denied]
            if not denied.done() and not self.connection.is_closed:
                await sub.unsubscribe()

    async def _look(self, camera: str, denied: asyncio.Future[None]) -> None:
        """Warns if there is no status of the camera, but where this user may not hear it."""
        if camera in self._looked:
            return
        self._looked.add(camera)
        served: set[tuple[str, str]] = set()
        sub = await self.connection.subscribe(STATUSES)
        try:
            async with asyncio.timeout(HEARING):
                async for msg in sub.messages:
                    site, name = msg.subject.split(".")[2:4]
                    served.add((site, name))
                    if self.site in ("*", site) and camera in ("*", name):
                        return
        except (TimeoutError, nats.errors.Error):
            pass
        finally:
            if not self.connection.is_closed:
                await sub.unsubscribe()
        if not self._deaf and not denied.done():
            names = ", ".join("/".join(one) for one in sorted(served)) or "none"
            log.warning("no segd of site %s serves camera %s; served are (site/camera): %s; waiting for it", self.site, camera, names)

    async def annotate(self, camera: str, annotation: Mapping[str, Any] | bytes) -> Annotated:
        """Marks objects: an annotation (docs/annotations.md), or a mask as PNG. Returns what became of it."""
        if isinstance(annotation, bytes):
            payload, kind = annotation, PNG
        else:
            payload, kind = json.dumps(annotation).encode(), JSON
        return _decode(await self._ask(camera, "annotate", payload, kind), Annotated())

    async def clear(self, camera: str, id: int | None = None) -> None:
        """Removes an object, or all."""
        await self._ask(camera, "clear", b"" if id is None else json.dumps({"id": id}).encode())

    async def rename(self, camera: str, id: int, label: str) -> Object:
        """Gives an object another label."""
        return _decode(await self._ask(camera, "rename", json.dumps({"id": id, "label": label}).encode()), Object())

    async def keep(self, camera: str, id: int) -> Object:
        """Keeps an object that segd marked by itself."""
        return _decode(await self._ask(camera, "rename", json.dumps({"id": id, "kept": True}).encode()), Object())

    async def objects(self, camera: str) -> ObjectList:
        """Lists the camera's objects, without masks."""
        return _decode(await self._ask(camera, "objects", b""), ObjectList())

    async def snapshot(self, camera: str, overlay: bool = False) -> bytes:
        """Returns the newest picture as JPEG, with the masks drawn on or not."""
        return (await self._ask(camera, "snapshot", json.dumps({"overlay": overlay}).encode())).data

    async def image(self, frame: Frame) -> NDArray[np.uint8]:
        """Gets the camera's newest picture for a frame and returns it, as frame.image() does from then on.

        It waits where more is asked than segd answers, 20 pictures of a camera a second.
        """
        await self._get_picture(frame)
        return frame.image()

    async def _get_picture(self, frame: Frame) -> None:
        async with asyncio.timeout(self.timeout):
            while frame.image_sequence is None:
                try:
                    reply = await self._ask(frame.camera, "snapshot", b"", site=frame.site)
                except Refused as refused:
                    if refused.retry_after is None:
                        raise
                    await asyncio.sleep(refused.retry_after)
                    continue
                sequence = (reply.headers or {}).get("Segd-Sequence", "")
                if not re.fullmatch("[0-9]{1,20}", sequence):
                    raise ValueError(f"Segd-Sequence of a picture: {sequence!r}; accepted: a number. Is this segd older than the package?")
                frame._set_picture(int(sequence), reply.data)

    async def state(self, camera: str) -> Status:
        """Tells how the camera does."""
        return _decode(await self._ask(camera, "state", b""), Status())

    async def _ask(self, camera: str, what: str, payload: bytes, kind: str = JSON, site: str | None = None) -> Msg:
        headers = {"Content-Type": kind, "Accept": PROTOBUF}
        site = site or self.site
        for field, name in ("site", site), ("camera", camera):
            if not NAME.fullmatch(name):
                raise ValueError(f"{field}: {name!r}; accepted: a name of letters, digits, _ and -")
        subject = f"segd.v1.{site}.{camera}.{what}"
        denied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asking[denied] = subject
        asked = asyncio.ensure_future(self.connection.request(subject, payload, timeout=self.timeout, headers=headers))
        try:
            await asyncio.wait((asked, denied), return_when=asyncio.FIRST_COMPLETED)
            if denied.done():
                raise NotPermitted(f"this NATS user may not ask for {subject}")
            reply = await asked
        except nats.errors.NoRespondersError:
            raise NotServed(f"no segd of site {site} serves camera {camera}") from None
        finally:
            del self._asking[denied]
            asked.cancel()
        answer = reply.headers or {}
        if code := answer.get("Nats-Service-Error-Code"):
            retry = answer.get("Retry-After")
            raise Refused(int(code), reply.data.decode(errors="replace") or answer.get("Nats-Service-Error", ""), int(retry) if retry and retry.isdigit() else None)
        return reply


@asynccontextmanager
async def connect(
    url: str = "nats://127.0.0.1:4222", site: str = "home", timeout: float = 15, **options: Any
) -> AsyncIterator[Client]:
    """Connects to the NATS server of a site's segd, and again for ever when it is away.

    timeout is for the answer to a request, in seconds; segd itself takes up to 10 for a frame. options are nats-py's,
    such as user_credentials or tls; an error_cb is told of the connection's faults, which are logged otherwise. With
    site "*" the subscriptions are for all sites; requests need one.
    """
    client: Client | None = None
    error_cb = options.pop("error_cb", None)

    async def complain(err: Exception) -> None:
        text = str(err).lower()  # as nats-py has the server's
        if client is not None and "permissions violation for" in text:
            if f'"{STATUSES}"' in text:  # then which cameras there are is not known
                client._deaf = True
                if STATUSES not in client._asking.values():
                    return
            for denied, subject in client._asking.items():
                if f'"{subject.lower()}"' in text and not denied.done():
                    denied.set_result(None)
        slow = isinstance(err, nats.errors.SlowConsumerError) and client is not None
        if slow:
            client.dropped += 1
        if error_cb is not None:
            await error_cb(err)
        elif slow:
            if client.dropped & (client.dropped - 1) == 0:  # the 1st, 2nd, 4th, 8th …
                log.warning("%s comes faster than it is used: %d lost", err.subject, client.dropped)
        else:
            log.warning("NATS: %s", err)

    connection = await nats.connect(url, **{"name": "segd", "max_reconnect_attempts": -1, "error_cb": complain, **options})
    client = Client(connection, site, timeout)
    try:
        yield client
    finally:
        await connection.close()
