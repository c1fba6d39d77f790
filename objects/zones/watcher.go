package zones

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/segd/segd/mask"
)

// Settle is for how long an object must have been seen in a zone, out of it or on the other
// side of a line before that counts: three frames at 10 a second. A mask that fails does so
// for a frame or two.
const Settle = 250 * time.Millisecond

const (
	// margin is how far beyond a line, or out of a zone, a foot has to be, as a part of the
	// object's height: a walker's foot trembles by less.
	margin = 0.1
	// leaveShare is the part of a zone's Share below which an object leaves it.
	leaveShare = 0.8
)

// Kind is what an event tells.
type Kind int

const (
	Entered Kind = iota // an object is in a zone
	Left                // it is no longer, or is lost, or is there no more
	Stayed              // it has been in the zone for Dwell; once for each Entered
	Crossed             // it is on the other side of a line, having crossed it
)

// Event is something that an object did.
type Event struct {
	Kind   Kind
	Object uint32
	Name   string        // of the zone, of Crossed of the line
	AToB   bool          // of Crossed: from the line's side a to b, else from b to a
	For    time.Duration // of Left and Stayed: how long it was seen in the zone
}

// ZoneCount is what a zone has seen.
type ZoneCount struct {
	Name    string
	Objects int // in it now
	// Entries and Stays are the events Entered and Stayed so far.
	Entries, Stays uint64
}

// LineCount is how often a line was crossed in each direction.
type LineCount struct {
	Name       string
	AToB, BToA uint64
}

// Counts are what a Layout's zones and lines have seen, in its order.
type Counts struct {
	Zones []ZoneCount
	Lines []LineCount
}

// Watcher follows the objects of one camera. It remembers no object that the last frame did
// not have.
type Watcher struct {
	layout Layout
	counts Counts
	tracks []track // by rising id
	events []Event

	size   [2]int     // of the last frame
	filled []mask.RLE // of that size, of the zones that are ByShare
}

// track is what is known of an object.
type track struct {
	id      uint32
	present bool // in the frame in hand

	seen  bool // it ever was visible; the next two are of the last time
	foot  Point
	at    time.Duration
	zones []inZone
	lines []atLine
}

// turning is a change that has to last before it counts.
type turning struct {
	on    bool
	since time.Duration
}

// settled notes whether there is evidence for the change at t and tells whether it has lasted.
func (c *turning) settled(evidence bool, t time.Duration) bool {
	if evidence && !c.on {
		c.since = t
	}
	c.on = evidence
	return c.on && t-c.since >= Settle
}

// inZone is what is known of an object and a zone.
type inZone struct {
	InZone
	turning turning
}

// atLine is what is known of an object and a line.
type atLine struct {
	AtLine
	turning turning
}

// New returns a Watcher that has seen nothing, or all the Faults of l, joined. Defaults are
// put in place of what l leaves out.
func New(l Layout) (*Watcher, error) {
	w := &Watcher{}
	if _, err := w.Change(l); err != nil {
		return nil, err
	}
	return w, nil
}

// Change puts another layout in place of the one there is, or returns all its Faults, joined.
// Zones and lines that are in both as they are go on, in what they have counted and in what is
// known of objects. New and changed ones begin at 0. Those that are no longer, or are no longer
// the same, are gone, and left by the objects in them: events, valid until the next call.
func (w *Watcher) Change(l Layout) (events []Event, err error) {
	var faults []error
	for _, f := range l.Faults() {
		faults = append(faults, f)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	l = l.withDefaults()
	w.events = w.events[:0]
	for k, z := range w.layout.Zones {
		if slices.ContainsFunc(l.Zones, z.same) {
			continue
		}
		for i := range w.tracks {
			if tr := &w.tracks[i]; tr.zones[k].Inside {
				w.leave(tr, k, tr.at)
			}
		}
	}

	// What is kept moves to its new place.
	old := *w
	w.layout, w.counts = l, Counts{}
	w.size, w.filled = [2]int{}, make([]mask.RLE, len(l.Zones))
	zonesFrom, linesFrom := make([]int, len(l.Zones)), make([]int, len(l.Lines))
	for k, z := range l.Zones {
		count := ZoneCount{Name: z.Name}
		if zonesFrom[k] = slices.IndexFunc(old.layout.Zones, z.same); zonesFrom[k] >= 0 {
			count = old.counts.Zones[zonesFrom[k]]
		}
		w.counts.Zones = append(w.counts.Zones, count)
	}
	for k, line := range l.Lines {
		count := LineCount{Name: line.Name}
		if linesFrom[k] = slices.IndexFunc(old.layout.Lines, line.same); linesFrom[k] >= 0 {
			count = old.counts.Lines[linesFrom[k]]
		}
		w.counts.Lines = append(w.counts.Lines, count)
	}
	for i := range w.tracks {
		tr := &w.tracks[i]
		tr.zones, tr.lines = moved(tr.zones, zonesFrom), moved(tr.lines, linesFrom)
	}
	return w.events, nil
}

// moved returns the elements of s at the places from; -1: none.
func moved[T any](s []T, from []int) []T {
	out := make([]T, len(from))
	for i, k := range from {
		if k >= 0 {
			out[i] = s[k]
		}
	}
	return out
}

// Layout is what New or Change was given, with its defaults. It must not be changed.
func (w *Watcher) Layout() Layout { return w.layout }

// Counts returns a copy of what was counted so far.
func (w *Watcher) Counts() Counts {
	return Counts{slices.Clone(w.counts.Zones), slices.Clone(w.counts.Lines)}
}

// Observe takes in the next frame and returns what happened in it, valid until the next call:
// by the order of the objects, and then of the objects that are no longer among them, which
// are forgotten. It allocates nothing while the objects and the size of the picture stay.
func (w *Watcher) Observe(f Frame) []Event {
	w.events = w.events[:0]
	if size := [2]int{f.Width, f.Height}; size != w.size {
		w.size = size
		for i, z := range w.layout.Zones {
			if z.By == ByShare {
				w.filled[i] = Fill(z.Polygon, f.Width, f.Height)
			}
		}
	}
	for i := range f.Objects {
		w.object(&f.Objects[i], f.Time)
	}
	gone := false
	for i := range w.tracks {
		tr := &w.tracks[i]
		if !tr.present {
			gone = true
			w.leaveAll(tr)
		}
	}
	if gone {
		w.tracks = slices.DeleteFunc(w.tracks, func(tr track) bool { return !tr.present })
	}
	for i := range w.tracks {
		w.tracks[i].present = false
	}
	return w.events
}

// Inside tells whether an object is in a zone.
func (w *Watcher) Inside(object uint32, zone string) bool {
	i, ok := w.find(object)
	k := slices.IndexFunc(w.layout.Zones, func(z Zone) bool { return z.Name == zone })
	return ok && k >= 0 && w.tracks[i].zones[k].Inside
}

// Forget forgets an object: the next one of that id is another. It returns what that leaves,
// valid until the next call.
func (w *Watcher) Forget(id uint32) []Event {
	w.events = w.events[:0]
	if i, ok := w.find(id); ok {
		w.leaveAll(&w.tracks[i])
		w.tracks = slices.Delete(w.tracks, i, i+1)
	}
	return w.events
}

func (w *Watcher) find(id uint32) (int, bool) {
	return slices.BinarySearchFunc(w.tracks, id, func(tr track, id uint32) int { return cmp.Compare(tr.id, id) })
}

func (w *Watcher) object(o *Object, t time.Duration) {
	i, known := w.find(o.ID)
	if !known {
		w.tracks = slices.Insert(w.tracks, i, track{
			id: o.ID, zones: make([]inZone, len(w.layout.Zones)), lines: make([]atLine, len(w.layout.Lines)),
		})
	}
	tr := &w.tracks[i]
	tr.present = true
	if o.Lost {
		w.leaveAll(tr)
	}
	for k := range tr.zones {
		w.zone(tr, o, k, t)
	}
	if !o.Visible {
		return
	}
	for k := range tr.lines {
		w.line(tr, o, k, t)
	}
	tr.seen, tr.foot, tr.at = true, o.Foot, t
}

// zone looks whether an object is in the k-th zone.
func (w *Watcher) zone(tr *track, o *Object, k int, t time.Duration) {
	z, in, count := &w.layout.Zones[k], &tr.zones[k], &w.counts.Zones[k]
	if o.Visible {
		inside, outside := w.within(z, w.filled[k], o)
		switch changed := in.turning.settled(in.Inside && outside || !in.Inside && inside, t); {
		case changed && in.Inside:
			w.leave(tr, k, in.turning.since)
		case changed:
			in.InZone = InZone{Inside: true, Entered: in.turning.since}
			in.turning.on = false
			count.Objects++
			count.Entries++
			w.events = append(w.events, Event{Kind: Entered, Object: tr.id, Name: z.Name})
		}
	}
	if in.Inside && !in.turning.on && !in.Stayed && z.Dwell > 0 && t-in.Entered >= z.Dwell {
		in.Stayed = true
		count.Stays++
		w.events = append(w.events, Event{Kind: Stayed, Object: tr.id, Name: z.Name, For: t - in.Entered})
	}
}

// within tells whether an object is clearly in a zone and clearly out of it. It may be neither.
func (w *Watcher) within(z *Zone, filled mask.RLE, o *Object) (inside, outside bool) {
	if z.By == ByShare {
		share := 0.
		if area := o.Mask.Area(); area > 0 {
			share = float64(mask.Overlap(o.Mask, filled)) / float64(area)
		}
		return share >= z.Share, share < leaveShare*z.Share
	}
	if contains(z.Polygon, o.Foot) {
		return true, false
	}
	return false, outline(z.Polygon, o.Foot, float64(w.size[0]), float64(w.size[1])) > margin*o.Height
}

// leave takes an object out of the k-th zone, in which it was until then.
func (w *Watcher) leave(tr *track, k int, until time.Duration) {
	in, count := &tr.zones[k], &w.counts.Zones[k]
	in.Inside, in.turning.on = false, false
	count.Objects--
	w.events = append(w.events, Event{Kind: Left, Object: tr.id, Name: count.Name, For: until - in.Entered})
}

// leaveAll takes an object that is lost or gone out of every zone.
func (w *Watcher) leaveAll(tr *track) {
	for k := range tr.zones {
		if tr.zones[k].Inside {
			w.leave(tr, k, tr.at)
		}
		tr.zones[k].turning.on = false
	}
}

// line looks whether an object has crossed the k-th line. What counts is on which side it is
// and whether its way there led across the line, and not round its ends.
func (w *Watcher) line(tr *track, o *Object, k int, t time.Duration) {
	a, b := w.layout.Lines[k].Points[0], w.layout.Lines[k].Points[1]
	at := &tr.lines[k]
	if tr.seen && crosses(a, b, tr.foot, o.Foot) {
		at.Odd = !at.Odd
	}
	if distance(a, b, o.Foot, float64(w.size[0]), float64(w.size[1])) <= margin*o.Height {
		at.turning.on = false
		return
	}
	is := right(a, b, o.Foot)
	side := atLine{AtLine: AtLine{Known: true, Right: is}}
	if !at.Known || is == at.Right {
		*at = side
		return
	}
	if !at.turning.settled(true, t) {
		return
	}
	crossed := at.Odd
	*at = side
	if !crossed {
		return
	}
	if is {
		w.counts.Lines[k].AToB++
	} else {
		w.counts.Lines[k].BToA++
	}
	w.events = append(w.events, Event{Kind: Crossed, Object: tr.id, Name: w.layout.Lines[k].Name, AToB: is})
}
