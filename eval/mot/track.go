package mot

import (
	"bufio"
	"fmt"
	"io"
	"slices"

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
	truth map[int]entry // by frame
	found map[int]Found // likewise
}

// note keeps where the person is by a tracker's result: the box of its mask. One on a
// true box that is not to be considered is not, either.
func (t *track) note(n int, res *tracker.Result) {
	if n <= t.mark {
		return
	}
	k := slices.IndexFunc(res.Objects, func(o tracker.Object) bool { return o.ID == t.number })
	if k < 0 || res.Objects[k].State != tracker.Visible || res.Objects[k].Area == 0 {
		return
	}
	r := res.Objects[k].Box
	b := Box{float64(r.Min.X), float64(r.Min.Y), float64(r.Dx()), float64(r.Dy())}
	if e, ok := t.truth[n]; ok && e.ignored && e.box.right(b) {
		return
	}
	if t.found == nil {
		t.found = map[int]Found{}
	}
	t.found[n] = Found{n, t.id, b, res.Objects[k].Score}
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

// object counts the person's frames up to the last of the run.
func (t *track) object(last int) Object {
	o := Object{ID: t.id, Marked: t.mark}
	for n := t.mark + 1; n <= last; n++ {
		b, present := t.present(n)
		f := t.at(n)
		right := present && f != nil && b.right(f.Box)
		switch {
		case right:
			o.Right++
		case f != nil:
			o.False++
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

// WriteBoxes writes boxes in MOTChallenge's format of results.
func WriteBoxes(w io.Writer, boxes []Found) error {
	b := bufio.NewWriter(w)
	for _, f := range boxes {
		fmt.Fprintf(b, "%d,%d,%g,%g,%g,%g,%.4f,-1,-1,-1\n", f.Frame, f.ID, f.Box.Left+1, f.Box.Top+1, f.Box.Width, f.Box.Height, f.Score)
	}
	return b.Flush()
}
