package track

import "time"

// A Box is a rectangle in pixels, X to the right, Y downwards; it may reach outside the picture.
type Box struct{ X0, Y0, X1, Y1 float64 }

// A Detection is one thing that a detector sees in a frame.
type Detection struct {
	Box   Box
	Class string
	// Score is the chance that it is right, 0 to 1.
	Score float64
	// Appearance is what the thing looks like, a vector of unit length, as long as all others'; nil if
	// that is not known. Things that look alike have a scalar product near 1.
	Appearance []float32
}

// A Frame is what is known of one picture.
type Frame struct {
	// Time is when it was taken, since any one moment.
	Time time.Duration
	// Shift is how far what stands moved in the picture since the frame before, in pixels, right and down: the camera turned.
	Shift [2]float64
	// Width and Height are the picture's, in pixels; 0 if not known.
	Width, Height float64
	// Found is what the detector sees, in any order.
	Found []Detection
	// Part tells whether the first of two things in Found is a part of the second; nil: never.
	Part func(first, second int) bool
	// Looked are the parts of the picture that the detector saw, all of it if there are none: what is
	// elsewhere is not missed. To say that it saw nothing, give one empty box.
	Looked []Box
}

// State is how a track stands.
type State uint8

// A track is Tentative until it is confirmed, Seen while it is detected, Predicted while it is not,
// and Lost after a second of that, until it is known again or ends.
const (
	Tentative State = iota
	Seen
	Predicted
	Lost
)

// A Track is one thing over time.
type Track struct {
	// ID counts from 1 and is never used again.
	ID    uint32
	Class string
	// Box is where it is: all of it, whatever is in front and wherever the picture ends.
	Box Box
	// Velocity is in pixels a second, right and down.
	Velocity [2]float64
	State    State
	// Score is the mean of its detections' scores, the later ones weighing more.
	Score float64
	// Detected is the index of its detection in the frame's Found, or -1.
	Detected int
}

// Ended says that a track is no more.
type Ended struct {
	ID     uint32
	Reason Reason
	// Lost is whether it was: it was looked for in vain where it should be, and not only out of view, as in a pause.
	Lost bool
}

// Reason is why a track ended.
type Reason uint8

// Unconfirmed tracks were not detected again, Forgotten ones not for Config.Keep. Left ones went out of the picture.
const (
	Unconfirmed Reason = iota + 1
	Forgotten
	Left
)

// Config holds what a user may want otherwise. The zero value means the defaults.
type Config struct {
	// Confirm is the score of a detection without which a track is not confirmed. Default DefaultConfirm.
	Confirm float64
	// Keep is for how long a track can be known again. Default 6 s.
	Keep time.Duration
	// Reidentify is the scalar product of appearances from which on a lost track is known again where it is expected, and a
	// higher one elsewhere; 1 is never. Default DefaultReidentify.
	Reidentify float64
}
