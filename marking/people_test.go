package marking

import (
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// What people keep is never gone by itself and is no automatic object, but still of its class and mended.
// What they have marked themselves since is left alone.
func TestKeepObject(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	s.observe(visible(FirstID, box(100)))
	if class, automatic := s.m.Class(FirstID); class != "person" || !automatic || s.m.Automatic() != 1 {
		t.Errorf("class %q, automatic %v, %d of them; want an automatic person", class, automatic, s.m.Automatic())
	}
	if s.m.Keep(99) || !s.m.Keep(FirstID) {
		t.Error("it was not kept, or one that there is not")
	}
	if class, automatic := s.m.Class(FirstID); class != "person" || automatic || s.m.Automatic() != 0 || s.m.Len() != 1 {
		t.Errorf("class %q, automatic %v, %d of them; want a person that is people's", class, automatic, s.m.Automatic())
	}
	for range 10 {
		if marked, _, gone := s.look(); marked != nil || gone != nil {
			t.Fatalf("frame %d: marked %v, gone %v", s.seq, marked, gone)
		}
		s.observe(visible(FirstID, box(100)))
	}
	if marked, _, _ := s.look(person(box(110))); !slices.Equal(marked, []uint32{FirstID}) {
		t.Errorf("marked %v; want it mended", marked)
	}
	s.m.Yield(FirstID)
	s.m.Yield(99)
	if marked, _, gone := s.look(person(box(110))); marked != nil || gone != nil || s.m.Len() != 1 {
		t.Errorf("marked %v, gone %v; want what is people's left alone", marked, gone)
	}
	s.m.Reset([]uint32{7, FirstID}, map[uint32]string{FirstID: "person", 300: "dog"})
	if class, automatic := s.m.Class(FirstID); class != "person" || automatic || s.m.Len() != 2 {
		t.Errorf("after new stages: %q, automatic %v", class, automatic)
	}
	s.observe(hidden(7), visible(FirstID, box(100)))
	if marked, _, _ := s.look(person(box(110))); !slices.Equal(marked, []uint32{FirstID}) {
		t.Errorf("after new stages: marked %v; want it mended", marked)
	}
}

// What people removed is not marked again while it is detected, wherever it walks, and for two looks
// more; what is not of its class, or elsewhere, is.
func TestRemove(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	for k := range 10 {
		s.observe(visible(FirstID, box(100+5*k)))
	}
	s.m.Remove(FirstID, s.seq)
	if s.m.Follows(FirstID) || s.m.Len() != 0 {
		t.Error("it is followed still")
	}
	at := 145
	for k := range 5 {
		at += 40
		for range 10 {
			s.observe()
		}
		found := []features.Detection{person(box(at))}
		if k == 2 || k == 3 {
			found = nil
		}
		if marked, _, _ := s.look(found...); marked != nil {
			t.Fatalf("look %d: marked %v", k, marked)
		}
	}
	dog := person(box(at + 40))
	dog.Class = "dog"
	if marked, _, _ := s.look(dog, person(box(20))); !slices.Equal(marked, []uint32{FirstID + 1, FirstID + 2}) {
		t.Errorf("marked %v; want another class, and another place", marked)
	}
	s.observe(visible(FirstID+1, box(at+40)), visible(FirstID+2, box(20)))
	s.m.Forget(FirstID + 1)
	for range 2 {
		s.look(person(box(20)))
		s.observe(visible(FirstID+2, box(20)))
	}
	if marked, _, _ := s.look(person(box(20)), person(box(at+40))); !slices.Equal(marked, []uint32{FirstID + 2, FirstID + 3}) {
		t.Errorf("marked %v; want what comes there later to be marked", marked)
	}
}

// The places where people removed objects are bounded, and one of people's has no class.
func TestRemoveMany(t *testing.T) {
	s := begin(t, Config{})
	for id := range uint32(3 * maxRemoved) {
		s.observe(visible(id+1, box(100)))
		s.m.Remove(id+1, s.seq)
	}
	if n := len(s.m.removed); n != maxRemoved {
		t.Errorf("%d places; want %d", n, maxRemoved)
	}
	if marked, _, _ := s.look(person(box(100))); marked != nil {
		t.Errorf("marked %v on what people removed", marked)
	}
	s.m.Remove(77777, s.seq) // that there is not
}

// New stages know no automatic objects, and ids go on.
func TestReset(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	s.observe(visible(FirstID, box(100)))
	s.m.Reset([]uint32{7, FirstID + 40}, nil)
	if !s.m.Follows(7) || s.m.Follows(FirstID) || s.m.Len() != 2 {
		t.Errorf("follows %+v; want what it was told", s.m.objects)
	}
	if marked, _, _ := s.look(person(box(100))); !slices.Equal(marked, []uint32{FirstID + 1}) {
		t.Errorf("marked %v; want the next id", marked)
	}
}

// With people's there are as many objects as the tracker has labels, and what does not fit is counted.
func TestMaxFollowed(t *testing.T) {
	s := begin(t, Config{MaxObjects: 100})
	known := make([]uint32, annotation.MaxFollowed-2)
	for k := range known {
		known[k] = uint32(k + 1)
	}
	s.m.Reset(known, nil)
	var found []features.Detection
	for k := range 5 {
		found = append(found, person(box(60*k)))
	}
	if d := s.decide(found...); len(d.Annotation.Objects) != 2 || d.Refused != 3 || s.m.Len() != annotation.MaxFollowed {
		t.Errorf("%d marked, %d refused; want 2 and 3", len(d.Annotation.Objects), d.Refused)
	}
	s = begin(t, Config{MaxObjects: 1})
	if d := s.decide(found...); d.Refused != 4 {
		t.Errorf("%d refused; want 4", d.Refused)
	}
}

// Objects begin where they may, and are marked anywhere.
func TestBegin(t *testing.T) {
	s := begin(t, Config{Begin: func(d features.Detection, w, h int) bool {
		return w == width && h == height && d.Box.Min.X >= 200
	}})
	if marked, _, _ := s.look(person(box(100)), person(box(200))); !slices.Equal(marked, []uint32{FirstID}) {
		t.Fatalf("marked %v; want one", marked)
	}
	s.observe(visible(FirstID, box(190)))
	if marked, boxes, _ := s.look(person(box(178))); !slices.Equal(marked, []uint32{FirstID}) || boxes[0] != box(178) {
		t.Errorf("marked %v in %v; want it where it has gone", marked, boxes)
	}
}

// What an extra look does not show is not gone by that.
func TestLookExtra(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	for range 10 {
		s.observe(visible(FirstID, box(100)))
		if d := s.extra(); d.Gone != nil {
			t.Fatalf("frame %d: %v is gone", s.seq, d.Gone)
		}
	}
	if d := s.extra(person(image.Rect(400, 100, 430, 180))); d.Annotation == nil {
		t.Error("nothing new is marked")
	}
}

// An object that is marked again keeps what it is called by then.
func TestLabel(t *testing.T) {
	s := begin(t, Config{})
	if d := s.decide(person(box(100))); d.Annotation.Objects[0].Label != "person" {
		t.Errorf("a new one is called %q", d.Annotation.Objects[0].Label)
	}
	s.observe(visible(FirstID, box(100)))
	if d := s.decide(person(box(112))); d.Annotation.Objects[0].Label != "" {
		t.Errorf("a known one is called %q anew", d.Annotation.Objects[0].Label)
	}
}

// What is not detected again and goes out of sight soon is not waited for.
func TestConfirm(t *testing.T) {
	for detected := 1; detected <= 3; detected++ {
		s := begin(t, Config{})
		for range detected {
			s.look(person(box(100)))
			s.observe(visible(FirstID, box(100)))
		}
		s.observe(hidden(FirstID))
		if d := s.extra(); d.Gone != nil {
			t.Errorf("detected %d times: gone by an extra look", detected)
		}
		if _, _, gone := s.look(); (len(gone) == 1) != (detected < 3) {
			t.Errorf("detected %d times: gone %v", detected, gone)
		}
	}
}

// What moves is expected where it goes though most frames are dropped.
func TestMovesWithFramesDropped(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	for k := range 6 {
		s.observe(visible(FirstID, box(100+32*k)))
		s.seq += 7
	}
	if marked, _, _ := s.look(person(box(100 + 32*6 + 10))); !slices.Equal(marked, []uint32{FirstID}) {
		t.Errorf("marked %v; want what was 32 pixels away eight frames before", marked)
	}
}

// What is in sight is not marked again by an extra look.
func TestExtraMarks(t *testing.T) {
	for _, tt := range []struct{ extra, visible, marked bool }{
		{false, true, true}, {true, true, false}, {false, false, true}, {true, false, true},
	} {
		s := begin(t, Config{})
		s.look(person(box(100)))
		s.observe(visible(FirstID, box(100)))
		if !tt.visible {
			s.observe(hidden(FirstID))
		}
		decide := s.decide
		if tt.extra {
			decide = s.extra
		}
		if d := decide(person(box(112))); (d.Annotation != nil) != tt.marked || s.m.Len() != 1 {
			t.Errorf("%+v: %+v", tt, d)
		}
	}
}
