package checkpoint

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/track"
	"github.com/segd/segd/tracker"
)

// table is one of every owner, and tracks are theirs.
func table() (objects.Table, track.Snapshot) {
	all := []objects.Object{
		{ID: 3, Label: "of people's", State: tracker.Lost, Told: tracker.Occluded, Appeared: true, Left: true},
		{ID: 256, Label: "Ada", Class: "person", Owner: objects.Detector, State: tracker.Lost, Track: 1, Dormant: true},
		{ID: 257, Label: "person", Class: "person", Owner: objects.Kept, State: tracker.Lost, Track: 4, Appeared: true},
	}
	return objects.Restore(all, 300), track.Snapshot{Time: time.Minute, Next: 5, Tracks: []track.Saved{
		{ID: 1, Class: "person", Box: track.Box{X0: 1, Y0: 2, X1: 3, Y1: 4}, Velocity: [2]float64{5, 6}, Score: 0.5, Unseen: time.Second},
		{ID: 4, Class: "person", Box: track.Box{X0: 1, Y0: 2, X1: 3, Y1: 4}},
	}}
}

// What is kept of objects and tracks is what comes back.
func TestObjects(t *testing.T) {
	want, wantTracks := table()
	c := &checkpointv1.Checkpoint{}
	SetObjects(c, want, wantTracks)
	all, next, tracks, err := Objects(c)
	if err != nil || next != 300 {
		t.Errorf("next %d, %v", next, err)
	}
	if diff := cmp.Diff(want.All(), all, cmpopts.IgnoreUnexported(objects.Object{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(&wantTracks, tracks, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// A track that is not kept may end before it counts.
	SetObjects(c, want, track.Snapshot{Next: 1})
	if all, _, _, err := Objects(c); err != nil || all[1].Track != 0 {
		t.Errorf("%+v, %v; want no track", all[1], err)
	}
}

// Of a faulty state of tracks and owners nothing is taken but which ids were used: the objects are people's.
func TestFaultyObjects(t *testing.T) {
	for name, spoil := range map[string]func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, tr *checkpointv1.Track){
		"an id twice": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			o.Id = s.Objects[2].Id
		},
		"a track of two": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			o.Track = s.Objects[2].Track
		},
		"no such track":     func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Track = 999 },
		"its own, no class": func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Class = "" },
		"a class of lines":  func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Class = "a\nb" },
		"half a box": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Box = tr.Box[:2]
		},
		"no speed": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) { tr.Velocity = nil },
		"half of its looks": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Appearance = []float32{1, 0}
		},
	} {
		c := &checkpointv1.Checkpoint{}
		before, known := table()
		SetObjects(c, before, known)
		spoil(c.Marker, c.Marker.Objects[1], c.Marker.Tracks.Tracks[0])
		all, next, tracks, err := Objects(c)
		if err == nil || next != 300 || tracks != nil || len(all) != 3 || all[1].Owner != objects.People || all[1].Track != 0 || all[1].Label != "Ada" {
			t.Errorf("%s: %+v, next %d, %v, %v", name, all, next, tracks, err)
		}
	}
	// Ids that would soon be too large are not believed.
	for _, next := range []uint32{0, 7, math.MaxUint32} {
		if _, got, _, err := Objects(&checkpointv1.Checkpoint{Marker: &checkpointv1.Marker{NextId: next}}); err != nil || got != objects.FirstID {
			t.Errorf("the next id %d: %v, next is %d", next, err, got)
		}
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
		data, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
