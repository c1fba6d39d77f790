"""What is learnt from: public pictures, which are neither passed on nor in the model.

data.json lists the repositories they come from, with commit, licence and what is in them:
pictures (single ones), regions (with segmentations by people), frames (of video, with classes of pixels), objects
(with the masks of some).

    python -m segdtrain.data fetch FOLDER      clones what is not there
    python -m segdtrain.data shrink FOLDER TO  copies it with a shorter side of 320 pixels
    python -m segdtrain.data list FOLDER       counts what is there, with its checksum

DAVIS' validation sequences and the clip of segd's demo are in none of them, and are refused by name.
"""
import argparse
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import cv2
import numpy as np
from scipy.io import loadmat

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data.json")
UNKNOWN = -1  # label of a pixel of which nothing is known
CAMVID_UNLABELLED = 11
SHORT_SIDE = 320
# Evaluation only: a folder or file with such a name in its path is not learnt from.
HELD_BACK = ("davis", "vtest", "pets")


@dataclass
class Item:
    """A picture; of the next one of the same video, if there is one, the path as well."""

    picture: str
    what: str
    labels: str = ""
    next: "Item" = None


@dataclass
class Pictures:
    """All that there is, by what it is."""

    items: dict = field(default_factory=dict)
    checksums: dict = field(default_factory=dict)  # by source

    def __len__(self):
        return sum(map(len, self.items.values()))


LEARNT = ("pictures", "regions", "frames")  # what features are learnt from


def find(folder, kinds=LEARNT):
    """Lists what is there of each source of these kinds in a folder; what is not there is told in the error if nothing is."""
    found, missing = Pictures(), []
    with open(SOURCES, encoding="utf-8") as f:
        sources = [s for s in json.load(f) if s["what"] in kinds]
    for source in sources:
        root = os.path.join(folder, source["name"])
        paths = sorted(glob.glob(os.path.join(root, source["pictures"])))
        paths = [p for p in paths if "annot" not in os.path.basename(os.path.dirname(p))]
        if not paths:
            missing.append(source["name"])
            continue
        for p in paths:
            held = [h for h in HELD_BACK if h in os.path.relpath(p, folder).lower()]
            if held:
                raise ValueError(f"{p}: {held[0]} is for evaluation, and not to be learnt from")
        items = [_item(source, root, p) for p in paths]
        if source["what"] == "frames":
            for a, b in zip(items, items[1:]):
                if _video(a.picture) == _video(b.picture):
                    a.next = b
        found.items.setdefault(source["what"], []).extend(items)
        found.checksums[source["name"]] = checksum(root, paths)
    if not found.items:
        raise FileNotFoundError(f"{folder} has none of {', '.join(missing)}: python -m segdtrain.data fetch {folder}")
    return found


def _item(source, root, path):
    split, name = os.path.split(os.path.relpath(path, root))
    split = os.path.basename(split)
    labels = source.get("regions") or source.get("labels") or ""
    if labels:
        labels = os.path.join(root, labels.format(split=split, name=name, stem=os.path.splitext(name)[0]))
        if not os.path.exists(labels):
            raise FileNotFoundError(f"{path} is there and {labels} is not")
    return Item(path, source["what"], labels)


def _video(path):
    """Frames of one video have names that begin alike: 0001TP_006690.png, Seq05VD_f00000.png."""
    return os.path.dirname(path), os.path.basename(path).rsplit("_", 1)[0]


def checksum(root, paths):
    """SHA-256 over the names and contents of files."""
    h = hashlib.sha256()
    for p in paths:
        h.update(os.path.relpath(p, root).encode())
        with open(p, "rb") as f:
            h.update(hashlib.sha256(f.read()).digest())
    return h.hexdigest()


def read(item, rng):
    """A picture, H×W×3 BGR, and its labels, H×W, UNKNOWN where there are none."""
    picture = cv2.imread(item.picture, cv2.IMREAD_COLOR)
    if picture is None:
        raise ValueError(f"{item.picture} is not a picture")
    if item.what == "regions":
        people = loadmat(item.labels)["groundTruth"][0]
        labels = people[rng.integers(len(people))]["Segmentation"][0, 0].astype(np.int32)
    elif item.what == "frames":
        labels = cv2.imread(item.labels, cv2.IMREAD_GRAYSCALE).astype(np.int32)
        labels[labels >= CAMVID_UNLABELLED] = UNKNOWN
    else:
        labels = np.full(picture.shape[:2], UNKNOWN, np.int32)
    if labels.shape != picture.shape[:2]: # of a shrunk picture
        labels = cv2.resize(labels, picture.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    return picture, labels


def fetch(folder):
    with open(SOURCES, encoding="utf-8") as f:
        sources = json.load(f)
    for s in sources:
        to = os.path.join(folder, s["name"])
        if os.path.exists(to):
            print(f"{to} is there", file=sys.stderr)
            continue
        print(f"{s['name']}: {s['licence']}", file=sys.stderr)
        part = to + ".part"
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["git", "init", "-q", part], check=True)
        subprocess.run(["git", "-C", part, "fetch", "-q", "--depth", "1", s["repository"], s["commit"]], check=True)
        subprocess.run(["git", "-C", part, "checkout", "-q", "FETCH_HEAD"], check=True)
        os.rename(part, to)


def shrink(folder, to):
    """Copies pictures with a shorter side of SHORT_SIDE at most, so that they fit where little may be carried."""
    pictures = find(folder)
    for item in sum(pictures.items.values(), []):
        path = os.path.join(to, os.path.relpath(item.picture, folder))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        p = cv2.imread(item.picture)
        scale = SHORT_SIDE / min(p.shape[:2])
        if scale < 1:
            p = cv2.resize(p, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        cv2.imwrite(path, p, [cv2.IMWRITE_JPEG_QUALITY, 95])
        if item.labels:
            labels = os.path.join(to, os.path.relpath(item.labels, folder))
            os.makedirs(os.path.dirname(labels), exist_ok=True)
            shutil.copyfile(item.labels, labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["fetch", "shrink", "list"])
    parser.add_argument("folder")
    parser.add_argument("to", nargs="?")
    args = parser.parse_args()
    if args.do == "fetch":
        fetch(args.folder)
    elif args.do == "shrink":
        if not args.to:
            parser.error("shrink wants a folder to write to")
        shrink(args.folder, args.to)
    else:
        p = find(args.folder, (*LEARNT, "objects"))
        for what, items in p.items.items():
            print(f"{len(items)} {what}")
        for name, sum_ in p.checksums.items():
            print(f"{sum_}  {name}")


if __name__ == "__main__":
    main()
