package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// gaussianByHand is the definition, entry by entry.
func gaussianByHand(x, y []float64, sigma float64) float64 {
	square := 0.0
	for i := range x {
		square += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Exp(-square / (2 * sigma * sigma))
}

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

func mustBlock(t *testing.T, b *Block, err error) *Block {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGaussian(t *testing.T) {
	const n, d, sigma = 37, 5, 1.7
	x := randomMatrix(rand.New(rand.NewPCG(1, 4)), n*d)
	k, err := Gaussian(x, n, d, sigma)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range n {
			if want := gaussianByHand(x[i*d:(i+1)*d], x[j*d:(j+1)*d], sigma); math.Abs(k[i*n+j]-want) > 1e-12 {
				t.Fatalf("K[%d,%d] is %g; want %g", i, j, k[i*n+j], want)
			}
		}
	}
}

func TestNystrom(t *testing.T) {
	const n, d, sigma = 150, 4, 2.0
	x := randomMatrix(rand.New(rand.NewPCG(2, 4)), n*d)
	last := math.Inf(1)
	for _, landmarks := range []int{5, 20, 60, n} {
		f, err := NewNystrom(x, n, d, landmarks, sigma, 1)
		if err != nil {
			t.Fatal(err)
		}
		e := errorOf(f.Map(nil, x, n), x, n, d, sigma)
		if !(e < last/2) {
			t.Errorf("%d landmarks: error %.2g; %.2g with fewer", landmarks, e, last)
		}
		last = e
	}
	if last > 1e-6 {
		t.Errorf("all samples landmarks: error %.2g; want exact", last)
	}
	b, err := Nystrom(x, n, d, 10*n, sigma, 1)
	mustBlock(t, b, err)
	if e := errorOf(b.X, x, n, d, sigma); e > 1e-6 || b.D > n || b.N != n {
		t.Errorf("more landmarks than samples: error %.2g, %d×%d features", e, b.N, b.D)
	}
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
	b, err := Fourier(x, n, d, 16, sigma, 1)
	sameBits(t, "a block's rows", mustBlock(t, b, err).X, NewFourier(d, 16, sigma, 1).Map(nil, x, n))
}

// One seed, one map; another seed, another. Rows map alone as they do among others.
func TestRBFIsDeterministic(t *testing.T) {
	const n, d, m, sigma = 300, 3, 40, 1.5
	x := randomMatrix(rand.New(rand.NewPCG(4, 4)), n*d)
	for name, make := range map[string]func(seed uint64) *RBF{
		"Nyström": func(seed uint64) *RBF {
			f, err := NewNystrom(x, n, d, m, sigma, seed)
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		"Fourier": func(seed uint64) *RBF { return NewFourier(d, m, sigma, seed) },
	} {
		t.Run(name, func(t *testing.T) {
			f := make(1)
			all := f.Map(nil, x, n)
			sameBits(t, "the same seed", make(1).Map(nil, x, n), all)
			if slices.Equal(make(2).Map(nil, x, n), all) {
				t.Error("another seed gives the same features")
			}
			row := f.Map(nil, x[7*d:8*d], 1)
			near(t, "a row alone", row, all[7*f.Dim():8*f.Dim()])
		})
	}
}

// Identical samples make the landmarks' matrix singular; the features still fit.
func TestNystromOfRepeatedSamples(t *testing.T) {
	x := []float64{0, 0, 1, 1, 0, 0, 1, 1, 3, 3}
	b, err := Nystrom(x, 5, 2, 5, 1, 1)
	if e := errorOf(mustBlock(t, b, err).X, x, 5, 2, 1); e > 1e-9 || b.D != 3 {
		t.Errorf("error %g with %d features; want none with 3", e, b.D)
	}
}

func TestRBFRefuses(t *testing.T) {
	bad := []float64{1, math.NaN()}
	_, nystrom := Nystrom(bad, 2, 1, 2, 1, 1)
	_, empty := Nystrom(nil, 0, 1, 2, 1, 1)
	_, fourier := Fourier(bad, 2, 1, 2, 1, 1)
	_, gaussian := Gaussian(bad, 2, 1, 1)
	for _, err := range []error{nystrom, fourier, gaussian} {
		if !errors.Is(err, ErrNotFinite) {
			t.Errorf("error %v; want ErrNotFinite", err)
		}
	}
	if empty == nil {
		t.Error("landmarks of no samples were accepted")
	}
	panics(t, map[string]func(){
		"width":              func() { NewFourier(2, 4, 0, 1) },
		"odd Fourier":        func() { NewFourier(2, 5, 1, 1) },
		"no landmarks":       func() { _, _ = NewNystrom([]float64{1}, 1, 1, 0, 1, 1) },
		"Gaussian with rows": func() { _, _ = Gaussian([]float64{1, 2}, 3, 1, 1) },
	})
}
