package features

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/segd/segd/internal/rowsum"
)

// constantColumn is the standard deviation, relative to the column's magnitude,
// below which a column counts as constant: float32 rounding of its values.
const constantColumn = 1e-6

// A Projection standardises scene features and, if asked to, reduces them to their
// leading principal components. It is immutable and may be used from any goroutine.
type Projection struct {
	dim    int
	mean   []float64
	scale  []float64 // 0 for a constant column
	basis  []float32 // D×dim, orthonormal columns by falling variance; nil: no PCA
	spread []float64 // variance of each output column on the fitted scene, falling if there was a PCA
}

// What the variances of a scene's standardised columns sum to: all maps together,
// each of them an equal part of it, and each colour column. A map's channels keep
// their sizes relative to each other, because a network's small channels are
// noise: scaling each to variance 1 cost 0.02 of mean J, and a colour column of
// variance 1 another 0.007 (affinity alone, six DAVIS sequences).
const (
	mapsVariance   = 64
	colourVariance = 4
)

// FitProjection measures the mean of every column of s.X and the standard
// deviation of every map and colour column, and, if there are more than maxDim
// columns, their leading maxDim principal components (each signed so that its
// largest coordinate is positive). maxDim 0 means no limit. Constant columns
// become zero. The cost is O(N·D² + D³) with PCA, O(N·D) without.
//
// It is an error if s is empty, holds NaN or infinities, or has maps that are not
// its columns.
func FitProjection(s *Scene, maxDim int) (*Projection, error) {
	if s.N < 1 || s.D < 1 || len(s.X) != s.N*s.D {
		return nil, fmt.Errorf("features: cannot fit a projection to %d values of %d superpixels × %d features", len(s.X), s.N, s.D)
	}
	if maxDim < 0 {
		return nil, fmt.Errorf("features: cannot project to %d dimensions; want 1 or more, or 0 for no limit", maxDim)
	}
	columns := 0
	for _, c := range s.Maps {
		columns += c
	}
	if columns+colours != s.D {
		return nil, fmt.Errorf("features: maps of %v channels and %d colours in %d columns", s.Maps, colours, s.D)
	}
	p := &Projection{dim: s.D}
	if err := p.standardise(s); err != nil {
		return nil, err
	}
	if maxDim == 0 || maxDim >= s.D {
		return p, nil
	}
	if err := p.components(s, maxDim); err != nil {
		return nil, err
	}
	return p, nil
}

// standardise fits mean and scale.
func (p *Projection) standardise(s *Scene) error {
	p.mean = make([]float64, s.D)
	p.scale = make([]float64, s.D)
	for i, v := range s.X {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("features: feature %d of superpixel %d is %v", i%s.D, i/s.D, v)
		}
		p.mean[i%s.D] += float64(v)
	}
	for c := range p.mean {
		p.mean[c] /= float64(s.N)
	}
	for i, v := range s.X {
		d := float64(v) - p.mean[i%s.D]
		p.scale[i%s.D] += d * d
	}
	variance := p.scale // becomes the scale in place
	p.spread = make([]float64, s.D)
	for c := range variance {
		variance[c] /= float64(s.N)
		if math.Sqrt(variance[c]) <= constantColumn*math.Abs(p.mean[c]) {
			variance[c] = 0
		}
		p.spread[c] = variance[c]
	}
	from := 0
	for _, channels := range s.Maps {
		p.rescale(variance, from, channels, mapsVariance/float64(len(s.Maps)))
		from += channels
	}
	for ; from < s.D; from++ {
		p.rescale(variance, from, 1, colourVariance)
	}
	return nil
}

// rescale sets the scale of n columns, which make the variances sum to want, where
// their variances stand.
func (p *Projection) rescale(variance []float64, from, n int, want float64) {
	sum := 0.0
	for _, v := range variance[from : from+n] {
		sum += v
	}
	for c := from; c < from+n; c++ {
		if p.scale[c] = 0; p.spread[c] > 0 {
			p.scale[c] = math.Sqrt(want / sum)
		}
		p.spread[c] *= p.scale[c] * p.scale[c]
	}
}

// components fits the basis: eigenvectors of the covariance matrix, which for N
// in the thousands is far cheaper than the singular vectors of the features.
func (p *Projection) components(s *Scene, dim int) error {
	d := s.D
	z := mat.NewDense(s.N, d, nil)
	for i := range s.N {
		row := z.RawRowView(i)
		for c, v := range s.X[i*d:][:d] {
			row[c] = (float64(v) - p.mean[c]) * p.scale[c]
		}
	}
	var cov mat.SymDense
	cov.SymOuterK(1/float64(s.N), z.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&cov, true) {
		return errors.New("features: the principal components did not converge")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // rising

	p.dim = dim
	p.basis = make([]float32, d*dim)
	p.spread = make([]float64, dim)
	for c := range dim {
		from := d - 1 - c
		p.spread[c] = max(values[from], 0)
		sign := 1.0
		largest := 0.0
		for r := range d {
			if v := vectors.At(r, from); math.Abs(v) > largest {
				largest = math.Abs(v)
				sign = math.Copysign(1, v)
			}
		}
		for r := range d {
			p.basis[r*dim+c] = float32(sign * vectors.At(r, from))
		}
	}
	return nil
}

// Dim is the number of columns Apply returns.
func (p *Projection) Dim() int { return p.dim }

// Features is the number of columns that Apply takes.
func (p *Projection) Features() int { return len(p.mean) }

// Fold writes to dst, of a scene's D numbers, the weights that make of the features x of
// a superpixel or a pixel what w, of Dim numbers, makes of z, which is x projected, and
// returns what is missing: w·z = dst·x + constant. It costs O(D·Dim) with PCA, O(D) without.
func (p *Projection) Fold(dst []float32, w []float64) (constant float64) {
	for c := range p.mean {
		v := 0.0
		if p.basis == nil {
			v = w[c]
		} else {
			for k, b := range p.basis[c*p.dim:][:p.dim] {
				v += float64(b) * w[k]
			}
		}
		v *= p.scale[c]
		dst[c] = float32(v)
		constant -= v * p.mean[c]
	}
	return constant
}

// Apply writes the projected features of s to dst, N rows of stride numbers, and returns
// it. The first Dim of a row are set; those after them are the caller's. dst's memory is
// reused if it is large enough, and then nothing is allocated.
// It panics if s has another number of features than the scene p was fitted to, or stride
// is less than Dim. The cost is O(N·D·Dim) with PCA, O(N·D) without.
func (p *Projection) Apply(dst []float32, stride int, s *Scene) []float32 {
	d := len(p.mean)
	if s.D != d || len(s.X) != s.N*d {
		panic(fmt.Sprintf("features: projection of %d features applied to %d×%d", d, s.N, s.D))
	}
	if stride < p.dim {
		panic(fmt.Sprintf("features: projection to %d dimensions in rows of %d", p.dim, stride))
	}
	dst = grown(dst, s.N*stride)
	mean, scale := p.mean[:d], p.scale[:d]
	var z [64]float32
	for i := range s.N {
		x, out := s.X[i*d:][:d], dst[i*stride:][:p.dim]
		if p.basis == nil {
			out = out[:len(x)]
			mean, scale := mean[:len(x)], scale[:len(x)]
			for c, v := range x {
				out[c] = float32((float64(v) - mean[c]) * scale[c])
			}
			continue
		}
		clear(out)
		for from := 0; from < d; from += len(z) {
			some := z[:min(len(z), d-from)]
			for k := range some {
				c := from + k
				some[k] = float32((float64(x[c]) - mean[c]) * scale[c])
			}
			rowsum.Add(out, p.basis[from*p.dim:], p.dim, some)
		}
	}
	return dst
}
