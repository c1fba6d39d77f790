package tracker

import (
	"context"
	"slices"

	"github.com/segd/segd/features"
)

// history keeps the latest scenes and how they were labelled, as small as is
// cheap, so that an annotation may be for a picture somebody saw a moment ago.
type history struct {
	entries []*entry // by rising sequence number
	free    []*entry
	bytes   int
}

// entry is one scene. Its superpixel map is kept as run lengths.
type entry struct {
	scene  features.Scene // without Labels, Pixels and Lab
	values []int32        // superpixel of each run of pixels, row-major
	runs   []uint16       // pixels of each run
	y      []int32        // labels; empty when nothing was tracked
}

const longestRun = 1<<16 - 1

// size is the entry's bytes, those of slices not yet filled included.
func (e *entry) size() int {
	s := &e.scene
	return 4*cap(e.values) + 2*cap(e.runs) + 4*cap(e.y) +
		4*cap(s.X) + 8*cap(s.Maps) + 4*cap(s.Centroid) + 4*cap(s.Area) + 16*cap(s.Edges)
}

// differs tells whether s has another picture size than what is kept.
func (h *history) differs(s *features.Scene) bool {
	if len(h.entries) == 0 {
		return false
	}
	last := h.entries[len(h.entries)-1].scene
	return last.Width != s.Width || last.Height != s.Height
}

func (h *history) clear() { *h = history{} }

// keep adds s, labelled as f (nil: nothing is tracked yet), and drops the oldest
// scenes beyond limit bytes. Once the limit is reached it allocates next to
// nothing.
func (h *history) keep(s *features.Scene, f *frame, limit int) {
	e := &entry{}
	if n := len(h.free); n > 0 {
		e, h.free = h.free[n-1], h.free[:n-1]
	}
	e.pack(s)
	e.setLabels(f)
	h.entries = append(h.entries, e)
	h.bytes += e.size()
	for h.bytes > limit && len(h.entries) > 0 {
		old := h.entries[0]
		h.entries = slices.Delete(h.entries, 0, 1)
		h.bytes -= old.size()
		h.free = append(h.free[:0], old) // one is enough for the next scene
	}
}

func (e *entry) pack(s *features.Scene) {
	to := &e.scene
	to.Seq, to.Width, to.Height, to.N, to.D = s.Seq, s.Width, s.Height, s.N, s.D
	to.X = append(to.X[:0], s.X...)
	to.Maps = append(to.Maps[:0], s.Maps...)
	to.Centroid = append(to.Centroid[:0], s.Centroid...)
	to.Area = append(to.Area[:0], s.Area...)
	to.Edges = append(to.Edges[:0], s.Edges...)
	e.values, e.runs = e.values[:0], e.runs[:0]
	run := 0
	for p, l := range s.Labels {
		run++
		if p+1 == len(s.Labels) || s.Labels[p+1] != l || run == longestRun {
			e.values, e.runs = append(e.values, l), append(e.runs, uint16(run))
			run = 0
		}
	}
}

func (e *entry) setLabels(f *frame) {
	e.y = e.y[:0]
	if f != nil {
		e.y = append(e.y, f.y...)
	}
}

// unpack returns the scene with its superpixel map. Without pixels the outlines of
// masks nobody gets to see are not drawn.
func (e *entry) unpack() *features.Scene {
	s := e.scene
	s.Labels = make([]int32, 0, s.Width*s.Height)
	for k, l := range e.values {
		for range e.runs[k] {
			s.Labels = append(s.Labels, l)
		}
	}
	return &s
}

// find returns the place of the scene with that number, or an error that says
// which there are.
func (h *history) find(seq, newest uint64) (int, error) {
	i, found := slices.BinarySearchFunc(h.entries, seq, func(e *entry, seq uint64) int {
		switch {
		case e.scene.Seq < seq:
			return -1
		case e.scene.Seq > seq:
			return 1
		}
		return 0
	})
	n := len(h.entries)
	switch {
	case found:
		return i, nil
	case seq > newest:
		return 0, frameFault("%d has not come yet; the newest is %d", seq, newest)
	case n == 0:
		return 0, frameFault("%d is not kept; accepted: %d, or no frame for the newest", seq, newest)
	case i > 0 && i < n:
		return 0, frameFault("%d was dropped unseen; accepted: %d or %d beside it, and others from %d to %d", seq,
			h.entries[i-1].scene.Seq, h.entries[i].scene.Seq, h.entries[0].scene.Seq, newest)
	}
	return 0, frameFault("%d is no longer kept; accepted: %d to %d, or no frame for the newest", seq, h.entries[0].scene.Seq, newest)
}

// maxReplay is how many of the scenes after an amended one are labelled again, at
// even distances and the newest always: more would hold up the live picture, and
// an object moves no farther between them than the affinity's radius.
const maxReplay = 8

// amend applies an annotation of an earlier scene than s: that scene becomes an
// annotated frame, with which the window starts anew, and what was seen since is
// labelled again.
func (t *Tracker) amend(ctx context.Context, s *features.Scene, ann *Annotation) error {
	at, err := t.past.find(*ann.Frame, s.Seq)
	if err != nil {
		return err
	}
	e := t.past.entries[at]
	scene := e.unpack()
	defined, err := t.accept(ann, scene, func(label int32) bool { return slices.Contains(e.y, label) })
	if err != nil {
		return err
	}
	for len(t.recent) > 0 {
		t.evict()
	}
	f := t.load(scene)
	t.recollect(f, e)
	if err := t.relabel(ctx, e, f, ann, defined); err != nil {
		return err
	}
	after := t.past.entries[at+1:]
	count := min(len(after), maxReplay)
	for k := range count {
		e := after[(k+1)*len(after)/count-1]
		f := t.load(e.unpack())
		t.expect(f)
		if err := t.relabel(ctx, e, f, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// relabel labels f, which was loaded from e.
func (t *Tracker) relabel(ctx context.Context, e *entry, f *frame, ann *Annotation, defined []bool) error {
	if err := t.label(ctx, f, ann, defined, &Result{}); err != nil {
		return err
	}
	t.past.bytes -= e.size()
	e.setLabels(f)
	t.past.bytes += e.size()
	return nil
}

// recollect gives f what is known of it: what it was marked as, if it was
// annotated before, and how it was labelled.
func (t *Tracker) recollect(f *frame, e *entry) {
	labels := t.labels()
	copy(f.y, e.y)
	for i := range f.n {
		row := f.q[i*labels : (i+1)*labels]
		if len(e.y) == 0 {
			for c := range row {
				row[c] = 1 / float64(labels)
			}
			continue
		}
		row[f.y[i]] = 1
	}
	copy(f.soft, f.q)
	at := slices.IndexFunc(t.anchors, func(a *frame) bool { return a.seq == f.seq })
	if at < 0 {
		return
	}
	old := t.anchors[at]
	copy(f.fixed, old.fixed)
	f.corrected = append(f.corrected, old.corrected...)
	f.bounded, f.outside = append(f.bounded, old.bounded...), append(f.outside, old.outside...)
	copy(f.q, old.soft)
	copy(f.soft, old.soft)
	// f takes its place.
	t.anchors = slices.Delete(t.anchors, at, at+1)
	t.release(old)
}
