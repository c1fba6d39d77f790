// Package rowsum adds up rows of float32 by weights, by vector code where there is some.
package rowsum

import "gonum.org/v1/gonum/blas/blas32"

// block is how many numbers vector code does at once.
const block = 32

// Add adds the sum of weights[i] times row i to dst; row i is the len(dst) numbers from rows[i*stride] on. Vector code does not round
// products before it adds them, so its results differ in their last bits from those without.
func Add(dst, rows []float32, stride int, weights []float32) {
	whole := 0 // of dst, what vector code does
	if vector && len(weights) > 0 {
		_ = rows[(len(weights)-1)*stride:][:len(dst)]
		if whole = len(dst) / block; whole > 0 {
			add(&dst[0], &rows[0], &weights[0], stride, len(weights), whole)
		}
		whole *= block
	}
	if whole == len(dst) {
		return
	}
	blas := blas32.Implementation()
	for i, w := range weights {
		blas.Saxpy(len(dst)-whole, w, rows[i*stride+whole:], 1, dst[whole:], 1)
	}
}
