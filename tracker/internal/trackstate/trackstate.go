package trackstate

import (
	"cmp"
	"image"
	"math"

	"github.com/segd/segd/tracker/internal/picture"
)

// State is where an object is in its life.
type State uint8

const (
	Visible  State = iota // it has a mask
	Occluded              // it had one a moment ago
	Lost                  // not seen for long
)

func (s State) String() string { return [...]string{"visible", "occluded", "lost"}[s] }

// An object is visible while its mask keeps at least StayShare of its running mean
// area; a hidden one needs returnShare to come back. The gap keeps the state from
// flickering.
const (
	StayShare   = 0.10
	returnShare = 0.25
	areaRate    = 0.1 // weight of the newest area in the running mean
)

// probationFrames is for how long what came back may turn out to be something else,
// and what is new in the picture may be the rest of it; in frames of the camera, as all
// that is counted here.
const probationFrames = 10

// maxRequired bounds for how many frames an object must be detected before it is taken
// to be back. The number doubles whenever one has gone again on probation.
const maxRequired = 31

// A sight is beyond doubt when the mask has at least this share of the running mean
// area, and this mean probability.
const (
	confidentShare = 0.7
	ConfidentScore = 0.8
)

// Object is the life of one object. The zero value is one that was just annotated.
type Object struct {
	State  State
	Area   float64 // running mean of its visible area, pixels; 0 before it was seen
	X, Y   float64 // centre of its last mask, pixels
	Unseen int     // frames of the camera since it was last visible

	// Tracked is whether a track says where it is: it is in sight, then, where it
	// has any superpixel, and needs no probation.
	Tracked bool
	// Gone is whether it is nowhere in the picture, whatever looks like it: it is lost, and not looked for.
	Gone bool

	// Zoom is how many times as large it is looked at as a whole picture is; 0: 1.
	Zoom int

	// Marked is how likely what strokes marked is the object: the mean probability of its label over them and what was
	// taken for it then. 0: beyond doubt.
	Marked float64

	Probation int // frames until it has been back for long enough
	Hits      int // frames for which it has been detected, but not believed
	Required  int // of them until it is
}

// Side is what lengths near the object are fractions of, in pictures whose longer side is
// whole pixels: the longer side of a picture cropped until the object is seen in it as large
// as it is looked at. It follows the object, not what else the camera shows.
func (o *Object) Side(whole float64) float64 { return whole / float64(max(1, o.Zoom)) }

// Confirmed tells whether it is known where the object is: in sight and not on probation, tracked, or nowhere.
func (o *Object) Confirmed() bool {
	return o.Tracked || o.Gone || o.State == Visible && o.Probation <= 0
}

// Score is how likely what s shows is what was marked: that it is what was seen before, and that was it.
func (o *Object) Score(s Sight) float64 { return s.Score * cmp.Or(o.Marked, 1) }

// Sought tells whether the object is out of sight and looked for by its looks.
func (o *Object) Sought() bool { return o.State != Visible && !o.Tracked && !o.Gone }

// Detected tells whether the object, which is sought, seems to be back.
func (o *Object) Detected() bool { return o.Sought() && o.Hits > 0 }

// Sight is what a labelled picture shows of an object.
type Sight struct {
	Area  int             // pixels
	Score float64         // mean probability of the label over them
	X, Y  float64         // their centre, pixels
	Box   image.Rectangle // round them, about

	// Overlooked is whether the picture does not show where it seemed to be in the one before.
	Overlooked bool
}

// Measure returns what p shows of a label, if its superpixels have labels y, with
// probabilities q, N×labels.
func Measure(p *picture.Picture, y []int32, q []float64, label, labels int) Sight {
	var s Sight
	for i, l := range y {
		if int(l) == label {
			s.Area += int(p.Area[i])
			a := float64(p.Area[i])
			s.Score += a * q[i*labels+label]
			s.X += a * float64(p.Centroid[2*i])
			s.Y += a * float64(p.Centroid[2*i+1])
			x, y, r := int(p.Centroid[2*i]), int(p.Centroid[2*i+1]), int(math.Sqrt(a)/2)+1
			s.Box = s.Box.Union(image.Rect(x-r, y-r, x+r, y+r))
		}
	}
	if s.Area > 0 {
		a := float64(s.Area)
		s.Score, s.X, s.Y = s.Score/a, s.X/a, s.Y/a
	}
	return s
}

// Observe moves the object on to a frame in which s is seen of it, the elapsed-th of the
// camera's after the last one observed, at least the first, and tells whether that is the
// object beyond doubt. Where a user annotated the frame, the size of what is in sight is
// taken as it is. An object unseen for more than lostAfter frames is lost.
func (o *Object) Observe(s Sight, annotated bool, elapsed, lostAfter int) (confident bool) {
	if annotated && o.State == Visible && s.Area > 0 {
		o.Area = 0
	}
	if o.count(s, elapsed, lostAfter); o.State != Visible {
		return false
	}
	o.X, o.Y = s.X, s.Y
	return o.Confirmed() && s.Score >= ConfidentScore && float64(s.Area) >= confidentShare*o.Area
}

// Lose makes o lost, after it was seen in a picture of another time. What it was like stays
// known.
func (o *Object) Lose(lostAfter int) {
	o.State, o.Unseen = Lost, lostAfter+1
	o.Probation, o.Hits, o.Required = 0, 0, 0
}

// Rewind takes that many frames back of those for which o was not seen: they will be
// observed again.
func (o *Object) Rewind(frames int) { o.Unseen = max(0, o.Unseen-frames) }

// count moves the state on by what is seen.
func (o *Object) count(s Sight, elapsed, lostAfter int) {
	area := s.Area
	need := StayShare
	if o.State != Visible {
		need = returnShare
	}
	seen := area > 0 && (o.Tracked || float64(area) >= need*o.Area)
	switch {
	case o.Tracked:
		o.Probation, o.Hits, o.Required = 0, 0, 0
	case o.State == Visible:
	case s.Overlooked, o.Gone:
		seen = false
	case !seen:
		o.Hits = 0
	case o.Hits == 0 && o.Required > 0:
		o.Hits = 1 // what was in the frames before this one is not known
		seen = false
	case o.Hits+elapsed <= o.Required:
		o.Hits += elapsed
		seen = false
	default:
		o.Hits, o.Probation = 0, probationFrames
		elapsed = 1 // of them, this is the first
	}
	if !seen {
		if o.State == Visible && o.Probation > 0 {
			o.Required = min(2*o.Required+1, maxRequired)
		}
		o.Unseen += elapsed
		o.State = Occluded
		if o.Unseen > lostAfter {
			o.State = Lost
		}
		return
	}
	if o.Area == 0 {
		o.Area = float64(area)
	}
	o.Area += areaRate * (float64(area) - o.Area)
	if o.Probation > 0 {
		if o.Probation -= elapsed; o.Probation <= 0 {
			o.Required = 0
		}
	}
	o.State, o.Unseen = Visible, 0
}
