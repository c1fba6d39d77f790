package tracker

import (
	"context"
	"fmt"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/belief"
	"github.com/segd/segd/tracker/internal/life"
)

// State is where an object is in its life.
type State = life.State

const (
	Visible  = life.Visible  // it has a mask
	Occluded = life.Occluded // it had one a moment ago
	Lost     = life.Lost     // not seen for Config.OccludedFrames
)

// object is what the tracker remembers of an annotated object between frames.
type object struct {
	id    uint32
	label string
	life.Object
	belief.Detection
}

// describe moves every object's state on by f's labels and fills in the objects of
// res.
func (t *Tracker) describe(ctx context.Context, res *Result, f *frame, ann *annotation.Annotation) error {
	labels := t.labels()
	f.Observed, f.Confident = append(f.Observed[:0], true), append(f.Confident[:0], false)
	for k := range t.objects {
		o, l := &t.objects[k], k+1
		sight := life.Measure(f.Picture, f.y, f.belief.Q, l, labels)
		confident := o.Observe(sight, ann != nil, t.cfg.OccludedFrames)
		out := Object{ID: o.id, Label: o.label, State: o.State}
		if out.Label == "" {
			out.Label = fmt.Sprintf("object %d", o.id)
		}
		if o.State == Visible {
			out.Score = sight.Score
		} else {
			f.erase(l, labels)
		}
		f.Observed, f.Confident = append(f.Observed, o.State == Visible), append(f.Confident, confident)
		res.Objects = append(res.Objects, out)
	}
	f.Measure(labels)
	f.Trust = append(f.Trust[:0], f.belief.Trust...)
	f.Corrected = append(f.Corrected[:0], f.marks.Corrected...)
	if err := t.outlines.Draw(ctx, f.Picture, f.y, labels); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	if ann != nil {
		t.outlines.Overrule(ann.Raster(), t.shown(ann))
	}
	for k := range res.Objects {
		out := &res.Objects[k]
		out.Mask, out.Area = t.outlines.Mask(f.Picture, f.y, k+1)
		out.Box = out.Mask.Box()
	}
	return nil
}

// shown lists the labels of the annotation's objects, after that of the background, and
// 0 for those out of sight.
func (t *Tracker) shown(ann *annotation.Annotation) []uint8 {
	index := make([]uint8, 1, len(ann.Objects)+1)
	for _, o := range ann.Objects {
		label := 1 + t.find(o.ID)
		if t.objects[label-1].State != Visible {
			label = 0
		}
		index = append(index, uint8(label))
	}
	return index
}

// erase makes what is left of a label background: too little of an object to
// publish is too little to learn from.
func (f *frame) erase(label, labels int) {
	for i, y := range f.y {
		if int(y) == label {
			f.y[i] = 0
		}
	}
	f.Hide(label, labels)
}
