package dnn

import (
	"fmt"
	"image"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/coco"
)

// headed is a model of any size whose features are means of 4×4 pixels, and whose heads find a person, by
// 1/(1+exp(-2)), in what of a cell is red and a car in what is blue, in the cell's box. Bytes are its input.
func headed(bins int, strides ...int) onnxFile {
	channels := slices.Repeat([]channel{{bias: -10}}, len(coco.Names()))
	channels[slices.Index(coco.Names(), "person")] = channel{2, 12. / 255, -10}
	channels[slices.Index(coco.Names(), "car")] = channel{0, 12. / 255, -10}
	for range 4 { // sides of half a stride
		side := make([]channel, bins)
		side[0], side[1] = channel{bias: 30}, channel{bias: 30}
		channels = append(channels, side...)
	}
	f := finder(true, strides, channels, false, false)
	f.nodes = append(f.nodes, node("AveragePool", "pool", []string{"image"}, []string{"mean"}, ints("kernel_shape", 4, 4), ints("strides", 4, 4)))
	f.outputs = append(f.outputs, value("mean", elemFloat, 1, 3, 0, 0))
	return f
}

// paint fills a part of a picture.
func paint(bgr []byte, width int, r image.Rectangle, colour ...byte) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(bgr[3*(y*width+r.Min.X):], slices.Repeat(colour, r.Dx()))
	}
}

// Heads find things where they are, in all of a picture and in parts of it, at any size; what a border cuts is left
// out unless that is the picture's; features are what they are without.
func TestHeads(t *testing.T) {
	needONNXRuntime(t)
	const w, h = 256, 128
	bgr := make([]byte, 3*w*h)
	red, corner, blue := image.Rect(96, 48, 104, 56), image.Rect(0, 0, 8, 8), image.Rect(128, 64, 144, 80)
	paint(bgr, w, red, 0, 0, 255)
	paint(bgr, w, corner, 0, 0, 255)
	paint(bgr, w, blue, 255, 0, 0)
	person := func(r image.Rectangle) features.Detection { return features.Detection{Box: r, Class: "person"} }
	car := func(x, y, side int) features.Detection {
		return features.Detection{Box: image.Rect(x, y, x+side, y+side), Class: "car"}
	}
	// A car of two cells each way is found by each, and by one of stride 16.
	cars := []features.Detection{car(128, 64, 8), car(128, 64, 16), car(128, 72, 8), car(136, 64, 8), car(136, 72, 8)}
	for _, bins := range []int{8, 11} {
		path := headed(bins, 8, 16, 32).write(t)
		for _, engine := range engines() {
			opt := raw
			opt.ShortSide, opt.Engine = h, engine
			m := mustOpen(t, path, opt)
			if i := m.Info(); !slices.Equal(i.Classes, coco.Names()) || len(i.Taps) != 1 || i.Taps[0].Name != "mean" {
				t.Fatalf("%d bins by %s: classes %v, taps %v", bins, engine, i.Classes, i.Taps)
			}
			for _, tt := range []struct {
				name string
				view features.View
				want []features.Detection
			}{
				{"all", features.View{}, append([]features.Detection{person(corner), person(red)}, cars...)},
				{"a part", features.View{Rectangle: image.Rect(64, 32, 192, 96)}, append([]features.Detection{person(red)}, cars...)},
				{"at the picture's corner", features.View{Rectangle: image.Rect(0, 0, 128, 64)}, []features.Detection{person(corner), person(red)}},
				{"cut at the right", features.View{Rectangle: image.Rect(40, 0, 104, 128)}, nil},
				{"cut at the left", features.View{Rectangle: image.Rect(96, 0, 160, 128)}, cars},
				{"cut at the top", features.View{Rectangle: image.Rect(64, 48, 192, 112)}, cars},
				{"larger", features.View{Rectangle: image.Rect(88, 40, 120, 72), Scale: 2}, []features.Detection{
					person(image.Rect(96, 48, 100, 52)), person(red), person(image.Rect(96, 52, 100, 56)), person(image.Rect(100, 48, 104, 52)), person(image.Rect(100, 52, 104, 56)),
				}},
			} {
				t.Run(fmt.Sprintf("%d bins by %s: %s", bins, engine, tt.name), func(t *testing.T) {
					if show := m.show(w, h, tt.view); engine == EngineOpenCV && !tt.view.Empty() && show.Rectangle != tt.view.Rectangle {
						t.Skipf("it sees %v", show.Rectangle)
					}
					made, err := m.Features(features.Sight{}, bgr, w, h, tt.view)
					if err != nil {
						t.Fatal(err)
					}
					got := slices.Clone(made.Found)
					for i := range got {
						if want := chances(got[i].Class).chance(2); math.Abs(got[i].Score-want) > 1e-4 && tt.view.Scale == 0 || got[i].Score < 0.7 { // scaled edges are soft
							t.Errorf("%v", got[i])
						}
						got[i].Score = 0
					}
					byPlace := func(a, b features.Detection) int {
						return slices.Compare([]int{a.Box.Min.X, a.Box.Min.Y, a.Box.Max.X}, []int{b.Box.Min.X, b.Box.Min.Y, b.Box.Max.X})
					}
					if slices.SortFunc(got, byPlace); !slices.Equal(got, tt.want) {
						t.Errorf("found %v, want %v", got, tt.want)
					}
					if mp := made.Maps[0]; len(made.Maps) != 1 || mp.Channels != 3 || mp.StrideX != 4/max(1, tt.view.Scale) {
						t.Errorf("%d maps, the first with %d channels, %v apart", len(made.Maps), mp.Channels, mp.StrideX)
					}
				})
			}
		}
	}
}

// Of heads at four strides, NanoDet-Plus', cells are placed where they begin.
func TestHeadsPlus(t *testing.T) {
	needONNXRuntime(t)
	const w, h = 256, 128
	bgr := make([]byte, 3*w*h)
	paint(bgr, w, image.Rect(96, 48, 104, 56), 0, 0, 255)
	paint(bgr, w, image.Rect(128, 64, 192, 128), 255, 0, 0)
	path := headed(8, 32, 8, 64, 16).write(t)
	for _, engine := range engines() {
		opt := raw
		opt.ShortSide, opt.Engine = h, engine
		made, err := mustOpen(t, path, opt).Features(features.Sight{}, bgr, w, h, features.View{})
		if err != nil {
			t.Fatal(err)
		}
		sides := map[int]int{} // of cars
		for _, f := range made.Found {
			if f.Class == "car" {
				sides[f.Box.Dx()]++
			} else if f.Box != image.Rect(92, 44, 100, 52) {
				t.Errorf("by %s: %v", engine, f)
			}
			if f.Box.Dx() == 64 && f.Box != image.Rect(96, 32, 160, 96) {
				t.Errorf("by %s: %v", engine, f)
			}
		}
		if want := map[int]int{8: 64, 16: 16, 32: 4, 64: 1}; !maps.Equal(sides, want) {
			t.Errorf("by %s: cars by their sides %v, want %v", engine, sides, want)
		}
	}
}

// A model without heads, or with too few, makes features and finds nothing; what is left of heads is a map.
func TestNoHeads(t *testing.T) {
	two := headed(8, 8, 16, 32)
	two.outputs = two.outputs[1:]
	for _, tt := range []struct {
		name string
		file onnxFile
		taps int
	}{{"none", averager(0, 0), 1}, {"two", two, 3}} {
		m := mustOpen(t, tt.file.write(t), Options{ShortSide: 64})
		made, err := m.Features(features.Sight{}, noise(64, 64), 64, 64, features.View{})
		if err != nil || len(m.Info().Classes) != 0 || len(made.Found) != 0 || len(made.Maps) != tt.taps {
			t.Errorf("%s: %v; %d classes, %d found, %d maps; want %d", tt.name, err, len(m.Info().Classes), len(made.Found), len(made.Maps), tt.taps)
		}
	}
}

// The model in the binary finds two persons, by both engines, in all of a picture and in a part with one of them.
func TestEmbeddedFinds(t *testing.T) {
	needONNXRuntime(t)
	bgr, w, h := persons(t)
	want := []image.Rectangle{image.Rect(95, 43, 121, 128), image.Rect(190, 170, 236, 288)}
	for _, tt := range []struct {
		view features.View
		want []image.Rectangle
	}{{features.View{}, want}, {features.View{Rectangle: image.Rect(60, 10, 160, 170)}, want[:1]}} {
		var all [2][]features.Detection
		for i, engine := range engines() {
			m, err := Embedded(Options{ShortSide: 288, Computing: Computing{Engine: engine}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if i := m.Info(); len(i.Classes) != 80 || i.Channels() != 64 {
				t.Errorf("%d classes, %d channels", len(i.Classes), i.Channels())
			}
			made, err := m.Features(features.Sight{}, bgr, w, h, tt.view)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range made.Found {
				if f.Class == "person" && f.Score >= 0.4 {
					all[i] = append(all[i], f)
				}
			}
			if t.Log(engine, tt.view.Rectangle, all[i]); len(all[i]) != len(tt.want) {
				t.Fatalf("%s in %v: found %v, want %v", engine, tt.view.Rectangle, all[i], tt.want)
			}
			for _, box := range tt.want {
				if !slices.ContainsFunc(all[i], func(f features.Detection) bool { return features.IoU(f.Box, box) > 0.7 }) {
					t.Errorf("%s in %v: found %v, none at %v", engine, tt.view.Rectangle, all[i], box)
				}
			}
		}
		if !tt.view.Empty() {
			continue // OpenCV's parts are wider
		}
		for i, a := range all[0] {
			if b := all[len(engines())-1][i]; features.IoU(a.Box, b.Box) < 0.9 || math.Abs(a.Score-b.Score) > 1e-3 {
				t.Errorf("%v by OpenCV, %v by ONNX Runtime", a, b)
			}
		}
	}
}

// What is too large for the boxes that heads make is found at half the scale, and nothing else; no maps are made of it.
func TestLargeIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 8 s: large pictures")
	}
	bgr, w, h := persons(t)
	m, err := Embedded(Options{ShortSide: 4 * min(w, h)}) // persons of 340 and 472 pixels
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	large := image.Rect(190, 170, 236, 288)
	best := func(view features.View) (best float64, s features.Sight) {
		s, err := m.Features(features.Sight{}, bgr, w, h, view)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Found {
			if f.Class == "person" && f.Score >= 0.4 {
				best = max(best, features.IoU(f.Box, large))
			}
		}
		return best, s
	}
	usual, _ := best(features.View{})
	half, s := best(features.View{Large: true})
	if t.Log(usual, half); half < 0.7 || half < usual {
		t.Errorf("found with an IoU of %.2f, at the usual scale with %.2f", half, usual)
	}
	for _, f := range s.Found {
		if side := 4 * max(f.Box.Dx(), f.Box.Dy()); side < largest-4 {
			t.Errorf("%v has %d pixels; it is found at the usual scale", f, side)
		}
	}
	if len(s.Maps) != 0 {
		t.Errorf("%d maps", len(s.Maps))
	}
}

// Whatever heads say, what is found is a hundred at most, inside the image; numbers that are none are nothing.
func TestHeadsSayAnything(t *testing.T) {
	info := Info{Classes: coco.Names()}
	of := nanoDetPlanes(8, [][]int{{8}, {16}, {32}})
	of.classes = len(info.Classes)
	m := &Model{info: info, heads: of}
	s := shown{Rectangle: image.Rect(10, 20, 138, 84), size: image.Pt(64, 32), input: image.Pt(64, 32)}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range []float32{-10, 3, nan, inf, -inf} {
		planes := slices.Repeat([]float32{v}, 8*4*of.columns())
		found, err := m.find(nil, planes, 8, s, image.Pt(200, 100))
		if found = features.Suppress(found, features.SameThing, 1); err != nil || len(found) > features.MaxFound || len(found) > 0 && v != 3 && v != inf {
			t.Errorf("%v: %d found, %v", v, len(found), err)
		}
		for _, f := range found {
			if f.Box.Empty() || !f.Box.In(s.Rectangle) {
				t.Errorf("%v: %v", v, f)
			}
		}
	}
	if _, err := m.find(nil, make([]float32, 5), 8, s, image.Pt(200, 100)); err == nil {
		t.Error("another shape is taken")
	}
}

// What nothing is found in costs a comparison a cell and class.
func BenchmarkHeads(b *testing.B) {
	info := Info{Classes: coco.Names()}
	of := nanoDetPlanes(8, [][]int{{8}, {16}, {32}})
	of.classes = len(info.Classes)
	m := &Model{info: info, heads: of}
	size := image.Pt(960, 544)
	s := shown{Rectangle: image.Rectangle{Max: size}, size: size, input: size}
	var planes [3][]float32
	for i, stride := range of.strides {
		planes[i] = slices.Repeat([]float32{-5}, cellsOf(size, stride...)*of.columns())
		for at := 0; at < len(planes[i]); at += 5003 { // some 240 candidates
			planes[i][at] = 1
		}
	}
	var found []features.Detection
	b.ReportAllocs()
	for b.Loop() {
		found = found[:0]
		for i, stride := range of.strides {
			var err error
			if found, err = m.find(found, planes[i], stride[0], s, size); err != nil {
				b.Fatal(err)
			}
		}
		found = features.Suppress(found, features.SameThing, 1)
	}
}
