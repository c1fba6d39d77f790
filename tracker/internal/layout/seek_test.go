package layout

import (
	"math"
	"testing"
)

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
