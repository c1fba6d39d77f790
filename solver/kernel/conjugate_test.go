package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Rows wider than there are samples, for which no d×d matrix is formed.
func TestConjugateAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for _, labels := range []int{1, 2, 4} {
		const n, d, gamma, nu = 60, 500, 0.5, 0.5
		x := randomMatrix(rng, n*d)
		var p Product
		p.Reset([]*Block{Rows(x[:20*d], 20, d), Rows(x[20*d:], 40, d)}, gamma)
		exact, err := NewDense(gramOfRows(x, n, d), n, gamma)
		if err != nil {
			t.Fatal(err)
		}
		k := Conjugate{Op: &p}
		if k.Len() != n || k.SigmaMin() != gamma {
			t.Errorf("n=%d, σ_min=%g; want %d and %g", k.Len(), k.SigmaMin(), n, gamma)
		}
		r := randomMatrix(rng, n*labels)
		got, want := make([]float64, len(r)), make([]float64, len(r))
		for _, rho := range []float64{0.01, 1} {
			for _, kernel := range []interface{ Factor(nu, rho float64) error }{&k, exact} {
				if err := kernel.Factor(nu, rho); err != nil {
					t.Fatal(err)
				}
			}
			k.Solve(got, r, labels)
			exact.Solve(want, r, labels)
			near(t, "α", got, want)
			if rep := k.Report(); !rep.Converged || rep.Iterations == 0 || rep.Residual > 1e-10 {
				t.Errorf("ρ=%g: report %+v", rho, rep)
			}
		}
	}
}

func gramOfRows(x []float64, n, d int) []float64 {
	k := make([]float64, n*n)
	products(k, x, x, n, n, d)
	return k
}

// diagonal is an operator with given eigenvalues, which counts its products.
type diagonal struct {
	values []float64
	count  int
}

func (k *diagonal) Len() int          { return len(k.values) }
func (k *diagonal) SigmaMin() float64 { return k.values[0] }
func (k *diagonal) Mul(dst, alpha []float64, labels int) {
	k.count++
	for i, v := range alpha {
		dst[i] = k.values[i/labels] * v
	}
}

// Conjugate gradients need as many steps as there are distinct eigenvalues, none
// when they start at the solution, and few when they start near it.
func TestConjugateIterations(t *testing.T) {
	values := make([]float64, 90)
	for i := range values {
		values[i] = float64(1 + i%3)
	}
	op := &diagonal{values: values}
	k := Conjugate{Op: op}
	if err := k.Factor(0.5, 2); err != nil {
		t.Fatal(err)
	}
	r := randomMatrix(rand.New(rand.NewPCG(2, 5)), 180)
	alpha := make([]float64, 180)
	k.Solve(alpha, r, 2)
	if rep := k.Report(); rep.Iterations != 3 || op.count != 3 || !rep.Converged {
		t.Errorf("cold: %+v after %d products; want 3 iterations", rep, op.count)
	}
	k.Solve(alpha, r, 2)
	if rep := k.Report(); rep.Iterations != 0 || op.count != 4 {
		t.Errorf("from the solution: %+v after %d products; want no iteration and one product", rep, op.count)
	}
	k.Forget()
	k.Solve(alpha, r, 2)
	if rep := k.Report(); rep.Iterations != 3 {
		t.Errorf("after Forget: %+v; want 3 iterations", rep)
	}
}

func TestConjugateWarmStartHelps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const n, d = 300, 40
	var p Product
	p.Reset([]*Block{Rows(randomMatrix(rng, n*d), n, d)}, 0.01)
	k := Conjugate{Op: &p, Tol: 1e-6}
	if err := k.Factor(0.5, 10); err != nil {
		t.Fatal(err)
	}
	r, alpha := randomMatrix(rng, n), make([]float64, n)
	k.Solve(alpha, r, 1)
	cold := k.Report().Iterations
	for i := range r {
		r[i] += 1e-4 * rng.NormFloat64()
	}
	k.Solve(alpha, r, 1)
	if warm := k.Report().Iterations; 4*warm > 3*cold {
		t.Errorf("%d iterations from the last solution, %d from 0; want at most three quarters", warm, cold)
	}
}

// The cap ends a solve with what there is, and says so.
func TestConjugateStopsAtItsCap(t *testing.T) {
	values := make([]float64, 50)
	for i := range values {
		values[i] = math.Pow(10, float64(i)/5)
	}
	k := Conjugate{Op: &diagonal{values: values}, MaxIter: 4}
	if err := k.Factor(0.5, 1); err != nil {
		t.Fatal(err)
	}
	r, alpha := randomMatrix(rand.New(rand.NewPCG(4, 5)), 50), make([]float64, 50)
	k.Solve(alpha, r, 1)
	left, size := 0.0, 0.0
	for i, v := range r {
		d := v - (1+values[i])*alpha[i]
		left += d * d
		size += v * v
	}
	rep := k.Report()
	if rep.Converged || rep.Iterations != 4 || math.Abs(rep.Residual-math.Sqrt(left/size)) > 1e-9 {
		t.Errorf("report %+v; want 4 iterations, not converged, residual %g", rep, math.Sqrt(left/size))
	}
}

// A label whose R is 0 has α = 0 and does not hold the others up; a NaN comes out
// as NaN and is forgotten.
func TestConjugateOddColumns(t *testing.T) {
	k := Conjugate{Op: &diagonal{values: []float64{1, 2, 3}}}
	if err := k.Factor(0.5, 1); err != nil {
		t.Fatal(err)
	}
	alpha := make([]float64, 6)
	k.Solve(alpha, []float64{2, 1, 3, 1, 4, 1}, 2)
	near(t, "α", alpha, []float64{1, 0.5, 1, 1. / 3, 1, 0.25})
	k.Solve(alpha, []float64{2, 0, 3, 0, 4, 0}, 2) // the warm start of the second column is not 0
	near(t, "α", alpha, []float64{1, 0, 1, 0, 1, 0})
	k.Solve(alpha, []float64{2, math.NaN(), 3, 0, 4, 0}, 2)
	if !math.IsNaN(alpha[1]) || k.Report().Converged {
		t.Errorf("a NaN gave α = %v, %+v", alpha, k.Report())
	}
	k.Solve(alpha, []float64{2, 2, 3, 3, 4, 4}, 2)
	near(t, "α after a NaN", alpha, []float64{1, 1, 1, 1, 1, 1})
	if err := k.Factor(0.5, 0); !errors.Is(err, ErrNotFinite) {
		t.Errorf("ρ = 0: error %v; want ErrNotFinite", err)
	}
	panics(t, map[string]func(){"unfactored": func() { new(Conjugate).Solve(nil, nil, 1) }})
}

func TestConjugateAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, d, labels = 200, 30, 3
	var p Product
	p.Reset([]*Block{Rows(randomMatrix(rng, n*d), n, d)}, 1)
	k := Conjugate{Op: &p}
	r, alpha := randomMatrix(rng, n*labels), make([]float64, n*labels)
	rho := 1.0
	run := func() {
		if err := k.Factor(0.5, rho); err != nil {
			t.Fatal(err)
		}
		rho *= 1.1
		k.Solve(alpha, r, labels)
	}
	run()
	if allocs := testing.AllocsPerRun(20, run); allocs > 0 {
		t.Errorf("%g allocations a solve; want none", allocs)
	}
}

func ExampleConjugate() {
	var p Product
	p.Reset([]*Block{Rows([]float64{1, 0, 0, 2}, 2, 2)}, 1) // K = diag(2, 5)
	k := Conjugate{Op: &p}
	if err := k.Factor(0.5, 1); err != nil { // 2νI + ρK = diag(3, 6)
		fmt.Println(err)
		return
	}
	alpha := make([]float64, 2)
	k.Solve(alpha, []float64{3, 12}, 1)
	fmt.Printf("%.0f after %d iterations\n", alpha, k.Report().Iterations)
	// Output: [1 2] after 2 iterations
}
