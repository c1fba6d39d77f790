package seed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/picture"
)

// boxOn is the search in a box of superpixels on p, of which nothing else is said.
func boxOn(p *picture.Picture, r rect) *boxed {
	m := &Marks{}
	m.Reset(p.N)
	m.Bounded, m.outside = []int32{1}, make([]bool, p.N)
	for i := range p.N {
		m.outside[i] = !r.has(i)
	}
	w := &work{Seeder: &Seeder{before: make([]int32, p.N)}, Picture: p, pixels: p.Map(), Marks: m}
	return w.newBoxed(1, []float64{float64(r.x0 * side), float64(r.y0 * side), float64(r.x1 * side), float64(r.y1 * side)})
}

// One component of a mixture is the Gaussian that its colours have, and the energy −log of
// its density but for the constant.
func TestMixture(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	kinds := []colour{{20, 5, 5}, {80, -30, 10}, {50, 40, -40}}
	var colours []colour
	for k := range 3000 {
		c := kinds[k%3]
		for d := range c {
			c[d] += 2 * r.NormFloat64()
		}
		colours = append(colours, c)
	}
	var m mixture
	m.fit(colours, false)
	for _, c := range kinds {
		e, k := m.energy(c)
		if math.Sqrt(c.squared(m.mean[k])) > 3 {
			t.Errorf("the likeliest component of %v is at %v", c, m.mean[k])
		}
		if far, _ := m.energy(colour{c[0] + 25, c[1], c[2]}); far < e+3 {
			t.Errorf("energy %g at %v, %g 25 away", e, c, far)
		}
	}
	sum := 0.0
	for _, s := range m.share {
		sum += math.Exp(s)
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("shares sum to %g", sum)
	}
	// The inverse is one: of two colours that differ along a diagonal, by the closed form.
	var two mixture
	two.estimate([]colour{{1, 1, 0}, {-1, -1, 0}}, []int8{0, 0})
	g := grain * grain
	det := ((1+g)*(1+g) - 1) * g
	want := [6]float64{(1 + g) * g / det, -g / det, 0, (1 + g) * g / det, 0, 1 / g}
	for k, v := range two.inverse[0] {
		if math.Abs(v-want[k]) > 1e-12 || math.Abs(two.logDet[0]-math.Log(det)) > 1e-12 {
			t.Fatalf("inverse %v, log determinant %g; want %v, %g", two.inverse[0], two.logDet[0], want, math.Log(det))
		}
	}
}

// The cut follows colours across superpixels, where their odds are wrong for a part.
func TestCellsFollowColours(t *testing.T) {
	object := rect{4, 3, 10, 8}
	p := scene(t, object)
	b := boxOn(p, rect{3, 2, 11, 9})
	odds, share := make([]float64, p.N), make([]float64, p.N)
	for _, i := range b.in {
		odds[i] = -1
		if (rect{4, 3, 10, 6}).has(i) { // the rest of the object is taken for floor, if not surely
			odds[i] = 1
		}
	}
	if err := b.cells().refine(t.Context(), odds, share); err != nil {
		t.Fatal(err)
	}
	for _, i := range b.in {
		if want := object.has(i); (share[i] > 0.5) != want {
			t.Errorf("superpixel %d: %.2f of it; want the object %t", i, share[i], want)
		}
	}
}

// What goes on outside the box along all of a side is left soon, what is enclosed late; and
// the way out of the enclosed is longer.
func TestWaysOut(t *testing.T) {
	object := rect{4, 3, 10, 8}
	p := scene(t, object)
	b := boxOn(p, rect{3, 2, 11, 9})
	s := b.survey()
	inside, floor := 5*cols+6, 2*cols+6
	for c, time := range s.absorbed {
		if !(time[inside] > time[floor]+0.5) {
			t.Errorf("walk %d stays %g in the object, %g on the floor", c, time[inside], time[floor])
		}
	}
	if !(s.way[inside] > s.way[floor]) || !(s.colourWay[inside] > s.colourWay[floor]) {
		t.Errorf("ways from outside %g and %g to the object; %g and %g to the floor", s.way[inside], s.colourWay[inside], s.way[floor], s.colourWay[floor])
	}
	if !(s.surprise[0][inside] > s.surprise[0][floor]+3) || !(s.surprise[1][inside] > s.surprise[1][floor]) {
		t.Errorf("the object's colours surprise by %g, %g; the floor's by %g, %g", s.surprise[0][inside], s.surprise[1][inside], s.surprise[0][floor], s.surprise[1][floor])
	}
}

// Cues are numbers, wherever the box is, and the same bits for the same picture.
func TestCues(t *testing.T) {
	p := scene(t, rect{4, 3, 10, 8})
	for _, r := range []rect{{3, 2, 11, 9}, {0, 0, cols, rows}, {15, 11, 16, 12}, {0, 4, 1, 9}} {
		got := boxOn(p, r).cues()
		for k, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%v: cue %d of superpixel %d is %g", r, k%cueInputs, k/cueInputs, v)
			}
		}
		if again := boxOn(p, r).cues(); !slices.Equal(got, again) {
			t.Errorf("%v: two descriptions", r)
		}
	}
}

// The averages are those of the superpixels in the box that touch.
func TestCuesOfNeighbours(t *testing.T) {
	p := scene(t, rect{4, 3, 10, 8})
	b := boxOn(p, rect{3, 2, 11, 9})
	rows := b.cues()
	at := func(i int) []float64 { k := slices.Index(b.in, i); return rows[k*cueInputs : (k+1)*cueInputs] }
	corner, right, below := 2*cols+3, 2*cols+4, 3*cols+3
	for c := range cueLooks {
		want := (at(right)[cuePlace+c] + at(below)[cuePlace+c]) / 2
		if got := at(corner)[cueOwn+c]; math.Abs(got-want) > 1e-12 {
			t.Errorf("cue %d: %g round the corner; want %g", c, got, want)
		}
	}
}

// BoxCues are those that the search has of the same box.
func TestBoxCues(t *testing.T) {
	p := scene(t, rect{4, 3, 10, 8})
	for name, r := range map[string]rect{"around": {3, 2, 11, 9}, "whole picture": {0, 0, cols, rows}, "one": {15, 11, 16, 12}} {
		b := boxOn(p, r)
		in, rows := BoxCues(p, b.box)
		if !slices.Equal(in, b.in) || !slices.Equal(rows, b.cues()) || len(rows) != len(in)*BoxUnits[0] {
			t.Errorf("%s: %d superpixels and %d cues; want the %d of the search and theirs", name, len(in), len(rows), len(b.in))
		}
	}
}

// A speck of something else beside the object, which goes on outside, is not it: neither
// where the box is tight nor where a side is off.
func TestBoxLeavesWhatGoesOnOutside(t *testing.T) {
	object := rect{5, 3, 9, 9}
	p := scene(t, object, rect{0, 10, cols, rows})
	for name, r := range map[string]rect{"tight": {5, 3, 9, 9}, "large": {4, 3, 10, 9}, "over another's rim": {4, 3, 9, 11}} {
		box := []float64{float64(r.x0 * side), float64(r.y0 * side), float64(r.x1 * side), float64(r.y1 * side)}
		a := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Box: box}}}
		s := apply(t, p, nil, 2, a, Object{Label: 1, Defined: true})
		both, either := 0, 0
		for i, l := range s.y {
			if l == 1 && object.has(i) {
				both++
			}
			if l == 1 || object.has(i) {
				either++
			}
		}
		if j := float64(both) / float64(either); j < 0.8 { // the boxes have 1, 0.67 and 0.6
			t.Errorf("%s: J %.2f", name, j)
		}
	}
}

// Of many cells a part is learnt from, of few all, and each side has some.
func TestSample(t *testing.T) {
	const few = 100
	c := &cells{colours: make([]colour, 5*cellColours), object: make([]int32, 5*cellColours)}
	for k := range few {
		c.object[k*7] = 1
	}
	for k := range c.colours {
		c.colours[k][0] = float64(c.object[k])
	}
	sides := c.sample()
	if n := len(sides[0]); n < cellColours/2 || n > cellColours || len(sides[1]) != few {
		t.Errorf("%d and %d colours; want up to %d, and %d", n, len(sides[1]), cellColours, few)
	}
	for side, colours := range sides {
		for _, c := range colours {
			if c[0] != float64(side) {
				t.Fatalf("a colour of side %v is one of side %d", c[0], side)
			}
		}
	}
}
