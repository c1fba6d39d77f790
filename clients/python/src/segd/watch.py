"""The frames of a camera for programs that are not asynchronous."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from types import TracebackType
from typing import Any

from .client import QUEUE, Client, connect
from .frame import Frame
from .page import Page

Source = Callable[[], AbstractAsyncContextManager[Client | Page]]


def watch(
    camera: str | None = None,
    server: str = "nats://127.0.0.1:4222",
    *,
    site: str = "home",
    page: str | None = None,
    token: str | None = None,
    queue: int = 1,
    **options: Any,
) -> Watch:
    """Returns an iterator over the frames of a camera, or of all cameras of the site. It ends when its loop is left.

    The frames come from the NATS server, or with page, such as "http://127.0.0.1:8080", and its token from segd's
    page, each with exactly its picture. While the loop is busy the newest frames wait, queue of each camera; the older
    ones are dropped and counted in dropped. options are those of connect.
    """
    if not 1 <= queue <= QUEUE:
        raise ValueError(f"queue: {queue}; accepted: 1 to {QUEUE} frames")
    if page is None:
        if token is not None:
            raise ValueError("token without page; accepted: page and token, or user_credentials and other options of nats-py")
        return Watch(lambda: connect(server, site, **options), camera or "*", queue)
    if camera is None:
        raise ValueError("page without camera; accepted: the name of a camera")
    if options:
        raise ValueError(f"{', '.join(sorted(options))} with page; accepted with page: token, queue")
    shown = Page(page, token)

    @asynccontextmanager
    async def source() -> AsyncIterator[Page]:
        yield shown

    return Watch(source, camera, queue)


class Watch(Iterator[Frame]):
    """An iterator over frames, which watch makes. A with statement, close, the end of its loop and of the program end it."""

    def __init__(self, source: Source, camera: str, queue: int):
        self._reader = _Reader(source, camera, queue)
        # The thread holds the reader, not this iterator, which Python frees when its loop is left.
        self.close: Callable[[], object] = weakref.finalize(self, self._reader.close)

    def __next__(self) -> Frame:
        try:
            return self._reader.take()
        except BaseException:  # among them Ctrl-C
            self.close()
            raise

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def dropped(self) -> int:
        """Frames that came and were not used: newer ones took their place in the queue, or they were lost before."""
        return self._reader.dropped + (self._reader.client.dropped if self._reader.client else 0)

    @property
    def bad(self) -> int:
        """Messages that could not be read."""
        return self._reader.client.bad if self._reader.client else 0


class _Reader:
    """Takes frames from an event loop, in a thread of its own, to a queue."""

    def __init__(self, source: Source, camera: str, queue: int):
        self.client: Client | Page | None = None
        self.dropped = 0
        self._source = source
        self._camera = camera
        self._queue = queue
        self._waiting: deque[Frame] = deque()
        self._ended = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()  # of the three above
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._copy())
        self._thread = threading.Thread(target=self._run, name="segd", daemon=True)
        self._thread.start()

    def take(self) -> Frame:
        """Waits for a frame. Raises StopIteration after the end, or why it came to that."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            if self._waiting:
                return self._waiting.popleft()
            err, self._error = self._error, None
            raise err or StopIteration

    def close(self) -> None:
        """Ends the subscription, drops what waits and joins the thread."""
        try:
            self._loop.call_soon_threadsafe(self._task.cancel)
        except RuntimeError:
            pass  # the loop is closed already
        if threading.current_thread() is not self._thread:  # which may be the one that collects garbage
            self._thread.join()
        with self._changed:
            self._waiting.clear()

    def _run(self) -> None:
        err: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._wait())
        except asyncio.CancelledError:
            pass
        except BaseException as raised:
            err = raised
        with self._changed:
            self._ended, self._error = True, err
            self._changed.notify_all()

    async def _wait(self) -> None:
        await self._task

    async def _copy(self) -> None:
        async with self._source() as client:
            self.client = client
            async with aclosing(client.frames(self._camera)) as frames:
                async for frame in frames:
                    frame._fetch = self._fetch
                    self._put(frame)

    def _put(self, frame: Frame) -> None:
        with self._changed:
            same = [other for other in self._waiting if (other.site, other.camera) == (frame.site, frame.camera)]
            if len(same) >= self._queue or len(self._waiting) >= QUEUE:
                self._waiting.remove(same[0] if len(same) >= self._queue else self._waiting[0])
                self.dropped += 1
            self._waiting.append(frame)
            self._changed.notify_all()

    def _fetch(self, frame: Frame) -> None:
        """Gets a frame's picture, for a thread that is not the loop's."""
        assert isinstance(self.client, Client)  # frames of the page have theirs
        get = self.client._get_picture(frame)
        try:
            got = asyncio.run_coroutine_threadsafe(get, self._loop)
        except RuntimeError:  # the loop is closed
            get.close()
            raise _over(frame) from None
        try:
            got.result(self.client.timeout + 1)
        except concurrent.futures.CancelledError:
            raise _over(frame) from None


def _over(frame: Frame) -> RuntimeError:
    return RuntimeError(f"frame {frame.sequence} has no picture, and its watch has ended; accepted: image() before that")
