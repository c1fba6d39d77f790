package trackstate

import "errors"

const (
	mostPixels = 1 << 26
	mostFrames = 1 << 30
	mostZoom   = 64
)

// Check tells whether o can be an object that was kept over a restart.
func (o *Object) Check() error {
	sound := o.State <= Lost && o.Zoom >= 0 && o.Zoom <= mostZoom &&
		o.Unseen >= 0 && o.Unseen <= mostFrames && o.Probation >= -mostFrames && o.Probation <= probationFrames &&
		o.Hits >= 0 && o.Hits <= maxRequired && o.Required >= 0 && o.Required <= maxRequired
	sound = sound && o.Marked >= 0 && o.Marked <= 1
	for _, v := range []float64{o.Area, o.X, o.Y} {
		sound = sound && v >= 0 && v <= mostPixels
	}
	if !sound {
		return errors.New("trackstate: faulty state of an object")
	}
	return nil
}
