package loss_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/lab/loss"
	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
)

// instance is two or more Gaussian clusters on a ring graph, some samples known.
func instance(seed uint64, n, d, labels int) (*solver.Problem, *solver.State, []int32) {
	rng := rand.New(rand.NewPCG(seed, 7))
	x, truth := make([]float64, n*d), make([]int32, n)
	unary := make([]float64, n*labels)
	var edges []mrf.Edge
	for i := range n {
		truth[i] = int32(i * labels / n)
		for k := range d {
			x[i*d+k] = rng.NormFloat64()
		}
		x[i*d+int(truth[i])] += 3
		if i%10 == 0 {
			for l := range labels {
				if l != int(truth[i]) {
					unary[i*labels+l] = math.Inf(1)
				}
			}
		}
		edges = append(edges, mrf.Edge{I: int32(i), J: int32((i + 1) % n), W: 0.2})
	}
	var k kernel.Linear
	k.Reset([]*kernel.Block{kernel.NewBlock(x[:n/2*d], n/2, d), kernel.NewBlock(x[n/2*d:], n-n/2, d)}, 0.5)
	var p mrf.Potts
	p.Reset(n, labels, edges)
	s := &solver.State{Scores: make([]float64, n*labels), Lambda: make([]float64, n*labels), Y: make([]int32, n)}
	for i := range n {
		if i%10 == 0 {
			s.Y[i] = truth[i]
		}
	}
	return &solver.Problem{Labels: labels, Loss: loss.Softmax{}, Kernel: &k, MRF: &p, Unary: unary, Nu: 0.5}, s, truth
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
func forEachLoss(t *testing.T, seed uint64, test func(t *testing.T, p *solver.Problem, s *solver.State)) {
	const samples = 60
	for _, l := range []solver.Loss{loss.CrammerSinger{}, loss.Softmax{}} {
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
	forEachLoss(t, 21, func(t *testing.T, p *solver.Problem, s *solver.State) {
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

// With every label known the result is where the objective's gradient is 0: ω_i g_i + 2να_i with the loss'
// gradient g = softmax(β) − e_y.
func TestSoftmaxFindsTheSupervisedOptimum(t *testing.T) {
	const labels = 3
	p, s, truth := instance(23, 80, 4, labels)
	copy(s.Y, truth)
	for i, y := range truth {
		for k := range labels {
			p.Unary[i*labels+k] = math.Inf(1)
		}
		p.Unary[i*labels+int(y)] = 0
	}
	if _, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 5000, Tol: 1e-11}); err != nil {
		t.Fatal(err)
	}
	found := make([]float64, len(s.Lambda))
	s.Alpha(found, p.Nu)
	for i, y := range truth {
		sum := 0.0
		for _, b := range s.Scores[i*labels : (i+1)*labels] {
			sum += math.Exp(b)
		}
		for k := range labels {
			r := math.Exp(s.Scores[i*labels+k])/sum + 2*p.Nu*found[i*labels+k]
			if k == int(y) {
				r--
			}
			if math.Abs(r) > 1e-8 {
				t.Fatalf("gradient of the supervised problem is %g at label %d of sample %d", r, k, i)
			}
		}
	}
}
