package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Fourier maps samples to explicit features whose inner products approximate the
// Gaussian kernel exp(−‖x−y‖²/2σ²). It is read-only once made, so several
// goroutines may use it.
type Fourier struct {
	d, features int
	frequencies []float64 // features/2, one a row of d
	scale       float64   // √(2/features)
}

// NewFourier makes the map of random Fourier features (Rahimi & Recht, NIPS 2007):
// features/2 frequencies, normal with deviation 1/σ and drawn by seed, each giving a
// cosine and a sine, so that every sample's own similarity is exactly 1. features
// must be even. It needs no samples; d is their width.
func NewFourier(d, features int, sigma float64, seed uint64) *Fourier {
	checkGaussian(features, sigma)
	if features%2 != 0 {
		panic(fmt.Sprintf("kernel: %d Fourier features; want an even number", features))
	}
	pairs := features / 2
	f := &Fourier{d: d, features: features, frequencies: make([]float64, pairs*d), scale: math.Sqrt(1 / float64(pairs))}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range f.frequencies {
		f.frequencies[i] = rng.NormFloat64() / sigma
	}
	return f
}

// checkGaussian is of an approximation of the kernel by some columns.
func checkGaussian(columns int, sigma float64) {
	if columns < 1 || !(sigma > 0) || math.IsInf(sigma, 1) {
		panic(fmt.Sprintf("kernel: %d columns of width σ = %g; want at least 1 and > 0", columns, sigma))
	}
}

// Dim returns the number of features.
func (f *Fourier) Dim() int { return f.features }

// Map writes the features of x, n×d row-major, to dst, n×Dim row-major, which it
// grows and returns. Cost O(nd·Dim).
func (f *Fourier) Map(dst, x []float64, n int) []float64 {
	checkRows(x, n, f.d)
	dst = grow(dst, n*f.features)
	pairs := f.features / 2
	phases := make([]float64, tileMax*pairs)
	for i := 0; i < n; i += tileMax {
		rows := min(tileMax, n-i)
		products(phases, x[i*f.d:(i+rows)*f.d], f.frequencies, rows, pairs, f.d)
		for q, phase := range phases[:rows*pairs] {
			sin, cos := math.Sincos(phase)
			at := i*f.features + 2*q
			dst[at], dst[at+1] = f.scale*cos, f.scale*sin
		}
	}
	return dst
}

// products writes XZᵀ to dst, n×m, for n rows of x and m of z, each of d numbers.
func products(dst, x, z []float64, n, m, d int) {
	var s [2 * tileMax]float64
	tile := tileRows(d)
	for i := 0; i < n; i += tile {
		rows := min(tile, n-i)
		for j := 0; j < m; j += 2 {
			nv := min(2, m-j)
			dots(s[:], tileMax, x[i*d:(i+rows)*d], d, z[j*d:(j+nv)*d], nv, rows)
			for k := range nv {
				for q, p := range s[k*tileMax : k*tileMax+rows] {
					dst[(i+q)*m+j+k] = p
				}
			}
		}
	}
}
