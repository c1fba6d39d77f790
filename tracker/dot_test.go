package tracker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestDots(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	has := vector
	defer func() { vector = has }()
	for _, vector = range []bool{has, false} {
		for _, d := range []int{1, 3, 8, 24, 67, 96} {
			for n := range 14 {
				query, rows, got := make([]float32, d), make([]float32, n*d), make([]float32, n+1)
				for _, v := range [][]float32{query, rows} {
					for i := range v {
						v[i] = float32(r.NormFloat64())
					}
				}
				got[n] = 42
				dots(got[:n], query, rows)
				for i := range n {
					want, size := 0.0, 0.0
					for k, v := range query {
						p := float64(v) * float64(rows[i*d+k])
						want, size = want+p, size+math.Abs(p)
					}
					if math.Abs(float64(got[i])-want) > 1e-6*size {
						t.Fatalf("vector %t, %d×%d: product %d is %v, want %v", vector, n, d, i, got[i], want)
					}
				}
				if got[n] != 42 {
					t.Fatalf("vector %t, %d×%d: wrote beyond the end", vector, n, d)
				}
			}
		}
	}
}

func BenchmarkDots(b *testing.B) {
	const n, d = 256, 96
	has := vector
	defer func() { vector = has }()
	query, rows, dst := make([]float32, d), make([]float32, n*d), make([]float32, n)
	for _, vector = range []bool{has, false} {
		b.Run(fmt.Sprintf("vector=%t", vector), func(b *testing.B) {
			for b.Loop() {
				dots(dst, query, rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
		})
	}
}
