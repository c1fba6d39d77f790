// Package kernel holds the Gram matrix K of the DC-ADMM objective: it solves the
// α-update's normal equation (2νI + ρK)α = R, which is all the solver asks of it.
//
// Linear is K = XXᵀ + γI for rows of explicit features, and never forms the n×n
// matrix: n may be large, d is what a Cholesky factorisation bears. It also goes
// from α to the primal classifier Xᵀα and from a classifier to its scores. Linear.Whiten
// changes its metric, for a K that ADMM solves in a few iterations.
//
// Sample rows are float64 or float32, row-major; what is made of them is float64. A kernel is not safe for concurrent use; a
// Block may be shared. Large products use every core, see SetWorkers.
// The same input gives the same bits, whatever the number of workers and whether the
// assembly, used where there is AVX, or its Go twin (build tag noasm) does the
// products.
package kernel
