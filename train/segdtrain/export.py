"""Writes a network as ONNX, and checks it in what segd computes it with: OpenCV 4.6 and ONNX Runtime.

    python -m segdtrain.export network.pt OUT.onnx   writes and checks
    python -m segdtrain.export --layers MODEL.onnx   milliseconds of each layer, in both
"""
import argparse
import json
import os
import sys
import tempfile

import cv2
import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper

from . import heads, network, start

# How far they may be apart: that they add in other orders is worth 1e-5 of features of size 1.
TOLERANCE = 1e-3
# How far heads may be from what ncnn makes of NanoDet-Plus' own files.
HEADS_TOLERANCE = 1e-4
SIZES = ((480, 864), (576, 768), (96, 64))
# ONNX Runtime computes a convolution in blocks of channels only if it is given a multiple of so many; a depthwise one takes a fifth of
# the time then.
BLOCKED = 4


def write(net, path, nanodet=start.NANODET):
    """Exports net with NanoDet-Plus' heads, and returns by how much OpenCV and ONNX Runtime differ from it at most, over several
    sizes."""
    features(net, path)
    heads.graft(path, nanodet)
    return max(check(net, path), check_heads(path, nanodet))


def features(net, path):
    """Exports net alone."""
    torch.onnx.export(
        net.eval().cpu(), torch.randn(1, 3, *SIZES[0]), path, opset_version=11, input_names=["image"], output_names=["features"],
        dynamic_axes={"image": {2: "height", 3: "width"}, "features": {2: "height_4", 3: "width_4"}}, dynamo=False,
    )


def align(path):
    """Has ONNX Runtime compute more of a network's file in blocks of channels: fills what units make with zeros, up to a multiple of
    BLOCKED, and resizes by half_pixel, which pytorch_half_pixel is wherever more than one cell comes out. What the file makes is as it was."""
    model = onnx.load(path)
    weights = {w.name: w for w in model.graph.initializer}
    convolutions = {n.input[1]: n for n in model.graph.node if n.op_type == "Conv"}
    takers = {n.input[0]: n for n in model.graph.node if n.input}

    def fill(name, axis, at):
        values = np.insert(numpy_helper.to_array(weights[name]), [at] * count, 0, axis)
        weights[name].CopyFrom(numpy_helper.from_array(values, name))

    for number, stage in enumerate(network.Network(network.Shape()).stages):
        half = len(stage.made[0])
        count = -half % BLOCKED
        for unit in range(stage.units if count else 0):
            of = f"stages.{number}.branch.{unit}."
            if unit:
                fill(of + "inward.weight", 1, half)  # after the piece of the unit before, which is the last
            for made in ("inward", "depthwise"):
                fill(of + made + ".weight", 0, half)
                fill(of + made + ".bias", 0, half)
            next(a for a in convolutions[of + "depthwise.weight"].attribute if a.name == "group").i += count
            fill(of + "outward.weight", 1, half)
            if unit < stage.units - 1:
                piece = stage.pieces[unit][0][1]  # the next unit's
                fill(of + "outward.weight", 0, piece)
                fill(of + "outward.bias", 0, piece)
                split = takers[takers[convolutions[of + "outward.weight"].output[0]].output[0]]
                next(a for a in split.attribute if a.name == "split").ints[0] += count
    for node in model.graph.node:
        for a in node.attribute:
            if a.s == b"pytorch_half_pixel":
                a.s = b"half_pixel"
    onnx.checker.check_model(model)
    onnx.save(model, path)


@torch.no_grad()
def check(net, path):
    rng = np.random.default_rng(1)
    worst = 0.0
    for size in SIZES:
        x = rng.normal(size=(1, 3, *size)).astype(np.float32)
        worst = max(worst, compare(path, x, {"features": net(torch.from_numpy(x)).numpy()}, "PyTorch", TOLERANCE))
    return worst


def check_heads(path, nanodet=start.NANODET):
    """By how much the heads of a file differ at most from what ncnn makes of NanoDet-Plus as it was published."""
    rng = np.random.default_rng(1)
    return max(compare(path, x, heads.published(nanodet, x), "ncnn", HEADS_TOLERANCE) for x in (rng.normal(size=(1, 3, *size)).astype(np.float32) for size in SIZES))


def compare(path, x, want, whose, tolerance):
    """By how much the outputs that OpenCV and ONNX Runtime make of x differ at most from those that are wanted, by name."""
    worst = 0.0
    opencv = cv2.dnn.readNetFromONNX(path)
    opencv.setInput(x)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = list(want)
    for engine, made in (("OpenCV", opencv.forward(names)), ("ONNX Runtime", session.run(names, {"image": x}))):
        for name, got in zip(names, made):
            if got.shape != want[name].shape:
                raise ValueError(f"{path} in {engine} makes {name} {got.shape} of {x.shape}; {whose} {want[name].shape}")
            apart = float(np.abs(got - want[name]).max())
            if not apart < tolerance:
                raise ValueError(f"{path} in {engine}: {name} differs from {whose} by {apart} at {x.shape}; at most {tolerance} is accepted")
            worst = max(worst, apart)
    return worst


def layers(path, size=SIZES[0], runs=5):
    """Milliseconds of each layer: {"OpenCV": {name: ms}, "ONNX Runtime": {name: ms}}, the least of a few runs."""
    x = np.random.default_rng(1).normal(size=(1, 3, *size)).astype(np.float32)
    net = cv2.dnn.readNetFromONNX(path)
    net.setInput(x)
    net.forward()
    timings = []
    for _ in range(runs):
        net.setInput(x)
        net.forward()
        timings.append(net.getPerfProfile()[1].ravel() * 1000 / cv2.getTickFrequency())
    made = {"OpenCV": dict(zip(net.getLayerNames(), np.min(timings, 0)))}
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = os.path.join(folder, "p")
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for _ in range(runs + 1):
            session.run(None, {"image": x})
        with open(session.end_profiling(), encoding="utf-8") as f:
            events = json.load(f)
    least = {}
    for e in events:
        if e.get("cat") == "Node" and e["name"].endswith("_kernel_time"):
            name, ms = e["name"].removesuffix("_kernel_time"), e["dur"] / 1000
            least[name] = min(ms, least.get(name, ms))
    made["ONNX Runtime"] = least
    return made


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file")
    p.add_argument("to", nargs="?")
    p.add_argument("--layers", action="store_true")
    args = p.parse_args()
    if args.layers:
        for engine, times in layers(args.file).items():
            print(f"{engine}: {sum(times.values()):.1f} ms")
            for name, ms in sorted(times.items(), key=lambda t: -t[1])[:25]:
                print(f"  {ms:7.2f}  {name}")
        return 0
    if not args.to:
        p.error("want network.pt, and where the ONNX file goes")
    saved = torch.load(args.file, map_location="cpu")
    net = network.Network(network.Shape.of_json(saved["shape"]))
    net.load_state_dict(saved["network"])
    print(f"differs by {write(net, args.to)} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
