package dnn

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A small writer of ONNX files, so that the tests need none from outside.

const (
	// elemInt64 is TensorProto.INT64.
	elemInt64 = 7
	// attributeInt is the number of AttributeProto.i, attributeIsInt AttributeProto.INT.
	attributeInt   = 3
	attributeIsInt = 2
)

func node(op, name string, inputs, outputs []string, attributes ...message) message {
	var m message
	for _, s := range inputs {
		m = m.string(1, s)
	}
	for _, s := range outputs {
		m = m.string(2, s)
	}
	m = m.string(3, name).string(4, op)
	for _, a := range attributes {
		m = m.bytes(5, a)
	}
	return m
}

func tensor(name string, dims []int, values ...float32) message {
	var m message
	for _, d := range dims {
		m = m.int(1, d)
	}
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return m.int(2, elemFloat).string(tensorName, name).bytes(9, raw)
}

// int64s is a constant of one dimension.
func int64s(name string, values ...int64) message {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return message(nil).int(1, len(values)).int(2, elemInt64).string(tensorName, name).bytes(9, raw)
}

// integer is an AttributeProto.
func integer(name string, v int) message {
	return message{}.string(attributeName, name).int(attributeInt, v).int(attributeType, attributeIsInt)
}

// value declares an input or output; a dimension of 0 is left open.
func value(name string, elem int, dims ...int) message {
	var shape message
	for _, d := range dims {
		if d > 0 {
			shape = shape.bytes(shapeDim, message(nil).int(dimValue, d))
		} else {
			shape = shape.bytes(shapeDim, message(nil).string(2, "any"))
		}
	}
	typ := message(nil).int(tensorElem, elem).bytes(tensorShape, shape)
	return message(nil).string(valueName, name).bytes(valueType, message(nil).bytes(typeTensor, typ))
}

type onnxFile struct {
	inputs, outputs, nodes, weights []message
}

func (f onnxFile) bytes() []byte {
	var graph message
	for _, n := range f.nodes {
		graph = graph.bytes(graphNode, n)
	}
	graph = graph.string(2, "graph")
	for _, w := range f.weights {
		graph = graph.bytes(graphInitializer, w)
	}
	for _, v := range f.inputs {
		graph = graph.bytes(graphInput, v)
	}
	for _, v := range f.outputs {
		graph = graph.bytes(graphOutput, v)
	}
	return message(nil).int(1, 7).bytes(modelGraph, graph).bytes(8, message(nil).string(1, "").int(2, 11))
}

func (f onnxFile) write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, f.bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// picker is a 1×1 convolution without bias whose outputs are the input's channels
// in the given order.
func picker(name, in, out string, order ...int) (message, message) {
	weights := make([]float32, 3*len(order))
	for i, c := range order {
		weights[3*i+c] = 1
	}
	w := tensor(name+".w", []int{len(order), 3, 1, 1}, weights...)
	return node("Conv", name, []string{in, name + ".w"}, []string{out}, ints("kernel_shape", 1, 1), ints("strides", 1, 1)), w
}

// averager is a model whose output is the mean of each 4×4 block of its input.
func averager(width, height int) onnxFile {
	return onnxFile{
		inputs:  []message{value("image", elemFloat, 1, 3, height, width)},
		outputs: []message{value("mean", elemFloat, 1, 3, height/4, width/4)},
		nodes:   []message{node("AveragePool", "pool", []string{"image"}, []string{"mean"}, ints("kernel_shape", 4, 4), ints("strides", 4, 4))},
	}
}

// backbone halves its input four times; its only output is a number a channel.
func backbone() onnxFile {
	var f onnxFile
	f.inputs = []message{value("image", elemFloat, 1, 3, 0, 0)}
	f.outputs = []message{value("score", elemFloat, 1, 3, 1, 1)}
	in := "image"
	for _, stage := range []string{"s2", "s4", "s8", "s16"} {
		f.nodes = append(f.nodes, node("MaxPool", stage+".pool", []string{in}, []string{stage + ".small"},
			ints("kernel_shape", 3, 3), ints("strides", 2, 2), ints("pads", 1, 1, 1, 1)))
		conv, w := picker(stage+".conv", stage+".small", stage, 0, 1, 2)
		f.nodes = append(f.nodes, conv)
		f.weights = append(f.weights, w)
		in = stage
	}
	f.nodes = append(f.nodes, node("GlobalAveragePool", "head", []string{in}, []string{"score"}))
	return f
}
