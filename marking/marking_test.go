package marking

import (
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

const width, height = 640, 480

// scene is a Marker and a tracker that sees what it is told.
type scene struct {
	t   *testing.T
	m   *Marker
	seq uint64

	picture features.Thumbnail // nothing is to be seen unless a test says what
}

func begin(t *testing.T, cfg Config) *scene {
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &scene{t: t, m: m}
}

// box is a person's, 30×80 with its left at x.
func box(x int) image.Rectangle { return image.Rect(x, 100, x+30, 180) }

func person(b image.Rectangle) features.Detection {
	return features.Detection{Box: b, Class: "person", Score: 0.7}
}

func visible(id uint32, b image.Rectangle) tracker.Object {
	return tracker.Object{ID: id, State: tracker.Visible, Box: b}
}

func hidden(id uint32) tracker.Object { return tracker.Object{ID: id, State: tracker.Occluded} }

// look returns the ids that are marked, and their boxes, and those that are gone.
func (s *scene) look(found ...features.Detection) (marked []uint32, boxes []image.Rectangle, gone []uint32) {
	s.t.Helper()
	return s.took(s.decide(found...))
}

// decide is what a look leads to.
func (s *scene) decide(found ...features.Detection) Decision {
	return s.m.Decide(&Look{Seq: s.seq, Width: width, Height: height, Found: found, Thumbnail: &s.picture})
}

// extra is decide of a look before its time.
func (s *scene) extra(found ...features.Detection) Decision {
	return s.m.Decide(&Look{Seq: s.seq, Width: width, Height: height, Found: found, Thumbnail: &s.picture, Extra: true})
}

// took returns what is marked and where, and what is gone.
func (s *scene) took(d Decision) (marked []uint32, boxes []image.Rectangle, gone []uint32) {
	s.t.Helper()
	if d.Annotation != nil {
		if err := d.Annotation.Validate(); err != nil || !d.Annotation.Automatic {
			s.t.Fatalf("annotation %+v: %v; want a valid one of a detector", d.Annotation, err)
		}
		for _, o := range d.Annotation.Objects {
			marked = append(marked, o.ID)
			boxes = append(boxes, image.Rect(int(o.Box[0]), int(o.Box[1]), int(o.Box[2]), int(o.Box[3])))
		}
	}
	return marked, boxes, d.Gone
}

// observe has the tracker see objects in this frame, after which comes the next.
func (s *scene) observe(objects ...tracker.Object) {
	s.m.Observe(&tracker.Result{Seq: s.seq, Width: width, Height: height, Objects: objects})
	s.seq++
}

// What is detected for the first time is a new object; then it is the one that was there, and gets its box
// anew.
func TestNewAndKnown(t *testing.T) {
	s := begin(t, Config{})
	if marked, _, _ := s.look(person(box(100)), person(box(300))); !slices.Equal(marked, []uint32{FirstID, FirstID + 1}) {
		t.Fatalf("marked %v; want two new objects", marked)
	}
	s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(300)))
	want := box(312)
	marked, boxes, _ := s.look(person(want))
	if !slices.Equal(marked, []uint32{FirstID + 1}) || boxes[0] != want {
		t.Errorf("marked %v in %v; want the second in %v", marked, boxes, want)
	}
}

// Of two that overlap a detection the one that does so more gets it.
func TestAssign(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)), person(box(116)))
	s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(116)))
	if marked, _, _ := s.look(person(box(126)), person(box(106))); !slices.Equal(marked, []uint32{FirstID + 1, FirstID}) {
		t.Errorf("marked %v; want each what is nearest", marked)
	}
}

// One of another class is another object.
func TestClasses(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	s.observe(visible(FirstID, image.Rect(100, 100, 110, 180)))
	car := person(box(100))
	car.Class = "car"
	if marked, _, _ := s.look(car); !slices.Equal(marked, []uint32{FirstID + 1}) {
		t.Errorf("marked %v; want a new object", marked)
	}
}

// An object that walks is looked for where it has gone since it was last seen.
func TestMoves(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	for k := range 30 {
		s.observe(visible(FirstID, box(100+10*k)))
	}
	for range 5 {
		s.observe(hidden(FirstID))
	}
	if marked, _, _ := s.look(person(box(100 + 10*35))); !slices.Equal(marked, []uint32{FirstID}) {
		t.Errorf("marked %v; want what was seen 60 pixels before", marked)
	}
}

// What lies on an object in sight is no other one; on the place of one that is out of sight it may be.
func TestCovered(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	s.observe(visible(FirstID, box(100)))
	head := person(image.Rect(100, 100, 130, 115))
	if marked, _, _ := s.look(head); marked != nil {
		t.Errorf("marked %v; want nothing for a part of an object", marked)
	}
	s.observe(hidden(FirstID))
	if marked, _, _ := s.look(head); !slices.Equal(marked, []uint32{FirstID + 1}) {
		t.Errorf("marked %v; want a new object", marked)
	}
}

// What a person marked is left alone, and nothing begins on it.
func TestPersonsObjects(t *testing.T) {
	s := begin(t, Config{Keep: 5})
	for range 10 {
		if marked, _, gone := s.look(person(box(100))); s.seq > 0 && (marked != nil || gone != nil) {
			t.Fatalf("frame %d: marked %v, gone %v; want neither", s.seq, marked, gone)
		} else if s.seq == 0 {
			s.m.objects = nil // there was none yet
		}
		s.observe(visible(7, box(102)))
	}
	for range 10 {
		if _, _, gone := s.look(); gone != nil {
			t.Fatalf("frame %d: %v is gone", s.seq, gone)
		}
		s.observe(visible(7, box(102)))
	}
}

// What has a mask and is not detected any more is gone, but not what was overlooked once or twice.
func TestUndetected(t *testing.T) {
	s := begin(t, Config{})
	s.look(person(box(100)))
	for k, found := range []bool{false, false, true, false, false} {
		s.observe(visible(FirstID, box(100)))
		var detections []features.Detection
		if found {
			detections = append(detections, person(box(100)))
		}
		if _, _, gone := s.look(detections...); gone != nil {
			t.Fatalf("look %d: %v is gone", k, gone)
		}
	}
	s.observe(visible(FirstID, box(100)))
	if _, _, gone := s.look(); !slices.Equal(gone, []uint32{FirstID}) {
		t.Errorf("%v is gone; want the object", gone)
	}
	s.observe()
	if marked, _, _ := s.look(person(box(100))); !slices.Equal(marked, []uint32{FirstID + 1}) {
		t.Errorf("marked %v; want an id that was not used", marked)
	}
}

// What is out of sight waits for as long as it is to be kept.
func TestKeep(t *testing.T) {
	s := begin(t, Config{Keep: 4})
	for range confirmed {
		s.look(person(box(100)))
		s.observe(visible(FirstID, box(100)))
	}
	for range 4 {
		if _, _, gone := s.look(); gone != nil {
			t.Fatalf("frame %d: %v is gone", s.seq, gone)
		}
		s.observe(hidden(FirstID))
	}
	if _, _, gone := s.look(); !slices.Equal(gone, []uint32{FirstID}) {
		t.Errorf("frame %d: %v is gone; want the object", s.seq, gone)
	}
}

// There are only so many objects, whatever a detector finds.
func TestMaxObjects(t *testing.T) {
	s := begin(t, Config{MaxObjects: 3})
	var found []features.Detection
	for k := range 10 {
		found = append(found, person(box(60*k)))
	}
	if marked, _, _ := s.look(found...); len(marked) != 3 {
		t.Errorf("%d objects; want 3", len(marked))
	}
	if _, err := New(Config{MaxObjects: -1}); err == nil {
		t.Error("-1 objects are accepted")
	}
}

// A head in the box of its person is nobody new, nor is a box round somebody that the detector is less sure
// of, whether they are known or new.
func TestNested(t *testing.T) {
	whole := person(box(100))
	head := person(image.Rect(105, 100, 125, 130))
	head.Score = 0.9
	wide := person(image.Rect(96, 96, 146, 184))
	wide.Score = 0.5
	dog := head
	dog.Class = "dog"
	beside := person(box(115))
	for _, tt := range []struct {
		name  string
		found []features.Detection
		known int // of found, who are objects before
		want  int // that are new
	}{
		{"head of one who is known", []features.Detection{whole, head}, 1, 0},
		{"head of one who is new", []features.Detection{whole, head}, 0, 1},
		{"round one who is known", []features.Detection{whole, wide}, 1, 0},
		{"round one who is new", []features.Detection{whole, wide}, 0, 1},
		{"round one the detector is less sure of", []features.Detection{whole, {Box: wide.Box, Class: "person", Score: 0.8}}, 1, 1},
		{"round one who is new, but not first", []features.Detection{wide, whole}, 0, 1},
		{"of another class", []features.Detection{whole, dog}, 1, 1},
		{"half behind", []features.Detection{whole, beside}, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := begin(t, Config{})
			if tt.known > 0 {
				s.look(tt.found[:tt.known]...)
				// Its mask is small by now: what covers an object in sight is nothing new anyway.
				s.observe(visible(FirstID, image.Rect(100, 140, 130, 180)))
			}
			marked, _, _ := s.look(tt.found...)
			fresh := slices.DeleteFunc(marked, func(id uint32) bool { return id < FirstID+uint32(tt.known) })
			if len(fresh) != tt.want {
				t.Errorf("marked %v; want %d new ones", marked, tt.want)
			}
		})
	}
}
