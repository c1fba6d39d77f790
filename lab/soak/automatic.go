package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// AutomaticOptions say what a detector finds where, and for how long it is followed.
type AutomaticOptions struct {
	Video     offline.Video // of Frames at least: one that is played over and over, say
	VideoName string
	Detector  offline.Detector
	Every     int // frames from one look to the next
	Marking   marking.Config
	ModelName string
	Model     features.Model
	Features  features.Config
	Tracker   tracker.Config
	Frames    int // more than Warm
	Progress  func(done, total int)
}

// AutomaticReport is what a long run without annotations took, in the stable form `segd eval soak --json`
// prints.
type AutomaticReport struct {
	Video      string  `json:"video"`
	Model      string  `json:"model"`
	Frames     int     `json:"frames"`
	MSPerFrame float64 `json:"ms_per_frame"` // of the whole work but decoding; the mean

	Objects
	Memory
}

// Objects are counts of those that were marked by themselves.
type Objects struct {
	Begun       int `json:"begun"` // ids used; as many as Gone and Left
	Gone        int `json:"gone"`
	Left        int `json:"left"`         // at the end, those that rest included
	MostTracked int `json:"most_tracked"` // in a frame, by the tracker
	MostResting int `json:"most_resting"` // in a frame
}

// errEnough ends the video.
var errEnough = errors.New("no more frames are wanted")

// RunAutomatic follows what a detector finds in every so many-th frame, as segd eval mot does, and
// watches the process' resident memory and what becomes of the objects. An object that is neither
// gone nor left, or both, is an error at once.
func RunAutomatic(ctx context.Context, opt AutomaticOptions) (*AutomaticReport, error) {
	if err := checkFrames(opt.Frames); err != nil {
		return nil, err
	}
	if opt.Every < 1 {
		return nil, fmt.Errorf("soak: a look every %d frames; want 1 or more", opt.Every)
	}
	r := &automaticRun{opt: &opt}
	var err error
	if r.camera, err = offline.NewCamera(opt.Model, opt.Features, opt.Tracker, opt.Marking, opt.Detector); err != nil {
		return nil, err
	}
	if err := opt.Video(ctx, func(p *offline.Picture) error { return r.show(ctx, p) }); err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("soak: %w", err)
	}
	if r.shown < opt.Frames {
		return nil, fmt.Errorf("soak: the video ends with frame %d; want %d", r.shown, opt.Frames)
	}
	return &AutomaticReport{
		Video: opt.VideoName, Model: opt.ModelName, Frames: r.shown,
		MSPerFrame: float64(r.took.Microseconds()) / 1000 / float64(r.shown),
		Objects:    r.objects, Memory: r.rss.report(),
	}, nil
}

// automaticRun is one pass over the video.
type automaticRun struct {
	opt     *AutomaticOptions
	camera  *offline.Camera
	shown   int
	took    time.Duration
	objects Objects
	rss     watched

	width, height int
}

// show takes the next frame.
func (r *automaticRun) show(ctx context.Context, p *offline.Picture) error {
	if r.shown == 0 {
		r.width, r.height = p.Width, p.Height
	}
	if p.Width != r.width || p.Height != r.height {
		return fmt.Errorf("frame %d has %d×%d pixels; want %d×%d as before", r.shown, p.Width, p.Height, r.width, r.height)
	}
	start := time.Now()
	f, err := r.camera.Step(ctx, r.shown, p, nil, r.shown%r.opt.Every == 0)
	if err != nil {
		return fmt.Errorf("frame %d: %w", r.shown, err)
	}
	r.took += time.Since(start)
	if err := r.objects.count(f); err != nil {
		return fmt.Errorf("frame %d: %w", r.shown, err)
	}
	r.shown++
	if err := r.rss.note(r.shown); err != nil {
		return err
	}
	if r.opt.Progress != nil {
		r.opt.Progress(r.shown, r.opt.Frames)
	}
	if r.shown == r.opt.Frames {
		return errEnough
	}
	return ctx.Err()
}

// count takes what became of the objects in a frame. Ids are used one after the other.
func (o *Objects) count(f offline.Followed) error {
	if a := f.Decision.Annotation; a != nil {
		for _, marked := range a.Objects {
			o.Begun = max(o.Begun, int(marked.ID-objects.FirstID)+1)
		}
	}
	for _, e := range f.Decision.Edits {
		if _, is := e.(objects.Remove); is {
			o.Gone++
		}
	}
	o.Left = len(f.Objects)
	o.MostTracked = max(o.MostTracked, f.Tracked)
	o.MostResting = max(o.MostResting, len(f.Objects)-f.Tracked)
	if o.Begun != o.Gone+o.Left {
		return fmt.Errorf("%d objects were begun, but %d are gone and %d left; want each to be one of both", o.Begun, o.Gone, o.Left)
	}
	return nil
}
