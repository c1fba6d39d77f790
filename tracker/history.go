package tracker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// history keeps the latest scenes and how they were labelled, as small as is
// cheap, so that an annotation may be for a picture somebody saw a moment ago.
//
// A scene that is held stays beyond the limit, and so does a trail of scenes after
// it, ever thinner, along which its objects are followed to the present.
type history struct {
	entries []*entry // by rising sequence number
	free    []*entry
	bytes   int // of the latest scenes: those from entries[old] on

	old    int    // entries that stay beyond the limit: held ones and their trail
	trail  int    // bytes of entries[:old]
	stride uint64 // least distance of the trail's scenes; 0: nothing is held
}

// entry is one scene. Its superpixel map is kept as run lengths.
type entry struct {
	scene  features.Scene // without Labels, Pixels and Lab
	values []int32        // superpixel of each run of pixels, row-major
	runs   []uint16       // pixels of each run
	y      []int32        // labels; empty when nothing was tracked
	held   int            // by how many
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
	for h.bytes > limit && len(h.entries) > h.old {
		oldest := h.entries[h.old]
		h.bytes -= oldest.size()
		if h.stays(oldest) {
			h.old++
			h.trail += oldest.size()
			continue
		}
		h.drop(h.old)
	}
	for h.trail > limit && h.thin() {
	}
}

func (h *history) drop(at int) {
	h.free = append(h.free[:0], h.entries[at]) // one is enough for the next scene
	h.entries = slices.Delete(h.entries, at, at+1)
}

// firstStride is the distance of a trail's scenes to begin with, in frames. The
// latest 70 scenes, labelled again maxReplay times, are as far apart.
const firstStride = 9

// stays tells whether e, the oldest of the latest scenes, goes to the trail.
func (h *history) stays(e *entry) bool {
	if e.held > 0 {
		return true
	}
	return h.old > 0 && e.scene.Seq-h.entries[h.old-1].scene.Seq >= h.stride
}

// thin doubles the distance of the trail's scenes. It returns false when only held
// ones are left.
func (h *history) thin() bool {
	h.stride *= 2
	thinner := false
	last := h.entries[0].scene.Seq
	for at := 1; at < h.old; {
		e := h.entries[at]
		if e.held > 0 || e.scene.Seq-last >= h.stride {
			last = e.scene.Seq
			at++
			continue
		}
		h.trail -= e.size()
		h.drop(at)
		h.old--
		thinner = true
	}
	return thinner || h.stride < h.entries[h.old-1].scene.Seq-h.entries[0].scene.Seq
}

// hold keeps the scene at a place until it is let go as many times.
func (h *history) hold(at int) {
	h.entries[at].held++
	h.stride = max(h.stride, firstStride)
}

// letGo takes one hold of the scene with that number away, and with the last what
// was kept for it.
func (h *history) letGo(seq uint64) {
	at := slices.IndexFunc(h.entries, func(e *entry) bool { return e.scene.Seq == seq })
	if at < 0 || h.entries[at].held == 0 {
		return
	}
	h.entries[at].held--
	for h.old > 0 && h.entries[0].held == 0 {
		h.trail -= h.entries[0].size()
		h.drop(0)
		h.old--
	}
	if !slices.ContainsFunc(h.entries, func(e *entry) bool { return e.held > 0 }) {
		h.stride = 0
	}
}

// relabel replaces the labels of the scene at a place by those of f.
func (h *history) relabel(at int, f *frame) {
	e := h.entries[at]
	count := &h.bytes
	if at < h.old {
		count = &h.trail
	}
	*count -= e.size()
	e.setLabels(f)
	*count += e.size()
}

func (e *entry) pack(s *features.Scene) {
	to := &e.scene
	to.Seq, to.Width, to.Height, to.N, to.D = s.Seq, s.Width, s.Height, s.N, s.D
	to.X = append(to.X[:0], s.X...)
	to.Maps = append(to.Maps[:0], s.Maps...)
	to.Centroid = append(to.Centroid[:0], s.Centroid...)
	to.Area = append(to.Area[:0], s.Area...)
	to.Edges = append(to.Edges[:0], s.Edges...)
	e.values, e.runs, e.held = e.values[:0], e.runs[:0], 0
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
		return 0, annotation.FrameFaultf("%d has not come yet; the newest is %d", seq, newest)
	case n == 0:
		return 0, annotation.FrameFaultf("%d is not kept; accepted: %d, or no frame for the newest", seq, newest)
	case i > h.old && i < n:
		return 0, annotation.FrameFaultf("%d was dropped unseen; accepted: %d or %d beside it, and others from %d to %d", seq,
			h.entries[i-1].scene.Seq, h.entries[i].scene.Seq, h.entries[h.old].scene.Seq, newest)
	}
	return 0, annotation.FrameFaultf("%d is no longer kept; accepted: %d to %d, or no frame for the newest", seq, h.entries[min(h.old, n-1)].scene.Seq, newest)
}

// Of the scenes after an amended one at most maxReplay are labelled again, at even
// distances and the newest always: more would hold up the live picture, and an
// object moves no farther between them than the affinity's radius. After one that
// was held for long there are more, one for firstStride frames.
const (
	maxReplay     = 8
	maxLongReplay = 32
)

// replays returns the places of the scenes to label again after that at a place.
func (h *history) replays(at int) []int {
	after := len(h.entries) - at - 1
	if after == 0 {
		return nil
	}
	seq := func(i int) uint64 { return h.entries[i].scene.Seq }
	span := seq(len(h.entries)-1) - seq(at)
	count := uint64(min(after, max(maxReplay, min(maxLongReplay, int(span/firstStride)))))
	var places []int
	next := at + 1
	for k := range count {
		// The last one up to an even share of the way, with as many left as are wanted.
		until := seq(at) + (k+1)*span/count
		last := len(h.entries) - int(count-k)
		for next < last && seq(next+1) <= until {
			next++
		}
		places = append(places, next)
		next++
	}
	return places
}

// amend applies an annotation of an earlier scene than s: that scene becomes an
// annotated frame, with which the window starts anew, and what was seen since is
// labelled again.
func (t *Tracker) amend(ctx context.Context, s *features.Scene, ann *annotation.Annotation) error {
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
	if err := t.relabel(ctx, at, f, ann, defined); err != nil {
		return err
	}
	for _, at := range t.past.replays(at) {
		f := t.load(t.past.entries[at].unpack())
		t.expect(f)
		if err := t.relabel(ctx, at, f, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// relabel labels f, which was loaded from the scene at a place of the history.
func (t *Tracker) relabel(ctx context.Context, at int, f *frame, ann *annotation.Annotation, defined []bool) error {
	if err := t.label(ctx, f, ann, defined, &Result{}); err != nil {
		return err
	}
	t.past.relabel(at, f)
	return nil
}

// MaxHeld is how many scenes Hold keeps at once.
const MaxHeld = 8

// ErrHeld is wrapped by Hold's error when MaxHeld scenes are held already.
var ErrHeld = errors.New("too many frames are held")

// Hold keeps the earlier scene with that sequence number, for somebody who is
// going to annotate it, until it is let go as many times, and along with it enough
// of those after it to follow its objects to the present. Together they take at
// most Config.History again, or MaxHeld scenes if that is more. The error says
// which scenes there are; it wraps annotation.ErrFrame or ErrHeld.
func (t *Tracker) Hold(seq uint64) error {
	h := &t.past
	if len(h.entries) == 0 {
		return annotation.FrameFaultf("%d is not kept; none has come yet", seq)
	}
	at, err := h.find(seq, h.entries[len(h.entries)-1].scene.Seq)
	if err != nil {
		return err
	}
	held := 0
	for _, e := range h.entries {
		if e.held > 0 {
			held++
		}
	}
	if h.entries[at].held == 0 && held >= MaxHeld {
		return fmt.Errorf("tracker: %w: %d", ErrHeld, held)
	}
	h.hold(at)
	return nil
}

// LetGo ends one Hold. A scene that is not held, because the camera changed its
// picture size since, is no fault.
func (t *Tracker) LetGo(seq uint64) { t.past.letGo(seq) }

// recollect gives f what is known of it: what it was marked as, if it was
// annotated before, and how it was labelled.
func (t *Tracker) recollect(f *frame, e *entry) {
	labels := t.labels()
	copy(f.y, e.y)
	for i := range f.N {
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
	at := slices.IndexFunc(t.anchors, func(a *frame) bool { return a.Seq == f.Seq })
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
