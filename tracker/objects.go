package tracker

import (
	"context"
	"fmt"
	"image"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/outline"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/seed"
	"github.com/segd/segd/tracker/internal/trackstate"
)

// fits is the IoU of a mask's box and the track's from which on the one fits the other: at .85 J of libby and dog,
// marked by boxes, is .875 for .886.
const fits = 0.7

// object is what the tracker remembers of an annotated object between frames.
type object struct {
	id uint32
	trackstate.Object
	propagation.Detection                 // in the newest frame
	box                   image.Rectangle // of the last mask
	extent                image.Rectangle // by its track, lately
	detected              image.Rectangle // in the newest scene; empty: it was not
	maskGrid              *features.Grid  // in the newest scene: log odds of cells to be the thing in detected
	maskLogits            []float32       // of each superpixel; of none, where maskGrid says nothing
	misfit                float64         // of its last mask's box and the extent then, 0…1
	corrected             bool            // by people: what they drew may be another part of the thing than a box or a mask head tells
	last                  image.Rectangle // its place in the last frame; empty if it was out of sight
	scale                 float64         // it was planned to be seen at last; 0: it was not
	way                   [2]float64      // pixels that it goes between two frames of the camera, right and down
}

// objects are those followed: label l is all[l−1], label 0 is the background.
type objects struct {
	all     []object
	viewsOf []propagation.Object // what views returns
	gridsOf []*features.Grid     // what maskGrids returns
}

func (o *objects) labels() int { return 1 + len(o.all) }

func (o *objects) find(id uint32) int {
	return slices.IndexFunc(o.all, func(o object) bool { return o.id == id })
}

func (o *objects) inSight(label int32) bool { return o.all[label-1].State == Visible }

func (o *objects) anyVisible() bool {
	return slices.ContainsFunc(o.all, func(o object) bool { return o.State == Visible })
}

// views are the objects as packages propagation and recall see them, until one is added or
// removed.
func (o *objects) views() []propagation.Object {
	o.viewsOf = o.viewsOf[:0]
	for k := range o.all {
		o.viewsOf = append(o.viewsOf, propagation.Object{Object: &o.all[k].Object, Detection: &o.all[k].Detection})
		if at := &o.all[k]; at.Tracked && !at.detected.Empty() && !at.corrected {
			o.viewsOf[k].Extent, o.viewsOf[k].Misfit, o.viewsOf[k].MaskLogits = at.detected, at.misfit, at.maskLogits
		}
		o.viewsOf[k].TrackLost = !o.all[k].Tracked && !o.all[k].extent.Empty()
	}
	return o.viewsOf
}

// clone shares nothing with o. It lacks the detections, which are the newest frame's.
func (o *objects) clone() objects {
	c := objects{all: slices.Clone(o.all)}
	for k := range c.all {
		c.all[k].Detection = propagation.Detection{}
		c.all[k].maskGrid, c.all[k].maskLogits = nil, nil
	}
	return c
}

// track notes where the objects with a track are, and moves what is known of their places along.
func (o *objects) track(extents []Extent, lostAfter int) {
	for k := range o.all {
		at := &o.all[k]
		i := slices.IndexFunc(extents, func(e Extent) bool { return e.ID == at.id })
		before := at.Tracked
		at.Gone = i >= 0 && extents[i].Box.Empty()
		if at.Gone {
			at.Lose(lostAfter)
		}
		if at.Tracked = i >= 0 && !at.Gone; !at.Tracked {
			continue
		}
		to := extents[i].Box
		switch {
		case before && !at.extent.Empty():
			way := to.Min.Add(to.Max).Sub(at.extent.Min).Sub(at.extent.Max) // twice
			at.X, at.Y = at.X+float64(way.X)/2, at.Y+float64(way.Y)/2
		default:
			at.X, at.Y = float64(to.Min.X+to.Max.X)/2, float64(to.Min.Y+to.Max.Y)/2
		}
		at.extent, at.detected = to, extents[i].Detected
	}
}

// rewind takes them back by that many frames of the camera. Where a track had them then is not said.
func (o *objects) rewind(frames int) {
	for k := range o.all {
		o.all[k].Rewind(frames)
		o.all[k].Tracked = false
	}
}

// computeMaskLogits sets the mask logits of the objects with a track whose box was detected in s and that were not corrected.
func (o *objects) computeMaskLogits(s *features.Scene) error {
	for k := range o.all {
		at := &o.all[k]
		at.maskLogits = at.maskLogits[:0]
		if b := at.detected; at.Tracked && !b.Empty() && !at.corrected {
			if at.maskGrid == nil {
				at.maskGrid = new(features.Grid)
			}
			switch ok, err := s.MaskGrid(at.maskGrid, features.Corners(b)); {
			case err != nil:
				return fmt.Errorf("tracker: %w", err)
			case ok:
				at.maskLogits = at.maskGrid.Pool(at.maskLogits, s)
			}
		}
	}
	return nil
}

// maskGrids are, by label, what a mask head says in the newest scene; nil: nothing.
func (o *objects) maskGrids() []*features.Grid {
	o.gridsOf = append(o.gridsOf[:0], nil)
	for k := range o.all {
		var g *features.Grid
		if at := &o.all[k]; len(at.maskLogits) > 0 {
			g = at.maskGrid
		}
		o.gridsOf = append(o.gridsOf, g)
	}
	return o.gridsOf
}

// accept checks the annotation, if there is one, against the scene and makes room for
// its objects. inSight tells which labels the scene shows.
func (t *Tracker) accept(a *annotation.Annotation, s *features.Scene, inSight func(label int32) bool) (marked []seed.Object, err error) {
	if a == nil {
		return nil, nil
	}
	if err := t.check(a, s); err != nil {
		return nil, err
	}
	if t.projection == nil {
		p, err := features.FitProjection(s, maxDim)
		if err != nil {
			return nil, fmt.Errorf("tracker: %w", err)
		}
		t.projection = p
	}
	before := t.objects.labels()
	marked = make([]seed.Object, len(a.Objects))
	_, areas := extents(a)
	p := planner{size: image.Pt(a.Width, a.Height)}
	for k, o := range a.Objects {
		fresh := object{id: o.ID, Object: trackstate.Object{Zoom: p.zoom(areas[k])}}
		i := t.objects.find(o.ID)
		if i < 0 {
			t.objects.all = append(t.objects.all, fresh)
			marked[k] = seed.Object{Label: len(t.objects.all), Defined: true}
			continue
		}
		// Strokes on an object in sight correct it. What else is said of a known
		// object replaces what was seen of it: its size and whether it is there.
		marked[k] = seed.Object{Label: i + 1, Defined: a.HasExtent(k) || len(o.Scribbles) > 0 && !inSight(int32(i+1))}
		if marked[k].Defined {
			t.objects.all[i] = fresh
		}
		t.objects.all[i].corrected = !a.Automatic && o.Box == nil
	}
	for k, o := range a.Objects {
		if b := o.Box; b != nil {
			if marked[k].MaskLogits, err = s.MaskLogits(nil, [4]float64(b)); err != nil {
				return nil, fmt.Errorf("tracker: %w", err)
			}
		}
	}
	if labels := t.objects.labels(); labels != before {
		t.widen(before, labels)
	}
	return marked, nil
}

// check names what is wrong with an annotation of s.
func (t *Tracker) check(a *annotation.Annotation, s *features.Scene) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if a.Width != s.Width || a.Height != s.Height {
		return annotation.Faultf("width", "made for %d×%d; the camera's frames are %d×%d", a.Width, a.Height, s.Width, s.Height)
	}
	if len(a.Objects) == 0 && len(t.objects.all) == 0 {
		return annotation.Faultf("objects", "none, and no object is known that strokes on the background could correct; want at least one")
	}
	for k, o := range a.Objects {
		if t.objects.find(o.ID) < 0 && !a.HasMarks(k) {
			return annotation.Faultf(fmt.Sprintf("objects[%d].scribbles", k), "none, and object %d is not known yet; want at least one stroke, a polygon or a box", o.ID)
		}
	}
	return nil
}

// observe moves every object's state on by f's labels, and finishes f: what of it later
// frames look up is what is published.
func (t *Tracker) observe(f *frame, annotated bool, res *Result) {
	labels, hidden := t.objects.labels(), false
	f.Label(f.y, f.Marks.Free, labels)
	res.Objects = make([]Object, 0, len(t.objects.all))
	for k := range t.objects.all {
		o, l := &t.objects.all[k], k+1
		sight := trackstate.Measure(f.Picture, f.y, f.Belief.Q, l, labels)
		sight.Overlooked = o.Detected() && !looked(f, o.box)
		strokes := annotated && (slices.Contains(t.seeder.Corrected(), int32(l)) ||
			slices.Contains(f.Marks.Begun, int32(l)) && !slices.Contains(f.Marks.Bounded, int32(l)))
		if strokes {
			o.Marked = 0 // the score is that of this frame alone
		}
		confident := o.Observe(sight, annotated, t.elapsed, t.cfg.OccludedFrames)
		if o.Detected() {
			o.box = sight.Box
		}
		out := Object{ID: o.id, State: o.State}
		if o.Tracked {
			out.Extent = o.extent
		}
		if o.State == Visible {
			out.Score = o.Score(sight)
		} else {
			f.hide(l, labels)
			hidden = true
		}
		if strokes {
			o.Marked = sight.Score
		}
		f.See(o.State == Visible, confident)
		res.Objects = append(res.Objects, out)
	}
	if s := &res.Solve; annotated || hidden || s.Iterations == 0 || t.cfg.Mode == Fixed {
		f.Keep(f.y)
	} else {
		f.Tell(f.y) // the next solve starts with the labels of this one
	}
	f.Finish(&f.Belief, f.Marks.Corrected, labels)
}

// looked tells whether f shows the middle of a box.
func looked(f *frame, box image.Rectangle) bool {
	middle := box.Min.Add(box.Max).Div(2)
	return f.At(middle.X, middle.Y) != features.Unseen
}

// draw fills in the masks of res.
func (t *Tracker) draw(ctx context.Context, f *frame, ann *annotation.Annotation, marked []seed.Object, res *Result) error {
	var c outline.Classifier
	if t.cfg.Mode != Affinity {
		c = outline.Classifier{Rows: t.window.Weights(), Projection: t.projection}
	}
	if err := t.outline.Draw(ctx, f.Picture, f.y, t.objects.labels(), c, t.objects.maskGrids()); err != nil {
		return err
	}
	if ann != nil {
		index := make([]uint8, 1+len(marked)) // 0 for what is not in sight
		for k, o := range marked {
			if t.objects.inSight(int32(o.Label)) {
				index[k+1] = uint8(o.Label)
			}
		}
		t.outline.Overrule(ann.Raster(), index)
	}
	for k := range res.Objects {
		o := &res.Objects[k]
		o.Mask, o.Area = t.outline.Mask(f.Picture, f.y, k+1)
		o.Box = o.Mask.Box()
		at := &t.objects.all[k]
		at.misfit = 0
		box := at.detected
		if box.Empty() {
			box = at.extent
		}
		if in := box.Intersect(image.Rectangle{Max: t.size}); at.Tracked && !in.Empty() {
			at.misfit = max(0, 1-features.IoU(o.Box, in)/fits)
		}
		if o.State == Visible {
			at.box = o.Box
		}
		at.move(t.elapsed)
	}
	return nil
}

// move notes how the object has gone in so many of the camera's frames.
func (o *object) move(elapsed int) {
	before := o.last
	if o.last, _ = o.place(); o.State != Visible && !o.Tracked {
		o.last = image.Rectangle{}
	}
	o.way = [2]float64{}
	if !before.Empty() && !o.last.Empty() {
		twice := o.last.Min.Add(o.last.Max).Sub(before.Min).Sub(before.Max)
		o.way = [2]float64{float64(twice.X) / float64(2*elapsed), float64(twice.Y) / float64(2*elapsed)}
	}
}

// Remove forgets the object with that id and tells whether there was one. Where it
// was marked or seen is background from now on; other objects are not affected.
func (t *Tracker) Remove(id uint32) bool {
	at := t.objects.find(id)
	if at < 0 {
		return false
	}
	label := at + 1
	t.drop(label, t.objects.labels())
	t.past.DropLabel(int32(label))
	t.window.Drop(label, t.projection.Dim())
	t.objects.all = slices.Delete(t.objects.all, at, at+1)
	if len(t.objects.all) == 0 {
		t.forget()
		t.past.DropLabels() // the frames can still be annotated
	}
	return true
}
