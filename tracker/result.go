package tracker

import (
	"image"
	"time"

	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker/internal/trackstate"
	"github.com/segd/segd/tracker/internal/window"
)

// Result is what the tracker knows after a frame.
type Result struct {
	Seq           uint64
	Width, Height int
	Objects       []Object
	Solve         Solve
}

// Object is one annotated object in one frame. What it is called the tracker does not know.
type Object struct {
	ID    uint32
	State State
	Mask  mask.RLE // empty unless visible; of no size, if it was not looked for in the frame
	Area  int      // pixels
	Box   image.Rectangle
	Score float64 // mean probability of the label over the mask, times that with which strokes marked the object, 0…1

	// Extent is all of it by its track, in pixels, what is hidden or outside the picture included; empty for
	// an object without a track.
	Extent image.Rectangle
}

// Extent is where an object is that has a track: a detector's boxes, say, put together from picture to
// picture.
type Extent struct {
	ID  uint32
	Box image.Rectangle // all of it, in pixels, what is hidden and what is outside the picture included; empty: it is nowhere
	// Detected is the box that a detector has of it in this very scene. Empty: none has, and Box is no more than where it
	// should be, which says nothing of what is seen.
	Detected image.Rectangle
}

// State is where an object is in its life.
type State = trackstate.State

const (
	Visible  = trackstate.Visible  // it has a mask
	Occluded = trackstate.Occluded // it had one a moment ago
	Lost     = trackstate.Lost     // not seen for longer than Config.OccludedFrames
)

// Traced is how many iterations' Lagrangians a Solve tells: more than most windows take.
const Traced = window.Traced

// Tolerance is the residual per score below which a window has converged.
const Tolerance = window.Tolerance

// Report tells how a DC-ADMM went.
type Report = window.Report

// Solve tells how the frame was solved, and how long its steps took.
type Solve struct {
	Report

	AffinityTime, SolveTime, MaskTime time.Duration
}
