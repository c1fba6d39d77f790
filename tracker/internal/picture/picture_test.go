package picture

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// made is a random scene and its projection.
func made(t testing.TB, seed uint64, cols, rows int) (*features.Scene, *features.Projection) {
	t.Helper()
	s := scenetest.Squares(seed, cols, rows, nil)
	p, err := features.FitProjection(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

func TestFeaturesInAllForms(t *testing.T) {
	s, projection := made(t, 1, 9, 7)
	var pool Pool
	p := pool.Make(s, projection, 0.25)
	d := projection.Dim()
	want := projection.Apply(nil, d, s)
	var scales Scales
	scales.Make(p, s, projection)
	shrunk := *s
	shrunk.X = s.Coarse[0]
	small := projection.Apply(nil, d, &shrunk)
	length := func(x []float32) float64 {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum)
	}
	for slot, i := range p.Grid.Order {
		row := want[int(i)*d : int(i+1)*d]
		if got := p.Rows[int(i)*(d+1) : int(i+1)*(d+1)]; !slices.Equal(got[:d], row) || got[d] != Bias {
			t.Fatalf("row %d is %v; want %v and %d", i, got, row, Bias)
		}
		unit := p.UnitAt(slot)
		for k := range p.UnitDim() {
			one, two := 0.0, 0.0
			if k < d {
				one, two = float64(row[k])/length(row), float64(small[int(i)*d+k])/length(small[int(i)*d:int(i+1)*d])
			}
			if math.Abs(float64(unit[k])-one) > 1e-6 || math.Abs(float64(scales.Units[0][slot*p.UnitDim()+k])-two) > 1e-6 {
				t.Fatalf("superpixel %d, number %d: %g and %g; want %g and %g", i, k, unit[k], scales.Units[0][slot*p.UnitDim()+k], one, two)
			}
		}
		if got := p.Cosine(int(i), int(i)); math.Abs(got-1) > 1e-12 {
			t.Errorf("cosine of %d with itself is %g", i, got)
		}
	}
}

// What the grid finds near a point is what a look at all superpixels finds.
func TestNear(t *testing.T) {
	s, projection := made(t, 2, 13, 8)
	var pool Pool
	p := pool.Make(s, projection, 1)
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		x, y := float32(100*r.Float64()-10), float32(80*r.Float64()-10)
		radius := 30 * r.Float64()
		var want, got []int32
		for i := range int32(p.N) {
			dx, dy := p.Centroid[2*i]-x, p.Centroid[2*i+1]-y
			if dx*dx+dy*dy <= float32(radius*radius) {
				want = append(want, i)
			}
		}
		counts, cells := p.Grid.Counts(nil), map[int]bool{}
		p.Grid.Cells(float64(x), float64(y), radius, func(cell, first int) {
			if cells[cell] {
				t.Fatalf("cell %d was visited before", cell)
			}
			cells[cell] = true
			for k, i := range p.Grid.Order[first:][:counts[cell]] {
				if at := p.Grid.Centroid[2*(first+k):][:2]; !slices.Equal(at, p.Centroid[2*i:2*i+2]) {
					t.Fatalf("slot %d is at %v; want %v", first+k, at, p.Centroid[2*i:2*i+2])
				}
				dx, dy := p.Centroid[2*i]-x, p.Centroid[2*i+1]-y
				if dx*dx+dy*dy <= float32(radius*radius) {
					got = append(got, i)
				}
				_, cy := p.Grid.CellAt(p.Centroid[2*i], p.Centroid[2*i+1])
				if away, rows := p.Grid.AwayFrom(cy, float64(y), float64(y)), math.Abs(float64(dy)); away > rows+1e-5 {
					t.Fatalf("superpixel %d is %g rows away; its cell row is %g", i, rows, away)
				}
			}
		})
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("within %g of (%g, %g): %v; want %v", radius, x, y, got, want)
		}
	}
}

func TestEdges(t *testing.T) {
	s, projection := made(t, 3, 5, 4)
	s.Edges[0].Contrast, s.Edges[1].Contrast = 0, 1e6
	var pool Pool
	p := pool.Make(s, projection, 0.25)
	if w := p.Edges[0].W; w != 0.25 {
		t.Errorf("an edge of mean length between like colours weighs %g; want 0.25", w)
	}
	if w := p.Edges[1].W; w > 0.25*1e-6 {
		t.Errorf("an edge between black and white weighs %g; want next to nothing", w)
	}
	for i := range int32(p.N) {
		var want, edges []int32
		for k, e := range p.Edges {
			if e.I == i {
				want, edges = append(want, e.J), append(edges, int32(k))
			} else if e.J == i {
				want, edges = append(want, e.I), append(edges, int32(k))
			}
		}
		if got := p.Touching.EdgesOf(i); !slices.Equal(got, edges) {
			t.Errorf("superpixel %d has edges %v; want %v", i, got, edges)
		}
		if got := p.Touching.Of(i); !slices.Equal(got, want) {
			t.Errorf("superpixel %d touches %v; want %v", i, got, want)
		}
	}
}

// A picture in used memory is one in new memory, a shared one is left alone, and the
// pool allocates nothing once it is warm.
func TestPool(t *testing.T) {
	var pool, other Pool
	a, projection := made(t, 4, 9, 7)
	b, _ := made(t, 5, 6, 5)
	used := pool.Make(a, projection, 1)
	pool.Release(used)
	if got, want := pool.Make(b, projection, 1), other.Make(b, projection, 1); got != used || !reflect.DeepEqual(got, want) {
		t.Error("a picture in the memory of another differs from one in new memory")
	}
	used.Share()
	pool.Release(used)
	if pool.Make(a, projection, 1) == used {
		t.Error("a picture that somebody holds was made anew")
	}
	pool = Pool{}
	var scales Scales
	if n := testing.AllocsPerRun(10, func() {
		p := pool.Make(a, projection, 1)
		scales.Make(p, a, projection)
		pool.Release(p)
	}); n != 0 {
		t.Errorf("%g allocations a picture; want none", n)
	}
}
