package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func randomBlocks(rng *rand.Rand, d int, sizes ...int) ([]*Block, *mat.Dense) {
	var blocks []*Block
	var all []float64
	n := 0
	for _, size := range sizes {
		x := make([]float64, size*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		blocks = append(blocks, NewBlock(x, size, d))
		all = append(all, x...)
		n += size
	}
	return blocks, mat.NewDense(n, d, all)
}

// dense forms K = XXᵀ + γI, the oracle.
func dense(x *mat.Dense, gamma float64) *mat.Dense {
	n, _ := x.Dims()
	k := mat.NewDense(n, n, nil)
	k.Mul(x, x.T())
	for i := range n {
		k.Set(i, i, k.At(i, i)+gamma)
	}
	return k
}

func randomMatrix(rng *rand.Rand, n int) []float64 {
	m := make([]float64, n)
	for i := range m {
		m[i] = rng.NormFloat64()
	}
	return m
}

func TestLinearAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct {
		name   string
		d      int
		sizes  []int
		labels int
	}{
		{"one block", 3, []int{20}, 2},
		{"fewer samples than columns", 9, []int{4}, 2},
		{"many blocks, one empty", 5, []int{7, 0, 12, 1}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const gamma, nu, rho = 0.3, 0.5, 0.2
			blocks, x := randomBlocks(rng, tt.d, tt.sizes...)
			var k Linear
			k.Reset(blocks, gamma)
			n := k.Len()
			want := dense(x, gamma)
			a := randomMatrix(rng, n*tt.labels)

			got := make([]float64, n*tt.labels)
			k.Mul(got, a, tt.labels)
			var ka mat.Dense
			ka.Mul(want, mat.NewDense(n, tt.labels, a))
			near(t, "Kα", got, ka.RawMatrix().Data)

			if err := k.Factor(nu, rho); err != nil {
				t.Fatal(err)
			}
			k.Solve(got, a, tt.labels)
			want.Scale(rho, want)
			for i := range n {
				want.Set(i, i, want.At(i, i)+2*nu)
			}
			var back mat.Dense
			back.Mul(want, mat.NewDense(n, tt.labels, got))
			near(t, "(2νI+ρK)·Solve(R)", back.RawMatrix().Data, a)

			w := make([]float64, tt.labels*tt.d)
			k.Weights(w, a, tt.labels)
			var xa mat.Dense
			xa.Mul(mat.NewDense(n, tt.labels, a).T(), x)
			near(t, "Xᵀα", w, xa.RawMatrix().Data)
		})
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9*(1+math.Abs(want[i])) {
			t.Fatalf("%s[%d] = %g; want %g", what, i, got[i], want[i])
		}
	}
}

// Two mirrored columns take the short cut and must give what one column does.
func TestSolveMirrored(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	blocks, _ := randomBlocks(rng, 4, 30)
	var k Linear
	k.Reset(blocks, 1)
	if err := k.Factor(0.5, 2); err != nil {
		t.Fatal(err)
	}
	r := randomMatrix(rng, 30)
	both, one, want := make([]float64, 60), make([]float64, 30), make([]float64, 60)
	for i, v := range r {
		both[2*i], both[2*i+1] = v, -v
	}
	k.Solve(one, r, 1)
	for i, v := range one {
		want[2*i], want[2*i+1] = v, -v
	}
	got := make([]float64, 60)
	k.Solve(got, both, 2)
	near(t, "mirrored α", got, want)
}

func TestFactorRefusesNaN(t *testing.T) {
	var k Linear
	k.Reset([]*Block{NewBlock([]float64{1, math.NaN()}, 1, 2)}, 1)
	if err := k.Factor(0.5, 1); !errors.Is(err, ErrNotFinite) {
		t.Fatalf("error is %v; want ErrNotFinite", err)
	}
}

func ExampleLinear() {
	var k Linear
	k.Reset([]*Block{NewBlock([]float64{1, 0, 0, 2}, 2, 2)}, 1) // K = diag(1, 4) + I
	out := make([]float64, 2)
	k.Mul(out, []float64{1, 1}, 1)
	fmt.Println(out)
	// Output: [2 5]
}
