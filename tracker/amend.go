package tracker

import (
	"context"
	"fmt"
	"image"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/tracker/internal/history"
	"github.com/segd/segd/tracker/internal/seed"
)

// amend applies an annotation of an earlier frame than that of s: its scene becomes an
// annotated frame, with which the window starts anew, and some of what was seen since is
// labelled again.
func (t *Tracker) amend(ctx context.Context, s *features.Scene, ann *annotation.Annotation) error {
	at, err := t.past.Find(*ann.Frame, s.Seq)
	if err != nil {
		return err
	}
	shown := t.past.Labels(at)
	scene := &features.Scene{} // of one frame after the other
	defer scene.Release()
	if err := t.remake(scene, at, t.planFor(ann, shown, image.Pt(s.Width, s.Height))); err != nil {
		return err
	}
	marked, err := t.accept(ann, scene, shown.Show)
	if err != nil {
		return err
	}
	newest, _ := t.past.Newest()
	t.objects.rewind(int(newest-scene.Seq) + 1)
	t.evictAll()
	f := t.load(scene)
	t.recollect(f, shown)
	if err := t.relabel(ctx, at, f, ann, marked); err != nil {
		return err
	}
	for _, to := range t.past.Replays(at) {
		if err := t.remake(scene, to, t.Plan(features.Plan{})); err != nil {
			return err
		}
		f := t.load(scene)
		t.expect(f)
		if err := t.relabel(ctx, to, f, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// remake makes dst a scene of the picture of the frame at a place of the history.
func (t *Tracker) remake(dst *features.Scene, at int, plan features.Plan) error {
	dst.Seq, _, _ = t.past.Frame(at)
	if err := t.past.Picture(at).Scene(dst, plan); err != nil {
		return fmt.Errorf("tracker: scene of frame %d: %w", dst.Seq, err)
	}
	return nil
}

// planFor is what the scene of an earlier frame, with pictures of that size, should be like
// that ann is of: all of it, and finer where ann says, and where the frame showed objects.
func (t *Tracker) planFor(ann *annotation.Annotation, shown history.Labels, size image.Point) features.Plan {
	p := planner{size: size, Plan: features.Plan{Still: true}}
	for k := range t.objects.all {
		box, area := shown.Extent(int32(k+1), size.X)
		p.fine(box, float64(area))
		p.window(p.viewOf(t.objects.all[k].Zoom, box), false, box)
	}
	return PlanFor(p.Plan, ann)
}

// relabel labels f, which was loaded from the scene of the frame at a place of the history.
func (t *Tracker) relabel(ctx context.Context, at int, f *frame, ann *annotation.Annotation, marked []seed.Object) error {
	if err := t.label(ctx, f, ann, marked, &Result{}); err != nil {
		return err
	}
	t.past.Relabel(at, t.outline.Labels())
	return nil
}

// MaxHeld is how many frames Hold keeps at once.
const MaxHeld = history.MaxHeld

// ErrHeld is wrapped by Hold's error when MaxHeld frames are held already.
var ErrHeld = history.ErrHeld

// Picture returns the picture of the kept frame with that sequence number, which the caller is to release. The error says which frames
// there are; it wraps annotation.ErrFrame.
func (t *Tracker) Picture(seq uint64) (Picture, error) {
	newest, any := t.past.Newest()
	if !any {
		return nil, annotation.FrameFaultf("%d is not kept; none has come yet", seq)
	}
	at, err := t.past.Find(seq, newest)
	if err != nil {
		return nil, err
	}
	p := t.past.Picture(at)
	p.Retain()
	return p, nil
}

// Hold keeps the earlier frame with that sequence number, for a client that is
// going to annotate it, until it is let go as many times, and along with it enough
// of those after it to follow its objects to the present. Together they take at
// most Config.History again, or MaxHeld frames if that is more. The error says
// which frames there are; it wraps annotation.ErrFrame or ErrHeld.
func (t *Tracker) Hold(seq uint64) error { return t.past.Hold(seq) }

// LetGo ends one Hold. A frame that is not held, because the camera changed its
// picture size since, is no fault.
func (t *Tracker) LetGo(seq uint64) { t.past.LetGo(seq) }

// recollect gives f what is known of it: what it was taken to show, if it was labelled, and
// what it was marked as, if it was annotated before.
func (t *Tracker) recollect(f *frame, shown history.Labels) {
	pixels := f.Map()
	defer buffers.Put(pixels)
	if shown.None() {
		f.Belief.Uniform(t.objects.labels())
	} else {
		shown.Superpixels(f.y, pixels)
		f.Belief.Certain(f.y)
	}
	w := &t.frames
	at := slices.IndexFunc(w.anchors, func(a *frame) bool { return a.Seq == f.Seq && !a.recalled })
	if at < 0 {
		return
	}
	old := w.anchors[at]
	then := old.Map()
	defer buffers.Put(then)
	from := origins(pixels, f.N, then, old.N, func(i int32) bool { return !old.Marks.Free(int(i)) })
	f.Marks.Resume(&old.Marks, from)
	f.Belief.Take(&old.Reference, from)
	// f takes its place.
	w.anchors = slices.Delete(w.anchors, at, at+1)
	w.release(old)
}

// origins tells which of the old superpixels each of the n new ones of the same picture is of:
// the one that it shares most pixels with, but each old one that must not be lost has a new one.
// It is -1 where there was none.
func origins(superpixel []int32, n int, old []int32, nOld int, keep func(i int32) bool) []int32 {
	type pair struct{ now, then int32 }
	shared := make(map[pair]int32)
	for p, last := 0, 0; p < len(superpixel); last = p {
		at := pair{superpixel[p], old[p]}
		for p++; p < len(superpixel) && at == (pair{superpixel[p], old[p]}); p++ {
		}
		if at.now >= 0 && at.then >= 0 {
			shared[at] += int32(p - last)
		}
	}
	from, best := slices.Repeat([]int32{-1}, n), make([]int32, n)
	to, most := slices.Repeat([]int32{-1}, nOld), make([]int32, nOld)
	for at, count := range shared {
		i, o := at.now, at.then
		if count > best[i] || count == best[i] && o < from[i] {
			from[i], best[i] = o, count
		}
		if count > most[o] || count == most[o] && i < to[o] {
			to[o], most[o] = i, count
		}
	}
	for o, i := range to {
		if i >= 0 && keep(int32(o)) && !slices.Contains(from, int32(o)) && !keep(from[i]) {
			from[i] = int32(o)
		}
	}
	return from
}
