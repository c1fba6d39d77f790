"""What finds things: NanoDet-Plus' neck and heads as they were published, on a network of segd's in its ONNX file.

The network has NanoDet-Plus' backbone with another order of channels. So the neck fits once the columns of the three
convolutions that it begins with are in that order, without training: one file makes features and says what is where.

A head's output is 1×112×H×W at stride 8, 16, 32 or 64: logits of COCO's 80 classes in their order, then left, top, right and
bottom as logits of eight bins each. What a bin's number is expected to be, times the stride, is how far that side is from the
cell's place, (x·stride, y·stride).
"""
import re

import numpy as np
import onnx
from onnx import helper, numpy_helper

from . import ncnn, network, start

STRIDES = (8, 16, 32, 64)
OUTPUTS = tuple(f"heads_{stride}" for stride in STRIDES)
PREFIX = "heads/"  # of the names of what is theirs


def graft(path, nanodet):
    """Adds the neck and heads of NanoDet-Plus' files to a network's. What the network makes is as it was."""
    model = onnx.load(path)
    graph = model.graph
    if any(o.name in OUTPUTS for o in graph.output):
        raise ValueError(f"{path} has heads already; want a network's features alone")
    laterals = {n.input[1]: n.input[0] for n in graph.node if n.op_type == "Conv"}
    stages = [laterals.get(f"lateral.{k}.weight") for k in (1, 2, 3)]
    layers = ncnn.read(nanodet)
    shuffles = [k for k, layer in enumerate(layers) if layer.kind == "ShuffleChannel"]
    if None in stages or len(shuffles) != sum(network.UNITS):
        raise ValueError(f"{path} is not a network of segd's, or {nanodet} not NanoDet-Plus-m")
    lasts = [layers[shuffles[sum(network.UNITS[: k + 1]) - 1]].outputs[0] for k in range(len(stages))]
    called = dict(zip(lasts, stages))
    for layer in layers[: shuffles[-1]]:  # a stage's output has two names
        if layer.kind == "Split" and layer.inputs[0] in called:
            called |= dict.fromkeys(layer.outputs, called[layer.inputs[0]])
    columns = dict(zip(stages, orders()))

    def constant(name, value):
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), PREFIX + name))
        return PREFIX + name

    def add(kind, inputs, output, **attributes):
        graph.node.append(helper.make_node(kind, inputs, [output], name=f"{output}/{kind}", **attributes))

    for layer in layers[shuffles[-1] + 1 :]:
        inputs, out = [called.get(name) for name in layer.inputs], PREFIX + layer.outputs[0]
        called[layer.outputs[0]] = out
        if layer.kind in ncnn.CONVOLUTIONS:
            weight = layer.weight[:, columns[inputs[0]]] if inputs[0] in columns and layer.groups == 1 else layer.weight
            operands = [inputs[0], constant(layer.name + ".weight", weight), constant(layer.name + ".bias", layer.bias)]
            made = out if layer.slope is None else out + "_"
            add("Conv", operands, made, kernel_shape=[layer.size] * 2, strides=[layer.stride] * 2, pads=[layer.padding] * 4, group=layer.groups)
            if layer.slope is not None:
                add("LeakyRelu", [made], out, alpha=layer.slope)
        elif layer.kind == "Interp":
            scale = layer.parameters[1]
            operands = [inputs[0], constant(layer.name + ".roi", np.array([], np.float32)), constant(layer.name + ".scale", np.array([1, 1, scale, scale], np.float32))]
            add("Resize", operands, out, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
        elif layer.kind == "Concat":
            add("Concat", inputs, out, axis=1)
        elif layer.kind == "BinaryOp" and layer.parameters.get(0, 0) == 0:
            add("Add", inputs, out)
        elif layer.kind == "Split":
            called |= dict.fromkeys(layer.outputs, inputs[0])
        elif layer.kind not in ("Slice", "Sigmoid", "Permute"):  # which decoding does
            raise ValueError(f"{nanodet} has a {layer.kind} in its heads")
    ends = last_layers(layers)
    for name, stride in zip(OUTPUTS, STRIDES):
        (last,) = [node for node in graph.node if node.output[0] == called[ends[name].inputs[0]]]
        last.output[0] = name
        channels = next(w for w in graph.initializer if w.name == last.input[1]).dims[0]
        graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, channels, f"height_{stride}", f"width_{stride}"]))
    onnx.checker.check_model(model)
    onnx.save(model, path)


def published(path, x):
    """What ncnn makes of a picture as the network wants it with NanoDet-Plus' files, by the names of the heads."""
    import ncnn as library

    net = library.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.load_param(path + ".param")
    net.load_model(path + ".bin")
    extractor = net.create_extractor()
    scaled = x[0] * (network.STD / np.float32(start.DEVIATIONS))[:, None, None]
    extractor.input("data", library.Mat(np.ascontiguousarray(scaled)))
    made = {}
    for name, layer in last_layers(ncnn.read(path)).items():
        _, blob = extractor.extract(layer.inputs[0])
        made[name] = np.array(blob)[None]
    return made


def last_layers(layers):
    """The layers that part the outputs of heads into classes and sides, by the names that these have here."""
    name = re.compile(r"dis(\d+)_pre")
    return {f"heads_{m[1]}": layer for layer in layers if layer.kind == "Slice" and (m := name.fullmatch(layer.outputs[1]))}


def orders():
    """Of the channels that each stage makes, as numbers of NanoDet-Plus'."""
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
