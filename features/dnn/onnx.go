package dnn

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of onnx.proto.
const (
	modelGraph       = 7
	modelMetadata    = 14
	entryKey         = 1
	entryValue       = 2
	graphNode        = 1
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	nodeInput        = 1
	nodeOutput       = 2
	nodeName         = 3
	nodeOp           = 4
	nodeAttribute    = 5
	attributeName    = 1
	attributeInts    = 8
	attributeType    = 20
	tensorName       = 8
	valueName        = 1
	valueType        = 2
	typeTensor       = 1
	tensorElem       = 1
	tensorShape      = 2
	shapeDim         = 1
	dimValue         = 1
)

// elemFloat is TensorProto.FLOAT.
const elemFloat = 1

// attributeIsInts is AttributeProto.INTS.
const attributeIsInts = 7

// onnxValue is an input or output of an ONNX graph; a dimension that is not fixed
// is 0.
type onnxValue struct {
	name string
	elem int
	dims []int
}

func (v onnxValue) String() string {
	dims := make([]string, len(v.dims))
	for i, d := range v.dims {
		dims[i] = "?"
		if d > 0 {
			dims[i] = fmt.Sprint(d)
		}
	}
	return fmt.Sprintf("%q (%s)", v.name, strings.Join(dims, "×"))
}

// What OpenCV puts in front of the names of nodes, and of the tensors that nodes without a
// name make.
const (
	onnxNodePrefix   = "onnx_node!"
	onnxTensorPrefix = "onnx_node_output_0!"
)

// onnxGraph is what is read of an ONNX file before OpenCV sees it.
type onnxGraph struct {
	inputs, outputs []onnxValue
	nodes           []onnxNode
	metadata        map[string]string // what is heeded of it
}

// onnxNode is an operation of an ONNX graph.
type onnxNode struct {
	name, op        string
	inputs, outputs []string // tensors
}

var errNotONNX = errors.New("not an ONNX file")

// parseONNX reads the graph's interface. It never panics, whatever the bytes.
func parseONNX(data []byte) (*onnxGraph, error) {
	var graph []byte
	g := &onnxGraph{metadata: map[string]string{}}
	err := fields(data, func(num protowire.Number, _ uint64, body []byte) error {
		switch {
		case num == modelGraph && body != nil:
			graph = body
		case num == modelMetadata:
			var key, value string
			err := fields(body, func(num protowire.Number, _ uint64, body []byte) error {
				switch num {
				case entryKey:
					key = string(body)
				case entryValue:
					value = string(body)
				}
				return nil
			})
			if key == maskHeadKey || key == headKey {
				g.metadata[key] = value
			}
			return err
		}
		return nil
	})
	switch {
	case errors.Is(err, errTruncated) && len(data) > 0 && data[0] == 0x08: // ir_version, as every exporter begins
		return nil, fmt.Errorf("the ONNX file is truncated at %d bytes", len(data))
	case err != nil || graph == nil:
		return nil, fmt.Errorf("%w: it begins with %.16q", errNotONNX, data[:min(len(data), 16)])
	}
	constants := map[string]bool{}
	err = fields(graph, func(num protowire.Number, _ uint64, body []byte) error {
		switch num {
		case graphNode:
			n, err := parseNode(body)
			if err != nil {
				return err
			}
			g.nodes = append(g.nodes, n)
		case graphInitializer:
			return fields(body, func(num protowire.Number, _ uint64, body []byte) error {
				if num == tensorName {
					constants[string(body)] = true
				}
				return nil
			})
		case graphInput, graphOutput:
			v, err := parseValue(body)
			if err != nil {
				return err
			}
			if num == graphInput {
				g.inputs = append(g.inputs, v)
			} else {
				g.outputs = append(g.outputs, v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: its graph is damaged: %w", errNotONNX, err)
	}
	if len(g.nodes) == 0 {
		return nil, fmt.Errorf("%w: its graph has no nodes", errNotONNX)
	}
	// Files of IR version 3 list their weights among the inputs.
	inputs := g.inputs[:0]
	for _, v := range g.inputs {
		if !constants[v.name] {
			inputs = append(inputs, v)
		}
	}
	g.inputs = inputs
	return g, nil
}

// parseNode reads a NodeProto.
func parseNode(data []byte) (onnxNode, error) {
	var n onnxNode
	err := fields(data, func(num protowire.Number, _ uint64, body []byte) error {
		switch num {
		case nodeInput:
			n.inputs = append(n.inputs, string(body))
		case nodeOutput:
			n.outputs = append(n.outputs, string(body))
		case nodeName:
			n.name = string(body)
		case nodeOp:
			n.op = string(body)
		}
		return nil
	})
	return n, err
}

// tensor is what a layer makes, by the name that OpenCV gives the layer: that of its node
// or, if it has none, of its first output; or that of an output of the graph.
func (g *onnxGraph) tensor(layer string) (string, error) {
	for i := range g.nodes {
		n := &g.nodes[i]
		if len(n.outputs) > 0 && (n.name != "" && layer == onnxNodePrefix+n.name || layer == onnxTensorPrefix+n.outputs[0]) {
			return n.outputs[0], nil
		}
	}
	for _, v := range g.outputs {
		if v.name == layer {
			return layer, nil
		}
	}
	return "", fmt.Errorf("no node makes layer %q", layer)
}

// channelsLastSuffix is what cut calls planes after their tensor's name.
const channelsLastSuffix = "/segd_channels_last"

// cut returns data, the file that g was read from, with taps as its outputs, planes
// 1×height×width×channels, and without what they do not need; and what the outputs are called. Its input
// is left open to any number of images if several are to go into a run.
func (g *onnxGraph) cut(data []byte, taps []tap, several bool) (cut []byte, outputs []string, err error) {
	var added message // to the graph
	needed := map[string]bool{}
	for _, t := range taps {
		tensor, err := g.tensor(t.name)
		if err != nil {
			return nil, nil, err
		}
		needed[tensor] = true
		output := tensor
		if t.planes {
			output += channelsLastSuffix
			added = added.bytes(graphNode, transposed(tensor, output))
		}
		added = added.bytes(graphOutput, message{}.string(valueName, output))
		outputs = append(outputs, output)
	}
	keep := make([]bool, len(g.nodes))
	for i := len(g.nodes) - 1; i >= 0; i-- { // each comes after what it reads
		if slices.ContainsFunc(g.nodes[i].outputs, func(t string) bool { return needed[t] }) {
			keep[i] = true
			for _, t := range g.nodes[i].inputs {
				needed[t] = true
			}
		}
	}
	at := -1
	cut, err = rewritten(data, func(num protowire.Number, body []byte) ([]byte, bool, error) {
		if num != modelGraph {
			return body, true, nil
		}
		graph, err := rewritten(body, func(num protowire.Number, body []byte) ([]byte, bool, error) {
			switch {
			case num == graphNode:
				at++
				return body, keep[at], nil
			case num == graphInput && several:
				v, err := parseValue(body)
				if err != nil || v.name != g.inputs[0].name {
					return body, true, err
				}
				return openInput(v), true, nil
			}
			return body, num != graphOutput, nil
		})
		return append(graph, added...), true, err
	})
	return cut, outputs, err
}

// openInput is the ValueInfoProto of an input of any number of images.
func openInput(v onnxValue) message {
	shape := message{}
	for i, n := range v.dims {
		dim := message{}
		if i > 0 && n > 0 {
			dim = dim.int(dimValue, n)
		}
		shape = shape.bytes(shapeDim, dim)
	}
	tensor := message{}.int(tensorElem, v.elem).bytes(tensorShape, shape)
	return message{}.string(valueName, v.name).bytes(valueType, message{}.bytes(typeTensor, tensor))
}

// transposed is the NodeProto that makes planes channels last.
func transposed(planes, output string) message {
	return message{}.string(nodeInput, planes).string(nodeOutput, output).string(nodeOp, "Transpose").
		bytes(nodeAttribute, ints("perm", 0, 2, 3, 1))
}

// ints is an AttributeProto.
func ints(name string, values ...int) message {
	m := message{}.string(attributeName, name)
	for _, v := range values {
		m = m.int(attributeInts, v)
	}
	return m.int(attributeType, attributeIsInts)
}

// message is a protobuf message that is being written.
type message []byte

func (m message) int(num protowire.Number, v int) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

func (m message) bytes(num protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), v)
}

func (m message) string(num protowire.Number, v string) message { return m.bytes(num, []byte(v)) }

// rewritten copies a protobuf message; edit returns another body for each of its fields
// that are bytes or messages, and whether it stays.
func rewritten(data []byte, edit func(num protowire.Number, body []byte) ([]byte, bool, error)) ([]byte, error) {
	var out []byte
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeField(data)
		if n < 0 {
			return nil, wireError(n)
		}
		field := data[:n]
		data = data[n:]
		if typ != protowire.BytesType {
			out = append(out, field...)
			continue
		}
		_, _, tag := protowire.ConsumeTag(field)
		body, _ := protowire.ConsumeBytes(field[tag:])
		body, stays, err := edit(num, body)
		if err != nil {
			return nil, err
		}
		if stays {
			out = protowire.AppendBytes(protowire.AppendTag(out, num, typ), body)
		}
	}
	return out, nil
}

// parseValue reads a ValueInfoProto of tensor type.
func parseValue(data []byte) (onnxValue, error) {
	var v onnxValue
	err := fields(data, func(num protowire.Number, _ uint64, body []byte) error {
		switch num {
		case valueName:
			v.name = string(body)
		case valueType:
			return nested(body, typeTensor, func(num protowire.Number, value uint64, body []byte) error {
				switch num {
				case tensorElem:
					v.elem = int(value)
				case tensorShape:
					return fields(body, func(num protowire.Number, _ uint64, body []byte) error {
						if num != shapeDim {
							return nil
						}
						v.dims = append(v.dims, 0)
						return fields(body, func(num protowire.Number, value uint64, _ []byte) error {
							if num == dimValue && value <= maxSide {
								v.dims[len(v.dims)-1] = int(value)
							}
							return nil
						})
					})
				}
				return nil
			})
		}
		return nil
	})
	return v, err
}

// nested calls visit for the fields of the messages numbered want in data.
func nested(data []byte, want protowire.Number, visit func(protowire.Number, uint64, []byte) error) error {
	return fields(data, func(num protowire.Number, _ uint64, body []byte) error {
		if num != want {
			return nil
		}
		return fields(body, visit)
	})
}

var errTruncated = errors.New("truncated")

// fields calls visit for every field of a protobuf message: with its value for
// variable-length integers, with its body (never nil) for bytes and messages.
func fields(data []byte, visit func(num protowire.Number, value uint64, body []byte) error) error {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		var value uint64
		var body []byte
		switch typ {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			if body, n = protowire.ConsumeBytes(data); body == nil {
				body = []byte{}
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, data)
		}
		if n < 0 {
			return wireError(n)
		}
		if err := visit(num, value, body); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// wireError tells data that ends early from data that is wrong.
func wireError(n int) error {
	err := protowire.ParseError(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}
