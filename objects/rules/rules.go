package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/segd/segd/objects/zones"
)

// When is what a rule waits for.
type When string

const (
	Present When = "present" // an object is in the zone
	Still   When = "still"   // an object in the zone stays where it is
	Absent  When = "absent"  // no object is in the zone
)

const (
	MaxRules = 32
	MinFor   = time.Second

	// still is how far the foot of an object that stays where it is may move, in its heights: a person who shifts from one foot to the
	// other moves by less, one who takes two steps by more.
	still = 0.25
	// gap is for how long there may be no frame: beyond it, nothing is known of what was there.
	gap = 10 * time.Second
)

// Rule is one of a camera.
type Rule struct {
	Name    string
	When    When
	Zone    string        // empty: the whole picture
	Classes []string      // that count; empty: every object
	For     time.Duration // for how long it has to be so
	// Again is the least time between two events. What is still so then is told at once.
	Again    time.Duration
	Schedule []Span // when it is told; empty: always
}

// Fault is what is wrong with one field of a camera's rules.
type Fault struct {
	Field  string // such as rules[0].for
	Detail string // what was found and what would be accepted
}

func (f *Fault) Error() string { return f.Field + ": " + f.Detail }

// Faults are all that is wrong with rules of a camera with a layout. Names are not looked at.
func Faults(rules []Rule, layout zones.Layout) (faults []*Fault) {
	bad := func(field, format string, args ...any) {
		faults = append(faults, &Fault{field, fmt.Sprintf(format, args...)})
	}
	if n := len(rules); n > MaxRules {
		bad("rules", "%d; accepted: at most %d", n, MaxRules)
	}
	for k, r := range rules {
		at := fmt.Sprintf("rules[%d].", k)
		if !slices.Contains([]When{Present, Still, Absent}, r.When) {
			bad(at+"when", "%q; accepted: %s, %s or %s", r.When, Present, Still, Absent)
		}
		if r.For < MinFor {
			bad(at+"for", "%v; accepted: %v or more, such as 10s", r.For, MinFor)
		}
		if r.Again < 0 {
			bad(at+"again", "%v; accepted: 0s or more, such as 5m", r.Again)
		}
		if r.Zone != "" && !layout.Has(r.Zone) {
			var names []string
			for _, z := range layout.Zones {
				names = append(names, z.Name)
			}
			accepted := "a zone of the camera, which has none"
			if len(names) > 0 {
				accepted = "one of the camera's zones, " + strings.Join(names, ", ")
			}
			bad(at+"zone", "%q; accepted: %s", r.Zone, accepted)
		}
		for i, s := range r.Schedule {
			if detail := s.fault(); detail != "" {
				bad(fmt.Sprintf("%sschedule[%d]", at, i), "%s", detail)
			}
		}
	}
	return faults
}

// String says when there is an event.
func (r Rule) String() string {
	s := "when " + r.What()
	if r.Again > 0 {
		s += fmt.Sprintf(", once in %v at most", r.Again)
	}
	for k, span := range r.Schedule {
		s += []string{", ", " and "}[min(k, 1)] + span.String()
	}
	return s
}

// What says what is so then: a person has been in zone porch for 10s.
func (r Rule) What() string {
	object := func(class string) string {
		switch {
		case r.When == Absent:
			return "no " + class
		case strings.ContainsAny(class[:min(1, len(class))], "aeiou"):
			return "an " + class
		}
		return "a " + class
	}
	var objects []string
	for _, class := range r.Classes {
		objects = append(objects, object(class))
	}
	if len(objects) == 0 {
		objects = []string{object("object")}
	}
	been, where := "been", "the picture"
	if r.When == Still {
		been = "stood still"
	}
	if r.Zone != "" {
		where = "zone " + r.Zone
	}
	return fmt.Sprintf("%s has %s in %s for %v", strings.Join(objects, " or "), been, where, r.For)
}

// Object is one in a frame, or out of sight.
type Object struct {
	ID     uint32
	Class  string
	Told   bool // an event has told of it: else none of a rule does yet
	Lost   bool // it is not known where it is
	Seen   bool // it is visible; else Foot and Height do not count
	Foot   zones.Point
	Height float64 // in pixels, as Foot
}

// Frame is what there is in one.
type Frame struct {
	Time    time.Duration // stream time; never falls
	Wall    time.Time     // when it was taken
	Objects []Object
	Layout  zones.Layout // without a rule's zone, the rule rests
	// In tells whether an object is in a zone of it.
	In func(object uint32, zone string) bool
}

// Event is that of a rule.
type Event struct {
	Rule   Rule
	Object uint32 // 0 with Absent
}

// Watcher heeds the rules of one camera. It remembers no object that the last frame did not have.
type Watcher struct {
	rules  []watched
	last   time.Duration // of the last frame
	any    bool          // there was one
	events []Event
}

// watched is what is known of a rule.
type watched struct {
	Rule
	fired   bool // once
	firedAt time.Duration
	absent  stay
	stays   map[uint32]stay
}

// stay is what has been so.
type stay struct {
	since time.Duration
	told  bool
	from  zones.Point // where it was then, or was seen first
	seen  bool        // from is known
	frame time.Duration
}

// New returns a Watcher that has seen nothing, or all the Faults of rules, joined.
func New(rules []Rule, layout zones.Layout) (*Watcher, error) {
	var faults []error
	for _, f := range Faults(rules, layout) {
		faults = append(faults, f)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	w := new(Watcher)
	for _, r := range rules {
		w.rules = append(w.rules, watched{Rule: r, stays: map[uint32]stay{}})
	}
	return w, nil
}

// Observe takes in the next frame and returns what is to be told, by the order of the rules and then of the objects; valid until the
// next call.
func (w *Watcher) Observe(f Frame) []Event {
	w.events = w.events[:0]
	blind := !w.any || f.Time-w.last > gap
	for k := range w.rules {
		w.observe(&w.rules[k], &f, blind)
	}
	w.last, w.any = f.Time, true
	return w.events
}

// observe heeds one rule. Blind is whether nothing is known of what was there just before.
func (w *Watcher) observe(r *watched, f *Frame, blind bool) {
	rests := r.Zone != "" && !f.Layout.Has(r.Zone)
	if blind || rests {
		clear(r.stays)
		r.absent = stay{since: f.Time}
	}
	if rests {
		return
	}
	for _, o := range f.Objects {
		if o.Lost || len(r.Classes) > 0 && !slices.Contains(r.Classes, o.Class) || r.Zone != "" && !f.In(o.ID, r.Zone) {
			continue
		}
		r.absent = stay{since: f.Time}
		s, ok := r.stays[o.ID]
		if !ok {
			s = stay{since: f.Time}
		}
		s.frame = f.Time
		switch moved := math.Hypot(o.Foot[0]-s.from[0], o.Foot[1]-s.from[1]); {
		case !o.Seen:
		case !s.seen:
			s.from, s.seen = o.Foot, true
		case r.When == Still && moved > still*o.Height:
			s = stay{since: f.Time, from: o.Foot, seen: true, frame: f.Time}
		}
		if r.When != Absent && o.Told && r.due(&s, f) {
			w.events = append(w.events, Event{r.Rule, o.ID})
		}
		r.stays[o.ID] = s
	}
	for id, s := range r.stays {
		if s.frame != f.Time {
			delete(r.stays, id)
		}
	}
	if r.When == Absent && r.due(&r.absent, f) {
		w.events = append(w.events, Event{r.Rule, 0})
	}
}

// due tells whether s is to be told now, which it is once.
func (r *watched) due(s *stay, f *Frame) bool {
	if s.told || f.Time-s.since < r.For || r.fired && f.Time-r.firedAt < r.Again || !r.on(f.Wall) {
		return false
	}
	s.told, r.fired, r.firedAt = true, true, f.Time
	return true
}

// on tells whether the schedule says so.
func (r *Rule) on(at time.Time) bool {
	return len(r.Schedule) == 0 || slices.ContainsFunc(r.Schedule, func(s Span) bool { return s.Has(at) })
}
