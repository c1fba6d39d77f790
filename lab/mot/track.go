package mot

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/tracker"
)

// Found is where a tracker says a person is.
type Found struct {
	Frame, ID int // as the truth has them
	Box       Box
	Score     float64 // 0…1
}

// track is where a person is, in truth and by a tracker, after the frame in which it was
// marked: that one was told.
type track struct {
	person
	boxes Boxes         // that are noted
	truth map[int]entry // by frame
	found map[int]Found // likewise
}

// note keeps where the person is by a tracker's result.
func (t *track) note(n int, res *tracker.Result) {
	if n <= t.mark {
		return
	}
	k := slices.IndexFunc(res.Objects, func(o tracker.Object) bool { return o.ID == t.number })
	if k < 0 {
		return
	}
	if b := t.boxes.of(&res.Objects[k]); !b.Empty() {
		t.see(n, boxOf(b), res.Objects[k].Score)
	}
}

// see keeps that the person is said to be in box b. One on a true box that is not to be
// considered is not, either.
func (t *track) see(n int, b Box, score float64) {
	if e, ok := t.truth[n]; ok && e.ignored && e.box.right(b) {
		return
	}
	if t.found == nil {
		t.found = map[int]Found{}
	}
	t.found[n] = Found{n, t.id, b, score}
}

// present returns the true box of a frame, if there is one that counts.
func (t *track) present(n int) (Box, bool) {
	e, ok := t.truth[n]
	return e.box, ok && !e.ignored && n > t.mark
}

// at is what was found in a frame, or nil.
func (t *track) at(n int) *Found {
	f, ok := t.found[n]
	if !ok {
		return nil
	}
	return &f
}

// rate takes in how reliable the scores of what was found are.
func (t *track) rate(r *stats.Reliability) {
	for _, n := range slices.Sorted(maps.Keys(t.found)) {
		f := t.found[n]
		b, present := t.present(n)
		r.Add(f.Score, present && b.right(f.Box))
	}
}

// object counts the person's frames among those that were looked at; it is gone when it left second frames ago.
func (t *track) object(looked []int, second int) Object {
	o := Object{ID: t.id, Marked: t.mark}
	last := slices.Max(slices.Collect(maps.Keys(t.truth)))
	for _, n := range looked {
		b, present := t.present(n)
		f := t.at(n)
		right := present && f != nil && b.right(f.Box)
		switch {
		case right:
			o.Right++
		case f != nil:
			o.False++
		}
		if n > max(last+second, t.mark) {
			o.Gone++
			if f != nil {
				o.Strangers++
			}
		}
		if present {
			o.Present++
			if !right {
				o.Missed++
			}
		}
	}
	return o
}

// sideBySide is what there was to be found, and what was, in the frames looked at.
func sideBySide(tracks []track, looked []int) []frame {
	var frames []frame
	for _, n := range looked {
		var f frame
		for k := range tracks {
			t := &tracks[k]
			if b, ok := t.present(n); ok {
				f.truth = append(f.truth, named{t.id, b})
			}
			if found := t.at(n); found != nil {
				f.found = append(f.found, named{t.id, found.Box})
			}
		}
		frames = append(frames, f)
	}
	return frames
}

// group has nothing of who left less than second frames ago.
func group(c counts, tracks []track, looked []int, second int) Group {
	g := Group{IDF1: c.idf1(), IDP: c.idp(), IDR: c.idr(), IDSwitches: c.switches}
	gone, strangers := 0, 0
	for k := range tracks {
		o := tracks[k].object(looked, second)
		g.PerObject = append(g.PerObject, o)
		gone, strangers = gone+o.Gone, strangers+o.Strangers
	}
	g.Strangers = share(1000*strangers, gone)
	return g
}

// WriteBoxes writes boxes in MOTChallenge's format of results.
func WriteBoxes(w io.Writer, boxes []Found) error {
	b := bufio.NewWriter(w)
	for _, f := range boxes {
		fmt.Fprintf(b, "%d,%d,%g,%g,%g,%g,%.4f,-1,-1,-1\n", f.Frame, f.ID, f.Box.Left+1, f.Box.Top+1, f.Box.Width, f.Box.Height, f.Score)
	}
	return b.Flush()
}
