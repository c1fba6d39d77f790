package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/memtest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/checkpoint/checkpointv1"
	"github.com/segd/segd/tracker"
)

// table is one of every owner, and tracks are theirs.
func table() (objects.Table, track.Snapshot) {
	all := []objects.Object{
		{ID: 3, Label: "of people's", State: tracker.Lost, Told: tracker.Occluded, Appeared: true, Gone: true},
		{ID: 256, Label: "Ada", Class: "person", Owner: objects.Detector, State: tracker.Lost, Track: 1, Dormant: true},
		{ID: 257, Label: "person", Class: "person", Owner: objects.Kept, State: tracker.Lost, Track: 4, Appeared: true},
	}
	return objects.Restore(all, 300), track.Snapshot{Time: time.Minute, Next: 5, Tracks: []track.Saved{
		{ID: 1, Class: "person", Box: track.Box{X0: 1, Y0: 2, X1: 3, Y1: 4}, Velocity: [2]float64{5, 6}, Score: 0.5, Unseen: time.Second},
		{ID: 4, Class: "person", Box: track.Box{X0: 1, Y0: 2, X1: 3, Y1: 4}},
	}}
}

// What is written is what is read.
func TestEncode(t *testing.T) {
	all, tracks := table()
	zone := zones.Layout{
		Zones: []zones.Zone{{Name: "yard", Polygon: []zones.Point{{0, 0}, {0.5, 0}, {0.5, 1}}, Dwell: time.Second}},
		Lines: []zones.Line{{Name: "street", Points: []zones.Point{{0.5, 0}, {0.5, 1}}}},
	}
	want := &Checkpoint{
		Camera: "gate", Time: time.Unix(1_700_000_000, 5).UTC(), Epoch: 7, Sequence: 90, PTS: 9 * time.Second, FPS: 9.5,
		Marked: [][]byte{picture(t)}, Last: picture(t), Configured: []byte{1}, ConfiguredZones: []byte("{}"), Objects: all, Tracks: &tracks,
		Tracker: &tracker.Snapshot{Size: image.Pt(16, 8), Objects: []tracker.ObjectSnapshot{{
			ID: 3, Life: tracker.LifeSnapshot{State: tracker.Occluded, Area: 1, X: 2, Y: 3, Unseen: 4, Zoom: 2, Probation: -5, Hits: 6, Required: 7, Marked: 0.8}, Box: image.Rect(1, 2, 3, 4),
		}}},
		Zones: &zones.Snapshot{
			Layout: zone,
			Counts: zones.Counts{Zones: []zones.ZoneCount{{Name: "yard", Entries: 3, Stays: 2}}, Lines: []zones.LineCount{{Name: "street", AToB: 4, BToA: 5}}},
			Tracks: []zones.TrackSnapshot{{
				Object: 3, Seen: true, Foot: zones.Point{0.1, 0.2}, At: time.Minute,
				Zones: []zones.InZone{{Inside: true, Entered: time.Second, Stayed: true}}, Lines: []zones.AtLine{{Known: true, Right: true, Odd: true}},
			}},
		},
	}
	data, err := Encode(want)
	require.NoError(t, err)
	got, err := Decode(data)
	require.NoError(t, err)
	same := cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b objects.Table) bool {
		return a.NextID() == b.NextID() && cmp.Equal(a.All(), b.All(), cmpopts.IgnoreUnexported(objects.Object{}))
	})}
	assert.Empty(t, cmp.Diff(want, got, same), "-want +got")
	// A track that is not kept may end before it counts.
	want.Tracks = &track.Snapshot{Next: 1}
	data, err = Encode(want)
	require.NoError(t, err)
	if got, err = Decode(data); err != nil || got.Objects.All()[1].Track != 0 || len(got.Faults) > 0 {
		t.Errorf("%+v, %v; want no track", got, err)
	}
}

// Of a faulty part nothing is taken, but of objects their labels and which ids were used: they are people's.
func TestFaultyParts(t *testing.T) {
	none := func(c *Checkpoint) bool { return c.Tracks == nil && c.Objects.All()[1].Owner == objects.People }
	marker := func(spoil func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, tr *checkpointv1.Track)) func(c *checkpointv1.Checkpoint) {
		return func(c *checkpointv1.Checkpoint) { spoil(c.Marker, c.Marker.Objects[1], c.Marker.Tracks.Tracks[0]) }
	}
	for _, tt := range []struct {
		name  string
		spoil func(c *checkpointv1.Checkpoint)
		left  func(c *Checkpoint) bool
	}{
		{"an id twice", marker(func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			o.Id = s.Objects[2].Id
		}), none},
		{"a track of two", marker(func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			o.Track = s.Objects[2].Track
		}), none},
		{"no such track", marker(func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Track = 999 }), none},
		{"its own, no class", marker(func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Class = "" }), none},
		{"a class of lines", marker(func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Class = "a\nb" }), none},
		{"half a box", marker(func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Box = tr.Box[:2]
		}), none},
		{"no speed", marker(func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) { tr.Velocity = nil }), none},
		{"half of its looks", marker(func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Appearance = []float32{1, 0}
		}), none},
		{"no life", func(c *checkpointv1.Checkpoint) { c.Tracker.Objects[0].Life = nil }, func(c *Checkpoint) bool { return c.Tracker == nil }},
		{"no mask's box", func(c *checkpointv1.Checkpoint) { c.Tracker.Objects[0].Box = nil }, func(c *Checkpoint) bool { return c.Tracker == nil }},
		{"no such state", func(c *checkpointv1.Checkpoint) { c.Tracker.Objects[0].Life.State = 256 }, func(c *Checkpoint) bool { return c.Tracker == nil }},
		{"no layout", func(c *checkpointv1.Checkpoint) { c.Zones.Layout = nil }, func(c *Checkpoint) bool { return c.Zones == nil }},
		{"counts of no zone", func(c *checkpointv1.Checkpoint) { c.Zones.Zones = []*checkpointv1.ZoneCount{{}} }, func(c *Checkpoint) bool { return c.Zones == nil }},
	} {
		c := small(t)
		all, tracks := table()
		c.Objects = nil
		writeObjects(c, all, &tracks)
		tt.spoil(c)
		data, err := pack(c)
		require.NoError(t, err)
		got, err := Decode(data)
		if err != nil || len(got.Faults) != 1 || !errors.Is(got.Faults[0], ErrDamaged) || !tt.left(got) ||
			got.Objects.NextID() != 300 || got.Objects.All()[1].Label != "Ada" {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
	// Ids that would soon be too large are not believed.
	for _, next := range []uint32{0, 7, math.MaxUint32} {
		if got, _, err := readObjects(&checkpointv1.Checkpoint{Marker: &checkpointv1.Marker{NextId: next}}); err != nil || got.NextID() != objects.FirstID {
			t.Errorf("the next id %d: %v, next is %d", next, err, got.NextID())
		}
	}
}

// A layout of more bytes than the largest has is refused before it is decoded.
func TestMuchLayout(t *testing.T) {
	s := &checkpointv1.Zones{Layout: []byte(`{"Zones":[` + strings.Repeat("{},", 2_000_000) + `{}]}`)}
	var err error
	n := memtest.Allocated(func() { _, err = readZones(s) })
	assert.ErrorContains(t, err, "layout: 6000014 bytes; want at most")
	if n > 1<<20 {
		t.Errorf("%d MiB of layout took %d MiB of memory", len(s.Layout)>>20, n>>20)
	}

	name := strings.Repeat("n", limit.MaxName-2)
	var l zones.Layout
	for i := range zones.MaxZones {
		z := zones.Zone{Name: fmt.Sprintf("%s%02d", name, i), By: zones.ByShare, Share: 1.0 / 3, Dwell: math.MaxInt64}
		for k := range zones.MaxPoints {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / zones.MaxPoints)
			z.Polygon = append(z.Polygon, zones.Point{0.5 + sin/3, 0.5 + cos/3})
		}
		l.Zones = append(l.Zones, z)
		l.Lines = append(l.Lines, zones.Line{Name: z.Name, Points: z.Polygon[:2]})
	}
	w, err := zones.New(l)
	require.NoError(t, err)
	data, err := Encode(&Checkpoint{Camera: "gate", Zones: w.Snapshot()})
	require.NoError(t, err)
	c, err := Decode(data)
	if err != nil || len(c.Faults) > 0 || len(c.Zones.Layout.Zones) != zones.MaxZones {
		t.Errorf("the largest: %v, %v", err, c)
	}
	if layout, err := json.Marshal(l); err != nil || len(layout) < maxLayout/3 {
		t.Errorf("the largest has %d bytes, %v; want it near %d", len(layout), err, maxLayout)
	}
}

// Objects that there cannot be are damage.
func TestDecodeObjects(t *testing.T) {
	for name, o := range map[string]*checkpointv1.Object{
		"no id":            {Label: "a"},
		"an id too large":  {Id: math.MaxUint32, Label: "a"},
		"a label of lines": {Id: 1, Label: "a\nb"},
		"no such state":    {Id: 1, Label: "a", State: 3},
		"twice":            {Id: 9, Label: "a"},
	} {
		c := proto.CloneOf(small(t))
		c.Objects = append(c.Objects, &checkpointv1.Object{Id: 9, Label: "b"}, o)
		data, err := pack(c)
		require.NoError(t, err)
		_, err = unpack(data)
		assert.Error(t, err, "%s: no error", name)
	}
}
