"""The teacher: NanoDet-m's backbone and neck, run in PyTorch from the ONNX file that segd's detector is in.

What is distilled are six of its taps (strides 4 to 32, 956 channels), standardised and projected to their leading principal
components over the training pictures.
"""
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

TAPS = ("424", "425", "492", "623", "690", "733")


class Teacher:
    """Computes the taps of pictures of any size that is a multiple of 32."""

    def __init__(self, path, device="cpu"):
        graph = onnx.load(path).graph
        weights = {w.name: torch.from_numpy(numpy_helper.to_array(w).copy()) for w in graph.initializer}
        self.input = graph.input[0].name
        self.nodes = []
        left = set(TAPS)
        for n in graph.node:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}
            given = [weights[i].to(device) if i in weights else None for i in n.input]
            self.nodes.append((n.op_type, list(n.input), list(n.output), attributes, given))
            left -= set(n.output)
            if not left:
                return
        raise ValueError(f"{path} makes no {sorted(left)}; want segd's nanodet-m.onnx")

    @torch.no_grad()
    def __call__(self, x):
        made = {self.input: x}
        for op, inputs, outputs, a, given in self.nodes:
            ins = [made.get(name, value) for name, value in zip(inputs, given)]
            made.update(zip(outputs, self._compute(op, ins, a)))
        return [made[t] for t in TAPS]

    @staticmethod
    def _compute(op, ins, a):
        x = ins[0]
        if op == "Conv":
            bias = ins[2] if len(ins) > 2 else None
            return [F.conv2d(x, ins[1], bias, a.get("strides", [1, 1]), a.get("pads", [0, 0])[:2], groups=a.get("group", 1))]
        if op == "LeakyRelu":
            return [F.leaky_relu(x, a["alpha"])]
        if op == "MaxPool":
            return [F.max_pool2d(x, a["kernel_shape"], a["strides"], a["pads"][:2])]
        if op == "Identity":
            return [x]
        if op == "Concat":
            return [torch.cat(ins, a["axis"])]
        if op == "Split":
            return list(torch.split(x, [int(n) for n in a["split"]], a["axis"]))
        if op == "Add":
            return [x + ins[1]]
        if op == "Resize":
            return [F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)]
        if op == "Transpose":
            return [x.permute(*a["perm"], 4)]  # rows and columns are one in the file
        if op == "Reshape":
            # Of channel shuffles, 1×groups×channels×cells and back: the file's sizes are of its own input, ours of this one.
            shape = [int(n) for n in ins[1]]
            if x.dim() == 4:
                return [x.reshape(len(x), shape[1], shape[2], *x.shape[2:])]
            return [x.reshape(len(x), shape[1], *x.shape[3:])]
        raise ValueError(f"the teacher has a {op}, which is not among its operations that are known here")


def stack(taps, side):
    """All taps at one size, N×956×side×side."""
    return torch.cat([F.interpolate(t, size=(side, side), mode="bilinear", align_corners=False) if t.shape[2] != side else t for t in taps], 1)


class Target:
    """What the network regresses: the leading components of the standardised taps, of overall variance 1."""

    def __init__(self, mean, deviation, basis, variances, channels):
        self.channels = channels
        self.scale = float(np.sqrt(variances[:channels].sum() / channels))
        weight = (torch.from_numpy(basis[:, :channels].T.astype(np.float32)) / torch.from_numpy(deviation.astype(np.float32))).contiguous()
        self.weight = weight.view(channels, -1, 1, 1)
        self.bias = -(weight @ torch.from_numpy(mean.astype(np.float32)))

    @staticmethod
    def fit(teacher, batches, per_batch=2500):
        """Measures the taps of batches of normalised pictures, N×3×S×S."""
        rows = []
        for x in batches:
            taps = stack(teacher(x), x.shape[2] // 4).permute(0, 2, 3, 1).flatten(0, 2)
            rows.append(taps[torch.randperm(len(taps))[:per_batch]].cpu().numpy())
        rows = np.concatenate(rows).astype(np.float64)
        mean, deviation = rows.mean(0), rows.std(0) + 1e-3
        z = (rows - mean) / deviation
        variances, basis = np.linalg.eigh(z.T @ z / len(z))
        return dict(mean=mean, deviation=deviation, basis=basis[:, ::-1].copy(), variances=variances[::-1].copy())

    @torch.no_grad()
    def turn(self, network, teacher, batches):
        """Turns the target to where a network is that was trained before. Components of nearly the same variance are in no
        order, and signs are chance; what is made of features does not change by a turn, but a network would have to be
        trained anew for it. The turn is orthogonal (Schönemann, Psychometrika 1966)."""
        product = 0
        for x in batches:
            made = network(x)
            want = self(teacher(x), made.shape[-1])
            product = product + torch.einsum("nihw,njhw->ij", want, made)
        u, _, v = torch.linalg.svd(product)
        turn = (u @ v).T
        self.weight = (turn @ self.weight.flatten(1)).view_as(self.weight)
        self.bias = turn @ self.bias

    def to(self, device):
        self.weight, self.bias = self.weight.to(device), self.bias.to(device)
        return self

    @torch.no_grad()
    def __call__(self, taps, side):
        # Projection and interpolation are both linear, and the former makes the latter cheaper.
        made, first = 0, 0
        for t in taps:
            y = F.conv2d(t, self.weight[:, first : first + t.shape[1]])
            first += t.shape[1]
            made = made + (F.interpolate(y, size=(side, side), mode="bilinear", align_corners=False) if y.shape[2] != side else y)
        return (made + self.bias.view(1, -1, 1, 1)) / self.scale
