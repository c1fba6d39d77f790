"""The network: the backbone of NanoDet-Plus-m, whose stages are ShuffleNetV2's (Ma et al., ECCV 2018), and a projection of what
each of them makes, added up to a map at stride 4.

In: 1×3×H×W, BGR, (x − MEAN) / STD with x in 0…255; H and W are multiples of 32. Out: 1×C×H/4×W/4; output cell (i, j) is of
input pixel (4i+1.5, 4j+1.5). OpenCV 4.6 takes what is left of it in ONNX at any size: Conv, LeakyRelu, MaxPool, AveragePool,
Split, Concat, Add, Resize.
"""
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

MEAN = (103.53, 116.28, 123.675)
STD = 57.375
SLOPE = 0.1  # of what is negative
STEM, WIDTHS, UNITS = 24, (116, 232, 464), (4, 8, 4)  # channels of the stem and the stages, and how long these are


@dataclass(frozen=True)
class Shape:
    channels: int = 64  # of the output

    def to_json(self):
        return asdict(self)

    @staticmethod
    def of_json(values):
        return Shape(**values)


# What may be trained by name. segd-p64 is the model in the binary, segd-m128 is for boxes with a card.
SHAPES = {"segd-p64": Shape(), "segd-m128": Shape(channels=128)}


def act(x):
    return F.leaky_relu(x, SLOPE)


class Branch(nn.Module):
    """What a unit does to half of its channels."""

    def __init__(self, i, o, stride):
        super().__init__()
        self.inward = nn.Conv2d(i, o, 1)
        self.depthwise = nn.Conv2d(o, o, 3, stride, 1, groups=o)
        self.outward = nn.Conv2d(o, o, 1)

    def forward(self, x):
        return act(self.outward(self.depthwise(act(self.inward(x)))))


class Stage(nn.Module):
    """Units of ShuffleNetV2, the first of which halves the size.

    A unit leaves half of its channels as they are, and then the halves are shuffled. Which unit takes a channel is known
    beforehand, so nothing is shuffled here: each branch makes its channels in the order in which they will be taken, and a
    unit takes a piece of what each one before it made. Engines need no reshapes then, which would be of one size of picture.
    """

    def __init__(self, i, o, units):
        super().__init__()
        self.units, half = units, o // 2
        self.down = nn.Sequential(nn.Conv2d(i, i, 3, 2, 1, groups=i), nn.Conv2d(i, half, 1))  # the first unit's other half
        self.branch = nn.ModuleList([Branch(i, half, 2)] + [Branch(half, half, 1) for _ in range(units - 1)])
        # A channel is (who made it, its number there); -1 is down. Channel 2i of a shuffled whole is the first half's i.
        whole, taken = shuffled([(-1, c) for c in range(half)], [(0, c) for c in range(half)]), []
        for unit in range(1, units):
            taken.append(whole[half:])
            whole = shuffled(whole[:half], [(unit, c) for c in range(half)])
        taken.append(whole)
        by = {channel: k for k, channels in enumerate(taken) for channel in channels}
        # made[m] is the order of the channels that m makes, pieces[m] who takes how many of them.
        self.made = {m: sorted(range(half), key=lambda c, m=m: (by[m, c], c)) for m in range(-1, units)}
        self.pieces = {m: [(k, n) for k in range(units) if (n := sum(by[m, c] == k for c in range(half)))] for m in range(-1, units)}
        # order[k] is that of the channels that unit k+1 takes, or at the end come out, as numbers of what ShuffleNetV2 has there.
        self.order = []
        for k, channels in enumerate(taken):
            at = {channel: number for number, channel in enumerate(channels)}
            self.order.append([at[m, c] for m in range(-1, k + 1) for c in self.made[m] if by[m, c] == k])

    def forward(self, x):
        ready = [[] for _ in range(self.units)]

        def give(maker, made):
            takers, sizes = zip(*self.pieces[maker])
            for taker, piece in zip(takers, torch.split(made, sizes, 1) if len(sizes) > 1 else [made]):
                ready[taker].append(piece)

        give(-1, act(self.down(x)))
        give(0, self.branch[0](x))
        for unit in range(1, self.units):
            give(unit, self.branch[unit](together(ready[unit - 1])))
        return together(ready[-1])


def shuffled(a, b):
    return [channel for pair in zip(a, b) for channel in pair]


def together(pieces):
    return torch.cat(pieces, 1) if len(pieces) > 1 else pieces[0]


class Network(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.stem = nn.Conv2d(3, STEM, 3, 2, 1)
        self.stages = nn.ModuleList([Stage(i, o, n) for i, o, n in zip((STEM, *WIDTHS), WIDTHS, UNITS)])
        self.lateral = nn.ModuleList([nn.Conv2d(i, shape.channels, 1, bias=k == 0) for k, i in enumerate((2 * STEM, *WIDTHS))])

    def taps(self, x):
        """What is projected, at strides 4, 8, 16 and 32. The first is the stem's mean and its maximum."""
        fine = act(self.stem(x))
        x = F.max_pool2d(fine, 3, 2, 1)
        made = [torch.cat([F.avg_pool2d(fine, 2), x], 1)]
        for stage in self.stages:
            x = stage(x)
            made.append(x)
        return made

    def forward(self, x):
        taps = self.taps(x)
        y = self.lateral[3](taps[3])
        for k in (2, 1, 0):
            y = F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False) + self.lateral[k](taps[k])
        return y


def normalise(bgr):
    """N×3×H×W of 0…255 as the network wants it."""
    return (bgr - torch.tensor(MEAN, device=bgr.device).view(1, 3, 1, 1)) / STD
