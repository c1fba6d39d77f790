package outline

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
)

const cols, rows = 12, 10

// pictureOf is a scene as a picture, and the projection that its features went through.
func pictureOf(t testing.TB, s *features.Scene) (*picture.Picture, *features.Projection) {
	t.Helper()
	projection, err := features.FitProjection(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	return pool.Make(s, projection, 0.25), projection
}

// disc is a white disc on black, and the superpixels that are mostly it.
func disc(t *testing.T) (p *picture.Picture, truth []uint8, y []int32) {
	t.Helper()
	inside := func(x, y int) bool { return math.Hypot(float64(x)-35, float64(y)-31) < 19.5 }
	s := scenetest.Squares(1, cols, rows, func(x, y int) [3]float64 {
		if inside(x, y) {
			return [3]float64{90, 0, 0}
		}
		return [3]float64{10, 0, 0}
	})
	p, _ = pictureOf(t, s)
	count := make([]int, p.N)
	truth, y = make([]uint8, p.Width*p.Height), make([]int32, p.N)
	for at, i := range p.Patches[0].Labels {
		if inside(at%p.Width, at/p.Width) {
			truth[at] = 1
			count[i]++
		}
	}
	for i, n := range count {
		if 2*n > int(p.Area[i]) {
			y[i] = 1
		}
	}
	return p, truth, y
}

func TestDrawFollowsThePixels(t *testing.T) {
	var d Drawer
	for range 2 { // the second time in the same memory
		p, want, y := disc(t)
		if err := d.Draw(t.Context(), p, y, 2, Classifier{}, nil); err != nil {
			t.Fatal(err)
		}
		got, area := d.Mask(p, y, 1)
		differ := 0
		for at, b := range got.Decode(nil) {
			if b != want[at] {
				differ++
			}
		}
		if differ > 4 || area != got.Area() {
			t.Errorf("%d pixels differ, area %d of %d", differ, area, got.Area())
		}
	}
}

// A pixel that is a little more like the other side stays with those around it.
func TestDrawIsSmooth(t *testing.T) {
	s := scenetest.Squares(1, cols, rows, func(x, y int) [3]float64 {
		switch {
		case x >= 36:
			return [3]float64{60, 0, 0}
		case x%3 == 1 && y%3 == 1:
			return [3]float64{52, 0, 0}
		}
		return [3]float64{40, 0, 0}
	})
	p, _ := pictureOf(t, s)
	y := make([]int32, p.N)
	for i := range y {
		if i%cols >= 6 {
			y[i] = 1
		}
	}
	var d Drawer
	if err := d.Draw(t.Context(), p, y, 2, Classifier{}, nil); err != nil {
		t.Fatal(err)
	}
	for at, l := range d.pixels {
		if (l == 1) != (at%p.Width >= 36) {
			t.Errorf("pixel (%d, %d) is %d", at%p.Width, at/p.Width, l)
		}
	}
}

// panes is a picture in vertical thirds of three colours, and superpixels between them that are
// of either: labels are those of the thirds.
func panes(t testing.TB, cols, rows int, labels [3]int32) (p *picture.Picture, truth []uint8, y []int32) {
	t.Helper()
	third := func(x int) int { return min(2, 3*x/(cols*scenetest.Side+1)) }
	s := scenetest.Squares(1, cols, rows, func(x, _ int) [3]float64 {
		return [3]float64{20 + 30*float64(third(x)), 0, 0}
	})
	p, _ = pictureOf(t, s)
	truth, y = make([]uint8, p.Width*p.Height), make([]int32, p.N)
	for at := range truth {
		truth[at] = uint8(labels[third(at%p.Width)])
	}
	for i := range y {
		y[i] = labels[third(i%cols*scenetest.Side+scenetest.Side/2)]
	}
	return p, truth, y
}

// Where three labels meet in one band, as where two do, and whatever the labels are called.
func TestDrawSeveral(t *testing.T) {
	var d Drawer
	for _, labels := range [][3]int32{{1, 0, 1}, {0, 1, 2}, {3, 0, 1}, {2, 3, 1}, {1, 1, 0}} {
		p, want, y := panes(t, 7, 9, labels) // thirds of 14 pixels; bands are 6 wide
		if err := d.Draw(t.Context(), p, y, 4, Classifier{}, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Labels(), want) {
			t.Errorf("labels %v: other pixels", labels)
		}
	}
	// One band of all three.
	p, want, y := panes(t, 3, 9, [3]int32{1, 0, 2})
	if err := d.Draw(t.Context(), p, y, 3, Classifier{}, nil); err != nil {
		t.Fatal(err)
	}
	if len(d.firsts) != 2 || len(d.set) != 3 {
		t.Fatalf("%d parts, of labels %v; want one of three", len(d.firsts)-1, d.set)
	}
	if !slices.Equal(d.Labels(), want) {
		t.Errorf("three labels in one band: other pixels")
	}
}

// A part of two labels is cut as it would be with more to choose from.
func TestDrawOfMoreLabels(t *testing.T) {
	p, _, y := disc(t)
	var two, more Drawer
	if err := two.Draw(t.Context(), p, y, 2, Classifier{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := more.Draw(t.Context(), p, y, 5, Classifier{}, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(two.Labels(), more.Labels()) {
		t.Error("labels that no superpixel has change the outline")
	}
}

func TestDrawAllocatesNothing(t *testing.T) {
	for _, labels := range [][3]int32{{0, 1, 0}, {1, 0, 2}} {
		p, _, y := panes(t, 3, 9, labels)
		var d Drawer
		draw := func() {
			if err := d.Draw(t.Context(), p, y, int(1+slices.Max(y)), Classifier{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		draw()
		if n := testing.AllocsPerRun(10, draw); n != 0 {
			t.Errorf("labels %v: %g allocations a picture; want none", labels, n)
		}
	}
}

// BenchmarkDraw is a disc in a picture of 852×480, of noise, with and without a classifier of 64
// channels at every fourth pixel.
func BenchmarkDraw(b *testing.B) {
	const cols, rows = 142, 80
	inside := func(x, y int) bool { return math.Hypot(float64(x)-400, float64(y)-230) < 120 }
	r := rand.New(rand.NewPCG(1, 1))
	s := scenetest.Squares(1, cols, rows, func(x, y int) [3]float64 {
		l := 40 + 8*r.NormFloat64()
		if inside(x, y) {
			l += 20
		}
		return [3]float64{l, 0, 0}
	})
	s.Patches[0].Spacing = 14
	s.Maps, s.D, s.X = []int{64}, 67, nil
	for range s.N * s.D {
		s.X = append(s.X, float32(r.NormFloat64()))
	}
	s.Patches[0].Maps = []features.Map{mapOf(s.Width, s.Height, 64, 4, func(float64, float64, int) float64 { return r.NormFloat64() })}
	p, projection := pictureOf(b, s)
	known := Classifier{Projection: projection}
	for range 2 * (projection.Dim() + 1) {
		known.Rows = append(known.Rows, 0.1*r.NormFloat64())
	}
	y := make([]int32, p.N)
	for i := range y {
		if inside(i%cols*scenetest.Side+3, i/cols*scenetest.Side+3) {
			y[i] = 1
		}
	}
	for name, c := range map[string]Classifier{"colours": {}, "classifier": known} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var d Drawer
			for b.Loop() {
				if err := d.Draw(b.Context(), p, y, 2, c, nil); err != nil {
					b.Fatal(err)
				}
				d.Mask(p, y, 1)
			}
		})
	}
}

func TestOverrule(t *testing.T) {
	p, _, y := disc(t)
	var d Drawer
	if err := d.Draw(t.Context(), p, y, 3, Classifier{}, nil); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(d.pixels)
	marks := slices.Repeat([]int16{annotation.Unmarked}, len(before))
	in, out := slices.Index(before, 1), slices.Index(before, 0)
	marks[in], marks[in+1], marks[in+2] = 0, 2, annotation.Outside
	marks[out], marks[out+1] = 1, annotation.Outside
	d.Overrule(marks, []uint8{0, 1, 2})
	for at, l := range []uint8{0, 2, 0} {
		if d.pixels[in+at] != l {
			t.Errorf("pixel %d of the object, marked %d, is %d; want %d", at, marks[in+at], d.pixels[in+at], l)
		}
	}
	if d.pixels[out] != 1 || d.pixels[out+1] != 0 {
		t.Errorf("marked pixels of the background are %v; want 1 and 0", d.pixels[out:out+2])
	}
	for at, m := range marks {
		if m == annotation.Unmarked && d.pixels[at] != before[at] {
			t.Fatalf("pixel %d was not marked, and changed", at)
		}
	}
	// What is outside one object may be another, of which nothing is said.
	d.pixels[in+2] = 2
	d.Overrule(marks, []uint8{0, 1, 0})
	if d.pixels[in+2] != 2 {
		t.Error("outside an object's bounds another one was taken away")
	}
}

// An object that lost all its pixels has those of its superpixels.
func TestMaskOfWhatIsThin(t *testing.T) {
	p, _, y := disc(t)
	var d Drawer
	if err := d.Draw(t.Context(), p, y, 2, Classifier{}, nil); err != nil {
		t.Fatal(err)
	}
	clear(d.pixels)
	want := 0
	for i, l := range y {
		want += int(l) * int(p.Area[i])
	}
	if m, area := d.Mask(p, y, 1); area != want || m.Area() != want {
		t.Errorf("area %d, of the mask %d; want %d", area, m.Area(), want)
	}
	if m, area := d.Mask(p, y, 2); area != 0 || m.Area() != 0 {
		t.Errorf("an object that is not there: %d pixels, %d in the mask", area, m.Area())
	}
}

func TestBandIsAlongTheOutline(t *testing.T) {
	const w, h = 23, 7
	const edge = 11
	p := &features.Patch{Cols: w, Rows: h, Labels: make([]int32, w*h), Pixels: make([]int16, 3*w*h)}
	for row := range h {
		for x := edge; x < w; x++ {
			p.Labels[row*w+x] = 1
		}
	}
	p.Labels[3*w+edge+2] = features.Unseen
	var f field
	f.begin(p, image.Rect(0, 0, w, h), []uint8{0, 0, 1})
	f.findBand(2)
	var band []int32
	for row := range h {
		for x := range w {
			want := uint8(0)
			switch {
			case row == 3 && x == edge+2:
				want = unseen
			case x == edge-1 || x == edge, abs(row-3)+abs(x-edge-2) == 1:
				want = 1
			case x == edge-2 || x == edge+1, abs(row-3)+abs(x-edge-2) == 2:
				want = 2
			}
			at := (row+1)*f.stride + x + 1
			if f.depth[at] != want {
				t.Errorf("depth %d at (%d, %d); want %d", f.depth[at], x, row, want)
			}
			if want == 1 || want == 2 {
				if n := len(band); n < len(f.at) && f.at[n] != int32(row*w+x) {
					t.Errorf("pixel %d of the band is %d of the patch; want %d", n, f.at[n], row*w+x)
				}
				band = append(band, int32(at))
			}
		}
	}
	if !slices.Equal(f.band, band) {
		t.Errorf("the band is %v; want %v", f.band, band)
	}
}

// Parts are what a flood fill finds, in the order of their first pixels.
func TestFindParts(t *testing.T) {
	const w, h = 40, 30
	r := rand.New(rand.NewPCG(4, 4))
	var d Drawer // its memory is used again
	d.stride = w + 2
	for _, dense := range []float64{0, 0.3, 0.55, 0.7, 1} {
		d.band = d.band[:0]
		at := map[int32]int{}
		for y := range h {
			for x := range w {
				if r.Float64() < dense {
					p := int32((y+1)*d.stride + x + 1)
					at[p] = len(d.band)
					d.band = append(d.band, p)
				}
			}
		}
		var want [][]int32
		seen := make([]bool, len(d.band))
		for k := range d.band {
			if seen[k] {
				continue
			}
			seen[k] = true
			part := []int32{int32(k)}
			for n := 0; n < len(part); n++ {
				for _, o := range []int32{-1, 1, -int32(d.stride), int32(d.stride)} {
					if q, in := at[d.band[part[n]]+o]; in && !seen[q] {
						seen[q] = true
						part = append(part, int32(q))
					}
				}
			}
			slices.Sort(part)
			want = append(want, part)
		}
		d.findParts()
		var got [][]int32
		for c := range len(d.firsts) - 1 {
			got = append(got, slices.Clone(d.order[d.firsts[c]:d.firsts[c+1]]))
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%g of the pixels: parts %v; want %v", dense, got, want)
		}
	}
}

// In its box a part has the pixels beside each other that are so in the patch, and nothing at the box's sides.
func TestFit(t *testing.T) {
	var d Drawer
	d.stride = 50
	for _, places := range [][]int32{{51}, {103, 104, 153, 203, 204, 205}, {148, 1051, 1052, 1102}} {
		d.places = places
		width, height := d.fit()
		left, right := 49, 0
		for _, p := range places {
			left, right = min(left, int(p)%50), max(right, int(p)%50)
		}
		if rows := int(places[len(places)-1]/50 - places[0]/50); width != right-left+3 || height != rows+3 {
			t.Errorf("%v: a box of %d×%d; want %d×%d", places, width, height, right-left+3, rows+3)
		}
		for m, p := range places {
			x, y := int(p)%50-left+1, int(p/50-places[0]/50)+1
			if got := int(d.inBox[m]); got != y*width+x {
				t.Errorf("%v: pixel %d is %d; want %d", places, p, got, y*width+x)
			}
		}
	}
}

func abs(v int) int { return max(v, -v) }

// Where colours do not tell, an outline is where a mask head sees it, as far as the band reaches; also among several labels.
func TestDrawFollowsTheMaskHead(t *testing.T) {
	p, _ := pictureOf(t, scenetest.Squares(1, cols, rows, func(int, int) [3]float64 { return [3]float64{40, 0, 0} }))
	y := make([]int32, p.N)
	for i := range y {
		if i%cols >= 6 {
			y[i] = 1
		}
	}
	sees := func(edge int) *features.Grid {
		g := &features.Grid{X1: float64(p.Width), Y1: float64(p.Height), Cols: p.Width, Rows: p.Height}
		for range p.Height {
			for x := range p.Width {
				logit := float32(-3)
				if x >= edge {
					logit = 3
				}
				g.Logits = append(g.Logits, logit)
			}
		}
		return g
	}
	for _, tt := range []struct {
		grids      []*features.Grid
		labels, at int
	}{
		{nil, 2, 36}, {[]*features.Grid{nil}, 2, 36}, {[]*features.Grid{nil, nil}, 2, 36},
		{[]*features.Grid{nil, sees(34)}, 2, 34}, {[]*features.Grid{nil, sees(38)}, 2, 38}, {[]*features.Grid{nil, sees(38)}, 3, 38},
	} {
		var d Drawer
		if err := d.Draw(t.Context(), p, y, tt.labels, Classifier{}, tt.grids); err != nil {
			t.Fatal(err)
		}
		for at, l := range d.pixels {
			if (l == 1) != (at%p.Width >= tt.at) {
				t.Fatalf("%d grids, %d labels: pixel (%d, %d) is %d; want 1 from %d on", len(tt.grids), tt.labels, at%p.Width, at/p.Width, l, tt.at)
			}
		}
	}
}

// What a mask head says is no number where a network failed; it does not end the picture.
func TestDrawWithoutNumbers(t *testing.T) {
	p, _, y := disc(t)
	g := &features.Grid{X1: float64(p.Width), Y1: float64(p.Height), Cols: 1, Rows: 1, Logits: []float32{float32(math.NaN())}}
	var d Drawer
	if err := d.Draw(t.Context(), p, y, 2, Classifier{}, []*features.Grid{nil, g}); err != nil {
		t.Error(err)
	}
}
