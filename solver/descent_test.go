package solver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

// iterate4 is an iterate of Alg. 1 with all four variables.
type iterate4 struct {
	alpha, beta, lambda []float64
	y                   []int32
}

// lagrangianOf is eq. dc_augm_lagr as written.
func lagrangianOf(p *Problem, it iterate4, rho float64) float64 {
	ka := product(p, it.alpha)
	sum := p.Loss.Value(it.beta, p.Omega, it.y, p.Labels) + p.MRF.Energy(it.y)
	for i, l := range it.y {
		sum += p.Unary[i*p.Labels+int(l)]
	}
	for i, k := range ka {
		gap := k - it.beta[i]
		if p.Offset != nil {
			gap += p.Offset[i]
		}
		sum += p.Nu*it.alpha[i]*k + it.lambda[i]*gap + rho/2*gap*gap
	}
	return sum
}

// random is a problem with weights, some of them 0, forbidden labels and, every other
// time, an offset; and a consistent start of allowed labels.
func random(rng *rand.Rand, l Loss, labels int) (*Problem, *State) {
	n, d := 20+rng.IntN(40), 2+rng.IntN(6)
	x, unary, omega := make([]float64, n*d), make([]float64, n*labels), make([]float64, n)
	s := cold(n, labels)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	var edges []mrf.Edge
	for i := range n {
		omega[i] = max(0, 2*rng.Float64()-0.2)
		s.Y[i] = int32(rng.IntN(labels))
		for k := range labels {
			unary[i*labels+k] = rng.NormFloat64()
			if k != int(s.Y[i]) && rng.IntN(5) == 0 {
				unary[i*labels+k] = math.Inf(1)
			}
		}
		edges = append(edges, mrf.Edge{I: int32(i), J: int32(rng.IntN(n)), W: rng.Float64()})
	}
	var k kernel.Linear
	k.Reset([]*kernel.Block{kernel.NewBlock(x, n, d)}, math.Pow(10, 1-2*rng.Float64()))
	var graph mrf.Potts
	graph.Reset(n, labels, edges)
	p := &Problem{Labels: labels, Loss: l, Kernel: &k, MRF: &graph, Omega: omega, Unary: unary, Nu: math.Pow(10, 1-2*rng.Float64())}
	scale := math.Pow(10, 1-2*rng.Float64())
	for i := range s.Lambda {
		s.Lambda[i] = scale * rng.NormFloat64()
	}
	if rng.IntN(2) == 0 {
		p.Offset = make([]float64, n*labels)
		for i := range p.Offset {
			p.Offset[i] = rng.NormFloat64()
		}
	}
	settle(p, s)
	return p, s
}

// observed solves and checks what each iteration tells of the Lagrangian against
// lagrangianOf before and after, but for a first one from a start that is not
// consistent. It returns the iterations that raised it.
func observed(t *testing.T, p *Problem, s *State, opt Options, consistent bool) (rose []Iteration, res Result) {
	t.Helper()
	was := iterate4{lambda: append([]float64(nil), s.Lambda...), beta: append([]float64(nil), s.Scores...), y: append([]int32(nil), s.Y...)}
	was.alpha = make([]float64, len(s.Lambda))
	s.Alpha(was.alpha, p.Nu)
	start, guaranteed := lagrangianOf(p, was, 1), 0
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-7*(1+math.Abs(want)) }
	opt.Consistent = consistent
	opt.Observe = func(it Iteration) {
		now := iterate4{lambda: append([]float64(nil), s.Lambda...), y: append([]int32(nil), s.Y...)}
		now.alpha, now.beta = make([]float64, len(s.Lambda)), make([]float64, len(s.Lambda))
		s.Alpha(now.alpha, p.Nu)
		for i := range now.beta { // eq. update_dual tells β
			now.beta[i] = s.Scores[i] - (now.lambda[i]-was.lambda[i])/it.Rho
		}
		before, after := lagrangianOf(p, was, it.Rho), lagrangianOf(p, now, it.Rho)
		if !near(it.Lagrangian, after) {
			t.Errorf("iteration %d: Lagrangian %.12g; written out it is %.12g", it.Index, it.Lagrangian, after)
		}
		if rise := after - before; (it.Index > 0 || consistent) && math.Abs(rise) > 1e-6*(1+math.Abs(before)) && it.Rose != (rise > 0) {
			t.Errorf("iteration %d at ρ=%g: Lagrangian from %.12g to %.12g; rose is %v", it.Index, it.Rho, before, after, it.Rose)
		}
		if want := (it.Index > 0 || consistent) && it.Rho >= 2*p.Nu/p.Kernel.SigmaMin(); it.Guaranteed != want {
			t.Errorf("iteration %d at ρ=%g: guaranteed is %v", it.Index, it.Rho, it.Guaranteed)
		}
		if it.Rose {
			rose = append(rose, it)
		}
		if it.Guaranteed {
			guaranteed++
		}
		was = now
	}
	res, err := Solve(t.Context(), &Workspace{}, p, s, opt)
	if err != nil {
		t.Fatal(err)
	}
	if consistent && !near(res.Start, start) {
		t.Errorf("started at %.12g; the objective there is %.12g", res.Start, start)
	}
	if res.Violations != len(rose) || res.Guaranteed != guaranteed {
		t.Errorf("%d iterations rose and %d were guaranteed; the result has %d and %d", len(rose), guaranteed, res.Violations, res.Guaranteed)
	}
	return rose, res
}

// The package comment's claim: from a consistent start nothing raises the
// Lagrangian where ρσ_min(K) ≥ 2ν, the first iteration and a growing ρ included.
func TestGuaranteedDescent(t *testing.T) {
	for _, l := range losses {
		for labels := 2; labels <= 4; labels++ {
			for _, from := range []float64{1, 3, 0.2} { // ρ₀ in units of 2ν/σ_min(K)
				t.Run(fmt.Sprintf("%T/L=%d/from=%g", l, labels, from), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(labels), uint64(10*from)))
					flips := 0
					for range 12 {
						p, s := random(rng, l, labels)
						if rng.IntN(2) == 0 {
							p.MRF = timidMRF{p.MRF.(*mrf.Potts), rng, labels}
						}
						safe := 2 * p.Nu / p.Kernel.SigmaMin()
						rose, res := observed(t, p, s, Options{MaxIter: 40, Rho: from * safe, RhoMax: 20 * safe, Tau: 1.05 + rng.Float64()/3, Tol: 1e-300}, true)
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

func TestRisesAreSeen(t *testing.T) {
	tests := []struct {
		name    string
		rho     float64 // in units of 2ν/σ_min(K)
		prepare func(s *State, rng *rand.Rand)
		first   bool // the start is not consistent, and the first iteration rises
	}{
		{"ρ far below", 1e-3, func(*State, *rand.Rand) {}, false},
		{"ρ a tenth", 0.1, func(*State, *rand.Rand) {}, false},
		{"λ of no α", 1, func(s *State, rng *rand.Rand) {
			for i := range s.Lambda {
				s.Lambda[i] = 10 * rng.NormFloat64()
			}
		}, true},
		{"λ zeroed", 1, func(s *State, _ *rand.Rand) { clear(s.Lambda) }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(31, 32))
			p, s := random(rng, loss.Hinge{}, 3)
			safe := 2 * p.Nu / p.Kernel.SigmaMin()
			test.prepare(s, rng)
			rose, _ := observed(t, p, s, Options{MaxIter: 30, Rho: test.rho * safe, RhoMax: test.rho * safe, Tol: 1e-300}, !test.first)
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
	p, s := random(rand.New(rand.NewPCG(51, 52)), loss.Hinge{}, 2)
	res, err := Solve(t.Context(), &Workspace{}, p, s, Options{MaxIter: 5, Rho: 4 * p.Nu / p.Kernel.SigmaMin(), Relax: 1.5, Tol: 1e-300, Consistent: true})
	if err != nil || res.Iterations != 5 || res.Guaranteed != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A start with forbidden labels costs +Inf, and leaving it is no rise.
func TestForbiddenStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	p, s := random(rng, loss.Hinge{}, 2)
	s.Y[3] = 1
	p.Unary[6], p.Unary[7] = 0, math.Inf(1)
	res, err := Solve(t.Context(), &Workspace{}, p, s, Options{MaxIter: 1})
	if err != nil || !math.IsInf(res.Start, 1) || res.Violations != 0 || s.Y[3] != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}
