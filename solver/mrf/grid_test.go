package mrf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// cutting is a problem for a Grid.
type cutting struct {
	width, height               int
	part, terminal, right, down []int32
}

// cuttings draws one of a share of a picture's pixels.
func cuttings(r *rand.Rand, width, height int, share float64, most int32) *cutting {
	c := &cutting{width: width, height: height}
	in := make([]bool, width*height)
	for y := 1; y+1 < height; y++ {
		for x := 1; x+1 < width; x++ {
			in[y*width+x] = r.Float64() < share
		}
	}
	value := func(ok bool) int32 {
		if !ok || r.IntN(4) == 0 {
			return 0
		}
		return r.Int32N(most + 1)
	}
	for p, ok := range in {
		if ok {
			c.part = append(c.part, int32(p))
			c.terminal = append(c.terminal, 2*(value(true)-value(true))) //nolint:staticcheck // two numbers
			c.right, c.down = append(c.right, value(in[p+1])), append(c.down, value(in[p+width]))
		}
	}
	for k := range c.terminal {
		c.terminal[k] = min(max(c.terminal[k], -MaxGridCapacity), MaxGridCapacity)
	}
	return c
}

// sparse is the same problem for a Cut.
func (c *cutting) sparse() *Cut {
	node := make(map[int32]int32)
	for k, p := range c.part {
		node[p] = int32(k)
	}
	var edges []Edge
	for k, p := range c.part {
		if c.right[k] > 0 {
			edges = append(edges, Edge{int32(k), node[p+1], float64(c.right[k])})
		}
		if c.down[k] > 0 {
			edges = append(edges, Edge{int32(k), node[p+int32(c.width)], float64(c.down[k])})
		}
	}
	cut := new(Cut)
	cut.Reset(len(c.part), edges)
	for k, t := range c.terminal {
		cut.SetTerminal(k, float64(t))
	}
	return cut
}

func (c *cutting) solve(g *Grid) bool {
	done, err := g.Cut(context.Background(), c.width, c.height, c.part, c.terminal, c.right, c.down)
	return done && err == nil
}

// The smallest source side is unique, so both find the same, one problem after another.
func TestGridAgainstCut(t *testing.T) {
	var g Grid
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 11))
		most := []int32{1, 3, 50, MaxGridCapacity / 2}[seed%4]
		c := cuttings(r, 3+r.IntN(30), 3+r.IntN(30), []float64{1, 0.7}[seed/4%2], most)
		cut := c.sparse()
		cut.Solve(t.Context())
		if !c.solve(&g) {
			t.Fatal("stopped without being told to")
		}
		for k, p := range c.part {
			if g.Source(p) != cut.Source(k) {
				t.Fatalf("seed %d: pixel %d of %d×%d is on another side than by a cut of the sparse graph", seed, p, c.width, c.height)
			}
		}
	}
}

// The stamps run out only in a cut that is far longer than a test may be.
func TestGridWornOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 12))
	c := cuttings(r, 40, 30, 1, 100)
	cut := c.sparse()
	cut.Solve(t.Context())
	var g Grid
	g.load(c.width, c.height, c.part, c.terminal)
	g.link(c.part, c.right, c.down)
	g.plant()
	g.time = math.MaxInt32 - 3
	for _, p := range g.part {
		if q := &g.pixels[p]; q.tree != free {
			q.time = g.time
		}
	}
	g.maximise(t.Context())
	if g.time > math.MaxInt32/2 {
		t.Error("the stamps did not run out")
	}
	for k, p := range c.part {
		if g.Source(p) != cut.Source(k) {
			t.Fatalf("pixel %d is on another side", p)
		}
	}
}

func TestGridStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var g Grid
	c := cuttings(rand.New(rand.NewPCG(1, 13)), 100, 100, 1, 100)
	if done, err := g.Cut(ctx, c.width, c.height, c.part, c.terminal, c.right, c.down); done || err != nil {
		t.Errorf("cut is %v, %v after the context's end; want false", done, err)
	}
}

func TestGridRefuses(t *testing.T) {
	for _, test := range []struct {
		name                        string
		part, terminal, right, down []int32
		says                        string
	}{
		{"first row", []int32{2}, []int32{1}, []int32{0}, []int32{0}, "pixel 2 of 4×4"},
		{"last row", []int32{13}, []int32{1}, []int32{0}, []int32{0}, "pixel 13"},
		{"twice", []int32{5, 5}, []int32{1, 1}, []int32{0, 0}, []int32{0, 0}, "given twice"},
		{"terminal", []int32{5}, []int32{MaxGridCapacity + 1}, []int32{0}, []int32{0}, "terminal capacity of"},
		{"negative edge", []int32{5, 6}, []int32{1, 1}, []int32{-1, 0}, []int32{0, 0}, "edges of -1"},
		{"edge to nowhere", []int32{5}, []int32{1}, []int32{0}, []int32{3}, "edges of 0 to the right and 3 down"},
		{"capacities missing", []int32{5}, nil, []int32{0}, []int32{0}, "0 terminal capacities"},
		{"edges missing", []int32{5}, []int32{1}, []int32{0}, nil, "0 down for 1 pixels"},
		{"negative", []int32{-5}, []int32{1}, []int32{0}, []int32{0}, "pixel -5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var g Grid
			done, err := g.Cut(t.Context(), 4, 4, test.part, test.terminal, test.right, test.down)
			if done || !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("cut is %v, %v; want ErrInput with %q", done, err, test.says)
			}
			// What it had taken in is gone.
			if done, err := g.Cut(t.Context(), 4, 4, []int32{5, 6}, []int32{3, -2}, []int32{1, 0}, []int32{0, 0}); !done || err != nil || !g.Source(5) || g.Source(6) {
				t.Errorf("afterwards: %v, %v", done, err)
			}
		})
	}
	for _, size := range [][2]int{{0, 4}, {4, -1}, {1 << 20, 1 << 20}} {
		if done, err := new(Grid).Cut(t.Context(), size[0], size[1], nil, nil, nil, nil); done || !errors.Is(err, ErrInput) {
			t.Errorf("a picture of %v: %v, %v; want ErrInput", size, done, err)
		}
	}
	if new(Grid).Source(3) || new(Grid).Source(-1) {
		t.Error("a pixel that there is not is on the source's side")
	}
}

func TestGridAllocatesNothing(t *testing.T) {
	c := cuttings(rand.New(rand.NewPCG(5, 14)), 60, 50, 0.9, 100)
	var g Grid
	c.solve(&g)
	if n := testing.AllocsPerRun(10, func() { c.solve(&g) }); n != 0 {
		t.Errorf("%g allocations a cut; want none", n)
	}
}

// BenchmarkGrid is a band 15 pixels wide round a disc, as along an outline, beside the same by a
// sparse graph, made anew each time.
func BenchmarkGrid(b *testing.B) {
	for _, side := range []int{200, 500} {
		c := band(side)
		b.Run(fmt.Sprintf("n=%d/grid", len(c.part)), func(b *testing.B) {
			b.ReportAllocs()
			var g Grid
			for b.Loop() {
				c.solve(&g)
			}
		})
		b.Run(fmt.Sprintf("n=%d/sparse", len(c.part)), func(b *testing.B) {
			for b.Loop() {
				c.sparse().Solve(b.Context())
			}
		})
	}
}

func band(side int) *cutting {
	r := rand.New(rand.NewPCG(1, uint64(side)))
	c := &cutting{width: side, height: side}
	rim := func(x, y int) float64 { // < 0 inside the disc
		return math.Hypot(float64(x)-float64(side)/2, float64(y)-float64(side)/2) - float64(side)*0.4
	}
	const unit = 1 << 24
	weight := func() int32 { return int32(4 * unit * math.Exp(-0.5*r.ExpFloat64())) }
	for y := range side {
		for x := range side {
			d := rim(x, y)
			if math.Abs(d) > 7.5 {
				continue
			}
			c.part = append(c.part, int32(y*side+x))
			t := math.Copysign(1, -d-2+r.NormFloat64()) + r.NormFloat64()
			for _, q := range [][2]int{{x + 1, y}, {x - 1, y}, {x, y + 1}, {x, y - 1}} {
				if e := rim(q[0], q[1]); math.Abs(e) > 7.5 {
					t -= math.Copysign(4, e)
				}
			}
			edge := func(x, y int) int32 {
				if math.Abs(rim(x, y)) > 7.5 {
					return 0
				}
				return weight()
			}
			c.terminal = append(c.terminal, int32(unit*t))
			c.right, c.down = append(c.right, edge(x+1, y)), append(c.down, edge(x, y+1))
		}
	}
	return c
}
