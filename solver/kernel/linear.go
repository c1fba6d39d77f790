package kernel

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// ErrNotFinite says that the rows, or a penalty, hold a NaN or an infinity.
var ErrNotFinite = errors.New("kernel: rows or penalty not finite")

// Block is a run of consecutive samples: N rows of D numbers, row-major, and
// their Gram matrix XᵀX. A block is immutable once made, so one frame's block
// serves every window the frame is part of.
type Block struct {
	N, D int
	X    []float64 // N×D
	Gram []float64 // D×D, upper triangle
}

// NewBlock computes the Gram matrix of x, which holds n rows of d numbers and is
// kept, not copied. Cost O(nd²).
func NewBlock(x []float64, n, d int) *Block {
	b := &Block{}
	b.Reset(x, n, d)
	return b
}

// Reset makes b the block of x as NewBlock does, keeping b's Gram storage.
func (b *Block) Reset(x []float64, n, d int) {
	if len(x) != n*d {
		panic(fmt.Sprintf("kernel: %d numbers are not %d rows of %d", len(x), n, d))
	}
	if cap(b.Gram) < d*d {
		b.Gram = make([]float64, d*d)
	}
	b.N, b.D, b.X, b.Gram = n, d, x, b.Gram[:d*d]
	clear(b.Gram)
	if n == 0 || d == 0 {
		return
	}
	blas64.Syrk(blas.Trans, 1, blas64.General{Rows: n, Cols: d, Stride: d, Data: x}, 0,
		blas64.Symmetric{N: d, Stride: d, Data: b.Gram, Uplo: blas.Upper})
}

// Linear is K = XXᵀ + γI with X the rows of its blocks, one below the other.
// The zero value is ready for Reset.
type Linear struct {
	n, d   int
	gamma  float64
	blocks []*Block

	gram []float64 // Σ of the blocks' Gram matrices, d×d, upper
	chol []float64 // d×d, (c/ρ)I + G and then its upper Cholesky factor
	c    float64
	v    []float64 // d, one label's column of XᵀR
}

// Reset sets the samples to the rows of blocks and the ridge to gamma > 0, which
// is the smallest eigenvalue K is known to have. The blocks are kept, not
// copied. The Gram matrix is summed afresh from the blocks' own, so it cannot
// drift as a window slides. Cost O(len(blocks)·d²).
func (k *Linear) Reset(blocks []*Block, gamma float64) {
	if len(blocks) == 0 || gamma <= 0 {
		panic(fmt.Sprintf("kernel: %d blocks and ridge %g; want at least one and > 0", len(blocks), gamma))
	}
	d := blocks[0].D
	if k.d != d || k.v == nil {
		k.d = d
		k.gram, k.chol, k.v = make([]float64, d*d), make([]float64, d*d), make([]float64, d)
	}
	clear(k.gram)
	k.n, k.gamma = 0, gamma
	k.blocks = append(k.blocks[:0], blocks...)
	for _, b := range blocks {
		if b.D != d {
			panic(fmt.Sprintf("kernel: a block of %d columns among blocks of %d", b.D, d))
		}
		k.n += b.N
		for i, g := range b.Gram {
			k.gram[i] += g
		}
	}
}

// Len returns n, the number of samples.
func (k *Linear) Len() int { return k.n }

// SigmaMin returns γ, a lower bound on K's smallest eigenvalue (attained when
// n > d).
func (k *Linear) SigmaMin() float64 { return k.gamma }

// Factor prepares Solve for the penalties nu and rho: with c = 2ν + ργ it
// factorises (c/ρ)I + XᵀX. Cost O(d³).
func (k *Linear) Factor(nu, rho float64) error {
	k.c = 2*nu + rho*k.gamma
	copy(k.chol, k.gram)
	for i := range k.d {
		k.chol[i*k.d+i] += k.c / rho
	}
	if _, ok := lapack64.Potrf(k.symmetric()); !ok {
		return fmt.Errorf("%w (ν=%g, ρ=%g)", ErrNotFinite, nu, rho)
	}
	return nil
}

func (k *Linear) symmetric() blas64.Symmetric {
	return blas64.Symmetric{N: k.d, Stride: k.d, Data: k.chol, Uplo: blas.Upper}
}

// Solve writes (2νI + ρK)⁻¹R to alpha by Woodbury's identity,
// α = (R − X((c/ρ)I + G)⁻¹XᵀR)/c. Both are n×labels row-major and may not alias.
// Cost O(nd·labels).
func (k *Linear) Solve(alpha, r []float64, labels int) {
	for i, v := range r {
		alpha[i] = v / k.c
	}
	factor := blas64.Triangular{N: k.d, Stride: k.d, Data: k.chol, Uplo: blas.Upper, Diag: blas.NonUnit}
	columns := labels
	if mirrored(r, labels) {
		columns = 1
	}
	for l := range columns {
		k.project(r, l, labels)
		lapack64.Potrs(factor, blas64.General{Rows: k.d, Cols: 1, Stride: 1, Data: k.v})
		k.expand(alpha, l, labels, -1/k.c, k.v)
	}
	if columns < labels {
		for i := 0; i < len(alpha); i += 2 {
			alpha[i+1] = -alpha[i]
		}
	}
}

// mirrored tells whether r has two columns of which one is the other's negative, as
// a symmetric loss makes them for two labels. The products with one column then
// serve both.
func mirrored(r []float64, labels int) bool {
	if labels != 2 {
		return false
	}
	for i := 0; i+1 < len(r); i += 2 {
		if r[i] != -r[i+1] {
			return false
		}
	}
	return true
}

// Mul writes Kα to dst. Both are n×labels row-major and may not alias.
func (k *Linear) Mul(dst, alpha []float64, labels int) {
	for i, a := range alpha {
		dst[i] = k.gamma * a
	}
	for l := 0; l < labels; l++ {
		k.project(alpha, l, labels)
		k.expand(dst, l, labels, 1, k.v)
	}
}

// Weights writes the primal classifier W = Xᵀα to dst, labels×d row-major.
func (k *Linear) Weights(dst, alpha []float64, labels int) {
	for l := 0; l < labels; l++ {
		k.project(alpha, l, labels)
		copy(dst[l*k.d:(l+1)*k.d], k.v)
	}
}

// project leaves Xᵀr, r the label's column of an n×labels matrix, in k.v.
func (k *Linear) project(r []float64, label, labels int) {
	clear(k.v)
	row := 0
	for _, b := range k.blocks {
		if b.N > 0 {
			blas64.Gemv(blas.Trans, 1, b.general(), column(r, row, b.N, label, labels), 1, blas64.Vector{N: k.d, Inc: 1, Data: k.v})
		}
		row += b.N
	}
}

// expand adds a·Xv to the label's column of dst.
func (k *Linear) expand(dst []float64, label, labels int, a float64, v []float64) {
	row := 0
	for _, b := range k.blocks {
		if b.N > 0 {
			blas64.Gemv(blas.NoTrans, a, b.general(), blas64.Vector{N: k.d, Inc: 1, Data: v}, 1, column(dst, row, b.N, label, labels))
		}
		row += b.N
	}
}

func (b *Block) general() blas64.General {
	return blas64.General{Rows: b.N, Cols: b.D, Stride: b.D, Data: b.X}
}

// column is rows [row, row+n) of the label's column of an n×labels matrix.
func column(m []float64, row, n, label, labels int) blas64.Vector {
	return blas64.Vector{N: n, Inc: labels, Data: m[row*labels+label : (row+n-1)*labels+label+1]}
}
