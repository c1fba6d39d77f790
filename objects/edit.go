package objects

import (
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker"
)

// Settle is for how long, in stream time, an object has to be hidden, lost or in sight again before that counts: masks
// come and go for a few frames where things pass before each other.
const Settle = 500 * time.Millisecond

const (
	// watchFor is how long after its mark an object that goes is told of, in stream time: what goes later has most
	// likely gone behind something or out of the picture.
	watchFor = time.Second
	// searchFor is how long, in stream time, objects are looked for that were marked on a picture of another time,
	// before it is told that they were not found.
	searchFor = 5 * time.Second
	// searchFrames is how many frames are labelled at least before that: a machine that is busy labels one a second,
	// and an object that comes back is found in some frames only.
	searchFrames = 25
	// confirmFrames and confirmAfter are in how many frames, and how long after the first of them, an object that a
	// detector began has a mask before an event tells of it.
	confirmFrames = 3
	confirmAfter  = 500 * time.Millisecond
)

// Edit is one change of a table. One that is of an object that there is not changes nothing.
type Edit interface{ edit(*change) }

// Apply returns the table that edits make of t, one after the other, and what there is to be told of it.
func (t Table) Apply(edits ...Edit) (Table, []Event) {
	c := change{Table: t}
	c.all = slices.Clone(t.all)
	for _, e := range edits {
		e.edit(&c)
	}
	for k := range c.events {
		if o, is := c.Get(c.events[k].Object.ID); is && c.events[k].Kind != Removed {
			c.events[k].Object = o
		}
	}
	return c.Table, c.events
}

// change is a table while it is edited.
type change struct {
	Table
	events []Event
}

// with edits the object with an id.
func (c *change) with(id uint32, edit func(o *Object)) {
	if at, ok := c.find(id); ok {
		edit(&c.all[at])
	}
}

// obtain returns the object with an id, which is people's if it is new.
func (c *change) obtain(id uint32) *Object {
	at, known := c.find(id)
	if !known {
		c.all = slices.Insert(c.all, at, Object{ID: id, Label: fmt.Sprintf("object %d", id), State: tracker.Lost})
	}
	return &c.all[at]
}

func (c *change) tell(kind Kind, o *Object, format string, args ...any) {
	c.events = append(c.events, Event{Kind: kind, Object: *o, Message: fmt.Sprintf(format, args...)})
}

// remove removes objects, each for a reason.
func (c *change) remove(reason string, gone func(o *Object) bool) {
	stay := 0
	for k := range c.all { // not by slices.DeleteFunc, which copies each to the heap
		o := &c.all[k]
		if gone(o) {
			c.events = append(c.events, Event{
				Kind: Removed, Object: *o, Message: reason, Untold: !o.listed || o.Automatic() && !o.Appeared,
			})
			continue
		}
		c.all[stay] = *o
		stay++
	}
	clear(c.all[stay:])
	c.all = c.all[:stay]
}

// rename gives o another label, and tells of it if told is true.
func (c *change) rename(o *Object, label string, told bool) {
	was := o.Label
	if o.Label = label; told && was != label {
		c.tell(Renamed, o, "it was %q", was)
	}
}

// Begin adds an object that a detector begins, with NextID.
type Begin struct {
	Class string // which is its label, too
	Track uint32
}

func (e Begin) edit(c *change) {
	o := c.obtain(c.NextID())
	o.Owner, o.Class, o.Label, o.Track = Detector, e.Class, e.Class, e.Track
	c.next = o.ID + 1
}

// Bind gives an object a track, or none.
type Bind struct {
	ID, Track uint32
	Gone      bool // it left the picture, or the scene was cut, or its track was out of sight for too long
}

func (e Bind) edit(c *change) { c.with(e.ID, func(o *Object) { o.Track, o.Gone = e.Track, e.Gone }) }

// Rest makes an object dormant, or ends that.
type Rest struct {
	ID      uint32
	Dormant bool
}

func (e Rest) edit(c *change) { c.with(e.ID, func(o *Object) { o.Dormant = e.Dormant }) }

// Rename gives an object another label.
type Rename struct {
	ID    uint32
	Label string
}

// Check names what is wrong with the label, an *annotation.Fault.
func (e Rename) Check() error {
	if e.Label == "" {
		return annotation.Faultf("label", "it is empty; want 1 to %d characters", annotation.MaxLabel)
	}
	return annotation.CheckLabel("label", e.Label)
}

func (e Rename) edit(c *change) { c.with(e.ID, func(o *Object) { c.rename(o, e.Label, true) }) }

// Keep makes an object people's that was marked automatically.
type Keep struct{ ID uint32 }

func (e Keep) edit(c *change) {
	c.with(e.ID, func(o *Object) {
		if o.Owner == Detector {
			o.Owner = Kept
		}
	})
}

// Disown makes all objects people's, without tracks: it is not known whose they are.
type Disown struct{}

func (e Disown) edit(c *change) {
	for k := range c.all {
		o := &c.all[k]
		o.Owner, o.Class, o.Track, o.Dormant, o.Gone = People, "", 0, false, false
	}
}

// Remove removes an object. The reason is for those who did not ask for it.
type Remove struct {
	ID     uint32
	Reason string
}

func (e Remove) edit(c *change) { c.remove(e.Reason, func(o *Object) bool { return o.ID == e.ID }) }

// RemoveAll removes all objects, or those that were marked automatically.
type RemoveAll struct {
	Reason    string
	Automatic bool
}

func (e RemoveAll) edit(c *change) {
	c.remove(e.Reason, func(o *Object) bool { return !e.Automatic || o.Automatic() })
}

// Annotate is what people marked, in the frame that first heeds it.
type Annotate struct {
	By   *annotation.Annotation
	Seq  uint64 // of that frame
	Time time.Duration
}

func (e Annotate) edit(c *change) {
	for k, a := range e.By.Objects {
		o := c.obtain(a.ID)
		o.Dormant = false
		if a.Label != "" {
			c.rename(o, a.Label, o.Appeared)
		}
		if !e.By.HasMarks(k) {
			continue
		}
		// It may be another thing than its track's.
		o.Owner, o.Track, o.MarkedIn, o.MarkedAt, o.watched = People, 0, e.Seq, e.Time, true
		if o.Fresh = e.By.Frame == nil || *e.By.Frame == e.Seq; o.Fresh {
			o.Gone = false
		}
	}
}

// Observe is what the tracker makes of a frame. Objects that it does not follow and that are not dormant are removed.
type Observe struct {
	Result *tracker.Result
	Time   time.Duration // of the stream
	Taken  time.Time     // when the frame was
	// May is asked before an event tells that an object appeared, is hidden, lost or back; first says that it was not
	// asked of that change before. What may not be told now is told in a later frame, unless it is no longer so. nil: all is told.
	May func(first bool) bool
}

func (e Observe) edit(c *change) {
	res := e.Result
	c.remove("the tracker does not follow it", func(o *Object) bool {
		return !o.Dormant && !slices.ContainsFunc(res.Objects, func(r tracker.Object) bool { return r.ID == o.ID })
	})
	for k := range res.Objects {
		r := &res.Objects[k]
		o := c.obtain(r.ID)
		o.Dormant, o.Area = false, r.Area
		if r.Area > 0 {
			o.Box, o.Score = r.Box, r.Score
		}
		if extent := Extent(r, res); !extent.Empty() {
			o.Extent = extent
		} else if r.Area > 0 {
			o.Extent = image.Rectangle{} // it has no track any more
		}
		c.state(o, r.State, &e)
	}
	for k := range c.all {
		if o := &c.all[k]; o.Dormant {
			o.Area = 0
			c.state(o, tracker.Lost, &e)
		}
	}
	c.watch(res.Seq, e.Time)
	c.lookFor(res.Seq, e.Time)
}

// Extent is an object's in a result, as far outside of the picture as subscribers are promised.
func Extent(of *tracker.Object, res *tracker.Result) image.Rectangle {
	return of.Extent.Intersect(image.Rect(-res.Width, -res.Height, 2*res.Width, 2*res.Height))
}

// state notes an object's state in a frame, and tells of a change.
func (c *change) state(o *Object, now tracker.State, in *Observe) {
	o.settle(now, in)
	o.State, o.listed = now, true
	if now == tracker.Visible {
		if o.VisibleFrames++; o.VisibleFrames == 1 {
			o.first = in.Time
		}
	}
	kind, message, began := Appeared, "", time.Time{}
	switch {
	case !o.Appeared && (now != tracker.Visible || !o.confirmed(in.Time)), o.Appeared && o.Told == o.settled.state,
		o.Appeared && o.Told == tracker.Lost && o.settled.state == tracker.Occluded: // what was lost when the stages were built anew stays so until it is found
		o.waiting = false
		return
	case !o.Appeared:
		if o.Automatic() {
			message = fmt.Sprintf("detected as %q", o.Class)
		}
	default:
		now, began = o.settled.state, o.settled.began
		kind = [...]Kind{tracker.Visible: Back, tracker.Occluded: Occluded, tracker.Lost: Lost}[now]
	}
	if in.May != nil && !in.May(!o.waiting) {
		o.waiting = true
		return
	}
	if !o.Appeared {
		o.stay(lasting{now, in.Time, in.Taken})
	}
	o.Told, o.Appeared, o.waiting = now, true, false
	c.tell(kind, o, "%s", message)
	c.events[len(c.events)-1].Began = began
}

// settle notes a state that is so for one more frame.
func (o *Object) settle(now tracker.State, in *Observe) {
	switch {
	case !o.listed:
		o.stay(lasting{now, in.Time, in.Taken})
	case now == o.settled.state:
		o.turning = o.settled
	case now != o.turning.state:
		o.turning = lasting{now, in.Time, in.Taken}
	case in.Time-o.turning.since >= Settle:
		o.settled = o.turning
	}
}

// watch looks after the objects that people have marked lately.
func (c *change) watch(seq uint64, now time.Duration) {
	for k := range c.all {
		switch o := &c.all[k]; {
		case !o.watched:
		case o.Area > 0:
			o.watched = o.MarkedIn == seq || now-o.MarkedAt < watchFor
		default:
			o.watched = false
			if o.MarkedIn != seq && o.VisibleFrames > 0 { // else who marked it is told so
				c.tell(NotFollowed, o, "it has no mask any more, %.1f s after frame %d, the first since it was marked; mark it again, or more of it",
					(now - o.MarkedAt).Seconds(), o.MarkedIn)
			}
		}
	}
}

// lookFor looks after the objects that are awaited: those that are not found for long are told of, once.
func (c *change) lookFor(seq uint64, now time.Duration) {
	if c.search.frames++; c.search.frames == 1 {
		c.search.from, c.search.since = seq, now
	}
	for k := range c.all {
		switch o := &c.all[k]; {
		case !o.awaited:
		case o.Area > 0, o.Automatic():
			o.awaited = false
		case now-c.search.since >= searchFor && c.search.frames >= searchFrames:
			o.awaited = false
			c.tell(NotFollowed, o, "it was not found within %.1f s of frame %d by what it looked like when it was marked; it is looked for still; mark it again if it is there",
				(now - c.search.since).Seconds(), c.search.from)
		}
	}
}

// Picture notes that the newest picture is kept.
type Picture struct{}

func (e Picture) edit(c *change) {
	for k := range c.all {
		c.all[k].Pictured = c.all[k].Area > 0
	}
}

// Lose is the end of the stages, which knew the objects: those to come may find them again.
type Lose struct{ Reason string }

func (e Lose) edit(c *change) {
	for k := range c.all {
		o := &c.all[k]
		if o.Appeared && o.Told != tracker.Lost {
			o.Told = tracker.Lost
			c.tell(Lost, o, "%s", e.Reason)
		}
		o.State, o.Area, o.Fresh, o.watched, o.awaited, o.waiting = tracker.Lost, 0, false, false, false, false
		o.stay(lasting{state: tracker.Lost})
	}
}

// Recall is the beginning of stages that know objects by pictures of another time. Others are dormant if they have a
// track, and else removed.
type Recall struct{ Known []annotation.Object }

func (e Recall) edit(c *change) {
	c.search = search{}
	for k := range c.all {
		c.all[k].awaited = false
	}
	for _, a := range e.Known {
		o := c.obtain(a.ID)
		o.awaited = true
		if a.Label != "" {
			c.rename(o, a.Label, o.Appeared)
		}
	}
	for k := range c.all {
		if o := &c.all[k]; !o.awaited && o.Automatic() && o.Track != 0 {
			o.Dormant = true
		}
	}
	c.remove("no picture is kept of it, by which it could be found", func(o *Object) bool { return !o.awaited && !o.Dormant })
}
