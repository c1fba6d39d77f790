package hider

import (
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/tracker"
)

// A stranger is hidden from who may not see them, whatever object they pass before, and the object as its name, its owner
// and the exception say.
func TestStrangerBefore(t *testing.T) {
	at := here.Add(image.Pt(4, 6))
	stranger := features.Detection{Class: "person", Score: 0.95, Box: at}
	before := []struct {
		name   string
		object objects.Object
		found  []features.Detection // of the object itself
	}{
		{"nothing", objects.Object{}, nil},
		{"a person", objects.Object{Class: "person", Label: "person", Owner: objects.Detector}, []features.Detection{{Class: "person", Score: 0.9, Box: here}}},
		{"a kept person", objects.Object{Class: "person", Label: "person", Owner: objects.Kept}, []features.Detection{{Class: "person", Score: 0.9, Box: here}}},
		{"a kept person called otherwise", objects.Object{Class: "person", Label: "Ann", Owner: objects.Kept}, []features.Detection{{Class: "person", Score: 0.9, Box: here}}},
		{"who was marked as a person", objects.Object{Label: "person"}, []features.Detection{{Class: "person", Score: 0.9, Box: here}}},
		{"who was marked as somebody", objects.Object{Label: "Ann"}, []features.Detection{{Class: "person", Score: 0.9, Box: here}}},
		{"a car", objects.Object{Class: "car", Label: "car", Owner: objects.Detector}, []features.Detection{{Class: "car", Score: 0.9, Box: here}}},
		{"a kept car", objects.Object{Class: "car", Label: "car", Owner: objects.Kept}, []features.Detection{{Class: "car", Score: 0.9, Box: here}}},
		{"a kept car called a person", objects.Object{Class: "car", Label: "person", Owner: objects.Kept}, nil},
		{"a marked door", objects.Object{Label: "door"}, nil},
		{"what was marked without a name", objects.Object{ID: 7}, nil},
	}
	for _, hide := range []privacy.Config{blurred, grey} {
		for _, except := range []bool{false, true} {
			for _, operators := range []bool{false, true} {
				for _, b := range before {
					cfg := hide
					cfg.ExceptKept, cfg.Operators = except, operators
					name := fmt.Sprintf("%+v, before %s", cfg, b.name)
					w, s := newWalker(cfg), scene{found: b.found}
					if b.object != (objects.Object{}) {
						_, r := person(7, here)
						b.object.ID = 7
						s.objects, s.results = []objects.Object{b.object}, []tracker.Object{r}
					}
					w.show(s)
					for _, s.found = range [][]features.Detection{append([]features.Detection{stranger}, b.found...), append(b.found, stranger)} {
						wantSeen(t, name, w.show(s), at, operators)
						wantSeen(t, name+", again", w.show(s), at, operators)
					}
				}
			}
		}
	}
}

// wantSeen tells which pixels of a box are as they were: for operators, where seen, all, and for others none.
func wantSeen(t *testing.T, name string, c *privacy.Cover, box image.Rectangle, seen bool) {
	t.Helper()
	r, bgr := rand.New(rand.NewPCG(1, 2)), make([]byte, 3*testWidth*testHeight)
	for i := range bgr {
		bgr[i] = byte(r.Uint32())
	}
	for _, operator := range []bool{false, true} {
		got, same := privacy.NewPicture(bgr, c, nil).BGR(operator), 0
		for y := box.Min.Y; y < box.Max.Y; y++ {
			for i := 3 * (y*testWidth + box.Min.X); i < 3*(y*testWidth+box.Max.X); i += 3 {
				if [3]byte(got[i:]) == [3]byte(bgr[i:]) {
					same++
				}
			}
		}
		if want := map[bool]int{true: box.Dx() * box.Dy()}[operator && seen]; same != want {
			t.Errorf("%s: operator %v sees %d pixels; want %d", name, operator, same, want)
		}
	}
}
