"""Reads a recording's exports by the tools that read such data sets, and prints how far the masks are those recorded.

Usage: read.py RECORDING COCO YOLO CVAT PNG
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from datumaro.components.annotation import AnnotationType
from datumaro.components.dataset import Dataset
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from ultralytics.data import utils as ultralytics

SPLITS = ("train", "val")


def recorded(folder):
    """The masks of each picture by segd's number of the object, and its class."""
    pictures = {}
    for path in sorted(folder.glob("*.json")):
        frame = json.loads(path.read_text())
        size = [frame["height"], frame["width"]]
        pictures[path.stem] = {
            o["id"]: (coco_mask.decode({"size": size, "counts": o["counts"]}), o["class"] or o["label"])
            for o in frame["objects"]
            if o["area"] > 0
        }
    return pictures


def iou(a, b):
    either = np.count_nonzero(a | b)
    return 1.0 if either == 0 else np.count_nonzero(a & b) / either


def read_coco(folder, truth):
    """By pycocotools, and by Datumaro."""
    equal, tracks = 0, {}
    for split in SPLITS:
        file = COCO(str(folder / "annotations" / f"instances_{split}.json"))
        for i in file.getImgIds():
            image = file.imgs[i]
            assert (folder / "images" / split / image["file_name"]).is_file(), image
            objects = truth[Path(image["file_name"]).stem]
            found = file.loadAnns(file.getAnnIds(imgIds=i))
            assert len(found) == len(objects), (image, len(found), len(objects))
            for a in found:
                mask, name = objects[a["attributes"]["object_id"]]
                assert file.cats[a["category_id"]]["name"] == name and a["iscrowd"] == 0, a
                assert a["area"] == mask.sum() and a["bbox"] == coco_mask.toBbox(file.annToRLE(a)).tolist(), a
                equal += int(np.array_equal(file.annToMask(a), mask))
                tracks.setdefault(a["attributes"]["track_id"], set()).add(a["attributes"]["object_id"])
    assert all(len(ids) == 1 for ids in tracks.values()), tracks
    items = Dataset.import_from(str(folder), "coco_instances")
    masks = sum(a.type == AnnotationType.mask for item in items for a in item.annotations)
    return {"equal": equal, "tracks": len(tracks), "datumaro": masks}


def read_cvat(folder, truth):
    """By Datumaro, as CVAT does itself."""
    equal = 0
    for item in Dataset.import_from(str(folder), "cvat"):
        assert item.media.size is not None, item.id
        for a in item.annotations:
            mask, _ = truth[item.id][int(a.attributes["object_id"])]
            equal += int(np.array_equal(a.image, mask))
    return {"equal": equal}


def read_yolo(folder, truth):
    """By what Ultralytics checks a data set with and makes masks by, and by pycocotools."""
    ultralytics.check_font = lambda *_: None  # of plots, out of the network
    data = ultralytics.check_det_dataset(str(folder / "data.yaml"))
    ious, centres = [], []
    for split in SPLITS:
        files = sorted(str(f) for f in Path(data[split]).glob("*.jpg"))
        for image, label in zip(files, ultralytics.img2label_paths(files)):
            result = ultralytics.verify_image_label((image, label, "", False, len(data["names"]), 0, 0, False))
            _, rows, shape, segments, _, missing, _, _, corrupt, said = result
            assert not missing and not corrupt and not said, result
            objects = list(truth[Path(image).stem].values())
            assert len(rows) == len(segments) == len(objects), image
            for row, segment, (mask, name) in zip(rows, segments, objects):
                assert data["names"][int(row[0])] == name, (row, name)
                points = segment * np.array(shape[::-1])
                ious.append(iou(ultralytics.polygon2mask(shape, [points.reshape(-1)]), mask))
                rle = coco_mask.frPyObjects([points.reshape(-1).tolist()], *shape)[0]
                centres.append(iou(coco_mask.decode(rle), mask))
    return {"objects": len(ious), "iou": np.mean(ious), "least": min(ious), "by_centres": np.mean(centres)}


def read_png(folder, truth):
    """By Pillow: each class' pixels are those of its objects."""
    with open(folder / "classes.csv", newline="") as f:
        values = {row["class"]: int(row["value"]) for row in csv.DictReader(f)}
    equal = 0
    for name, objects in truth.items():
        picture = np.array(Image.open(next(folder.glob(f"masks/*/{name}.png"))))
        expected = np.zeros_like(picture)
        for mask, label in objects.values():
            expected[mask != 0] = values[label]
        equal += int(np.array_equal(picture, expected))
    return {"equal": equal}


def main():
    recording, coco, yolo, cvat, png = map(Path, sys.argv[1:])
    truth = recorded(recording)
    figures = {
        "pictures": len(truth),
        "objects": sum(map(len, truth.values())),
        "coco": read_coco(coco, truth),
        "yolo": read_yolo(yolo, truth),
        "cvat": read_cvat(cvat, truth),
        "png": read_png(png, truth),
    }
    json.dump(figures, sys.stdout)


main()
