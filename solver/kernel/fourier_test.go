package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// errorOf is ‖GGᵀ − K‖_F/‖K‖_F for n rows of features g.
func errorOf(g, x []float64, n, d int, sigma float64) float64 {
	wrong, size, width := 0.0, 0.0, len(g)/n
	for i := range n {
		for j := range n {
			want, got := gaussianByHand(x[i*d:(i+1)*d], x[j*d:(j+1)*d], sigma), 0.0
			other := g[j*width : (j+1)*width]
			for k, v := range g[i*width : (i+1)*width] {
				got += v * other[k]
			}
			wrong += (got - want) * (got - want)
			size += want * want
		}
	}
	return math.Sqrt(wrong / size)
}

func TestFourier(t *testing.T) {
	const n, d, sigma = 100, 4, 2.0
	x := randomMatrix(rand.New(rand.NewPCG(3, 4)), n*d)
	last := math.Inf(1)
	for _, features := range []int{16, 256, 4096} { // the error falls with the root
		g := NewFourier(d, features, sigma, 1).Map(nil, x, n)
		e := errorOf(g, x, n, d, sigma)
		if !(e < last/2) {
			t.Errorf("%d features: error %.2g; %.2g with fewer", features, e, last)
		}
		last = e
		for i := range n {
			own := 0.0
			for _, v := range g[i*features : (i+1)*features] {
				own += v * v
			}
			if math.Abs(own-1) > 1e-12 {
				t.Fatalf("a sample's similarity to itself is %g; want 1", own)
			}
		}
	}
	if last > 0.05 {
		t.Errorf("4096 features: error %.2g; want a few per cent", last)
	}
}

// One seed, one map; another seed, another. Rows map alone as they do among others.
func TestFourierIsDeterministic(t *testing.T) {
	const n, d, m, sigma = 300, 3, 40, 1.5
	x := randomMatrix(rand.New(rand.NewPCG(4, 4)), n*d)
	f := NewFourier(d, m, sigma, 1)
	all := f.Map(nil, x, n)
	sameBits(t, "the same seed", NewFourier(d, m, sigma, 1).Map(nil, x, n), all)
	if slices.Equal(NewFourier(d, m, sigma, 2).Map(nil, x, n), all) {
		t.Error("another seed gives the same features")
	}
	near(t, "a row alone", f.Map(nil, x[7*d:8*d], 1), all[7*f.Dim():8*f.Dim()])
}

func TestFourierRefuses(t *testing.T) {
	panics(t, map[string]func(){
		"width": func() { NewFourier(2, 4, 0, 1) },
		"odd":   func() { NewFourier(2, 5, 1, 1) },
		"none":  func() { NewFourier(2, 0, 1, 1) },
		"rows":  func() { NewFourier(2, 4, 1, 1).Map(nil, make([]float64, 3), 1) },
	})
}
