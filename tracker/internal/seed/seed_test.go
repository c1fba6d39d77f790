package seed

import (
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scenetest"
)

const cols, rows, side = 16, 12, scenetest.Side

// rect is a rectangle of superpixels.
type rect struct{ x0, y0, x1, y1 int }

func (r rect) has(i int) bool {
	x, y := i%cols, i/cols
	return x >= r.x0 && x < r.x1 && y >= r.y0 && y < r.y1
}

// red rectangles on a blue floor.
func scene(t *testing.T, red ...rect) *picture.Picture {
	t.Helper()
	s := scenetest.Squares(1, cols, rows, func(x, y int) [3]float64 {
		for _, r := range red {
			if r.has(y/side*cols + x/side) {
				return [3]float64{50 + float64((x+y)%7), 60, 40}
			}
		}
		return [3]float64{float64(40 + (7*x+3*y)%20), 10, float64(-40 - y%5)}
	})
	projection, err := features.FitProjection(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	return pool.Make(s, projection, 0.25)
}

// seeded is what an annotation makes of p, of which labels y are believed.
type seeded struct {
	Seeder
	b      propagation.Belief
	m      Marks
	y      []int32
	labels int
}

func apply(t *testing.T, p *picture.Picture, believed func(i int) int, labels int, a *annotation.Annotation, objects ...Object) *seeded {
	t.Helper()
	a.Width, a.Height = p.Width, p.Height
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	s := &seeded{Seeder: Seeder{Radius: 0.5}, y: make([]int32, p.N), labels: labels}
	s.b.Reset(p.N, labels)
	s.m.Reset(p.N)
	if believed == nil {
		s.b.Uniform(labels)
	} else {
		for i := range p.N {
			s.b.Q[i*labels+believed(i)] = 1
		}
	}
	s.b.Labels(s.y)
	if err := s.Apply(t.Context(), p, &s.b, s.y, &s.m, a, objects); err != nil {
		t.Fatal(err)
	}
	for i := range p.N {
		sum := 0.0
		for _, v := range s.b.Q[i*labels : (i+1)*labels] {
			sum += v
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("the probabilities of superpixel %d sum to %g", i, sum)
		}
	}
	return s
}

func stroke(x0, y0, x1, y1 float64) []annotation.Stroke {
	return []annotation.Stroke{{Width: 5, Points: []annotation.Point{{side * x0, side * y0}, {side * x1, side * y1}}}}
}

// A superpixel takes what most of its marked pixels are, and keeps the shares.
func TestMask(t *testing.T) {
	p := scene(t, rect{2, 2, 6, 5})
	a := &annotation.Annotation{Mask: make([]uint8, p.Width*p.Height), Objects: []annotation.Object{{ID: 1}}}
	for at, i := range p.Patches[0].Labels {
		x := at % p.Width
		if r := (rect{2, 2, 6, 5}); r.has(int(i)) || (rect{6, 2, 7, 5}).has(int(i)) && x%side < 4 {
			a.Mask[at] = 1
		}
	}
	s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
	for i := range p.N {
		want, share := int32(annotation.Outside), 0.0
		switch {
		case (rect{2, 2, 6, 5}).has(i):
			want, share = 1, 1
		case (rect{6, 2, 7, 5}).has(i):
			want, share = 1, 4.0/6
		}
		if s.m.Fixed[i] != want || math.Abs(s.b.Q[2*i+1]-share) > 1e-12 || s.m.Forbids(i, 1) != (want != 1) || s.m.Forbids(i, 0) != (want == 1) || s.y[i] != max(0, want) {
			t.Errorf("superpixel %d: fixed %d, probability %g, forbids %t; want %d, %g, %t", i, s.m.Fixed[i], s.b.Q[2*i+1], s.m.Forbids(i, 1), want, share, want != 1)
		}
	}
	if !slices.Equal(s.m.Begun, []int32{1}) || !slices.Equal(s.m.Bounded, []int32{1}) {
		t.Errorf("begun %v, bounded %v; want 1", s.m.Begun, s.m.Bounded)
	}
}

// What is far smaller than a superpixel is still annotated.
func TestTinyPolygon(t *testing.T) {
	p := scene(t)
	a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Polygon: []annotation.Point{{20, 20}, {22, 20}, {22, 22}, {20, 22}}}}}
	s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
	for i := range p.N {
		if want := i == int(p.At(21, 21)); (s.m.Fixed[i] == 1) != want {
			t.Errorf("superpixel %d is fixed as %d", i, s.m.Fixed[i])
		}
	}
}

func TestStrokesGrow(t *testing.T) {
	object := rect{3, 3, 9, 8}
	p := scene(t, object)
	a := &annotation.Annotation{
		Objects:    []annotation.Object{{ID: 1, Scribbles: stroke(4.5, 4.5, 6.5, 5.5)}},
		Background: stroke(1, 1, 15, 1),
	}
	s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
	for i, l := range s.y {
		if (l == 1) != object.has(i) || (s.b.Q[2*i+1] > 0.5) != object.has(i) {
			t.Errorf("superpixel %d has label %d, probability %g", i, l, s.b.Q[2*i+1])
		}
	}
}

// Strokes on nothing else are not needed. What is beyond reach of the strokes is not the object, however like it.
func TestOneStroke(t *testing.T) {
	object := rect{3, 3, 6, 6}
	p := scene(t, object, rect{12, 3, 15, 6})
	s := apply(t, p, nil, 2, &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Scribbles: stroke(4, 4.5, 5, 4.5)}}}, Object{Label: 1, Defined: true})
	for i, l := range s.y {
		if (l == 1) != object.has(i) || (s.b.Q[2*i+1] > 0.5) != object.has(i) || i%cols >= 10 && s.b.Q[2*i+1] != 0 {
			t.Errorf("superpixel %d has label %d, probability %g", i, l, s.b.Q[2*i+1])
		}
	}
}

func TestBoxFindsTheObject(t *testing.T) {
	object := rect{4, 3, 10, 8}
	p := scene(t, object)
	a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Box: []float64{4 * side, 2 * side, 11 * side, 9 * side}}}}
	s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
	for i, l := range s.y {
		if (l == 1) != object.has(i) {
			t.Errorf("superpixel %d has label %d, probability %g", i, l, s.b.Q[2*i+1])
		}
		if box := (rect{4, 2, 11, 9}); s.m.Forbids(i, 1) == box.has(i) {
			t.Errorf("superpixel %d: the box forbids it %t", i, s.m.Forbids(i, 1))
		}
	}
	if len(s.m.Begun) != 0 {
		t.Errorf("what a box holds is the object for certain: %v", s.m.Begun)
	}
}

// A box becomes a mask that reaches its sides, wherever it is: round nothing at all, too, and
// round a small part of what it should hold.
func TestBoxIsNeverEmpty(t *testing.T) {
	for _, tt := range []struct {
		name string
		red  []rect
	}{{"nothing in it", nil}, {"a speck in it", []rect{{5, 4, 6, 5}}}, {"all is alike", []rect{{0, 0, cols, rows}}}} {
		p := scene(t, tt.red...)
		box := []float64{3 * side, 2 * side, 6 * side, 9 * side}
		a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Box: box}}}
		s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
		w := work{Picture: p}
		reach := func() float64 { return w.reach(box, func(i int) bool { return s.y[i] == 1 }) }
		if got := reach(); got < boxReach {
			t.Errorf("%s: what is found spans %.2f of the box", tt.name, got)
		}
		found := slices.Clone(s.y)
		clear(s.y) // a solve has lost it
		taken := slices.Index(found, 1)
		s.y[taken] = 2 // but for one, which is another object's
		s.KeepBoxes(p, s.y)
		found[taken] = 2
		if !slices.Equal(s.y, found) {
			t.Errorf("%s: lost, and kept %v; want %v", tt.name, s.y, found)
		}
	}
	// What is taken when the search has failed: the likeliest superpixels, or if they do not
	// reach far enough all.
	for _, tt := range []struct {
		name string
		box  []float64
		want int
	}{
		{"the likeliest three fifths", []float64{3 * side, 2 * side, 6 * side, 9 * side}, 12},
		{"one superpixel", []float64{3 * side, 2 * side, 4 * side, 3 * side}, 1},
		{"a corner of one", []float64{3 * side, 2 * side, 3*side + 2, 2*side + 2}, 1},
	} {
		a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Box: tt.box}}}
		s := apply(t, scene(t, rect{0, 0, cols, rows}), nil, 2, a, Object{Label: 1, Defined: true})
		got := 0
		for _, l := range s.y {
			got += int(l)
		}
		if got != tt.want {
			t.Errorf("%s: %d superpixels; want %d", tt.name, got, tt.want)
		}
	}
	p := scene(t, rect{4, 3, 10, 8})
	a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Box: []float64{4 * side, 2 * side, 11 * side, 9 * side}}}}
	s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
	s.y[slices.Index(s.y, 1)] = 0 // a solve knows better
	want := slices.Clone(s.y)
	if s.KeepBoxes(p, s.y); !slices.Equal(s.y, want) {
		t.Error("a solve that took a piece of what was found is overruled")
	}
}

// Of two boxes that overlap the one with the lower foot has what both may be, whichever comes first.
func TestBoxesFrontFirst(t *testing.T) {
	front, behind := rect{3, 2, 10, 10}, rect{3, 1, 10, 9}
	p := scene(t, rect{4, 2, 9, 9})
	box := func(r rect) []float64 {
		return []float64{side * float64(r.x0), side * float64(r.y0), side * float64(r.x1), side * float64(r.y1)}
	}
	for _, first := range []rect{front, behind} {
		a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Box: box(front)}, {ID: 2, Box: box(behind)}}}
		in := 1
		if first == behind {
			a.Objects[0].Box, a.Objects[1].Box, in = box(behind), box(front), 2
		}
		s := apply(t, p, nil, 3, a, Object{Label: 1, Defined: true}, Object{Label: 2, Defined: true})
		for i, l := range s.y {
			if (rect{5, 4, 8, 7}).has(i) && (int(l) != in || s.b.Q[3*i+in] < s.b.Q[3*i+3-in]) {
				t.Errorf("superpixel %d has label %d, probabilities %v; want the one in front, %d", i, l, s.b.Q[3*i:][:3], in)
			}
		}
	}
}

// A stroke on a piece of an object that is something else takes all of it, and nothing
// of what hangs together with what was confirmed.
func TestCorrectionTakesAPiece(t *testing.T) {
	right, wrong := rect{2, 3, 6, 8}, rect{10, 3, 14, 8}
	p := scene(t, right, rect{10, 3, 13, 8}) // the rest of the piece looks like the floor
	believed := func(i int) int {
		if right.has(i) || wrong.has(i) {
			return 1
		}
		return 0
	}
	a := &annotation.Annotation{Background: stroke(10.5, 4.5, 12.5, 4.5)}
	s := apply(t, p, believed, 2, a)
	s.b.Labels(s.y)
	for i, l := range s.y {
		if (l == 1) != right.has(i) {
			t.Errorf("superpixel %d has label %d, probability %g", i, l, s.b.Q[2*i+1])
		}
	}
	s.NoteCorrected(&s.m, s.y)
	for i, c := range s.m.Corrected {
		if c != wrong.has(i) {
			t.Errorf("superpixel %d: corrected %t", i, c)
		}
	}
}

// A correction of a part spreads to what is like it.
func TestCorrectionSpreads(t *testing.T) {
	object := rect{3, 3, 9, 8}
	p := scene(t, object)
	a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Scribbles: stroke(4.5, 4.5, 6.5, 5.5)}}}
	s := apply(t, p, func(int) int { return 0 }, 2, a, Object{Label: 1})
	s.b.Labels(s.y)
	for i, l := range s.y {
		if (l == 1) != object.has(i) {
			t.Errorf("superpixel %d has label %d, probability %g", i, l, s.b.Q[2*i+1])
		}
	}
}

// The objects that an annotation corrects are those stroked, and those that strokes take
// something from; not those that another object begins beside.
func TestCorrected(t *testing.T) {
	p := scene(t)
	believed := func(i int) int {
		switch {
		case rect{1, 1, 4, 4}.has(i):
			return 1
		case rect{6, 1, 9, 4}.has(i):
			return 2
		case rect{11, 1, 14, 4}.has(i):
			return 3
		}
		return 0
	}
	on := func(l int) []annotation.Stroke { x := float64(5*l - 3); return stroke(x, 2, x+1, 3) }
	named := func(scribbles []annotation.Stroke) []annotation.Object {
		return []annotation.Object{{ID: 1, Scribbles: scribbles}}
	}
	for _, tt := range []struct {
		name       string
		objects    []annotation.Object
		of         Object
		background []annotation.Stroke
		want       []int32
	}{
		{"confirmed", named(on(1)), Object{Label: 1}, nil, []int32{1}},
		{"taken from another", named(on(2)), Object{Label: 1}, nil, []int32{1, 2}},
		{"background on one", nil, Object{}, on(3), []int32{3}},
		{"background beside all", nil, Object{}, stroke(1, 8, 9, 8), nil},
		{"named without a stroke, background on another", named(nil), Object{Label: 1}, on(2), []int32{2}},
		{"begun on another", named(on(2)), Object{Label: 1, Defined: true}, nil, nil},
		{"begun on another, background on the third", named(on(2)), Object{Label: 1, Defined: true}, on(3), []int32{3}},
	} {
		s := apply(t, p, believed, 4, &annotation.Annotation{Objects: tt.objects, Background: tt.background}, slices.Repeat([]Object{tt.of}, len(tt.objects))...)
		if got := slices.Sorted(slices.Values(s.Corrected())); !slices.Equal(got, tt.want) {
			t.Errorf("%s: corrects %v; want %v", tt.name, got, tt.want)
		}
	}
}

func TestKeepPiecesAndEstimate(t *testing.T) {
	p := scene(t)
	var m Marks
	m.Reset(p.N)
	m.Begun = []int32{1}
	m.Fixed[2*cols+2] = 1
	y := make([]int32, p.N)
	for i := range y {
		if (rect{2, 2, 4, 4}).has(i) || (rect{8, 8, 10, 10}).has(i) {
			y[i] = 1
		}
		if (rect{12, 2, 14, 4}).has(i) {
			y[i] = 2
		}
	}
	m.KeepPieces(p, y)
	for i, l := range y {
		want := int32(0)
		if (rect{2, 2, 4, 4}).has(i) {
			want = 1
		}
		if (rect{12, 2, 14, 4}).has(i) {
			want = 2 // nothing is said of it
		}
		if l != want {
			t.Errorf("superpixel %d has label %d; want %d", i, l, want)
		}
	}
	// Label 1 begins: its estimate holds. Label 2 is where it was going to be.
	decided, estimated := []int32{0, 1, 2, 2, 0}, []int32{1, 0, 1, 1, 2}
	q := []float64{1, 0, 0, 0, 1, 0, 0, 0.5, 0.5, 1, 0, 0, 1, 0, 0}
	m.KeepEstimate(decided, estimated, q)
	if want := []int32{1, 0, 2, 0, 0}; !slices.Equal(decided, want) {
		t.Errorf("%v; want %v", decided, want)
	}
}

func TestMarksComeAndGo(t *testing.T) {
	m := Marks{
		Fixed: []int32{1, 2, 3, annotation.Unmarked, annotation.Outside}, Begun: []int32{1, 3}, Defined: []int32{1, 2, 3}, Bounded: []int32{2, 3},
		Corrected: []bool{true, false, false, false, false},
		outside:   []bool{false, true, false, true, true, false, true, true, true, true},
	}
	c := m.Clone()
	c.Drop(2)
	if !slices.Equal(c.Fixed, []int32{1, 0, 2, annotation.Unmarked, annotation.Outside}) || !slices.Equal(c.Begun, []int32{1, 2}) || !slices.Equal(c.Defined, []int32{1, 2}) ||
		!slices.Equal(c.Bounded, []int32{2}) || !slices.Equal(c.outside, []bool{true, true, false, true, true}) {
		t.Errorf("label 2 dropped: %+v", c)
	}
	if m.Fixed[1] != 2 || m.Defined[1] != 2 || m.Bounded[0] != 2 || !m.outside[1] || m.outside[0] {
		t.Errorf("a clone shares memory: %+v", m)
	}
	if m.Free(0) || !m.Free(3) || m.Free(4) || !m.Forbids(3, 2) || m.Forbids(3, 1) || !m.Forbids(0, 0) || m.Forbids(0, 1) {
		t.Error("what is free or forbidden is not")
	}
	var resumed Marks
	resumed.Reset(5)
	if resumed.Resume(&m, []int32{0, 1, 2, 3, 4}); !slices.Equal(resumed.Fixed, m.Fixed) || len(resumed.Begun) != 0 || !slices.Equal(resumed.Defined, m.Defined) || !resumed.Forbids(3, 2) || !resumed.Corrected[0] {
		t.Errorf("resumed: %+v", resumed)
	}
	var other Marks // of fewer superpixels, the last of which were not there
	other.Reset(3)
	if other.Resume(&m, []int32{3, 0, -1}); !slices.Equal(other.Fixed, []int32{annotation.Unmarked, 1, annotation.Unmarked}) ||
		!other.Forbids(0, 2) || other.Forbids(2, 2) || !slices.Equal(other.Corrected, []bool{false, true, false}) {
		t.Errorf("resumed by others: %+v", other)
	}
	if resumed.redefine(3); !slices.Equal(resumed.Defined, m.Defined) || resumed.Fixed[2] != annotation.Unmarked || resumed.Fixed[4] != annotation.Unmarked || resumed.Fixed[0] != 1 || len(resumed.Bounded) != 0 {
		t.Errorf("label 3 redefined: %+v", resumed)
	}
}
