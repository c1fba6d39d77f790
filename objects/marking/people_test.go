package marking

import (
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/tracker"
)

// An object that people marked is bound to the track whose box its mask fits: its extent is the track's. It is not
// of what was marked here, and does not end with its track.
func TestBind(t *testing.T) {
	s := begin(t, Config{})
	s.objects = []tracker.Object{
		{ID: 1, State: tracker.Visible, Box: box(101)},
		{ID: 2, State: tracker.Visible, Box: image.Rect(270, 60, 330, 200)}, // more than that person
	}
	s.observe()
	for range 5 {
		s.frame(person(box(100)), person(box(300)))
	}
	if len(s.objects) != 2 || s.extent(1).Empty() || !s.extent(2).Empty() {
		t.Errorf("objects %v, extents %v; want the first bound alone, and nothing to begin on either", s.objects, s.decision.Extents)
	}
	if o, _ := s.table.Get(1); o.Class != "" || o.Owner != objects.People || s.table.Automatic() != 0 {
		t.Errorf("%+v", o)
	}
	for range 120 {
		s.frame(person(box(300)))
		if len(s.gone)+len(s.rested) > 0 {
			t.Fatal("people's object ended by itself")
		}
	}
	if o := s.object(1); o == nil || !s.extent(1).Empty() {
		t.Errorf("%v has extent %v; want it followed without a track", o, s.extent(1))
	}
}

// What people have just marked is bound to a track that fits it less, too.
func TestBindMarked(t *testing.T) {
	for _, marked := range []bool{true, false} {
		s := begin(t, Config{})
		for n := range 5 {
			if n == 2 {
				s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: image.Rect(100, 100, 130, 152)}}
				s.marked = true
			}
			s.frame(person(box(100)))
			if n == 2 && marked {
				s.mark(1)
				if edits := s.m.Bind(s.table, &annotation.Annotation{Objects: []annotation.Object{{ID: 77, Box: []float64{0, 0, 9, 9}}}}, &s.picture); edits != nil {
					t.Errorf("%v of an object that there is not", edits)
				}
			}
		}
		if got := !s.extent(1).Empty(); got != marked {
			t.Errorf("marked %t: bound %t", marked, got)
		}
	}
}

// Who is marked before he is detected has a track from the mark on, which waits a second for a detection.
func TestBindSoonAfterTheMark(t *testing.T) {
	for _, frames := range []int{1, 12} {
		s := begin(t, Config{})
		s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: image.Rect(100, 100, 130, 152)}}
		undetected := person(box(100))
		undetected.Score = 0.05
		other := features.Detection{Box: image.Rect(100, 100, 130, 154), Class: "car", Score: 0.01} // fits better
		s.marked = true
		s.frame(undetected, other)
		s.mark(1)
		s.marked = false
		for range frames {
			s.frame(undetected, other)
			if !s.extent(1).Empty() {
				t.Fatal("an extent without a detection")
			}
		}
		s.frame(person(box(100)), other)
		if got := !s.extent(1).Empty(); got != (frames == 1) {
			t.Errorf("detected %d frames after the mark: bound %t", frames+1, got)
		}
	}
}

// Two persons who are marked where one hides the other, and are detected as one, have a track each when they part: who was in
// front has that of what looks like him.
func TestMarkedAtACrossing(t *testing.T) {
	for _, right := range []bool{true, false} { // goes who was in front
		s := begin(t, Config{})
		front, behind := image.Rect(104, 104, 134, 184), box(100)
		s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: behind}, {ID: 2, State: tracker.Visible, Box: front}}
		s.marked = true
		s.frame(person(front))
		s.mark(1, 2)
		s.marked = false
		for n := range 12 {
			move := 4 * n
			if !right {
				move = -move
			}
			f, b := front.Add(image.Pt(move, 0)), behind.Add(image.Pt(-move, 0))
			if n < 4 {
				s.frame(person(f))
			} else {
				s.frame(person(f), person(b)) // of another colour
			}
		}
		for id, want := range map[uint32]int{1: 100 - 44, 2: 104 + 44} {
			if !right {
				want = map[uint32]int{1: 100 + 44, 2: 104 - 44}[id]
			}
			if got := s.extent(id).Min.X; got < want-12 || got > want+12 {
				t.Errorf("the one in front goes right: %t; object %d is at %d; want %d", right, id, got, want)
			}
		}
	}
}

// What people marked is not bound to a track of a part of it, however soon: a rider with what he rides is more than either.
func TestBindNotToAPart(t *testing.T) {
	for _, before := range []bool{true, false} { // the part is detected before the mark, or after it
		s := begin(t, Config{})
		for n := range 6 {
			if n == 3 {
				s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: image.Rect(95, 90, 140, 190)}}
				s.marked = true
			}
			if before || n > 3 {
				s.frame(person(box(100)))
			} else {
				s.frame()
			}
			if n == 3 {
				s.mark(1)
				s.marked = false
			}
			if !s.extent(1).Empty() {
				t.Errorf("detected before the mark: %t; bound in frame %d", before, n)
			}
		}
	}
}

// bound is a scene with people's object 1, which is bound to the track of a person at 100.
func bound(t *testing.T) *scene {
	t.Helper()
	s := begin(t, Config{})
	s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: box(101)}}
	s.observe()
	for range 5 {
		s.frame(person(box(100)))
	}
	return s
}

// An extent has the very box that was detected in the frame, not where the track expects the person, and none where none was.
func TestExtentsHaveWhatWasDetected(t *testing.T) {
	s := bound(t)
	for i, found := range []image.Rectangle{box(108), box(118), box(131), {}} {
		if found.Empty() {
			s.frame()
		} else {
			s.frame(person(found))
		}
		e := s.decision.Extents
		if len(e) != 1 || e[0].Detected != found || e[0].Box == found {
			t.Errorf("frame %d: extents %v; want %v detected, and the track's own box", i, e, found)
		}
	}
}

// Where its track is lost people's object is followed without one.
func TestLost(t *testing.T) {
	s := bound(t)
	for n := range 20 {
		s.frame()
		e := s.decision.Extents
		if n == 2 && (len(e) != 1 || !e[0].Detected.Empty()) || n == 19 && len(e) != 0 {
			t.Errorf("frame %d: extents %v; want one that is predicted, and then none", n, e)
		}
	}
}

// Once its track has left the picture people's object is nowhere in it, whatever comes, until people mark it again.
func TestLeft(t *testing.T) {
	s := bound(t)
	nowhere := func(m *Marker) bool {
		d := m.Decide(s.table, &Frame{Time: s.now(), Width: width, Height: height, Looked: everywhere, Thumbnail: &features.Thumbnail{}})
		s.n++
		return slices.Contains(d.Extents, tracker.Extent{ID: 1})
	}
	for x := 100; x > -60; x -= 8 {
		if at := box(x).Intersect(image.Rect(0, 0, width, height)); x > 10 {
			s.frame(person(at))
		} else {
			s.frame()
		}
	}
	if !nowhere(s.m) {
		t.Fatalf("extents %v of somebody who left", s.decision.Extents)
	}
	s.object(1).State = tracker.Occluded
	s.observe()
	for range 5 {
		s.frame(person(box(20)))
	}
	if !nowhere(s.m) || s.object(objects.FirstID) == nil {
		t.Errorf("extents %v, objects %v; want who comes to be another", s.decision.Extents, s.objects)
	}
	restored := begin(t, Config{}).m
	if err := restored.Restore(s.m.Snapshot()); err != nil || !nowhere(restored) {
		t.Errorf("%v; after a restart it may be anybody", err)
	}
	s.mark(1)
	if nowhere(s.m) {
		t.Error("it is marked again, and still nowhere")
	}
}

// A track that was looked for in vain for too long is no more, and so is people's object, unless it is in sight without
// it; a pause says nothing of where it is.
func TestForgotten(t *testing.T) {
	for _, tt := range []struct{ seen, pause, gone bool }{{false, false, true}, {true, false, false}, {false, true, false}} {
		s := bound(t)
		if tt.pause {
			s.n += 80
		}
		for range 80 {
			if !tt.seen {
				s.object(1).State = tracker.Occluded
				s.observe()
			}
			s.frame()
		}
		nowhere := slices.Contains(s.decision.Extents, tracker.Extent{ID: 1})
		if o, _ := s.table.Get(1); o.Track != 0 || o.Gone != tt.gone || nowhere != tt.gone {
			t.Errorf("in sight %t, a pause %t: gone %t, nowhere %t, with track %d", tt.seen, tt.pause, o.Gone, nowhere, o.Track)
		}
	}
}

// After a cut people's objects are nowhere, the one without a track for that frame alone, since nothing else tells where
// it may be; what began by itself ends, and what is there begins anew.
func TestCut(t *testing.T) {
	s := bound(t)
	s.objects = append(s.objects, tracker.Object{ID: 2, State: tracker.Visible, Box: image.Rect(300, 300, 330, 330)})
	for range 30 {
		s.frame(person(box(100)), person(box(400)))
	}
	begun := s.object(objects.FirstID)
	if begun == nil {
		t.Fatalf("objects %v; want one that began", s.objects)
	}
	s.cut = true
	s.frame(person(box(104)), person(box(404)))
	for _, id := range []uint32{1, 2} {
		if !slices.Contains(s.decision.Extents, tracker.Extent{ID: id}) {
			t.Errorf("extents %v; want object %d nowhere", s.decision.Extents, id)
		}
	}
	if g := s.gone; len(g) != 1 || g[0].Object.ID != objects.FirstID || g[0].Message != "the scene was cut" {
		t.Errorf("ended: %v; want the one that began", g)
	}
	for range 10 {
		s.frame(person(box(104)), person(box(404)))
	}
	if !slices.Contains(s.decision.Extents, tracker.Extent{ID: 1}) || slices.Contains(s.decision.Extents, tracker.Extent{ID: 2}) {
		t.Errorf("extents %v; want object 1 nowhere, and 2 without one", s.decision.Extents)
	}
	if a, b := s.object(objects.FirstID+1), s.object(objects.FirstID+2); a == nil || b == nil {
		t.Errorf("objects %v; want two that began", s.objects)
	}
}

// Nothing begins on people's object that is followed without its track, which is lost; what it is on becomes its track.
func TestBeginsNotOnLost(t *testing.T) {
	s := bound(t)
	for range 20 {
		s.frame()
	}
	s.object(1).Box = box(500) // as the tracker sees it
	s.observe()
	for range 5 {
		s.frame(person(box(500)))
	}
	if len(s.objects) != 1 {
		t.Errorf("objects %v; want people's alone", s.objects)
	}
	if got := s.extent(1); features.IoU(got, box(500)) < 0.8 {
		t.Errorf("extent %v; want that of the track that its mask fits", got)
	}
}

// Nothing begins where an object that is followed without a track is in more than half of the box, and something does
// where it is in less.
func TestBeginsBesideWhatCoversLess(t *testing.T) {
	for _, covers := range []int{12, 18} { // of 30 columns
		s := begin(t, Config{})
		s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: image.Rect(40, 100, 100+covers, 180)}}
		s.observe()
		for range 3 {
			s.frame(person(box(100)))
		}
		if begun := s.object(objects.FirstID) != nil; begun != (covers < 15) {
			t.Errorf("%d of 30 columns are covered: one begins: %t", covers, begun)
		}
	}
}

// An object that began on people's while they were out of sight, and has no mask since they are back, is theirs: its
// track becomes theirs, and it ends.
func TestOneThingOneObject(t *testing.T) {
	s := begin(t, Config{})
	s.objects = []tracker.Object{{ID: 1, State: tracker.Occluded}}
	s.observe()
	for range 5 {
		s.frame(person(box(100)))
	}
	if s.object(objects.FirstID) == nil {
		t.Fatalf("objects %v; want one that began", s.objects)
	}
	s.object(1).State, s.object(1).Box = tracker.Visible, box(101)
	s.object(objects.FirstID).State = tracker.Occluded
	s.observe()
	s.frame(person(box(100)))
	if g := s.gone; len(g) != 1 || g[0].Object.ID != objects.FirstID || s.extent(1).Empty() {
		t.Errorf("gone %v, extent %v; want %d gone and people's object to have its track", g, s.extent(1), objects.FirstID)
	}
}

// While the camera moves people's objects are bound to nothing: tracks know no zoom.
func TestCameraMoves(t *testing.T) {
	for _, pan := range []int{0, 6} { // pixels a frame
		s := begin(t, Config{})
		s.pan = pan
		s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: box(101)}}
		s.observe()
		for range 10 {
			s.frame(person(box(100)))
		}
		if got := len(s.decision.Extents); (got == 1) != (pan == 0) {
			t.Errorf("%d pixels a frame: %d extents", pan, got)
		}
	}
}

// Where the camera pans what begins by itself is one object, also while it is not detected.
func TestCameraPans(t *testing.T) {
	const pan = 9 // pixels a frame
	s := begin(t, Config{})
	s.pan = pan
	for n := range 24 {
		at := 400 - pan*n
		if n < 9 || n > 14 {
			s.frame(person(box(at)))
		} else {
			s.frame()
		}
		if got := s.extent(objects.FirstID).Min.X; n > 3 && (got < at-3 || got > at+3) || len(s.objects) > 1 {
			t.Errorf("frame %d: the extent begins at %d, objects %v; want one at %d", n, got, s.objects, at)
		}
	}
}

// While the camera moves people's objects are followed without their tracks, and nothing begins on them. Where it stands they are
// where their tracks are, and what is in front of them begins.
func TestBeginsNotOnPeoples(t *testing.T) {
	for _, pan := range []int{0, 6} {
		s := begin(t, Config{})
		van, driver := image.Rect(100, 100, 260, 200), image.Rect(180, 105, 215, 195)
		s.objects = []tracker.Object{{ID: 1, State: tracker.Visible, Box: van}}
		s.observe()
		for range 3 {
			s.frame(features.Detection{Box: van, Class: "car", Score: 0.8})
		}
		if s.extent(1).Empty() {
			t.Fatal("it has no track")
		}
		s.pan = pan
		for range 10 {
			s.frame(features.Detection{Box: van, Class: "car", Score: 0.8}, person(driver))
		}
		if begun := s.object(objects.FirstID) != nil; begun != (pan == 0) {
			t.Errorf("%d pixels a frame: one begins: %t", pan, begun)
		}
	}
}

// While the track of what people marked is not detected nothing begins on its mask, which follows the thing.
func TestBeginsNotOnWhatIsUndetected(t *testing.T) {
	for _, masked := range []bool{true, false} {
		s := bound(t)
		for n := range 4 { // a person is detected 60 pixels from where the track expects it
			found := box(160 + 2*n)
			if masked {
				s.objects[0].Box = found
			}
			s.observe()
			s.frame(person(found))
		}
		if begun := s.object(objects.FirstID) != nil; begun == masked {
			t.Errorf("its mask is there: %t; one begins: %t", masked, begun)
		}
	}
}

// What people keep is never gone by itself and is no automatic object, but still of its class. What they have marked
// themselves since is no more bound to its track, until its mask fits one.
func TestKeepObject(t *testing.T) {
	s := begin(t, Config{})
	for range 5 {
		s.frame(person(box(100)))
	}
	s.apply(objects.Keep{ID: objects.FirstID})
	if o, _ := s.table.Get(objects.FirstID); o.Class != "person" || o.Owner != objects.Kept || s.table.Automatic() != 0 || s.table.Len() != 1 {
		t.Errorf("%+v, %d of them; want a person that is people's", o, s.table.Automatic())
	}
	for range 120 {
		s.frame()
		if len(s.gone)+len(s.rested) > 0 {
			t.Fatal("what people keep ended by itself")
		}
	}
	s.object(objects.FirstID).Box = box(110) // found again by the tracker
	s.object(objects.FirstID).State = tracker.Visible
	s.observe()
	for range 5 {
		s.frame(person(box(110)))
	}
	if len(s.objects) != 1 || s.extent(objects.FirstID).Empty() {
		t.Errorf("objects %v, extents %v; want the same bound again", s.objects, s.decision.Extents)
	}
	s.object(objects.FirstID).Box = image.Rect(80, 60, 140, 200)
	s.observe()
	s.mark(objects.FirstID)
	for range 5 {
		s.frame(person(box(110)))
	}
	if len(s.objects) != 1 || !s.extent(objects.FirstID).Empty() {
		t.Errorf("objects %v, extents %v; want what is people's left alone", s.objects, s.decision.Extents)
	}
	if o, _ := s.table.Get(objects.FirstID); o.Class != "person" || o.Owner != objects.People {
		t.Errorf("marked by people: %+v", o)
	}
}

// What people removed does not begin again while it is tracked; what is forgotten does.
func TestRemove(t *testing.T) {
	s := begin(t, Config{})
	for range 5 {
		s.frame(person(box(100)), person(box(300)))
	}
	s.apply(s.m.Refuse(s.table, "", objects.FirstID, 77777)...) // the second there is not
	s.apply(objects.Remove{ID: objects.FirstID + 1})
	s.objects = nil
	var begun []uint32
	for n := range 30 {
		s.frame(person(box(100+4*n)), person(box(300)))
		begun = append(begun, s.begun...)
	}
	if !slices.Equal(begun, []uint32{objects.FirstID + 2}) {
		t.Errorf("marked %v; want what was forgotten alone", begun)
	}
}

// New stages know where people's objects are: these have the tracks that they had. Of those that were marked
// automatically they know none, and ids go on.
func TestNewStages(t *testing.T) {
	s := bound(t)
	for range 5 {
		s.frame(person(box(100)), person(box(300)))
	}
	s.apply(objects.RemoveAll{Automatic: true}, objects.Lose{}, objects.Recall{Known: []annotation.Object{{ID: 1}}})
	s.objects = []tracker.Object{{ID: 1, State: tracker.Lost}}
	s.frame(person(box(100)), person(box(300)))
	if s.extent(1).Empty() || !slices.Equal(s.begun, []uint32{objects.FirstID + 1}) {
		t.Errorf("extents %v, begun %v; want that of people's object, and one anew", s.decision.Extents, s.begun)
	}
}

// Another Marker knows what is detected where the first one had it, also what is dormant.
func TestRestore(t *testing.T) {
	for _, restore := range []bool{true, false} {
		s := begin(t, Config{})
		for range 10 {
			s.frame(person(box(100)), person(box(300)))
		}
		other := begin(t, Config{})
		other.n = s.n + 5
		if restore {
			if err := other.m.Restore(s.m.Snapshot()); err != nil {
				t.Fatal(err)
			}
			other.table = objects.Restore(s.table.All(), s.table.NextID())
			other.apply(objects.Recall{Known: []annotation.Object{{ID: objects.FirstID + 1}}})
			other.objects = []tracker.Object{{ID: objects.FirstID + 1, State: tracker.Occluded}}
		}
		for range 5 {
			other.frame(person(box(104)), person(box(300)), person(box(450)))
		}
		if !restore { // the ablation: ids begin anew
			if o := other.object(objects.FirstID + 2); o == nil || o.Box.Min.X < 400 {
				t.Errorf("without the snapshot: %v", other.objects)
			}
			continue
		}
		if len(other.objects) != 3 || other.object(objects.FirstID) == nil || other.object(objects.FirstID+1) == nil || other.object(objects.FirstID+2) == nil {
			t.Errorf("%v; want who was there, and one new", other.objects)
		}
		if o := other.object(objects.FirstID); o != nil && o.Box.Min.X > 120 {
			t.Errorf("%v is not where it was", o)
		}
	}
	bad := begin(t, Config{}).m.Snapshot()
	bad.Tracks = append(bad.Tracks, track.Saved{ID: 7})
	if err := begin(t, Config{}).m.Restore(bad); err == nil {
		t.Error("a faulty snapshot was taken")
	}
}
