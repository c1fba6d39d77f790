"""What finds things: NanoDet-m's neck and heads as they were published, on a network of segd's in its ONNX file.

The network has NanoDet's backbone with another order of channels, and stays near to what that was published with while it is
trained. So the neck fits once the columns of the three convolutions that it begins with are in that order, without training:
one file makes features and says what is where.

A head's output is 1×112×H×W at stride 8, 16 or 32: logits of COCO's 80 classes in their order, then left, top, right and
bottom as logits of eight bins each. What a bin's number is expected to be, times the stride, is how far that side is from the
cell's centre, ((x + 0.5)·stride, (y + 0.5)·stride).
"""
import numpy as np
import onnx
from onnx import numpy_helper

from . import network

STRIDES = (8, 16, 32)
OUTPUTS = tuple(f"heads_{stride}" for stride in STRIDES)
PREFIX = "heads/"  # of the names of what is theirs


def graft(path, nanodet):
    """Adds the neck and heads of segd's nanodet-m.onnx to a network's file. What the network makes is as it was."""
    model, published = onnx.load(path), onnx.load(nanodet).graph
    graph = model.graph
    if any(o.name in OUTPUTS for o in graph.output):
        raise ValueError(f"{path} has heads already; want a network's features alone")
    laterals = {n.input[1]: n.input[0] for n in graph.node if n.op_type == "Conv"}
    stages = [laterals.get(f"lateral.{k}.weight") for k in (1, 2, 3)]
    backbone = 1 + sum(2 + 3 * units for units in network.UNITS)  # its convolutions, which the file of NanoDet begins with
    convolutions = [k for k, n in enumerate(published.node) if n.op_type == "Conv"]
    if None in stages or len(convolutions) <= backbone:
        raise ValueError(f"{path} is not a network of segd's, or {nanodet} not segd's nanodet-m.onnx")
    called = dict(zip((o.name for o in published.output), OUTPUTS))
    constants = {w.name: w for w in published.initializer}
    columns = orders()
    for k, node in enumerate(published.node[convolutions[backbone] :]):
        if node.op_type == "Identity":
            called[node.output[0]] = called.get(node.input[0], PREFIX + node.input[0])
            continue
        if node.op_type == "Split":  # classes and sides, which decoding tells apart
            continue
        for name in node.input:
            if name in constants and PREFIX + name not in called.values():
                value = numpy_helper.to_array(constants[name])
                if k < len(stages) and value.ndim == 4:
                    value = value[:, columns[k]]
                graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), PREFIX + name))
                called[name] = PREFIX + name
        if k < len(stages):
            called[node.input[0]] = stages[k]
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.name = PREFIX + (node.name or node.output[0])
        copy.input[:] = [called.get(name, PREFIX + name) for name in node.input]
        copy.output[:] = [called.get(name, PREFIX + name) for name in node.output]
    channels = constants[published.node[convolutions[-1]].input[1]].dims[0]
    for name, stride in zip(OUTPUTS, STRIDES):
        sides = [f"{side}_{stride}" for side in ("height", "width")]
        graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, channels, *sides]))
    onnx.checker.check_model(model)
    onnx.save(model, path)


def orders():
    """Of the channels that each stage makes, as numbers of NanoDet's."""
    return [stage.order[-1] for stage in network.Network(network.Shape()).stages]


def multiply_adds(path, height, width):
    """Of the convolutions of a file: of the network, and of the heads."""
    model = onnx.load(path)
    for dim, side in zip(model.graph.input[0].type.tensor_type.shape.dim[2:], (height, width)):
        dim.dim_value = side
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*graph.value_info, *graph.output)}
    weights = {w.name: w.dims for w in graph.initializer}
    counted = [0, 0]
    for node in graph.node:
        if node.op_type == "Conv":
            counted[node.name.startswith(PREFIX)] += int(np.prod(weights[node.input[1]]) * np.prod(shapes[node.output[0]][2:]))
    return tuple(counted)
