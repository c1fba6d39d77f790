"""What a training begins with: the backbone of NanoDet-Plus-m with the weights it was published with, and a projection to the
leading principal components of what it makes of the training pictures.

What it makes of an undisturbed picture is what is distilled while it learns the rest.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

from . import ncnn, network

NANODET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../nanodet-plus-m_416")
DEVIATIONS = (57.375, 57.12, 58.395)  # by which NanoDet-Plus divides blue, green and red


def load_backbone(net, path):
    """Gives a network the weights of NanoDet-Plus' backbone, which the convolutions of its files begin with."""
    left = iter([layer for layer in ncnn.read(path) if layer.kind in ncnn.CONVOLUTIONS])

    def take(conv, rows=None, columns=None, scale=None):
        layer = next(left, None)
        if layer is None or layer.weight.shape != conv.weight.shape:
            raise ValueError(f"{path} has a convolution of {None if layer is None else layer.weight.shape} where {tuple(conv.weight.shape)} is wanted; want NanoDet-Plus-m")
        weight, bias = torch.from_numpy(layer.weight), torch.from_numpy(layer.bias)
        if scale is not None:
            weight = weight * scale
        rows = slice(None) if rows is None else rows
        weight, bias = weight[rows], bias[rows]
        conv.weight.copy_(weight if columns is None else weight[:, columns])
        conv.bias.copy_(bias)

    with torch.no_grad():
        take(net.stem, scale=network.STD / torch.tensor(DEVIATIONS).view(1, 3, 1, 1))
        order = list(range(network.STEM))  # of the channels that a stage is given, as numbers of NanoDet's
        for stage in net.stages:
            take(stage.down[0], rows=order)
            for unit, branch in enumerate(stage.branch):
                take(branch.inward, columns=stage.order[unit - 1] if unit else order)
                take(branch.depthwise)
                if not unit:
                    take(stage.down[1], rows=stage.made[-1], columns=order)
                take(branch.outward, rows=stage.made[unit])
            order = stage.order[-1]


@torch.no_grad()
def fit_projection(net, batches, per_batch=2500):
    """Sets the network's projection to the leading principal components of its standardised taps of batches of normalised
    pictures, scaled to an overall variance of 1. A tap's variance is the root of its number of channels, so that neither the
    few fine ones nor the many coarse ones decide alone. Returns the share of the variance that the components have."""
    rows = []
    for x in batches:
        side = [n // 4 for n in x.shape[2:]]
        taps = torch.cat([F.interpolate(t, size=side, mode="bilinear", align_corners=False) for t in net.taps(x)], 1)
        taps = taps.permute(0, 2, 3, 1).flatten(0, 2)
        rows.append(taps[torch.randperm(len(taps))[:per_batch]].double().cpu().numpy())
    rows = np.concatenate(rows)
    sizes = (network.STEM, network.STEM, *network.WIDTHS)
    channels = np.repeat(sizes, sizes)  # of the tap that a column is of
    mean, deviation = rows.mean(0), (rows.std(0) + 1e-3) * channels**0.25
    z = (rows - mean) / deviation
    variances, basis = np.linalg.eigh(z.T @ z / len(z))
    count = net.shape.channels
    variances, basis = variances[::-1], basis[:, ::-1][:, :count]
    basis = basis * np.sign(basis[np.abs(basis).argmax(0), np.arange(count)])
    weight = torch.from_numpy(basis.T / deviation / np.sqrt(variances[:count].sum() / count))
    first = 0
    for lateral in net.lateral:
        n = lateral.in_channels
        lateral.weight.copy_(weight[:, first : first + n, None, None])
        first += n
    net.lateral[0].bias.copy_(-(weight @ torch.from_numpy(mean)))
    return float(variances[:count].sum() / variances.sum())
