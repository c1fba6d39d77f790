package tracker

import (
	"image"
	"time"

	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker/internal/life"
	"github.com/segd/segd/tracker/internal/window"
)

// Result is what the tracker knows after a frame.
type Result struct {
	Seq           uint64
	Width, Height int
	Objects       []Object
	Solve         Solve

	// Forgotten are the ids of the objects that were dropped since the last result
	// because the picture size changed. One may be among Objects, marked anew.
	Forgotten []uint32
}

// Object is one annotated object in one frame.
type Object struct {
	ID    uint32
	Label string
	State State
	Mask  mask.RLE // empty unless visible
	Area  int      // pixels
	Box   image.Rectangle
	Score float64 // mean probability of the label over the mask, 0…1
}

// State is where an object is in its life.
type State = life.State

const (
	Visible  = life.Visible  // it has a mask
	Occluded = life.Occluded // it had one a moment ago
	Lost     = life.Lost     // not seen for longer than Config.OccludedFrames
)

// Traced is how many iterations' Lagrangians a Solve tells: as many as Config.MaxIter
// grants by default.
const Traced = window.Traced

// Solve tells how the frame's DC-ADMM went; zero when nothing was solved.
type Solve struct {
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

	AffinityTime, SolveTime, MaskTime time.Duration
}

func (s *Solve) fill(r window.Report) {
	s.Iterations, s.Start, s.Lagrangian, s.Descent, s.Trace = r.Iterations, r.Start, r.Lagrangian, r.Descent, r.Trace
	s.Primal, s.Dual, s.Flips, s.FlipRatio = r.Primal, r.Dual, r.Flips, r.FlipRatio
	s.Violations, s.Guaranteed = r.Violations, r.Guaranteed
	s.Converged, s.OutOfTime = r.Converged, r.OutOfTime
}
