package past

import (
	"errors"
	"fmt"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/labeling"
)

// History is what is kept. The zero value is empty.
type History struct {
	entries []*entry // by rising sequence number
	free    []*entry
	bytes   int // of the latest scenes: those from entries[beyond] on

	beyond int    // entries that stay beyond the limit: held ones and their trail
	trail  int    // bytes of entries[:beyond]
	stride uint64 // least distance of the trail's scenes; 0: nothing is held
}

// entry is one scene, or nothing but its picture. Its superpixel map is kept as run lengths.
type entry struct {
	scene   features.Scene // without Labels, Pixels and Lab
	bare    bool           // it has lost all but its number, size and picture
	values  []int32        // superpixel of each run of pixels, row-major
	runs    []uint16       // pixels of each run
	picture []byte         // as it was given
	y       []int32        // labels; empty when nothing was tracked
	held    int            // by how many
}

const longestRun = 1<<16 - 1

// size is the entry's bytes, those of slices not yet filled included.
func (e *entry) size() int {
	s := &e.scene
	return 4*cap(e.values) + 2*cap(e.runs) + cap(e.picture) + 4*cap(e.y) +
		4*cap(s.X) + 8*cap(s.Maps) + 4*cap(s.Centroid) + 4*cap(s.Area) + 16*cap(s.Edges)
}

// Differs tells whether s has another picture size than what is kept.
func (h *History) Differs(s *features.Scene) bool {
	if len(h.entries) == 0 {
		return false
	}
	last := h.entries[len(h.entries)-1].scene
	return last.Width != s.Width || last.Height != s.Height
}

// Clear drops everything.
func (h *History) Clear() { *h = History{} }

// Keep adds s, newer than the last one, whose superpixels have labels y (none: nothing
// is tracked yet), and what somebody wants to have kept of its picture, and drops the oldest
// scenes beyond limit bytes. Nothing of s, y and picture is kept itself. Once the limit is
// reached it allocates next to nothing.
func (h *History) Keep(s *features.Scene, y []int32, picture []byte, limit int) {
	var e *entry
	if n := len(h.free); n > 0 {
		e, h.free = h.free[n-1], h.free[:n-1]
	} else {
		e = &entry{}
	}
	e.pack(s)
	e.y, e.picture = append(e.y[:0], y...), append(e.picture[:0], picture...)
	h.entries = append(h.entries, e)
	h.bytes += e.size()
	for h.bytes > limit && len(h.entries) > h.beyond {
		oldest := h.entries[h.beyond]
		h.bytes -= oldest.size()
		switch {
		case h.stays(oldest):
		case h.beyond > 0 && len(oldest.picture) > 0 && oldest.scene.Seq-h.entries[h.beyond-1].scene.Seq >= h.stride/firstStride:
			h.strip(h.beyond)
		default:
			h.drop(h.beyond)
			continue
		}
		h.trail += h.entries[h.beyond].size()
		h.beyond++
	}
	for h.trail > limit && h.thin() {
	}
}

func (h *History) drop(at int) {
	h.free = append(h.free[:0], h.entries[at]) // one is enough for the next scene
	h.entries = slices.Delete(h.entries, at, at+1)
}

// strip leaves nothing but its picture of the scene at a place.
func (h *History) strip(at int) {
	e := h.entries[at]
	h.entries[at] = &entry{scene: features.Scene{Seq: e.scene.Seq, Width: e.scene.Width, Height: e.scene.Height}, bare: true, picture: e.picture}
	e.picture = nil
	h.free = append(h.free[:0], e)
}

// firstStride is the distance of a trail's scenes to begin with, in frames. The
// latest 70 scenes, labelled again maxReplay times, are as far apart. Of the pictures
// between them all stay at first, which are a third of the bytes.
const firstStride = 9

// stays tells whether e, the oldest of the latest scenes, goes to the trail as it is.
func (h *History) stays(e *entry) bool {
	if e.held > 0 {
		return true
	}
	for _, last := range slices.Backward(h.entries[:h.beyond]) {
		if !last.bare {
			return e.scene.Seq-last.scene.Seq >= h.stride
		}
	}
	return false
}

// thin doubles the distance of the trail's scenes, and of its pictures. It returns false
// when only held ones are left.
func (h *History) thin() bool {
	if h.stride/firstStride > h.entries[h.beyond-1].scene.Seq-h.entries[0].scene.Seq {
		return false
	}
	h.stride *= 2
	scene, picture := h.entries[0].scene.Seq, h.entries[0].scene.Seq
	for at := 1; at < h.beyond; {
		e := h.entries[at]
		seq := e.scene.Seq
		if e.held > 0 || !e.bare && seq-scene >= h.stride {
			scene, picture = seq, seq
			at++
			continue
		}
		h.trail -= e.size()
		if seq-picture < h.stride/firstStride || len(e.picture) == 0 {
			h.drop(at)
			h.beyond--
			continue
		}
		if !e.bare {
			h.strip(at)
		}
		h.trail += h.entries[at].size()
		picture = seq
		at++
	}
	return true
}

// MaxHeld is how many scenes can be held at once.
const MaxHeld = 8

// ErrHeld is wrapped by Hold's error when MaxHeld scenes are held already.
var ErrHeld = errors.New("too many frames are held")

// Hold keeps the scene with that number until it is let go as many times, and scenes
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

// LetGo takes one hold of the scene with that number away, and with the last what
// was kept for it. It need not be held.
func (h *History) LetGo(seq uint64) {
	at := slices.IndexFunc(h.entries, func(e *entry) bool { return e.scene.Seq == seq })
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

// Relabel replaces the labels of the scene at a place.
func (h *History) Relabel(at int, y []int32) {
	e := h.entries[at]
	count := &h.bytes
	if at < h.beyond {
		count = &h.trail
	}
	*count -= e.size()
	e.y = append(e.y[:0], y...)
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
	e.values, e.runs, e.held, e.bare = e.values[:0], e.runs[:0], 0, false
	run := 0
	for p, l := range s.Labels {
		run++
		if p+1 == len(s.Labels) || s.Labels[p+1] != l || run == longestRun {
			e.values, e.runs = append(e.values, l), append(e.runs, uint16(run))
			run = 0
		}
	}
}

// Scene returns the scene at a place with its superpixel map, in memory of its own, and
// else what is kept: it is for reading, and until the next Keep. It has no colours:
// the outlines of masks that nobody gets to see are not drawn. One of which nothing is kept
// but its picture has a number and a size alone.
func (h *History) Scene(at int) *features.Scene {
	e := h.entries[at]
	s := e.scene
	if e.bare {
		return &s
	}
	s.Labels = make([]int32, s.Width*s.Height)
	left := s.Labels
	for k, l := range e.values {
		run := left[:e.runs[k]]
		for p := range run {
			run[p] = l
		}
		left = left[len(run):]
	}
	return &s
}

// Labels are those of the scene at a place, none if nothing was tracked. They are for
// reading, and until the next call of a method.
func (h *History) Labels(at int) []int32 { return h.entries[at].y }

// Picture is what was kept of the picture of the scene at a place. It is for reading, and
// until the next Keep.
func (h *History) Picture(at int) []byte { return h.entries[at].picture }

// DropLabel makes a label background everywhere and closes the gap it leaves.
func (h *History) DropLabel(label int32) {
	for _, e := range h.entries {
		labeling.Drop(e.y, label)
	}
}

// DropLabels forgets how the scenes were labelled.
func (h *History) DropLabels() {
	for _, e := range h.entries {
		e.y = e.y[:0]
	}
}

// Len is how many places there are.
func (h *History) Len() int { return len(h.entries) }

// Newest is the number of the latest scene kept, if there is one.
func (h *History) Newest() (seq uint64, any bool) {
	n := len(h.entries)
	if n == 0 {
		return 0, false
	}
	return h.entries[n-1].scene.Seq, true
}

// Find returns the place of the scene with that number, or an error that says which
// there are and wraps annotation.ErrFrame. newest is the number of the latest scene,
// which need not be kept yet.
func (h *History) Find(seq, newest uint64) (int, error) {
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
	case found && !h.entries[i].bare:
		return i, nil
	case seq > newest:
		return 0, annotation.FrameFaultf("%d has not come yet; the newest is %d", seq, newest)
	case n == 0:
		return 0, annotation.FrameFaultf("%d is not kept; accepted: %d, or no frame for the newest", seq, newest)
	case i > h.beyond && i < n:
		return 0, annotation.FrameFaultf("%d was dropped unseen; accepted: %d or %d beside it, and others from %d to %d", seq,
			h.entries[i-1].scene.Seq, h.entries[i].scene.Seq, h.entries[h.beyond].scene.Seq, newest)
	}
	return 0, annotation.FrameFaultf("%d is no longer kept; accepted: %d to %d, or no frame for the newest", seq, h.entries[min(h.beyond, n-1)].scene.Seq, newest)
}

// Of the scenes after an amended one at most maxReplay are labelled again, at even
// distances and the newest always: more would hold up the live picture, and an
// object moves no farther between them than the affinity's radius. After one that
// was held for long there are more, one for firstStride frames.
const (
	maxReplay     = 8
	maxLongReplay = 32
)

// Replays returns the places of the scenes to label again after that at a place.
func (h *History) Replays(at int) []int {
	var after []int // the scenes' places
	for k := at + 1; k < len(h.entries); k++ {
		if !h.entries[k].bare {
			after = append(after, k)
		}
	}
	if len(after) == 0 {
		return nil
	}
	seq := func(i int) uint64 { return h.entries[i].scene.Seq }
	span := seq(len(h.entries)-1) - seq(at)
	count := min(len(after), max(maxReplay, min(maxLongReplay, int(span/firstStride))))
	var places []int
	next := 0
	for k := range count {
		// The last one up to an even share of the way, with as many left as are wanted.
		until := seq(at) + uint64(k+1)*span/uint64(count)
		last := len(after) - (count - k)
		for next < last && seq(after[next+1]) <= until {
			next++
		}
		places = append(places, after[next])
		next++
	}
	return places
}
