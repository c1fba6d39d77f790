package tracker

import (
	"context"
	"fmt"
	"image"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/history"
)

// Preview is an annotation of a frame that has passed, tried beside the tracker:
// it has copies of all that the labels of that frame depend on, and its picture.
type Preview struct {
	t       *Tracker
	ann     *annotation.Annotation
	seq     uint64
	size    image.Point
	picture Picture
	shown   history.Labels // of the frame so far
}

// Preview prepares to tell what Step would make of ann on the kept frame it names,
// or on the newest when it names none. The tracker stays as it is, and the Preview
// may be run by another goroutine while the tracker goes on; Close must follow. Errors wrap
// annotation.ErrInvalid, and annotation.ErrFrame if the frame is not kept. It copies some
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
	p := &Preview{t: t.fork(), ann: ann, picture: t.past.Picture(at), shown: t.past.Labels(at).Clone()}
	p.seq, p.size.X, p.size.Y = t.past.Frame(at)
	p.t.objects.rewind(int(newest-p.seq) + 1)
	p.picture.Retain()
	return p, nil
}

// Run makes the frame's scene and labels it. It may be called once, and not after Close.
func (p *Preview) Run(ctx context.Context) (*Result, error) {
	t, s := p.t, &features.Scene{Seq: p.seq}
	defer s.Release()
	if err := p.picture.Scene(s, t.planFor(p.ann, p.shown, p.size)); err != nil {
		return nil, fmt.Errorf("tracker: scene of frame %d: %w", p.seq, err)
	}
	marked, err := t.accept(p.ann, s, p.shown.Show)
	if err != nil {
		return nil, err
	}
	f := t.load(s)
	t.recollect(f, p.shown)
	res := &Result{Seq: s.Seq, Width: s.Width, Height: s.Height}
	if err := t.label(ctx, f, p.ann, marked, res); err != nil {
		return nil, err
	}
	return res, nil
}

// Close gives the picture back, whether the Preview was run or not.
func (p *Preview) Close() { p.picture.Release() }

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
