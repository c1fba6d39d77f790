package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/tracker"
)

// The square goes to the right until frame 12 and back until frame 24; its foot is at
// 12, 14, … 36 of 64 pixels. The line is crossed at 22.4, the zone begins at 26.9.
var testZones = zones.Layout{
	Zones: []zones.Zone{
		{Name: "right", Polygon: []zones.Point{{0.42, 0}, {1, 0}, {1, 1}, {0.42, 1}}},
		{Name: "all", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}}, By: zones.ByShare, Dwell: time.Second},
	},
	// From top to bottom: its side a is the right one.
	Lines: []zones.Line{{Name: "middle", Points: []zones.Point{{0.35, 0}, {0.35, 1}}}},
}

// zoned lists the events of zones and lines, such as "ENTERED right".
func (r *recorder) zoned() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if name := e.Zone + e.Line; name != "" {
			text := strings.TrimPrefix(e.Kind.String(), "EVENT_KIND_OBJECT_") + " " + name
			if e.Line != "" {
				text = strings.TrimPrefix(e.Direction.String(), "DIRECTION_") + " " + name
			}
			all = append(all, text)
		}
	}
	return all
}

// An object that is lost for a moment leaves no zone.
func TestZonesLostForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		b.cfg.Annotation, b.cfg.Zones = annotate(ptr(3), 3), zones.Layout{Zones: testZones.Zones[1:]}
		b.onResult = func(res *tracker.Result) {
			if res.Seq >= 10 && res.Seq < 15 || res.Seq >= 20 && res.Seq < 26 {
				res.Objects[0] = tracker.Object{ID: res.Objects[0].ID, State: tracker.Lost}
			}
		}
		b.run(t.Context(), t)
		assert.Equal(t, []string{"ENTERED all", "STAYED all", "LEFT all", "ENTERED all"}, b.rec.zoned(), "events")
	})
}

// A rule is told of with its object; one of what is not there without. Where its zone is taken away, it rests.
func TestRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 40)
		var logged strings.Builder
		b.cfg.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		b.cfg.Annotation, b.cfg.Zones = annotate(ptr(3), 3), testZones
		b.cfg.Rules = []rules.Rule{
			{Name: "there", When: rules.Present, Classes: []string{"square"}, Zone: "all", For: time.Second},
			{Name: "no circle", When: rules.Absent, Classes: []string{"circle"}, For: 2 * time.Second},
			{Name: "moves", When: rules.Still, For: 2 * time.Second},
		}
		c, err := New(b.cfg)
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context()))
		b.check(t, c)
		var got []string
		for _, e := range b.rec.events {
			if e.Kind == segdv1.EventKind_EVENT_KIND_RULE {
				got = append(got, fmt.Sprintf("%d %s %s %d %s", e.Sequence, e.Rule, e.Zone, e.ObjectId, e.Message))
			}
		}
		want := []string{
			"16 there all 1 rule there: a square has been in zone all for 1s", // it is marked in frame 3, and a quarter of a second later it is in the zone
			"20 no circle  0 rule no circle: no circle has been in the picture for 2s",
		}
		assert.Equal(t, want, got, "told")
		if _, err := c.SetZones(t.Context(), zones.Layout{}); err != nil || !strings.Contains(logged.String(), "a rule rests: its zone is no more") {
			t.Errorf("zones taken away: %v, logged %s", err, logged.String())
		}
	})
}

// What a rule tells of comes out of the camera's ration of events, and is counted where there is none left. It tells of no object that
// no event has told of.
func TestRulesAreRationed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		marks func(*bench)
		none  uint64 // frame from which on there is no event left; what is counted is the rule, or that the object appeared
	}{
		{"told of", func(b *bench) { b.cfg.Annotation = annotate(ptr(3), 3) }, 10},
		{"not told of", func(b *bench) { b.detecting(&finder{}, 200*time.Millisecond) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", 40)
				meter := &limitedMeter{}
				tt.marks(b)
				b.cfg.Meter, b.cfg.Rules = meter, []rules.Rule{{Name: "there", When: rules.Present, For: time.Second}}
				c, err := New(b.cfg)
				require.NoError(t, err)
				b.onResult = func(res *tracker.Result) {
					if res.Seq >= tt.none {
						c.ration.limiter.SetBurst(0)
					}
				}
				require.NoError(t, c.Run(t.Context()))
				b.check(t, c)
				if ev := b.rec.event(segdv1.EventKind_EVENT_KIND_RULE); ev != nil || meter.n.Load() != 1 {
					t.Errorf("told %v, and %d counted; want none, and one", ev, meter.n.Load())
				}
			})
		})
	}
}

// An object that is followed across a line and through a zone is told of each once, and
// counted in the status and for the meter.
func TestZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		meter := &watcher{}
		b.cfg.Annotation, b.cfg.Meter, b.cfg.Zones = annotate(ptr(3), 3), meter, testZones
		c, err := New(b.cfg)
		require.NoError(t, err)
		if st := c.State(); len(st.Zones) != 2 || st.Zones[0].Name != "right" || len(st.Lines) != 1 {
			t.Errorf("before the first frame: status %v", st)
		}
		require.NoError(t, c.Run(t.Context()))
		b.check(t, c)
		want := []string{"ENTERED all", "B_TO_A middle", "ENTERED right", "STAYED all", "LEFT right", "A_TO_B middle"}
		assert.Equal(t, want, b.rec.zoned(), "events")
		for _, tt := range []struct {
			kind segdv1.EventKind
			from uint64 // the frame by the square's true place
			says string
		}{
			{segdv1.EventKind_EVENT_KIND_LINE_CROSSED, 10, "line middle, from b to a"},
			{segdv1.EventKind_EVENT_KIND_OBJECT_STAYED, 13, "zone all, for 1.0 s"},
			{segdv1.EventKind_EVENT_KIND_OBJECT_LEFT, 21, "zone right, after 1.0 s"},
		} {
			e := b.rec.event(tt.kind)
			if e == nil {
				continue
			}
			if e.ObjectId != 1 || e.ObjectLabel != "square" || e.Sequence < tt.from-1 || e.Sequence > tt.from+1 || e.Message != tt.says {
				t.Errorf("%v; want it of the square, near frame %d, and to say %q", e, tt.from, tt.says)
			}
			if s := e.StaySeconds; (e.Zone != "") != (s > 0.8 && s < 1.2) {
				t.Errorf("%v: %v s; want about 1 of a zone", e, s)
			}
		}
		st := c.State()
		var got []string
		for _, z := range st.Zones {
			got = append(got, fmt.Sprint(z.Name, z.Objects, z.Entries, z.Stays))
		}
		for _, l := range st.Lines {
			got = append(got, fmt.Sprint(l.Name, l.AToB, l.BToA))
		}
		assert.Equal(t, []string{"right0 1 0", "all1 1 1", "middle1 1"}, got, "status")
		if diff := cmp.Diff(c.Snapshot().Zones, meter.now().Zones); diff != "" || meter.names() != "all right middle" {
			t.Errorf("the meter has %s:\n%s", meter.names(), diff)
		}
	})
}

// An object that new stages find again in a zone has not entered it anew, and the line that it
// had crossed is behind it. The folder begins anew, so it is on the other side for a while.
func TestZonesOutliveTheStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 24)
		b.cfg.Annotation, b.cfg.AnnotationFits, b.cfg.Zones = annotate(ptr(0), 0), true, testZones
		b.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			if s.Seq == 12 {
				panic("a wild index")
			}
			return nil
		}
		_, snap := b.run(t.Context(), t)
		require.EqualValues(t, 1, snap.Restarts, "restarts")
		want := zones.Counts{
			Zones: []zones.ZoneCount{{Name: "right", Entries: 2}, {Name: "all", Objects: 1, Entries: 1, Stays: 1}},
			Lines: []zones.LineCount{{Name: "middle", AToB: 2, BToA: 2}},
		}
		if diff := cmp.Diff(want, snap.Zones); diff != "" {
			t.Errorf("events %q:\n%s", b.rec.zoned(), diff)
		}
	})
}

// Who is removed has left.
func TestRemovedLeavesZones(t *testing.T) {
	meter := &watcher{}
	live(t, func(b *bench) { b.cfg.Zones, b.cfg.Meter = testZones, meter }, func(t *testing.T, b *bench, c *Camera) {
		require.Equal(t, 1, c.Snapshot().Zones.Zones[1].Objects, "objects in the picture")
		require.NoError(t, c.Clear(t.Context(), 1))
		if n := c.Snapshot().Zones.Zones[1].Objects; n != 0 || meter.now().Zones.Zones[1].Objects != 0 {
			t.Errorf("%d objects in the picture, %d for the meter; want none", n, meter.now().Zones.Zones[1].Objects)
		}
		time.Sleep(time.Second)
		if got := b.rec.zoned(); strings.Count(strings.Join(got, " "), "LEFT all") != 1 {
			t.Errorf("events %q; want one that it left", got)
		}
		if e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED); e == nil {
			t.Error("no event that it was removed")
		}
	})
}

// Objects that are forgotten because the stages fail with them have left, too.
func TestForgottenLeavesZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 12)
		b.cfg.Annotation, b.cfg.AnnotationFits, b.cfg.Zones = annotate(ptr(0), 0), true, testZones
		b.onResult = func(res *tracker.Result) {
			if len(res.Objects) > 0 && res.Seq > 6 {
				panic("a wild index")
			}
		}
		_, snap := b.run(t.Context(), t)
		if want := []string{"ENTERED all", "LEFT all"}; !slices.Equal(b.rec.zoned(), want) || snap.Zones.Zones[1].Objects != 0 {
			t.Errorf("events %q, %+v; want %q", b.rec.zoned(), snap.Zones, want)
		}
		for _, e := range b.rec.events {
			if e.Zone != "" && e.ObjectLabel != "square" {
				t.Errorf("%v; want it to tell the label", e)
			}
		}
	})
}

// names are what there are series of.
func (w *watcher) names() string {
	var zones, lines []string
	counts := w.now().Zones
	for _, n := range counts.Zones {
		zones = append(zones, n.Name)
	}
	for _, n := range counts.Lines {
		lines = append(lines, n.Name)
	}
	slices.Sort(zones)
	return strings.Join(append(zones, lines...), " ")
}

// Other zones and lines count from the next frame on: what stays goes on, what is gone is left and
// has no series and no count any more.
func TestSetZones(t *testing.T) {
	meter, log := &watcher{}, &logged{}
	live(t, func(b *bench) {
		b.cfg.Zones, b.cfg.Meter, b.cfg.Logger = testZones, meter, slog.New(slog.NewTextHandler(log, nil))
	}, func(t *testing.T, b *bench, c *Camera) {
		kept := testZones.Zones[0]
		before := c.Snapshot().Zones
		set, err := c.SetZones(t.Context(), zones.Layout{
			Zones: []zones.Zone{{Name: "everywhere", Polygon: testZones.Zones[1].Polygon}, kept},
			Lines: []zones.Line{{Name: "end", Points: []zones.Point{{0.4, 0}, {0.4, 1}}}},
		})
		if err != nil || len(set.Zones) != 2 || set.Zones[0].Share != zones.DefaultShare || !cmp.Equal(set, c.Zones()) {
			t.Fatalf("set %+v, %v; there is %+v", set, err, c.Zones())
		}
		counts := c.Snapshot().Zones
		want := zones.Counts{Zones: []zones.ZoneCount{{Name: "everywhere"}, before.Zones[0]}, Lines: []zones.LineCount{{Name: "end"}}}
		if diff := cmp.Diff(want, counts); diff != "" || before.Zones[0].Entries == 0 || before.Zones[1].Objects != 1 {
			t.Errorf("before %+v, then:\n%s", before, diff)
		}
		assert.Equal(t, "everywhere right end", meter.names(), "there are series of")
		assert.Contains(t, log.String(), `msg="zones and lines changed" camera=gate zones=2 lines=1`, "the log:\n%s", log)
		time.Sleep(2400 * time.Millisecond) // all of the clip
		got := b.rec.zoned()
		if i := slices.Index(got, "LEFT all"); i < 0 || !slices.Contains(got[i:], "ENTERED everywhere") || slices.Contains(got[i:], "STAYED all") ||
			!slices.Contains(got[i:], "ENTERED right") || !slices.Contains(got[i:], "B_TO_A end") || slices.Contains(got[i:], "B_TO_A middle") {
			t.Errorf("events %q", got)
		}
		if e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_LEFT); e == nil || e.ObjectLabel != "square" || e.Sequence == 0 {
			t.Errorf("left: %v", e)
		}
		if n := c.Snapshot().Zones.Zones[1]; n.Entries != before.Zones[0].Entries+1 {
			t.Errorf("%+v; want one more entry than %+v", n, before.Zones[0])
		}

		_, err = c.SetZones(t.Context(), zones.Layout{Lines: []zones.Line{{Name: "end"}, {}}})
		var fault *zones.Fault
		if !errors.As(err, &fault) || fault.Field != "lines[0].points" || !cmp.Equal(set, c.Zones()) {
			t.Errorf("a bad layout: %v; there is %+v", err, c.Zones())
		}
	})
}

// Zones are changed by many while frames run, and end as the last of them wants.
func TestSetZonesByMany(t *testing.T) {
	meter := &watcher{}
	live(t, func(b *bench) { b.cfg.Zones, b.cfg.Meter = testZones, meter }, func(t *testing.T, b *bench, c *Camera) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for k := range 20 {
					z := testZones.Zones[1]
					z.Name = fmt.Sprintf("zone-%d-%d", i, k%3)
					_, err := c.SetZones(t.Context(), zones.Layout{Zones: []zones.Zone{z}, Lines: testZones.Lines})
					assert.NoError(t, err)
					_, _ = c.Zones(), c.State()
					time.Sleep(17 * time.Millisecond)
				}
			})
		}
		all.Wait()
		_, err := c.SetZones(t.Context(), testZones)
		require.NoError(t, err)
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, "all right middle", meter.names(), "there are series of")
		counts := c.Snapshot().Zones
		if counts.Zones[1].Objects != 1 || counts.Zones[1].Entries != 1 {
			t.Errorf("%+v", counts)
		}
		in := map[string]int{}
		for _, e := range b.rec.zoned() {
			kind, name, _ := strings.Cut(e, " ")
			in[name] += map[string]int{"ENTERED": 1, "LEFT": -1}[kind]
		}
		delete(in, "right")
		for name, n := range in {
			if want := map[string]int{"all": 1}[name]; n != want {
				t.Errorf("entered %s %d times more than left; want %d", name, n, want)
			}
		}
	})
}

// Zones can be changed before the first frame, and while the camera is down.
func TestSetZonesWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 12)
		b.cfg.Annotation = annotate(ptr(0), 0)
		c, err := New(b.cfg)
		require.NoError(t, err)
		_, err = c.SetZones(t.Context(), testZones)
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context()))
		assert.Equal(t, []string{"ENTERED all", "B_TO_A middle", "STAYED all", "ENTERED right"}, b.rec.zoned(), "events")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.turn <- struct{}{}
		_, err = c.SetZones(ctx, zones.Layout{})
		assert.ErrorIs(t, err, context.Canceled, "while it is busy for too long")
	})
}

// A camera without zones tells of none, and one with bad zones is refused.
func TestZonesOfConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 12)
		b.cfg.Annotation = annotate(ptr(0), 0)
		c, snap := b.run(t.Context(), t)
		if st := c.State(); len(b.rec.zoned())+len(snap.Zones.Zones)+len(st.Zones)+len(st.Lines) != 0 {
			t.Errorf("events %q, status %v", b.rec.zoned(), st)
		}
		b.cfg.Zones.Lines = []zones.Line{{Name: "middle"}}
		_, err := New(b.cfg)
		assert.ErrorContains(t, err, `camera "gate": zones: lines[0].points: 0 points`, "bad zones")
		b.cfg.Zones = testZones
		if c, err := New(b.cfg); err != nil || len(c.Zones().Zones) != 2 || c.Zones().Zones[1].Share != zones.DefaultShare {
			t.Errorf("%v, %v", c, err)
		}
	})
}
