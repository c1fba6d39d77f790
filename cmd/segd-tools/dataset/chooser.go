package dataset

import (
	"slices"
	"time"

	"github.com/segd/segd/bus/segdv1"
)

// What frames are kept for, beside that it is time.
const (
	Changed   = "changed"   // an object came, went, was hidden or found again, or was in a zone or at a line
	Unsure    = "unsure"    // an object's score is low
	Corrected = "corrected" // a person annotated
)

// Reasons are all of these.
var Reasons = []string{Changed, Unsure, Corrected}

// DefaultUnsure is the score below which one mask in two may be wrong, by docs/quality.md.
const DefaultUnsure = 0.7

var eventsFor = map[string][]segdv1.EventKind{
	Changed: {
		segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED, segdv1.EventKind_EVENT_KIND_OBJECT_OCCLUDED, segdv1.EventKind_EVENT_KIND_OBJECT_LOST,
		segdv1.EventKind_EVENT_KIND_OBJECT_BACK, segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED, segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED,
		segdv1.EventKind_EVENT_KIND_OBJECT_LEFT, segdv1.EventKind_EVENT_KIND_OBJECT_STAYED, segdv1.EventKind_EVENT_KIND_LINE_CROSSED,
	},
	Corrected: {segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED},
}

// Chooser says which frames are kept.
type Chooser struct {
	// Every is how much stream time is between two of them: with When at least, else in the mean, as near as there are frames.
	Every time.Duration
	// When is one of Reasons; empty: all that Every leaves.
	When string
	// Unsure is the score, 0 to 1, below which an object is.
	Unsure float64

	event *segdv1.Event // that no frame was taken for yet
	taken bool
	epoch uint64        // of the last one taken
	next  time.Duration // when it is time
}

// Event tells of an event: the frame that it was seen on, or the first after it, is wanted.
func (c *Chooser) Event(e *segdv1.Event) {
	if c.event == nil && slices.Contains(eventsFor[c.When], e.GetKind()) {
		c.event = e
	}
}

// Take tells whether m, the newest frame, is to be kept.
func (c *Chooser) Take(m *segdv1.MaskFrame) bool {
	at := time.Duration(m.GetPtsNs())
	if c.taken && c.epoch == m.GetEpoch() && at < c.next {
		return false
	}
	switch c.When {
	case "":
	case Unsure:
		if !slices.ContainsFunc(m.GetObjects(), func(o *segdv1.Object) bool { return o.GetArea() > 0 && o.GetScore() < c.Unsure }) {
			return false
		}
	default:
		if c.event == nil || c.event.GetEpoch() == m.GetEpoch() && m.GetSequence() < c.event.GetSequence() {
			return false
		}
	}
	if c.When != "" || !c.taken || c.epoch != m.GetEpoch() || at >= c.next+c.Every {
		c.next = at
	}
	c.event, c.taken, c.epoch, c.next = nil, true, m.GetEpoch(), c.next+c.Every
	return true
}
