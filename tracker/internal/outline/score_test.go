package outline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// mapOf is a map of cells×cells of a picture, of what value says.
func mapOf(width, height, channels int, cell float64, value func(x, y float64, channel int) float64) features.Map {
	m := features.Map{
		Channels: channels, Width: int(math.Ceil(float64(width) / cell)), Height: int(math.Ceil(float64(height) / cell)),
		StrideX: cell, StrideY: cell, OffsetX: (cell - 1) / 2, OffsetY: (cell - 1) / 2,
	}
	for i := range m.Height {
		for j := range m.Width {
			for c := range channels {
				m.Data = append(m.Data, float32(value(m.OffsetX+cell*float64(j), m.OffsetY+cell*float64(i), c)))
			}
		}
	}
	return m
}

// Where colours say nothing the outline is where the classifier says, however wrong it is by
// what is the same on both sides; but one that does not tell superpixels apart has no say.
func TestDrawAsTheClassifierSays(t *testing.T) {
	const border, superpixels, cell = 38, 36, 2
	for _, tt := range []struct {
		name          string
		slope, offset float64 // of the object's score, by the channel that shows it
		want          int
	}{
		{"nothing", 0, 0, superpixels},
		{"right", 40, 0, border},
		{"too high", 40, 100, border},
		{"too low", 40, -100, border},
		{"wrong", -40, 0, superpixels},
	} {
		s := scenetest.Squares(1, cols, rows, func(int, int) [3]float64 { return [3]float64{50, 0, 0} })
		shown := func(x float64) float64 { return min(1, max(0, (x-border+1)/cell)) }
		s.Patches[0].Maps = []features.Map{mapOf(s.Width, s.Height, 4, cell, func(x, _ float64, c int) float64 {
			if c == 1 && x >= border {
				return 1
			}
			return 0
		})}
		for i := range s.N {
			for x := i % cols * scenetest.Side; x < (i%cols+1)*scenetest.Side; x++ {
				s.X[i*s.D+1] += float32(shown(float64(x)+0.5)) / scenetest.Side
			}
		}
		p, projection := pictureOf(t, s)
		y := make([]int32, p.N)
		for i := range y {
			if i%cols*scenetest.Side >= superpixels {
				y[i] = 1
			}
		}
		raw, unit := make([]float32, s.D), make([]float64, p.Dim)
		unit[1] = 1
		constant := projection.Fold(raw, unit)
		c := Classifier{Projection: projection}
		for l := range 2 { // the background's score falls as the object's rises
			row := make([]float64, p.Dim+1)
			row[1] = float64(2*l-1) * tt.slope / float64(raw[1])
			row[p.Dim] = (tt.offset*float64(l) - row[1]*constant - float64(2*l-1)*tt.slope/2) / picture.Bias
			c.Rows = append(c.Rows, row...)
		}
		var d Drawer
		if err := d.Draw(t.Context(), p, y, 2, c, nil); err != nil {
			t.Fatal(err)
		}
		for at, l := range d.Labels() {
			if x := at % p.Width; (l == 1) != (x >= tt.want) {
				t.Errorf("%s: pixel (%d, %d) has label %d; want the border at %d", tt.name, x, at/p.Width, l, tt.want)
				break
			}
		}
	}
}

// A pixel's scores are those of what the maps show there, projected.
func TestScoreAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const width, height = 60, 42
	for dims, coarse := range map[int]float64{0: 7, 5: 100} { // the map of 100 is one cell
		fit := &features.Scene{N: 40, D: 9, Maps: []int{4, 2}}
		for range fit.N * fit.D {
			fit.X = append(fit.X, float32(10*r.NormFloat64()+5))
		}
		projection, err := features.FitProjection(fit, dims)
		if err != nil {
			t.Fatal(err)
		}
		random := func(float64, float64, int) float64 { return r.NormFloat64() }
		p := features.Patch{Shrink: 2, Cols: 20, Rows: 15, Maps: []features.Map{
			mapOf(width, height, 4, 4, random), mapOf(width, height, 2, coarse, random),
		}}
		p.Min.X, p.Min.Y = 11, 6
		for range 3 * p.Cols * p.Rows {
			p.Pixels = append(p.Pixels, int16(r.IntN(6000)))
		}
		dim := projection.Dim()
		c := Classifier{Projection: projection}
		for range 3 * (dim + 1) {
			c.Rows = append(c.Rows, r.NormFloat64())
		}
		var s scorer
		s.learn(c)
		s.reset(&p)
		if !s.ready {
			t.Fatal("the maps are not those of the classifier")
		}
		for _, labels := range [][]uint8{{0, 2}, {0, 1, 2}, {1, 2, 3}} {
			s.next()
			for index := range p.Cols * p.Rows {
				x, y := 11+2*float64(index%p.Cols)+0.5, 6+2*float64(index/p.Cols)+0.5
				one := features.Scene{N: 1, D: 9}
				for k := range p.Maps {
					for channel := range p.Maps[k].Channels {
						one.X = append(one.X, float32(interpolated(&p.Maps[k], channel, x, y)))
					}
				}
				for k := range 3 {
					one.X = append(one.X, float32(p.Pixels[3*index+k])/features.LabUnit)
				}
				z := projection.Apply(nil, dim, &one)
				got := s.at(&p, index, labels)
				most := math.Inf(-1)
				for l := range slices.Backward(labels) {
					label := labels[l]
					want := -1.0 // not known
					switch {
					case label == 0:
						want = -most
					case label < 3:
						w := c.Rows[int(label)*(dim+1):]
						want = picture.Bias * w[dim]
						for k, v := range z {
							want += float64(v) * w[k]
						}
					}
					most = max(most, want)
					if math.Abs(float64(got[l])-want) > 1e-3*(1+math.Abs(want)) {
						t.Fatalf("%d dimensions, pixel %d, label %d: score %v, want %v", dim, index, label, got[l], want)
					}
				}
			}
		}
		p.Maps = p.Maps[:1]
		if s.reset(&p); s.ready {
			t.Error("ready for other maps")
		}
	}
}

// The background scores as little as the likeliest object scores much, of those that are there.
func TestBackgroundsScore(t *testing.T) {
	s := scorer{known: 3, says: []bool{true, true, true}, whole: []float32{9, 9, 2, 1, -1, 3}}
	f := scene{Picture: &picture.Picture{Dim: 1, Rows: []float32{1, 2}}}
	for _, tt := range []struct {
		groups []group
		label  uint8
		want   float32
	}{
		{[]group{{label: 0}, {label: 1}}, 0, -4}, {[]group{{label: 2}, {label: 0}, {label: 1}}, 0, -5},
		{[]group{{label: 0}, {label: 1}}, 1, 4}, {[]group{{label: 0}, {label: 3}}, 3, -1},
	} {
		if got := s.of(f, 0, tt.label, tt.groups); got != tt.want {
			t.Errorf("label %d among %v: %v; want %v", tt.label, tt.groups, got, tt.want)
		}
	}
}

// However large, a classifier's scores stay within what a cut may weigh, and what is no number
// says that a pixel is nothing.
func TestScoresOfAnySize(t *testing.T) {
	for _, v := range []float64{1e30, -1e30, math.Inf(1), math.NaN()} {
		for _, labels := range [][3]int32{{0, 1, 0}, {1, 0, 2}} {
			p, _, y := panes(t, 3, 9, labels)
			p.Patches[0].Maps = []features.Map{mapOf(p.Width, p.Height, 4, 4, func(float64, float64, int) float64 { return v })}
			projection, err := features.FitProjection(scenetest.Squares(1, cols, rows, nil), 0)
			if err != nil {
				t.Fatal(err)
			}
			n := int(1 + slices.Max(y))
			c := Classifier{Projection: projection}
			for k := range n * (projection.Dim() + 1) {
				c.Rows = append(c.Rows, float64(k%3-1))
			}
			var d Drawer
			if err := d.Draw(t.Context(), p, y, n, c, nil); err != nil {
				t.Errorf("%v: %v", v, err)
			}
			if !d.scorer.ready {
				t.Error("the classifier says nothing")
			}
		}
	}
}

// interpolated is a channel of a map at a place, between the four cells around it.
func interpolated(m *features.Map, channel int, x, y float64) float64 {
	fx := min(max((x-m.OffsetX)/m.StrideX, 0), float64(m.Width-1))
	fy := min(max((y-m.OffsetY)/m.StrideY, 0), float64(m.Height-1))
	at := func(i, j float64) float64 {
		return float64(m.Data[(int(min(i, float64(m.Height-1)))*m.Width+int(min(j, float64(m.Width-1))))*m.Channels+channel])
	}
	x0, y0 := math.Floor(fx), math.Floor(fy)
	a, b := fx-x0, fy-y0
	return (1-b)*((1-a)*at(y0, x0)+a*at(y0, x0+1)) + b*((1-a)*at(y0+1, x0)+a*at(y0+1, x0+1))
}

// With several parts and a classifier, too, the second picture takes no memory.
func TestScoreAllocatesNothing(t *testing.T) {
	p, _, y := panes(t, 7, 9, [3]int32{1, 0, 2})
	p.Patches[0].Maps = []features.Map{mapOf(p.Width, p.Height, 4, 4, func(x, y float64, _ int) float64 { return x - y })}
	projection, err := features.FitProjection(scenetest.Squares(1, cols, rows, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := Classifier{Rows: slices.Repeat([]float64{0.1}, 3*(projection.Dim()+1)), Projection: projection}
	var d Drawer
	draw := func() {
		if err := d.Draw(t.Context(), p, y, 3, c, nil); err != nil {
			t.Fatal(err)
		}
	}
	if draw(); !d.scorer.ready {
		t.Fatal("the classifier says nothing")
	}
	if n := testing.AllocsPerRun(10, draw); n != 0 {
		t.Errorf("%g allocations a picture; want none", n)
	}
}
