package kernel

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Linear is K = XM⁻¹Xᵀ + γI with X the rows of its blocks, one below the other, and
// the metric M = I, or what Whiten makes it. It solves with K by way of the d×d Gram
// matrix, whatever n. The zero value is ready for Reset. It must not be copied.
type Linear struct {
	sweep
	gamma    float64
	tau, eps float64   // of the metric; τ = 0: it is I
	gram     []float64 // Σ of the blocks' Gram matrices G, d×d, upper
	chol     []float64 // d×d, the upper Cholesky factor of (c/ρ)M + G, and below the diagonal its transpose
	metric   []float64 // d×d, that of G + εI, if inverted
	inverted bool
	t        []float64 // d
	panel    []float64 // cholesky's

	nu, rho, c float64 // of the last Factor; c = 0 if it failed or there was none
	factored   int     // since Reset
	solved     int     // labels of the last Solve, if v is still its
	spectrum   spectrum
}

// diagonaliseAfter so many factorisations of one Gram matrix Factor goes over to
// its eigenvectors, with which the next ones are free. Finding them takes as long as
// 25 to 60 factorisations, so the rule never costs much more than twice the better
// of the two ways.
const diagonaliseAfter = 32

// Reset sets the samples to the rows of blocks and the ridge to gamma > 0, which
// is the smallest eigenvalue K is known to have. The blocks are kept, not
// copied.
//
// This is how a window slides: each frame's Gram matrix is computed once, when its
// block is made, and the window's is summed afresh from the blocks' own. Nothing is
// ever subtracted, so nothing drifts: after any number of slides the sum has the
// bits of one made from scratch. Cost O(len(blocks)·d²).
//
// The error wraps ErrInput where there is no block, γ is not > 0, or blocks differ in
// their columns or were not made by NewBlock or Reset, and ErrNotFinite where their
// Gram matrices' sum is not finite. k has no samples then.
func (k *Linear) Reset(blocks []*Block, gamma float64) error {
	k.gamma, k.tau, k.inverted = gamma, 0, false
	k.c, k.factored, k.solved, k.spectrum.known = 0, 0, 0, false
	if !(gamma > 0) || math.IsInf(gamma, 1) {
		k.forget()
		return fmt.Errorf("%w: ridge γ = %g; want > 0 and finite", ErrInput, gamma)
	}
	if err := k.reset(blocks); err != nil {
		return err
	}
	k.gram, k.chol, k.t = grow(k.gram, k.d*k.d), grow(k.chol, k.d*k.d), grow(k.t, k.d)
	clear(k.gram)
	for _, b := range blocks {
		for i, g := range b.Gram {
			k.gram[i] += g
		}
	}
	if column := notFinite(k.gram, k.d); column >= 0 {
		k.forget()
		return fmt.Errorf("%w: the squares of column %d of all blocks overflow", ErrNotFinite, column)
	}
	return nil
}

// Whiten sets the metric to M = (G + εI)/τ until the next Reset, with tau and eps > 0 and
// G = XᵀX. Then K's eigenvalues lie between γ and γ + τ, whatever the samples are, and how
// fast ADMM converges depends on τ/γ alone. ⟨W, MW⟩ is, but for ε, ‖XW‖²/τ: what a classifier
// costs is what it says of the samples, and not how large its numbers are.
//
// The error wraps ErrInput where τ or ε is not > 0 and finite.
func (k *Linear) Whiten(tau, eps float64) error {
	if !(tau > 0 && eps > 0) || math.IsInf(tau, 1) || math.IsInf(eps, 1) {
		return fmt.Errorf("%w: metric with τ = %g and ε = %g; want both > 0 and finite", ErrInput, tau, eps)
	}
	k.tau, k.eps, k.inverted = tau, eps, false
	k.c, k.solved = 0, 0
	return nil
}

// scales are a and b of (c/ρ)M + G = aG + bI.
func (k *Linear) scales(c, rho float64) (a, b float64) {
	if k.tau == 0 {
		return 1, c / rho
	}
	a = c / (rho * k.tau)
	return 1 + a, a * k.eps
}

// SigmaMin returns γ, a lower bound on K's smallest eigenvalue (attained when
// n > d).
func (k *Linear) SigmaMin() float64 { return k.gamma }

// Weights writes the primal classifier W = M⁻¹Xᵀα to the start of dst, labels×d
// row-major.
// Cost O(nd·labels), and once after Whiten O(d³).
func (k *Linear) Weights(dst, alpha []float64, labels int) error {
	if err := k.checkClassifier(dst, alpha, labels); err != nil {
		return err
	}
	columns := columnsOf(alpha, labels)
	k.solved = 0
	k.project(alpha, labels, columns)
	copy(dst, k.v)
	if columns < labels {
		for i, v := range k.v {
			dst[k.d+i] = -v
		}
	}
	if k.tau == 0 || k.d == 0 {
		return nil
	}
	if !k.inverted {
		k.metric = grow(k.metric, k.d*k.d)
		if k.inverted = k.factor(k.metric, 1, k.eps); !k.inverted {
			return fmt.Errorf("%w (metric of ε=%g)", ErrNotFinite, k.eps)
		}
	}
	for l := range labels {
		w := dst[l*k.d:][:k.d]
		substitute(w, k.metric, k.d)
		for i := range w {
			w[i] *= k.tau
		}
	}
	return nil
}

// SolvedWeights writes M⁻¹Xᵀα of the α that the last Solve returned to the start of dst, as Weights
// does but without going over the rows: of v = ((c/ρ)M + G)⁻¹XᵀR it is v/ρ.
func (k *Linear) SolvedWeights(dst []float64, labels int) error {
	if labels < 1 || k.solved != labels || len(dst) < labels*k.d {
		return fmt.Errorf("%w: %d numbers for a classifier of %d labels × %d columns, and a Solve of %d labels", ErrInput, len(dst), labels, k.d, k.solved)
	}
	for i, v := range k.v {
		dst[i] = v / k.rho
	}
	if len(k.v) < labels*k.d {
		for i, v := range k.v {
			dst[k.d+i] = -v / k.rho
		}
	}
	return nil
}

// Scores writes XW, the samples' scores under the primal classifier W at the start of
// w, labels×d row-major as Weights leaves it, to dst, n×labels row-major.
// Cost O(nd·labels).
func (k *Linear) Scores(dst, w []float64, labels int) error {
	if err := k.checkClassifier(w, dst, labels); err != nil {
		return err
	}
	k.solved = 0
	k.v = append(k.v[:0], w[:labels*k.d]...)
	clear(dst)
	k.expand(dst, dst, labels, rowsOf(k.v, labels), 0, 1)
	return nil
}

// checkClassifier looks at a classifier w and at n×labels numbers.
func (k *Linear) checkClassifier(w, numbers []float64, labels int) error {
	if err := k.check(numbers, numbers, labels); err != nil {
		return err
	}
	if len(w) < labels*k.d {
		return fmt.Errorf("%w: %d numbers for a classifier of %d labels × %d columns", ErrInput, len(w), labels, k.d)
	}
	return nil
}

// Factor prepares Solve for the penalties nu and rho: with c = 2ν + ργ it
// factorises (c/ρ)M + XᵀX. Cost O(d³), or nothing if it has the same penalties
// ready; after diagonaliseAfter calls since Reset O(d).
func (k *Linear) Factor(nu, rho float64) error {
	if k.c != 0 && nu == k.nu && rho == k.rho {
		return nil
	}
	k.nu, k.rho, k.c = nu, rho, 0
	c := 2*nu + rho*k.gamma
	if !(c > 0 && c/rho > 0) || math.IsInf(c/rho, 1) {
		return fmt.Errorf("%w (ν=%g, ρ=%g)", ErrNotFinite, nu, rho)
	}
	k.factored++
	if k.factored == diagonaliseAfter {
		k.spectrum.of(k.gram, k.d)
	}
	if !k.spectrum.known && k.d > 0 {
		if a, b := k.scales(c, rho); !k.factor(k.chol, a, b) {
			return fmt.Errorf("%w (ν=%g, ρ=%g)", ErrNotFinite, nu, rho)
		}
	}
	k.c = c
	return nil
}

// factor writes the factor of aG + bI to dst.
func (k *Linear) factor(dst []float64, a, b float64) bool {
	for i, g := range k.gram {
		dst[i] = a * g
	}
	for i := range k.d {
		dst[i*k.d+i] += b
	}
	k.panel = grow(k.panel, panelRows*k.d)
	return cholesky(dst, k.d, k.panel)
}

// Solve writes (2νI + ρK)⁻¹R to alpha by Woodbury's identity,
// α = (R − X((c/ρ)M + G)⁻¹XᵀR)/c, with the penalties of the last Factor. Both are
// n×labels row-major and may not alias. Cost O(nd·labels).
func (k *Linear) Solve(alpha, r []float64, labels int) error {
	if err := k.check(alpha, r, labels); err != nil {
		return err
	}
	if k.c == 0 {
		return fmt.Errorf("%w: Solve without a Factor that succeeded", ErrInput)
	}
	columns := columnsOf(r, labels)
	k.project(r, labels, columns)
	for l := range columns {
		k.solveGram(k.v[l*k.d : (l+1)*k.d])
	}
	k.expand(alpha, r, labels, columns, 1/k.c, -1/k.c)
	k.solved = labels
	return nil
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

// rowsOf is columnsOf of a classifier, whose columns are rows.
func rowsOf(w []float64, labels int) int {
	if labels != 2 {
		return labels
	}
	half := len(w) / 2
	for i, v := range w[:half] {
		if v != -w[half+i] {
			return 2
		}
	}
	return 1
}

// solveGram replaces v by ((c/ρ)M + G)⁻¹v.
func (k *Linear) solveGram(v []float64) {
	if k.d == 0 {
		return
	}
	if !k.spectrum.known {
		substitute(v, k.chol, k.d)
		return
	}
	q := blas64.General{Rows: k.d, Cols: k.d, Stride: k.d, Data: k.spectrum.vectors}
	x, t := blas64.Vector{N: k.d, Inc: 1, Data: v}, blas64.Vector{N: k.d, Inc: 1, Data: k.t}
	blas64.Gemv(blas.Trans, 1, q, x, 0, t)
	a, b := k.scales(k.c, k.rho)
	for i, value := range k.spectrum.values {
		k.t[i] /= a*value + b
	}
	blas64.Gemv(blas.NoTrans, 1, q, t, 0, x)
}

// spectrum is the eigendecomposition of a positive semidefinite matrix.
type spectrum struct {
	known   bool
	values  []float64 // rising; a negative one, which rounding makes, is 0
	vectors []float64 // n×n, in columns
	work    []float64
}

// of decomposes the n×n matrix whose upper triangle a holds; known says whether
// that went well. Cost O(n³), some 25 Cholesky factorisations.
func (s *spectrum) of(a []float64, n int) {
	s.known = false
	if n == 0 {
		return
	}
	s.values, s.vectors = grow(s.values, n), grow(s.vectors, n*n)
	copy(s.vectors, a[:n*n])
	v := blas64.Symmetric{N: n, Stride: n, Data: s.vectors, Uplo: blas.Upper}
	var size [1]float64
	lapack64.Syev(lapack.EVCompute, v, s.values, size[:], -1)
	s.work = grow(s.work, int(size[0]))
	s.known = lapack64.Syev(lapack.EVCompute, v, s.values, s.work, len(s.work))
	for i, value := range s.values {
		s.values[i] = max(value, 0)
	}
}
