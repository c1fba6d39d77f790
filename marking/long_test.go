package marking

import (
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

// walker is somebody in the picture.
type walker struct {
	x, speed, hidden int // hidden for so many looks
	coat             [3]byte
}

func (w *walker) there() bool { return w.hidden <= 0 && w.x >= 0 && w.x+30 <= width }

// In a long time, in which many come, go, come back and are overlooked, and posters come and go, each object
// that was begun is gone once or still there, and what is kept of them is bounded.
func TestLongRun(t *testing.T) {
	const most, looks = 3, 700
	s := begin(t, Config{MaxObjects: most, Keep: 60})
	rng := rand.New(rand.NewPCG(1, 2))
	coats := [][3]byte{red, blue, black, {40, 200, 40}, {30, 220, 220}}
	var walkers []*walker
	of := map[uint32]*walker{} // what the tracker follows; nil for what nobody is
	gone := map[uint32]bool{}
	next, back, refused := uint32(FirstID), 0, 0
	for look := range looks {
		for len(walkers) < most+1 {
			walkers = append(walkers, &walker{x: rng.IntN(width - 30), speed: rng.IntN(9) - 4, coat: coats[rng.IntN(len(coats))]})
		}
		people := map[image.Rectangle][3]byte{}
		var found []features.Detection
		for _, w := range walkers {
			w.x += w.speed
			if w.hidden--; w.there() && rng.IntN(12) == 0 {
				w.hidden = 2 + rng.IntN(14)
			}
			if w.there() {
				people[box(w.x)] = w.coat
				if rng.IntN(4) > 0 {
					found = append(found, person(box(w.x)))
				}
			}
		}
		if look%20 == 0 { // the picture of the rest is the one before: then nothing has changed
			poster := image.Rect(0, 300, 30, 380).Add(image.Pt(look%600, 0))
			people[poster] = coats[look/20%len(coats)]
		}
		s.wearing(people)
		for x := 0; x < 600; x += 60 {
			if look/80%10 == x/60 { // taken for somebody where there is nothing
				b := image.Rect(x, 400, x+30, 470)
				found = append(found, features.Detection{Box: b, Class: "person", Score: 0.45})
			}
		}
		d := s.decide(found...)
		refused += d.Refused
		for _, id := range d.Gone {
			if gone[id] || id < FirstID || id >= next {
				t.Fatalf("look %d: %d is gone twice, or was never there", look, id)
			}
			gone[id] = true
		}
		for _, id := range slices.Concat(d.Gone, d.Rest) {
			delete(of, id)
		}
		if d.Annotation != nil {
			for _, o := range d.Annotation.Objects {
				_, followed := of[o.ID]
				switch {
				case gone[o.ID]:
					t.Fatalf("look %d: %d is marked, but gone", look, o.ID)
				case o.ID == next:
					next++
				case !followed:
					back++
				}
				of[o.ID] = nil
				for _, w := range walkers {
					if box(w.x).Min.X == int(o.Box[0]) && o.Box[1] == 100 {
						of[o.ID] = w
					}
				}
			}
		}
		res := &tracker.Result{Seq: s.seq}
		for id, w := range of {
			if w != nil && w.there() && slices.Contains(walkers, w) {
				res.Objects = append(res.Objects, visible(id, box(w.x)))
			} else {
				res.Objects = append(res.Objects, lost(id))
			}
		}
		slices.SortFunc(res.Objects, func(a, b tracker.Object) int { return int(a.ID) - int(b.ID) })
		s.m.Observe(res)
		s.seq += 5
		if rng.IntN(20) == 0 { // for good
			walkers = slices.Delete(walkers, 0, 1)
		}
		if begun := int(next - FirstID); begun != len(gone)+len(res.Objects) {
			t.Fatalf("look %d: %d objects were begun; %d are gone and %d left", look, begun, len(gone), len(res.Objects))
		}
		if n := len(s.m.objects); n > 2*most || cap(s.m.objects) > 8*most || s.m.Len() > most {
			t.Fatalf("look %d: %d objects are kept in room for %d, %d followed; want %d at most, half of them followed", look, n, cap(s.m.objects), s.m.Len(), 2*most)
		}
		if len(s.m.still) > maxStill || len(s.m.removed) > 0 {
			t.Fatalf("look %d: %d places where nothing is, %d where people removed something", look, len(s.m.still), len(s.m.removed))
		}
	}
	if begun := int(next - FirstID); begun < 50 || back < 5 || refused == 0 {
		t.Errorf("%d objects were begun, %d came back, %d were refused; want more", begun, back, refused)
	}
}

// Of the places where nothing is, the oldest is forgotten when there are too many.
func TestStillBounded(t *testing.T) {
	s := begin(t, Config{})
	at := func(k int) image.Rectangle {
		return image.Rect(0, 0, 30, 30).Add(image.Pt(40*(k%15), 40*(k/15)))
	}
	places := map[image.Rectangle][3]byte{}
	for k := range maxStill + 10 {
		places[at(k)] = red
	}
	s.wearing(places)
	for k := range maxStill + 10 {
		for range stillLooks + 1 {
			s.look(features.Detection{Box: at(k), Class: "person", Score: 0.45})
			if o := s.m.objects; len(o) > 0 {
				s.observe(visible(o[0].id, at(k)))
			} else {
				s.observe()
			}
		}
	}
	if n := len(s.m.still); n != maxStill || s.m.still[0].box != at(10) {
		t.Errorf("%d places, the first at %v; want %d from %v on", n, s.m.still[0].box, maxStill, at(10))
	}
}
