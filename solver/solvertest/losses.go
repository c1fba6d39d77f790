package solvertest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
)

// A Gradient is that of a loss at one sample's scores, of label y; nil where the loss has none.
type Gradient func(l solver.Loss, beta []float64, y int32) []float64

// Losses tests that what package solver promises holds for every one of some losses.
func Losses(t *testing.T, gradient Gradient, losses ...solver.Loss) {
	t.Run("descends", func(t *testing.T) { descends(t, losses) })
	t.Run("becomes feasible", func(t *testing.T) { becomesFeasible(t, losses) })
	t.Run("finds the supervised optimum", func(t *testing.T) { findsTheSupervisedOptimum(t, gradient, losses) })
	t.Run("descends from the first iteration on", func(t *testing.T) { guaranteedDescent(t, losses) })
	t.Run("descends as a window slides", func(t *testing.T) { slidingWindowDescends(t, losses) })
}

// timidMRF proposes another label for one or two samples by chance: unlike
// one that proposes a whole labelling it comes to an end of its improvements within a test.
type timidMRF struct {
	*mrf.Potts
	rng    *rand.Rand
	labels int
}

func (m timidMRF) Label(_ context.Context, y []int32, _ []float64) error {
	for range 1 + m.rng.IntN(2) {
		if i := m.rng.IntN(len(y)); i%10 != 0 {
			y[i] = int32(m.rng.IntN(m.labels))
		}
	}
	return nil
}

// forEachLoss runs a test for every loss, two to four labels, and an MRF solver
// that is as good as it gets or proposes random labels.
func forEachLoss(t *testing.T, losses []solver.Loss, seed uint64, test func(t *testing.T, p *solver.Problem, s *solver.State)) {
	const samples = 60
	for _, l := range losses {
		for labels := 2; labels <= 4; labels++ {
			for _, random := range []bool{false, true} {
				t.Run(fmt.Sprintf("%T/L=%d/random=%v", l, labels, random), func(t *testing.T) {
					p, s, _ := Instance(seed, samples, 5, labels)
					p.Loss = l
					rng := rand.New(rand.NewPCG(seed, 6))
					p.Omega = make([]float64, samples)
					for i := range p.Omega {
						p.Omega[i] = 2 * rng.Float64()
					}
					p.Omega[7] = 0
					if random {
						p.MRF = timidMRF{p.MRF.(*mrf.Potts), rng, labels}
						for i := range s.Y { // so that chance finds something better
							if i%10 != 0 {
								s.Y[i] = int32(rng.IntN(labels))
							}
						}
					}
					test(t, p, s)
				})
			}
		}
	}
}

// Lemma sufficient_descent, for every loss and whatever the MRF solver does; with
// δ > 0 a change of labels lowers the Lagrangian by δ at least.
func descends(t *testing.T, losses []solver.Loss) {
	forEachLoss(t, losses, 21, func(t *testing.T, p *solver.Problem, s *solver.State) {
		const delta = 1e-3
		last, flipped := math.Inf(1), 0
		res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{
			MaxIter: 600, Rho: 2 * p.Nu / p.Kernel.SigmaMin(), Tau: 1, Delta: delta, Tol: 1e-300,
			Observe: func(it solver.Iteration) {
				if it.Guaranteed != (it.Index > 0) {
					t.Errorf("iteration %d at ρ=%g: guaranteed is %v", it.Index, it.Rho, it.Guaranteed)
				}
				bound := last
				if it.Flips > 0 {
					bound -= delta
					flipped++
				}
				if it.Lagrangian > bound+1e-9*math.Abs(it.Lagrangian) {
					t.Errorf("iteration %d: Lagrangian went from %.12g to %.12g with %d flips", it.Index, last, it.Lagrangian, it.Flips)
				}
				last = it.Lagrangian
			}})
		if err != nil {
			t.Fatal(err)
		}
		if flipped == 0 || res.Violations != 0 {
			t.Errorf("%d iterations flipped labels, %d violations", flipped, res.Violations)
		}
	})
}

// Lemma feasibility: Kα − β → 0, and with δ > 0 the labels stop changing, because
// the Lagrangian has only so many δ to fall.
func becomesFeasible(t *testing.T, losses []solver.Loss) {
	forEachLoss(t, losses, 22, func(t *testing.T, p *solver.Problem, s *solver.State) {
		const iterations, delta = 3000, 0.1
		lastFlip, flipped, first := 0, 0, 0.0
		res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{
			MaxIter: iterations, Rho: 2 * p.Nu / p.Kernel.SigmaMin(), Tau: 1, Delta: delta, Tol: 1e-300,
			Observe: func(it solver.Iteration) {
				if it.Index == 0 {
					first = it.Primal
				}
				if it.Flips > 0 {
					lastFlip = it.Index
					flipped++
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if fall := res.Start - res.Last.Lagrangian; delta*float64(flipped) > fall+1e-9 {
			t.Errorf("%d iterations changed labels, but the Lagrangian fell by %g only", flipped, fall)
		}
		if lastFlip > iterations/2 {
			t.Errorf("labels changed in iteration %d of %d", lastFlip, iterations)
		}
		if res.Last.Primal > 1e-6*first || res.Last.Dual > 1e-5 {
			t.Errorf("‖Kα−β‖ fell from %g to %g only, ρ‖KΔα‖ to %g; last flip in iteration %d", first, res.Last.Primal, res.Last.Dual, lastFlip)
		}
	})
}

// With every label known the result is the minimiser of a strictly convex
// function: no α nearby has a lower objective, and where the loss has a gradient
// g, ω_i g_i + 2να_i = 0. So it is with an offset.
func findsTheSupervisedOptimum(t *testing.T, gradient Gradient, losses []solver.Loss) {
	for k, l := range slices.Concat(losses, losses) {
		offset := k >= len(losses)
		t.Run(fmt.Sprintf("%T/offset=%v", l, offset), func(t *testing.T) {
			const labels, d = 3, 4
			p, s, truth := Instance(23, 80, d, labels)
			p.Loss = l
			copy(s.Y, truth)
			if offset {
				rng := rand.New(rand.NewPCG(7, 7))
				w, scores := make([]float64, labels*d), make([]float64, len(s.Scores))
				for i := range w {
					w[i] = rng.NormFloat64()
				}
				must(p.Kernel.(*kernel.Linear).Scores(scores, w, labels))
				p.Offset = scores
				Settle(p, s)
			}
			for i, y := range truth {
				for k := range labels {
					p.Unary[i*labels+k] = math.Inf(1)
				}
				p.Unary[i*labels+int(y)] = 0
			}
			if _, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 5000, Tol: 1e-11}); err != nil {
				t.Fatal(err)
			}
			objective := func(alpha []float64) float64 {
				ka := Product(p, alpha)
				v := 0.0
				for i, a := range alpha {
					v += p.Nu * a * ka[i]
				}
				for i, o := range p.Offset {
					ka[i] += o
				}
				loss, err := p.Loss.Value(ka, nil, truth, labels)
				must(err)
				return v + loss
			}
			found := make([]float64, len(s.Lambda))
			must(s.Alpha(found, p.Nu))
			best := objective(found)
			rng := rand.New(rand.NewPCG(6, 6))
			for range 500 {
				alpha := append([]float64(nil), found...)
				scale := math.Pow(10, -1-3*rng.Float64())
				for i := range alpha {
					alpha[i] += scale * rng.NormFloat64()
				}
				if v := objective(alpha); v < best*(1-1e-9) {
					t.Fatalf("objective %.12g at a neighbour; the solver's is %.12g", v, best)
				}
			}
			for i, y := range truth {
				row := s.Scores[i*labels : (i+1)*labels]
				for k, g := range gradient(l, row, y) {
					if r := g + 2*p.Nu*found[i*labels+k]; math.Abs(r) > 1e-8 {
						t.Fatalf("gradient of the supervised problem is %g at label %d of sample %d", r, k, i)
					}
				}
			}
		})
	}
}

// The package comment's claim: from a consistent start nothing raises the
// Lagrangian where ρσ_min(K) ≥ 2ν, the first iteration and a growing ρ included.
func guaranteedDescent(t *testing.T, losses []solver.Loss) {
	for _, l := range losses {
		for labels := 2; labels <= 4; labels++ {
			for _, from := range []float64{1, 3, 0.2} { // ρ₀ in units of 2ν/σ_min(K)
				t.Run(fmt.Sprintf("%T/L=%d/from=%g", l, labels, from), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(labels), uint64(10*from)))
					flips := 0
					for range 12 {
						p, s := Random(rng, l, labels)
						if rng.IntN(2) == 0 {
							p.MRF = timidMRF{p.MRF.(*mrf.Potts), rng, labels}
						}
						safe := 2 * p.Nu / p.Kernel.SigmaMin()
						rose, res := Observed(t, p, s, solver.Options{MaxIter: 40, Rho: from * safe, RhoMax: 20 * safe, Tau: 1.05 + rng.Float64()/3, Tol: 1e-300}, true)
						for _, it := range rose {
							if it.Rho >= safe {
								t.Errorf("n=%d ν=%g σ=%g: iteration %d at ρ=%g raised the Lagrangian to %.12g", len(s.Y), p.Nu, p.Kernel.SigmaMin(), it.Index, it.Rho, it.Lagrangian)
							}
						}
						if res.Guaranteed == 0 {
							t.Error("no iteration was guaranteed")
						}
						flips += res.Flips
					}
					if flips == 0 {
						t.Error("no label changed")
					}
				})
			}
		}
	}
}

// A window slides again and again as State tells: from the last classifier, with
// other weights, nothing raises the Lagrangian, the first iteration included, and the
// classifier moves the less the larger ν is.
func slidingWindowDescends(t *testing.T, losses []solver.Loss) {
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
					blocks = append(blocks, Block(x, slide, d))
				}
				var k kernel.Linear
				var graph mrf.Potts
				weight, moved := make([]float64, labels*d), 0.0
				for first := range windows {
					must(k.Reset(blocks[first:first+frames], 0.5))
					must(graph.Reset(n, labels, nil))
					p := &solver.Problem{
						Labels: labels, Loss: l, Kernel: &k, MRF: &graph, Nu: nu,
						Omega: make([]float64, n), Unary: make([]float64, n*labels), Offset: make([]float64, n*labels),
					}
					s := Cold(n, labels)
					for i := range n {
						p.Omega[i] = 2 * rng.Float64()
						s.Y[i] = int32(rng.IntN(labels))
						for y := range labels {
							if y != int(truth[first*slide+i]) {
								p.Unary[i*labels+y] = 0.5
							}
						}
					}
					must(k.Scores(p.Offset, weight, labels))
					copy(s.Scores, p.Offset)
					rho := 2 * nu / k.SigmaMin()
					rose, res := Observed(t, p, s, solver.Options{MaxIter: 10, Rho: rho, RhoMax: rho, Tol: 1e-300}, true)
					if len(rose) > 0 || res.Guaranteed != res.Iterations {
						t.Errorf("ν=%g, window %d: %v rose; %d of %d iterations are guaranteed not to", nu, first, rose, res.Guaranteed, res.Iterations)
					}
					alpha, step := make([]float64, n*labels), make([]float64, labels*d)
					must(s.Alpha(alpha, nu))
					must(k.Weights(step, alpha, labels))
					for i, v := range step {
						weight[i] += v
						moved += v * v
					}
					// O + Kα is the scores of W₀ + Xᵀα, but for the ridge.
					scores := slices.Clone(s.Scores)
					must(k.Scores(scores, weight, labels))
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
