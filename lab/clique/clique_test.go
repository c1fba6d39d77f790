package clique

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/solver"
)

var (
	_ solver.Labeler = (*Balance)(nil)
	_ solver.Labeler = (*Cliques)(nil)
)

// enumerate is the oracle: the least cost over all labelings within the bounds.
func enumerate(n, labels int, u []float64, cliques []Clique) float64 {
	best, y := math.Inf(1), make([]int32, n)
	for {
		ok := true
		for _, c := range cliques {
			ok = ok && c.Violations(y) == 0
		}
		if ok {
			best = math.Min(best, cost(y, u, labels))
		}
		i := 0
		for ; i < n && int(y[i]) == labels-1; i++ {
			y[i] = 0
		}
		if i == n {
			return best
		}
		y[i]++
	}
}

func randomUnaries(rng *rand.Rand, n, labels int) []float64 {
	u := make([]float64, n*labels)
	for i := range u {
		u[i] = rng.NormFloat64()
		if rng.IntN(12) == 0 {
			u[i] = math.Inf(1)
		}
		if rng.IntN(6) == 0 {
			u[i] = 1 // ties
		}
	}
	return u
}

func everyone(n int) []int32 {
	m := make([]int32, n)
	for i := range m {
		m[i] = int32(i)
	}
	return m
}

func TestBalanceAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	feasible := 0
	for trial := range 1500 {
		n, labels := 1+rng.IntN(7), 2+rng.IntN(3)
		u := randomUnaries(rng, n, labels)
		lo, hi := make([]int, labels), make([]int, labels)
		for l := range lo {
			lo[l] = rng.IntN(3)
			hi[l] = lo[l] + rng.IntN(n)
		}
		y := make([]int32, n)
		for i := range y {
			y[i] = int32(rng.IntN(labels))
		}
		was := slices.Clone(y)
		want := enumerate(n, labels, u, []Clique{{everyone(n), lo, hi}})
		b := NewBalance(lo, hi)
		err := b.Label(t.Context(), y, u)
		if math.IsInf(want, 1) {
			if !errors.Is(err, ErrInfeasible) || !slices.Equal(y, was) {
				t.Fatalf("trial %d: error %v, y %v → %v; want ErrInfeasible and y as it was", trial, err, was, y)
			}
			continue
		}
		feasible++
		if err != nil {
			t.Fatalf("trial %d: %v; there is one of %g", trial, err, want)
		}
		if got := cost(y, u, labels); math.Abs(got-want) > 1e-9 || b.violations(y) != 0 {
			t.Fatalf("trial %d: cost %g, %d violations; want %g (lo %v hi %v)", trial, got, b.violations(y), want, lo, hi)
		}
	}
	if feasible < 400 {
		t.Fatalf("only %d feasible trials", feasible)
	}
}

func TestBalanceAllocatesNothingWarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, labels = 500, 3
	b := NewBalance([]int{150, 150, 150}, []int{180, 180, 180})
	u, y := make([]float64, n*labels), make([]int32, n)
	for i := range u {
		u[i] = rng.NormFloat64() + float64(i%labels)
	}
	run := func() {
		require.NoError(t, b.Label(context.Background(), y, u))
	}
	for range 3 {
		run()
	}
	require.EqualValues(t, 0, testing.AllocsPerRun(20, run), "allocations a call")
}

func TestKeepsAsGoodALabeling(t *testing.T) {
	u := make([]float64, 6*2)
	y := []int32{1, 1, 0, 0, 0, 1}
	was := slices.Clone(y)
	if err := NewBalance([]int{3, 3}, []int{3, 3}).Label(t.Context(), y, u); err != nil || !slices.Equal(y, was) {
		t.Fatalf("y = %v, %v; want %v, which is as good as any", y, err, was)
	}
}

func TestRefusesBadUnaries(t *testing.T) {
	for _, bad := range [][]float64{{math.NaN(), 0}, {math.Inf(-1), 0}, {math.Inf(1), math.Inf(1)}} {
		y := []int32{0}
		assert.ErrorIs(t, NewBalance([]int{0, 0}, []int{1, 1}).Label(t.Context(), y, bad), ErrInfeasible, "unaries %v: error", bad)
		assert.ErrorIs(t, New(1, 2, nil, nil).Label(t.Context(), y, bad), ErrInfeasible, "cliques, unaries %v: error", bad)
	}
}

func ExampleBalance() {
	// All four prefer label 0, at least two have to take label 1.
	b := NewBalance([]int{0, 2}, []int{4, 4})
	y := make([]int32, 4)
	err := b.Label(context.Background(), y, []float64{0, 5, 0, 1, 0, 9, 0, 2})
	fmt.Println(y, err)
	// Output: [0 1 0 1] <nil>
}

func BenchmarkBalance(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, labels := range []int{2, 6} {
		b.Run(fmt.Sprintf("n=1500/L=%d", labels), func(b *testing.B) {
			const n = 1500
			lo, hi := make([]int, labels), make([]int, labels)
			for l := range lo {
				lo[l], hi[l] = n/labels*9/10, n/labels*11/10
			}
			bal := NewBalance(lo, hi)
			u, y := make([]float64, n*labels), make([]int32, n)
			for i := range u {
				u[i] = rng.NormFloat64() + 0.5*float64(i%labels)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := bal.Label(context.Background(), y, u); err != nil { // nothing else is measured
					b.Fatal(err)
				}
			}
		})
	}
}
