"""The network: a convolutional feature pyramid with its output at stride 4.

In: 1×3×H×W, BGR, (x − MEAN) / STD with x in 0…255; H and W are multiples of 32. Out: 1×C×H/4×W/4; output cell (i, j) is
centred on input pixel (4i+1.5, 4j+1.5). Only Conv, Relu, Add and Resize are left of it in ONNX, which OpenCV 4.6 takes.
"""
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

MEAN = (103.53, 116.28, 123.675)
STD = 57.375


@dataclass(frozen=True)
class Shape:
    """How wide and deep a network is."""

    channels: int = 64  # of the output
    width: tuple = (16, 24, 48, 96, 160)  # channels at strides 2, 4, 8, 16, 32
    depth: tuple = (1, 2, 4, 3)  # blocks at strides 4, 8, 16, 32
    pyramid: int = 48  # channels on the way back up
    expand: int = 3  # of a block's middle

    def to_json(self):
        return asdict(self)

    @staticmethod
    def of_json(values):
        return Shape(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


# What may be trained by name. segd-s64 is the model in the binary; segd-s64w spends what ONNX Runtime saves over OpenCV, and
# segd-m96 is for boxes with a card.
SHAPES = {
    "segd-s64": Shape(),
    "segd-s64w": Shape(width=(24, 32, 64, 128, 192), depth=(2, 3, 4, 3), pyramid=64),
    "segd-m96": Shape(channels=96, width=(32, 48, 96, 160, 256), depth=(2, 4, 6, 4), pyramid=96),
}


def conv(i, o, kernel=3, stride=1, groups=1, act=True):
    layers = [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if act else nn.Sequential(*layers)


class Block(nn.Module):
    """An inverted residual (Sandler et al., MobileNetV2, CVPR 2018)."""

    def __init__(self, i, o, stride, expand):
        super().__init__()
        m = i * expand
        self.body = nn.Sequential(conv(i, m, 1), conv(m, m, 3, stride, m), conv(m, o, 1, act=False))
        self.residual = stride == 1 and i == o

    def forward(self, x):
        y = self.body(x)
        return x + y if self.residual else y


class Network(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        w, n, p = shape.width, shape.depth, shape.pyramid
        self.stem = nn.Sequential(conv(3, w[0], 3, 2), conv(w[0], w[1], 3, 2))
        self.stages = nn.ModuleList([nn.Sequential(*[Block(w[1], w[1], 1, 2) for _ in range(n[0])])])
        for i, o, k in zip(w[1:], w[2:], n[1:]):
            self.stages.append(nn.Sequential(Block(i, o, 2, shape.expand), *[Block(o, o, 1, shape.expand) for _ in range(k - 1)]))
        self.lateral = nn.ModuleList([nn.Conv2d(c, p, 1) for c in w[1:]])
        self.merge = nn.ModuleList([nn.Sequential(conv(p, p, 3, 1, p), conv(p, p, 1)) for _ in range(2)])
        self.head = nn.Sequential(conv(p, p, 3, 1, p), nn.Conv2d(p, shape.channels, 1))

    def forward(self, x):
        maps, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        up = lambda t: F.interpolate(t, scale_factor=2.0, mode="bilinear", align_corners=False)
        p = self.lateral[3](maps[3])
        p = self.merge[0](up(p) + self.lateral[2](maps[2]))
        p = self.merge[1](up(p) + self.lateral[1](maps[1]))
        return self.head(up(p) + self.lateral[0](maps[0]))


def normalise(bgr):
    """N×3×H×W of 0…255 as the network wants it."""
    return (bgr - torch.tensor(MEAN, device=bgr.device).view(1, 3, 1, 1)) / STD
