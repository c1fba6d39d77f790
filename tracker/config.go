package tracker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/window"
)

// Mode selects which parts of the model label a frame. The parts alone exist to
// be compared with the whole.
type Mode uint8

const (
	Joint      Mode = iota // affinity and the re-estimated classifier; what the daemon runs
	Affinity               // labels propagated by similarity alone
	Fixed                  // as Joint, but the classifier is re-estimated without the discrete step
	Memoryless             // as Joint, but nothing is learnt from the windows before
	Cold                   // as Joint, but a window's solve starts from zero scores and α = λ = 0
)

var modeNames = [...]string{"joint", "affinity", "fixed", "memoryless", "cold"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode is the inverse of String.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if s == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("tracker: mode %q; want one of %s", s, strings.Join(modeNames[:], ", "))
}

// How frames are followed. Lengths in pictures are fractions of the longer side, over the zoom of what they are for.
const (
	solvedFrames = 5    // frames re-estimated together, beside the annotated ones
	refFrames    = 3    // latest frames the affinity looks up
	mostAnchors  = 8    // annotated frames kept, and more while each is the only one to define some object
	memory       = 6    // earlier frames remembered for their differences
	radius       = 0.14 // search radius in the latest frames, larger after dropped ones
	maxDim       = 96   // features are reduced to at most this many
	smooth       = 0.15 // weight of a spatial edge against an affinity unary
)

// Config tunes a Tracker. The zero value takes every default. Time is counted in the camera's frames
// ([features.Scene.Seq]): those that are dropped before Step count, too.
type Config struct {
	Mode Mode

	// History bounds the bytes of earlier frames kept, the latest ones, which
	// annotations may name; 0 = as many as those of 2 s take, of 8 frames at least, but
	// not above 96 MiB. One of 768×576 pixels in YUV 4:2:0 takes 0.7 MB, one of 1920×1080 3.1 MB.
	History int

	Nu      float64       // ν, how stiffly the classifier stays what it was in the last frame; 0 = 2
	Rho     float64       // ρ; 0 = 2ν/γ, from where on the Lagrangian cannot rise
	MaxIter int           // DC-ADMM iterations a frame, at most; most frames take 3 or 4; 0 = 10
	Budget  time.Duration // solving time a frame; 0 = no limit but MaxIter

	// Cores bounds what computes at once; nil: the solver uses as many goroutines as GOMAXPROCS.
	Cores features.Cores

	OccludedFrames int // frames of the camera without the object before it is lost; 0 = 50
}

// How much is kept of earlier frames where Config.History does not say.
const (
	historySpan   = 2 * time.Second // in which a frame is shown to a user and the mark arrives
	historyFrames = 8               // at least: a busy box takes few frames a second
	mostHistory   = 96 << 20
)

// history is how many bytes of earlier frames are kept that take so many each, at so many a second.
func (c Config) history(frame int, rate float64) int {
	if c.History > 0 {
		return c.History
	}
	return int(min(max(historySpan.Seconds()*rate, historyFrames)*float64(frame), mostHistory))
}

func (c Config) withDefaults() (Config, error) {
	c.Nu = cmp.Or(c.Nu, 2)
	c.Rho = cmp.Or(c.Rho, max(0, 2*c.Nu/window.Gamma))
	c.MaxIter = cmp.Or(c.MaxIter, 10)
	c.OccludedFrames = cmp.Or(c.OccludedFrames, 50)
	var faults []error
	for name, v := range map[string]float64{
		"history": float64(c.History), "nu": c.Nu, "rho": c.Rho, "max iter": float64(c.MaxIter),
		"budget": float64(c.Budget), "occluded frames": float64(c.OccludedFrames),
	} {
		if !(v >= 0) {
			faults = append(faults, fmt.Errorf("tracker: %s is %g; want ≥ 0", name, v))
		}
	}
	return c, errors.Join(faults...)
}
