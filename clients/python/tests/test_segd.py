"""Subscriptions and requests at the demo of the segd whose NATS server is at SEGD_CLIENT_NATS, which make examples-test starts."""

import asyncio
import os
import unittest

import segd
import segd.client

CAMERA = "demo"
LIMIT = 120  # seconds, which only a hang takes


async def until(messages, wanted):
    """Returns the first of the messages that is wanted."""
    async with asyncio.timeout(LIMIT):
        async for message in messages:
            if wanted(message):
                return message
    raise AssertionError("they have ended")


class Demo(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.connection = segd.connect(os.environ["SEGD_CLIENT_NATS"], timeout=LIMIT)
        self.client = await self.connection.__aenter__()
        self.addAsyncCleanup(self.connection.__aexit__, None, None, None)

    async def refused(self, code, request):
        with self.assertRaises(segd.Refused) as refused:
            await request
        self.assertEqual(refused.exception.code, code, refused.exception)

    async def test_an_object_is_marked_renamed_and_removed(self):
        frame = await until(self.client.masks(CAMERA), lambda frame: True)
        accepted = asyncio.ensure_future(until(
            self.client.events(CAMERA), lambda e: e.kind == segd.EventKind.Value("EVENT_KIND_ANNOTATION_ACCEPTED")))
        annotation = {"width": frame.width, "height": frame.height, "objects": [{"id": 9, "label": "bag", "box": [300, 300, 400, 400]}]}
        annotated = None
        while annotated is None:
            try:
                annotated = await self.client.annotate(CAMERA, annotation)
            except segd.Refused as refused:
                if refused.code != 504:  # no frame in 10 s, on a busy machine
                    raise
        self.assertEqual([(o.id, o.label) for o in annotated.objects], [(9, "bag")])
        self.assertFalse(annotated.pending)
        event = await accepted
        self.assertEqual((event.camera, event.sequence), (CAMERA, annotated.sequence))

        renamed = await self.client.rename(CAMERA, 9, "parcel")
        self.assertEqual((renamed.id, renamed.label), (9, "parcel"))
        frame = await until(self.client.masks(), lambda f: any(o.label == "parcel" for o in f.objects))
        for obj in frame.objects:
            self.assertEqual(segd.mask(frame, obj).sum(), obj.area)
        self.assertIn(9, [o.id for o in (await self.client.objects(CAMERA)).objects])

        await self.client.clear(CAMERA, 9)
        self.assertNotIn(9, [o.id for o in (await self.client.objects(CAMERA)).objects])
        await self.refused(404, self.client.clear(CAMERA, 9))

    async def test_status_and_pictures(self):
        status = await until(self.client.status(), lambda s: s.up)
        self.assertEqual(status.camera, CAMERA)
        self.assertEqual((await self.client.state(CAMERA)).camera, CAMERA)
        for overlay in False, True:
            self.assertEqual((await self.client.snapshot(CAMERA, overlay))[:2], b"\xff\xd8")

    async def test_what_is_refused(self):
        await self.refused(400, self.client.annotate(CAMERA, {"objects": [{"id": 9, "box": [1, 2]}]}))
        await self.refused(400, self.client.annotate(CAMERA, b"\x89PNG\r\n\x1a\n"))
        await self.refused(404, self.client.keep(CAMERA, 4242))
        with self.assertRaises(segd.NotServed):
            await self.client.state("nowhere")

    async def test_a_camera_that_is_not_there_is_told(self):
        with self.assertLogs("segd", "WARNING") as logs:
            waiting = asyncio.ensure_future(anext(self.client.masks("gaet")))
            async with asyncio.timeout(LIMIT):
                while not logs.output:
                    await asyncio.sleep(0.01)
        waiting.cancel()
        self.assertIn("no segd of site home serves camera gaet; served are (site/camera): home/demo;", logs.output[0])
        with self.assertNoLogs("segd", "WARNING"):
            await anext(self.client.masks(CAMERA))

    async def test_a_message_that_is_none_is_left_out(self):
        events = self.client.events("forged")
        heard = asyncio.ensure_future(until(events, lambda e: True))
        subject = f"segd.v1.{self.client.site}.forged.event"
        good = segd.Event(camera="forged", message="well").SerializeToString()
        with self.assertLogs("segd", "WARNING"):
            while not heard.done():  # it subscribes some time after it has begun
                for headers, payload in (
                    (None, b"\xff"),
                    ({"Content-Type": "application/json"}, b"{"),
                    ({"Content-Type": "application/json"}, b"\xff"),
                    ({"Content-Type": "application/x-protobuf; message=segd.v1.Status"}, b""),
                    (None, good),
                ):
                    await self.client.connection.publish(subject, payload, headers=headers)
                await asyncio.sleep(0.01)
        self.assertEqual((await heard).message, "well")
        self.assertGreaterEqual(self.client.bad, 4)

    async def test_what_a_slow_loop_misses_is_counted(self):
        self.addCleanup(setattr, segd.client, "QUEUE", segd.client.QUEUE)
        segd.client.QUEUE = 1
        frames = self.client.masks(CAMERA)
        with self.assertLogs("segd", "WARNING"):
            async with asyncio.timeout(LIMIT):
                first = await anext(frames)
                while self.client.dropped == 0:
                    await asyncio.sleep(0.01)
        self.assertGreater((await anext(frames)).sequence, first.sequence)


if __name__ == "__main__":
    unittest.main()
