package layout

import (
	"image"
	"math"
	"testing"

	"github.com/segd/segd/tracker/internal/scenetest"
)

// Of two places where something covers the background that is looked for which looks like it, and not the one that
// matches cell by cell a little better: somebody in stripes, whose cells have its colours in the mean.
func TestSeekByLooks(t *testing.T) {
	here := body{60, 90, person, 0}
	s, o := watch(t, here)
	for range 10 {
		s.see([]*Object{o}, here)
	}
	for range seekAfter + 5 {
		s.see([]*Object{o})
	}
	itself, striped := body{60, 90, person, 0}.lit(6), body{170, 90, person, 0}
	s.seq++
	s.f.Look(scenetest.Squares(s.seq, cols, rows, func(x, y int) [3]float64 {
		for _, b := range []body{itself, striped} {
			r := b.box()
			if !image.Pt(x, y).In(r) {
				continue
			}
			c := b.look[min(2, (y-r.Min.Y)*3/r.Dy())]
			if b == striped {
				c[0] += 18 * float64(1-2*(x%2))
			}
			return c
		}
		brick := uint32(x/7)*2654435761 ^ uint32(y/7)*40503*97
		return [3]float64{50 + 40*float64(brick>>7%64)/64, 0, 0}
	}))
	match := func(b body) float64 { return s.f.matchAt(o, b.x, b.y, o.w, o.h, 0) }
	if match(striped) <= match(itself) {
		t.Fatalf("the one in stripes matches by %.2f, the object by %.2f; want a test in which looks decide", match(striped), match(itself))
	}
	x, y, ok := s.f.seek(o, 115, 90, 100)
	if !ok || math.Hypot(x-itself.x, y-itself.y) > 8 {
		t.Errorf("sought at %.0f, %.0f, %t; want %.0f, %.0f", x, y, ok, itself.x, itself.y)
	}
}

// Frames that nobody looked at let nobody come by: what is back after them may look a little different. After as
// many that were looked at it may not.
func TestMissedFramesAreNoDoubt(t *testing.T) {
	here := body{60, 90, person, 0}
	for _, missed := range []bool{true, false} {
		s, o := watch(t, here)
		for range 10 {
			s.see([]*Object{o}, here)
		}
		if missed {
			s.seq += maxAhead - 1
			s.see([]*Object{o})
		} else {
			for range maxAhead {
				s.see([]*Object{o})
			}
		}
		for range backPictures + 2 {
			s.see([]*Object{o}, here.lit(8))
		}
		if o.Found != missed {
			t.Errorf("after %d frames, missed: %t: found %t, similarity %.2f; want %t", maxAhead, missed, o.Found, o.similarity, missed)
		}
	}
}

// What is known of an object and of the background is the same after it was kept; of a faulty one nothing is taken.
func TestKept(t *testing.T) {
	here := body{60, 90, person, 0}
	s, o := watch(t, here)
	for k := range 12 {
		s.see([]*Object{o}, body{60 + float64(2*k), 90, person, 0})
	}
	s.seq += 7
	s.see([]*Object{o})
	other := Object{}
	if err := other.Resume(o.Kept()); err != nil {
		t.Fatal(err)
	}
	if other.missed != 7 || other.unseen != o.unseen || other.x != o.x || other.vx != o.vx || len(other.now) != len(o.now) || other.now[3] != o.now[3] {
		t.Errorf("%+v; want %+v", other, *o)
	}
	other.now[3][0]++
	if other.now[3] == o.now[3] {
		t.Error("they share their colours")
	}
	if (&Object{}).Kept() != nil {
		t.Error("an object is kept of which nothing is known")
	}

	var f Follower
	f.Look(scene(s.seq, 0))
	kept := s.f.Kept()
	if stood, err := f.Resume(kept); err != nil || !stood || !f.background.stands() {
		t.Fatalf("stood %t, %v", stood, err)
	}
	for i, c := range s.f.background.colour {
		got := f.background.colour[i]
		if math.Abs(float64(c[0]-got[0])) > storedL || math.Abs(float64(c[1]-got[1])) > storedAB || math.Abs(float64(c[2]-got[2])) > storedAB {
			t.Fatalf("cell %d is %v; want %v", i, got, c)
		}
	}
	f.Look(scene(s.seq+1, 0))
	if !f.Still() {
		t.Error("the camera does not stand in the next picture")
	}
	f.Look(scene(s.seq+2, 10))
	if f.Still() {
		t.Error("the camera stands though it moved")
	}
	if _, err := (&Follower{}).Resume(kept); err == nil {
		t.Error("a follower that has seen nothing takes it")
	}
}
