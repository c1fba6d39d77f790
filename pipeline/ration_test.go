package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/tracker"
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
	assert.Equal(t, 8, over, "beyond the limit")
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
	assert.Equal(t, []string{"ENTERED 1"}, told(event(entered, 1)), "told")
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
				assert.Equal(t, tt.want, b.rec.kinds(), "events")
				appeared, entered := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED), b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED)
				if appeared != nil && appeared.Time.AsTime().Sub(entered.Time.AsTime()) != appeared.CaptureTime.AsTime().Sub(entered.CaptureTime.AsTime()) {
					t.Errorf("entered at %v in the picture of %v, appeared at %v in that of %v", entered.Time.AsTime(), entered.CaptureTime.AsTime(), appeared.Time.AsTime(), appeared.CaptureTime.AsTime())
				}
				assert.EqualValues(t, 1, c.State().Zones[0].Entries, "entries counted")
			})
		})
	}
}

// limitedMeter counts events beyond the limit.
type limitedMeter struct {
	nopMeter
	n atomic.Int32
}

func (m *limitedMeter) Limited() { m.n.Add(1) }

// More than is kept of an object until it is told of is left out, in pairs, and counted.
func TestHeldBackInPairs(t *testing.T) {
	meter := &limitedMeter{}
	c := &Camera{cfg: Config{Zones: testZones, Meter: meter}, log: slog.New(slog.DiscardHandler)}
	c.ration = newRation(c.limited)
	c.ration.at(0)
	z := &c.zones
	require.NoError(t, z.begin(c))
	const object = 7
	happen := func(kind zones.Kind, times int) {
		for range times {
			name := "all"
			if kind == zones.Crossed {
				name = "middle"
			}
			if out := z.events(c, []zones.Event{{Kind: kind, Object: object, Name: name}}, 1, time.Unix(9, 0), func(uint32) (objects.Object, bool) { return objects.Object{}, false }); len(out) != 0 {
				t.Errorf("%v is told of before the object is", out)
			}
		}
	}
	happen(zones.Entered, 1)
	happen(zones.Crossed, maxEarly)
	happen(zones.Left, 1)
	assert.EqualValues(t, maxEarly, meter.n.Load(), "events are counted as left out")
	for _, ev := range z.early[object] {
		if !ev.Time.AsTime().Equal(time.Unix(9, 0)) {
			t.Errorf("%v: held back since %v", ev, ev.Time.AsTime())
		}
	}
	held := z.early[object]
	delete(z.early, object)
	if out := z.limit(c, held); len(out) != 1 || out[0].Kind != segdv1.EventKind_EVENT_KIND_LINE_CROSSED || len(z.untold) != 0 {
		t.Errorf("told %v, %v left; want one crossing, as the entry was left out", out, z.untold)
	}
	happen(zones.Entered, 1)
	happen(zones.Crossed, maxEarly)
	if z.forget(c, objects.Object{ID: object}, 1); len(z.early)+len(z.untold) != 0 {
		t.Errorf("%v and %v are left of what was forgotten", z.early, z.untold)
	}
}

// flickering is a Stepper whose objects are hidden in every other six frames, each time for just as long as is told of.
type flickering struct{ Stepper }

func (f flickering) Step(ctx context.Context, s *features.Scene, p tracker.Picture, ann *annotation.Annotation, extents []tracker.Extent) (*tracker.Result, error) {
	res, err := f.Stepper.Step(ctx, s, p, ann, extents)
	if err == nil && s.Seq/6%2 == 1 {
		for k := range res.Objects {
			o := &res.Objects[k]
			*o = tracker.Object{ID: o.ID, State: tracker.Occluded}
		}
	}
	return res, err
}

// A camera tells of so much at once, and of so much a second of its stream.
func TestEventsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const frames = 100 // in ten seconds
		b := newBench(t, "gate", frames)
		meter := &limitedMeter{}
		b.cfg.Annotation, b.cfg.AnnotationFits, b.cfg.Meter = annotate(ptr(0), 0), true, meter
		open := b.cfg.NewStepper
		b.cfg.NewStepper = func() (Stepper, error) {
			s, err := open()
			return flickering{s}, err
		}
		c, err := New(b.cfg)
		require.NoError(t, err)
		const atOnce = 2
		c.ration.limiter.SetBurst(atOnce)
		require.NoError(t, c.Run(t.Context()))
		b.check(t, c)
		n := 0
		for _, kind := range b.rec.kinds() {
			if slices.Contains([]string{"OBJECT_APPEARED", "OBJECT_OCCLUDED", "OBJECT_BACK"}, kind) {
				n++
			}
		}
		if want := atOnce + 9*EventsPerSecond; n < want-1 || n > want+1 {
			t.Errorf("%d events of an object that changes %d times; want %d", n, frames/6, want)
		}
		if meter.n.Load() == 0 {
			t.Error("none is counted as beyond the limit")
		}
	})
}
