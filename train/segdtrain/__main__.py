"""Makes a network: python -m segdtrain --data FOLDER --out FOLDER [--name segd-p64] [--steps 1000 [--runs 3]].

The projection has the leading principal components of what the backbone makes of the pictures. With --steps it learns from there,
while the backbone stays as it is. All that is made is in the folder: start.pt, what is begun with; of each run, in a folder of its own,
checkpoint.pt, from which it goes on when it is started again with the same arguments, loss.csv and loss.png; and at the end NAME.onnx,
NAME.md and network.pt, the mean of what the runs made.
"""
import argparse
import copy
import csv
import json
import os
import signal
import sys
import time
from dataclasses import asdict

import numpy as np
import torch

from . import card, data, export, network, objective, start, views

# How often each kind of picture is taken; what is not there is left out.
SHARES = {"pictures": 0.4, "regions": 0.35, "frames": 0.25}
SIZE = 256
SAVE_EVERY = 100
TELL_EVERY = 25


def arguments(argv):
    p = argparse.ArgumentParser(prog="segdtrain", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="folder that python -m segdtrain.data fetch filled")
    p.add_argument("--out", required=True, help="folder to work in")
    p.add_argument("--name", default="segd-p64", choices=sorted(network.SHAPES), help="what is trained")
    p.add_argument("--steps", type=int, default=0, help="that each run learns for; 0: the components as they are")
    p.add_argument("--batch", type=int, default=10, help="crops a step")
    p.add_argument("--rate", type=float, default=5e-4, help="learning rate at its highest")
    p.add_argument("--seed", type=int, default=1, help="of the first run, and of those after it one more each")
    p.add_argument("--runs", type=int, default=3, help="from one beginning; the mean of their weights is written")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--threads", type=int, default=2, help="of the processor; another number changes what is made by about 1e-5")
    p.add_argument("--nanodet", default=start.NANODET, help="NanoDet-Plus-m's files without .param and .bin, whose backbone, neck and heads the network has")
    p.add_argument("--start", default="", help="network.pt whose weights are begun with instead, of the same shape")
    p.add_argument("--keep-start", type=float, default=0.0, help="share of what was begun with in the weights that are written, 0 to 1")
    for name, weight in asdict(objective.Weights()).items():
        p.add_argument(f"--{name}", type=float, default=weight, help="weight of that demand")
    p.add_argument("--fit-batches", type=int, default=40, help="batches that the first projection is fitted to")
    args = p.parse_args(argv)
    if args.steps < 0 or min(args.batch, args.runs, args.threads) < 1:
        p.error("--steps is at least 0; --batch, --runs and --threads are at least 1")
    if not 0 <= args.keep_start <= 1:
        p.error(f"--keep-start {args.keep_start}: 0 to 1")
    return args


# What has to be the same for a run to be gone on with.
SAME = ("name", "steps", "batch", "rate", "distillation", "correspondence", "regions", "classifier", "start")


class Batches:
    """Makes batches of pairs. What a step sees depends on the seed and the step alone, so a run that goes on sees what it would have."""

    def __init__(self, pictures, seed, size, batch, device):
        self.pictures, self.seed, self.size, self.batch, self.device = pictures, seed, size, batch, device
        kinds = [k for k in SHARES if pictures.items.get(k)]
        self.kinds, shares = kinds, np.array([SHARES[k] for k in kinds])
        self.shares = shares / shares.sum()

    def __call__(self, step):
        rng = np.random.default_rng((self.seed, step))
        pairs = []
        while len(pairs) < self.batch:
            items = self.pictures.items[self.kinds[rng.choice(len(self.kinds), p=self.shares)]]
            pairs.append(views.pair(rng, items[rng.integers(len(items))], self.size))
        stack = lambda of: tuple(torch.from_numpy(np.stack([of(p)[i] for p in pairs])).to(self.device) for i in range(2))
        return Batch(stack(lambda p: p.clean), stack(lambda p: p.seen), stack(lambda p: p.labels), [p.warp for p in pairs])


class Batch:
    def __init__(self, clean, seen, labels, warps):
        self.clean, self.seen, self.labels, self.warps = clean, seen, labels, warps


def rate(args, step):
    """A warm-up of 200 steps, or a tenth, and a cosine to nothing."""
    warm = min(200, max(1, args.steps // 10))
    return args.rate * min(1.0, (step + 1) / warm) * 0.5 * (1 + np.cos(np.pi * step / args.steps)) + 1e-6


def begin(args, batches):
    """The network that a training begins with, which start.pt in its folder has from then on."""
    net = network.Network(network.SHAPES[args.name]).to(args.device)
    path = os.path.join(args.out, "start.pt")
    if os.path.exists(path):
        load(net, path)
        return net
    if args.start:
        load(net, args.start)
    else:
        start.load_backbone(net, args.nanodet)
        held = (network.normalise(batches(-1 - i & 0x7FFFFFFF).clean[0]) for i in range(args.fit_batches))
        share = start.fit_projection(net, held)
        print(f"begun with NanoDet-Plus-m's backbone, {net.shape.channels} components of which are {share:.0%} of its variance", file=sys.stderr)
    save(net, path)
    return net


def load(net, path):
    """Gives net the weights that save wrote."""
    saved = torch.load(path, map_location="cpu")
    if saved["shape"] != net.shape.to_json():
        raise SystemExit(f"{path} is of a network of {saved['shape']}; want {net.shape.to_json()}")
    net.load_state_dict(saved["network"])


def save(net, path):
    write({"network": net.state_dict(), "shape": net.shape.to_json()}, path)


def write(content, path):
    """Writes a file that is there whole or not at all."""
    part = path + ".part"
    torch.save(content, part)
    os.replace(part, path)


def main(argv=None):
    args = arguments(argv)
    os.makedirs(args.out, exist_ok=True)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    pictures = data.find(args.data)
    first = begin(args, Batches(pictures, args.seed, SIZE, args.batch, args.device))
    stop = []
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, lambda *_: stop.append(1))
    runs = []
    for k in range(args.runs if args.steps else 0):
        runs.append(train(args, k, pictures, first, stop))
        if runs[-1].step < args.steps:
            print(f"stopped after {runs[-1].step} of {args.steps} steps of run {len(runs)} of {args.runs}; the same command goes on", file=sys.stderr)
            return 1
    finish(args, first, pictures, runs)
    return 0


def train(args, k, pictures, first, stop):
    """Run k, from what first has, until it is done or there is something in stop."""
    seed = args.seed + k
    batches = Batches(pictures, seed, SIZE, args.batch, args.device)
    net = copy.deepcopy(first).requires_grad_(False)
    net.lateral.requires_grad_(True)  # what finds things needs the rest as it was published
    weights = objective.Weights(args.distillation, args.correspondence, args.regions, args.classifier)
    score = objective.Objective(first.requires_grad_(False), weights)
    optimiser = torch.optim.AdamW(net.lateral.parameters(), lr=args.rate, weight_decay=1e-4)
    run = Run(args, k, seed, net, optimiser)
    run.resume()
    torch.manual_seed(seed + run.step)
    while run.step < args.steps and not stop:
        for group in optimiser.param_groups:
            group["lr"] = rate(args, run.step)
        loss, shown = score(net, network.normalise, batches(run.step))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.lateral.parameters(), 10.0)
        optimiser.step()
        run.done(shown)
    run.save()
    run.curves()
    return run


def finish(args, first, pictures, runs):
    """Writes the network for segd, checked in what will compute it, and its card."""
    net = copy.deepcopy(first)
    if runs:
        trained = mean([run.net.state_dict() for run in runs])
        net.load_state_dict(between(trained, first.state_dict(), args.keep_start))
    net.cpu()
    model = os.path.join(args.out, args.name + ".onnx")
    apart = export.write(net, model, args.nanodet)
    save(net, os.path.join(args.out, "network.pt"))
    path = os.path.join(args.out, args.name + ".md")
    card.write(path, args, net, pictures, runs, model, apart)
    print(f"{model} and {path}: OpenCV and ONNX Runtime differ from PyTorch by {apart} at most", file=sys.stderr)


def mean(weights):
    """The mean of several runs' weights, which makes sense where they were begun with the same (Wortsman et al., Model soups,
    ICML 2022)."""
    return {k: torch.stack([w[k] for w in weights]).mean(0) for k in weights[0]}


def between(trained, first, share):
    """Weights that are on the line from those that were begun with to those that were trained on, which keep more of what the
    former could (Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022)."""
    return {k: (1 - share) * v + share * first[k] for k, v in trained.items()}


class Run:
    """How far a run is, and what it has been like."""

    def __init__(self, args, k, seed, net, optimiser):
        self.args, self.seed, self.net, self.optimiser = args, seed, net, optimiser
        self.same = {name: getattr(args, name) for name in SAME} | {"seed": seed}
        self.folder = os.path.join(args.out, f"run-{k + 1}")
        os.makedirs(self.folder, exist_ok=True)
        self.step, self.seconds, self.history, self.mean = 0, 0.0, [], {}
        self.began = self.told = time.monotonic()
        self.told_step = 0
        self.path = os.path.join(self.folder, "checkpoint.pt")

    def resume(self):
        if not os.path.exists(self.path):
            return
        c = torch.load(self.path, map_location=self.args.device, weights_only=False)
        differ = {k: (c["arguments"][k], v) for k, v in self.same.items() if c["arguments"][k] != v}
        if differ:
            raise SystemExit(f"{self.path} is of another training: " + ", ".join(f"--{k} {a}, now {b}" for k, (a, b) in differ.items()) + "; another --out begins anew")
        self.net.load_state_dict(c["network"])
        self.optimiser.load_state_dict(c["optimiser"])
        self.step, self.seconds, self.history, self.mean = c["step"], c["seconds"], c["history"], c["mean"]
        self.told_step = self.step
        if self.step < self.args.steps:
            print(f"{self.folder}: going on after step {self.step}", file=sys.stderr)

    def save(self):
        now = time.monotonic()
        self.seconds += now - self.began
        self.began = now
        write(
            dict(
                network=self.net.state_dict(), optimiser=self.optimiser.state_dict(), step=self.step, seconds=self.seconds,
                history=self.history, mean=self.mean, arguments=self.same,
            ),
            self.path,
        )

    def done(self, shown):
        self.step += 1
        for k, v in shown.items():
            self.mean[k] = v if k not in self.mean else 0.98 * self.mean[k] + 0.02 * v
        if self.step % TELL_EVERY == 0 or self.step == self.args.steps:
            self.history.append((self.step, dict(self.mean)))
            self.tell()
        if self.step % SAVE_EVERY == 0:
            self.save()

    def tell(self):
        now = time.monotonic()
        a_step = (now - self.told) / max(1, self.step - self.told_step)
        self.told, self.told_step = now, self.step
        left = (self.args.steps - self.step) * a_step / 60
        print(
            f"seed {self.seed}, step {self.step} of {self.args.steps}, {left:.0f} min left: " + ", ".join(f"{k} {v:.4f}" for k, v in self.mean.items()),
            file=sys.stderr, flush=True,
        )

    def curves(self):
        names = sorted({k for _, m in self.history for k in m})
        with open(os.path.join(self.folder, "loss.csv"), "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f)
            w.writerow(["step", *names])
            for step, m in self.history:
                w.writerow([step, *(m.get(k, "") for k in names)])
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, max(1, len(names)), figsize=(4 * max(1, len(names)), 3), squeeze=False)
        for axis, k in zip(axes[0], names):
            points = [(s, m[k]) for s, m in self.history if k in m]
            axis.plot(*zip(*points))
            axis.set_title(k)
            axis.set_xlabel("step")
        figure.tight_layout()
        figure.savefig(os.path.join(self.folder, "loss.png"))
        pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
