package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// psd is a random positive semidefinite n×n matrix of rank d.
func psd(rng *rand.Rand, n, d int) []float64 {
	x := mat.NewDense(n, d, randomMatrix(rng, n*d))
	k := mat.NewDense(n, n, nil)
	k.Mul(x, x.T())
	return k.RawMatrix().Data
}

// residual is the largest entry of R − (2νI+ρ(K+γI))α.
func residual(k []float64, n, labels int, alpha, r []float64, nu, rho, gamma float64) float64 {
	var ka mat.Dense
	ka.Mul(mat.NewDense(n, n, k), mat.NewDense(n, labels, alpha))
	worst := 0.0
	for i, v := range ka.RawMatrix().Data {
		worst = math.Max(worst, math.Abs(r[i]-2*nu*alpha[i]-rho*(v+gamma*alpha[i])))
	}
	return worst
}

func TestDenseSolves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, tt := range []struct{ n, rank, labels int }{{1, 1, 1}, {7, 7, 2}, {40, 5, 3}, {150, 150, 6}} {
		t.Run(fmt.Sprintf("n=%d rank=%d", tt.n, tt.rank), func(t *testing.T) {
			const gamma, nu = 0.2, 0.5
			m := psd(rng, tt.n, tt.rank)
			before := append([]float64(nil), m...)
			k, err := NewDense(m, tt.n, gamma)
			if err != nil {
				t.Fatal(err)
			}
			sameBits(t, "the caller's K", m, before)
			var eigen mat.EigenSym
			eigen.Factorize(mat.NewSymDense(tt.n, before), false)
			want := math.Max(eigen.Values(nil)[0], 0) + gamma
			if got := k.SigmaMin(); got < gamma || math.Abs(got-want) > 1e-9 {
				t.Errorf("σ_min is %g; want %g", got, want)
			}
			r := randomMatrix(rng, tt.n*tt.labels)
			alpha := make([]float64, len(r))
			for _, rho := range []float64{0.1, 1, 30} {
				if err := k.Factor(nu, rho); err != nil {
					t.Fatal(err)
				}
				k.Solve(alpha, r, tt.labels)
				if worst := residual(m, tt.n, tt.labels, alpha, r, nu, rho, gamma); worst > 1e-8 {
					t.Errorf("ρ=%g: residual %g", rho, worst)
				}
			}
			got := make([]float64, len(r))
			k.Mul(got, alpha, tt.labels)
			var wantMul mat.Dense
			wantMul.Mul(mat.NewDense(tt.n, tt.n, m), mat.NewDense(tt.n, tt.labels, alpha))
			for i := range alpha {
				wantMul.RawMatrix().Data[i] += gamma * alpha[i]
			}
			near(t, "Kα", got, wantMul.RawMatrix().Data)
		})
	}
}

// An indefinite matrix counts as its positive part.
func TestDenseIndefinite(t *testing.T) {
	k, err := NewDense([]float64{0, 1, 1, 0}, 2, 0.5) // eigenvalues −1 and 1
	if err != nil {
		t.Fatal(err)
	}
	if k.SigmaMin() != 0.5 || k.Len() != 2 {
		t.Errorf("σ_min is %g, n is %d; want γ = 0.5 and 2", k.SigmaMin(), k.Len())
	}
	got := make([]float64, 2)
	k.Mul(got, []float64{1, 0}, 1)
	near(t, "Kα", got, []float64{1, 0.5})
}

func TestDenseRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		k    []float64
		n    int
		want error
	}{
		"NaN":         {[]float64{1, 0, math.NaN(), 1}, 2, ErrNotFinite},
		"infinity":    {[]float64{math.Inf(1)}, 1, ErrNotFinite},
		"asymmetric":  {[]float64{1, 0.5, 0.4, 1}, 2, ErrAsymmetric},
		"no samples":  {nil, 0, nil},
		"too many":    {nil, MaxDense + 1, nil},
		"rounded off": {[]float64{1, 0.5, 0.5 + 1e-12, 1}, 2, errAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewDense(tt.k, tt.n, 1)
			switch {
			case errors.Is(tt.want, errAccepted) && err != nil:
				t.Errorf("error %v; want none", err)
			case !errors.Is(tt.want, errAccepted) && (err == nil || tt.want != nil && !errors.Is(err, tt.want)):
				t.Errorf("error %v; want %v", err, tt.want)
			}
		})
	}
	k, err := NewDense([]float64{1}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Factor(0.5, math.NaN()); !errors.Is(err, ErrNotFinite) {
		t.Errorf("a NaN penalty: error %v; want ErrNotFinite", err)
	}
	panics(t, map[string]func(){
		"unfactored": func() { k.Solve(make([]float64, 1), make([]float64, 1), 1) },
		"ridge":      func() { _, _ = NewDense([]float64{1}, 1, 0) },
		"shape":      func() { _, _ = NewDense([]float64{1}, 2, 1) },
	})
}

// All are what the solver wants of a kernel.
var _, _, _ interface {
	Len() int
	SigmaMin() float64
	Factor(nu, rho float64) error
	Solve(alpha, r []float64, labels int)
} = (*Linear)(nil), (*Dense)(nil), (*Conjugate)(nil)

// errAccepted stands for no error in a table of errors.
var errAccepted = errors.New("accepted")

func TestDenseAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	const n, labels = 100, 2
	k, err := NewDense(psd(rng, n, n), n, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, alpha := randomMatrix(rng, n*labels), make([]float64, n*labels)
	run := func() {
		if err := k.Factor(0.5, 1); err != nil {
			t.Fatal(err)
		}
		k.Solve(alpha, r, labels)
	}
	run()
	if allocs := testing.AllocsPerRun(20, run); allocs > 0 {
		t.Errorf("%g allocations a solve; want none", allocs)
	}
}

func ExampleDense() {
	k, err := NewDense([]float64{2, 0, 0, 4}, 2, 1) // K + γI = diag(3, 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := k.Factor(0.5, 1); err != nil { // 2νI + ρK = diag(4, 6)
		fmt.Println(err)
		return
	}
	alpha := make([]float64, 2)
	k.Solve(alpha, []float64{8, 6}, 1)
	fmt.Println(alpha)
	// Output: [2 1]
}
