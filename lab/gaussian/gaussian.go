// Package gaussian makes features for the Gaussian kernel, as exact as wanted, of samples that are all
// there: solver/kernel's Linear has that kernel then. It is pure numbers, on one goroutine.
package gaussian

import (
	"fmt"
	"math"

	"github.com/segd/segd/solver/kernel"
)

// Factor returns rows G, as a block for kernel.Linear, with K ≈ GGᵀ for the Gaussian
// kernel K_ij = exp(−‖x_i − x_j‖²/2σ²) of the n rows of x, by Cholesky factorisation
// with the largest remaining diagonal element as the pivot (Fine & Scheinberg
// 2001). It ends at rank columns, or sooner when no diagonal element differs by
// more than tol; each element is then within tol too. x is not kept. The errors are
// those of kernel.NewBlock. Cost O(n·rank·(rank+d)).
func Factor(x []float64, n, d int, sigma float64, rank int, tol float64) (*kernel.Block, error) {
	if n < 0 || d < 0 || len(x) != n*d {
		return nil, fmt.Errorf("gaussian: %w: %d numbers are not %d rows of %d", kernel.ErrInput, len(x), n, d)
	}
	if rank < 1 || !(sigma > 0) || math.IsInf(sigma, 1) {
		return nil, fmt.Errorf("gaussian: %w: %d columns of width σ = %g; want at least 1 and > 0", kernel.ErrInput, rank, sigma)
	}
	rank = min(rank, n)
	byColumn := make([][]float64, 0, rank)
	left := make([]float64, n) // diagonal of K − GGᵀ
	for i := range left {
		left[i] = 1
	}
	for len(byColumn) < rank {
		p := 0
		for i, v := range left {
			if v > left[p] {
				p = i
			}
		}
		if left[p] <= tol {
			break
		}
		scale := 1 / math.Sqrt(left[p])
		c := make([]float64, n)
		for i := range c {
			c[i] = gauss(x[i*d:(i+1)*d], x[p*d:(p+1)*d], sigma)
		}
		for _, b := range byColumn {
			a := b[p]
			for i, v := range b {
				c[i] -= a * v
			}
		}
		for i := range c {
			c[i] *= scale
			left[i] = math.Max(0, left[i]-c[i]*c[i])
		}
		left[p] = 0
		byColumn = append(byColumn, c)
	}
	r := len(byColumn)
	g := make([]float64, n*r)
	for j, c := range byColumn {
		for i, v := range c {
			g[i*r+j] = v
		}
	}
	return kernel.NewBlock(g, n, r)
}

func gauss(a, b []float64, sigma float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return math.Exp(-sum / (2 * sigma * sigma))
}
