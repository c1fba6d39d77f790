package mrf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// label runs Label and checks what holds for every call: the energy, which it
// returns, is not above that of the start.
func label(t *testing.T, p *Potts, edges []Edge, labels int, y []int32, u []float64) float64 {
	t.Helper()
	before := energy(edges, labels, y, u)
	start := slices.Clone(y)
	if err := p.Label(context.Background(), y, u); err != nil {
		t.Fatal(err)
	}
	after := energy(edges, labels, y, u)
	if after > before+1e-12*math.Abs(before) {
		t.Errorf("energy rose from %v to %v", before, after)
	}
	if after == before && !slices.Equal(start, y) {
		t.Error("labels changed without lowering the energy")
	}
	return after
}

func TestLabelAgainstBruteForce(t *testing.T) {
	for _, test := range []struct{ labels, nodes, runs int }{
		{1, 12, 20}, {2, 12, 150}, {3, 8, 100}, {4, 7, 60},
	} {
		t.Run(fmt.Sprint("L=", test.labels), func(t *testing.T) {
			var p Potts
			optimal := 0
			for seed := range uint64(test.runs) {
				r := rand.New(rand.NewPCG(seed, 5))
				n := r.IntN(test.nodes + 1)
				edges := randomEdges(r, n, 2*n)
				p.Reset(n, test.labels, edges)
				// Three unaries on one model, so that later ones start warm.
				for range 3 {
					u := randomUnaries(r, n, test.labels)
					y := randomLabels(r, n, test.labels)
					got := label(t, &p, edges, test.labels, y, u)
					want := minimum(n, test.labels, edges, u)
					if near(got, want) {
						optimal++
					} else if got < want || test.labels <= 2 {
						t.Fatalf("seed %d: energy %v, minimum %v", seed, got, want)
					}
				}
			}
			if optimal < 3*test.runs*9/10 {
				t.Errorf("%d of %d at the minimum", optimal, 3*test.runs)
			}
		})
	}
}

// TestExpansion checks the factor of two, for unaries that are not negative,
// and that no expansion move is left.
func TestExpansion(t *testing.T) {
	var p Potts
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 6))
		labels, n := 3+r.IntN(2), 1+r.IntN(7)
		edges := randomEdges(r, n, 3*n)
		u := randomUnaries(r, n, labels)
		for k := range u {
			u[k] = math.Abs(u[k])
		}
		p.Reset(n, labels, edges)
		y := randomLabels(r, n, labels)
		got := label(t, &p, edges, labels, y, u)
		if want := minimum(n, labels, edges, u); got > 2*want+1e-9 {
			t.Errorf("seed %d: energy %v, more than twice %v", seed, got, want)
		}
		for alpha := range int32(labels) {
			bruteForce(n, 2, func(x []int32) {
				z := slices.Clone(y)
				for i := range z {
					if x[i] == 1 {
						z[i] = alpha
					}
				}
				if e := energy(edges, labels, z, u); e < got-1e-9*(1+math.Abs(e)) {
					t.Fatalf("seed %d: expanding %d gives %v, less than %v", seed, alpha, e, got)
				}
			})
		}
	}
}

// TestLabelWarmEqualsCold perturbs unaries and compares with a fresh model.
func TestLabelWarmEqualsCold(t *testing.T) {
	for _, labels := range []int{2, 3, 11} { // 11: more labels than cuts
		t.Run(fmt.Sprint("L=", labels), func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, uint64(labels)))
			n, edges := superpixels(300, 2, r)
			u := randomUnaries(r, n, labels)
			var warm Potts
			warm.Reset(n, labels, edges)
			for step := range 100 {
				for i := range n {
					if r.IntN(4) == 0 {
						copy(u[i*labels:], randomUnaries(r, 1, labels))
					}
				}
				y := randomLabels(r, n, labels)
				z := slices.Clone(y)
				label(t, &warm, edges, labels, y, u)
				var cold Potts
				cold.Reset(n, labels, edges)
				label(t, &cold, edges, labels, z, u)
				if !slices.Equal(y, z) {
					t.Fatalf("step %d: labels differ from a cold solve's", step)
				}
			}
		})
	}
}

// TestPermuted renames the nodes: the energy stays, and with real-valued
// energies, which have one minimum, so do the labels.
func TestPermuted(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		n, edges := superpixels(400, 1, r)
		u := randomUnaries(r, n, 2)
		to := r.Perm(n)
		moved := make([]Edge, len(edges))
		v := make([]float64, len(u))
		for k, e := range edges {
			moved[len(edges)-1-k] = Edge{int32(to[e.J]), int32(to[e.I]), e.W}
		}
		for i, j := range to {
			copy(v[2*j:2*j+2], u[2*i:2*i+2])
		}
		var p, q Potts
		p.Reset(n, 2, edges)
		q.Reset(n, 2, moved)
		y, z := make([]int32, n), make([]int32, n)
		a := label(t, &p, edges, 2, y, u)
		b := label(t, &q, moved, 2, z, v)
		if !near(a, b) {
			t.Errorf("seed %d: energy %v, renamed %v", seed, a, b)
		}
		for i, j := range to {
			if y[i] != z[j] {
				t.Fatalf("seed %d: node %d has another label when renamed", seed, i)
			}
		}
	}
}

func TestSpecialGraphs(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name   string
		n, l   int
		edges  []Edge
		u      []float64
		y      []int32 // start
		want   []int32
		energy float64
	}{
		{name: "no nodes", l: 2},
		{name: "one label", n: 2, l: 1, edges: []Edge{{0, 1, 3}}, u: []float64{1, 2}, y: []int32{0, 0}, want: []int32{0, 0}, energy: 3},
		{name: "isolated", n: 3, l: 2, u: []float64{0, 1, 1, 0, 1e-300, 0}, y: []int32{1, 0, 0}, want: []int32{0, 1, 1}},
		{name: "self edge costs nothing", n: 1, l: 2, edges: []Edge{{0, 0, 5}}, u: []float64{2, 1}, y: []int32{0}, want: []int32{1}, energy: 1},
		{name: "duplicates add up", n: 2, l: 2, edges: []Edge{{0, 1, 1}, {1, 0, 1}, {0, 1, 1}}, u: []float64{0, 2.5, 9, 0},
			y: []int32{0, 1}, want: []int32{1, 1}, energy: 2.5},
		{name: "tie goes to label 0", n: 2, l: 2, edges: []Edge{{0, 1, 1}}, u: []float64{0, 5, 1, 0}, y: []int32{1, 0}, want: []int32{0, 0}, energy: 1},
		{name: "tie with the start keeps it", n: 2, l: 2, edges: []Edge{{0, 1, 1}}, u: []float64{0, 5, 1, 0}, y: []int32{0, 1}, want: []int32{0, 1}, energy: 1},
		{name: "forbidden", n: 2, l: 2, edges: []Edge{{0, 1, 1}}, u: []float64{inf, 100, 0, inf}, y: []int32{0, 1}, want: []int32{1, 0}, energy: 101},
		{name: "forbidden of three", n: 3, l: 3, edges: []Edge{{0, 1, 2}, {1, 2, 2}}, u: []float64{inf, 0, inf, 1, 1, 0, inf, 0, inf},
			y: []int32{0, 0, 0}, want: []int32{1, 1, 1}, energy: 1},
		{name: "zero weights", n: 2, l: 3, edges: []Edge{{0, 1, 0}}, u: []float64{0, 1, 2, 2, 1, 0}, y: []int32{2, 0}, want: []int32{0, 2}},
		{name: "huge and tiny", n: 2, l: 2, edges: []Edge{{0, 1, 1}}, u: []float64{1e280, 1e280, 0, 1e-3}, y: []int32{0, 1}, want: []int32{0, 0}, energy: 1e280},
		{name: "largest", n: 1, l: 2, u: []float64{9e288, -9e288}, y: []int32{0}, want: []int32{1}, energy: -9e288},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Potts
			p.Reset(test.n, test.l, test.edges)
			if err := p.Label(context.Background(), test.y, test.u); err != nil {
				t.Fatal(err)
			}
			if got := energy(test.edges, test.l, test.y, test.u); !slices.Equal(test.y, test.want) || got != test.energy {
				t.Errorf("labels %v with energy %v, want %v with %v", test.y, got, test.want, test.energy)
			}
		})
	}
}

func TestBadUnaries(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		name string
		u    []float64
		want string
	}{
		{"NaN", []float64{0, 0, 0, math.NaN()}, "u[3] of node 1, label 1, is NaN"},
		{"minus infinity", []float64{-inf, 0, 0, 0}, "u[0] of node 0, label 0, is -Inf"},
		{"too large", []float64{0, 1e289, 0, 0}, "u[1] of node 0, label 1, is 1e+289"},
		{"all forbidden", []float64{0, 0, inf, inf}, "node 1 has every label forbidden"},
		{"NaN behind infinity", []float64{inf, math.NaN(), 0, 0}, "u[1]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Potts
			p.Reset(2, 2, []Edge{{0, 1, 1}})
			y := []int32{1, 0}
			err := p.Label(context.Background(), y, test.u)
			if !errors.Is(err, ErrUnary) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if y[0] != 1 || y[1] != 0 {
				t.Errorf("labels became %v", y)
			}
		})
	}
}

func TestPottsRefuses(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(p *Potts) error
		says string
	}{
		{"no labels", func(p *Potts) error { return p.Reset(1, 0, nil) }, "0 labels, want at least 1"},
		{"edge outside", func(p *Potts) error { return p.Reset(1, 1, []Edge{{0, 1, 1}}) }, "edge 0 joins 0 and 1"},
		{"weight NaN", func(p *Potts) error { return p.Reset(1, 1, []Edge{{0, 0, math.NaN()}}) }, "weight NaN"},
		{"y short", func(p *Potts) error { return p.Label(t.Context(), make([]int32, 1), make([]float64, 4)) }, "1 labels and 4 unaries for 2 nodes of 2 labels"},
		{"u short", func(p *Potts) error { return p.Label(t.Context(), make([]int32, 2), make([]float64, 3)) }, "2 labels and 3 unaries"},
		{"nothing", func(p *Potts) error { return p.Label(t.Context(), nil, nil) }, "0 labels and 0 unaries"},
		{"label outside", func(p *Potts) error { return p.Label(t.Context(), []int32{0, 2}, make([]float64, 4)) }, "node 1 starts with label 2"},
		{"label negative", func(p *Potts) error { return p.Label(t.Context(), []int32{0, -1}, make([]float64, 4)) }, "label -1"},
		{"energy of too few", func(p *Potts) error { _, err := p.Energy([]int32{0}); return err }, "1 labels for 2 nodes"},
		{"before Reset", func(*Potts) error { return new(Potts).Label(t.Context(), []int32{0}, []float64{0, 0}) }, "for 0 nodes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Potts
			p.Reset(2, 2, []Edge{{0, 1, 1}})
			if err := test.do(&p); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v; want ErrInput with %q", err, test.says)
			}
			y := make([]int32, 2)
			if err := errors.Join(p.Reset(2, 2, []Edge{{0, 1, 1}}), p.Label(t.Context(), y, []float64{5, 0, 0, 0.5})); err != nil || y[0] != 1 || y[1] != 1 {
				t.Errorf("afterwards: %v, %v", y, err)
			}
		})
	}
	if err := new(Potts).Label(t.Context(), nil, nil); err != nil {
		t.Errorf("no nodes, before Reset: %v", err)
	}
}

// TestLabelStops ends the context at every possible moment.
func TestLabelStops(t *testing.T) {
	for _, labels := range []int{2, 4} {
		t.Run(fmt.Sprint("L=", labels), func(t *testing.T) {
			r := rand.New(rand.NewPCG(10, 10))
			n, edges := superpixels(900, 2, r)
			u := randomUnaries(r, n, labels)
			start := randomLabels(r, n, labels)
			for i := range start { // an allowed one, so that energies are finite
				for math.IsInf(u[i*labels+int(start[i])], 1) {
					start[i] = int32(r.IntN(labels))
				}
			}
			stops := 0
			for left := 0; ; left++ {
				var p Potts
				p.Reset(n, labels, edges)
				y := slices.Clone(start)
				ctx := &countdown{context.Background(), left}
				if err := p.Label(ctx, y, u); err != nil {
					t.Fatal(err)
				}
				if e := energy(edges, labels, y, u); e > energy(edges, labels, start, u) {
					t.Fatalf("stopped after %d looks: energy %v, at the start %v", left, e, energy(edges, labels, start, u))
				}
				if ctx.left >= 0 { // it was not told to stop
					break
				}
				stops++
			}
			if stops == 0 {
				t.Error("never stopped")
			}
		})
	}
}

// TestSameBits repeats a sequence of calls on a used and a new model.
func TestSameBits(t *testing.T) {
	for _, labels := range []int{2, 4} {
		var used Potts
		var first [][]int32
		for run := range 3 {
			p := &used
			if run == 2 {
				p = new(Potts)
			}
			r := rand.New(rand.NewPCG(17, 17))
			n, edges := superpixels(600, 3, r)
			p.Reset(n, labels, edges)
			y := make([]int32, n)
			for k := range 5 {
				label(t, p, edges, labels, y, randomUnaries(r, n, labels))
				if run == 0 {
					first = append(first, slices.Clone(y))
				}
				if !slices.Equal(y, first[k]) {
					t.Errorf("L=%d: call %d of run %d differs from the first run's", labels, k, run)
				}
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	ctx := context.Background()
	for _, labels := range []int{2, 4} {
		r := rand.New(rand.NewPCG(11, 11))
		n, edges := superpixels(500, 2, r)
		us := [][]float64{randomUnaries(r, n, labels), randomUnaries(r, n, labels)}
		y := make([]int32, n)
		var p Potts
		k := 0
		if got := testing.AllocsPerRun(20, func() {
			if k%4 == 0 {
				p.Reset(n, labels, edges)
			}
			if err := p.Label(ctx, y, us[k%2]); err != nil {
				t.Fatal(err)
			}
			k++
		}); got != 0 {
			t.Errorf("L=%d: %v allocations a call", labels, got)
		}
	}
}

func TestSumDecides(t *testing.T) {
	var s sum
	for _, x := range []float64{1e16, 1, -1e16, -1} {
		s.add(x)
	}
	if s.negative() || s.s+s.rest != 0 {
		t.Errorf("1e16+1-1e16-1 = %v", s.s+s.rest)
	}
	s = sum{}
	s.add(1)
	s.add(-1 - 0x1p-30)
	if !s.negative() {
		t.Error("-2^-30 is not seen as negative")
	}
}
