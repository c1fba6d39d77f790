package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// RBF maps samples to explicit features whose inner products approximate the
// Gaussian kernel exp(−‖x−y‖²/2σ²). It is read-only once made, so several
// goroutines may use it.
type RBF struct {
	d, rank int
	points  []float64 // landmarks, or frequencies, one a row of d
	norms   []float64 // ½‖·‖²/σ² of the landmarks; nil for frequencies
	scale   float64   // 1/σ² for landmarks, √(1/pairs) for frequencies
	root    []float64 // rank×landmarks: rows of Λ^(−½)Uᵀ; nil for frequencies
}

// Nystrom returns the features of x under NewNystrom's map of the same arguments,
// as a block for Linear: K ≈ GGᵀ + γI.
func Nystrom(x []float64, n, d, landmarks int, sigma float64, seed uint64) (*Block, error) {
	f, err := NewNystrom(x, n, d, landmarks, sigma, seed)
	if err != nil {
		return nil, err
	}
	return f.block(x, n), nil
}

// Fourier returns the features of x under NewFourier's map of the same arguments,
// as a block for Linear: K ≈ GGᵀ + γI.
func Fourier(x []float64, n, d, features int, sigma float64, seed uint64) (*Block, error) {
	checkRows(x, n, d)
	if !finite(x) {
		return nil, fmt.Errorf("%w: Fourier", ErrNotFinite)
	}
	return NewFourier(d, features, sigma, seed).block(x, n), nil
}

func (f *RBF) block(x []float64, n int) *Block { return NewBlock(f.Map(nil, x, n), n, f.rank) }

// NewNystrom makes the Nyström map: a sample's feature is its kernel row against
// some samples, the landmarks, times the inverse root of the landmarks' own matrix
// (Williams & Seeger, NIPS 2000). The features of a landmark are exact, and so is
// everything when all of x are landmarks.
//
// x is n×d row-major and not kept. min(landmarks, n) rows of it are drawn uniformly,
// without replacement, by seed; no clustering is done. Directions in which the
// landmarks' matrix is below 1e-12 of its largest eigenvalue are rounding and left
// out, so Dim can be less than landmarks. A NaN or an infinity in x is an
// ErrNotFinite. Cost O(landmarks³).
func NewNystrom(x []float64, n, d, landmarks int, sigma float64, seed uint64) (*RBF, error) {
	checkRows(x, n, d)
	checkRBF(landmarks, sigma)
	if n == 0 || !finite(x) {
		return nil, fmt.Errorf("%w: Nyström landmarks from %d samples", ErrNotFinite, n)
	}
	m := min(landmarks, n)
	f := &RBF{d: d, scale: 1 / (sigma * sigma), points: make([]float64, 0, m*d), norms: make([]float64, m)}
	order := rand.New(rand.NewPCG(seed, 0)).Perm(n)
	for i, row := range order[:m] {
		f.points = append(f.points, x[row*d:(row+1)*d]...)
		f.norms[i] = f.norm(f.points[i*d:])
	}
	between := make([]float64, m*m)
	f.similarities(between, f.points, m)
	var s spectrum
	if s.of(between, m); !s.known {
		return nil, fmt.Errorf("kernel: the eigenvalues of %d landmarks did not converge", m)
	}
	const negligible = 1e-12
	for j := m - 1; j >= 0 && s.values[j] > negligible*s.values[m-1]; j-- {
		root := 1 / math.Sqrt(s.values[j])
		for i := range m {
			f.root = append(f.root, s.vectors[i*m+j]*root)
		}
		f.rank++
	}
	return f, nil
}

// NewFourier makes the map of random Fourier features (Rahimi & Recht, NIPS 2007):
// features/2 frequencies, normal with deviation 1/σ and drawn by seed, each giving a
// cosine and a sine, so that every sample's own similarity is exactly 1. features
// must be even. It needs no samples; d is their width.
func NewFourier(d, features int, sigma float64, seed uint64) *RBF {
	checkRBF(features, sigma)
	if features%2 != 0 {
		panic(fmt.Sprintf("kernel: %d Fourier features; want an even number", features))
	}
	pairs := features / 2
	f := &RBF{d: d, rank: features, points: make([]float64, pairs*d), scale: math.Sqrt(1 / float64(pairs))}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range f.points {
		f.points[i] = rng.NormFloat64() / sigma
	}
	return f
}

func checkRBF(features int, sigma float64) {
	if features < 1 || !(sigma > 0) || math.IsInf(sigma, 1) {
		panic(fmt.Sprintf("kernel: %d features of width σ = %g; want at least 1 and > 0", features, sigma))
	}
}

// Dim returns the number of features.
func (f *RBF) Dim() int { return f.rank }

// Map writes the features of x, n×d row-major, to dst, n×Dim row-major, which it
// grows and returns. Cost O(n·(d+Dim)·landmarks), or O(nd·Dim) for Fourier.
func (f *RBF) Map(dst, x []float64, n int) []float64 {
	checkRows(x, n, f.d)
	dst = grow(dst, n*f.rank)
	if f.norms == nil {
		pairs := f.rank / 2
		phases := make([]float64, tileMax*pairs)
		for i := 0; i < n; i += tileMax {
			rows := min(tileMax, n-i)
			products(phases, x[i*f.d:(i+rows)*f.d], f.points, rows, pairs, f.d)
			for q, phase := range phases[:rows*pairs] {
				sin, cos := math.Sincos(phase)
				at := i*f.rank + 2*q
				dst[at], dst[at+1] = f.scale*cos, f.scale*sin
			}
		}
		return dst
	}
	m := len(f.norms)
	rows := make([]float64, tileMax*m)
	for i := 0; i < n; i += tileMax {
		count := min(tileMax, n-i)
		f.similarities(rows, x[i*f.d:(i+count)*f.d], count)
		products(dst[i*f.rank:], rows, f.root, count, f.rank, m)
	}
	return dst
}

// norm is ½‖x‖²/σ² of a row.
func (f *RBF) norm(x []float64) float64 {
	return dotGo(x[:f.d], x[:f.d]) * f.scale / 2
}

// similarities writes the kernel between n rows of x and the landmarks to dst.
func (f *RBF) similarities(dst, x []float64, n int) {
	m := len(f.norms)
	products(dst, x, f.points, n, m, f.d)
	for i := range n {
		own := f.norm(x[i*f.d:])
		for j, p := range dst[i*m : (i+1)*m] {
			dst[i*m+j] = math.Exp(math.Min(0, f.scale*p-own-f.norms[j]))
		}
	}
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

// Gaussian returns the exact kernel matrix exp(−‖x−y‖²/2σ²) of n samples, n×n, for
// Dense. x is n×d row-major. A NaN or an infinity in x is an ErrNotFinite.
// Cost O(n²d).
func Gaussian(x []float64, n, d int, sigma float64) ([]float64, error) {
	checkRows(x, n, d)
	checkRBF(1, sigma)
	if !finite(x) {
		return nil, fmt.Errorf("%w: Gaussian", ErrNotFinite)
	}
	f := &RBF{d: d, scale: 1 / (sigma * sigma), points: x, norms: make([]float64, n)}
	for i := range n {
		f.norms[i] = f.norm(x[i*d:])
	}
	k := make([]float64, n*n)
	f.similarities(k, x, n)
	for i := range n {
		k[i*n+i] = 1
		for j := range i {
			k[i*n+j] = k[j*n+i]
		}
	}
	return k, nil
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
