"""Writes a network as ONNX, and checks it in what segd computes it with: OpenCV 4.6 and ONNX Runtime.

    python -m segdtrain.export network.pt OUT.onnx      writes and checks
    python -m segdtrain.export --layers MODEL.onnx      milliseconds of each layer, in both
"""
import argparse
import json
import os
import sys
import tempfile

import cv2
import numpy as np
import onnxruntime
import torch

from . import network

# How far they may be apart: that they add in other orders is worth 1e-5 of features of size 1.
TOLERANCE = 1e-3
SIZES = ((480, 864), (576, 768), (96, 64))


def write(net, path):
    """Exports net and returns by how much OpenCV and ONNX Runtime differ from it at most, over several sizes."""
    net = net.eval()
    torch.onnx.export(
        net.cpu(), torch.randn(1, 3, *SIZES[0]), path, opset_version=11, input_names=["image"], output_names=["features"],
        dynamic_axes={"image": {2: "height", 3: "width"}, "features": {2: "height_4", 3: "width_4"}}, dynamo=False,
    )
    return check(net, path)


@torch.no_grad()
def check(net, path):
    rng = np.random.default_rng(1)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    worst = 0.0
    for size in SIZES:
        x = rng.normal(size=(1, 3, *size)).astype(np.float32)
        want = net(torch.from_numpy(x)).numpy()
        opencv = cv2.dnn.readNetFromONNX(path)
        opencv.setInput(x)
        for name, got in (("OpenCV", opencv.forward("features")), ("ONNX Runtime", session.run(["features"], {"image": x})[0])):
            if got.shape != want.shape:
                raise ValueError(f"{path} in {name} makes {got.shape} of {size}; PyTorch {want.shape}")
            apart = float(np.abs(got - want).max())
            if not apart < TOLERANCE:
                raise ValueError(f"{path} in {name} differs from PyTorch by {apart} at {size}; at most {TOLERANCE} is accepted")
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
        p.error("want network.pt and where the ONNX file goes")
    saved = torch.load(args.file, map_location="cpu")
    net = network.Network(network.Shape.of_json(saved["shape"]))
    net.load_state_dict(saved["network"])
    print(f"differs by {write(net, args.to)} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
