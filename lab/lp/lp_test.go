package lp_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/lp"
)

func ExampleModel() {
	// Two variables, one of which has to be 1 in sum.
	m := lp.New(2, []int32{0, 2}, []int32{0, 1}, []float64{1}, []float64{1})
	defer m.Close()
	x := make([]float64, 2)
	low, err := m.Minimise(context.Background(), x, []float64{3, 2})
	fmt.Println(low, x, err)
	// Output: 2 [0 1] <nil>
}

// An assignment polytope has integral vertices, so enumeration is the oracle; one
// model serves all costs, warm after the first.
func TestAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 5
	var start, index []int32
	var one []float64
	row := func() { start, one = append(start, int32(len(index))), append(one, 1) }
	start = []int32{0}
	for i := range int32(n) {
		for j := range int32(n) {
			index = append(index, i*n+j)
		}
		row()
	}
	for j := range int32(n) {
		for i := range int32(n) {
			index = append(index, i*n+j)
		}
		row()
	}
	m := lp.New(n*n, start, index, one, one)
	defer m.Close()
	x, c := make([]float64, n*n), make([]float64, n*n)
	for range 50 {
		for i := range c {
			c[i] = rng.NormFloat64()
		}
		got, err := m.Minimise(t.Context(), x, c)
		require.NoError(t, err)
		if want := assign(c, n, 0, 0); math.Abs(got-want) > 1e-7 {
			t.Fatalf("minimum %g; want %g", got, want)
		}
		sum := 0.0
		for i, v := range x {
			sum += v * c[i]
			if math.Abs(v-math.Round(v)) > 1e-7 {
				t.Fatalf("x[%d] = %g; want a vertex, 0 or 1", i, v)
			}
		}
		if math.Abs(sum-got) > 1e-7 {
			t.Fatalf("c·x = %g beside a minimum of %g", sum, got)
		}
	}
}

func assign(c []float64, n, row, used int) float64 {
	if row == n {
		return 0
	}
	best := math.Inf(1)
	for j := range n {
		if used&(1<<j) == 0 {
			best = math.Min(best, c[row*n+j]+assign(c, n, row+1, used|1<<j))
		}
	}
	return best
}

func TestErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		lower float64
		c     []float64
		want  error
	}{
		{"more than two ones", t.Context(), 3, []float64{1, 1}, lp.ErrInfeasible},
		{"NaN", t.Context(), 1, []float64{1, math.NaN()}, lp.ErrNumbers},
		{"infinity", t.Context(), 1, []float64{math.Inf(1), 0}, lp.ErrNumbers},
		{"cancelled", ctx, 1, []float64{1, 1}, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := lp.New(2, []int32{0, 2}, []int32{0, 1}, []float64{tt.lower}, []float64{math.Inf(1)})
			defer m.Close()
			_, err := m.Minimise(tt.ctx, make([]float64, 2), tt.c)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestCloseTwice(t *testing.T) {
	m := lp.New(1, []int32{0}, nil, nil, nil) // no rows at all
	x := make([]float64, 1)
	if low, err := m.Minimise(t.Context(), x, []float64{-2}); low != -2 || err != nil {
		t.Fatalf("minimum %g, %v; want -2", low, err)
	}
	m.Close()
	m.Close()
}

func TestPanicsOnMalformedRows(t *testing.T) {
	for _, tt := range []struct {
		name         string
		start, index []int32
	}{
		{"starts for two rows", []int32{0, 1, 1}, []int32{0}},
		{"entries left over", []int32{0, 1}, []int32{0, 1}},
		{"no such column", []int32{0, 1}, []int32{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			lp.New(2, tt.start, tt.index, []float64{0}, []float64{1})
		})
	}
}
