package dnn

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"
)

func TestParseEmbedded(t *testing.T) {
	g, err := parseONNX(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.inputs) != 1 || g.inputs[0].String() != `"image" (1×3×?×?)` || len(g.nodes) < 40 {
		t.Errorf("%d nodes, inputs %v", len(g.nodes), g.inputs)
	}
	var outputs []string
	for _, v := range g.outputs {
		outputs = append(outputs, v.name)
	}
	if want := []string{"features", "heads_8", "heads_16", "heads_32", "heads_64", maskFeaturesOutput}; !slices.Equal(outputs, want) {
		t.Errorf("outputs %v", g.outputs)
	}
}

func TestReadSourceRefuses(t *testing.T) {
	two := averager(64, 64)
	two.inputs = append(two.inputs, value("other", elemFloat, 1))
	grey := averager(64, 64)
	grey.inputs = []message{value("image", elemFloat, 1, 1, 64, 64)}
	bytes := averager(64, 64)
	bytes.inputs = []message{value("image", 2, 1, 3, 64, 64)}
	batch := averager(64, 64)
	batch.inputs = []message{value("image", elemFloat, 8, 3, 64, 64)}
	flat := averager(64, 64)
	flat.inputs = []message{value("image", elemFloat, 1, 3)}
	huge := averager(32000, 32000)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an ONNX file"},
		{"text", []byte("version https://git-lfs.github.com/spec/v1\n"), `not an ONNX file: it begins with "version https://"`},
		{"page", []byte("<!DOCTYPE html><html>"), "not an ONNX file"},
		{"truncated", embedded[:len(embedded)/2], fmt.Sprintf("truncated at %d bytes", len(embedded)/2)},
		{"no nodes", onnxFile{}.bytes(), "no nodes"},
		{"two inputs", two.bytes(), `2 inputs ["image" (1×3×64×64) "other" (1)]; want one float32 image`},
		{"grey", grey.bytes(), `"image" (1×1×64×64) of element type 1; want one float32 image, 1×3×height×width`},
		{"bytes", bytes.bytes(), "element type 2"},
		{"batch", batch.bytes(), "8×3×64×64"},
		{"flat", flat.bytes(), `"image" (1×3)`},
		{"huge", huge.bytes(), "want at most"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := parseONNX(tt.data)
			if err == nil {
				_, err = g.inputSize()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestInputSizeOfGraph(t *testing.T) {
	weights := averager(96, 64)
	weights.inputs = append(weights.inputs, value("w", elemFloat, 3, 3, 1, 1)) // as IR version 3 does
	weights.weights = []message{tensor("w", []int{3, 3, 1, 1}, make([]float32, 9)...)}
	tests := []struct {
		name string
		data []byte
		want image.Point
	}{
		{"fixed", averager(96, 64).bytes(), image.Pt(96, 64)},
		{"weights among the inputs", weights.bytes(), image.Pt(96, 64)},
		{"any", backbone().bytes(), image.Point{}},
		{"embedded", embedded, image.Point{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := parseONNX(tt.data)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := g.inputSize(); err != nil || got != tt.want {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func FuzzParseONNX(f *testing.F) {
	for _, data := range [][]byte{nil, {0x08}, {0x3a, 0x02, 0x0a, 0x00}, averager(96, 64).bytes(), backbone().bytes(), backbone().bytes()[:99], embedded[:300]} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := parseONNX(data)
		if err != nil {
			if !errors.Is(err, errNotONNX) && !strings.Contains(err.Error(), "truncated") {
				t.Errorf("unexpected error %v", err)
			}
			return
		}
		size, err := g.inputSize()
		if err == nil && (size.X < 0 || size.Y < 0 || size.X*size.Y > maxInput) {
			t.Errorf("input of %v", size)
		}
	})
}
