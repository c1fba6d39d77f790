"""Masks beside pycocotools, and what is no mask. Run by python -m unittest."""

import unittest

import numpy as np
from pycocotools import mask as coco

import segd


def frame(width, height, counts):
    f = segd.MaskFrame(width=width, height=height)
    f.objects.add(id=1, counts=counts)
    return f, f.objects[0]


class Masks(unittest.TestCase):
    def test_as_pycocotools(self):
        random = np.random.default_rng(1)
        for height, width in (1, 1), (1, 70), (70, 1), (5, 7), (48, 64), (359, 641):
            for density in 0, 0.002, 0.1, 0.5, 0.9, 1:
                bits = random.random((height, width)) < density
                counts = coco.encode(np.asfortranarray(bits, dtype=np.uint8))["counts"].decode()
                got = segd.mask(*frame(width, height, counts))
                self.assertEqual((got.dtype, got.shape), (np.bool_, (height, width)))
                np.testing.assert_array_equal(got, bits)

    def test_refused(self):
        for what, width, height, counts in (
            ("nothing", 4, 3, ""),
            ("too few pixels", 4, 3, "7"),
            ("too many", 4, 3, "o"),
            ("a negative run", 4, 3, "o?N0"),
            ("runs that end within a number", 4, 3, "0P"),
            ("a character that is none of COCO's", 4, 3, "00\x7f"),
            ("a letter beyond them", 4, 3, "é"),
            ("a number without end", 4, 3, "P" * 1000),
            ("a number of seven letters", 4, 3, "\\PPPPP0"),
            ("a picture without a size", 0, 0, ""),
            ("a negative size", -4, -3, "<"),
            ("a picture larger than any", 1 << 30, 2, "0"),
        ):
            with self.subTest(what), self.assertRaises(ValueError):
                segd.mask(*frame(width, height, counts))


if __name__ == "__main__":
    unittest.main()
