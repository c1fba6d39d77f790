package trackstate

import "errors"

// Snapshot is an Object as it is kept over a restart.
type Snapshot struct {
	State                     State
	Area, X, Y                float64
	Unseen, Zoom              int
	Probation, Hits, Required int
}

// Snapshot is o as it is kept over a restart.
func (o *Object) Snapshot() Snapshot {
	return Snapshot{
		State: o.State, Area: o.Area, X: o.X, Y: o.Y, Unseen: o.Unseen, Zoom: o.Zoom,
		Probation: o.probation, Hits: o.hits, Required: o.required,
	}
}

const (
	mostPixels = 1 << 26
	mostFrames = 1 << 30
	mostZoom   = 64
)

// Restore makes o what it was when s was taken.
func (o *Object) Restore(s Snapshot) error {
	sound := s.State <= Lost && s.Zoom >= 0 && s.Zoom <= mostZoom &&
		s.Unseen >= 0 && s.Unseen <= mostFrames && s.Probation >= -mostFrames && s.Probation <= probationFrames &&
		s.Hits >= 0 && s.Hits <= maxRequired && s.Required >= 0 && s.Required <= maxRequired
	for _, v := range []float64{s.Area, s.X, s.Y} {
		sound = sound && v >= 0 && v <= mostPixels
	}
	if !sound {
		return errors.New("trackstate: faulty state of an object")
	}
	*o = Object{
		State: s.State, Area: s.Area, X: s.X, Y: s.Y, Unseen: s.Unseen, Zoom: s.Zoom,
		probation: s.Probation, hits: s.Hits, required: s.Required,
	}
	return nil
}
