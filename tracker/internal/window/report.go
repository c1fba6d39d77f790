package window

import (
	"math"

	"github.com/segd/segd/solver"
)

// Traced is how many iterations' Lagrangians a Report tells.
const Traced = 5

// Report tells how a DC-ADMM went; zero when nothing was solved.
type Report struct {
	Iterations int
	Start      float64 // objective at the warm start; +Inf if an annotation rules its labels out
	Lagrangian float64
	Descent    float64 // relative fall from Start to Lagrangian; 0 from +Inf
	Primal     float64
	Dual       float64
	Violations int // iterations that raised the Lagrangian
	Guaranteed int // iterations that could not, see package solver
	Flips      int
	FlipRatio  float64 // flips / (samples × iterations)
	Converged  bool
	OutOfTime  bool // Config.Budget ended it

	// Trace is the Lagrangian after each of the first iterations; where there were
	// fewer, the last one's.
	Trace [Traced]float64
}

func (w *Window) trace(it solver.Iteration) {
	for i := it.Index; i < Traced; i++ {
		w.report.Trace[i] = it.Lagrangian
	}
}

func (r *Report) sum(res solver.Result, samples int) {
	r.Iterations, r.Start, r.Lagrangian = res.Iterations, res.Start, res.Last.Lagrangian
	r.Primal, r.Dual, r.Flips = res.Last.Primal, res.Last.Dual, res.Flips
	r.Violations, r.Guaranteed = res.Violations, res.Guaranteed
	r.Converged, r.OutOfTime = res.Status == solver.Converged, res.Status == solver.Interrupted
	if size := math.Abs(res.Start); size > 0 && !math.IsInf(size, 1) {
		r.Descent = (res.Start - res.Last.Lagrangian) / size
	}
	if res.Iterations > 0 {
		r.FlipRatio = float64(res.Flips) / float64(samples*res.Iterations)
	}
}
