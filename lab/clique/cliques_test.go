package clique

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// primal solves small relaxations with gonum's dense primal simplex, in standard
// form with one slack for each side of a row.
type primal struct{ p Program }

func (s primal) Minimise(_ context.Context, x, c []float64) (float64, error) {
	var ineq, eq [][]float64
	var h, b []float64
	add := func(m *[][]float64, v *[]float64, r int, sign, bound float64) {
		row := make([]float64, s.p.Columns)
		for _, j := range s.p.Index[s.p.Start[r]:s.p.Start[r+1]] {
			row[j] = sign
		}
		*m, *v = append(*m, row), append(*v, bound)
	}
	for r, lower := range s.p.Lower {
		if lower == s.p.Upper[r] && s.p.Start[r+1]-s.p.Start[r] > 0 && r < s.p.Columns/2 && lower == 1 {
			add(&eq, &b, r, 1, 1)
			continue
		}
		add(&ineq, &h, r, 1, s.p.Upper[r])
		add(&ineq, &h, r, -1, -lower)
	}
	n, k := s.p.Columns, len(ineq)
	a := mat.NewDense(len(eq)+k, n+k, nil)
	rhs := slices.Concat(b, h)
	for r, row := range eq {
		for j, v := range row {
			a.Set(r, j, v)
		}
	}
	for r, row := range ineq {
		for j, v := range row {
			a.Set(len(eq)+r, j, v)
		}
		a.Set(len(eq)+r, n+r, 1)
	}
	low, sol, err := lp.Simplex(slices.Concat(c, make([]float64, k)), a, rhs, 1e-10, nil)
	copy(x, sol)
	return low, err
}

// randomCliques makes bounds that truth obeys with the given slack.
func randomCliques(rng *rand.Rand, truth []int32, labels, count, size, slack int) []Clique {
	var out []Clique
	for range count {
		c := Clique{Lo: make([]int, labels), Hi: make([]int, labels)}
		for _, i := range rng.Perm(len(truth))[:size] {
			c.Members = append(c.Members, int32(i))
			c.Lo[truth[i]]++
		}
		for l, k := range c.Lo {
			c.Lo[l], c.Hi[l] = max(0, k-slack), k+slack
		}
		out = append(out, c)
	}
	return out
}

func TestCliquesAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	exact, unmet := 0, 0
	const trials = 150
	for trial := range trials {
		const n, labels = 7, 3
		truth := make([]int32, n)
		for i := range truth {
			truth[i] = int32(rng.IntN(labels))
		}
		cliques := randomCliques(rng, truth, labels, 3, 4, trial%2)
		u := make([]float64, n*labels)
		for i := range u {
			u[i] = rng.NormFloat64()
		}
		want := enumerate(n, labels, u, cliques)
		q := New(n, labels, cliques, primal{Relax(n, labels, cliques)})
		y := make([]int32, n)
		err := q.Label(t.Context(), y, u)
		if errors.Is(err, lp.ErrSingular) {
			continue // the oracle's simplex wants independent rows
		}
		require.NoError(t, err, "trial %d", trial)
		if q.Violations(y) > 0 {
			unmet++
			continue
		}
		got := cost(y, u, labels)
		if q.Violations(y) != 0 || got < want-1e-7 {
			t.Fatalf("trial %d: cost %g, %d violations; the minimum is %g", trial, got, q.Violations(y), want)
		}
		if got < want+1e-7 {
			exact++
		}
	}
	if exact < trials/2 || unmet > trials/10 {
		t.Fatalf("%d of %d exact, %d not feasible", exact, trials, unmet)
	}
}

// fixed hands out a fractional solution, as a relaxation may have.
type fixed struct{ x []float64 }

func (f fixed) Minimise(_ context.Context, x, _ []float64) (float64, error) {
	copy(x, f.x)
	return math.Inf(-1), nil
}

func TestRepair(t *testing.T) {
	half := make([]float64, 12)
	for i := range half {
		half[i] = 0.5
	}
	// Rounding gives everyone label 0, cheaper for all; three have to leave.
	cliques := []Clique{{Members: everyone(6), Lo: []int{3, 3}, Hi: []int{3, 3}}}
	u := []float64{0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1}
	q := New(6, 2, cliques, fixed{half})
	y := make([]int32, 6)
	if err := q.Label(t.Context(), y, u); err != nil || !slices.Equal(y, []int32{0, 0, 0, 1, 1, 1}) {
		t.Fatalf("y = %v, %v; want the cheapest three changed", y, err)
	}
}

// One sample has to change label in one clique without changing the other's
// counts: only two moves together mend it.
func TestRepairByPairs(t *testing.T) {
	cliques := []Clique{
		{Members: []int32{0, 1}, Lo: []int{1, 1}, Hi: []int{1, 1}},
		{Members: []int32{0, 1, 2}, Lo: []int{1, 2}, Hi: []int{1, 2}},
	}
	x := []float64{1, 0, 1, 0, 0, 1} // labels 0, 0, 1
	q := New(3, 2, cliques, fixed{x})
	y := make([]int32, 3)
	if err := q.Label(t.Context(), y, make([]float64, 6)); err != nil || q.Violations(y) != 0 {
		t.Fatalf("y = %v breaks %d bounds, %v", y, q.Violations(y), err)
	}
}

func TestContradictoryBoundsAreBroken(t *testing.T) {
	cliques := []Clique{
		{Members: []int32{0}, Lo: []int{1, 0}, Hi: []int{1, 0}},
		{Members: []int32{0}, Lo: []int{0, 1}, Hi: []int{0, 1}},
	}
	q := New(1, 2, cliques, fixed{[]float64{0.5, 0.5}})
	y := make([]int32, 1)
	err := q.Label(t.Context(), y, []float64{1, 0})
	if penalty, _ := q.Energy(y); err != nil || q.Violations(y) != 2 || penalty != 2*Penalty {
		t.Fatalf("%d violations, penalty %g, %v; want 2 of contradictory bounds", q.Violations(y), penalty, err)
	}
}

func TestPanicsOnMalformedCliques(t *testing.T) {
	for name, c := range map[string]Clique{
		"twice":       {[]int32{0, 0}, []int{0, 0}, []int{1, 1}},
		"outside":     {[]int32{3}, []int{0, 0}, []int{1, 1}},
		"bounds":      {[]int32{0}, []int{0}, []int{1, 1}},
		"below zero":  {[]int32{-1}, []int{0, 0}, []int{1, 1}},
		"upper bound": {[]int32{1}, []int{0, 0}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			New(3, 2, []Clique{c}, nil)
		})
	}
}
