package marking

import (
	"image"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/tracker"
)

// resumed is a scene after s with another Marker, which knows what that of s did if resume is true.
func resumed(t *testing.T, s *scene, cfg Config, resume bool, followed ...uint32) *scene {
	t.Helper()
	other := begin(t, cfg)
	other.seq, other.picture = s.seq+50, s.picture
	if !resume {
		return other
	}
	if err := other.m.Resume(s.m.State(), followed); err != nil {
		t.Fatal(err)
	}
	return other
}

// Another Marker knows what is detected where the first one had it, gives no id twice, and knows by its looks
// what the tracker does not follow any more.
func TestResume(t *testing.T) {
	for _, resume := range []bool{true, false} {
		s := begin(t, Config{})
		s.wearing(map[image.Rectangle][3]byte{box(100): red, box(300): blue})
		for range confirmed + 1 {
			s.look(person(box(100)), person(box(300)))
			s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(300)))
		}
		// The second one is followed on; the first comes back elsewhere.
		s = resumed(t, s, Config{}, resume, FirstID+1)
		if got := s.m.Len(); resume && got != 1 {
			t.Errorf("%d are followed; want 1, and one at rest", got)
		}
		s.observe(visible(FirstID+1, box(300)))
		if !resume { // the ablation: for it nothing is known but what the tracker follows
			if ids, _, _ := s.look(person(box(160))); !slices.Equal(ids, []uint32{FirstID}) {
				t.Errorf("without the state %v begin; want an id that was used", ids)
			}
			continue
		}
		if class, automatic := s.m.Class(FirstID + 1); class != "person" || !automatic {
			t.Errorf("the one that is followed is %q, automatic %t", class, automatic)
		}
		s.wearing(map[image.Rectangle][3]byte{box(160): red, box(300): blue, box(500): {20, 200, 20}})
		if ids, _, gone := s.look(person(box(160)), person(box(300)), person(box(500))); !slices.Equal(ids, []uint32{FirstID, FirstID + 1, FirstID + 2}) || gone != nil {
			t.Errorf("marked %v, gone %v; want who is back, who was there, and a new one", ids, gone)
		}
	}
}

// What people keep is kept on, and what they have marked themselves stays theirs; neither rests when the
// tracker does not know it.
func TestResumeKeptAndYielded(t *testing.T) {
	s := begin(t, Config{})
	for range confirmed + 1 {
		s.look(person(box(100)), person(box(300)), person(box(500)))
		s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(300)), visible(FirstID+2, box(500)), visible(7, box(0)))
	}
	s.m.Keep(FirstID)
	s.m.Keep(FirstID + 1)
	s.m.Yield(FirstID + 2)
	s = resumed(t, s, Config{}, true, FirstID, FirstID+2, 7)
	want := s.m.State()
	if len(want.Objects) != 3 || !want.Objects[0].Kept || want.Objects[1].Own || want.Objects[2].Id != 7 || want.Objects[2].Own {
		t.Fatalf("%v; want one kept and two of people's", want.Objects)
	}
	s.observe(visible(FirstID, box(100)), visible(FirstID+2, box(500)), visible(7, box(0)))
	for range maxUndetected + 2 { // nothing of it ends by itself
		if _, _, gone := s.look(); gone != nil {
			t.Fatalf("%v are gone", gone)
		}
		s.observe(visible(FirstID, box(100)), visible(FirstID+2, box(500)), visible(7, box(0)))
	}
}

// The state says it all of what it tells, and shares nothing.
func TestStateRoundTrip(t *testing.T) {
	s := begun(t, Config{})
	s.observe(tracker.Object{ID: 3, State: tracker.Occluded, Label: "of people's", Box: box(50)})
	want := s.m.State()
	other := begin(t, Config{})
	if err := other.m.Resume(want, []uint32{3}); err != nil {
		t.Fatal(err)
	}
	if got := other.m.State(); !proto.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	want.Objects[0].Looks[0]++
	if s.m.objects[0].looks[0] == want.Objects[0].Looks[0] || other.m.objects[0].looks[0] == want.Objects[0].Looks[0] {
		t.Error("they share what it looks like")
	}
}

// Of a faulty state nothing is taken but which ids were used.
func TestResumeFaults(t *testing.T) {
	s := begun(t, Config{})
	good := s.m.State()
	for name, spoil := range map[string]func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject){
		"no id":             func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Id = 0 },
		"an id twice":       func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Id = s.Objects[1].Id },
		"an id to come":     func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Id = s.NextId },
		"no such state":     func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.State = 3 },
		"half a box":        func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Box = o.Box[:2] },
		"half of its looks": func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Looks = o.Looks[1:] },
		"looks of nothing":  func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Looks[0] = float32(math.NaN()) },
		"looks of more":     func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Looks[0] = float32(math.Inf(1)) },
		"no speed":          func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Vx = math.NaN() },
		"any speed":         func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Vy = math.Inf(-1) },
		"fewer than none":   func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Undetected = -1 },
		"detected too much": func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Detected = math.MaxInt32 },
		"its own, no class": func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Class = "" },
		"a label of lines":  func(_ *checkpointv1.Marker, o *checkpointv1.MarkedObject) { o.Label = "a\nb" },
		"too many": func(s *checkpointv1.Marker, o *checkpointv1.MarkedObject) {
			s.NextId = 5000
			for id := uint32(1000); id < 2000; id++ {
				c := proto.CloneOf(o)
				c.Id = id
				s.Objects = append(s.Objects, c)
			}
		},
	} {
		bad := proto.CloneOf(good)
		spoil(bad, bad.Objects[0])
		other := begin(t, Config{})
		other.observe(visible(9, box(0)))
		if err := other.m.Resume(bad, []uint32{FirstID}); err == nil {
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

// Who was in sight, and is in no picture that the tracker could learn him from, is known again at the next look by
// where he is expected, whatever he looks like; after that he rests as any other.
func TestResumeAwaited(t *testing.T) {
	for _, at := range []int{0, 1} { // looks
		s := begin(t, Config{Reidentify: 1}) // nobody is known by looks
		for range confirmed + 1 {
			s.look(person(box(100)))
			s.observe(visible(FirstID, box(100)))
		}
		other := begin(t, Config{Reidentify: 1})
		other.seq = s.seq + 5
		if err := other.m.Resume(s.m.State(), nil); err != nil {
			t.Fatal(err)
		}
		for range at {
			other.look()
			other.observe()
		}
		want := []uint32{FirstID + uint32(at)}
		if ids, _, _ := other.look(person(box(104))); !slices.Equal(ids, want) {
			t.Errorf("look %d: %v are marked; want %v", at, ids, want)
		}
	}
}
