"""A model's card: what it is, what it saw, how it was trained and what it makes of it, written by the program that knows."""
import hashlib
import json
import os
import subprocess
import time

import onnx

from . import heads


def write(path, args, net, pictures, runs, model, apart):
    with open(model, "rb") as f:
        content = f.read()
    parameters = sum(p.numel() for p in net.parameters())
    operations = ", ".join(sorted({n.op_type for n in onnx.load(model).graph.node} - {"Constant"}))
    of_network, of_heads = (n / 1e6 for n in heads.multiply_adds(model, 544, 960))
    rows = [
        ("input `image`", "1×3×H×W float32, **BGR**, (x − (103.53, 116.28, 123.675)) / 57.375, x in 0…255; H and W any multiples of 32"),
        ("output `features`", f"1×{net.shape.channels}×H/4×W/4 float32; cell (i, j) is of input pixel (4i+1.5, 4j+1.5)"),
        ("outputs " + ", ".join(f"`{name}`" for name in heads.OUTPUTS), "1×112×H/s×W/s float32 at stride s: logits of COCO's 80 classes in their order, then left, top, right and bottom × 8 bins; softmax over the bins, its expectation × s is the distance from the cell's place, (x·s, y·s)"),
        ("heads", "NanoDet-Plus-m's neck and heads as they were published (RangiLyu, Apache-2.0, trained on COCO), with the columns of three 1×1 convolutions in the order of this network's channels; not trained on"),
        ("size", f"{parameters:,} parameters without the heads, {len(content):,} bytes, ONNX opset 11: {operations}"),
        ("multiply-adds", f"at 960×544, millions: {of_network:,.0f} for the features, {of_heads:,.0f} more for the heads"),
        ("SHA-256", f"`{hashlib.sha256(content).hexdigest()}`"),
        ("shape", f"`{json.dumps(net.shape.to_json())}`"),
        ("checked", f"OpenCV 4.6 and ONNX Runtime against PyTorch, three sizes, and its heads against what ncnn makes of NanoDet-Plus-m: largest difference {apart:.1g}"),
        ("trained on", "; ".join(f"{len(v):,} {k}" for k, v in pictures.items.items())),
        ("begun with", args.start or "the backbone of NanoDet-Plus-m (RangiLyu, Apache-2.0), trained on COCO, and the leading principal components of its stages"),
        ("licence", "Apache-2.0, like the project; of the heads © 2020–2021 RangiLyu"),
    ]
    if runs:
        last, seeds = [run.history[-1][1] for run in runs], ", ".join(str(run.seed) for run in runs)
        rows[-1:-1] = [
            ("steps", f"{args.steps:,} of {args.batch} crops of 256², twice each, learning rate {args.rate:g} to 0 by a cosine; the mean of the weights of runs with seed {seeds}"),
            ("weights of the demands", ", ".join(f"{k} {getattr(args, k):g}" for k in ("distillation", "correspondence", "regions", "classifier"))),
            ("at the end", ", ".join(f"{k} {sum(l[k] for l in last) / len(last):.3f}" for k in sorted(set.intersection(*map(set, last))))),
            ("took", f"{sum(run.seconds for run in runs) / 3600:.1f} h on {args.device}, made {time.strftime('%Y-%m-%d')}"),
        ]
    sums = "\n".join(f"| {name} | `{sum_}` |" for name, sum_ in sorted(pictures.checksums.items()))
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"# {args.name}\n\nA model of segd's, trained by `train/`: it says what is alike in a picture, and finds things in it.\n\n| | |\n|---|---|\n")
        f.writelines(f"| {k} | {v} |\n" for k, v in rows)
        f.write(f"\nThe pictures, by SHA-256 over their names and contents (`python -m segdtrain.data list`):\n\n| | |\n|---|---|\n{sums}\n")
        if args.keep_start:
            f.write(f"\nThe weights are {args.keep_start:.0%} of what was begun with and {1 - args.keep_start:.0%} of what that became.\n")


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def add_mask_head(path, model, before, args, found, told):
    """Has a card tell of the model's mask head, which was trained on the network with the SHA-256 before. Found are pictures and masks by
    source; told is how good it is."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    rows = [
        ("output `masks`", "1×32×H/8×W/8 float32, for the mask head alone"),
        ("mask head", "an ONNX file in base64 in the metadata, `segd.masks`: `region`, 1×3×896×28, the 96 channels of `features` and `masks` in a box grown 1.3 times at 28×28 cells, one plane below the other in three; `logits`, 1×1×28×28, of each cell to be the object's"),
        ("mask head trained on", f"{args.objects:,} objects out of " + "; ".join(f"{pictures:,} pictures with {masks:,} masks ({name})" for name, (pictures, masks) in found.items()) + f"; {args.steps:,} steps of {args.batch}, learning rate {args.rate:g} to 0 by a cosine, seed {args.seed}, on the network with SHA-256 `{before}`"),
        ("mean IoU of its masks", f"{told}; boxes off by 6 %, pasted objects among them, as in training"),
    ]
    at = next(i for i, line in enumerate(lines) if line.startswith("| SHA-256 |"))
    lines[at : at + 1] = [*(f"| {k} | {v} |" for k, v in rows), f"| size with the mask head | {os.path.getsize(model):,} bytes |", f"| SHA-256 | `{sha256(model)}` |"]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def add_scores(path, segd, davis, model, repeat=3):
    """Appends J and F of DAVIS' sequences by segd itself, which takes minutes."""
    made = json.loads(subprocess.run([segd, "eval", "davis", "--root", davis, "--model", model, "--repeat", str(repeat), "--json"], check=True, capture_output=True).stdout)
    with open(path, "a", encoding="utf-8") as f:
        f.write(f"\nBy `segd eval davis --repeat {repeat}`: J {made['mean_j']:.3f}, F {made['mean_f']:.3f}.\n\n| | J |\n|---|---|\n")
        f.writelines(f"| {s['name']} | {s['j']:.3f} |\n" for s in made["sequences"])
