package offline

import (
	"context"
	"image"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// Video shows every frame, from the first on, and returns at its end, or at once the
// error that show returned, wrapped or not. A picture is left alone while it is shown.
type Video func(ctx context.Context, show func(*Picture) error) error

// Detector finds what is to be followed.
type Detector interface {
	Detect(dst []features.Detection, bgr []byte, width, height int, pixelAspect float64) ([]features.Detection, error)
}

// Camera is what a camera has: features, a tracker, and what binds its objects to what is detected.
type Camera struct {
	view     *View
	detector Detector // nil: the model's heads detect
	marker   *marking.Marker
	tracker  *tracker.Tracker
	objects  objects.Table
	plan     features.Plan
	looks    tracker.Looks
}

// NewCamera takes a nil model for colours alone, and a nil detector for the model's own heads.
func NewCamera(model features.Model, f features.Config, t tracker.Config, m marking.Config, d Detector) (*Camera, error) {
	v, err := newView(model, f)
	if err != nil {
		return nil, err
	}
	return v.Camera(t, m, d)
}

// Camera returns one of those that see what v shows.
func (v *View) Camera(t tracker.Config, m marking.Config, d Detector) (*Camera, error) {
	c := &Camera{view: v, detector: d}
	var err error
	if c.tracker, err = tracker.New(t); err != nil {
		return nil, err
	}
	c.marker, err = marking.New(m)
	return c, err
}

// Followed is what is known after a frame.
type Followed struct {
	*tracker.Result                      // with the objects that are dormant at its end
	Tracked         int                  // objects of it that are not
	Found           []features.Detection // in the frame; valid until the next Step
	Looked          []image.Rectangle    // where; likewise
	Table           objects.Table
	Decision        marking.Decision // what that led to
	Took            StageMS
}

// Step follows what is in the next picture, in which ann, if it is not nil, marks something. With look all of the
// picture is looked at.
func (c *Camera) Step(ctx context.Context, seq int, p *Picture, ann *annotation.Annotation, look bool) (Followed, error) {
	c.view.Look(seq, p)
	return c.Follow(ctx, ann, look)
}

// Follow is Step on the picture that the view shows.
func (c *Camera) Follow(ctx context.Context, ann *annotation.Annotation, look bool) (f Followed, err error) {
	p := c.view.picture
	start := time.Now()
	c.plan = c.tracker.Plan(c.plan, c.marker.Candidates(c.objects)...)
	plan := c.plan
	switch {
	case ann != nil:
		plan = tracker.PlanFor(plan, ann)
	case c.detector == nil:
		plan = c.looks.Plan(plan, look)
	}
	scene, err := c.view.See(plan)
	if err != nil {
		return f, err
	}
	f.Took.Features = inMS(time.Since(start))
	if c.view.model != nil {
		f.Took.Network = inMS(c.view.model.spent)
	}
	if c.detector != nil {
		scene.Found, scene.Looked = scene.Found[:0], scene.Looked[:0]
		if look {
			if scene.Found, err = c.detector.Detect(scene.Found, p.BGR, p.Width, p.Height, 1); err != nil {
				return f, err
			}
			scene.Looked = append(scene.Looked, image.Rect(0, 0, p.Width, p.Height))
		}
	}
	start = time.Now()
	f.Found, f.Looked = scene.Found, scene.Looked
	f.Decision = c.marker.Decide(c.objects, &marking.Frame{
		Time: p.Time, Width: p.Width, Height: p.Height, Found: scene.Found, Looked: scene.Looked, Thumbnail: &scene.Thumbnail, Part: scene.Part, Shows: scene.Shows,
		Marked: ann != nil,
	})
	for _, e := range f.Decision.Edits {
		switch e := e.(type) {
		case objects.Remove:
			c.tracker.Remove(e.ID)
		case objects.Rest:
			if e.Dormant {
				c.tracker.Remove(e.ID)
			}
		}
	}
	edits := f.Decision.Edits
	people := ann
	if people == nil {
		ann = f.Decision.Annotation
	} else {
		edits = append(edits, objects.Annotate{By: people, Seq: scene.Seq, Time: p.Time})
	}
	if f.Result, err = c.tracker.Step(ctx, scene, nil, ann, f.Decision.Extents); err != nil {
		return f, err
	}
	all := time.Since(start)
	f.Tracked = len(f.Objects)
	c.objects, _ = c.objects.Apply(append(edits, objects.Observe{Result: f.Result, Time: p.Time})...)
	if people != nil {
		c.objects, _ = c.objects.Apply(c.marker.Bind(c.objects, people, &scene.Thumbnail)...)
	}
	f.Table = c.objects
	for _, o := range c.objects.All() {
		if o.Dormant {
			f.Objects = append(f.Objects, tracker.Object{ID: o.ID, State: tracker.Lost})
		}
	}
	s := &f.Solve
	f.Took.Affinity, f.Took.Solve, f.Took.Mask = inMS(s.AffinityTime), inMS(s.SolveTime), inMS(s.MaskTime)
	f.Took.Projection = inMS(all - s.AffinityTime - s.SolveTime - s.MaskTime)
	return f, nil
}
