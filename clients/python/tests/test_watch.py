"""The queue and the thread of watch, and the page's messages, at servers of this test's."""

import asyncio
import contextlib
import gc
import json
import threading
import unittest
from itertools import islice

import numpy as np
from google.protobuf import json_format
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosedOK

import segd
from segd.watch import Watch
from test_frame import HEIGHT, WIDTH, jpeg

LIMIT = 60  # seconds, which only a hang takes


def running():
    return [t for t in threading.enumerate() if t.name == "segd"]


def made(camera, sequence):
    return segd.Frame(segd.MaskFrame(site="home", camera=camera, sequence=sequence))


class Source:
    """Yields frames, then waits, raises or ends."""

    dropped = bad = 0

    def __init__(self, frames, end=None):
        self.all, self.end, self.sent, self.left = frames, end, threading.Event(), threading.Event()

    @contextlib.asynccontextmanager
    async def __call__(self):
        try:
            yield self
        finally:
            self.left.set()

    async def frames(self, camera):
        for frame in self.all:
            yield frame
        self.sent.set()
        if self.end is None:
            await asyncio.Event().wait()
        if isinstance(self.end, Exception):
            raise self.end


class Queue(unittest.TestCase):
    def setUp(self):
        self.addCleanup(lambda: self.assertEqual(running(), []))

    def test_the_newest_of_each_camera_wait(self):
        for queue, want in (1, [("gate", 4), ("yard", 4)]), (2, [("gate", 3), ("yard", 3), ("gate", 4), ("yard", 4)]):
            source = Source([made(camera, n) for n in range(5) for camera in ("gate", "yard")])
            with self.subTest(queue), Watch(source, "*", queue) as frames:
                self.assertTrue(source.sent.wait(LIMIT))
                self.assertEqual(frames.dropped, 10 - len(want))
                self.assertEqual([(f.camera, f.sequence) for f in islice(frames, len(want))], want)

    def test_cameras_without_number_take_no_memory_without_bound(self):
        source = Source([made(f"camera{n}", n) for n in range(300)])
        with Watch(source, "*", 1) as frames:
            self.assertTrue(source.sent.wait(LIMIT))
            self.assertEqual((frames.dropped, next(frames).sequence), (300 - 256, 300 - 256))

    def test_the_end(self):
        self.assertEqual([f.sequence for f in Watch(Source([made("gate", 7)], end="over"), "gate", 1)], [7])

    def test_an_error_is_raised_after_what_waits(self):
        frames = Watch(Source([made("gate", 7)], end=segd.NotPermitted("no")), "gate", 1)
        self.assertEqual(next(frames).sequence, 7)
        with self.assertRaisesRegex(segd.NotPermitted, "no"):
            next(frames)
        with self.assertRaises(StopIteration):
            next(frames)

    def test_leaving_the_loop_ends_it(self):
        source = Source([made("gate", 7)])
        for _ in Watch(source, "gate", 1):
            break
        gc.collect()
        self.assertTrue(source.left.wait(LIMIT))

    def test_close_wakes_who_waits(self):
        frames, ended = Watch(Source([]), "gate", 1), threading.Event()

        def wait():
            self.assertEqual(list(frames), [])
            ended.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        frames.close()
        frames.close()
        waiting.join(LIMIT)
        self.assertTrue(ended.is_set())

    def test_closed_at_once(self):
        for _ in range(100):
            Watch(Source([]), "gate", 1).close()

    def test_a_server_that_is_away_is_waited_for(self):
        told = threading.Event()

        async def tell(_):
            told.set()

        with segd.watch("gate", "nats://127.0.0.1:1", error_cb=tell):
            self.assertTrue(told.wait(LIMIT))

    def test_arguments(self):
        for arguments, want in (
            ({"queue": 0}, "queue: 0; accepted: 1 to 256 frames"),
            ({"queue": 257}, "queue: 257; accepted"),
            ({"page": "http://127.0.0.1:8080", "camera": None}, "page without camera"),
            ({"page": "127.0.0.1:8080"}, "page: '127.0.0.1:8080'; accepted: a URL"),
            ({"page": "http://127.0.0.1:8080", "tls": None}, "tls with page; accepted with page: token, queue"),
            ({"token": "x"}, "token without page"),
        ):
            with self.subTest(want), self.assertRaisesRegex(ValueError, want):
                segd.watch(**{"camera": "gate", **arguments})


PICTURE = jpeg(np.full((HEIGHT, WIDTH, 3), 90, np.uint8))


def message(sequence, dropped=0, header=None):
    frame = json_format.MessageToDict(segd.MaskFrame(camera="gate", sequence=sequence, width=WIDTH, height=HEIGHT))
    text = json.dumps({"dropped": dropped, "sent": 1.5, "frame": frame} if header is None else header).encode()
    return len(text).to_bytes(4) + text + PICTURE


class Pages(unittest.IsolatedAsyncioTestCase):
    async def served(self, connections, token=None, status=None):
        """Starts a page that sends each connection messages and closes it. Returns the page and the paths that were asked for."""
        self.paths, left = [], iter(connections)

        async def send(connection):
            for sent in next(left):
                await connection.send(sent)
                if isinstance(sent, bytes):
                    with contextlib.suppress(ConnectionClosedOK):  # the loop was left
                        self.assertEqual(await connection.recv(), "ok")

        def refuse(connection, request):
            self.paths.append((request.path, request.headers.get("Authorization")))
            return connection.respond(status, "no\n") if status else None

        server = await self.enterAsyncContext(serve(send, "127.0.0.1", 0, process_request=refuse, compression=None))
        return segd.Page(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/segd/", token)

    async def test_frames_over_connections(self):
        bad = [b"", b"\0\0\0\7", b"\0\0\0\1{", message(3, header=[]), message(3, header={"frame": {"sequence": "x"}, "dropped": 0}),
               b"\0\4\0\0" + b"[" * (4 << 16)]
        page = await self.served([['{"status": {}}', message(1), *bad, message(4, dropped=2)], [message(9, dropped=3), message(11, dropped=4)]], "secret")
        got = []
        with self.assertLogs("segd", "WARNING"):
            async with asyncio.timeout(LIMIT), contextlib.aclosing(page.frames("gate/1")) as frames:
                async for frame in frames:
                    got.append(frame.sequence)
                    self.assertEqual((frame.image_sequence, frame.image().shape), (frame.sequence, (HEIGHT, WIDTH, 3)))
                    if frame.sequence == 11:
                        break
        self.assertEqual((got, page.bad, page.dropped), ([1, 4, 9, 11], len(bad), 2 + 4))
        self.assertEqual(self.paths, [("/segd/api/v1/cameras/gate%2F1/live?window=2", "Bearer secret")] * 2)

    async def test_refusals(self):
        for status, want in (404, segd.NotServed), (401, segd.NotPermitted), (429, segd.Refused):
            page = await self.served([], status=status)
            with self.subTest(status), self.assertRaisesRegex(want, "gate|token"):
                await anext(page.frames("gate"))


if __name__ == "__main__":
    unittest.main()
