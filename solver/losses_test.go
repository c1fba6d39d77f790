package solver

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

var losses = []Loss{loss.Hinge{}, squares{}}

// squares is Σ_l (β_l − s_l)²/2 with s_l = +1 if l = y, else −1: a loss that has a gradient.
type squares struct{}

func sign(l int, y int32) float64 {
	if int32(l) == y {
		return 1
	}
	return -1
}

func weightOf(omega []float64, i int) float64 {
	if omega == nil {
		return 1
	}
	return omega[i]
}

func (squares) Table(u, t, omega []float64, labels int, rho float64) {
	for i := range t {
		w := weightOf(omega, i/labels)
		u[i] = 0
		for l, v := range t[i/labels*labels:][:labels] {
			d := v - sign(l, int32(i%labels))
			u[i] += w * rho / (w + rho) / 2 * d * d
		}
	}
}

func (squares) Prox(dst, t, omega []float64, y []int32, labels int, rho float64) {
	for i, v := range t {
		w := weightOf(omega, i/labels)
		dst[i] = (w*sign(i%labels, y[i/labels]) + rho*v) / (w + rho)
	}
}

func (squares) Value(beta, omega []float64, y []int32, labels int) (sum float64) {
	for i, b := range beta {
		d := b - sign(i%labels, y[i/labels])
		sum += weightOf(omega, i/labels) / 2 * d * d
	}
	return sum
}

// timidMRF proposes another label for one or two samples by chance: unlike
// randomMRF it comes to an end of its improvements within a test.
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
func forEachLoss(t *testing.T, seed uint64, test func(t *testing.T, p *Problem, s *State)) {
	const samples = 60
	for _, l := range losses {
		for labels := 2; labels <= 4; labels++ {
			for _, random := range []bool{false, true} {
				t.Run(fmt.Sprintf("%T/L=%d/random=%v", l, labels, random), func(t *testing.T) {
					p, s, _ := instance(seed, samples, 5, labels)
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
func TestEveryLossDescends(t *testing.T) {
	forEachLoss(t, 21, func(t *testing.T, p *Problem, s *State) {
		const delta = 1e-3
		last, flipped := math.Inf(1), 0
		res, err := Solve(t.Context(), &Workspace{}, p, s, Options{
			MaxIter: 600, Rho: 2 * p.Nu / p.Kernel.SigmaMin(), Tau: 1, Delta: delta, Tol: 1e-300,
			Observe: func(it Iteration) {
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
func TestEveryLossBecomesFeasible(t *testing.T) {
	forEachLoss(t, 22, func(t *testing.T, p *Problem, s *State) {
		const iterations, delta = 3000, 0.1
		lastFlip, flipped, first := 0, 0, 0.0
		res, err := Solve(t.Context(), &Workspace{}, p, s, Options{
			MaxIter: iterations, Rho: 2 * p.Nu / p.Kernel.SigmaMin(), Tau: 1, Delta: delta, Tol: 1e-300,
			Observe: func(it Iteration) {
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
func TestEveryLossFindsTheSupervisedOptimum(t *testing.T) {
	for k, l := range slices.Concat(losses, losses) {
		offset := k >= len(losses)
		t.Run(fmt.Sprintf("%T/offset=%v", l, offset), func(t *testing.T) {
			const labels, d = 3, 4
			p, s, truth := instance(23, 80, d, labels)
			p.Loss = l
			copy(s.Y, truth)
			if offset {
				rng := rand.New(rand.NewPCG(7, 7))
				w, scores := make([]float64, labels*d), make([]float64, len(s.Scores))
				for i := range w {
					w[i] = rng.NormFloat64()
				}
				p.Kernel.(*kernel.Linear).Scores(scores, w, labels)
				p.Offset = scores
				settle(p, s)
			}
			for i, y := range truth {
				for k := range labels {
					p.Unary[i*labels+k] = math.Inf(1)
				}
				p.Unary[i*labels+int(y)] = 0
			}
			if _, err := Solve(t.Context(), &Workspace{}, p, s, Options{MaxIter: 5000, Tol: 1e-11}); err != nil {
				t.Fatal(err)
			}
			objective := func(alpha []float64) float64 {
				ka := product(p, alpha)
				v := 0.0
				for i, a := range alpha {
					v += p.Nu * a * ka[i]
				}
				for i, o := range p.Offset {
					ka[i] += o
				}
				return v + p.Loss.Value(ka, nil, truth, labels)
			}
			found := make([]float64, len(s.Lambda))
			s.Alpha(found, p.Nu)
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
			if _, ok := l.(squares); ok { // g = β − s
				for i, b := range s.Scores {
					if r := b - sign(i%labels, truth[i/labels]) + 2*p.Nu*found[i]; math.Abs(r) > 1e-8 {
						t.Fatalf("gradient of the supervised problem is %g at label %d of sample %d", r, i%labels, i/labels)
					}
				}
			}
		})
	}
}
