"""The mask head: which of a box is the object. Run: python -m segdtrain.masks --data FOLDER --model segd-p64.onnx --out NEW.onnx

The network stays as it is. A region of interest is a box grown to GROWN times its size, at CELLS×CELLS cells. Of each cell the head
sees the embedding (`features`) and CHANNELS more that a 1×1 convolution makes of what NanoDet-Plus' heads see (`masks`, an output at
stride 8 that is added to the network). It makes the logit of the cell to be the object's.

Learnt from objects in photographs (COCO's, Clothing Co-Parsing's, and segments of BSDS500 that two persons drew alike), as they are
and cut out and pasted before other pictures, in the sizes that cameras see; what is pasted before an object is not the object.
"""
import argparse
import base64
import glob
import io
import json
import os
import sys
import time

import cv2
import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper
from scipy.io import loadmat
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from . import card, data, export, network, views

GROWN = 1.3  # a region over the box
CELLS = 28  # of a region, along each side
CHANNELS = 32  # of the output that is added
OUTPUT, METADATA = "masks", "segd.masks"
# What the added output is made of: the neck's and the class tower's maps at stride 8, and the tower's at stride 16.
FINE, COARSE = ("heads/164", "heads/236"), "heads/231"
EMBEDDING = 64

# Objects are learnt from that the network sees so large, in boxes whose sides are off by so much of the box, one deviation.
LEAST_SIDE, LEAST_AREA, OFF = 8, 200, 0.06
# How often an object, or a picture with several, comes from each source, and how often a picture is made of pasted objects alone.
SHARES = {"ccp": 0.25, "coco": 0.5, "drawn": 0.25}
COMPOSED = 0.4
PERSON = 1  # of COCO's categories

# Every so many-th picture of a source is not learnt from: what a head is worth is told by its objects. SMALL ones are of fewer pixels.
HELD_OUT, SMALL = 20, 4000

# The head that is written is the exponential moving average of the one that learns; what was before this share of the steps has 1/e of its weight.
AVERAGED = 1 / 10


# The objects.


def objects(folder):
    """Lists (picture, [mask], [class]) of what is there of each source with objects: COCO's, persons of Clothing Co-Parsing, and
    segments of BSDS500. A picture that several have counts once."""
    found, seen = {"coco": [], "ccp": [], "drawn": []}, set()
    regions = data.find(folder, ("objects", "regions")).items.get("regions", [])  # refuses what is held back

    def add(kind, path, masks, classes):
        key = kind, os.path.basename(path)
        if key in seen or not masks:
            return
        seen.add(key)
        found[kind].append((path, masks, classes))

    for root in ("COCO_Tiny", "COCO-MINI"):
        for part in ("train2017", "val2017"):
            path = os.path.join(folder, root, "annotations", f"instances_{part}.json")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as f:
                made = json.load(f)
            by = {}
            for a in made["annotations"]:
                if not a.get("iscrowd") and isinstance(a["segmentation"], list):
                    by.setdefault(a["image_id"], []).append(([np.reshape(s, (-1, 2)) for s in a["segmentation"]], a["category_id"]))
            for image in sorted(made["images"], key=lambda i: i["id"]):
                picture = os.path.join(folder, root, part, image["file_name"])
                if os.path.exists(picture):
                    there = by.get(image["id"], [])
                    masks = [polygons(p, image["height"], image["width"]) for p, _ in there]
                    add("coco", picture, masks, [c for _, c in there])
    for path in sorted(glob.glob(os.path.join(folder, "coco128_yolo/instance_segmentation/labels/*/*.txt"))):
        part, name = os.path.split(path)
        picture = os.path.join(folder, "coco128_yolo/instance_segmentation/images", os.path.basename(part), name[:-4] + ".jpg")
        if not os.path.exists(picture):
            continue
        height, width = cv2.imread(picture).shape[:2]
        with open(path, encoding="utf-8") as f:
            lines = [line.split() for line in f]
        masks = [polygons([np.reshape([float(v) for v in line[1:]], (-1, 2)) * (width, height)], height, width) for line in lines]
        add("coco", picture, masks, [int(line[0]) for line in lines])
    for path in sorted(glob.glob(os.path.join(folder, "clothing-co-parsing/annotations/pixel-level/*.mat"))):
        picture = os.path.join(folder, "clothing-co-parsing/photos", os.path.basename(path)[:-4] + ".jpg")
        mask = loadmat(path)["groundtruth"] > 0
        if os.path.exists(picture):
            add("ccp", picture, [mask], [PERSON])
    for item in regions:
        masks = drawn_alike([person["Segmentation"][0, 0] for person in loadmat(item.labels)["groundTruth"][0]])
        add("drawn", item.picture, masks, [None] * len(masks))
    if not found["coco"]:
        raise FileNotFoundError(f"{folder} has no masks of COCO's: python -m segdtrain.data fetch {folder}")
    return found


def drawn_alike(persons):
    """The masks of segments that two persons drew alike and that are as objects are, by the rule of boxtrain
    (lab/cmd/boxtrain/objects.go)."""
    found = []
    for k, segments in enumerate(persons):
        alike = np.max([shared(segments, other).max(1) for j, other in enumerate(persons) if j != k], 0, initial=0)
        for label in np.flatnonzero(alike >= 0.7):
            mask = segments == label
            box = bounds(mask).astype(int)
            part = mask[box[1] : box[3], box[0] : box[2]]
            ends = (box[0] == 0) + (box[1] == 0) + (box[2] == mask.shape[1]) + (box[3] == mask.shape[0])
            along = part[0].sum() + part[-1].sum() + part[:, 0].sum() + part[:, -1].sum()
            if not (500 <= mask.sum() <= 0.5 * mask.size and 0.2 * part.size <= mask.sum() and part.size <= 0.7 * mask.size):
                continue
            if ends > 1 or min(part.shape) < 20 or along > 0.45 * 2 * sum(part.shape):
                continue
            if not any((mask & m).sum() > 0.8 * (mask | m).sum() for m in found):
                found.append(mask)
    return found


def shared(a, b):
    """The intersection over union of each label of a with each of b."""
    a, b = a.astype(np.int64), b.astype(np.int64)
    n = b.max() + 1
    both = np.bincount((a * n + b).ravel(), minlength=(a.max() + 1) * n).reshape(-1, n)
    return both / np.maximum(1, both.sum(1, keepdims=True) + both.sum(0) - both)


def polygons(points, height, width):
    """The mask of polygons, which may lie in each other."""
    mask = np.zeros((height, width), np.uint8)
    for p in points:
        one = np.zeros_like(mask)
        cv2.fillPoly(one, [np.round(p).astype(np.int32)], 1)
        mask |= one
    return mask > 0


# The pictures that the network is shown.


def scaled(picture, masks, scale):
    size = [max(32, round(n * scale / 32) * 32) for n in picture.shape[1::-1]]
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return cv2.resize(picture, size, interpolation=how), [cv2.resize(m.astype(np.float32), size, interpolation=how) for m in masks]


def read(item):
    picture = cv2.imread(item[0])
    return (picture, [m for m in item[1] if m.shape == picture.shape[:2]]) if picture is not None else (None, [])


def draw(rng, kinds):
    """One of these sources of objects, as often as it is to be: persons are what most cameras see, the other two have all kinds of things."""
    shares = np.array([SHARES[k] for k in kinds])
    return rng.choice(kinds, p=shares / shares.sum())


def split(found):
    """The pictures to learn from, and those that are held out."""
    held = {kind: items[::HELD_OUT] for kind, items in found.items()}
    return {kind: [item for n, item in enumerate(items) if n % HELD_OUT] for kind, items in found.items()}, held


def cuttable(found):
    """What can be cut out of its photograph, as it does not leave it: (source, class) → [(picture, mask)]."""
    by = {}
    for kind, items in found.items():
        for path, masks, classes in items:
            for m, c in zip(masks, classes):
                if m.sum() > 3000 and not (m[0].any() or m[:, 0].any() or m[:, -1].any()):
                    by.setdefault((kind, c), []).append((path, m))
    return by


def cutout(rng, cuts):
    """An object cut out of a photograph, each class of a source as often: pixels and mask."""
    kind = draw(rng, [k for k in SHARES if any(of[0] == k for of in cuts)])
    classes = [of for of in cuts if of[0] == kind]
    of = cuts[classes[rng.integers(len(classes))]]
    path, m = of[rng.integers(len(of))]
    x0, y0, x1, y1 = bounds(m).astype(int)
    return cv2.imread(path)[y0:y1, x0:x1].astype(np.float32), m[y0:y1, x0:x1].astype(np.float32)


def paste(rng, picture, masks, cuts, height):
    """Pastes an object, so tall, somewhere before what there is; its mask is the last then."""
    pixels, mask = cutout(rng, cuts)
    scale = height / mask.shape[0]
    size = max(4, round(mask.shape[1] * scale * rng.uniform(0.85, 1.2))), max(8, round(height))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    pixels, mask = cv2.resize(pixels, size, interpolation=how), cv2.resize(mask, size, interpolation=how)
    if rng.random() < 0.5:
        pixels, mask = pixels[:, ::-1], mask[:, ::-1]
    pixels = np.clip(pixels * rng.uniform(0.7, 1.25) + rng.uniform(-20, 20), 0, 255)
    h, w = picture.shape[:2]
    x, y = (round(rng.uniform(-0.3 * s, max(-0.3 * s, n - 0.7 * s))) for s, n in zip(size, (w, h)))
    inside = np.s_[max(0, y) : min(h, y + size[1]), max(0, x) : min(w, x + size[0])]
    of = np.s_[inside[0].start - y : inside[0].stop - y, inside[1].start - x : inside[1].stop - x]
    alpha = np.zeros((h, w), np.float32)
    alpha[inside] = mask[of]
    soft = cv2.GaussianBlur(alpha, (0, 0), 0.6)[..., None]
    full = np.zeros_like(picture)
    full[inside] = pixels[of]
    full = full if size[1] < 40 else cv2.GaussianBlur(full, (0, 0), 0.5)
    picture *= 1 - soft
    picture += soft * full
    for m in masks:
        m *= 1 - alpha
    masks.append(alpha)


def scene(rng, found, cuts, backgrounds):
    """A picture of 0…255 whose sides are multiples of 32, its objects' masks, and the boxes of all of each, in part of them though
    something is before it."""
    composed = rng.random() < COMPOSED
    if not composed:
        kind = draw(rng, [k for k in SHARES if found[k]])
        picture, masks = read(found[kind][rng.integers(len(found[kind]))])
        sides = (128, 352) if kind == "ccp" else (256, 608)  # persons of Clothing Co-Parsing fill their pictures
        picture, masks = scaled(picture, masks, rng.uniform(*sides) / min(picture.shape[:2]))
    else:
        picture = cv2.imread(backgrounds[rng.integers(len(backgrounds))])
        picture, masks = scaled(picture, [], rng.uniform(352, 544) / min(picture.shape[:2]))
    if picture.shape[0] * picture.shape[1] > 640 * 960:
        picture, masks = picture[:640, :960], [m[:640, :960] for m in masks]
    picture = picture.astype(np.float32)
    whole = [bounds(m) for m in masks]
    pasted = rng.integers(4, 9) if composed else rng.integers(0, 4) if rng.random() < 0.6 else 0
    for height in np.exp(rng.uniform(np.log(24), np.log(0.7 * picture.shape[0]), pasted)):
        n = len(masks)
        paste(rng, picture, masks, cuts, height)
        whole += [bounds(m) for m in masks[n:]]
    boxes = [b if b is not None and rng.random() < 0.5 else bounds(m) for b, m in zip(whole, masks)]
    picture = views.disturb(rng, picture.astype(np.float64), rng.random() < 0.1) if rng.random() < 0.7 else picture
    return np.clip(picture, 0, 255).astype(np.float32), masks, boxes


def bounds(mask):
    """The box of a mask, to the pixel, or None where there is nothing."""
    m = mask > 0.5
    ys, xs = np.flatnonzero(m.any(1)), np.flatnonzero(m.any(0))
    return np.array([xs[0], ys[0], xs[-1] + 1, ys[-1] + 1], np.float64) if len(ys) else None


# Regions.


def weights(low, high, cells, size, stride, sub=4):
    """cells×size: the mean of bilinear samples, sub of them, in each cell of [low, high) of a map whose cell i is round (i+½)·stride."""
    at = np.clip((low + (np.arange(cells * sub) + 0.5) / (cells * sub) * (high - low)) / stride - 0.5, 0, size - 1)
    first = np.minimum(at.astype(int), max(size - 2, 0))
    made, rows = np.zeros((cells * sub, size), np.float32), np.arange(cells * sub)
    made[rows, first] += 1 - (at - first)
    made[rows, np.minimum(first + 1, size - 1)] += at - first
    return made.reshape(cells, sub, size).mean(1)


def region(planes, box, cells, stride):
    """planes, C×H×W, in a box (x0, y0, x1, y1) of pixels: C×cells×cells."""
    y, x = (weights(box[k], box[k + 2], cells, planes.shape[2 - k], stride) for k in (1, 0))
    rows, columns = np.flatnonzero(y.any(0)), np.flatnonzero(x.any(0))
    part = planes[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return np.matmul(np.matmul(y[:, rows[0] : rows[-1] + 1], part), x[:, columns[0] : columns[-1] + 1].T)


def grown(box, by):
    middle, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2 * by
    return np.concatenate([middle - half, middle + half])


def without_head(path):
    """The network in a file, or what is wrong with it: a mask head takes half an hour to train."""
    model = onnx.load(path)
    if any(o.name == OUTPUT for o in model.graph.output):
        raise ValueError(f"{path} has a mask head already; want the network before it got one")
    made = {name for node in model.graph.node for name in node.output}
    if not made.issuperset((*FINE, COARSE)):
        raise ValueError(f"{path} has no heads of NanoDet-Plus-m's; want a network with them")
    channels = model.graph.output[0].type.tensor_type.shape.dim[1].dim_value
    if channels != EMBEDDING:
        raise ValueError(f"{path} makes {channels} channels of features; want {EMBEDDING}, as the mask head sees")
    return model


class Frozen:
    """The network, and what the head sees of it."""

    def __init__(self, path, threads):
        model = without_head(path)
        for name in (*FINE, COARSE):
            model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def __call__(self, picture):
        """The embedding, and at stride 8 what the added output is made of."""
        x = ((picture - np.float32(network.MEAN)) / network.STD).transpose(2, 0, 1)[None]
        embedding, *fine, coarse = self.session.run(["features", *FINE, COARSE], {"image": np.ascontiguousarray(x, np.float32)})
        coarse = F.interpolate(torch.from_numpy(coarse), scale_factor=2.0, mode="bilinear", align_corners=False).numpy()
        return embedding[0], np.concatenate([fine[0][0], fine[1][0], coarse[0]])


class Kept:
    """What the head is to see of objects, as numbers of 8 bits, and their masks there."""

    def __init__(self, most, channels):
        self.maps, self.masks = np.zeros((most, channels, CELLS, CELLS), np.int8), np.zeros((most, 1, CELLS, CELLS), np.uint8)
        self.areas = np.zeros(most)  # in pixels of the network's picture
        self.scale, self.n, self.channels = None, 0, channels

    def full(self):
        return self.n == len(self.maps)

    def add(self, rng, maps, mask, box):
        """Adds an object in a box whose sides are off as a detector's are."""
        sides = np.tile(box[2:] - box[:2], 2)
        around = grown(box + sides * np.clip(rng.normal(0, OFF, 4), -3 * OFF, 3 * OFF), GROWN)
        made = np.concatenate([region(m, around, CELLS, stride) for m, stride in zip(maps, (4, 8))])
        if self.scale is None:
            spread = [np.sqrt((m.reshape(len(m), -1) ** 2).mean(1)) for m in maps]
            self.scale = (np.concatenate(spread) * 5 / 127 + 1e-6).astype(np.float32)
        self.maps[self.n] = np.clip(np.round(made / self.scale[:, None, None]), -127, 127)
        h, w = mask.shape
        x, y = (around[k] + (np.arange(CELLS) + 0.5) / CELLS * (around[k + 2] - around[k]) for k in (0, 1))
        inside = ((y >= 0) & (y < h))[:, None] & ((x >= 0) & (x < w))[None]
        self.areas[self.n] = (mask > 0.5).sum()
        self.masks[self.n] = np.round(255 * region(mask[None], around, CELLS, 1)[0] * inside)
        self.n += 1

    def batch(self, at, mirrored):
        maps = torch.from_numpy(self.maps[at].astype(np.float32)) * torch.from_numpy(self.scale).view(1, -1, 1, 1)
        masks = torch.from_numpy(self.masks[at].astype(np.float32)) / 255
        return (maps.flip(3), masks.flip(3)) if mirrored else (maps, masks)


def gather(rng, frozen, found, backgrounds, most):
    """Shows the network pictures until there are so many objects."""
    kept, cuts, began = None, cuttable(found), time.monotonic()
    while kept is None or not kept.full():
        picture, masks, boxes = scene(rng, found, cuts, backgrounds)
        maps = frozen(picture)
        if kept is None:
            kept = Kept(most, sum(map(len, maps)))
        order = [k for k in rng.permutation(len(masks)) if boxes[k] is not None and (masks[k] > 0.5).sum() >= LEAST_AREA]
        for k in [k for k in order if min(boxes[k][2:] - boxes[k][:2]) >= LEAST_SIDE][:6]:
            if not kept.full():
                kept.add(rng, maps, masks[k], boxes[k])
                if kept.n % 500 == 0:
                    print(f"{kept.n} of {most} objects, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return kept


# The head.


def conv(i, o, dilation=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, 1, dilation, dilation=dilation, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Head(nn.Module):
    """N×(EMBEDDING+CHANNELS)×CELLS×CELLS → logits, N×1×CELLS×CELLS: a first guess by where in the box a cell is and by its surroundings;
    then how much more a cell's embedding is like that of what was guessed to be the object than like that of the rest.
    All layers of 3×3 but the last one see half the cells along each side."""

    def __init__(self, width=32, like=16):
        super().__init__()
        self.into = nn.Conv2d(EMBEDDING + CHANNELS, width, 1)
        self.place = nn.Parameter(torch.zeros(1, width, CELLS, CELLS))
        self.first = nn.ModuleList([conv(width, width, d) for d in (1, 2, 2)])
        self.guess = nn.Conv2d(width, 1, 1)
        self.like = nn.Conv2d(EMBEDDING, like, 1)
        self.told = nn.Conv2d(3, width, 1, bias=False)
        self.second = nn.ModuleList([conv(width, width, 2), conv(width, width)])
        self.out = nn.Conv2d(width, 1, 1)
        self.sharp = nn.Parameter(torch.tensor(5.0))
        for name, to, of in (("spread", like, 1), ("total", like, like), ("sum", 1, like)):
            self.register_buffer(name, torch.ones(to, of, 1, 1), persistent=False)

    def forward(self, x):
        fine = F.relu(self.into(x) + self.place)
        h = F.avg_pool2d(fine, 2)
        for layer in self.first:
            h = h + layer(h)
        guess = finer(self.guess(h))
        p = torch.sigmoid(guess)
        like = self.unit(self.like(x[:, :EMBEDDING]))
        spread = F.conv2d(p, self.spread)
        of = [F.conv2d(like * self.unit(everywhere(like * share)), self.sum) for share in (spread, 1 - spread)]
        told = self.told(torch.cat([p, *of], 1))
        h = h + F.avg_pool2d(told, 2)
        h = h + self.second[0](h)
        fine = fine + told + finer(h)
        fine = fine + self.second[1](fine)
        return self.out(fine) + self.sharp * (of[0] - of[1]) + guess, guess

    def unit(self, x):
        """Of length 1 in each cell. OpenCV 4.6 multiplies and divides tensors of one shape only, so the length has as many channels."""
        return x / (F.conv2d(x * x, self.total) + 1e-4).sqrt()


def finer(x):
    return F.interpolate(x, scale_factor=2, mode="nearest")


def everywhere(x):
    """The mean of each channel, in each cell."""
    return F.interpolate(F.adaptive_avg_pool2d(x, 1), size=(CELLS, CELLS), mode="nearest")


class Trained(nn.Module):
    """The head, and the 1×1 convolution that the network is given."""

    def __init__(self, inputs):
        super().__init__()
        self.added = nn.Conv2d(inputs - EMBEDDING, CHANNELS, 1, bias=False)
        self.head = Head()

    def forward(self, maps):
        return self.head(torch.cat([maps[:, :EMBEDDING], self.added(maps[:, EMBEDDING:])], 1))


def loss(made, want):
    total = 0
    for logits, weight in zip(made, (1, 0.3)):
        p = torch.sigmoid(logits)
        both = (p * want).sum((1, 2, 3))
        overlap = (both + 1) / ((p + want).sum((1, 2, 3)) - both + 1)
        total = total + weight * (F.binary_cross_entropy_with_logits(logits, want) + (1 - overlap).mean())
    return total


def train(rng, kept, steps, batch, rate):
    model = Trained(kept.channels)
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(1 - 1 / (AVERAGED * steps)), use_buffers=True)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-3)
    began, mean = time.monotonic(), None
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 60) * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-6
        maps, want = kept.batch(rng.choice(kept.n, batch, replace=False), rng.random() < 0.5)
        made = loss(model(maps), want)
        optimiser.zero_grad()
        made.backward()
        optimiser.step()
        averaged.update_parameters(model)
        mean = made.item() if mean is None else 0.97 * mean + 0.03 * made.item()
        if step % 100 == 99:
            print(f"step {step + 1} of {steps}, loss {mean:.4f}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return averaged.module.eval()


def score(model, kept):
    """The intersection over union of what the model makes of each object and its mask, in cells."""
    found = []
    with torch.no_grad():
        for k in range(kept.n):
            maps, want = kept.batch([k], False)
            made, want = model(maps)[0] > 0, want > 0.5
            found.append(((made & want).sum() / (made | want).sum().clamp(min=1)).item())
    return np.array(found)


# The file.


def graft(path, model, to):
    """Adds the output and the head to a network's file, and aligns it; what it makes is as it was."""
    file = without_head(path)
    graph = file.graph
    weight = model.added.weight.detach().numpy()
    fine = weight.shape[1] * 2 // 3
    parts = [(FINE[0], weight[:, : fine // 2]), (FINE[1], weight[:, fine // 2 : fine]), (COARSE, weight[:, fine:])]
    made = []
    for k, (source, part) in enumerate(parts):
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(part), f"{OUTPUT}/weight{k}"))
        graph.node.append(helper.make_node("Conv", [source, f"{OUTPUT}/weight{k}"], [f"{OUTPUT}/{k}"], f"{OUTPUT}/{k}", kernel_shape=[1, 1]))
        made.append(f"{OUTPUT}/{k}")
    like = next(n for n in graph.node if n.op_type == "Resize")
    resize = helper.make_node("Resize", [made[2], *like.input[1:]], [f"{OUTPUT}/large"], f"{OUTPUT}/large")
    resize.attribute.extend(like.attribute)
    graph.node.append(resize)
    graph.node.append(helper.make_node("Add", made[:2], [f"{OUTPUT}/fine"], f"{OUTPUT}/fine"))
    graph.node.append(helper.make_node("Add", [f"{OUTPUT}/fine", f"{OUTPUT}/large"], [OUTPUT], OUTPUT))
    graph.output.append(helper.make_tensor_value_info(OUTPUT, onnx.TensorProto.FLOAT, [1, CHANNELS, "height_8", "width_8"]))
    helper.set_model_props(file, {METADATA: base64.b64encode(exported(model.head)).decode()})
    onnx.checker.check_model(file)
    onnx.save(file, to)
    export.align(to)


class Last(nn.Module):
    """The head as segd's engines take it: an image of three planes, in which those of a region lie one below the other."""

    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x.reshape(1, EMBEDDING + CHANNELS, CELLS, CELLS))[0]


def exported(head):
    """The head's own ONNX file."""
    made = io.BytesIO()
    torch.onnx.export(
        Last(head).eval(), torch.randn(1, 3, (EMBEDDING + CHANNELS) // 3 * CELLS, CELLS), made, opset_version=11,
        input_names=["region"], output_names=["logits"], dynamo=False,
    )
    return made.getvalue()


def main():
    p = argparse.ArgumentParser(prog="segdtrain.masks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder that python -m segdtrain.data fetch filled")
    p.add_argument("--model", required=True, help="network with heads, without a mask head")
    p.add_argument("--out", required=True, help="file to write")
    p.add_argument("--objects", type=int, default=14000)
    p.add_argument("--held", type=int, default=1000, help="objects of held-out pictures that the head is scored by")
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--rate", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    cv2.setNumThreads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    frozen = Frozen(args.model, args.threads)
    found = objects(args.data)
    print({k: (len(v), sum(len(m) for _, m, _ in v)) for k, v in found.items()}, file=sys.stderr)
    backgrounds = [i.picture for kind in ("pictures", "regions") for i in data.find(args.data).items.get(kind, [])]
    learnt, held = split(found)
    kept = gather(rng, frozen, learnt, backgrounds, args.objects)
    model = train(np.random.default_rng(args.seed + 1), kept, args.steps, args.batch, args.rate)
    kept = gather(np.random.default_rng(args.seed + 2), frozen, held, backgrounds, args.held)
    scores, small = score(model, kept), kept.areas < SMALL
    told = f"{scores.mean():.3f} of {kept.n:,} objects in held-out pictures, {scores[small].mean():.3f} of {small.sum():,} with fewer than {SMALL:,} pixels"
    print("mean IoU " + told, file=sys.stderr)
    before = card.sha256(args.model)
    graft(args.model, model, args.out)
    path = os.path.splitext(args.out)[0] + ".md"
    if os.path.exists(path):
        masks = {name: (len(v), sum(len(m) for _, m, _ in v)) for name, v in learnt.items()}
        card.add_mask_head(path, args.out, before, args, masks, told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
