package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/labeling"
)

// Picture is what a scene of an earlier frame is made of. It is reference counted, and may be
// used from any goroutine.
type Picture interface {
	// Scene makes dst a scene of the picture, as Extract of package features does.
	Scene(dst *features.Scene, plan features.Plan) error
	// Bytes is how much memory it keeps. It does not change.
	Bytes() int
	// PTS is its presentation timestamp.
	PTS() time.Duration
	Retain()
	Release()
}

// History is what is kept. The zero value is empty.
type History struct {
	entries []*entry // by rising sequence number
	free    []*entry
	bytes   int // of the latest frames: those from entries[beyond] on

	beyond int    // entries that stay beyond the limit: held ones and their trail
	trail  int    // bytes of entries[:beyond]
	stride uint64 // least distance of the trail's pictures; 0: nothing is held
}

// entry is one frame.
type entry struct {
	seq           uint64
	width, height int
	picture       Picture
	bytes         int // of picture
	labels        Labels
	held          int // by how many
}

// size is the entry's bytes, those of slices not yet filled included.
func (e *entry) size() int {
	return e.bytes + cap(e.labels.values) + 2*cap(e.labels.runs)
}

// Differs tells whether s has another picture size than what is kept.
func (h *History) Differs(s *features.Scene) bool {
	if len(h.entries) == 0 {
		return false
	}
	last := h.entries[len(h.entries)-1]
	return last.width != s.Width || last.height != s.Height
}

// Clear drops everything.
func (h *History) Clear() {
	for _, e := range h.entries {
		e.picture.Release()
	}
	*h = History{}
}

// Keep adds the frame of s, newer than the last one: its picture, which it retains, and how its
// pixels were labelled (none: nothing is tracked yet). It drops the oldest frames beyond limit
// bytes. Nothing of s and labels is kept itself. Once the limit is reached it allocates next to
// nothing.
func (h *History) Keep(s *features.Scene, p Picture, labels []uint8, limit int) {
	var e *entry
	if n := len(h.free); n > 0 {
		e, h.free = h.free[n-1], h.free[:n-1]
	} else {
		e = &entry{}
	}
	p.Retain()
	e.seq, e.width, e.height, e.picture, e.bytes, e.held = s.Seq, s.Width, s.Height, p, p.Bytes(), 0
	e.labels.set(labels)
	h.entries = append(h.entries, e)
	h.bytes += e.size()
	for h.bytes > limit && len(h.entries) > h.beyond {
		oldest := h.entries[h.beyond]
		h.bytes -= oldest.size()
		if !h.stays(oldest) {
			h.drop(h.beyond)
			continue
		}
		h.trail += oldest.size()
		h.beyond++
	}
	for h.trail > limit && h.thin() {
	}
}

// Rate is how many of the latest frames there are a second; 0: it is not known.
func (h *History) Rate() float64 {
	latest := h.entries[h.beyond:]
	if len(latest) < 2 {
		return 0
	}
	span := latest[len(latest)-1].picture.PTS() - latest[0].picture.PTS()
	if span <= 0 {
		return 0
	}
	return float64(len(latest)-1) / span.Seconds()
}

// drop forgets the frame at a place. What it was is for a frame to come; one is enough.
func (h *History) drop(at int) {
	e := h.entries[at]
	e.picture.Release()
	e.picture = nil
	h.free = append(h.free[:0], e)
	h.entries = slices.Delete(h.entries, at, at+1)
}

// firstStride is the distance of a trail's pictures to begin with, in frames. The
// latest 70, labelled again maxReplay times, are as far apart.
const firstStride = 9

// stays tells whether e, the oldest of the latest frames, goes to the trail as it is.
func (h *History) stays(e *entry) bool {
	return e.held > 0 || h.beyond > 0 && e.seq-h.entries[h.beyond-1].seq >= h.stride
}

// thin doubles the distance of the trail's pictures. It returns false when only held ones are
// left.
func (h *History) thin() bool {
	if h.stride > h.entries[h.beyond-1].seq-h.entries[0].seq {
		return false
	}
	h.stride *= 2
	last := h.entries[0].seq
	for at := 1; at < h.beyond; {
		e := h.entries[at]
		if e.held > 0 || e.seq-last >= h.stride {
			last = e.seq
			at++
			continue
		}
		h.trail -= e.size()
		h.drop(at)
		h.beyond--
	}
	return true
}

// MaxHeld is how many frames can be held at once.
const MaxHeld = 8

// ErrHeld is wrapped by Hold's error when MaxHeld frames are held already.
var ErrHeld = errors.New("too many frames are held")

// Hold keeps the frame with that number until it is let go as many times, and frames
// after it that lead to the present. The error wraps annotation.ErrFrame or ErrHeld.
func (h *History) Hold(seq uint64) error {
	newest, any := h.Newest()
	if !any {
		return annotation.FrameFaultf("%d is not kept; none has come yet", seq)
	}
	at, err := h.Find(seq, newest)
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
	h.entries[at].held++
	h.stride = max(h.stride, firstStride)
	return nil
}

// LetGo takes one hold of the frame with that number away, and with the last what
// was kept for it. It need not be held.
func (h *History) LetGo(seq uint64) {
	at := slices.IndexFunc(h.entries, func(e *entry) bool { return e.seq == seq })
	if at < 0 || h.entries[at].held == 0 {
		return
	}
	h.entries[at].held--
	for h.beyond > 0 && h.entries[0].held == 0 {
		h.trail -= h.entries[0].size()
		h.drop(0)
		h.beyond--
	}
	if !slices.ContainsFunc(h.entries, func(e *entry) bool { return e.held > 0 }) {
		h.stride = 0
	}
}

// Relabel replaces the labels of the frame at a place.
func (h *History) Relabel(at int, labels []uint8) {
	e := h.entries[at]
	count := &h.bytes
	if at < h.beyond {
		count = &h.trail
	}
	*count -= e.size()
	e.labels.set(labels)
	*count += e.size()
}

// Frame is the number and the size of the frame at a place.
func (h *History) Frame(at int) (seq uint64, width, height int) {
	e := h.entries[at]
	return e.seq, e.width, e.height
}

// Picture is that of the frame at a place, as long as it is kept.
func (h *History) Picture(at int) Picture { return h.entries[at].picture }

// Labels are those of the frame at a place, in memory of its own until the next call of a method.
func (h *History) Labels(at int) Labels { return h.entries[at].labels }

// DropLabel makes a label background everywhere and closes the gap it leaves.
func (h *History) DropLabel(label int32) {
	for _, e := range h.entries {
		labeling.Drop(e.labels.values, label)
	}
}

// DropLabels forgets how the frames were labelled.
func (h *History) DropLabels() {
	for _, e := range h.entries {
		e.labels.set(nil)
	}
}

// Newest is the number of the latest frame kept, if there is one.
func (h *History) Newest() (seq uint64, any bool) {
	n := len(h.entries)
	if n == 0 {
		return 0, false
	}
	return h.entries[n-1].seq, true
}

// Find returns the place of the frame with that number, or an error that says which
// there are and wraps annotation.ErrFrame. newest is the number of the latest frame,
// which need not be kept yet.
func (h *History) Find(seq, newest uint64) (int, error) {
	i, found := slices.BinarySearchFunc(h.entries, seq, func(e *entry, seq uint64) int { return cmp.Compare(e.seq, seq) })
	n := len(h.entries)
	switch {
	case found:
		return i, nil
	case seq > newest:
		return 0, annotation.FrameFaultf("%d has not come yet; the newest is %d", seq, newest)
	case n == 0:
		return 0, annotation.FrameFaultf("%d is not kept; accepted: %d, or no frame for the newest", seq, newest)
	case i > h.beyond && i < n:
		return 0, annotation.FrameFaultf("%d was dropped unseen; accepted: %d or %d beside it, and others from %d to %d", seq,
			h.entries[i-1].seq, h.entries[i].seq, h.entries[h.beyond].seq, newest)
	}
	return 0, annotation.FrameFaultf("%d is no longer kept; accepted: %d to %d, or no frame for the newest", seq, h.entries[min(h.beyond, n-1)].seq, newest)
}

// Of the frames after an amended one at most maxReplay are labelled again, at even
// distances and the newest always: more would hold up the live picture, and an
// object moves no farther between them than the affinity's radius. After one that
// was held for long there are more, one for firstStride frames.
const (
	maxReplay     = 8
	maxLongReplay = 32
)

// Replays returns the places of the frames to label again after that at a place.
func (h *History) Replays(at int) []int {
	after := len(h.entries) - 1 - at
	if after == 0 {
		return nil
	}
	seq := func(i int) uint64 { return h.entries[i].seq }
	span := seq(len(h.entries)-1) - seq(at)
	count := min(after, max(maxReplay, min(maxLongReplay, int(span/firstStride))))
	var places []int
	next := at + 1
	for k := range count {
		// The last one up to an even share of the way, with as many left as are wanted.
		until := seq(at) + uint64(k+1)*span/uint64(count)
		last := len(h.entries) - (count - k)
		for next < last && seq(next+1) <= until {
			next++
		}
		places = append(places, next)
		next++
	}
	return places
}
