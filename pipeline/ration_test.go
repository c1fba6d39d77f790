package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/bus/segdv1"
)

// So many at once, so many a second after that, and what has to be told comes out of what is to come.
func TestRation(t *testing.T) {
	over := 0
	r := newRation(func() { over++ })
	told := func(pts time.Duration) (n int) {
		r.at(pts)
		for r.may(true) {
			n++
		}
		return n
	}
	for _, tt := range []struct {
		at   time.Duration
		owes int
		want int
	}{
		{0, 0, EventsAtOnce},
		{time.Second, 0, EventsPerSecond},
		{11 * time.Second, 0, 10 * EventsPerSecond},
		{11 * time.Second, 0, 0},
		{11 * time.Second, 5, 0},
		{15 * time.Second, 0, 0}, // 5 are owed
		{17 * time.Second, 0, 1},
		{time.Hour, 0, EventsAtOnce},
	} {
		r.at(tt.at)
		for range tt.owes {
			r.owe()
		}
		if n := told(tt.at); n != tt.want {
			t.Errorf("%v, %d owed: %d told; want %d", tt.at, tt.owes, n, tt.want)
		}
	}
	if over != 8 {
		t.Errorf("%d beyond the limit; want 8, once each time", over)
	}
	if r.may(false); over != 8 {
		t.Error("what waits was counted twice")
	}
}

// Where there is no room, the end of an entry is told if the entry was, and only then.
func TestZoneEventsInPairs(t *testing.T) {
	over := 0
	c := &Camera{ration: newRation(func() { over++ })}
	z := &zoneWatch{untold: map[visit]bool{}}
	event := func(kind segdv1.EventKind, object uint32) *segdv1.Event {
		return &segdv1.Event{Kind: kind, ObjectId: object, Zone: "yard"}
	}
	const entered, left, stayed = segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED, segdv1.EventKind_EVENT_KIND_OBJECT_LEFT, segdv1.EventKind_EVENT_KIND_OBJECT_STAYED
	c.ration.at(0)
	told := func(events ...*segdv1.Event) (out []string) {
		for _, e := range z.limit(c, events) {
			out = append(out, fmt.Sprintf("%s %d", strings.TrimPrefix(e.Kind.String(), "EVENT_KIND_OBJECT_"), e.ObjectId))
		}
		return out
	}
	if got := told(event(entered, 1)); !slices.Equal(got, []string{"ENTERED 1"}) {
		t.Errorf("told %q", got)
	}
	for range EventsAtOnce - 1 {
		c.ration.may(true)
	}
	if got := told(event(entered, 2), event(stayed, 2), event(stayed, 1), event(left, 2), event(left, 1)); !slices.Equal(got, []string{"LEFT 1"}) || len(z.untold) != 0 || over != 2 {
		t.Errorf("told %q, %v left, %d counted; want that the first left, and 2", got, z.untold, over)
	}
	c.ration.at(time.Minute)
	if got := told(event(entered, 2), event(left, 2)); len(got) != 2 {
		t.Errorf("told %q; want both", got)
	}
}

// What an object does in zones before an event tells of it is told after that, and not at all of one that ends before.
func TestZonesOfUnconfirmed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames int
		want   []string
	}{
		{"told of", 11, []string{"CAMERA_UP", "OBJECT_APPEARED", "OBJECT_ENTERED", "CAMERA_DOWN"}},
		{"not told of", 7, []string{"CAMERA_UP", "CAMERA_DOWN"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", tt.frames)
				b.detecting(&finder{}, 200*time.Millisecond)
				b.cfg.Zones = testZones
				b.cfg.Zones.Lines, b.cfg.Zones.Zones = nil, testZones.Zones[1:]
				c, _ := b.run(t.Context(), t)
				if got := b.rec.kinds(); !slices.Equal(got, tt.want) {
					t.Errorf("events %q; want %q", got, tt.want)
				}
				if n := c.State().Zones[0].Entries; n != 1 {
					t.Errorf("%d entries counted; want 1", n)
				}
			})
		})
	}
}
