package tracker

import (
	"fmt"
	"image"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// bands is a scene of grey bricks and somebody in a box, who is red, green and blue from top to
// bottom, or upside down; nobody if the box is empty.
func bands(seq uint64, box image.Rectangle, upsideDown bool) *features.Scene {
	s := scenetest.Squares(seq, 40, 30, func(x, y int) [3]float64 {
		if image.Pt(x, y).In(box) {
			k := (y - box.Min.Y) * 3 / box.Dy()
			if upsideDown {
				k = 2 - k
			}
			return [3][3]float64{{50, 60, 40}, {60, -50, 40}, {40, 10, -60}}[k]
		}
		brick := uint32(x/7)*2654435761 ^ uint32(y/7)*40503*97
		return [3]float64{50 + 40*float64(brick>>7%64)/64, 0, 0}
	})
	return s
}

// Where an object vanished somebody of its colours in another order is not it, however alike
// the pieces are, in front of a camera that stands; the object itself is.
func TestWholeObject(t *testing.T) {
	tr := newTracker(t, Config{})
	box := image.Rect(102, 60, 138, 120)
	seq := uint64(0)
	show := func(box image.Rectangle, upsideDown bool, ann *annotation.Annotation) *Result {
		seq++
		return step(t, tr, bands(seq, box, upsideDown), ann)
	}
	for range 10 {
		show(image.Rectangle{}, false, nil)
	}
	ann := &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{{
		ID: 1, Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)},
	}}}
	show(box, false, ann)
	for range 10 {
		if o := show(box, false, nil).Objects[0]; o.State != Visible || o.Box.Intersect(box).Dx()*o.Box.Intersect(box).Dy() < box.Dx()*box.Dy()/2 {
			t.Fatalf("frame %d: %v in %v; want it in %v", seq, o.State, o.Box, box)
		}
	}
	for range 5 {
		if o := show(image.Rectangle{}, false, nil).Objects[0]; o.State == Visible {
			t.Fatalf("frame %d: visible in %v; want it out of sight", seq, o.Box)
		}
		if tr.Searching() {
			t.Fatalf("frame %d: other sizes are asked for, which it is not looked for by", seq)
		}
	}
	for range 15 {
		if o := show(box, true, nil).Objects[0]; o.State == Visible {
			t.Fatalf("frame %d: visible in %v; want it out of sight: that is somebody else", seq, o.Box)
		}
	}
	var o Object
	for range 15 {
		o = show(box, false, nil).Objects[0]
	}
	if o.State != Visible || o.Box.Intersect(box).Empty() {
		t.Errorf("%v in %v; want it back in %v", o.State, o.Box, box)
	}
}

// Whoever is marked a while after the picture, in which he walked to and fro, is known as he was
// marked, there still or gone already: somebody who comes where he was last, of his colours in
// another order, is not him.
func TestMarkedLate(t *testing.T) {
	at := func(k int) image.Rectangle {
		x := 20 + 6*k%240
		if x > 140 {
			x = 280 - x
		}
		return image.Rect(x, 60, x+36, 120)
	}
	const late, gone = 64, 5
	for _, there := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d more frames there", there), func(t *testing.T) {
			tr, seq := newTracker(t, Config{}), uint64(0)
			show := func(box image.Rectangle, upsideDown bool, ann *annotation.Annotation) Object {
				seq++
				res := step(t, tr, bands(seq, box, upsideDown), ann)
				if len(res.Objects) == 0 {
					return Object{}
				}
				return res.Objects[0]
			}
			for range 10 {
				show(image.Rectangle{}, false, nil)
			}
			first := seq + 1
			for k := range late {
				show(at(k), false, nil)
			}
			b := at(0)
			ann := &annotation.Annotation{Width: 240, Height: 180, Frame: &first, Objects: []annotation.Object{{
				ID: 1, Box: []float64{float64(b.Min.X), float64(b.Min.Y), float64(b.Max.X), float64(b.Max.Y)},
			}}}
			for k := range there {
				if o := show(at(late+k), false, ann); o.State != Visible || o.Box.Intersect(at(late+k)).Empty() {
					t.Fatalf("frame %d: %v in %v; want it in %v", seq, o.State, o.Box, at(late+k))
				}
				ann = nil
			}
			for range gone {
				show(image.Rectangle{}, false, ann)
				ann = nil
			}
			last := at(late + there)
			for range 20 {
				if o := show(last, true, nil); o.State == Visible {
					t.Fatalf("frame %d: visible in %v; want it out of sight: that is somebody else", seq, o.Box)
				}
			}
			var o Object
			for range 15 {
				o = show(last, false, nil)
			}
			if o.State != Visible || o.Box.Intersect(last).Empty() {
				t.Errorf("%v in %v; want it back in %v", o.State, o.Box, last)
			}
		})
	}
}

// An object that is marked by an outline is as large as that, also where the outline of another
// covers it.
func TestOutlinedWhole(t *testing.T) {
	tr := newTracker(t, Config{})
	outline := func(x0, y0, x1, y1 float64) []annotation.Point {
		return []annotation.Point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
	}
	for seq := range uint64(10) {
		step(t, tr, bands(seq+1, image.Rectangle{}, false), nil)
	}
	step(t, tr, bands(11, image.Rect(102, 60, 138, 120), false), &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{
		{ID: 1, Polygon: outline(102, 60, 138, 120)}, {ID: 2, Polygon: outline(96, 40, 144, 84)},
	}})
	if got, want := tr.whole.seen[0].Box, image.Rect(102, 60, 138, 120); got != want {
		t.Errorf("it is in %v; want %v", got, want)
	}
}
