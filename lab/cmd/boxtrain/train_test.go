package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/perceptron"
)

// random has weights at random.
func random(units []int) *perceptron.Perceptron {
	r := rand.New(rand.NewPCG(3, 3))
	p := perceptron.New(units)
	for _, values := range [][]float32{p.Mean, p.Scale} {
		for k := range values {
			values[k] = float32(r.NormFloat64())
		}
	}
	for _, l := range p.Layers {
		for k := range l.Weights {
			l.Weights[k] = float32(r.NormFloat64())
		}
	}
	return p
}

// group is one of rows that are wanted where x·y > 0, which no line tells apart.
func group(r *rand.Rand) (e example) {
	for range 20 {
		x, y := r.NormFloat64(), r.NormFloat64()
		want := float32(0)
		if x*y > 0 {
			want = 1
		}
		e.Inputs, e.Want = append(e.Inputs, float32(x)+7, float32(3*y)), append(e.Want, want)
	}
	return e
}

// The gradient is that of differences.
func TestGradient(t *testing.T) {
	p := random([]int{2, 5, 3, 1})
	p.Scale = []float32{0.5, 0.5}
	e := group(rand.New(rand.NewPCG(1, 1)))
	e.Want[0], e.Want[1] = 0.3, 0.6
	s := newPass(p)
	s.learn(&e)
	for n, l := range p.Layers {
		for k, w := range l.Weights {
			const step = 1.0 / 1024
			l.Weights[k] = w + step
			more := lossOf(p, &e)
			l.Weights[k] = w - step
			less := lossOf(p, &e)
			l.Weights[k] = w
			if want, got := (more-less)/(2*step), s.gradient[n][k]; math.Abs(got-want) > 2e-3*(1+math.Abs(want)) {
				t.Errorf("layer %d, weight %d: %g; want %g", n, k, got, want)
			}
		}
	}
}

func TestTraining(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var examples []example
	for range 150 {
		examples = append(examples, group(r))
	}
	train := func() (*perceptron.Perceptron, []float64) {
		var losses []float64
		p, err := training{Units: []int{2, 16, 8, 1}, Epochs: 60, Seed: 1}.Run(t.Context(), examples, func(n int, loss float64, _ *perceptron.Perceptron) {
			if n != len(losses) {
				t.Errorf("epoch %d after %d", n, len(losses))
			}
			losses = append(losses, loss)
		})
		require.NoError(t, err)
		return p, losses
	}
	p, losses := train()
	if first, last := losses[0], losses[len(losses)-1]; len(losses) != 60 || first < 0.5 || last > 0.2 {
		t.Errorf("%d losses, from %g to %g; want 60, from more than 0.5 to less than 0.2", len(losses), first, last)
	}
	if mean := p.Mean[0]; math.Abs(float64(mean)-7) > 0.1 || math.Abs(float64(p.Scale[1])-1.0/3) > 0.02 {
		t.Errorf("mean %g, scale %g; want 7 and 1/3", mean, p.Scale[1])
	}
	held := group(r)
	for k, want := range held.Want {
		odds := p.Odds([]float64{float64(held.Inputs[2*k]), float64(held.Inputs[2*k+1])})
		if near := math.Abs(float64(held.Inputs[2*k])-7) < 0.2 || math.Abs(float64(held.Inputs[2*k+1])) < 0.6; !near && (odds > 0) != (want > 0.5) {
			t.Errorf("odds %g of %v; want those of %g", odds, held.Inputs[2*k:2*k+2], want)
		}
	}
	if again, _ := train(); !slices.Equal(again.Append(nil), p.Append(nil)) {
		t.Error("the same examples and seed gave other weights")
	}
}

func TestTrainingFaults(t *testing.T) {
	for name, examples := range map[string][]example{
		"none":         nil,
		"no rows":      {{}},
		"a column":     {{Inputs: []float32{1}, Want: []float32{1}}},
		"not a number": {{Inputs: []float32{float32(math.NaN()), 1}, Want: []float32{1}}},
	} {
		_, err := (training{Units: []int{2, 1}, Epochs: 1}).Run(t.Context(), examples, nil)
		assert.ErrorContains(t, err, "want", "%s", name)
	}
}
