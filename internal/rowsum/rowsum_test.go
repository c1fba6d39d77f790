package rowsum

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func random(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	has := vector
	defer func() { vector = has }()
	for _, vector = range []bool{has, false} {
		for _, n := range []int{0, 1, 31, 32, 33, 64, 100} {
			for _, rows := range []int{0, 1, 2, 5} {
				stride := n + rows%2*3
				dst, from, weights := random(r, n+1), random(r, rows*stride+n), random(r, rows)
				want := make([]float64, n+1)
				for c := range want {
					want[c] = float64(dst[c])
					for i, w := range weights {
						if c < n {
							want[c] += float64(w) * float64(from[i*stride+c])
						}
					}
				}
				Add(dst[:n], from, stride, weights)
				for c, v := range dst {
					if math.Abs(float64(v)-want[c]) > 1e-5 {
						t.Fatalf("vector %t, %d rows of %d: number %d is %v, want %v", vector, rows, n, c, v, want[c])
					}
				}
			}
		}
	}
	for _, vector = range []bool{has, false} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("vector %t: what has fewer rows than weights is read beyond its end", vector)
				}
			}()
			Add(make([]float32, block), make([]float32, block), block, make([]float32, 2))
		}()
	}
}

func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	has := vector
	defer func() { vector = has }()
	dst, rows, weights := random(r, 64), random(r, 3*64), random(r, 3)
	for _, vector = range []bool{has, false} {
		b.Run(fmt.Sprintf("vector=%t", vector), func(b *testing.B) {
			for b.Loop() {
				Add(dst, rows, 64, weights)
			}
		})
	}
}
