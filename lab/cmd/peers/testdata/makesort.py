#!/usr/bin/env python3
# Makes det.txt, what a detector might find in a crowd, and sort.txt, where SORT's authors' own
# program says that they are, at every score: https://github.com/abewley/sort at 2236dff, its
# lines that import matplotlib and skimage taken out; filterpy 1.4.5, scipy, and no lap.
#   python3 -m venv v && v/bin/pip install filterpy==1.4.5 scipy
#   PYTHONPATH=sort v/bin/python makesort.py
import random

import numpy as np
from sort import Sort

rng = random.Random(7)
people = [[rng.uniform(0, 150), rng.uniform(0, 60), rng.uniform(-4, 4), rng.uniform(-1, 1)] for _ in range(9)]
tracker = Sort()
with open("det.txt", "w") as det, open("sort.txt", "w") as result:
    for n in range(1, 61):
        boxes = []
        for k, p in enumerate(people):
            p[0] += p[2]
            p[1] += p[3]
            if n % 20 in (0, 7, 8) or not (k * 3 < n <= 60 - k) or rng.random() < 0.12:
                continue
            b = (p[0] + rng.gauss(0, 2), p[1] + rng.gauss(0, 2), rng.uniform(20, 28), rng.uniform(55, 70))
            boxes.append([round(v, 2) for v in b] + [round(rng.uniform(0.3, 1), 3)])
        for b in boxes:
            print(n, -1, b[0] + 1, b[1] + 1, *b[2:], -1, -1, -1, sep=",", file=det)
        found = tracker.update(np.array([[l, t, l + w, t + h, s] for l, t, w, h, s in boxes]).reshape(-1, 5))
        for l, t, r, b, id in found:
            print(n, int(id), *(f"{v:.6f}" for v in (l + 1, t + 1, r - l, b - t)), 1, -1, -1, -1, sep=",", file=result)
