package zones

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/segd/segd/checkpoint/checkpointv1"
)

// State is w's layout, what it has counted and where its objects are. It shares nothing with w.
func (w *Watcher) State() (*checkpointv1.Zones, error) {
	layout, err := json.Marshal(w.layout)
	if err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	s := &checkpointv1.Zones{Layout: layout}
	for _, n := range w.counts.Zones {
		s.Zones = append(s.Zones, &checkpointv1.ZoneCount{Entries: n.Entries, Stays: n.Stays})
	}
	for _, n := range w.counts.Lines {
		s.Lines = append(s.Lines, &checkpointv1.LineCount{AToB: n.AToB, BToA: n.BToA})
	}
	for i := range w.tracks {
		tr := &w.tracks[i]
		t := &checkpointv1.ZoneTrack{Object: tr.id, Seen: tr.seen, X: tr.foot[0], Y: tr.foot[1], AtNs: int64(tr.at)}
		for _, in := range tr.zones {
			t.Zones = append(t.Zones, &checkpointv1.InZone{Inside: in.inside, EnteredNs: int64(in.entered), Stayed: in.stayed})
		}
		for _, at := range tr.lines {
			t.Lines = append(t.Lines, &checkpointv1.AtLine{Known: at.known, Right: at.right, Odd: at.odd})
		}
		s.Tracks = append(s.Tracks, t)
	}
	return s, nil
}

// maxLayout is how many bytes of JSON the largest layout has at most: its zones, each with its points of two numbers.
const maxLayout = MaxZones * MaxPoints * 2 * 32

// Resume returns a Watcher that goes on where another was when s was taken.
func Resume(s *checkpointv1.Zones) (*Watcher, error) {
	if len(s.Layout) > maxLayout {
		return nil, fmt.Errorf("zones: state: layout: %d bytes; want at most %d", len(s.Layout), maxLayout)
	}
	var l Layout
	if err := json.Unmarshal(s.Layout, &l); err != nil {
		return nil, fmt.Errorf("zones: state: layout: %w", err)
	}
	w, err := New(l)
	if err != nil {
		return nil, err
	}
	if len(s.Zones) != len(l.Zones) || len(s.Lines) != len(l.Lines) {
		return nil, fmt.Errorf("zones: state: counts of %d zones and %d lines; want %d and %d", len(s.Zones), len(s.Lines), len(l.Zones), len(l.Lines))
	}
	for k, n := range s.Zones {
		w.counts.Zones[k].Entries, w.counts.Zones[k].Stays = n.Entries, n.Stays
	}
	for k, n := range s.Lines {
		w.counts.Lines[k].AToB, w.counts.Lines[k].BToA = n.AToB, n.BToA
	}
	for i, t := range s.Tracks {
		if len(t.Zones) != len(l.Zones) || len(t.Lines) != len(l.Lines) || i > 0 && t.Object <= s.Tracks[i-1].Object ||
			!(math.Abs(t.X) <= mostFoot && math.Abs(t.Y) <= mostFoot) {
			return nil, errors.New("zones: state: faulty track of an object")
		}
		tr := track{
			id: t.Object, seen: t.Seen, foot: Point{t.X, t.Y}, at: time.Duration(t.AtNs),
			zones: make([]inZone, len(l.Zones)), lines: make([]atLine, len(l.Lines)),
		}
		for k, in := range t.Zones {
			tr.zones[k] = inZone{inside: in.Inside, entered: time.Duration(in.EnteredNs), stayed: in.Stayed}
			if in.Inside {
				w.counts.Zones[k].Objects++
			}
		}
		for k, at := range t.Lines {
			tr.lines[k] = atLine{known: at.Known, right: at.Right, odd: at.Odd}
		}
		w.tracks = append(w.tracks, tr)
	}
	return w, nil
}

// mostFoot is how far away a foot can be of which State tells, in the picture's pixels or sizes.
const mostFoot = 1 << 20
