package kernel

import (
	"fmt"
	"math"
)

// Product is K = XXᵀ + γI with X the rows of its blocks, one below the other, as
// an operator only: it multiplies, and leaves solving to Conjugate. It has no use
// for Gram matrices, so its blocks may be Rows, of any width. The zero value is
// ready for Reset. It must not be copied.
type Product struct {
	sweep
	gamma float64
}

// Reset sets the samples to the rows of blocks and the ridge to gamma > 0. The
// blocks are kept, not copied. Cost O(len(blocks)).
func (k *Product) Reset(blocks []*Block, gamma float64) {
	if len(blocks) == 0 || !(gamma > 0) || math.IsInf(gamma, 1) {
		panic(fmt.Sprintf("kernel: %d blocks and ridge %g; want at least one and > 0", len(blocks), gamma))
	}
	k.reset(blocks)
	k.gamma = gamma
}

// SigmaMin returns γ, a lower bound on K's smallest eigenvalue (attained when
// n > d).
func (k *Product) SigmaMin() float64 { return k.gamma }

// Mul writes Kα to dst. Both are n×labels row-major and may not alias.
// Cost O(nd·labels).
func (k *Product) Mul(dst, alpha []float64, labels int) {
	k.check(dst, alpha, labels)
	columns := columnsOf(alpha, labels)
	k.project(alpha, labels, columns)
	k.expand(dst, alpha, labels, columns, k.gamma, 1)
}

// Weights writes the primal classifier W = Xᵀα to the start of dst, labels×d
// row-major.
// Cost O(nd·labels).
func (k *Product) Weights(dst, alpha []float64, labels int) {
	k.check(alpha, alpha, labels)
	if len(dst) < labels*k.d {
		panic(fmt.Sprintf("kernel: %d numbers for a classifier of %d labels × %d columns", len(dst), labels, k.d))
	}
	columns := columnsOf(alpha, labels)
	k.project(alpha, labels, columns)
	copy(dst, k.v)
	if columns < labels {
		for i, v := range k.v {
			dst[k.d+i] = -v
		}
	}
}

// Scores writes XW, the samples' scores under the primal classifier W at the start of
// w, labels×d row-major as Weights leaves it, to dst, n×labels row-major.
// Cost O(nd·labels).
func (k *Product) Scores(dst, w []float64, labels int) {
	k.check(dst, dst, labels)
	if len(w) < labels*k.d {
		panic(fmt.Sprintf("kernel: %d numbers for a classifier of %d labels × %d columns", len(w), labels, k.d))
	}
	k.v = append(k.v[:0], w[:labels*k.d]...)
	clear(dst)
	k.expand(dst, dst, labels, labels, 0, 1)
}

// columnsOf returns how many of r's columns a product needs: one of two if one is
// the other's negative, as a symmetric loss makes them for two labels.
func columnsOf(r []float64, labels int) int {
	if labels != 2 {
		return labels
	}
	for i := 0; i+1 < len(r); i += 2 {
		if r[i] != -r[i+1] {
			return 2
		}
	}
	return 1
}
