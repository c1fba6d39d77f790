package trackstate

import (
	"errors"

	"github.com/segd/segd/checkpoint/checkpointv1"
)

// Kept is o as it is kept over a restart.
func (o *Object) Kept() *checkpointv1.Life {
	return &checkpointv1.Life{
		State: uint32(o.State), Area: o.Area, X: o.X, Y: o.Y, Unseen: int32(o.Unseen), Zoom: int32(o.Zoom),
		Probation: int32(o.probation), Hits: int32(o.hits), Required: int32(o.required),
	}
}

const (
	mostPixels = 1 << 26
	mostFrames = 1 << 30
	mostZoom   = 64
)

// Resume makes o what it was when s was taken.
func (o *Object) Resume(s *checkpointv1.Life) error {
	sound := s.State <= uint32(Lost) && s.Zoom >= 0 && s.Zoom <= mostZoom &&
		s.Unseen >= 0 && s.Unseen <= mostFrames && s.Probation >= -mostFrames && s.Probation <= probationFrames &&
		s.Hits >= 0 && s.Hits <= maxRequired && s.Required >= 0 && s.Required <= maxRequired
	for _, v := range []float64{s.Area, s.X, s.Y} {
		sound = sound && v >= 0 && v <= mostPixels
	}
	if !sound {
		return errors.New("trackstate: faulty state of an object")
	}
	*o = Object{
		State: State(s.State), Area: s.Area, X: s.X, Y: s.Y, Unseen: int(s.Unseen), Zoom: int(s.Zoom),
		probation: int(s.Probation), hits: int(s.Hits), required: int(s.Required),
	}
	return nil
}
