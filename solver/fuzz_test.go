package solver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

// source hands out what its bytes say; when there are none left, the least and 1.
type source []byte

func (s *source) int(from, to int) int {
	if len(*s) == 0 {
		return from
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return from + int(b)%(to-from+1)
}

// number is mostly a small one, and any, NaN and the infinities with them, after a byte of 255.
func (s *source) number() float64 {
	if len(*s) == 0 {
		return 1
	}
	switch b := s.int(0, 255); {
	case b < 255:
		return float64(b-100) / 32
	case len(*s) < 8:
		return math.NaN()
	default:
		v := math.Float64frombits(binary.LittleEndian.Uint64(*s))
		*s = (*s)[8:]
		return v
	}
}

func (s *source) numbers(n int) []float64 {
	if n < 0 {
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = s.number()
	}
	return v
}

// Whatever the sizes and numbers, Solve and what it is made of return an error or labels
// that there are and finite scores.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 2, 2, 0, 132, 100, 68, 100, 132, 132})
	f.Add([]byte{4, 1, 3, 2, 0, 1, 140, 1, 2, 120, 50, 60, 255, 1})
	f.Add([]byte{2, 2, 2, 0, 0, 255, 0, 0, 0, 0, 0, 0, 240, 127, 132, 132})
	f.Add([]byte{5, 3, 4, 1, 4, 4, 255, 0, 0, 0, 0, 0, 0, 248, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := source(b)
		n, d, labels := s.int(0, 6), s.int(0, 3), s.int(0, 4)
		var edges []mrf.Edge
		for range s.int(0, 4) {
			edges = append(edges, mrf.Edge{I: int32(s.int(0, n+1)) - 1, J: int32(s.int(0, n)), W: s.number()})
		}
		wrong := func(n int) int { // one time in 32 another size
			if s.int(0, 31) == 31 {
				return n + s.int(-2, 2)
			}
			return n
		}
		block, err := kernel.NewBlock(s.numbers(wrong(n*d)), n, d)
		if err != nil {
			return
		}
		var k kernel.Linear
		var graph mrf.Potts
		if k.Reset([]*kernel.Block{block}, s.number()) != nil || graph.Reset(wrong(n), wrong(labels), edges) != nil {
			return
		}
		p := &solver.Problem{Labels: labels, Loss: loss.Hinge{}, Kernel: &k, MRF: &graph, Nu: s.number()}
		for _, field := range []struct {
			dst  *[]float64
			size int
		}{{&p.Omega, n}, {&p.Unary, n * labels}, {&p.Offset, n * labels}} {
			if s.int(0, 1) == 1 {
				*field.dst = s.numbers(wrong(field.size))
			}
		}
		state := &solver.State{Scores: s.numbers(wrong(n * labels)), Lambda: s.numbers(wrong(n * labels)), Y: make([]int32, max(0, wrong(n)))}
		for i := range state.Y {
			state.Y[i] = int32(s.int(0, labels+1)) // the most is one too many
		}
		was := slices.Clone(state.Y)
		opt := solver.Options{MaxIter: s.int(0, 8), Workers: s.int(0, 2)}
		for _, v := range []*float64{&opt.Rho, &opt.RhoMax, &opt.Relax, &opt.Tau, &opt.Delta, &opt.Tol} {
			if s.int(0, 3) == 3 {
				*v = s.number()
			}
		}
		res, err := solver.Solve(context.Background(), new(solver.Workspace), p, state, opt)
		if err != nil {
			if errors.Is(err, solver.ErrProblem) && !slices.Equal(state.Y, was) {
				t.Fatalf("%v, but labels changed from %v to %v", err, was, state.Y)
			}
			return
		}
		for i, y := range state.Y {
			if y < 0 || int(y) >= labels {
				t.Fatalf("sample %d has label %d of %d", i, y, labels)
			}
		}
		if res.Iterations > 0 && slices.ContainsFunc(state.Scores, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			t.Fatalf("scores %v after %+v", state.Scores, res)
		}
		step := make([]float64, labels*d)
		if res.Iterations > 0 {
			if err := k.SolvedWeights(step, labels); err != nil {
				t.Fatal(err)
			}
		}
	})
}
