package zones

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Snapshot is a Watcher's layout, what it has counted and where its objects are.
type Snapshot struct {
	Layout Layout
	Counts Counts          // in the order of Layout; how many objects are in zones the tracks say
	Tracks []TrackSnapshot // by rising object
}

// TrackSnapshot is where an object is.
type TrackSnapshot struct {
	Object uint32
	Seen   bool // ever; the next two are of the last time
	Foot   Point
	At     time.Duration
	Zones  []InZone // in the order of the layout
	Lines  []AtLine // likewise
}

// InZone is whether an object is in a zone.
type InZone struct {
	Inside  bool
	Entered time.Duration // seen inside since then
	Stayed  bool          // for the zone's Dwell
}

// AtLine is on which side of a line an object is.
type AtLine struct {
	Known bool // whether it was beyond the margin yet; Right is where
	Right bool
	Odd   bool // the times since that its way crossed the line
}

// Snapshot is what w knows now. It shares nothing with w but the layout.
func (w *Watcher) Snapshot() *Snapshot {
	s := &Snapshot{Layout: w.layout, Counts: w.Counts()}
	for i := range w.tracks {
		tr := &w.tracks[i]
		t := TrackSnapshot{Object: tr.id, Seen: tr.seen, Foot: tr.foot, At: tr.at}
		for _, in := range tr.zones {
			t.Zones = append(t.Zones, in.InZone)
		}
		for _, at := range tr.lines {
			t.Lines = append(t.Lines, at.AtLine)
		}
		s.Tracks = append(s.Tracks, t)
	}
	return s
}

// mostFoot is how far away a foot can be of which a Snapshot tells, in the picture's pixels or sizes.
const mostFoot = 1 << 20

// Restore returns a Watcher that goes on where another was when s was taken.
func Restore(s *Snapshot) (*Watcher, error) {
	w, err := New(s.Layout)
	if err != nil {
		return nil, err
	}
	zones, lines := len(s.Layout.Zones), len(s.Layout.Lines)
	if len(s.Counts.Zones) != zones || len(s.Counts.Lines) != lines {
		return nil, fmt.Errorf("zones: snapshot: counts of %d zones and %d lines; want %d and %d", len(s.Counts.Zones), len(s.Counts.Lines), zones, lines)
	}
	for k, n := range s.Counts.Zones {
		w.counts.Zones[k].Entries, w.counts.Zones[k].Stays = n.Entries, n.Stays
	}
	for k, n := range s.Counts.Lines {
		w.counts.Lines[k].AToB, w.counts.Lines[k].BToA = n.AToB, n.BToA
	}
	for i, t := range s.Tracks {
		far := func(v float64) bool { return !(math.Abs(v) <= mostFoot) } // or no number
		if len(t.Zones) != zones || len(t.Lines) != lines || i > 0 && t.Object <= s.Tracks[i-1].Object || slices.ContainsFunc(t.Foot[:], far) {
			return nil, errors.New("zones: snapshot: faulty track of an object")
		}
		tr := track{id: t.Object, seen: t.Seen, foot: t.Foot, at: t.At, zones: make([]inZone, zones), lines: make([]atLine, lines)}
		for k, in := range t.Zones {
			tr.zones[k].InZone = in
			if in.Inside {
				w.counts.Zones[k].Objects++
			}
		}
		for k, at := range t.Lines {
			tr.lines[k].AtLine = at
		}
		w.tracks = append(w.tracks, tr)
	}
	return w, nil
}
