package mrf

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Graphs side by side are labelled as one graph of them all is, again and again, with
// the flow of the last time.
func TestDisjointIsOneGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 26))
	for _, labels := range []int{2, 3} {
		var whole Potts
		var parts Disjoint
		var edges []Edge
		n := 0
		for _, size := range []int{30, 1, 0, 17} {
			var own []Edge
			for k := 0; k < 3*size; k++ {
				own = append(own, Edge{int32(rng.IntN(size)), int32(rng.IntN(size)), rng.Float64()})
			}
			for _, e := range own {
				edges = append(edges, Edge{e.I + int32(n), e.J + int32(n), e.W})
			}
			p := &Potts{}
			p.Reset(size, labels, own)
			parts, n = append(parts, p), n+size
		}
		whole.Reset(n, labels, edges)
		got, want, u := make([]int32, n), make([]int32, n), make([]float64, n*labels)
		for round := range 10 {
			for i := range u {
				u[i] = 2 * rng.Float64()
			}
			u[rng.IntN(n)*labels] = math.Inf(1)
			if err := errors.Join(parts.Label(t.Context(), got, u), whole.Label(t.Context(), want, u)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d labels, round %d: %v; want %v", labels, round, got, want)
			}
			if a, b := energyOf(t, parts, got), energyOf(t, &whole, want); math.Abs(a-b) > 1e-12*b {
				t.Errorf("energy %g; want %g", a, b)
			}
		}
	}
}

func TestDisjointFaults(t *testing.T) {
	parts := Disjoint{&Potts{}, &Potts{}}
	for _, p := range parts {
		p.Reset(1, 2, nil)
	}
	err := parts.Label(context.Background(), make([]int32, 2), []float64{0, 0, 0, math.NaN()})
	if !errors.Is(err, ErrUnary) || !strings.Contains(err.Error(), "graph 1: ") {
		t.Errorf("error %v; want ErrUnary of graph 1", err)
	}
	for _, tt := range []struct {
		name string
		do   func() error
		says string
	}{
		{"labels of too many", func() error { return parts.Label(t.Context(), make([]int32, 3), make([]float64, 6)) }, "3 labels for graphs of 2 nodes"},
		{"unaries of too few", func() error { return parts.Label(t.Context(), make([]int32, 2), make([]float64, 3)) }, "3 unaries for graphs that take 4"},
		{"unaries of too many", func() error { return parts.Label(t.Context(), make([]int32, 2), make([]float64, 5)) }, "5 unaries"},
		{"energy of too many", func() error { _, err := parts.Energy(make([]int32, 3)); return err }, "3 labels for graphs of 2 nodes"},
		{"no graph", func() error { return Disjoint{nil}.Label(t.Context(), nil, nil) }, "graph 0 is nil"},
	} {
		if err := tt.do(); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v; want ErrInput with %q", tt.name, err, tt.says)
		}
	}
}

func energyOf(t *testing.T, m interface {
	Energy([]int32) (float64, error)
}, y []int32) float64 {
	t.Helper()
	e, err := m.Energy(y)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
