"""watch, frames, pictures, the examples and the notebook at the demo of the segd at SEGD_CLIENT_NATS and SEGD_CLIENT_PAGE.

make python-test starts it.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from itertools import islice
from pathlib import Path

import cv2
import nbclient
import nbformat
import numpy as np

import segd

NATS, PAGE = os.environ["SEGD_CLIENT_NATS"], os.environ["SEGD_CLIENT_PAGE"]
EXAMPLES = Path(__file__).parents[2] / "examples" / "watch-python"
LIMIT = 120  # seconds, which only a hang takes


def with_masks(frames):
    """Returns the first of the frames in which an object is seen."""
    return next(f for f in frames if any(mask.any() for mask in f.masks.values()))


def box(mask):
    ys, xs = mask.nonzero()
    return [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]


class Demo(unittest.TestCase):
    def setUp(self):
        self.addCleanup(lambda: self.assertEqual([t for t in threading.enumerate() if t.name == "segd"], []))

    def rise(self, frames):
        numbers = [(f.message.epoch, f.sequence) for f in frames]
        self.assertTrue(all(a < b for a, b in zip(numbers, numbers[1:])), numbers)

    def test_masks(self):
        watch = segd.watch("demo", NATS)
        frames = [with_masks(watch), *islice(watch, 19)]
        del watch
        self.rise(frames)
        for frame in frames:
            self.assertEqual(list(frame.masks), [f"person {obj.id}" for obj in frame.objects])
            for obj in frame.objects:
                mask = frame.masks[f"person {obj.id}"]
                self.assertEqual((mask.dtype, mask.shape, mask.sum()), (np.bool_, (frame.height, frame.width), obj.area))

    def test_detections(self):
        with segd.watch("demo", NATS) as frames:
            frame = with_masks(frames)
        got = frame.detections()
        names = [name for name, mask in frame.masks.items() if mask.any()]
        self.assertEqual(list(got.data["name"]), names)
        np.testing.assert_array_equal(got.xyxy, [box(frame.masks[name]) for name in names])
        np.testing.assert_array_equal(got.mask, [frame.masks[name] for name in names])
        np.testing.assert_array_equal(got.tracker_id, [obj.id for obj in frame.objects if obj.area])
        self.assertEqual((set(got.class_id), set(got.data["class_name"])), ({0}, {"person"}))

    def test_a_slow_loop_gets_the_newest(self):
        with segd.watch("demo", NATS) as frames:
            got = [next(frames)]
            for _ in range(3):
                before, end = frames.dropped, time.monotonic() + LIMIT
                while frames.dropped < before + 3 and time.monotonic() < end:
                    time.sleep(0.01)
                got.append(next(frames))
            self.assertGreaterEqual(frames.dropped, 9)
        self.rise(got)
        self.assertGreaterEqual(got[-1].sequence - got[0].sequence, 9)
        self.assertEqual(list(frames), [])

    def test_all_cameras(self):
        with segd.watch(server=NATS) as frames:
            self.assertEqual(next(frames).camera, "demo")

    def test_pictures(self):
        """The page's are of their frames; NATS' are those that the page sends of the frame of that number."""
        own, same, asked = {}, 0, []
        with segd.watch("demo", page=PAGE, queue=256) as paged, segd.watch("demo", NATS) as published:
            end = time.monotonic() + LIMIT
            while same < 5 and time.monotonic() < end:
                frame = next(published)
                image = frame.image()
                self.assertEqual(image.shape, (frame.height, frame.width, 3))
                self.assertGreaterEqual(frame.image_sequence, frame.sequence)
                asked.append(frame.image_sequence - frame.sequence)
                while max(own, default=-1) < frame.image_sequence:
                    shown = next(paged)
                    self.assertEqual(shown.image_sequence, shown.sequence)
                    self.assertEqual({mask.shape for mask in shown.masks.values()} - {shown.image().shape[:2]}, set())
                    own[shown.sequence] = shown
                if frame.image_sequence in own:
                    np.testing.assert_array_equal(own[frame.image_sequence].image(), image)
                    same += 1
            late = next(published)
        self.assertEqual(same, 5)
        self.rise(own.values())
        print(f"\npictures asked for over NATS, frames later than their masks: {asked}", file=sys.stderr)
        with self.assertRaisesRegex(RuntimeError, "its watch has ended"):
            late.image()

    def test_a_page_without_the_camera(self):
        with self.assertRaisesRegex(segd.NotServed, "has no camera gaet"):
            next(segd.watch("gaet", page=PAGE))

    def test_ctrl_c(self):
        code = f"import segd\nfor frame in segd.watch('demo', {NATS!r}):\n    print(frame.sequence, flush=True)\n"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            self.assertRegex(program.stdout.readline(), r"^\d+$")
            program.send_signal(signal.SIGINT)
            _, said = program.communicate(timeout=LIMIT)
        self.assertEqual(program.returncode, -signal.SIGINT)
        self.assertEqual(said.strip().splitlines()[-1], "KeyboardInterrupt")
        self.assertEqual(said.count("Traceback"), 1, said)


class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def test_frames(self):
        async with segd.connect(NATS) as client, asyncio.timeout(LIMIT):
            async for frame in client.frames("demo"):
                if any(mask.any() for mask in frame.masks.values()):
                    break
            with self.assertRaisesRegex(RuntimeError, "await client.image"):
                frame.image()
            image = await client.image(frame)
            self.assertIs(frame.image(), image)
            self.assertEqual({mask.shape for mask in frame.masks.values()}, {image.shape[:2]})

    async def test_more_pictures_than_segd_answers_are_waited_for(self):
        async with segd.connect(NATS, timeout=LIMIT) as client, asyncio.timeout(LIMIT):
            with self.assertRaises(segd.Refused) as refused:
                while True:
                    await asyncio.gather(*(client.snapshot("demo") for _ in range(8)))
            self.assertEqual(refused.exception.code, 429)
            self.assertGreater(refused.exception.retry_after, 0)
            frame = await anext(client.frames("demo"))
            self.assertEqual((await client.image(frame)).shape[:2], (frame.height, frame.width))


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def example(self, name, *arguments):
        run = subprocess.run([sys.executable, EXAMPLES / name, "demo", *arguments], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_opencv(self):
        self.example("draw_opencv.py", self.folder / "demo.mp4", "--frames", "12")
        video = cv2.VideoCapture(str(self.folder / "demo.mp4"))
        pictures = []
        while (read := video.read())[0]:
            pictures.append(read[1])
        self.assertEqual((len(pictures), pictures[0].shape), (12, (576, 768, 3)))
        self.assertGreater(np.abs(pictures[0].astype(int) - pictures[-1]).mean(), 0.1)

    def test_supervision(self):
        said = self.example("annotate_supervision.py", self.folder / "out", "--frames", "8")
        seen = re.findall(r"^frame (\d+): (\d+) in sight$", said, re.M)
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()), [f"demo-{int(n):06d}.png" for n, _ in seen])
        self.assertEqual(len(seen), 8)
        self.assertGreater(max(int(n) for _, n in seen), 0)
        for number, _ in seen:
            self.assertEqual(cv2.imread(str(self.folder / "out" / f"demo-{int(number):06d}.png")).shape, (576, 768, 3))

    def test_notebook(self):
        notebook = nbformat.read(EXAMPLES / "watch.ipynb", as_version=4)
        self.assertEqual(sum("outputs" in cell and len(cell.outputs) for cell in notebook.cells), 0, "it is kept without outputs")
        text = "".join(cell.source for cell in notebook.cells)
        for printed, here in ("nats://127.0.0.1:4222", NATS), ("http://127.0.0.1:8080", PAGE):
            self.assertEqual(text.count(printed), 1)
            for cell in notebook.cells:
                cell.source = cell.source.replace(printed, here)
        notebook.cells.append(nbformat.v4.new_code_cell(
            "import json; print(json.dumps([sequences, areas, list(seen.data['name']), len(frame.masks), int(inside.sum()), list(rgb.shape)]))"))
        nbclient.NotebookClient(notebook, timeout=LIMIT, kernel_name="python3").execute()
        shown = [output.data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "data" in output]
        self.assertEqual(sum("image/png" in data for data in shown), 3)
        sequences, areas, names, known, inside, shape = json.loads(notebook.cells[-1].outputs[0].text)
        self.assertEqual(sequences, sorted(set(sequences)))
        self.assertEqual(len(sequences), 30)
        self.assertTrue(all(re.fullmatch(r"person \d+", name) for name in areas), areas)
        self.assertGreater(max(max(each.values()) for each in areas.values()), 0)
        self.assertTrue(names and len(names) <= known)
        self.assertGreater(inside, 0)
        self.assertEqual(shape, [576, 768, 3])
        self.assertIn(f"of {len(names)} are in the left half", notebook.cells[-2].outputs[0].text)


if __name__ == "__main__":
    unittest.main()
