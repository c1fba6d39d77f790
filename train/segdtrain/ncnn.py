"""Reads a network in ncnn's two files: FILE.param, the graph as text, and FILE.bin, the weights.

github.com/Tencent/ncnn, docs/developer-guide: operators.md has what a layer's numbered parameters mean, and param-and-model-file-structure.md
how the files are made.
"""
import struct
from dataclasses import dataclass

import numpy as np

MAGIC = "7767517"
HALF = 0x01306B47  # weights are of half precision
WHOLE = (0, 0x0002C056)
ARRAY = -23300  # what the number of a parameter that is an array is subtracted from
LEAKY = 2  # an activation
CONVOLUTIONS = ("Convolution", "ConvolutionDepthWise")


@dataclass
class Layer:
    kind: str
    name: str
    inputs: list
    outputs: list
    parameters: dict
    weight: np.ndarray = None  # of a convolution: outputs×inputs/groups×k×k
    bias: np.ndarray = None

    @property
    def size(self):
        return self.parameters[1]

    @property
    def stride(self):
        return self.parameters.get(3, 1)

    @property
    def padding(self):
        return self.parameters.get(4, 0)

    @property
    def groups(self):
        return self.parameters.get(7, 1)

    @property
    def slope(self):
        """Of what is negative of the result; None: it is left as it is."""
        kind = self.parameters.get(9, 0)
        if kind not in (0, LEAKY):
            raise ValueError(f"layer {self.name} has activation {kind}; want none or LeakyReLU, {LEAKY}")
        return self.parameters[10][0] if kind == LEAKY else None


def read(path):
    """The layers of path.param, in its order, with the weights of path.bin."""
    with open(path + ".param", encoding="utf-8") as f:
        magic, _, *lines = f.read().splitlines()
    if magic != MAGIC:
        raise ValueError(f"{path}.param begins with {magic:.20}; want {MAGIC}")
    with open(path + ".bin", "rb") as f:
        left = f.read()
    layers = [parse(line) for line in lines if line.strip()]
    for layer in layers:
        if layer.kind not in CONVOLUTIONS:
            continue
        (kind,) = struct.unpack_from("<I", left)
        if kind not in (HALF, *WHOLE):
            raise ValueError(f"{path}.bin has weights of kind {kind:#x} for layer {layer.name}; want half or whole precision")
        count, outputs = layer.parameters[6], layer.parameters[0]
        weight, left = take(left[4:], count, np.float16 if kind == HALF else np.float32)
        layer.bias, left = take(left, outputs, np.float32)
        layer.weight = weight.reshape(outputs, -1, layer.size, layer.size)
    if left:
        raise ValueError(f"{path}.bin has {len(left)} bytes more than the layers of {path}.param")
    return layers


def take(data, count, kind):
    """The first numbers of data, which fill words of four bytes, and what is left."""
    size = -(-count * np.dtype(kind).itemsize // 4) * 4
    return np.frombuffer(data, kind, count).astype(np.float32), data[size:]


def parse(line):
    kind, name, inputs, outputs, *rest = line.split()
    inputs, outputs = int(inputs), int(outputs)
    parameters = {}
    for text in rest[inputs + outputs :]:
        number, value = text.split("=", 1)
        number = int(number)
        if number <= ARRAY:
            parameters[ARRAY - number] = [float(v) for v in value.split(",")[1:]]
        else:
            parameters[number] = float(value) if set(value) & set(".e") else int(value)
    return Layer(kind, name, rest[:inputs], rest[inputs : inputs + outputs], parameters)
