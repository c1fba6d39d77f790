package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Full rank gives the kernel itself; less gives it within the tolerance.
func TestGaussianFactor(t *testing.T) {
	const n, d, sigma = 80, 2, 0.3
	x := randomMatrix(rand.New(rand.NewPCG(1, 6)), n*d)
	for _, tt := range []struct {
		name   string
		rank   int
		tol    float64
		atMost int
	}{
		{"full rank", n, 0, n},
		{"more than there are samples", 2 * n, 0, n},
		{"to a tolerance", n, 1e-2, n - 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := GaussianFactor(x, n, d, sigma, tt.rank, tt.tol)
			if b.N != n || b.D > tt.atMost {
				t.Errorf("%d×%d; want %d rows of at most %d", b.N, b.D, n, tt.atMost)
			}
			for i := range n {
				for j := range n {
					got := 0.0
					for k := range b.D {
						got += b.X[i*b.D+k] * b.X[j*b.D+k]
					}
					if want := gaussianByHand(x[i*d:(i+1)*d], x[j*d:(j+1)*d], sigma); math.Abs(got-want) > tt.tol+1e-7 {
						t.Fatalf("rank %d: K[%d,%d] = %g; want %g", b.D, i, j, got, want)
					}
				}
			}
		})
	}
	if b := GaussianFactor(x, n, d, sigma, 7, 0); b.D != 7 {
		t.Errorf("rank %d; want the 7 asked for", b.D)
	}
}
