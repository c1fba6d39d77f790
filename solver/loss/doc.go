// Package loss holds the per-sample losses of the DC-ADMM objective: their
// values, their proximal maps and the lookup tables u of the discrete update
// (eq. lookup_table of the paper).
//
// A loss scores n samples against L labels. Scores, targets and tables are
// n×L row-major float64. All functions are pure, allocate nothing and may be
// called from any goroutine on disjoint destinations.
package loss
