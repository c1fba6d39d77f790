package tracker

import (
	"context"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/past"
	"github.com/segd/segd/tracker/internal/seed"
)

// maxPassed is in how many pictures that are not labelled again the objects of an annotation
// are looked for on their way to the present.
const maxPassed = 128

// amend applies an annotation of an earlier scene than s: that scene becomes an
// annotated frame, with which the window starts anew, and some of what was seen since is
// labelled again. While the camera stands the objects of the annotation are followed as
// wholes through the pictures between.
func (t *Tracker) amend(ctx context.Context, s *features.Scene, ann *annotation.Annotation) error {
	at, err := t.past.Find(*ann.Frame, s.Seq)
	if err != nil {
		return err
	}
	scene, y := t.past.Scene(at), t.past.Labels(at)
	marked, err := t.accept(ann, scene, func(label int32) bool { return slices.Contains(y, label) })
	if err != nil {
		return err
	}
	newest, _ := t.past.Newest()
	for k := range t.objects.all {
		t.objects.all[k].Rewind(int(newest-scene.Seq) + 1)
	}
	t.whole.LookBack(scene, t.past.Picture(at))
	t.evictAll()
	f := t.load(scene)
	t.recollect(f, y)
	if err := t.relabel(ctx, at, f, ann, marked); err != nil {
		return err
	}
	step := 1 + (t.past.Len()-at)/maxPassed
	for _, to := range t.past.Replays(at) {
		for at += step; at < to; at += step {
			t.whole.LookBack(t.past.Scene(at), t.past.Picture(at))
			t.whole.Pass(t.layouts())
		}
		scene := t.past.Scene(to)
		t.whole.LookBack(scene, t.past.Picture(to))
		f := t.load(scene)
		t.expect(f)
		if err := t.relabel(ctx, to, f, nil, nil); err != nil {
			return err
		}
		at = to
	}
	return nil
}

// relabel labels f, which was loaded from the scene at a place of the history.
func (t *Tracker) relabel(ctx context.Context, at int, f *frame, ann *annotation.Annotation, marked []seed.Object) error {
	if err := t.label(ctx, f, ann, marked, &Result{}); err != nil {
		return err
	}
	t.past.Relabel(at, f.y)
	return nil
}

// MaxHeld is how many scenes Hold keeps at once.
const MaxHeld = past.MaxHeld

// ErrHeld is wrapped by Hold's error when MaxHeld scenes are held already.
var ErrHeld = past.ErrHeld

// Hold keeps the earlier scene with that sequence number, for somebody who is
// going to annotate it, until it is let go as many times, and along with it enough
// of those after it to follow its objects to the present. Together they take at
// most Config.History again, or MaxHeld scenes if that is more. The error says
// which scenes there are; it wraps annotation.ErrFrame or ErrHeld.
func (t *Tracker) Hold(seq uint64) error { return t.past.Hold(seq) }

// LetGo ends one Hold. A scene that is not held, because the camera changed its
// picture size since, is no fault.
func (t *Tracker) LetGo(seq uint64) { t.past.LetGo(seq) }

// recollect gives f what is known of it: labels y, if it was labelled, and what it was
// marked as, if it was annotated before.
func (t *Tracker) recollect(f *frame, y []int32) {
	if len(y) > 0 {
		copy(f.y, y)
		f.Belief.Certain(y)
	} else {
		f.Belief.Uniform(t.objects.labels())
	}
	w := &t.frames
	at := slices.IndexFunc(w.anchors, func(a *frame) bool { return a.Seq == f.Seq && !a.recalled })
	if at < 0 {
		return
	}
	old := w.anchors[at]
	f.Marks.Resume(&old.Marks)
	f.Belief.Take(&old.Reference)
	// f takes its place.
	w.anchors = slices.Delete(w.anchors, at, at+1)
	w.release(old)
}
