package marking

import (
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

// Colours of coats.
var (
	red   = [3]byte{20, 30, 200}
	blue  = [3]byte{200, 40, 30}
	black = [3]byte{10, 10, 10}
)

// wearing is the scene's picture, in which somebody stands in each box, the upper half of whom has a colour
// and the lower one is black.
func (s *scene) wearing(coats map[image.Rectangle][3]byte) {
	bgr := slices.Repeat([]byte{120, 130, 125}, width*height)
	for b, coat := range coats {
		for y := b.Min.Y; y < b.Max.Y; y++ {
			c := coat
			if y > (b.Min.Y+b.Max.Y)/2 {
				c = black
			}
			for x := b.Min.X; x < b.Max.X; x++ {
				copy(bgr[3*(y*width+x):], c[:])
			}
		}
	}
	s.picture.Set(bgr, width, height)
}

func lost(id uint32) tracker.Object {
	return tracker.Object{ID: id, State: tracker.Lost, Label: "somebody"}
}

// begun is a scene in which two walked, in red and in blue, who were lost then, and rest.
func begun(t *testing.T, cfg Config) *scene {
	s := begin(t, cfg)
	s.wearing(map[image.Rectangle][3]byte{box(100): red, box(300): blue})
	for range confirmed + 1 {
		s.look(person(box(100)), person(box(300)))
		s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(300)))
	}
	s.wearing(nil)
	s.observe(lost(FirstID), lost(FirstID+1))
	d := s.decide()
	if !slices.Equal(d.Rest, []uint32{FirstID, FirstID + 1}) || d.Gone != nil || s.m.Len() != 0 {
		t.Fatalf("%+v, %d followed; want both to rest", d, s.m.Len())
	}
	return s
}

// Who is lost is not followed any more, but still there.
func TestRest(t *testing.T) {
	s := begun(t, Config{Keep: 20})
	res := &tracker.Result{Seq: s.seq}
	s.m.Observe(res)
	if len(res.Objects) != 2 || res.Objects[0].State != tracker.Lost || res.Objects[0].Label != "somebody" || !res.Objects[0].Box.Empty() {
		t.Errorf("there are %+v; want both, lost", res.Objects)
	}
	if s.m.Rename(FirstID+5, "x") || !s.m.Rename(FirstID, "Anna") {
		t.Error("not the one that rests is called otherwise")
	}
	s.wearing(map[image.Rectangle][3]byte{box(100): red})
	if d := s.decide(person(box(100))); d.Annotation == nil || d.Annotation.Objects[0].ID != FirstID || d.Annotation.Objects[0].Label != "Anna" {
		t.Errorf("%+v; want who came back, by name", d.Annotation)
	}
	s.observe(visible(FirstID, box(100)))
	s.seq += 30
	if d := s.decide(person(box(100))); !slices.Equal(d.Gone, []uint32{FirstID + 1}) {
		t.Errorf("%v are gone; want who was not seen for too long", d.Gone)
	}
}

// Who comes back is known by what they look like, if that is beyond doubt and they can have come there.
func TestReidentify(t *testing.T) {
	for _, tt := range []struct {
		name  string
		least float64
		coat  [3]byte
		at    int
		class string
		want  uint32
	}{
		{"red", 0, red, 160, "person", FirstID},
		{"blue", 0, blue, 240, "person", FirstID + 1},
		{"neither", 0, black, 160, "person", FirstID + 2},
		{"too far", 0, red, 500, "person", FirstID + 2},
		{"never", 1, red, 160, "person", FirstID + 2},
		{"of another class", 0, red, 160, "dog", FirstID + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := begun(t, Config{Reidentify: tt.least})
			s.wearing(map[image.Rectangle][3]byte{box(tt.at): tt.coat})
			found := person(box(tt.at))
			found.Class = tt.class
			if marked, _, _ := s.look(found); !slices.Equal(marked, []uint32{tt.want}) {
				t.Errorf("marked %v; want %d", marked, tt.want)
			}
		})
	}
}

// Whom another one is in front of looks like both, and what lies on an object in sight is that.
func TestReidentifyOverlapped(t *testing.T) {
	s := begun(t, Config{})
	s.wearing(map[image.Rectangle][3]byte{box(160): red})
	if marked, _, _ := s.look(person(box(160)), person(box(178))); !slices.Equal(marked, []uint32{FirstID + 2, FirstID + 3}) {
		t.Errorf("marked %v; want two new ones", marked)
	}
	s = begun(t, Config{})
	s.wearing(map[image.Rectangle][3]byte{box(160): red})
	s.observe(visible(7, image.Rect(100, 60, 240, 240)))
	if marked, _, _ := s.look(person(box(160))); marked != nil {
		t.Errorf("marked %v; want nothing on what is in sight", marked)
	}
}

// What an object looks like follows what is seen of it.
func TestReidentifyLately(t *testing.T) {
	s := begin(t, Config{})
	for k := range 20 {
		coat := blue
		if k == 0 {
			coat = red
		}
		s.wearing(map[image.Rectangle][3]byte{box(100): coat})
		s.look(person(box(100)))
		s.observe(visible(FirstID, box(100)))
	}
	s.observe(lost(FirstID))
	s.look()
	s.wearing(map[image.Rectangle][3]byte{box(120): blue})
	if marked, _, _ := s.look(person(box(120))); !slices.Equal(marked, []uint32{FirstID}) {
		t.Errorf("marked %v; want whom it was like lately", marked)
	}
}

// Two who look alike are not told apart by guessing.
func TestReidentifyDoubt(t *testing.T) {
	s := begin(t, Config{})
	s.wearing(map[image.Rectangle][3]byte{box(100): red, box(300): red})
	for range confirmed {
		s.look(person(box(100)), person(box(300)))
		s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(300)))
	}
	s.observe(lost(FirstID), lost(FirstID+1))
	s.look()
	s.wearing(map[image.Rectangle][3]byte{box(200): red})
	if marked, _, _ := s.look(person(box(200))); !slices.Equal(marked, []uint32{FirstID + 2}) {
		t.Errorf("marked %v; want a new one", marked)
	}
}

// Those who rest take nobody's place, and come back only where there is one.
func TestRestMaxObjects(t *testing.T) {
	s := begun(t, Config{MaxObjects: 2})
	s.wearing(map[image.Rectangle][3]byte{box(100): black, box(400): black, box(200): red})
	d := s.decide(person(box(100)), person(box(400)))
	if len(d.Annotation.Objects) != 2 || d.Refused != 0 {
		t.Fatalf("%+v; want two new ones", d)
	}
	s.observe(visible(FirstID+2, box(100)), visible(FirstID+3, box(400)))
	if d := s.decide(person(box(200))); d.Annotation != nil || d.Refused != 1 || !s.m.Follows(FirstID) {
		t.Errorf("%+v; want no third one", d)
	}
	// When these are lost, too, the first to be lost are gone.
	for range confirmed {
		s.decide(person(box(100)), person(box(400)))
		s.observe(visible(FirstID+2, box(100)), visible(FirstID+3, box(400)))
	}
	s.observe(lost(FirstID+2), lost(FirstID+3))
	if d := s.decide(); !slices.Equal(d.Gone, []uint32{FirstID, FirstID + 1}) || !slices.Equal(d.Rest, []uint32{FirstID + 2, FirstID + 3}) {
		t.Errorf("%+v; want the first two gone, and the others resting", d)
	}
}

// What a detector is not sure of, and where nothing changes, is nothing, until something does.
func TestStill(t *testing.T) {
	poster := features.Detection{Box: box(100), Class: "person", Score: 0.45}
	s := begin(t, Config{})
	s.wearing(map[image.Rectangle][3]byte{box(100): red})
	for k := range 3 * stillLooks {
		marked, _, gone := s.look(poster)
		switch {
		case k == 0 && !slices.Equal(marked, []uint32{FirstID}):
			t.Fatalf("marked %v; want an object", marked)
		case k >= stillLooks && marked != nil:
			t.Fatalf("look %d: marked %v", k, marked)
		case slices.Contains(gone, FirstID) != (k == stillLooks):
			t.Fatalf("look %d: gone %v", k, gone)
		}
		if k < stillLooks {
			s.observe(visible(FirstID, box(100)))
		} else {
			s.observe()
		}
	}
	sure := poster
	sure.Score = 0.9
	if marked, _, _ := s.look(sure); !slices.Equal(marked, []uint32{FirstID + 1}) {
		t.Errorf("marked %v; want what is certain", marked)
	}
	s.observe()
	s.wearing(nil)
	for range changedLooks {
		s.look()
		s.observe()
	}
	s.wearing(map[image.Rectangle][3]byte{box(100): red})
	if marked, _, _ := s.look(poster); !slices.Equal(marked, []uint32{FirstID + 2}) {
		t.Errorf("marked %v; want a new one where it looked otherwise for long", marked)
	}
}

// What people keep is something, whatever the detector makes of it.
func TestKeptIsNotStill(t *testing.T) {
	s := begin(t, Config{})
	s.wearing(map[image.Rectangle][3]byte{box(100): red})
	for k := range 3 * stillLooks {
		if _, _, gone := s.look(features.Detection{Box: box(100), Class: "person", Score: 0.45}); gone != nil {
			t.Fatalf("look %d: %v is gone", k, gone)
		}
		s.m.Keep(FirstID)
		s.observe(visible(FirstID, box(100)))
	}
}

// Somebody who stands moves a little, and light that changes is no motion.
func TestNotStill(t *testing.T) {
	weak := features.Detection{Box: box(100), Class: "person", Score: 0.45}
	for _, tt := range []struct {
		name  string
		moves bool
		gone  bool
	}{{"moves", true, false}, {"light", false, true}} {
		s := begin(t, Config{})
		ended := false
		for k := range 2 * stillLooks {
			coat := red
			if !tt.moves { // the lamp
				coat[2] -= byte(2 * k)
			}
			at := box(100)
			if tt.moves {
				at = at.Add(image.Pt(2*(k%3), 0))
			}
			s.wearing(map[image.Rectangle][3]byte{at: coat})
			_, _, gone := s.look(weak)
			ended = ended || gone != nil
			s.observe(visible(FirstID, box(100)))
		}
		if ended != tt.gone {
			t.Errorf("%s: gone: %v; want %v", tt.name, ended, tt.gone)
		}
	}
}

// Who comes back is not gone because too many rest: it is others' turn.
func TestRestTooManyAndBack(t *testing.T) {
	s := begin(t, Config{MaxObjects: 3})
	s.wearing(map[image.Rectangle][3]byte{box(100): red, box(300): blue, box(500): blue})
	for range confirmed {
		s.look(person(box(100)), person(box(300)), person(box(500)))
		s.observe(visible(FirstID, box(100)), visible(FirstID+1, box(300)), visible(FirstID+2, box(500)))
	}
	s.observe(lost(FirstID), lost(FirstID+1), lost(FirstID+2))
	s.look()
	s.wearing(map[image.Rectangle][3]byte{box(200): black, box(400): black})
	for range confirmed {
		s.look(person(box(200)), person(box(400)))
		s.observe(visible(FirstID+3, box(200)), visible(FirstID+4, box(400)))
	}
	s.observe(lost(FirstID+3), lost(FirstID+4))
	s.wearing(map[image.Rectangle][3]byte{box(100): red})
	marked, _, gone := s.look(person(box(100)))
	if !slices.Equal(marked, []uint32{FirstID}) || !slices.Equal(gone, []uint32{FirstID + 1}) {
		t.Errorf("marked %v, gone %v; want the first back, and the second, who rests for as long, gone", marked, gone)
	}
}

// Who comes back takes a place that nobody else gets in the same look.
func TestRestBackAndNew(t *testing.T) {
	s := begun(t, Config{MaxObjects: 2})
	s.wearing(map[image.Rectangle][3]byte{box(100): red, box(400): black, box(500): black})
	d := s.decide(person(box(100)), person(box(400)), person(box(500)))
	if len(d.Annotation.Objects) != 2 || d.Annotation.Objects[0].ID != FirstID || d.Annotation.Objects[1].ID != FirstID+2 || d.Refused != 1 {
		t.Errorf("%+v, %d refused; want who is back and one new one", d.Annotation, d.Refused)
	}
}
