package gaussian

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/solver/kernel"
)

// byHand is the definition, entry by entry.
func byHand(x, y []float64, sigma float64) float64 {
	square := 0.0
	for i := range x {
		square += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Exp(-square / (2 * sigma * sigma))
}

// Full rank gives the kernel itself; less gives it within the tolerance.
func TestFactor(t *testing.T) {
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
			b, err := Factor(x, n, d, sigma, tt.rank, tt.tol)
			require.NoError(t, err)
			if b.N != n || b.D > tt.atMost {
				t.Errorf("%d×%d; want %d rows of at most %d", b.N, b.D, n, tt.atMost)
			}
			for i := range n {
				for j := range n {
					got := 0.0
					for k := range b.D {
						got += b.X[i*b.D+k] * b.X[j*b.D+k]
					}
					if want := byHand(x[i*d:(i+1)*d], x[j*d:(j+1)*d], sigma); math.Abs(got-want) > tt.tol+1e-7 {
						t.Fatalf("rank %d: K[%d,%d] = %g; want %g", b.D, i, j, got, want)
					}
				}
			}
		})
	}
	if b, err := Factor(x, n, d, sigma, 7, 0); err != nil || b.D != 7 {
		t.Errorf("%+v, %v; want the 7 columns asked for", b, err)
	}
	// Identical samples have one column.
	if b, err := Factor([]float64{0, 0, 1, 1, 0, 0, 1, 1, 3, 3}, 5, 2, 1, 5, 1e-9); err != nil || b.D != 3 {
		t.Errorf("%+v, %v of five samples, three of them different; want 3 columns", b, err)
	}
	for name, refused := range map[string]func() (*kernel.Block, error){
		"width": func() (*kernel.Block, error) { return Factor([]float64{1}, 1, 1, 0, 1, 0) },
		"rank":  func() (*kernel.Block, error) { return Factor([]float64{1}, 1, 1, 1, 0, 0) },
		"rows":  func() (*kernel.Block, error) { return Factor([]float64{1, 2}, 3, 1, 1, 1, 0) },
	} {
		_, err := refused()
		assert.ErrorIs(t, err, kernel.ErrInput, "%s: error", name)
	}
}

func randomMatrix(rng *rand.Rand, n int) []float64 {
	m := make([]float64, n)
	for i := range m {
		m[i] = rng.NormFloat64()
	}
	return m
}

func BenchmarkFactor(b *testing.B) {
	const n, d, rank = 1500, 241, 250
	x := randomMatrix(rand.New(rand.NewPCG(7, 7)), n*d)
	for b.Loop() {
		Factor(x, n, d, 16, rank, 1e-6)
	}
}
