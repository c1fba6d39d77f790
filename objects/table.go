package objects

import (
	"cmp"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker"
)

// FirstID is the id of the first object that a detector begins. Their ids are not used again; people's are below.
const FirstID = annotation.MaxID + 1

// Owner says who an object is there for.
type Owner uint8

const (
	People   Owner = iota // who marked it
	Detector              // it was marked automatically, and ends with its track
	Kept                  // it was marked automatically, and people keep it
)

// Object is what is known of one.
type Object struct {
	ID    uint32
	Label string
	Class string // what it was detected as; empty if a detector did not begin it
	Owner Owner

	State    tracker.State
	Told     tracker.State // the last state that an event told of, once it has appeared
	Appeared bool          // an event told of it: it had a mask or, where a detector began it, had some for long enough
	Dormant  bool          // its track is lost, and the tracker does not follow it

	Area          int             // of its mask, in pixels
	Box           image.Rectangle // of its last mask
	Score         float64         // likewise
	Extent        image.Rectangle // by its track; while it is out of sight, the last one
	VisibleFrames uint64          // that it had a mask in

	Track uint32 // 0: it has none
	Gone  bool   // it is people's, and was a track's that is no more: it is not looked for

	MarkedIn uint64        // the frame that heeded the last mark of people
	MarkedAt time.Duration // its stream time
	Fresh    bool          // the mark was made on that frame

	Pictured bool // the newest picture that is kept shows it

	listed  bool // a frame had it
	watched bool // people marked it less than watchFor ago, and it has had a mask ever since
	awaited bool // it was marked before the stages were, and has been neither found nor given up since
	waiting bool // its state is to be told, and may not yet

	first time.Duration // stream time of its first mask

	settled lasting // the last state that has lasted for Settle
	turning lasting // the one that it is in
}

// lasting is a state, and since when it is so.
type lasting struct {
	state tracker.State
	since time.Duration // stream time
	began time.Time     // when that frame was taken
}

// InSight tells whether it has a mask.
func (o *Object) InSight() bool { return !o.Dormant && o.State == tracker.Visible && o.Area > 0 }

// stay has a state count from now on.
func (o *Object) stay(now lasting) { o.settled, o.turning = now, now }

// Away tells whether it is lost, and not only for a moment.
func (o *Object) Away() bool { return o.State == tracker.Lost && o.settled.state == tracker.Lost }

// confirmed tells whether what was not marked by hand is real: of those that a detector began, some have a mask in a frame or two
// only.
func (o *Object) confirmed(now time.Duration) bool {
	return !o.Automatic() || o.VisibleFrames >= confirmFrames && now-o.first >= confirmAfter
}

// Automatic tells whether it ends by itself.
func (o *Object) Automatic() bool { return o.Owner == Detector }

// Table is a camera's objects at one moment. The zero Table has none. It does not change.
type Table struct {
	all  []Object // by rising id
	next uint32   // id of the next object that a detector begins; 0: FirstID

	search search
}

// search is how long objects that are awaited have been looked for.
type search struct {
	from   uint64        // the first frame
	since  time.Duration // its stream time
	frames int           // with that one
}

// Restore is a table of a run before. No id below next is given again.
func Restore(all []Object, next uint32) Table {
	t := Table{all: slices.Clone(all), next: next}
	slices.SortFunc(t.all, func(a, b Object) int { return cmp.Compare(a.ID, b.ID) })
	for k := range t.all {
		t.all[k].listed = true
		t.all[k].stay(lasting{state: t.all[k].Told})
	}
	return t
}

// All are the objects by rising id. They must not be changed.
func (t Table) All() []Object { return t.all }

// Get returns the object with an id; false if there is none.
func (t Table) Get(id uint32) (Object, bool) {
	if at, ok := t.find(id); ok {
		return t.all[at], true
	}
	return Object{}, false
}

func (t Table) find(id uint32) (at int, ok bool) {
	return slices.BinarySearchFunc(t.all, id, func(o Object, id uint32) int { return cmp.Compare(o.ID, id) })
}

// OfTrack returns the object of a track; false if it has none.
func (t Table) OfTrack(track uint32) (Object, bool) {
	if at := slices.IndexFunc(t.all, func(o Object) bool { return o.Track == track && track != 0 }); at >= 0 {
		return t.all[at], true
	}
	return Object{}, false
}

// IDs are those of all objects.
func (t Table) IDs() []uint32 {
	ids := make([]uint32, len(t.all))
	for k, o := range t.all {
		ids[k] = o.ID
	}
	return ids
}

// NextID is that of the next object that a detector begins.
func (t Table) NextID() uint32 { return max(t.next, FirstID) }

// Len is how many objects the tracker follows.
func (t Table) Len() int { return t.count(func(*Object) bool { return true }) }

// Automatic is how many of these end by themselves.
func (t Table) Automatic() int { return t.count((*Object).Automatic) }

func (t Table) count(of func(*Object) bool) (n int) {
	for k := range t.all {
		if o := &t.all[k]; !o.Dormant && of(o) {
			n++
		}
	}
	return n
}

// Awaited tells whether some object that was marked before the stages were has been neither found nor given up since.
func (t Table) Awaited() bool {
	return slices.ContainsFunc(t.all, func(o Object) bool { return o.awaited })
}

// Admit refuses an annotation of people that would have more objects followed than there may be, or that names what
// only a detector begins. The error is an *annotation.Fault.
func (t Table) Admit(a *annotation.Annotation) error {
	fresh := 0
	for k, o := range a.Objects {
		if _, known := t.find(o.ID); known {
			continue
		}
		if o.ID > annotation.MaxID {
			return annotation.Faultf(fmt.Sprintf("objects[%d].id", k), "%d, and there is no such object; want 1…%d for a new one", o.ID, annotation.MaxID)
		}
		fresh++
	}
	if fresh > 0 && t.Len()+fresh > annotation.MaxFollowed {
		return annotation.Faultf("objects", "%d new ones beside %d; a camera follows %d at most: remove some, or lower detect.max_objects",
			fresh, t.Len(), annotation.MaxFollowed)
	}
	return nil
}

// Kind is what an event tells.
type Kind uint8

const (
	Appeared    Kind = iota // it has its first mask
	Back                    // it has a mask again
	Occluded                // it has none now
	Lost                    // it has had none for long
	Renamed                 // it has another label
	NotFollowed             // it was marked, and has no mask soon after
	Removed                 // it is no more
)

// Event is something to be told of an object.
type Event struct {
	Kind    Kind
	Object  Object    // as it is after all edits, or as it was when it was removed
	Message string    // for people
	Began   time.Time // when the frame was taken in which the state began that is told of; zero of other events
	// Untold is an object that was removed before anybody could know of it.
	Untold bool
}
