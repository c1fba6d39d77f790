package mrf

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// capacityOf is the capacity of the cut that Source marks.
func capacityOf(c *Cut, edges []Edge, term []float64) float64 {
	sum := 0.0
	for _, e := range edges {
		if c.Source(int(e.I)) != c.Source(int(e.J)) {
			sum += e.W
		}
	}
	for i, d := range term {
		if c.Source(i) {
			sum += max(-d, 0)
		} else {
			sum += max(d, 0)
		}
	}
	return sum
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)+math.Abs(b)) }

func TestCutAgainstDinic(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + r.IntN(60)
		edges := randomEdges(r, n, r.IntN(4*n))
		for k := range edges {
			edges[k].W *= float64(r.IntN(3)) / 2
		}
		term := make([]float64, n)
		for i := range term {
			term[i] = 2 * r.NormFloat64()
		}
		var c Cut
		c.Reset(n, edges)
		for i, d := range term {
			c.SetTerminal(i, d)
		}
		if !c.Solve(context.Background()) {
			t.Fatal("stopped without being told to")
		}
		want := dinic(n, edges, term)
		if got := c.Flow(); !near(got, want) {
			t.Errorf("seed %d: flow %v, Dinic's %v", seed, got, want)
		}
		if got := capacityOf(&c, edges, term); !near(got, want) {
			t.Errorf("seed %d: cut %v, Dinic's flow %v", seed, got, want)
		}
		if fault := checkTrees(&c); fault != "" {
			t.Errorf("seed %d: %s", seed, fault)
		}
	}
}

// TestCutEqualsFlow uses integers, where the two values are equal to the bit.
func TestCutEqualsFlow(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		edges := grid(40, 30, func() float64 { return float64(r.IntN(9)) })
		term := make([]float64, 1200)
		var c Cut
		c.Reset(1200, edges)
		for i := range term {
			term[i] = float64(r.IntN(41) - 20)
			c.SetTerminal(i, term[i])
		}
		c.Solve(context.Background())
		if got, want := c.Flow(), capacityOf(&c, edges, term); got != want {
			t.Errorf("seed %d: flow %v, cut %v", seed, got, want)
		}
	}
}

// TestWarmEqualsCold changes terminals of one Cut over and over and compares each solve with a Cut that never saw the earlier ones: the very same
// source and sink sets, and trees in order.
func TestWarmEqualsCold(t *testing.T) {
	for _, test := range []struct {
		name       string
		share      float64 // of the nodes that change
		size       float64 // of the change
		steps      int
		integers   bool // many ties
		stopEarly  bool
		forceStamp bool
	}{
		{name: "few small", share: 0.05, size: 0.1, steps: 150},
		{name: "all small", share: 1, size: 0.05, steps: 150},
		{name: "tenth big", share: 0.1, size: 10, steps: 150},
		{name: "all big", share: 1, size: 10, steps: 100},
		{name: "huge", share: 0.3, size: 1e12, steps: 60},
		{name: "ties", share: 0.2, size: 3, integers: true, steps: 200},
		{name: "stopped between", share: 0.2, size: 2, stopEarly: true, steps: 100},
		{name: "stamps worn out", share: 0.2, size: 2, forceStamp: true, steps: 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(len(test.name))))
			const width, height = 17, 13
			n := width * height
			value := func() float64 {
				if test.integers {
					return float64(r.IntN(4))
				}
				return r.ExpFloat64()
			}
			edges := append(grid(width, height, value), randomEdges(r, n, 50)...)
			term := make([]float64, n)
			var warm, cold Cut
			warm.Reset(n, edges)
			stopped, cancel := context.WithCancel(context.Background())
			cancel()
			for step := range test.steps {
				for i := range term {
					if r.Float64() < test.share {
						term[i] = math.Round(term[i]*0.5) + test.size*(value()-value())
						if !test.integers {
							term[i] += r.NormFloat64()
						}
						warm.SetTerminal(i, term[i])
					}
				}
				if test.forceStamp && step%2 == 1 {
					warm.time = maxTime - int32(r.IntN(6))
				}
				if test.stopEarly && step%3 != 0 {
					warm.Solve(stopped)
					continue
				}
				warm.Solve(context.Background())
				if fault := checkTrees(&warm); fault != "" {
					t.Fatalf("step %d: %s", step, fault)
				}
				cold.Reset(n, edges)
				for i, d := range term {
					cold.SetTerminal(i, d)
				}
				cold.Solve(context.Background())
				for i := range n {
					if warm.nodes[i].tree != cold.nodes[i].tree {
						t.Fatalf("step %d: node %d is on another side than in a cold solve", step, i)
					}
				}
				if warm.Flow() != cold.Flow() && !near(warm.Flow(), cold.Flow()) {
					t.Fatalf("step %d: flow %v, cold %v", step, warm.Flow(), cold.Flow())
				}
			}
		})
	}
}

// TestCutStops shows that a solve interrupted again and again reaches the result
// of one that was not. Along a chain each tree has one active node, so losing
// the one in hand would show.
func TestCutStops(t *testing.T) {
	const n = 3600
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		height := 1 + int(seed%2)*59
		edges := grid(n/height, height, r.ExpFloat64)
		var c, whole Cut
		c.Reset(n, edges)
		whole.Reset(n, edges)
		for range 2 + r.IntN(20) {
			i, d := r.IntN(n), 20*r.NormFloat64()
			c.SetTerminal(i, d)
			whole.SetTerminal(i, d)
		}
		whole.Solve(context.Background())
		stops := 0
		for !c.Solve(&countdown{context.Background(), r.IntN(3)}) {
			stops++
		}
		if stops < 2 {
			t.Errorf("seed %d: stopped %d times, want several", seed, stops)
		}
		for i := range n {
			if c.nodes[i].tree != whole.nodes[i].tree {
				t.Fatalf("seed %d: node %d is on another side than without stops", seed, i)
			}
		}
	}
}

// countdown is a context that ends after Err was asked left times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCutRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(c *Cut) error
		says string
	}{
		{"negative n", func(c *Cut) error { return c.Reset(-1, nil) }, "graph of -1 nodes"},
		{"n too large", func(c *Cut) error { return c.Reset(math.MaxInt32, nil) }, "less than 2³¹"},
		{"index too large", func(c *Cut) error { return c.Reset(2, []Edge{{0, 2, 1}}) }, "edge 0 joins 0 and 2"},
		{"index negative", func(c *Cut) error { return c.Reset(2, []Edge{{-1, 1, 1}}) }, "edge 0 joins -1 and 1"},
		{"edges of no nodes", func(c *Cut) error { return c.Reset(0, []Edge{{0, 0, 1}}) }, "nodes in [0,0)"},
		{"weight NaN", func(c *Cut) error { return c.Reset(2, []Edge{{0, 1, 1}, {0, 1, math.NaN()}}) }, "edge 1 has weight NaN"},
		{"weight negative", func(c *Cut) error { return c.Reset(2, []Edge{{0, 1, -1}}) }, "weight -1"},
		{"weight infinite", func(c *Cut) error { return c.Reset(2, []Edge{{0, 1, math.Inf(1)}}) }, "weight +Inf"},
		{"weights overflow", func(c *Cut) error { return c.Reset(2, []Edge{{0, 1, 1e308}, {0, 1, 1e308}}) }, "weight 1e+308"},
		{"terminal NaN", func(c *Cut) error { return c.SetTerminal(0, math.NaN()) }, "capacity NaN of node 0"},
		{"terminal of no node", func(c *Cut) error { return c.SetTerminal(2, 1) }, "node 2 of 2"},
		{"terminal of node -1", func(c *Cut) error { return c.SetTerminal(-1, 1) }, "node -1"},
		{"before Reset", func(*Cut) error { return new(Cut).SetTerminal(0, 1) }, "node 0 of 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Cut
			before := errors.Join(c.Reset(2, []Edge{{0, 1, 1}}), c.SetTerminal(0, 1))
			if before != nil || !c.Solve(t.Context()) || c.SetTerminal(0, -2) != nil {
				t.Fatal(before)
			}
			if err := test.do(&c); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v; want ErrInput with %q", err, test.says)
			}
			if !c.Solve(t.Context()) {
				t.Error("it cannot be solved any more")
			}
			err := errors.Join(c.Reset(2, []Edge{{0, 1, 1}}), c.SetTerminal(0, 3), c.SetTerminal(1, -2))
			if err != nil || !c.Solve(t.Context()) || !c.Source(0) || c.Source(1) || c.Flow() != 1 {
				t.Errorf("afterwards: %v, flow %g", err, c.Flow())
			}
		})
	}
	var none Cut
	if !none.Solve(t.Context()) || none.Source(0) || none.Source(-1) || none.Flow() != 0 {
		t.Error("a cut without nodes has some")
	}
}

// TestScales solves the same graph scaled by powers of two up to the limits:
// the same cut, and no precision lost to one huge terminal.
func TestScales(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	edges := grid(12, 12, r.ExpFloat64)
	term := make([]float64, 144)
	for i := range term {
		term[i] = 2 * r.NormFloat64()
	}
	var c Cut
	sides := func(scale float64) (s [144]bool) {
		scaled := append([]Edge(nil), edges...)
		for k := range scaled {
			scaled[k].W *= scale
		}
		c.Reset(144, scaled)
		for i, d := range term {
			c.SetTerminal(i, d*scale)
		}
		c.SetTerminal(7, math.Inf(1))
		c.SetTerminal(100, -1e300)
		c.Solve(context.Background())
		for i := range s {
			s[i] = c.Source(i)
		}
		return s
	}
	want := sides(1)
	if !want[7] || want[100] {
		t.Error("a tied node is on the other side")
	}
	for _, exp := range []int{-900, -300, -40, 40, 300, 900} {
		if sides(math.Ldexp(1, exp)) != want {
			t.Errorf("scaled by 2^%d the cut is another", exp)
		}
	}
}
