package baseline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/baseline"
	"github.com/segd/segd/lab/clique"
	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/solvertest"
)

// blobs draws n samples of two classes around (±distance, 0), one after the other.
func blobs(n int, distance float64) (x []float64, y []int32) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		side := float64(2*(i%2) - 1)
		x = append(x, side*distance+rng.NormFloat64(), rng.NormFloat64())
		y = append(y, int32(i%2))
	}
	return x, y
}

func problem(x []float64, n, gap int) (*solver.Problem, *solver.State) {
	k := &kernel.Linear{}
	k.Reset([]*kernel.Block{solvertest.Block(x, n, 2)}, 0.1)
	return &solver.Problem{Labels: 2, Loss: loss.Hinge{}, Kernel: k, MRF: clique.NewBalance([]int{n/2 - gap, n/2 - gap}, []int{n/2 + gap, n/2 + gap}), Nu: 1},
		&solver.State{Scores: make([]float64, 2*n), Lambda: make([]float64, 2*n), Y: make([]int32, n)}
}

func wrong(y, truth []int32) int {
	count := 0
	for i, l := range y {
		if l != truth[i] {
			count++
		}
	}
	return count
}

func TestInductive(t *testing.T) {
	const n = 100
	x, truth := blobs(n, 3)
	p, s := problem(x, n, 10)
	// Labels without weight lie; they must not matter.
	omega := make([]float64, n)
	for i, l := range truth {
		s.Y[i] = 1 - l
		if i < 10 {
			s.Y[i], omega[i] = l, 1
		}
	}
	var ws solver.Workspace
	require.NoError(t, baseline.Inductive(t.Context(), &ws, p, s, omega))
	if got := wrong(s.Y, truth); got > 2 {
		t.Errorf("%d of %d labels are wrong; want hardly any of two blobs six deviations apart", got, n)
	}
	for i := 10; i < n; i++ {
		if math.Abs(s.Lambda[2*i]) > 1e-3 {
			t.Fatalf("multiplier %d is %g; a sample without weight has no part in the classifier", i, s.Lambda[2*i])
		}
	}
	// The oracle: the classifier of the ten alone.
	q, only := problem(x[:20], 10, 5)
	copy(only.Y, truth[:10])
	require.NoError(t, baseline.Inductive(t.Context(), &ws, q, only, slices.Repeat([]float64{1}, 10)))
	for i := range 20 {
		if math.Abs(only.Scores[i]-s.Scores[i]) > 2e-2 {
			t.Errorf("score %d is %g; the ten samples alone give %g", i, s.Scores[i], only.Scores[i])
		}
	}
}

func TestInductiveObeysUnaries(t *testing.T) {
	const n = 20
	x, truth := blobs(n, 3)
	p, s := problem(x, n, 5)
	p.Unary = make([]float64, 2*n)
	p.Unary[2*7+int(truth[7])] = math.Inf(1)
	copy(s.Y, truth)
	var ws solver.Workspace
	if err := baseline.Inductive(t.Context(), &ws, p, s, slices.Repeat([]float64{1}, n)); err != nil || s.Y[7] == truth[7] {
		t.Fatalf("sample 7 has label %d, %v; that label is forbidden", s.Y[7], err)
	}
}

func TestCoordinateDescentDescends(t *testing.T) {
	const n = 80
	x, _ := blobs(n, 1)
	p, s := problem(x, n, 4)
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range s.Y {
		s.Y[i] = int32(i / (n / 2))
	}
	rng.Shuffle(n, func(i, j int) { s.Y[i], s.Y[j] = s.Y[j], s.Y[i] })
	var ws solver.Workspace
	last := math.Inf(1)
	for range 20 {
		r, err := baseline.CoordinateDescent(t.Context(), &ws, p, s, 1)
		require.NoError(t, err)
		if r.Energy > last*(1+1e-3) {
			t.Fatalf("the objective rose from %g to %g", last, r.Energy)
		}
		if want, err := baseline.Objective(p, s); err != nil || r.Energy != want {
			t.Fatalf("energy %g; the objective is %g", r.Energy, want)
		}
		if last = r.Energy; r.Converged {
			return
		}
	}
	t.Fatal("20 rounds did not converge")
}

func TestObjective(t *testing.T) {
	x := []float64{1, 0, 0, 1}
	p, s := problem(x, 2, 1)
	p.Unary = []float64{1, 2, 3, 4}
	s.Y = []int32{1, 0}
	alpha := []float64{0.5, -0.5, 0.25, 0}
	for i, a := range alpha { // K = 1.1·I
		s.Scores[i] = 1.1 * a
		s.Lambda[i] = -2 * a * p.Nu
	}
	// ⟨α, Kα⟩ = 1.1·0.5625. The hinge of each sample, by hand:
	// scores (0.55, −0.55) under label 1 and (0.275, 0) under label 0.
	want := (1.55 + 1.55) + (0.725 + 1) + 1.1*0.5625 + 2 + 3
	if got, err := baseline.Objective(p, s); err != nil || math.Abs(got-want) > 1e-12 {
		t.Fatalf("objective %g; want %g", got, want)
	}
	p.Offset = []float64{0.1, 0, 0, 0.2} // label 0 of the first and label 1 of the second
	for i, o := range p.Offset {
		s.Scores[i] += o
	}
	if got, err := baseline.Objective(p, s); err != nil || math.Abs(got-want-0.3) > 1e-12 {
		t.Fatalf("objective %g with an offset; want %g", got, want+0.3)
	}
}

func TestKernelKMeans(t *testing.T) {
	const n = 100
	x, truth := blobs(n, 4)
	y := slices.Clone(truth)
	for i := range 30 { // a third of the labels lie
		y[i] = 1 - y[i]
	}
	label := clique.NewBalance([]int{45, 45}, []int{55, 55})
	last := math.Inf(1)
	for range 30 {
		r, err := baseline.KernelKMeans(t.Context(), x, n, 2, 2, label, y, 1)
		require.NoError(t, err)
		if r.Energy > last+1e-9 {
			t.Fatalf("the energy rose from %g to %g", last, r.Energy)
		}
		last = r.Energy
		if r.Converged {
			break
		}
	}
	if got := wrong(y, truth); got > 1 {
		t.Fatalf("%d labels are wrong; want the two blobs apart", got)
	}
}

func TestEndsWithTheContext(t *testing.T) {
	x, _ := blobs(10, 1)
	p, s := problem(x, 10, 5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var ws solver.Workspace
	assert.ErrorIs(t, baseline.Inductive(ctx, &ws, p, s, nil), context.Canceled, "inductive")
	_, err := baseline.CoordinateDescent(ctx, &ws, p, s, 3)
	assert.ErrorIs(t, err, context.Canceled, "coordinate descent")
}

func ExampleKernelKMeans() {
	g := []float64{0, 1, 10, 11} // four numbers: a linear kernel's rows
	y := []int32{0, 1, 1, 1}
	t, err := baseline.KernelKMeans(context.Background(), g, 4, 1, 2, clique.NewBalance([]int{2, 2}, []int{2, 2}), y, 10)
	fmt.Println(y[0] == y[1], y[2] == y[3], t.Converged, err)
	// Output: true true true <nil>
}
