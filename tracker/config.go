package tracker

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/segd/segd/features"
)

// Mode selects which parts of the model label a frame. The parts alone exist to
// be compared with the whole.
type Mode uint8

const (
	Joint      Mode = iota // affinity and the re-estimated classifier; what the daemon runs
	Affinity               // labels propagated by similarity alone
	Frozen                 // the classifier of the annotated frames, never re-estimated
	NoTemporal             // the re-estimated classifier, no affinity to other frames
	Fixed                  // as Joint, but the classifier is re-estimated without the discrete step
	Cold                   // as Joint, but the classifier begins from nothing in every frame
)

var modeNames = [...]string{"joint", "affinity", "frozen", "no-temporal", "fixed", "cold"}

func (m Mode) String() string { return modeNames[m] }

// looksUp tells whether superpixels are looked up in other frames.
func (m Mode) looksUp() bool { return m != Frozen && m != NoTemporal }

// joint tells whether the classifier is re-estimated beside the affinity.
func (m Mode) joint() bool { return m == Joint || m == Fixed || m == Cold }

// ParseMode is the inverse of String.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if s == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("tracker: mode %q; want one of %s", s, strings.Join(modeNames[:], ", "))
}

// defaultMaxDim is how many features a superpixel has.
const defaultMaxDim = 96

// Config tunes a Tracker. The zero value takes every default. Lengths in pictures are fractions of
// the longer side, over the zoom of what they are for. Time is counted in the camera's frames
// ([features.Scene.Seq]): those that are dropped before Step count, too.
type Config struct {
	Mode    Mode
	Window  int // frames re-estimated together, beside the annotated ones; 0 = 5
	Refs    int // latest frames the affinity looks up; 0 = 3
	Anchors int // annotated frames kept, and more while each is the only one to define some object; 0 = 8

	// Of these nil is the default, because 0 has a use of its own.
	Memory    *int     // earlier frames remembered for their differences; nil = 6
	Smooth    *float64 // weight of a spatial edge against an affinity unary; nil = 0.15
	Ambiguous *float64 // training weight of a superpixel the affinity cannot place; nil = 0.1
	Evidence  *float64 // weight of the affinity against the loss in training; nil = 1
	Delta     *float64 // δ of DC-ADMM: labels are refused that gain less, in superpixels that the affinity is sure of; nil = 1

	// History bounds the bytes of earlier frames kept, the latest ones, which
	// annotations may name; 0 = 64 MiB, or more, up to 128 MiB, for 40 frames. One of
	// 768×576 pixels in YUV 4:2:0 takes 0.7 MB, one of 1920×1080 3.1 MB.
	History int

	Links        int     // most similar superpixels looked up in each frame; 0 = 5
	Radius       float64 // search radius in the latest frames, larger after dropped ones; 0 = 0.14
	AnchorRadius float64 // search radius in annotated frames; 0 = 0.15
	Temperature  float64 // of the links' weights in cosine; 0 = 0.07
	AnchorWeight float64 // votes of an annotated frame against a latest one; 0 = 4

	Novel  float64 // cosine below which what resembles nothing seen before is background; 0 = 0.5
	Recall float64 // cosine to what was seen of an object at which it may come back; 0 = 0.75

	MaxDim     int     // features are reduced to at most this many; 0 = 96
	Classifier float64 // weight of the classifier where the affinity knows nothing; 0 = 1
	Balance    float64 // exponent of the class weights; 0 = 0.6
	Marked     float64 // training weight of an earlier annotated frame's superpixels; 0 = 3
	Nu         float64 // ν, how stiffly the classifier stays what it was in the last frame; 0 = 2
	Gamma      float64 // γ; 0 = 4
	Tau        float64 // τ, how far the classifier may move from frame to frame; more takes more iterations; 0 = γ/2
	Rho        float64 // ρ; 0 = 2ν/γ, from where on the Lagrangian cannot rise
	Relax      float64 // over-relaxation of DC-ADMM, below 2; 0 = 1.9
	MaxIter    int     // DC-ADMM iterations a frame, at most; most frames take 3 to 5; 0 = 10

	Budget time.Duration // solving time a frame; 0 = no limit but MaxIter

	// Cores bounds what computes at once; nil: the solver uses as many goroutines as GOMAXPROCS.
	Cores features.Cores

	OccludedFrames int // frames of the camera without the object before it is lost; 0 = 50
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// How much is kept of earlier frames where Config.History does not say.
const (
	historyFrames             = 40
	leastHistory, mostHistory = 64 << 20, 128 << 20
)

// history is how many bytes of earlier frames are kept that take so many each.
func (c Config) history(frame int) int {
	if c.History > 0 {
		return c.History
	}
	return min(max(historyFrames*frame, leastHistory), mostHistory)
}

func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Window, 5)
	setDefault(&c.Refs, 3)
	setDefault(&c.Anchors, 8)
	setDefault(&c.Memory, new(6))
	setDefault(&c.Links, 5)
	setDefault(&c.Radius, 0.14)
	setDefault(&c.AnchorRadius, 0.15)
	setDefault(&c.Temperature, 0.07)
	setDefault(&c.AnchorWeight, 4)
	setDefault(&c.Novel, 0.5)
	setDefault(&c.Recall, 0.75)
	setDefault(&c.MaxDim, defaultMaxDim)
	setDefault(&c.Smooth, new(0.15))
	setDefault(&c.Classifier, 1)
	setDefault(&c.Evidence, new(1.0))
	setDefault(&c.Balance, 0.6)
	setDefault(&c.Ambiguous, new(0.1))
	setDefault(&c.Marked, 3)
	setDefault(&c.Nu, 2)
	setDefault(&c.Gamma, 4)
	setDefault(&c.Tau, c.Gamma/2)
	setDefault(&c.Rho, math.Max(0, 2*c.Nu/c.Gamma))
	setDefault(&c.Relax, 1.9)
	setDefault(&c.Delta, new(1.0))
	setDefault(&c.MaxIter, 10)
	setDefault(&c.OccludedFrames, 50)

	var faults []error
	for name, v := range map[string]float64{
		"window": float64(c.Window), "refs": float64(c.Refs), "anchors": float64(c.Anchors), "memory": float64(*c.Memory), "links": float64(c.Links), "history": float64(c.History),
		"radius": c.Radius, "anchor radius": c.AnchorRadius, "temperature": c.Temperature, "anchor weight": c.AnchorWeight,
		"novel": c.Novel, "recall": c.Recall, "max dim": float64(c.MaxDim), "smooth": *c.Smooth, "classifier": c.Classifier, "balance": c.Balance,
		"ambiguous": *c.Ambiguous, "nu": c.Nu, "gamma": c.Gamma, "tau": c.Tau, "rho": c.Rho, "relax": c.Relax, "delta": *c.Delta, "marked": c.Marked, "evidence": *c.Evidence, "max iter": float64(c.MaxIter),
		"budget": float64(c.Budget), "occluded frames": float64(c.OccludedFrames),
	} {
		if !(v >= 0) {
			faults = append(faults, fmt.Errorf("tracker: %s is %g; want ≥ 0", name, v))
		}
	}
	if c.Relax < 1 || c.Relax >= 2 {
		faults = append(faults, fmt.Errorf("tracker: relax is %g; want at least 1 and below 2", c.Relax))
	}
	if c.Refs > c.Window {
		faults = append(faults, fmt.Errorf("tracker: refs is %d; want at most the window's %d frames", c.Refs, c.Window))
	}
	return c, errors.Join(faults...)
}
