package assignment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// leastByTrying is the least cost over all ways to pair rows with columns.
func leastByTrying(i, n int, taken []bool, free int, cost func(i, j int) float64) float64 {
	if i == n {
		return 0
	}
	least := math.Inf(1)
	if n-i > free { // this row may stay without
		least = leastByTrying(i+1, n, taken, free, cost)
	}
	for j := range taken {
		if taken[j] {
			continue
		}
		taken[j] = true
		least = min(least, cost(i, j)+leastByTrying(i+1, n, taken, free-1, cost))
		taken[j] = false
	}
	return least
}

func TestAssign(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 6 {
		for m := range 6 {
			for _, kind := range []string{"reals", "ties", "negative"} {
				t.Run(fmt.Sprintf("%d×%d %s", n, m, kind), func(t *testing.T) {
					for range 20 {
						costs := make([]float64, n*m)
						for k := range costs {
							switch kind {
							case "reals":
								costs[k] = rng.Float64()
							case "ties":
								costs[k] = float64(rng.IntN(3))
							default:
								costs[k] = -float64(rng.IntN(50))
							}
						}
						cost := func(i, j int) float64 { return costs[i*m+j] }
						got := new(Solver).Assign(n, m, cost)
						if len(got) != n {
							t.Fatalf("%d rows; want %d", len(got), n)
						}
						sum, pairs, taken := 0.0, 0, make([]bool, m)
						for i, j := range got {
							if j < 0 {
								continue
							}
							if taken[j] {
								t.Fatalf("%v has column %d twice", got, j)
							}
							taken[j] = true
							pairs++
							sum += cost(i, j)
						}
						want := leastByTrying(0, n, make([]bool, m), m, cost)
						if pairs != min(n, m) || math.Abs(sum-want) > 1e-9 {
							t.Errorf("costs %v: %v has %d pairs for %g; want %d for %g", costs, got, pairs, sum, min(n, m), want)
						}
					}
				})
			}
		}
	}
}
