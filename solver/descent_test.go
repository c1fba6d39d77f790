package solver_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/loss"
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

func TestOverRelaxationIsNotGuaranteed(t *testing.T) {
	p, s := solvertest.Random(rand.New(rand.NewPCG(51, 52)), loss.Hinge{}, 2)
	res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 5, Rho: 4 * p.Nu / p.Kernel.SigmaMin(), Relax: 1.5, Tol: 1e-300, Consistent: true})
	if err != nil || res.Iterations != 5 || res.Guaranteed != 0 {
		t.Errorf("%+v, %v", res, err)
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
