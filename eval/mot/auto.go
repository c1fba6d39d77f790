package mot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/eval/internal/clip"
	"github.com/segd/segd/features"
	"github.com/segd/segd/marking"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/zones"
)

// Detector finds what is to be followed.
type Detector interface {
	Detect(dst []features.Detection, bgr []byte, width, height int) ([]features.Detection, error)
}

// Automatic says how what a detector finds is followed.
type Automatic struct {
	Detector Detector
	Every    int // frames from one look to the next
	Marking  marking.Config
	Lines    [][2]zones.Point // crossings of them are counted
}

// AutomaticReport is the outcome, in the stable form `segd eval mot --json` prints.
type AutomaticReport struct {
	Figures
	Milliseconds float64     `json:"ms_per_frame"` // of the whole work but decoding; the mean
	Lines        []Crossings `json:"lines,omitempty"`

	Boxes    []Found `json:"-"` // of all masks, frame by frame
	Detected []Found `json:"-"` // what the detector found, with id −1
}

// RunAutomatic follows what a detector finds in every so many-th frame. Opt's Follow and Mark are not
// looked at. A frame's boxes use no later frame.
func RunAutomatic(ctx context.Context, opt Options, auto Automatic) (*AutomaticReport, error) {
	if err := opt.frames(); err != nil {
		return nil, err
	}
	if auto.Every < 1 {
		return nil, fmt.Errorf("mot: a look every %d frames; want 1 or more", auto.Every)
	}
	opt.Tracker.History = 1 // no annotation is of an earlier frame
	r := &automaticRun{opt: &opt, auto: &auto, report: &AutomaticReport{}}
	var err error
	if r.view, err = clip.NewView(opt.Model, opt.Features); err != nil {
		return nil, err
	}
	if r.tracker, err = tracker.New(opt.Tracker); err != nil {
		return nil, err
	}
	if r.marker, err = marking.New(auto.Marking); err != nil {
		return nil, err
	}
	if r.crossings, err = newCrossings(opt.Truth, auto.Lines); err != nil {
		return nil, fmt.Errorf("mot: %w", err)
	}
	if err := opt.Video(ctx, func(p *Picture) error { return r.show(ctx, p) }); err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("mot: %w", err)
	}
	if r.frame < opt.Last {
		return nil, fmt.Errorf("mot: the video ends with frame %d; want %d", r.frame, opt.Last)
	}
	r.report.Figures = Score(opt.Truth, r.report.Boxes, opt.First, opt.Last)
	r.report.Lines = r.crossings.report()
	r.report.Milliseconds = float64(r.took.Microseconds()) / 1000 / float64(opt.Last-opt.First+1)
	return r.report, nil
}

// automaticRun is one pass over the video.
type automaticRun struct {
	opt     *Options
	auto    *Automatic
	view    *clip.View
	tracker *tracker.Tracker
	marker  *marking.Marker
	frame   int // shown last, from 1
	found   []features.Detection
	took    time.Duration
	report  *AutomaticReport

	thumbnail features.Thumbnail
	crossings *crossings
}

// show takes the next frame.
func (r *automaticRun) show(ctx context.Context, p *Picture) error {
	r.frame++
	if r.frame < r.opt.First {
		return ctx.Err()
	}
	start := time.Now()
	res, err := r.follow(ctx, p)
	if err != nil {
		return fmt.Errorf("frame %d: %w", r.frame, err)
	}
	r.took += time.Since(start)
	r.crossings.observe(r.frame, p.Time, res)
	for _, o := range res.Objects {
		if !o.Box.Empty() {
			r.report.Boxes = append(r.report.Boxes, Found{r.frame, int(o.ID), boxOf(o.Box), o.Score})
		}
	}
	if r.opt.Progress != nil {
		r.opt.Progress(r.frame-r.opt.First+1, r.opt.Last-r.opt.First+1)
	}
	if r.frame == r.opt.Last {
		return errEnough
	}
	return ctx.Err()
}

// follow has the tracker step on a frame, which may be looked at before.
func (r *automaticRun) follow(ctx context.Context, p *Picture) (*tracker.Result, error) {
	r.view.Look(r.frame-1, p)
	var d marking.Decision
	if (r.frame-r.opt.First)%r.auto.Every == 0 {
		var err error
		if r.found, err = r.auto.Detector.Detect(r.found, p.BGR, p.Width, p.Height); err != nil {
			return nil, err
		}
		for _, f := range r.found {
			r.report.Detected = append(r.report.Detected, Found{r.frame, -1, boxOf(f.Box), f.Score})
		}
		r.thumbnail.Set(p.BGR, p.Width, p.Height)
		d = r.marker.Decide(&marking.Look{
			Seq: uint64(r.frame - 1), Width: p.Width, Height: p.Height, Found: r.found, Thumbnail: &r.thumbnail,
		})
		for _, id := range slices.Concat(d.Gone, d.Rest) {
			r.tracker.Remove(id)
		}
	}
	scene, err := r.view.For(r.tracker, d.Annotation)
	if err != nil {
		return nil, err
	}
	res, err := r.tracker.Step(ctx, scene, nil, d.Annotation)
	if err == nil {
		r.marker.Observe(res)
	}
	return res, err
}
