// Package loss holds losses of the DC-ADMM objective that segd itself does without: their values and
// proximal maps, and the lookup tables u of the discrete update, as solver/loss has them of the hinge.
//
//	CrammerSinger  max(0, max_{l≠y} 1 + β_l − β_y)     water level of the dual, sorted once a sample
//	Softmax        log Σ_l exp β_l − β_y               root of one scalar equation in the margin
//
// A loss scores n samples against L labels. Scores, targets and tables are
// n×L row-major float64. Weights ω are ≥ 0, ρ is > 0 and ω/ρ is finite. All
// functions are pure and may be called from any goroutine on disjoint
// destinations. They allocate nothing, but for one scratch slice a call in
// CrammerSinger.Table with more than 32 labels. A NaN among the targets of a
// sample gives NaN in its row of the table.
package loss
