package window

import (
	"math"

	"github.com/segd/segd/solver"
)

// Traced is how many iterations' Lagrangians a Report tells.
const Traced = 8

// Report tells how a DC-ADMM went; zero when nothing was solved.
type Report struct {
	Iterations int
	Lagrangian float64
	Descent    float64 // relative fall of the Lagrangian over the solve
	Primal     float64
	Dual       float64
	Rho        float64
	Violations int
	Rejected   int // labelings that would have raised the Lagrangian
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
	r.Iterations, r.Lagrangian = res.Iterations, res.Last.Lagrangian
	r.Primal, r.Dual, r.Rho = res.Last.Primal, res.Last.Dual, res.Last.Rho
	r.Violations, r.Rejected, r.Flips = res.Violations, res.Rejected, res.Flips
	r.Converged, r.OutOfTime = res.Status == solver.Converged, res.Status == solver.Interrupted
	if res.First != 0 {
		r.Descent = (res.First - res.Last.Lagrangian) / math.Abs(res.First)
	}
	if res.Iterations > 0 {
		r.FlipRatio = float64(res.Flips) / float64(samples*res.Iterations)
	}
}
