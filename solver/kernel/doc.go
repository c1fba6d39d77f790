// Package kernel holds the Gram matrices K of the DC-ADMM objective. A kernel
// never forms the n×n matrix: it multiplies with K and solves the α-update's
// normal equation (2νI + ρK)α = R, which is all the solver asks of it.
//
// Sample rows are float64, row-major. A kernel is not safe for concurrent use.
package kernel
