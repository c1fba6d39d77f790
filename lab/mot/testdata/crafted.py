#!/usr/bin/env python3
# Makes crafted.csv, crowds that are followed badly, and crafted.txt, what py-motmetrics
# counts in them (motmetrics 1.4.0, numpy 2, in a virtual environment):
#   python3 -m venv v && v/bin/pip install motmetrics==1.4.0 && v/bin/python crafted.py
#
# And tracks.txt, what it counts in tracks-*.gt.txt and tracks-*.result.txt, crowds whom
# somebody finds by himself, as MOTChallenge's files have them. Boxes of flag 0 are to it
# as those of a distractor: it calls them of no visibility.
import os
import random
import warnings
import numpy as np

np.asfarray = lambda a: np.asarray(a, float)  # gone from numpy 2, wanted by motmetrics 1.4.0
import motmetrics as mm

warnings.filterwarnings("ignore")

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

floats = ["idf1", "idp", "idr", "mota", "recall", "precision"]
ints = ["idtp", "idfp", "idfn", "num_detections", "num_switches", "num_fragmentations"]


def count(acc, floats, ints, *lead, file):
    s = mm.metrics.create().compute(acc, metrics=floats + ints).iloc[0]
    print(*lead, *(repr(float(s[m])) for m in floats), *(int(s[m]) for m in ints), file=file)


with open("crafted.csv", "w") as csv, open("crafted.txt", "w") as txt:
    for name, (truth, found) in cases.items():
        for n in truth:
            for kind, boxes in (("truth", truth[n]), ("found", found[n])):
                for id, b in boxes.items():
                    print(name, kind, n, id, *b, sep=",", file=csv)
        for most in (0.7, 0.5):
            acc = mm.MOTAccumulator(auto_id=False)
            for n in truth:
                t, f = truth[n], found[n]
                acc.update(list(t), list(f), mm.distances.iou_matrix(list(t.values()), list(f.values()), max_iou=most), frameid=n)
            count(acc, floats, ints, name, most, file=txt)

with open("tracks.txt", "w") as txt:
    for name, seed, people, side, frames, ignored in [("plain", 4, 5, 300, 50, 0), ("ignored", 5, 8, 160, 60, 0.3), ("empty", 6, 4, 200, 40, 0.2)]:
        rng = random.Random(seed)
        at = [[rng.uniform(0, side), rng.uniform(0, side / 2)] for _ in range(people)]
        v = [[rng.uniform(-3, 3), rng.uniform(-1, 1)] for _ in range(people)]
        called, names = list(range(1, people + 1)), people
        hidden, unsure = [0] * people, [0] * people  # frames left
        gt, result = [], []
        for n in range(1, frames + 1):
            silent = name == "empty" and (n % 13 < 3 or n > frames - 4)
            absent = name == "empty" and (n % 17 < 4 or n < 3)
            for k in range(people):
                if not (k * 3 < n <= frames - (people - k) * 2):
                    continue
                at[k] = [a + d + rng.gauss(0, 1) for a, d in zip(at[k], v[k])]
                hidden[k] = max(hidden[k] - 1, rng.randint(2, 6) if rng.random() < 0.05 else 0)
                unsure[k] = max(unsure[k] - 1, rng.randint(2, 9) if rng.random() < ignored / 6 else 0)
                if not absent:
                    gt.append((n, k + 1, *(round(x, 2) for x in (at[k][0], at[k][1], 22, 60)), 0 if unsure[k] else 1, -1, -1, -1))
                if hidden[k] == 0 and not silent and rng.random() < 0.93:
                    b = (at[k][0] + rng.gauss(0, 2), at[k][1] + rng.gauss(0, 5), 22 + rng.gauss(0, 2), 60 + rng.gauss(0, 6))
                    result.append((n, called[k], *(round(x, 2) for x in b), round(rng.random(), 2), -1, -1, -1))
            if rng.random() < 0.15 and not silent:  # nobody is there
                names += 1
                result.append((n, names, *(round(rng.uniform(0, side), 2) for _ in range(2)), 20, 55, 0.5, -1, -1, -1))
            if rng.random() < 0.1:  # two are mistaken for each other
                i, j = rng.sample(range(people), 2)
                called[i], called[j] = called[j], called[i]
            if rng.random() < 0.08:  # one gets a new name
                names += 1
                called[rng.randrange(people)] = names
        for kind, rows in (("gt", gt), ("result", result)):
            with open(f"tracks-{name}.{kind}.txt", "w") as f:
                for row in rows:
                    print(*row, sep=",", file=f)
        truth = mm.io.load_motchallenge(f"tracks-{name}.gt.txt")
        truth["ClassId"], truth["Visibility"] = 1, np.where(truth["Confidence"] == 0, -1.0, 1.0)
        with open("seq.ini", "w") as ini:
            print(f"[Sequence]\nseqLength={frames}", file=ini)
        acc, _ = mm.utils.CLEAR_MOT_M(truth, mm.io.load_motchallenge(f"tracks-{name}.result.txt"), "seq.ini")
        os.remove("seq.ini")
        count(acc, ["mota", "idf1", "recall", "precision"], ["num_switches", "num_fragmentations"], name, file=txt)
