package tracker

import (
	"context"
	"fmt"

	"github.com/segd/segd/annotation"
)

// State is where an object is in its life.
type State uint8

const (
	Visible  State = iota // it has a mask
	Occluded              // it had one a moment ago
	Lost                  // not seen for Config.OccludedFrames
)

func (s State) String() string { return [...]string{"visible", "occluded", "lost"}[s] }

// object is what the tracker remembers of an annotated object between frames.
type object struct {
	id       uint32
	label    string
	state    State
	area     float64   // running mean of its visible area, pixels
	x, y     float64   // centre of its last mask, pixels
	unseen   int       // frames since it was last visible
	settling int       // frames until it has been back for long enough
	found    int       // frames in a row in which it was found, but not believed
	wary     int       // such frames that it takes until it is
	chance   []float64 // n of the newest frame: its probability by looks, while it is sought
	doubt    []bool    // n: where it may have been at one size or another
	resized  bool      // whether it came back at a size that Scene.Coarse shows
}

// An object is visible while its mask keeps at least this share of its running
// mean area; a hidden one needs more to come back. The gap keeps the state from
// flickering.
const (
	stayShare   = 0.10
	returnShare = 0.25
	areaRate    = 0.1 // weight of the newest area in the running mean
)

// maxWary bounds for how many frames an object that was found may not be believed. The
// number doubles whenever one that came back has gone again at once: that was something
// that only looks like it.
const maxWary = 31

// observe moves the object's state on by one frame in which its mask has the
// given area.
func (o *object) observe(area, lostAfter int) {
	need := stayShare
	if o.state != Visible {
		need = returnShare
	}
	seen := area > 0 && float64(area) >= need*o.area
	switch {
	case o.state == Visible:
	case !seen:
		o.found = 0
	case o.found < o.wary:
		o.found++
		seen = false
	default:
		o.found, o.settling = 0, settleFrames
	}
	if !seen {
		if o.state == Visible && o.settling > 0 {
			o.wary = min(2*o.wary+1, maxWary)
		}
		o.unseen++
		o.state = Occluded
		if o.unseen > lostAfter {
			o.state = Lost
		}
		return
	}
	if o.area == 0 {
		o.area = float64(area)
	}
	o.area += areaRate * (float64(area) - o.area)
	if o.settling--; o.settling == 0 {
		o.wary = 0
	}
	o.state, o.unseen = Visible, 0
}

// describe moves every object's state on by f's labels and fills in the objects of
// res. The sizes that an annotated frame shows are taken as they are.
func (t *Tracker) describe(ctx context.Context, res *Result, f *frame, ann *annotation.Annotation) error {
	labels := t.labels()
	f.knows, f.sure = append(f.knows[:0], true), append(f.sure[:0], false)
	for k := range t.objects {
		o, l := &t.objects[k], int32(k+1)
		area, score := 0, 0.0
		var at [2]float64
		for i, y := range f.y {
			if y == l {
				area += int(f.Area[i])
				a := float64(f.Area[i])
				score += a * f.q[i*labels+int(l)]
				at[0] += a * float64(f.Centroid[2*i])
				at[1] += a * float64(f.Centroid[2*i+1])
			}
		}
		if ann != nil && o.state == Visible && area > 0 {
			o.area = 0
		}
		o.observe(area, t.cfg.OccludedFrames)
		out := Object{ID: o.id, Label: o.label, State: o.state}
		if out.Label == "" {
			out.Label = fmt.Sprintf("object %d", o.id)
		}
		if o.state == Visible {
			out.Score = score / float64(area)
			o.x, o.y = at[0]/float64(area), at[1]/float64(area)
		} else {
			f.erase(l, labels)
		}
		f.knows = append(f.knows, o.state == Visible)
		f.sure = append(f.sure, o.state == Visible && o.settling <= 0 && out.Score >= sureScore && float64(area) >= sureShare*o.area)
		res.Objects = append(res.Objects, out)
	}
	f.setLooks(labels, t.projection.Dim())
	if err := t.outlines.Draw(ctx, f.Picture, f.y, labels); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	if ann != nil {
		t.outlines.Overrule(ann.Raster(), t.seen(ann))
	}
	for k := range res.Objects {
		out := &res.Objects[k]
		out.Mask, out.Area = t.outlines.Mask(f.Picture, f.y, k+1)
		out.Box = out.Mask.Box()
	}
	return nil
}

// seen lists the labels of the annotation's objects, after that of the background, and
// 0 for those out of sight.
func (t *Tracker) seen(ann *annotation.Annotation) []uint8 {
	index := make([]uint8, 1, len(ann.Objects)+1)
	for _, o := range ann.Objects {
		label := 1 + t.find(o.ID)
		if t.objects[label-1].state != Visible {
			label = 0
		}
		index = append(index, uint8(label))
	}
	return index
}

// erase makes what is left of a label background: too little of an object to
// publish is too little to learn from.
func (f *frame) erase(label int32, labels int) {
	for i, y := range f.y {
		if y == label {
			f.y[i] = 0
		}
		row := f.soft[i*labels : (i+1)*labels]
		row[0] += row[label]
		row[label] = 0
	}
}
