package window

import (
	"math"

	"github.com/segd/segd/solver"
)

// Traced is how many iterations' Lagrangians a Report tells.
const Traced = 5

// Report tells how a DC-ADMM went; zero but for Unlearnt when nothing was solved.
type Report struct {
	Estimated int // objects that were estimated
	Unlearnt  int // objects that were not: there was nothing to learn from the frame, or it defines others

	Iterations int
	Carried    float64 // share of the rows that start with α and λ of the last window
	Start      float64 // Lagrangian at the start; +Inf if an annotation rules its labels out
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

// trace is what the iterations of all objects' problems add up to.
type trace struct {
	lagrangian   [Traced]float64 // after each
	last         [Traced]float64 // of the object that is being solved
	rose, loose  []bool          // by iteration, of any object: the Lagrangian rose, and it may
	size         float64         // samples×labels
	primal, dual float64         // squares, times that
	samples      int             // times iterations
	rows         int
	carried      int // of the rows, that start with what the last window left
}

func (t *trace) reset() { *t = trace{rose: t.rose[:0], loose: t.loose[:0]} }

func (t *trace) add(it solver.Iteration) {
	for i := it.Index; i < Traced; i++ {
		t.last[i] = it.Lagrangian
	}
	for len(t.rose) <= it.Index {
		t.rose, t.loose = append(t.rose, false), append(t.loose, false)
	}
	t.rose[it.Index] = t.rose[it.Index] || it.Rose
	t.loose[it.Index] = t.loose[it.Index] || !it.Guaranteed
}

// sum adds an object's solve.
func (r *Report) sum(t *trace, res solver.Result, samples int) {
	r.Iterations = max(r.Iterations, res.Iterations)
	r.Start, r.Lagrangian = r.Start+res.Fitted, r.Lagrangian+res.Last.Lagrangian
	r.Converged, r.OutOfTime = r.Converged && res.Status == solver.Converged, r.OutOfTime || res.Status == solver.Interrupted
	r.Flips += res.Flips
	size := float64(2 * samples)
	t.size, t.primal, t.dual = t.size+size, t.primal+size*res.Last.Primal*res.Last.Primal, t.dual+size*res.Last.Dual*res.Last.Dual
	t.samples += samples * res.Iterations
	t.rows += samples
	for i, l := range t.last {
		t.lagrangian[i] += l
	}
	t.last = [Traced]float64{}
}

// finish sets what is of all objects together.
func (r *Report) finish(t *trace) {
	if r.Trace = t.lagrangian; t.size == 0 {
		r.Converged = false
		return
	}
	r.Carried = float64(t.carried) / float64(t.rows)
	r.Primal, r.Dual = math.Sqrt(t.primal/t.size), math.Sqrt(t.dual/t.size)
	if size := math.Abs(r.Start); size > 0 && !math.IsInf(size, 1) {
		r.Descent = (r.Start - r.Lagrangian) / size
	}
	for i, rose := range t.rose {
		if rose {
			r.Violations++
		}
		if !t.loose[i] {
			r.Guaranteed++
		}
	}
	if t.samples > 0 {
		r.FlipRatio = float64(r.Flips) / float64(t.samples)
	}
}
