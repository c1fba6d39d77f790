// Package kernel holds the Gram matrices K of the DC-ADMM objective. A kernel
// multiplies with K and solves the α-update's normal equation (2νI + ρK)α = R,
// which is all the solver asks of it.
//
// Linear is K = XXᵀ + γI for rows of explicit features, and never forms the n×n
// matrix: n may be large, d is what a Cholesky factorisation bears. Nystrom and
// Fourier make such features for the Gaussian kernel. Dense takes a precomputed
// matrix of few samples. Conjugate solves by products alone, for a d that is too
// large to factorise.
//
// Sample rows are float64, row-major. A kernel is not safe for concurrent use; a
// Block or an RBF may be shared. Large products use every core, see SetWorkers. The
// same input gives the same bits, whatever the number of workers and whether the
// assembly, used where there is AVX, or its Go twin (build tag noasm) does the
// products.
package kernel
