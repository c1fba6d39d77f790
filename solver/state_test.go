package solver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
)

// product is Kα of a linear kernel, XXᵀα + γα.
func product(p *Problem, alpha []float64) []float64 {
	k := p.Kernel.(*kernel.Linear)
	// The classifier has as many columns as the rows, which k does not tell.
	w, ka := make([]float64, maxColumns*p.Labels), make([]float64, len(alpha))
	k.Weights(w, alpha, p.Labels)
	k.Scores(ka, w, p.Labels)
	for i, a := range alpha {
		ka[i] += k.SigmaMin() * a
	}
	return ka
}

// maxColumns bounds the columns of these tests' kernels.
const maxColumns = 100

// settle makes a start consistent by its multipliers: Scores = O + Kα, α = −λ/2ν.
func settle(p *Problem, s *State) {
	alpha := make([]float64, len(s.Lambda))
	s.Alpha(alpha, p.Nu)
	copy(s.Scores, product(p, alpha))
	for i, o := range p.Offset {
		s.Scores[i] += o
	}
}

// A window slides again and again as State tells: from the last classifier, with
// other weights, nothing raises the Lagrangian, the first iteration included, and the
// classifier moves the less the larger ν is.
func TestSlidingWindowDescends(t *testing.T) {
	const slide, frames, d, labels, windows = 30, 3, 5, 3, 4
	const n = frames * slide
	for _, l := range losses {
		t.Run(fmt.Sprintf("%T", l), func(t *testing.T) {
			last := math.Inf(1)
			for _, nu := range []float64{0.2, 2, 20} {
				rng := rand.New(rand.NewPCG(9, 9))
				var blocks []*kernel.Block
				var truth []int32
				for range frames + windows {
					x := make([]float64, slide*d)
					for i := range x {
						x[i] = rng.NormFloat64()
					}
					for i := range slide {
						y := int32(rng.IntN(labels))
						x[i*d+int(y)] += 2
						truth = append(truth, y)
					}
					blocks = append(blocks, kernel.NewBlock(x, slide, d))
				}
				var k kernel.Linear
				var graph mrf.Potts
				weight, moved := make([]float64, labels*d), 0.0
				for first := range windows {
					k.Reset(blocks[first:first+frames], 0.5)
					graph.Reset(n, labels, nil)
					p := &Problem{
						Labels: labels, Loss: l, Kernel: &k, MRF: &graph, Nu: nu,
						Omega: make([]float64, n), Unary: make([]float64, n*labels), Offset: make([]float64, n*labels),
					}
					s := cold(n, labels)
					for i := range n {
						p.Omega[i] = 2 * rng.Float64()
						s.Y[i] = int32(rng.IntN(labels))
						for y := range labels {
							if y != int(truth[first*slide+i]) {
								p.Unary[i*labels+y] = 0.5
							}
						}
					}
					k.Scores(p.Offset, weight, labels)
					copy(s.Scores, p.Offset)
					rho := 2 * nu / k.SigmaMin()
					rose, res := observed(t, p, s, Options{MaxIter: 10, Rho: rho, RhoMax: rho, Tol: 1e-300}, true)
					if len(rose) > 0 || res.Guaranteed != res.Iterations {
						t.Errorf("ν=%g, window %d: %v rose; %d of %d iterations are guaranteed not to", nu, first, rose, res.Guaranteed, res.Iterations)
					}
					alpha, step := make([]float64, n*labels), make([]float64, labels*d)
					s.Alpha(alpha, nu)
					k.Weights(step, alpha, labels)
					for i, v := range step {
						weight[i] += v
						moved += v * v
					}
					// O + Kα is the scores of W₀ + Xᵀα, but for the ridge.
					scores := slices.Clone(s.Scores)
					k.Scores(scores, weight, labels)
					for i, v := range scores {
						if want := s.Scores[i] - k.SigmaMin()*alpha[i]; math.Abs(v-want) > 1e-9*(1+math.Abs(want)) {
							t.Fatalf("score %d of the classifier is %g; the state's is %g", i, v, want)
						}
					}
				}
				if !(moved < 0.7*last) {
					t.Errorf("ν=%g: the classifier moved by %g; by %g with a smaller ν", nu, moved, last)
				}
				last = moved
			}
		})
	}
}
