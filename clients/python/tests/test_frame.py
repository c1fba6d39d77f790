"""Frames made by hand: names, masks, pictures, and detections as the real supervision takes them."""

import io
import sys
import unittest
from datetime import UTC, datetime
from unittest import mock

import numpy as np
import supervision
from PIL import Image
from pycocotools import mask as coco

import segd
from segd.frame import decode

WIDTH, HEIGHT = 64, 48


def rectangle(x, y, width, height):
    bits = np.zeros((HEIGHT, WIDTH), np.bool_)
    bits[y : y + height, x : x + width] = True
    return bits


def jpeg(rgb):
    out = io.BytesIO()
    Image.fromarray(rgb).save(out, "JPEG", quality=95, subsampling=0)
    return out.getvalue()


def frame(*objects):
    """Returns a frame of objects: id, label, class, mask."""
    message = segd.MaskFrame(site="home", camera="gate", sequence=12, width=WIDTH, height=HEIGHT)
    message.capture_time.FromDatetime(datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC))
    for id, label, kind, bits in objects:
        obj = message.objects.add(id=id, label=label, area=int(bits.sum()), score=0.5)
        obj.counts = coco.encode(np.asfortranarray(bits, np.uint8))["counts"].decode()
        setattr(obj, "class", kind)
        if bits.any():
            ys, xs = bits.nonzero()
            obj.box.x, obj.box.y = int(xs.min()), int(ys.min())
            obj.box.width, obj.box.height = int(np.ptp(xs)) + 1, int(np.ptp(ys)) + 1
    return segd.Frame(message)


class Names(unittest.TestCase):
    def test_names(self):
        for label, id, want in (
            ("person", 1, "person 1"),
            ("person 1", 1, "person 1"),
            ("person 11", 1, "person 11 1"),
            ("gate2", 2, "gate2"),
            ("2", 2, "2"),
            ("", 300, "object 300"),
            ("a\n1\n", 1, "a\n1\n 1"),
        ):
            with self.subTest(label=label, id=id):
                self.assertEqual(segd.name(segd.Object(id=id, label=label)), want)


class Frames(unittest.TestCase):
    def setUp(self):
        self.masks = [rectangle(3, 4, 10, 20), rectangle(0, 0, 0, 0), rectangle(40, 0, 24, 48)]
        self.frame = frame(
            (1, "bag", "", self.masks[0]), (256, "person", "person", self.masks[1]), (257, "person", "person", self.masks[2])
        )

    def test_masks(self):
        f = self.frame
        self.assertEqual(list(f.masks), ["bag 1", "person 256", "person 257"])
        for got, want in zip(f.masks.values(), self.masks, strict=True):
            self.assertEqual(got.dtype, np.bool_)
            np.testing.assert_array_equal(got, want)
        self.assertIs(f.masks["bag 1"], f.masks["bag 1"])
        self.assertNotIn("person", f.masks)
        with self.assertRaisesRegex(KeyError, "no object person in frame 12 of camera gate; there are: bag 1, person 256, person 257"):
            f.masks["person"]
        self.assertEqual((f.site, f.camera, f.sequence, f.width, f.height), ("home", "gate", 12, WIDTH, HEIGHT))
        self.assertEqual(f.capture_time, datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC))

    def test_a_faulty_mask_leaves_the_others(self):
        self.frame.message.objects[0].counts = "7"
        self.assertTrue(self.frame.masks["person 257"].any())
        self.assertIn("bag 1", self.frame.masks)
        with self.assertRaises(ValueError):
            self.frame.masks["bag 1"]

    def test_detections(self):
        got = self.frame.detections()
        self.assertIsInstance(got, supervision.Detections)
        np.testing.assert_array_equal(got.xyxy, [[3, 4, 13, 24], [40, 0, 64, 48]])
        np.testing.assert_array_equal(got.mask, [self.masks[0], self.masks[2]])
        np.testing.assert_array_equal(got.tracker_id, [1, 257])
        np.testing.assert_array_equal(got.class_id, [80, 0])
        np.testing.assert_array_equal(got.confidence, np.float32([0.5, 0.5]))
        self.assertEqual(list(got.data["class_name"]), ["bag", "person"])
        self.assertEqual(list(got.data["name"]), ["bag 1", "person 257"])
        np.testing.assert_array_equal(got.area, [200, 24 * 48])
        self.assertEqual(list(got[got.data["class_name"] == "person"].tracker_id), [257])

    def test_no_detections(self):
        got = frame((1, "bag", "", self.masks[1])).detections()
        self.assertEqual((len(got), got.mask.shape), (0, (0, HEIGHT, WIDTH)))
        scene = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        np.testing.assert_array_equal(supervision.MaskAnnotator().annotate(scene.copy(), got), scene)

    def test_what_is_not_installed_is_named(self):
        with mock.patch.dict(sys.modules, {"supervision": None}), self.assertRaisesRegex(ImportError, r"pip install 'segd\[supervision\]'"):
            self.frame.detections()
        self.frame._set_picture(12, b"")
        with mock.patch.dict(sys.modules, {"PIL": None}), self.assertRaisesRegex(ImportError, r"pip install 'segd\[images\]'"):
            self.frame.image()

    def test_image(self):
        with self.assertRaisesRegex(RuntimeError, "frame 12 has no picture"):
            self.frame.image()
        rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        rgb[:, :] = 200, 100, 20
        self.frame._set_picture(13, jpeg(rgb))
        got = self.frame.image()
        self.assertEqual((got.dtype, got.shape, self.frame.image_sequence), (np.uint8, (HEIGHT, WIDTH, 3), 13))
        self.assertTrue(got.flags["C_CONTIGUOUS"] and got.flags["WRITEABLE"])
        np.testing.assert_allclose(got.reshape(-1, 3).mean(0), (20, 100, 200), atol=3)

    def test_what_is_no_picture(self):
        good = jpeg(np.zeros((HEIGHT, WIDTH, 3), np.uint8))
        png = io.BytesIO()
        Image.new("RGB", (WIDTH, HEIGHT)).save(png, "PNG")
        for what, data in ("nothing", b""), ("noise", b"\xff\xd8noise"), ("a PNG", png.getvalue()), ("a part", good[: len(good) // 2]):
            with self.subTest(what), self.assertRaisesRegex(ValueError, "no picture"):
                decode(data, WIDTH, HEIGHT)
        with self.assertRaisesRegex(ValueError, "a picture of 64×48 for masks of 640×480"):
            decode(good, 640, 480)


if __name__ == "__main__":
    unittest.main()
