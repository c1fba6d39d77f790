// Package solvertest has problems to solve, and the laws that hold for every loss (Losses), for the tests of package
// solver and of losses elsewhere.
package solvertest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

// Cold is a start that knows nothing.
func Cold(n, labels int) *solver.State {
	return &solver.State{Scores: make([]float64, n*labels), Lambda: make([]float64, n*labels), Y: make([]int32, n)}
}

// Block is a block of rows that fit; others panic.
func Block(x []float64, n, d int) *kernel.Block {
	b, err := kernel.NewBlock(x, n, d)
	must(err)
	return b
}

// must is for problems that are made so that they are some.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Instance is two or more Gaussian clusters on a ring graph, some samples known.
func Instance(seed uint64, n, d, labels int) (*solver.Problem, *solver.State, []int32) {
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
	must(k.Reset([]*kernel.Block{Block(x[:n/2*d], n/2, d), Block(x[n/2*d:], n-n/2, d)}, 0.5))
	var p mrf.Potts
	must(p.Reset(n, labels, edges))
	s := Cold(n, labels)
	for i := range n {
		if i%10 == 0 {
			s.Y[i] = truth[i]
		}
	}
	return &solver.Problem{Labels: labels, Loss: loss.Hinge{}, Kernel: &k, MRF: &p, Unary: unary, Nu: 0.5}, s, truth
}

// Product is Kα of a linear kernel, XM⁻¹Xᵀα + γα.
func Product(p *solver.Problem, alpha []float64) []float64 {
	k := p.Kernel.(*kernel.Linear)
	// The classifier has as many columns as the rows, which k does not tell.
	w, ka := make([]float64, maxColumns*p.Labels), make([]float64, len(alpha))
	must(k.Weights(w, alpha, p.Labels))
	must(k.Scores(ka, w, p.Labels))
	for i, a := range alpha {
		ka[i] += k.SigmaMin() * a
	}
	return ka
}

// maxColumns bounds the columns of these tests' kernels.
const maxColumns = 100

// Settle makes a start consistent by its multipliers: Scores = O + Kα, α = −λ/2ν.
func Settle(p *solver.Problem, s *solver.State) {
	alpha := make([]float64, len(s.Lambda))
	must(s.Alpha(alpha, p.Nu))
	copy(s.Scores, Product(p, alpha))
	for i, o := range p.Offset {
		s.Scores[i] += o
	}
}

// iterate4 is an iterate of Alg. 1 with all four variables.
type iterate4 struct {
	alpha, beta, lambda []float64
	y                   []int32
}

// lagrangianOf is eq. dc_augm_lagr as written.
func lagrangianOf(p *solver.Problem, it iterate4, rho float64) float64 {
	ka := Product(p, it.alpha)
	sum, err := p.Loss.Value(it.beta, p.Omega, it.y, p.Labels)
	must(err)
	energy, err := p.MRF.Energy(it.y)
	must(err)
	sum += energy
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

// Random is a problem with weights, some of them 0, forbidden labels and, every other
// time, an offset; and a consistent start of allowed labels.
func Random(rng *rand.Rand, l solver.Loss, labels int) (*solver.Problem, *solver.State) {
	n, d := 20+rng.IntN(40), 2+rng.IntN(6)
	x, unary, omega := make([]float64, n*d), make([]float64, n*labels), make([]float64, n)
	s := Cold(n, labels)
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
	must(k.Reset([]*kernel.Block{Block(x, n, d)}, math.Pow(10, 1-2*rng.Float64())))
	var graph mrf.Potts
	must(graph.Reset(n, labels, edges))
	p := &solver.Problem{Labels: labels, Loss: l, Kernel: &k, MRF: &graph, Omega: omega, Unary: unary, Nu: math.Pow(10, 1-2*rng.Float64())}
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
	Settle(p, s)
	return p, s
}

// Observed solves and checks what each iteration tells of the Lagrangian against
// lagrangianOf before and after, but for a first one from a start that is not
// consistent. It returns the iterations that raised it.
func Observed(t *testing.T, p *solver.Problem, s *solver.State, opt solver.Options, consistent bool) (rose []solver.Iteration, res solver.Result) {
	t.Helper()
	was := iterate4{lambda: append([]float64(nil), s.Lambda...), beta: append([]float64(nil), s.Scores...), y: append([]int32(nil), s.Y...)}
	was.alpha = make([]float64, len(s.Lambda))
	must(s.Alpha(was.alpha, p.Nu))
	start, guaranteed := lagrangianOf(p, was, 1), 0
	scores, relax := append([]float64(nil), s.Scores...), max(1, opt.Relax)
	best, rho := was, opt.Rho
	if rho == 0 {
		rho = 2 * p.Nu
	}
	best.beta = make([]float64, len(scores))
	for i, v := range scores {
		best.beta[i] = v + s.Lambda[i]/rho
	}
	must(p.Loss.Prox(best.beta, slices.Clone(best.beta), p.Omega, s.Y, p.Labels, rho))
	fitted := lagrangianOf(p, best, rho)
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-7*(1+math.Abs(want)) }
	opt.Consistent = consistent
	opt.Observe = func(it solver.Iteration) {
		now := iterate4{lambda: append([]float64(nil), s.Lambda...), y: append([]int32(nil), s.Y...)}
		now.alpha, now.beta = make([]float64, len(s.Lambda)), make([]float64, len(s.Lambda))
		must(s.Alpha(now.alpha, p.Nu))
		for i := range now.beta { // eq. update_dual tells the relaxed β, and that tells β
			relaxed := s.Scores[i] - (now.lambda[i]-was.lambda[i])/it.Rho
			now.beta[i] = (relaxed + (relax-1)*scores[i]) / relax
		}
		before, after := lagrangianOf(p, was, it.Rho), lagrangianOf(p, now, it.Rho)
		if !near(it.Lagrangian, after) {
			t.Errorf("iteration %d: Lagrangian %.12g; written out it is %.12g", it.Index, it.Lagrangian, after)
		}
		if rise := after - before; (it.Index > 0 || consistent) && math.Abs(rise) > 1e-6*(1+math.Abs(before)) && it.Rose != (rise > 0) {
			t.Errorf("iteration %d at ρ=%g: Lagrangian from %.12g to %.12g; rose is %v", it.Index, it.Rho, before, after, it.Rose)
		}
		if want := (it.Index > 0 || consistent) && it.Rho >= 2*p.Nu/p.Kernel.SigmaMin() && relax < 2; it.Guaranteed != want {
			t.Errorf("iteration %d at ρ=%g: guaranteed is %v", it.Index, it.Rho, it.Guaranteed)
		}
		if it.Rose {
			rose = append(rose, it)
		}
		if it.Guaranteed {
			guaranteed++
		}
		was = now
		copy(scores, s.Scores)
	}
	res, err := solver.Solve(t.Context(), &solver.Workspace{}, p, s, opt)
	if err != nil {
		t.Fatal(err)
	}
	if consistent && (!near(res.Start, start) || !near(res.Fitted, fitted)) {
		t.Errorf("started at %.12g, fitted %.12g; the objective there is %.12g, and the Lagrangian with the best β %.12g", res.Start, res.Fitted, start, fitted)
	}
	if res.Violations != len(rose) || res.Guaranteed != guaranteed {
		t.Errorf("%d iterations rose and %d were guaranteed; the result has %d and %d", len(rose), guaranteed, res.Violations, res.Guaranteed)
	}
	return rose, res
}
