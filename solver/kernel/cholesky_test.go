package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

func TestCholesky(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, d := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 64, 67, 131} {
		n := d + 3
		x := randomMatrix(rng, n*d)
		a := slices.Clone(newBlock(x, n, d).Gram)
		want := slices.Clone(a)
		scratch := make([]float64, panelRows*d)
		if !cholesky(a, d, scratch) {
			t.Fatalf("d = %d: not positive definite", d)
		}
		v := randomMatrix(rng, d)
		solved := slices.Clone(v)
		substitute(solved, a, d)
		for i := range d {
			for j := i; j < d; j++ {
				sum := 0.0
				for k := range i + 1 {
					sum += a[k*d+i] * a[k*d+j]
				}
				if math.Abs(sum-want[i*d+j]) > 1e-12*float64(n) {
					t.Fatalf("d = %d: (UᵀU)[%d,%d] = %g; want %g", d, i, j, sum, want[i*d+j])
				}
				if a[j*d+i] != a[i*d+j] {
					t.Fatalf("d = %d: below the diagonal [%d,%d] = %g; above it %g", d, j, i, a[j*d+i], a[i*d+j])
				}
			}
		}
		for i := range d {
			sum := 0.0
			for j := range d {
				sum += want[min(i, j)*d+max(i, j)] * solved[j]
			}
			if math.Abs(sum-v[i]) > 1e-8 {
				t.Fatalf("d = %d: row %d of the matrix times the solution is %g; want %g", d, i, sum, v[i])
			}
		}
	}
}

func TestCholeskyRefuses(t *testing.T) {
	for name, a := range map[string][]float64{
		"indefinite": {1, 2, 0, 1},
		"singular":   {1, 1, 0, 1},
		"NaN":        {1, math.NaN(), 0, 1},
		"infinite":   {math.Inf(1), 0, 0, 1},
	} {
		if cholesky(a, 2, make([]float64, 2*panelRows)) {
			t.Errorf("%s: factorised to %v; want a refusal", name, a)
		}
	}
}

func TestGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, n := range []int{1, gramRows - 1, gramRows, 2*gramRows + 3} {
		for _, d := range []int{1, 3, 4, 7, 8, 9, 15, 130} {
			t.Run(fmt.Sprintf("%d×%d", n, d), func(t *testing.T) {
				x := randomMatrix(rng, n*d)
				var got [2][]float64
				for i, procs := range []int{1, 3} {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					got[i] = newBlock(x, n, d).Gram
				}
				for i := range d {
					for j := i; j < d; j++ {
						sum := 0.0
						for k := range n {
							sum += float64(x[k*d+i] * x[k*d+j])
						}
						if got[0][i*d+j] != sum || got[1][i*d+j] != sum {
							t.Fatalf("[%d,%d] is %g by one goroutine and %g by three; want %g", i, j, got[0][i*d+j], got[1][i*d+j], sum)
						}
					}
				}
			})
		}
	}
}
