package tracker

import (
	"context"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// Preview is an annotation of a scene that has passed, tried beside the tracker:
// it has copies of all that the labels of that scene depend on.
type Preview struct {
	t     *Tracker
	ann   *annotation.Annotation
	scene *features.Scene
	y     []int32 // the scene's labels so far
}

// Preview prepares to tell what Step would make of ann on the kept scene it names,
// or on the newest when it names none. The tracker stays as it is, and the Preview
// may be run by another goroutine while the tracker goes on. Errors wrap
// annotation.ErrInvalid, and annotation.ErrFrame if the scene is not kept. It copies some
// 0.3 MB for each annotated frame of 2,000 superpixels.
func (t *Tracker) Preview(ann *annotation.Annotation) (*Preview, error) {
	newest, any := t.past.Newest()
	if !any {
		return nil, annotation.FrameFaultf("none is kept; want one that was seen before")
	}
	seq := newest
	if ann.Frame != nil {
		seq = *ann.Frame
	}
	at, err := t.past.Find(seq, newest)
	if err != nil {
		return nil, err
	}
	p := &Preview{t: t.fork(), ann: ann, scene: t.past.Scene(at), y: slices.Clone(t.past.Labels(at))}
	s := p.scene
	s.X, s.Maps, s.Centroid = slices.Clone(s.X), slices.Clone(s.Maps), slices.Clone(s.Centroid)
	s.Area, s.Edges = slices.Clone(s.Area), slices.Clone(s.Edges)
	for _, f := range t.frames.recent { // the pixels of the latest frames are there still
		if f.Seq == s.Seq {
			s.Pixels, s.Lab = slices.Clone(f.Pixels), slices.Clone(f.Colour)
		}
	}
	return p, nil
}

// Run labels the scene. The masks follow the superpixels: their outlines are drawn
// by pixels only while the scene is one of the latest Config.Window. It may be
// called once.
func (p *Preview) Run(ctx context.Context) (*Result, error) {
	t, s := p.t, p.scene
	marked, err := t.accept(p.ann, s, func(label int32) bool { return slices.Contains(p.y, label) })
	if err != nil {
		return nil, err
	}
	f := t.load(s)
	t.recollect(f, p.y)
	res := &Result{Seq: s.Seq, Width: s.Width, Height: s.Height}
	if err := t.label(ctx, f, p.ann, marked, res); err != nil {
		return nil, err
	}
	return res, nil
}

// fork returns a tracker that knows the annotated frames and shares no memory that
// is ever written. The latest frames are left out: an annotation of an earlier one
// starts the window anew.
func (t *Tracker) fork() *Tracker {
	fork := assemble(t.cfg)
	fork.projection, fork.objects = t.projection, t.objects.clone()
	fork.window.Learn(&t.window)
	for _, f := range t.frames.anchors {
		fork.frames.anchors = append(fork.frames.anchors, f.clone())
	}
	return fork
}
