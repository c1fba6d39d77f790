package cosine

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	has := vector
	defer func() { vector = has }()
	for _, vector = range []bool{has, false} {
		for _, d := range []int{1, 3, 8, 24, 67, 96} {
			for m := range 4 {
				for n := range 14 {
					queries, rows, got := make([]float32, m*d), make([]float32, n*d), make([]float32, m*n+1)
					for _, v := range [][]float32{queries, rows} {
						for i := range v {
							v[i] = float32(r.NormFloat64())
						}
					}
					got[m*n] = 42
					Products(got, queries, rows, d)
					for at := range m * n {
						want, size := 0.0, 0.0
						for k, v := range queries[at/n*d : (at/n+1)*d] {
							p := float64(v) * float64(rows[at%n*d+k])
							want, size = want+p, size+math.Abs(p)
						}
						if math.Abs(float64(got[at])-want) > 1e-6*size {
							t.Fatalf("vector %t, %d and %d rows of %d: product %d is %v, want %v", vector, m, n, d, at, got[at], want)
						}
					}
					if got[m*n] != 42 {
						t.Fatalf("vector %t, %d and %d rows of %d: wrote beyond the end", vector, m, n, d)
					}
				}
			}
		}
	}
}

func BenchmarkProducts(b *testing.B) {
	const n, d = 64, 96
	has := vector
	defer func() { vector = has }()
	for _, m := range []int{1, 16} {
		queries, rows, dst := make([]float32, m*d), make([]float32, n*d), make([]float32, m*n)
		for _, vector = range []bool{has, false} {
			b.Run(fmt.Sprintf("queries=%d/vector=%t", m, vector), func(b *testing.B) {
				for b.Loop() {
					Products(dst, queries, rows, d)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*m*n), "ns/product")
			})
		}
	}
}

func TestInsertKeepsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const k = 5
	best := slices.Repeat([]Match{None}, k)
	var all []Match
	for i := range int32(40) {
		m := Match{To: i, Cosine: float32(r.IntN(12)) / 12} // with ties
		all = append(all, m)
		if m.Cosine > best[k-1].Cosine {
			Insert(best, m)
		}
		want := slices.Clone(all)
		slices.SortStableFunc(want, func(a, b Match) int { return cmp.Compare(b.Cosine, a.Cosine) })
		for c, m := range want[:min(k, len(want))] {
			if best[c] != m {
				t.Fatalf("after %d: %v; want %v", i+1, best, want[:min(k, len(want))])
			}
		}
	}
}

func TestWeight(t *testing.T) {
	if w := (Match{Cosine: 1}).Weight(0.07); w != 1 {
		t.Errorf("a cosine of 1 weighs %g; want 1", w)
	}
	if got, want := (Match{Cosine: 0.5}).Weight(0.25), math.Exp(-2); got != want {
		t.Errorf("a cosine of 0.5 weighs %g at 0.25; want %g", got, want)
	}
}
