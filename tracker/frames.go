package tracker

import (
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/recall"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/window"
)

// frame is one frame of the window. Frames are recycled, so a sliding window allocates
// nothing.
type frame struct {
	*recall.Sighting         // its picture, and what later frames look up of it
	window.Frame             // what it was taken for, and its part in the window's solves
	y                []int32 // N labels, while it is the newest
	recalled         bool    // it is none of the camera's latest: see Tracker.Recall
	automatic        bool    // a detector annotated it
}

// hide makes what is left of a label background: too little of an object to publish is
// too little to learn from.
func (f *frame) hide(label, labels int) {
	for i, y := range f.y {
		if int(y) == label {
			f.y[i] = 0
		}
	}
	f.Hide(label, labels)
}

// clone copies all of f but its picture, which is immutable.
func (f *frame) clone() *frame {
	return &frame{Sighting: f.Sighting.Clone(), Frame: f.Frame.Clone(), y: slices.Clone(f.y), recalled: f.recalled, automatic: f.automatic}
}

// frames are those of the window: the latest and the annotated ones.
type frames struct {
	anchors  []*frame // annotated frames
	recent   []*frame // latest frames, newest last; may share frames with anchors
	free     []*frame
	pictures picture.Pool

	// What the methods of these names return.
	keptOnes  []*frame
	rowsOf    []*window.Frame
	annotated []*recall.Sighting
	refs      []propagation.Source
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
	f.Sighting.Reset(p, labels)
	f.Frame.Reset(p, labels)
	f.y, f.recalled, f.automatic = scratch.Zero(f.y, p.N), false, false
	return f
}

func (w *frames) release(f *frame) {
	w.pictures.Release(f.Picture)
	w.spare(f)
}

// spare has f be another frame next, of another picture.
func (w *frames) spare(f *frame) {
	f.Frame.Release()
	w.free = append(w.free, f)
}

// maxElapsed bounds what a jump of the camera's numbers is taken for.
const maxElapsed = 1000

// elapsed counts the camera's frames from the newest to that with number seq, those
// dropped included. After none it is the first.
func (w *frames) elapsed(seq uint64) int {
	n := len(w.recent)
	if n == 0 || seq <= w.recent[n-1].Seq {
		return 1
	}
	return int(min(seq-w.recent[n-1].Seq, maxElapsed))
}

// differ tells whether s has another picture size than the frames.
func (w *frames) differ(s *features.Scene) bool {
	kept := w.recent
	if len(kept) == 0 {
		kept = w.anchors
	}
	return len(kept) > 0 && (kept[0].Width != s.Width || kept[0].Height != s.Height)
}

// kept lists every frame once: annotated ones, then the latest.
func (w *frames) kept() []*frame {
	w.keptOnes = append(w.keptOnes[:0], w.anchors...)
	for _, f := range w.recent {
		if !slices.Contains(w.anchors, f) {
			w.keptOnes = append(w.keptOnes, f)
		}
	}
	return w.keptOnes
}

// rows are the parts of the kept frames and of the newest in a solve.
func (w *frames) rows(newest *frame) []*window.Frame {
	w.rowsOf = w.rowsOf[:0]
	for _, f := range w.kept() {
		w.rowsOf = append(w.rowsOf, &f.Frame)
	}
	w.rowsOf = append(w.rowsOf, &newest.Frame)
	return w.rowsOf
}

// sightings are those of the annotated frames.
func (w *frames) sightings() []*recall.Sighting {
	w.annotated = w.annotated[:0]
	for _, f := range w.anchors {
		w.annotated = append(w.annotated, f.Sighting)
	}
	return w.annotated
}

// sources are the frames to look up for the one with number seq: the latest, the newest
// first, and those that people annotated. What a detector annotated a moment ago says no more than the
// latest do, if there are some.
func (w *frames) sources(seq uint64) []propagation.Source {
	w.refs = w.refs[:0]
	recent := w.recent[max(0, len(w.recent)-refFrames):]
	for i, f := range slices.Backward(recent) {
		w.refs = append(w.refs, propagation.Source{
			Reference: &f.Reference, Latest: true, Annotated: slices.Contains(w.anchors, f),
			Pace: float64(seq-f.Seq) / float64(len(recent)-i),
		})
	}
	for _, f := range w.anchors {
		if !slices.Contains(recent, f) && (!f.automatic || len(recent) == 0) {
			w.refs = append(w.refs, propagation.Source{Reference: &f.Reference, Annotated: true})
		}
	}
	return w.refs
}

// dropAnchors drops annotated frames, the oldest first, until there are limit of those that people
// annotated, or of those that a detector did, but not the newest, and none of people's that alone defines
// some object: it may be all that shows it.
func (w *frames) dropAnchors(limit int, automatic bool) {
	alone := func(f *frame) bool {
		return slices.ContainsFunc(f.Marks.Defined, func(label int32) bool {
			return !slices.ContainsFunc(w.anchors, func(a *frame) bool { return a != f && slices.Contains(a.Marks.Defined, label) })
		})
	}
	n := 0
	for _, f := range w.anchors {
		if f.automatic == automatic {
			n++
		}
	}
	for k := 0; k < len(w.anchors)-1 && n > limit; {
		if f := w.anchors[k]; f.automatic != automatic || !automatic && alone(f) {
			k++
		} else {
			w.anchors = slices.Delete(w.anchors, k, k+1)
			if !slices.Contains(w.recent, f) {
				w.release(f)
			}
			n--
		}
	}
}

// automaticAnchors is how many frames that a detector annotated are kept: it annotates often, and all that it
// finds.
const automaticAnchors = 1

// slide moves the window on: f is the newest frame. An annotated frame stays as an
// anchor. One that a person annotated starts the window anew, because the frames before it were
// labelled without what it says.
func (t *Tracker) slide(f *frame, ann *annotation.Annotation) {
	w := &t.frames
	switch {
	case ann == nil:
	case ann.Automatic:
		f.automatic = true
		w.anchors = append(w.anchors, f)
		w.dropAnchors(automaticAnchors, true)
	default:
		t.evictAll()
		t.fresh = freshPictures
		w.anchors = append(w.anchors, f)
		w.dropAnchors(mostAnchors, false)
	}
	w.recent = append(w.recent, f)
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
	old.Sighting = t.recall.Remember(old.Sighting, &old.Belief, w.sightings())
	if old.Sighting == nil {
		old.Sighting = &recall.Sighting{}
		w.spare(old)
	} else {
		w.release(old)
	}
}

func (t *Tracker) evictAll() {
	for len(t.frames.recent) > 0 {
		t.evict()
	}
}

// distrust takes what the latest frames and the remembered ones show of a label for
// wrong, but not what those annotated do.
func (t *Tracker) distrust(label int) {
	w, labels := &t.frames, t.objects.labels()
	for _, f := range w.recent {
		if !slices.Contains(w.anchors, f) {
			f.Sighting.Distrust(label, labels)
		}
	}
	t.recall.Distrust(label, labels, func(s *recall.Sighting) { w.pictures.Release(s.Picture) })
}

// widen makes room for more labels in every frame.
func (t *Tracker) widen(from, to int) {
	for _, f := range t.frames.kept() {
		f.Sighting.Widen(from, to)
		f.Frame.Widen(from, to)
	}
	for _, s := range t.recall.Remembered() {
		s.Widen(from, to)
	}
}

// drop takes a label out of every frame.
func (t *Tracker) drop(label, labels int) {
	for _, f := range t.frames.kept() {
		f.Sighting.Drop(label, labels)
		f.Frame.Drop(label, labels)
	}
	for _, s := range t.recall.Remembered() {
		s.Drop(label, labels)
	}
}
