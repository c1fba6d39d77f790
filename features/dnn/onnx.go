package dnn

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of onnx.proto.
const (
	modelGraph       = 7
	graphNode        = 1
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
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

// onnxGraph is what is read of an ONNX file before OpenCV sees it.
type onnxGraph struct {
	inputs, outputs []onnxValue
	nodes           int
}

var errNotONNX = errors.New("not an ONNX file")

// parseONNX reads the graph's interface. It never panics, whatever the bytes.
func parseONNX(data []byte) (*onnxGraph, error) {
	var graph []byte
	err := fields(data, func(num protowire.Number, _ uint64, body []byte) error {
		if num == modelGraph && body != nil {
			graph = body
		}
		return nil
	})
	switch {
	case errors.Is(err, errTruncated) && len(data) > 0 && data[0] == 0x08: // ir_version, as every exporter begins
		return nil, fmt.Errorf("the ONNX file is truncated at %d bytes", len(data))
	case err != nil || graph == nil:
		return nil, fmt.Errorf("%w: it begins with %.16q", errNotONNX, data[:min(len(data), 16)])
	}
	g := new(onnxGraph)
	constants := map[string]bool{}
	err = fields(graph, func(num protowire.Number, _ uint64, body []byte) error {
		switch num {
		case graphNode:
			g.nodes++
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
	if g.nodes == 0 {
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
