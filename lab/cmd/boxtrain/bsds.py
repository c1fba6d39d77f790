#!/usr/bin/env python3
"""Writes the segments of BSDS500's ground truth, MATLAB files, as label maps for boxtrain.

bsds.py BSDS500/data/groundTruth FOLDER writes FOLDER/NAME-K.png, 16 bits a pixel, for each
person K who drew. Needs SciPy and Pillow.
"""

import pathlib
import sys

import numpy
import PIL.Image
import scipy.io

source, into = map(pathlib.Path, sys.argv[1:])
into.mkdir(parents=True, exist_ok=True)
for file in sorted(source.glob("*/*.mat")):
    for k, person in enumerate(scipy.io.loadmat(file)["groundTruth"][0]):
        segments = person["Segmentation"][0, 0].astype(numpy.uint16)
        PIL.Image.fromarray(segments).save(into / f"{file.stem}-{k}.png")
