// Package loss holds the per-sample loss of the DC-ADMM objective: its
// value and proximal map, and the lookup table u of the discrete update (eq.
// lookup_table of the paper).
//
//	Hinge  Σ_l max(0, 1 − s_l β_l)  closed form
//
// A loss scores n samples against L labels. Scores, targets and tables are
// n×L row-major float64. Weights ω are ≥ 0, ρ is > 0 and ω/ρ is finite. All
// functions are pure and may be called from any goroutine on disjoint
// destinations. They allocate nothing. Arguments that do not fit each other are errors
// that wrap ErrInput, and nothing is written; a NaN among the targets of a sample
// gives NaN in its row of the table.
package loss
