package tracker

import (
	"testing"

	"github.com/segd/segd/annotation"
)

// mixed is a share of the way from one colour to another.
func mixed(a, b [3]uint8, share float64) [3]uint8 {
	var c [3]uint8
	for k := range c {
		c[k] = uint8(float64(a[k]) + share*(float64(b[k])-float64(a[k])))
	}
	return c
}

// An object that changed its colour since it was annotated, went out of sight, and
// comes back somewhere else is known by what it looked like last.
func TestComesBackAsItWasLastSeen(t *testing.T) {
	const fade, hide, stay = 30, 20, 5
	tr := newTracker(t, Config{})
	for i := range uint64(fade + hide + stay) {
		var discs []disc
		switch {
		case i < fade:
			discs = []disc{{40 + 2*float64(i), 60, 22, mixed(red, blue, float64(i)/fade)}}
		case i >= fade+hide:
			discs = []disc{{50, 40, 22, blue}}
		}
		s, truth := film(t, i, discs...)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		o := step(t, tr, s, a).Objects[0]
		if n := len(tr.recall.Remembered()); n > tr.cfg.Memory {
			t.Fatalf("frame %d: %d frames remembered; want at most %d", i, n, tr.cfg.Memory)
		}
		switch {
		case len(discs) == 0 && o.Area > 0:
			t.Fatalf("frame %d: %d pixels of an object that is not there", i, o.Area)
		case i < fade, i >= fade+hide+2:
			if j := iou(o.Mask, truth[0]); j < 0.8 {
				t.Fatalf("frame %d: %s, IoU %.2f; want at least 0.8", i, o.State, j)
			}
		}
	}
}

// What slides before an object and looks like nothing seen before is not the object.
func TestWhatIsNewIsNotTheObject(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(30) {
		discs := []disc{{80, 60, 20, red}}
		if i >= 5 {
			discs = append(discs, disc{-60 + 35*min(4, float64(i)-4), 60, 38, blue})
		}
		if i >= 20 {
			discs = discs[:1]
		}
		s, truth := film(t, i, discs...)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		o := step(t, tr, s, a).Objects[0]
		switch {
		case i >= 8 && i < 20: // covered
			if o.Area > 0 {
				t.Fatalf("frame %d: %s with %d pixels behind the blue disc; want none", i, o.State, o.Area)
			}
		case i < 5 || i > 21:
			if j := iou(o.Mask, truth[0]); j < 0.85 {
				t.Fatalf("frame %d: %s, IoU %.2f in the open; want at least 0.85", i, o.State, j)
			}
		}
	}
}
