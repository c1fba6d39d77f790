"""Holds masks against pycocotools: reads a JSON list of {width, height, counts,
bits, area, box} from standard input, where bits is one character a pixel, row by
row, and prints how many it read and decoded, encoded and measured as they say."""

import json
import sys

import numpy
from pycocotools import mask

cases = json.load(sys.stdin)
for n, case in enumerate(cases):
    want = numpy.frombuffer(case["bits"].encode(), numpy.uint8) - ord("0")
    want = want.reshape(case["height"], case["width"])
    rle = {"size": [case["height"], case["width"]], "counts": case["counts"]}
    where = f"mask {n} of {case['width']}x{case['height']}"
    assert (mask.decode(rle) == want).all(), f"{where}: decode"
    assert int(mask.area(rle)) == case["area"], f"{where}: area {mask.area(rle)}, want {case['area']}"
    assert mask.toBbox(rle).tolist() == case["box"], f"{where}: box {mask.toBbox(rle)}, want {case['box']}"
    back = mask.encode(numpy.asfortranarray(want))["counts"].decode()
    assert back == case["counts"], f"{where}: encodes {back}, want {case['counts']}"
print(len(cases))
