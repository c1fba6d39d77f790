package dnn

import (
	"slices"
	"testing"
)

// What ONNX Runtime makes of all nodes has the taps and heads that OpenCV's list has, called the same.
func TestLayersOfONNXRuntime(t *testing.T) {
	needONNXRuntime(t)
	needOpenCV(t)
	nameless := backbone()
	conv, weight := picker("", "s4.small", "s4", 0, 1, 2)
	nameless.nodes[3], nameless.weights = conv, append(nameless.weights, weight)
	for _, tt := range []struct {
		name, path string
		opt        Options
	}{
		{"embedded", EmbeddedName, Options{ShortSide: 96}},
		{"NanoDet", nanoDetFile, Options{}},
		{"a backbone", backbone().write(t), Options{ShortSide: 64}},
		{"a node without a name", nameless.write(t), Options{ShortSide: 64}},
		{"heads", headed(8, 8, 16, 32).write(t), Options{ShortSide: 128}},
		{"one size only", averager(96, 64).write(t), raw},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mustOpen(t, tt.path, tt.opt)
			info := m.Info()
			var err error
			if info.Layers, err = m.onnxLayers(m.nominal); err != nil {
				t.Fatal(err)
			}
			same := func(a, b Layer) bool {
				return a.Name == b.Name && slices.Equal(a.Shape, b.Shape) && a.Output == b.Output
			}
			taps, err := info.choose(nil)
			if err != nil || !slices.EqualFunc(taps, m.info.Taps, same) {
				t.Errorf("taps %v, %v; want %v", taps, err, m.info.Taps)
			}
			heads, _ := info.heads()
			if want, _ := m.info.heads(); !slices.EqualFunc(heads, want, same) {
				t.Errorf("heads %v; want %v", heads, want)
			}
			missing := 0 // Padding is of OpenCV's own making
			for _, l := range m.info.Layers {
				if l.Type != "Padding" && !slices.ContainsFunc(info.Layers, func(o Layer) bool { return same(l, o) }) {
					t.Logf("%v", l)
					missing++
				}
			}
			if t.Logf("%d layers, %d by OpenCV", len(info.Layers), len(m.info.Layers)); missing > 0 {
				t.Errorf("%d of OpenCV's layers are missing", missing)
			}
		})
	}
}
