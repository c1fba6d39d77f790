package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/solver/solvertest"
)

func TestSolveFindsClusters(t *testing.T) {
	for labels := 2; labels <= 4; labels++ {
		p, s, truth := solvertest.Instance(1, 240, 6, labels)
		res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 500})
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i := range truth {
			if s.Y[i] != truth[i] {
				wrong++
			}
			if i%10 == 0 && s.Y[i] != truth[i] {
				t.Errorf("L=%d: known label of sample %d was changed", labels, i)
			}
		}
		if wrong > len(truth)/20 {
			t.Errorf("L=%d: %d of %d labels wrong after %d iterations (%s)", labels, wrong, len(truth), res.Iterations, res.Status)
		}
	}
}

// randomMRF proposes arbitrary labelings; the descent check must hold anyway.
type randomMRF struct {
	*mrf.Potts
	rng    *rand.Rand
	labels int
}

func (r randomMRF) Label(_ context.Context, y []int32, _ []float64) error {
	for i := range y {
		if i%10 != 0 && r.rng.IntN(20) == 0 {
			y[i] = int32(r.rng.IntN(r.labels))
		}
	}
	return nil
}

// Lemma sufficient_descent with the sharp condition ρσ_min(K) ≥ 2ν.
func TestLagrangianDescends(t *testing.T) {
	for labels := 2; labels <= 3; labels++ {
		for _, random := range []bool{false, true} {
			p, s, _ := solvertest.Instance(2, 150, 5, labels)
			if random {
				p.MRF = randomMRF{p.MRF.(*mrf.Potts), rand.New(rand.NewPCG(5, 5)), labels}
			}
			last, rejected := math.Inf(1), 0
			res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{
				MaxIter: 3000, Rho: 2 * p.Nu / p.Kernel.SigmaMin(), Tau: 1,
				Observe: func(it solver.Iteration) {
					if it.Guaranteed != (it.Index > 0) {
						t.Errorf("iteration %d at ρ=%g: guaranteed is %v", it.Index, it.Rho, it.Guaranteed)
					}
					if it.Lagrangian > last+1e-9*math.Abs(last) {
						t.Errorf("L=%d random=%v iteration %d: Lagrangian rose from %g to %g", labels, random, it.Index, last, it.Lagrangian)
					}
					last = it.Lagrangian
					if it.Rejected {
						rejected++
					}
				}})
			if err != nil {
				t.Fatal(err)
			}
			if res.Violations != 0 || res.Rejected != rejected {
				t.Errorf("violations %d, rejected %d; observer saw %d", res.Violations, res.Rejected, rejected)
			}
			if random && rejected == 0 {
				t.Error("no random labeling was rejected")
			}
			if !random && res.Status != solver.Converged {
				t.Errorf("L=%d: %s after %d iterations, primal %g dual %g", labels, res.Status, res.Iterations, res.Last.Primal, res.Last.Dual)
			}
		}
	}
}

// One iteration against the paper's updates written out with λ explicit and K
// applied as a product.
func TestIterationAgainstTheUpdatesAsWritten(t *testing.T) {
	p, s, _ := solvertest.Instance(3, 60, 4, 2)
	rng := rand.New(rand.NewPCG(8, 8))
	n := len(s.Scores)
	lambda, scores, target := make([]float64, n), make([]float64, n), make([]float64, n)
	const rho = 0.6
	for i := range n {
		scores[i], lambda[i] = rng.NormFloat64(), 0.1*rng.NormFloat64()
		target[i] = scores[i] + lambda[i]/rho
	}
	copy(s.Scores, scores)
	copy(s.Lambda, lambda)
	if _, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 1, Rho: rho}); err != nil {
		t.Fatal(err)
	}
	alpha, beta := make([]float64, n), make([]float64, n)
	s.Alpha(alpha, p.Nu)
	p.Loss.Prox(beta, target, nil, s.Y, p.Labels, rho)
	ka := solvertest.Product(p, alpha)
	for i, a := range alpha {
		if math.Abs(ka[i]-s.Scores[i]) > 1e-9 {
			t.Fatalf("score %d is %g; Kα is %g", i, s.Scores[i], ka[i])
		}
		// eq. update_alpha's normal equation, then eq. update_dual.
		if got, want := 2*p.Nu*a+rho*ka[i], rho*beta[i]-lambda[i]; math.Abs(got-want) > 1e-9 {
			t.Fatalf("α-update: entry %d of (2νI+ρK)α is %g; want ρβ−λ = %g", i, got, want)
		}
		if got, want := lambda[i]+rho*(ka[i]-beta[i]), s.Lambda[i]; math.Abs(got-want) > 1e-9 {
			t.Fatalf("dual update gives λ = %g; the state has %g", got, want)
		}
	}
}

// With every label known DC-ADMM is a trainer of linear classifiers. The objective
// to compare with is that of LIBLINEAR 2.3.0 on the same samples,
//
//	liblinear-train -s 3 -c 1 -B -1 -e 1e-6
//
// With two labels the one-vs-all hinge counts each sample twice and the second
// classifier is the first one's negative, so with ν = 1/2C ours is 2/C times
// LIBLINEAR's ½‖w‖² + C Σ max(0, 1 − y⟨w, x⟩), but for the ridge.
func TestKnownLabelsGiveLIBLINEARsObjective(t *testing.T) {
	const n, d, want = 400, 5, 137.18080
	rng := rand.New(rand.NewPCG(11, 12))
	x, y := make([]float64, n*d), make([]int32, n)
	for i := range n {
		y[i] = int32(rng.IntN(2))
		for k := range d {
			// Three decimals, as a text file has them.
			x[i*d+k] = math.Round(1000*(rng.NormFloat64()+0.5*float64(2*y[i]-1))) / 1000
		}
	}
	unary := make([]float64, 2*n)
	for i, yi := range y {
		unary[2*i+1-int(yi)] = math.Inf(1)
	}
	for _, relax := range []float64{1, 1.7} {
		var k kernel.Linear
		k.Reset([]*kernel.Block{solvertest.Block(x, n, d)}, 1e-6)
		var none mrf.Potts
		none.Reset(n, 2, nil)
		s := solvertest.Cold(n, 2)
		copy(s.Y, y)
		p := &solver.Problem{Labels: 2, Loss: loss.Hinge{}, Kernel: &k, MRF: &none, Unary: unary, Nu: 0.5}
		res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 2000, Rho: 1, RhoMax: 1, Relax: relax, Tol: 1e-4})
		if err != nil || res.Status != solver.Converged || res.Last.Guaranteed {
			t.Fatalf("relax %g: %+v, %v; want convergence, and no guarantee at ρσ_min(K) < 2ν", relax, res, err)
		}
		alpha, w := make([]float64, 2*n), make([]float64, 2*d)
		s.Alpha(alpha, p.Nu)
		k.Weights(w, alpha, 2)
		got := 0.0
		for k := range d {
			got += w[d+k] * w[d+k] / 2
		}
		for i, yi := range y {
			score := 0.0
			for k := range d {
				score += w[d+k] * x[i*d+k]
			}
			got += math.Max(0, 1-float64(2*yi-1)*score)
		}
		if math.Abs(got/want-1) > 1e-3 {
			t.Errorf("relax %g: objective %.6f after %d iterations; LIBLINEAR's is %.6f", relax, got, res.Iterations, want)
		}
	}
}

func TestInterruptedKeepsTheBest(t *testing.T) {
	p, s, _ := solvertest.Instance(5, 100, 4, 2)
	ctx, cancel := context.WithCancel(t.Context())
	res, err := solver.Solve(ctx, &solver.Workspace{}, p, s, solver.Options{MaxIter: 100, Tol: 1e-300, Observe: func(it solver.Iteration) {
		if it.Index == 2 {
			cancel()
		}
	}})
	if err != nil || res.Status != solver.Interrupted || res.Iterations != 3 {
		t.Fatalf("status %s after %d iterations, error %v; want interrupted after 3", res.Status, res.Iterations, err)
	}
}

func TestNaNIsAnError(t *testing.T) {
	p, s, _ := solvertest.Instance(6, 40, 4, 2)
	s.Scores[3] = math.NaN()
	if _, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{}); err == nil {
		t.Fatal("a NaN among the scores was accepted")
	}
	p, s, _ = solvertest.Instance(6, 40, 4, 2)
	p.Omega = make([]float64, 40)
	p.Omega[0] = math.Inf(1)
	if _, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{}); !errors.Is(err, solver.ErrNotFinite) {
		t.Fatalf("infinite weight: error %v; want ErrNotFinite", err)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, n := range []int{200, 3 * solver.ParallelFrom / 4} { // by one goroutine, by several
		p, s, _ := solvertest.Instance(7, n, 6, 2)
		var ws solver.Workspace
		ctx := t.Context()
		run := func() {
			if _, err := solver.Solve(ctx, &ws, p, s, solver.Options{MaxIter: 5, Tol: 1e-300, Workers: 2}); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if allocs := testing.AllocsPerRun(20, run); allocs > 0 {
			t.Errorf("n = %d: %g allocations a solve; want none", n, allocs)
		}
	}
}

func TestWorkersGiveTheSameBits(t *testing.T) {
	for labels := 2; labels <= 3; labels++ {
		var want *solver.State
		var last solver.Iteration
		for _, workers := range []int{1, 2, 5} {
			p, s, _ := solvertest.Instance(9, solver.ParallelFrom, 6, labels)
			p.Kernel.(*kernel.Linear).SetWorkers(workers)
			res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, solver.Options{MaxIter: 10, Tol: 1e-300, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want, last = s, res.Last
				continue
			}
			if res.Last != last || !slices.Equal(s.Scores, want.Scores) || !slices.Equal(s.Lambda, want.Lambda) || !slices.Equal(s.Y, want.Y) {
				t.Errorf("L=%d: %d workers end at %+v; one at %+v", labels, workers, res.Last, last)
			}
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{2000, 12000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, s, _ := solvertest.Instance(8, n, 67, 2)
			var ws solver.Workspace
			b.ReportAllocs()
			for b.Loop() {
				clear(s.Scores)
				clear(s.Lambda)
				if _, err := solver.Solve(b.Context(), &ws, p, s, solver.Options{MaxIter: 20, Tol: 1e-300}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
