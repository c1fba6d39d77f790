package mot

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/objects/marking"
	tracks "github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
)

// Detector finds what is to be followed.
type Detector = offline.Detector

// Automatic says how what a detector finds is followed.
type Automatic struct {
	Detector Detector // nil: the model's heads detect
	Every    int      // frames from one look at all of a picture to the next
	Marking  marking.Config
	Lines    [][2]zones.Point // crossings of them are counted
}

// AutomaticReport is the outcome, in the stable form `segd eval mot --json` prints.
type AutomaticReport struct {
	Figures                  // of the boxes that count
	Counted      string      `json:"boxes"` // which these are
	ByExtent     Figures     `json:"by_extent"`
	ByMask       Figures     `json:"by_mask"`
	ByteTrack    Figures     `json:"bytetrack"` // plain ByteTrack on the same detections: the floor
	ByHeight     []Height    `json:"by_height"`
	Milliseconds float64     `json:"ms_per_frame"` // of the whole work but decoding; the mean
	Lines        []Crossings `json:"lines,omitempty"`

	Boxes    []Found `json:"-"` // those that count, frame by frame
	Detected []Found `json:"-"` // what the detector found of the classes that are wanted, with id −1
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
	r := &automaticRun{opt: &opt, every: auto.Every, classes: auto.Marking.Classes, report: &AutomaticReport{}}
	var err error
	if r.camera, err = offline.NewCamera(opt.Model, opt.Features, opt.Tracker, auto.Marking, auto.Detector); err != nil {
		return nil, err
	}
	if r.crossings, err = newCrossings(opt.Truth, auto.Lines); err != nil {
		return nil, fmt.Errorf("mot: %w", err)
	}
	if err := opt.play(ctx, r.show); err != nil {
		return nil, err
	}
	opt.Truth.cut(boxOf(r.picture))
	r.report.Counted, r.report.Boxes = opt.Boxes.String(), r.found[opt.Boxes]
	r.report.ByExtent = Score(opt.Truth, r.found[Extents], opt.First, opt.Last)
	r.report.ByMask = Score(opt.Truth, r.found[Masks], opt.First, opt.Last)
	if r.report.Figures = r.report.ByExtent; opt.Boxes == Masks {
		r.report.Figures = r.report.ByMask
	}
	r.report.ByteTrack = Score(opt.Truth, PlainByteTrack(cmp.Or(auto.Marking.Track.Confirm, tracks.DefaultConfirm)).Follow(r.report.Detected, opt.First, opt.Last), opt.First, opt.Last)
	r.report.ByHeight = byHeight(opt.Truth.against(r.report.Boxes, opt.First, opt.Last))
	r.report.Lines = r.crossings.report()
	r.report.Milliseconds = float64(r.took.Microseconds()) / 1000 / float64(opt.Last-opt.First+1)
	return r.report, nil
}

// automaticRun is one pass over the video.
type automaticRun struct {
	opt     *Options
	every   int
	classes []string
	camera  *offline.Camera
	took    time.Duration
	report  *AutomaticReport
	picture image.Rectangle
	found   [len(boxesNames)][]Found // by Boxes, as far as they are in the picture

	crossings *crossings
}

// show takes the next frame.
func (r *automaticRun) show(ctx context.Context, frame int, p *Picture) error {
	r.picture = image.Rect(0, 0, p.Width, p.Height)
	start := time.Now()
	// A tracker counts frames from 0, as a camera does.
	res, err := r.camera.Step(ctx, frame-1, p, nil, (frame-r.opt.First)%r.every == 0)
	if err != nil {
		return err
	}
	r.took += time.Since(start)
	r.crossings.observe(frame, p.Time, res.Result)
	for _, f := range res.Found {
		if slices.Contains(r.classes, f.Class) {
			r.report.Detected = append(r.report.Detected, Found{frame, -1, boxOf(f.Box), f.Score})
		}
	}
	for k := range res.Objects {
		o := &res.Objects[k]
		for b := range r.found {
			if box := Boxes(b).of(o).Intersect(r.picture); !box.Empty() {
				r.found[b] = append(r.found[b], Found{frame, int(o.ID), boxOf(box), o.Score})
			}
		}
	}
	return nil
}
