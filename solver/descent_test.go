package solver_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/solver/solvertest"
)

func TestRisesAreSeen(t *testing.T) {
	tests := []struct {
		name    string
		rho     float64 // in units of 2ν/σ_min(K)
		prepare func(s *solver.State, rng *rand.Rand)
		first   bool // the start is not consistent, and the first iteration rises
	}{
		{"ρ far below", 1e-3, func(*solver.State, *rand.Rand) {}, false},
		{"ρ a tenth", 0.1, func(*solver.State, *rand.Rand) {}, false},
		{"λ of no α", 1, func(s *solver.State, rng *rand.Rand) {
			for i := range s.Lambda {
				s.Lambda[i] = 10 * rng.NormFloat64()
			}
		}, true},
		{"λ zeroed", 1, func(s *solver.State, _ *rand.Rand) { clear(s.Lambda) }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(31, 32))
			p, s := solvertest.Random(rng, loss.Hinge{}, 3)
			safe := 2 * p.Nu / p.Kernel.SigmaMin()
			test.prepare(s, rng)
			rose, _ := solvertest.Observed(t, p, s, solver.Options{MaxIter: 30, Rho: test.rho * safe, RhoMax: test.rho * safe, Tol: 1e-300}, !test.first)
			if len(rose) == 0 || test.first && rose[0].Index != 0 {
				t.Fatalf("iterations %v rose", rose)
			}
			for _, it := range rose {
				if it.Guaranteed {
					t.Errorf("iteration %d was guaranteed not to rise", it.Index)
				}
			}
		})
	}
}

// Over-relaxation below 2 keeps the guarantee, in either metric of the kernel.
func TestOverRelaxationDescends(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(51, seed))
		p, s := solvertest.Random(rng, loss.Hinge{}, 2+int(seed%2))
		k := p.Kernel.(*kernel.Linear)
		if seed%3 == 0 {
			k.Whiten(k.SigmaMin()/2, 1)
			solvertest.Settle(p, s)
		}
		rho := 2 * p.Nu / k.SigmaMin() * []float64{1, 1, 3}[rng.IntN(3)]
		relax := []float64{1.3, 1.6, 1.9, 1.99}[rng.IntN(4)]
		rose, res := solvertest.Observed(t, p, s, solver.Options{MaxIter: 30, Rho: rho, RhoMax: rho, Relax: relax, Tol: 1e-300}, true)
		if len(rose) > 0 || res.Guaranteed != res.Iterations {
			t.Errorf("seed %d: ρ %g, relaxation %g: %+v rose, %d of %d iterations guaranteed", seed, rho, relax, rose, res.Guaranteed, res.Iterations)
		}
	}
}

// With the eigenvalues of K within half of one another, relaxation by 1.9 converges in a few iterations whatever the rows
// are, and to what any other one converges to.
func TestWhitenedConvergesSoon(t *testing.T) {
	for seed := range uint64(20) {
		var want []float64
		for _, relax := range []float64{1, 1.9} {
			p, s := solvertest.Random(rand.New(rand.NewPCG(53, seed)), loss.Hinge{}, 2)
			k := p.Kernel.(*kernel.Linear)
			k.Whiten(k.SigmaMin()/2, 1)
			clear(s.Lambda)
			solvertest.Settle(p, s)
			for i, y := range s.Y { // known labels: the problem is convex
				p.Unary[2*i+1-int(y)] = math.Inf(1)
			}
			rho := 2 * p.Nu / k.SigmaMin()
			res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 60, Rho: rho, Relax: relax, Tol: 1e-6, Consistent: true})
			if err != nil || res.Status != solver.Converged || relax > 1 && res.Iterations > 12 {
				t.Errorf("seed %d, relaxation %g: %v, %s after %d iterations", seed, relax, err, res.Status, res.Iterations)
			}
			if want == nil {
				want = s.Scores
			}
			for i, v := range s.Scores {
				if math.Abs(v-want[i]) > 1e-4 {
					t.Fatalf("seed %d, relaxation %g: score %d is %g; want %g", seed, relax, i, v, want[i])
				}
			}
		}
	}
}

// Labels that lower the Lagrangian by less than δ are refused.
func TestDelta(t *testing.T) {
	for _, test := range []struct {
		delta  float64
		refuse bool
	}{{0, false}, {0.29, false}, {0.31, true}} {
		var k kernel.Linear
		k.Reset([]*kernel.Block{solvertest.Block([]float64{1, -1}, 2, 1)}, 1)
		var none mrf.Potts
		none.Reset(2, 2, nil)
		s := solvertest.Cold(2, 2) // at scores 0 both labels have the same loss
		p := &solver.Problem{Labels: 2, Loss: loss.Hinge{}, Kernel: &k, MRF: &none, Unary: []float64{0.3, 0, 0, 0.3}, Nu: 1}
		res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 1, Delta: test.delta})
		if err != nil || (s.Y[0] == 0) != test.refuse || (res.Rejected == 1) != test.refuse || (res.Flips == 0) != test.refuse {
			t.Errorf("δ = %g: labels %v, %+v, %v; want labels that lower it by 0.3 refused: %t", test.delta, s.Y, res, err, test.refuse)
		}
	}
}

// A start with forbidden labels costs +Inf, and leaving it is no rise.
func TestForbiddenStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	p, s := solvertest.Random(rng, loss.Hinge{}, 2)
	s.Y[3] = 1
	p.Unary[6], p.Unary[7] = 0, math.Inf(1)
	res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 1})
	if err != nil || !math.IsInf(res.Start, 1) || res.Violations != 0 || s.Y[3] != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}
