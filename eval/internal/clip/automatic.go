package clip

import (
	"context"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/marking"
	"github.com/segd/segd/tracker"
)

// Video shows every frame, from the first on, and returns at its end, or at once the
// error that show returned, wrapped or not. A picture is left alone while it is shown.
type Video func(ctx context.Context, show func(*Picture) error) error

// Detector finds what is to be followed.
type Detector interface {
	Detect(dst []features.Detection, bgr []byte, width, height int) ([]features.Detection, error)
}

// Finder marks what a detector finds in pictures.
type Finder struct {
	detector  Detector
	marker    *marking.Marker
	found     []features.Detection
	thumbnail features.Thumbnail
}

// NewFinder returns a Finder that knows no objects.
func NewFinder(d Detector, cfg marking.Config) (*Finder, error) {
	marker, err := marking.New(cfg)
	return &Finder{detector: d, marker: marker}, err
}

// Look returns what is found in a picture, valid until the next Look, and what that leads to.
func (f *Finder) Look(seq int, p *Picture) (found []features.Detection, d marking.Decision, err error) {
	if f.found, err = f.detector.Detect(f.found, p.BGR, p.Width, p.Height); err != nil {
		return nil, d, err
	}
	f.thumbnail.Set(p.BGR, p.Width, p.Height)
	return f.found, f.marker.Decide(&marking.Look{
		Seq: uint64(seq), Width: p.Width, Height: p.Height, Found: f.found, Thumbnail: &f.thumbnail,
	}), nil
}

// Observe takes what the tracker knows after a frame, and adds to it the objects that rest.
func (f *Finder) Observe(res *tracker.Result) { f.marker.Observe(res) }

// Automatic is what a camera has whose objects nobody marks: a detector finds them now and then, and a
// tracker follows them in between.
type Automatic struct {
	finder  *Finder
	view    *View
	tracker *tracker.Tracker
}

// NewAutomatic takes a nil model for colours alone.
func NewAutomatic(model features.Model, f features.Config, t tracker.Config, m marking.Config, d Detector) (*Automatic, error) {
	t.History = 1 // no annotation is of an earlier frame
	a := &Automatic{}
	var err error
	if a.view, err = NewView(model, f); err != nil {
		return nil, err
	}
	if a.tracker, err = tracker.New(t); err != nil {
		return nil, err
	}
	a.finder, err = NewFinder(d, m)
	return a, err
}

// Followed is what is known after a frame.
type Followed struct {
	*tracker.Result                      // with the objects that rest at its end
	Tracked         int                  // objects of it that do not rest
	Found           []features.Detection // in the frame, if it was looked at; valid until the next Step
	Decision        marking.Decision     // what that led to
}

// Step follows what is in the next picture, in which the detector looks first if look is true.
func (a *Automatic) Step(ctx context.Context, seq int, p *Picture, look bool) (f Followed, err error) {
	a.view.Look(seq, p)
	if look {
		if f.Found, f.Decision, err = a.finder.Look(seq, p); err != nil {
			return f, err
		}
		for _, id := range slices.Concat(f.Decision.Gone, f.Decision.Rest) {
			a.tracker.Remove(id)
		}
	}
	scene, err := a.view.For(a.tracker, f.Decision.Annotation)
	if err != nil {
		return f, err
	}
	if f.Result, err = a.tracker.Step(ctx, scene, nil, f.Decision.Annotation, nil); err != nil {
		return f, err
	}
	f.Tracked = len(f.Objects)
	a.finder.Observe(f.Result)
	return f, nil
}
