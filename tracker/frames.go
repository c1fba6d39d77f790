package tracker

import (
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/tracker/internal/belief"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/recall"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/seed"
)

// frame is one frame of the window: what later ones look up of it, and what it was
// taken for. Frames are recycled, so a sliding window allocates nothing.
type frame struct {
	*recall.Sighting
	block  kernel.Block // of Rows
	belief belief.Belief
	marks  seed.Marks

	scores []float64 // n×L, Kα of the last solve
	lambda []float64 // n×L multipliers of the last solve
	y      []int32   // n labels
}

// frames are those of the window: the latest and the annotated ones.
type frames struct {
	anchors  []*frame // annotated frames
	recent   []*frame // latest frames, newest last; may share frames with anchors
	free     []*frame
	pictures picture.Pool

	all       []*frame // scratch
	annotated []*recall.Sighting
}

// load makes a frame of a picture. What was found for the frame that it was before is
// forgotten.
func (w *frames) load(p *picture.Picture, labels int) *frame {
	var f *frame
	if n := len(w.free); n > 0 {
		f, w.free = w.free[n-1], w.free[:n-1]
	} else {
		f = &frame{Sighting: &recall.Sighting{}}
	}
	f.Picture = p
	f.Observed, f.Confident, f.Corrected = f.Observed[:0], f.Confident[:0], f.Corrected[:0]
	f.block.Reset(f.Rows, f.N, f.Dim+1)
	f.y = scratch.Zero(f.y, f.N)
	f.marks.Reset(f.N)
	f.belief.Reset(f.N, labels)
	for _, m := range []*[]float64{&f.scores, &f.lambda, &f.Soft} {
		*m = scratch.Zero(*m, f.N*labels)
	}
	return f
}

func (w *frames) release(f *frame) {
	w.pictures.Release(f.Picture)
	w.free = append(w.free, f)
}

// forget drops every frame.
func (w *frames) forget() {
	w.dropRecent()
	for _, f := range w.anchors {
		w.release(f)
	}
	w.anchors = w.anchors[:0]
}

// dropRecent drops the latest frames, but not those annotated.
func (w *frames) dropRecent() {
	for _, f := range w.recent {
		if !slices.Contains(w.anchors, f) {
			w.release(f)
		}
	}
	w.recent = w.recent[:0]
}

// differ tells whether s has another picture size than the frames.
func (w *frames) differ(s *features.Scene) bool {
	return len(w.recent) > 0 && (w.recent[0].Width != s.Width || w.recent[0].Height != s.Height)
}

// kept lists every frame once: annotated ones, then the latest.
func (w *frames) kept() []*frame {
	w.all = append(w.all[:0], w.anchors...)
	for _, f := range w.recent {
		if !slices.Contains(w.anchors, f) {
			w.all = append(w.all, f)
		}
	}
	return w.all
}

// sightings are those of the annotated frames.
func (w *frames) sightings() []*recall.Sighting {
	w.annotated = w.annotated[:0]
	for _, f := range w.anchors {
		w.annotated = append(w.annotated, f.Sighting)
	}
	return w.annotated
}

// evict drops the oldest of the latest frames from the window. An annotated one stays,
// and others may be remembered.
func (t *Tracker) evict() {
	w := &t.frames
	old := w.recent[0]
	w.recent = slices.Delete(w.recent, 0, 1)
	if slices.Contains(w.anchors, old) {
		return
	}
	old.Sighting = t.recall.Remember(old.Sighting, w.sightings())
	if old.Sighting == nil {
		old.Sighting = &recall.Sighting{}
		w.free = append(w.free, old)
	} else {
		w.release(old)
	}
}

// slide moves the window on: f is the newest frame. An annotated frame stays as an
// anchor and starts the window anew, because the frames before it were labelled
// without what it says.
func (t *Tracker) slide(f *frame, annotated bool) {
	w := &t.frames
	if annotated {
		for len(w.recent) > 0 {
			t.evict()
		}
		if len(w.anchors) == t.cfg.Anchors {
			// The first anchor defines the features; the second oldest goes.
			at := min(1, len(w.anchors)-1)
			w.release(w.anchors[at])
			w.anchors = slices.Delete(w.anchors, at, at+1)
		}
		w.anchors = append(w.anchors, f)
	}
	w.recent = append(w.recent, f)
}

// distrust drops the latest frames and the remembered ones, but not those annotated.
func (t *Tracker) distrust() {
	t.frames.dropRecent()
	for _, s := range t.recall.Remembered() {
		t.frames.pictures.Release(s.Picture)
	}
	t.recall.ForgetSightings()
}

// widen makes room for more labels and keeps what is known of the old ones.
func (t *Tracker) widen(from, to int) {
	for _, f := range t.frames.kept() {
		f.Widen(from, to)
		for _, m := range []*[]float64{&f.scores, &f.lambda, &f.belief.Q} {
			*m = labeling.Widen(*m, from, to)
		}
	}
	for _, s := range t.recall.Remembered() {
		s.Widen(from, to)
	}
}

// drop takes a label out of every frame.
func (t *Tracker) drop(label, labels int) {
	for _, f := range t.frames.kept() {
		f.drop(label, labels)
	}
	for _, s := range t.recall.Remembered() {
		s.Drop(label, labels)
	}
}

func (f *frame) drop(label, labels int) {
	f.Sighting.Drop(label, labels)
	f.belief.Q = labeling.FoldColumn(f.belief.Q, label, labels)
	for _, m := range []*[]float64{&f.scores, &f.lambda} {
		*m = labeling.DropColumn(*m, label, labels)
	}
	labeling.Drop(f.y, int32(label))
	f.marks.Drop(int32(label))
}

// clone copies all of f but its picture, which is immutable.
func (f *frame) clone() *frame {
	return &frame{
		Sighting: f.Sighting.Clone(), belief: f.belief.Clone(), marks: f.marks.Clone(),
		block:  kernel.Block{N: f.block.N, D: f.block.D, X: f.Rows, Gram: slices.Clone(f.block.Gram)},
		scores: slices.Clone(f.scores), lambda: slices.Clone(f.lambda), y: slices.Clone(f.y),
	}
}
