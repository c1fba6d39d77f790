package features

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// correlatedScene has d features, the last three of them colours, that are mixtures
// of rank hidden ones.
func correlatedScene(n, d, rank int, seed uint64) *Scene {
	r := rand.New(rand.NewPCG(seed, 5))
	mix := make([]float64, rank*d)
	for i := range mix {
		mix[i] = r.NormFloat64()
	}
	s := &Scene{N: n, D: d, X: make([]float32, n*d)}
	if d > colours {
		s.Maps = []int{d - colours}
	}
	for i := range n {
		for k := range rank {
			h := r.NormFloat64()
			for c := range d {
				s.X[i*d+c] += float32(h * mix[k*d+c])
			}
		}
		for c := range d {
			s.X[i*d+c] = s.X[i*d+c]*float32(c+1) + float32(10*c)
		}
	}
	return s
}

// moments returns the mean and covariance of n×d rows.
func moments(z []float64, n, d int) (mean, cov []float64) {
	mean, cov = make([]float64, d), make([]float64, d*d)
	for i, v := range z {
		mean[i%d] += v / float64(n)
	}
	for i := range n {
		for a := range d {
			for b := range d {
				cov[a*d+b] += (z[i*d+a] - mean[a]) * (z[i*d+b] - mean[b]) / float64(n)
			}
		}
	}
	return mean, cov
}

func TestProjectionStandardises(t *testing.T) {
	const d = 9
	s := correlatedScene(300, d, d, 1)
	s.Maps = []int{4, 2}
	for i := range s.N {
		s.X[i*d+4] = 7 // constant
	}
	p, err := FitProjection(s, d)
	if err != nil {
		t.Fatal(err)
	}
	if p.Dim() != d {
		t.Fatalf("Dim %d, want %d", p.Dim(), d)
	}
	z := applied(p, s)
	mean, cov := moments(z, s.N, d)
	for c := range d {
		if math.Abs(mean[c]) > 1e-6 || math.Abs(cov[c*d+c]-p.spread[c]) > 1e-5 {
			t.Errorf("column %d has mean %v, variance %v, says %v; want mean 0", c, mean[c], cov[c*d+c], p.spread[c])
		}
	}
	sum := func(from, to int) (v float64) {
		for c := from; c < to; c++ {
			v += cov[c*d+c]
		}
		return v
	}
	for _, tt := range []struct {
		name     string
		from, to int
		want     float64
	}{
		{"first map", 0, 4, mapsVariance / 2},
		{"second map, its constant column apart", 5, 6, mapsVariance / 2},
		{"constant column", 4, 5, 0},
		{"L", 6, 7, colourVariance}, {"a", 7, 8, colourVariance}, {"b", 8, 9, colourVariance},
	} {
		if got := sum(tt.from, tt.to); math.Abs(got-tt.want) > 1e-5 {
			t.Errorf("%s: variance %v, want %v", tt.name, got, tt.want)
		}
	}
	// Channels of one map keep their proportion: raw column c is about c+1 times
	// column 0's size, and one factor scales them all.
	if p.scale[0] != p.scale[3] || p.scale[0] == p.scale[5] {
		t.Errorf("scales %v; want one a map", p.scale)
	}
	// What is constant at fitting stays quiet afterwards.
	s.X[4] = 1000
	if z := applied(p, s); z[4] != 0 {
		t.Errorf("a column that was constant gives %v, want 0", z[4])
	}
}

func TestProjectionComponents(t *testing.T) {
	const n, d, rank = 500, 12, 5
	s := correlatedScene(n, d, rank, 2)
	p, err := FitProjection(s, rank)
	if err != nil {
		t.Fatal(err)
	}
	z := applied(p, s)
	if p.Dim() != rank || len(z) != n*rank {
		t.Fatalf("Dim %d and %d values, want %d and %d", p.Dim(), len(z), rank, n*rank)
	}
	mean, cov := moments(z, n, rank)
	variance := p.spread
	total := 0.0
	for a := range rank {
		if math.Abs(mean[a]) > 1e-6 {
			t.Errorf("component %d has mean %v", a, mean[a])
		}
		total += variance[a]
		if a > 0 && variance[a] > variance[a-1] {
			t.Errorf("variances rise: %v", variance)
		}
		for b := range rank {
			want := 0.0
			if a == b {
				want = variance[a]
			}
			if math.Abs(cov[a*rank+b]-want) > 1e-5 {
				t.Errorf("covariance of %d and %d is %v, want %v", a, b, cov[a*rank+b], want)
			}
		}
	}
	// As many components as hidden features explain everything.
	if want := float64(mapsVariance + colours*colourVariance); math.Abs(total-want) > 1e-4*want {
		t.Errorf("variance %v in all, want %v", total, want)
	}
	// And the standardised features can be rebuilt from them.
	worst := 0.0
	for i := range n {
		for c := range d {
			rebuilt := 0.0
			for k := range rank {
				rebuilt += z[i*rank+k] * float64(p.basis[c*rank+k])
			}
			worst = max(worst, math.Abs(rebuilt-(float64(s.X[i*d+c])-p.mean[c])*p.scale[c]))
		}
	}
	if worst > 1e-3 {
		t.Errorf("reconstruction is off by %v", worst)
	}
}

func TestProjectionSignsAndOrder(t *testing.T) {
	s := correlatedScene(200, 9, 9, 3)
	p, err := FitProjection(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 4 {
		largest := 0.0
		for c := range 9 {
			if v := float64(p.basis[c*4+k]); math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest <= 0 {
			t.Errorf("component %d has the largest coordinate %v", k, largest)
		}
	}
	// Reversing the superpixels reverses the rows and changes nothing else.
	reversed := &Scene{N: s.N, D: s.D, Maps: s.Maps}
	for i := s.N - 1; i >= 0; i-- {
		reversed.X = append(reversed.X, s.X[i*s.D:][:s.D]...)
	}
	q, err := FitProjection(reversed, 4)
	if err != nil {
		t.Fatal(err)
	}
	a, b := applied(p, s), applied(q, reversed)
	for i := range s.N {
		for k := range 4 {
			if math.Abs(a[i*4+k]-b[(s.N-1-i)*4+k]) > 1e-6 {
				t.Fatalf("row %d component %d: %v, reversed %v", i, k, a[i*4+k], b[(s.N-1-i)*4+k])
			}
		}
	}
	again, err := FitProjection(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a, applied(again, s)) {
		t.Error("fitting twice gives two projections")
	}
}

// applied is what p makes of s, in float64.
func applied(p *Projection, s *Scene) (z []float64) {
	for _, v := range p.Apply(nil, p.Dim(), s) {
		z = append(z, float64(v))
	}
	return z
}

// What follows the features in a row is left alone.
// What weights make of projected features, folded ones make of those as they are.
func TestProjectionFold(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	s := correlatedScene(50, 12, 6, 3)
	for _, dims := range []int{0, 4} {
		p, err := FitProjection(s, dims)
		if err != nil {
			t.Fatal(err)
		}
		if p.Features() != s.D {
			t.Errorf("%d features, want %d", p.Features(), s.D)
		}
		w := make([]float64, p.Dim())
		for k := range w {
			w[k] = r.NormFloat64()
		}
		folded := make([]float32, s.D)
		constant := p.Fold(folded, w)
		z := p.Apply(nil, p.Dim(), s)
		for i := range s.N {
			want, got := 0.0, constant
			for k, v := range z[i*p.Dim():][:p.Dim()] {
				want += w[k] * float64(v)
			}
			for c, v := range s.X[i*s.D:][:s.D] {
				got += float64(folded[c]) * float64(v)
			}
			if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("%d dimensions, superpixel %d: %g, want %g", dims, i, got, want)
			}
		}
	}
}

func TestProjectionStride(t *testing.T) {
	s := correlatedScene(20, 9, 5, 3)
	for _, dim := range []int{0, 4} {
		p, err := FitProjection(s, dim)
		if err != nil {
			t.Fatal(err)
		}
		want, stride := p.Apply(nil, p.Dim(), s), p.Dim()+2
		got := slices.Repeat([]float32{42}, s.N*stride)
		got = p.Apply(got, stride, s)
		for i := range s.N {
			row := got[i*stride : (i+1)*stride]
			if !slices.Equal(row[:p.Dim()], want[i*p.Dim():(i+1)*p.Dim()]) || row[p.Dim()] != 42 || row[p.Dim()+1] != 42 {
				t.Fatalf("row %d is %v; want %v and 42, 42", i, row, want[i*p.Dim():(i+1)*p.Dim()])
			}
		}
	}
}

func TestProjectionRefuses(t *testing.T) {
	nan := correlatedScene(4, 3, 2, 4)
	nan.X[7] = float32(math.NaN())
	inf := correlatedScene(4, 3, 2, 4)
	inf.X[2] = float32(math.Inf(-1))
	tests := []struct {
		name string
		s    *Scene
		dim  int
		want string
	}{
		{"empty", &Scene{}, 3, "0 superpixels × 0 features"},
		{"short", &Scene{N: 2, D: 3, X: make([]float32, 5)}, 3, "5 values of 2 superpixels × 3"},
		{"negative", correlatedScene(4, 3, 2, 4), -1, "-1 dimensions"},
		{"maps that are not columns", &Scene{N: 1, D: 3, X: make([]float32, 3), Maps: []int{2}}, 3, "maps of [2] channels and 3 colours in 3 columns"},
		{"NaN", nan, 2, "feature 1 of superpixel 2 is NaN"},
		{"infinity", inf, 2, "feature 2 of superpixel 0 is -Inf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := FitProjection(tt.s, tt.dim)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("another scene", func(t *testing.T) {
		p, err := FitProjection(correlatedScene(4, 3, 2, 4), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if recover() == nil {
				t.Error("no panic for a scene with other features")
			}
		}()
		p.Apply(nil, 2, correlatedScene(4, 5, 2, 4))
	})
}

// TestProjectionOfLittle fits scenes with fewer superpixels than features.
func TestProjectionOfLittle(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		s := correlatedScene(n, 10, 3, 6)
		p, err := FitProjection(s, 4)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range applied(p, s) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%d superpixels: value %d is %v", n, i, v)
			}
		}
	}
}

func TestProjectionAllocs(t *testing.T) {
	s := correlatedScene(200, 20, 20, 7)
	for _, dim := range []int{0, 8} {
		p, err := FitProjection(s, dim)
		if err != nil {
			t.Fatal(err)
		}
		dst := p.Apply(nil, p.Dim(), s)
		if n := testing.AllocsPerRun(10, func() { dst = p.Apply(dst, p.Dim(), s) }); n != 0 {
			t.Errorf("dim %d: %v allocations, want 0", dim, n)
		}
	}
}

func BenchmarkProjection(b *testing.B) {
	s := correlatedScene(2000, 67, 67, 8)
	for _, dim := range []int{0, 48} {
		name := map[int]string{0: "standardise", 48: "components"}[dim]
		p, err := FitProjection(s, dim)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("fit/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := FitProjection(s, dim); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("apply/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []float32
			for b.Loop() {
				dst = p.Apply(dst, p.Dim(), s)
			}
		})
	}
}
