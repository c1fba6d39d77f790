package marking

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/tracker"
)

// tracked is a scene with two automatic persons and one of people's that has no track.
func tracked(t *testing.T) *scene {
	s := begin(t, Config{})
	s.objects = []tracker.Object{{ID: 3, State: tracker.Visible, Label: "of people's", Box: box(560)}}
	s.observe()
	for range 10 {
		s.frame(person(box(100)), person(box(300)))
	}
	return s
}

// Another Marker knows what is detected where the first one had it, also what the tracker does not follow any more,
// and gives no id twice.
func TestResume(t *testing.T) {
	for _, resume := range []bool{true, false} {
		s := tracked(t)
		other := begin(t, Config{})
		other.n = s.n + 5
		if resume {
			if err := other.m.Resume(s.m.State(), []uint32{3, FirstID + 1}); err != nil {
				t.Fatal(err)
			}
			other.objects = []tracker.Object{{ID: 3, State: tracker.Occluded}, {ID: FirstID + 1, State: tracker.Occluded}}
		}
		for range 5 {
			other.frame(person(box(104)), person(box(300)), person(box(450)))
		}
		if !resume { // the ablation: ids begin anew
			if other.object(FirstID+2) == nil || other.object(3) != nil {
				t.Errorf("without the state: %v", other.objects)
			}
			continue
		}
		if len(other.objects) != 4 || other.object(FirstID) == nil || other.object(FirstID+1) == nil || other.object(FirstID+2) == nil {
			t.Errorf("%v; want who was there, and one new", other.objects)
		}
		if o := other.object(FirstID); o != nil && o.Box.Min.X > 120 {
			t.Errorf("%v is not where it was", o)
		}
	}
}

// What people keep is kept on, and what they have marked themselves stays theirs; neither rests when the
// tracker does not know it.
func TestResumeKeptAndYielded(t *testing.T) {
	s := tracked(t)
	s.m.Keep(FirstID)
	s.m.Yield(FirstID + 1)
	other := begin(t, Config{})
	if err := other.m.Resume(s.m.State(), []uint32{FirstID + 1}); err != nil {
		t.Fatal(err)
	}
	if o := other.m.State().Objects; len(o) != 1 || o[0].Own || o[0].Class != "person" {
		t.Fatalf("%v; want the one of people's that is followed", o)
	}
}

// The state tells all that it is made of, and shares nothing.
func TestStateRoundTrip(t *testing.T) {
	s := tracked(t)
	want := s.m.State()
	other := begin(t, Config{})
	if err := other.m.Resume(want, []uint32{3, FirstID, FirstID + 1}); err != nil {
		t.Fatal(err)
	}
	if got := other.m.State(); !proto.Equal(got, want) || len(want.Objects) != 3 || len(want.Tracks.Tracks) != 2 {
		t.Errorf("%v; want %v", got, want)
	}
}

// Of a faulty state nothing is taken but which ids were used.
func TestResumeFaults(t *testing.T) {
	good := tracked(t).m.State()
	for name, spoil := range map[string]func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, tr *checkpointv1.Track){
		"no id": func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Id = 0 },
		"an id twice": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			o.Id = s.Objects[2].Id
		},
		"an id to come": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Id = s.NextId },
		"a track of two": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			o.Track = s.Objects[2].Track
		},
		"no such track":     func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Track = 999 },
		"its own, no class": func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Class = "" },
		"a label of lines":  func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) { o.Label = "a\nb" },
		"half a box": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Box = tr.Box[:2]
		},
		"no box": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Box[0] = math.NaN()
		},
		"no speed": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) { tr.Velocity = nil },
		"half of its looks": func(_ *checkpointv1.Marker, _ *checkpointv1.MarkedObject, tr *checkpointv1.Track) {
			tr.Appearance = []float32{1, 0}
		},
		"too many": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject, _ *checkpointv1.Track) {
			s.NextId = 5000
			for id := uint32(1000); id < 2000; id++ {
				c := proto.CloneOf(o)
				c.Id, c.Track = id, 0
				s.Objects = append(s.Objects, c)
			}
		},
	} {
		bad := proto.CloneOf(good)
		spoil(bad, bad.Objects[1], bad.Tracks.Tracks[0])
		other := begin(t, Config{})
		other.objects = []tracker.Object{{ID: 9, State: tracker.Visible, Box: box(0)}}
		other.observe()
		followed := []uint32{FirstID}
		for _, o := range bad.Objects {
			followed = append(followed, o.Id)
		}
		if err := other.m.Resume(bad, followed); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := other.m.State(); len(got.Objects) != 1 || got.Objects[0].Id != 9 || got.NextId != bad.NextId {
			t.Errorf("%s: it knows %v; want what it knew, and which ids were used", name, got)
		}
	}
	// Ids that would soon be too large are not believed.
	for _, next := range []uint32{0, 7, math.MaxUint32} {
		other := begin(t, Config{})
		if err := other.m.Resume(&checkpointv1.Marker{NextId: next}, nil); err != nil || other.m.nextID != FirstID {
			t.Errorf("the next id %d: %v, next is %d", next, err, other.m.nextID)
		}
	}
}
