#!/usr/bin/env python3
# Makes crafted.csv, a crowd that is followed badly, and crafted.txt, what py-motmetrics
# counts in it (motmetrics 1.4.0, numpy 2, in a virtual environment):
#   python3 -m venv v && v/bin/pip install motmetrics && v/bin/python crafted.py
import random
import numpy as np

np.asfarray = lambda a: np.asarray(a, float)  # gone from numpy 2, wanted by motmetrics 1.4.0
import motmetrics as mm

cases = {}
for name, seed, people, side, frames in [("sparse", 1, 4, 400, 30), ("crowd", 2, 6, 90, 40), ("lost", 3, 5, 150, 40)]:
    rng = random.Random(seed)
    at = [[rng.randrange(side), rng.randrange(side // 2)] for _ in range(people)]
    called = list(range(11, 11 + people))  # what each is taken for
    truth, found = {}, {}
    for n in range(1, frames + 1):
        truth[n], found[n] = {}, {}
        for k in range(people):
            for axis in range(2):
                at[k][axis] += rng.randint(-6, 6)
            # Persons come and go.
            if not (k * 4 < n <= frames - (people - k) * 2):
                continue
            if rng.random() < 0.9:
                truth[n][k + 1] = (at[k][0], at[k][1], 24, 60)
            if rng.random() < (0.5 if name == "lost" else 0.9):
                d = [rng.randint(-7, 7) for _ in range(4)]
                found[n][called[k]] = (at[k][0] + d[0], at[k][1] + d[1], 24 + d[2], 60 + d[3])
        if rng.random() < 0.3:  # two are mistaken for each other
            i, j = rng.sample(range(people), 2)
            called[i], called[j] = called[j], called[i]
        if rng.random() < 0.1:  # one gets a new name
            called[rng.randrange(people)] = max(called) + 1
    if name == "lost":
        for n in range(15, 22):
            found[n] = {}
    cases[name] = (truth, found)

with open("crafted.csv", "w") as csv, open("crafted.txt", "w") as txt:
    for name, (truth, found) in cases.items():
        acc = mm.MOTAccumulator(auto_id=False)
        for n in truth:
            t, f = truth[n], found[n]
            for kind, boxes in (("truth", t), ("found", f)):
                for id, b in boxes.items():
                    print(name, kind, n, id, *b, sep=",", file=csv)
            acc.update(list(t), list(f), mm.distances.iou_matrix(list(t.values()), list(f.values()), max_iou=0.7), frameid=n)
        s = mm.metrics.create().compute(acc, metrics=["idf1", "idp", "idr", "idtp", "idfp", "idfn", "num_switches"]).iloc[0]
        print(name, *(repr(float(s[m])) for m in ("idf1", "idp", "idr")), *(int(s[m]) for m in ("idtp", "idfp", "idfn", "num_switches")), file=txt)
