package features

import (
	"bytes"
	"errors"
	"image"
	"math"
	"testing"
)

// halves is a model that finds the left half of every box.
type halves struct {
	flatModel
	err error
}

func (m halves) MaskLogits(g *Grid, _ []Map, head *Map) (bool, error) {
	if len(head.Data) == 0 {
		return false, errors.New("nothing is seen")
	}
	g.Cols, g.Rows = 4, 2
	g.Logits = append(g.Logits[:0], 3, 3, -3, -3, 3, 3, -3, -3)
	return m.err == nil, m.err
}

// flatModel makes one map of one value, and what a Masker wants.
type flatModel struct{}

func (flatModel) Features(dst Sight, _ []byte, width, height int, v View) (Sight, error) {
	if v.Empty() {
		v.Rectangle.Max.X, v.Rectangle.Max.Y = width, height
	}
	m := Map{
		Channels: 1, Height: 1, Width: 1, StrideX: float64(v.Dx()), StrideY: float64(v.Dy()),
		OffsetX: float64(v.Min.X) + float64(v.Dx())/2 - 0.5, OffsetY: float64(v.Min.Y) + float64(v.Dy())/2 - 0.5, Data: []float32{1},
	}
	dst.Maps, dst.MaskFeatures = append(dst.Maps[:0], m), m
	return dst, nil
}

func TestMaskLogits(t *testing.T) {
	const w, h = 64, 48
	bgr := make([]byte, 3*w*h)
	for i := range bgr {
		bgr[i] = byte(i * 7)
	}
	scene := func(m Model, plan Plan) *Scene {
		e, err := New(Config{Superpixels: 100}, m)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		if err := e.Extract(&s, bgr, w, h, plan); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	s := scene(halves{}, Plan{Whole: true})
	box := [4]float64{16, 8, 48, 40}
	got, err := s.MaskLogits(nil, box)
	if err != nil || len(got) != s.N {
		t.Fatalf("%d log odds, %v; want %d", len(got), err, s.N)
	}
	for i, v := range got { // against all pixels, one by one
		sum, n := 0.0, 0.0
		for y := range h {
			for x := range w {
				if Label(s.Patches, x, y) == int32(i) {
					sum, n = sum+leftHalf(float64(x)+0.5, float64(y)+0.5, box), n+1
				}
			}
		}
		if math.Abs(float64(v)-sum/n) > 1e-4 {
			t.Fatalf("superpixel %d: %g; want %g", i, v, sum/n)
		}
	}
	if again, err := s.MaskLogits(got, [4]float64{-20, -20, -10, -10}); err != nil || len(again) != 0 {
		t.Errorf("a box outside of the picture: %d log odds, %v", len(again), err)
	}
	if got, err := scene(flatModel{}, Plan{Whole: true}).MaskLogits(nil, box); err != nil || len(got) != 0 {
		t.Errorf("a model without a mask head: %d log odds, %v", len(got), err)
	}
	fault := errors.New("no")
	if _, err := scene(halves{err: fault}, Plan{Whole: true}).MaskLogits(nil, box); !errors.Is(err, fault) {
		t.Errorf("%v; want the model's error", err)
	}
	if got, err := scene(halves{}, Plan{}).MaskLogits(nil, box); err != nil || len(got) != 0 {
		t.Errorf("a scene of nothing: %d log odds, %v", len(got), err)
	}
}

// What a detector says of a box it found is taken for what the mask head says, and cropped to the box; of other boxes the head is asked,
// and nothing is cropped.
func TestMaskOfADetection(t *testing.T) {
	const w, h = 64, 48
	e, err := New(Config{Superpixels: 100}, halves{})
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	if err := e.Extract(&s, make([]byte, 3*w*h), w, h, Plan{Whole: true}); err != nil {
		t.Fatal(err)
	}
	box, other := image.Rect(17, 9, 47, 39), image.Rect(17, 9, 47, 40)
	// Beyond the box, too, it is the thing, but for what is left of x = 24.
	mask := &Grid{X0: 8, Y0: 0, X1: 56, Y1: 48, Cols: 3, Rows: 1, Logits: []float32{-3, 3, 3}}
	s.Found = []Detection{{Box: other, Class: "cat"}, {Box: box, Class: "cat", Mask: mask}}
	var g Grid
	if ok, err := s.MaskGrid(&g, Corners(box)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	g.Over(&s.Patches[0])
	for y := range h {
		for x := range w {
			want := float32(OutsideLogit)
			if image.Pt(x, y).In(box) {
				want = 3 * min(max((float32(x)+0.5-24)/8, -1), 1)
			}
			if got := g.At(x, y); math.Abs(float64(got-want)) > 1e-5 {
				t.Fatalf("pixel %d, %d: %g; want %g", x, y, got, want)
			}
		}
	}
	if g.Logits[0] = 9; mask.Logits[0] != -3 {
		t.Error("the detection's mask was changed")
	}
	if ok, err := s.MaskGrid(&g, Corners(other)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	g.Over(&s.Patches[0])
	if got, want := g.At(20, 39), float32(leftHalf(20.5, 39.5, Corners(other))); got != want {
		t.Errorf("another box, beyond the one before: %g; want the mask head's %g", got, want)
	}
}

// The shape of a thing is the pixels of its box where the mask head is for it.
func TestShape(t *testing.T) {
	const w, h = 64, 48
	box := image.Rect(16, 8, 48, 40)
	shape := func(m Model, plan Plan) ([]uint8, bool, error) {
		e, err := New(Config{Superpixels: 100}, m)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		if err := e.Extract(&s, make([]byte, 3*w*h), w, h, plan); err != nil {
			t.Fatal(err)
		}
		bits := bytes.Repeat([]byte{9}, w*h)
		ok, err := s.Shape(bits, box)
		return bits, ok, err
	}
	bits, ok, err := shape(halves{}, Plan{Whole: true})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for i, got := range bits {
		want := uint8(9)
		if at := image.Pt(i%w, i/w); at.In(box) {
			want = 0
			if at.X < 32 {
				want = 1
			}
		}
		if got != want {
			t.Fatalf("pixel %d, %d: %d; want %d", i%w, i/w, got, want)
		}
	}
	fault := errors.New("no")
	for name, tt := range map[string]struct {
		m    Model
		plan Plan
		err  error
	}{
		"no mask head":           {flatModel{}, Plan{Whole: true}, nil},
		"a scene of nothing":     {halves{}, Plan{}, nil},
		"a mask head that fails": {halves{err: fault}, Plan{Whole: true}, fault},
	} {
		if bits, ok, err := shape(tt.m, tt.plan); ok || !errors.Is(err, tt.err) || bits[w*10+20] != 9 {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// Of the left half of one box as much is in the left half of another as the two have in common.
func TestPart(t *testing.T) {
	const w, h = 64, 48
	scene := func(m Model) *Scene {
		e, err := New(Config{Superpixels: 100}, m)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		if err := e.Extract(&s, make([]byte, 3*w*h), w, h, Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	first := image.Rect(16, 8, 32, 24)
	s := scene(halves{})
	for second, want := range map[image.Rectangle]float64{
		first: 1, first.Add(image.Pt(4, 0)): 0.5, first.Add(image.Pt(8, 0)): 0, image.Rect(0, 0, 48, 40): 1, image.Rect(16, 16, 64, 24): 0.5,
		image.Rect(-20, -20, -10, -10): 0,
	} {
		if got := s.shared(first, second); got != want {
			t.Errorf("of %v in %v: %g; want %g", first, second, got, want)
		}
	}
	for second, want := range map[image.Rectangle]bool{
		first: true, image.Rect(0, 0, 48, 40): true, image.Rect(16, 16, 64, 24): false, // half of it lies in it
		first.Add(image.Pt(4, 0)): false, first.Add(image.Pt(1, 0)): true,
	} {
		if got := s.Part(first, second); got != want {
			t.Errorf("%v is a part of %v: %t; want %t", first, second, got, want)
		}
	}
	for name, m := range map[string]Model{"no mask head": flatModel{}, "a mask head that fails": halves{err: errors.New("no")}} {
		if scene(m).Part(first, first) {
			t.Errorf("%s: it is a part of itself; want that this is not known", name)
		}
	}
}

// Of a box as much is shown as one patch shows of what is in the picture.
func TestShows(t *testing.T) {
	s := Scene{Width: 100, Height: 60, Patches: []Patch{{Rectangle: image.Rect(0, 0, 20, 20)}, {Rectangle: image.Rect(40, 0, 80, 40)}}}
	for box, want := range map[image.Rectangle]float64{
		image.Rect(0, 0, 20, 20): 1, image.Rect(10, 0, 30, 20): 0.5, image.Rect(50, 30, 70, 40): 1, image.Rect(10, 0, 50, 20): 0.25,
		image.Rect(-10, -10, 10, 10): 1, image.Rect(20, 0, 40, 10): 0, image.Rect(200, 0, 210, 10): 0,
	} {
		if got := s.Shows(box); got != want {
			t.Errorf("%v: %g; want %g", box, got, want)
		}
	}
	if (&Scene{Width: 100, Height: 60}).Shows(image.Rect(0, 0, 10, 10)) != 0 {
		t.Error("a scene of nothing shows something")
	}
}

// leftHalf is what halves says at a place, between the middles of its cells as a line.
func leftHalf(x, y float64, box [4]float64) float64 {
	if x < box[0] || x >= box[2] || y < box[1] || y >= box[3] {
		return OutsideLogit
	}
	at := (x-box[0])/(box[2]-box[0])*4 - 0.5 // in cells
	return 3 - 6*min(max(at-1, 0), 1)
}
