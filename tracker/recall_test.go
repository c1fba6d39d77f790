package tracker

import (
	"errors"
	"image"
	"testing"

	"github.com/segd/segd/annotation"
)

// An object that was marked in a picture of another time is found where it is now, where it
// was or elsewhere.
func TestRecall(t *testing.T) {
	was := image.Rect(102, 60, 138, 120)
	ann := &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{{
		ID: 1, Label: "guard", Box: []float64{float64(was.Min.X), float64(was.Min.Y), float64(was.Max.X), float64(was.Max.Y)},
	}}}
	for _, tt := range []struct {
		name  string
		now   image.Rectangle
		found bool
	}{
		{"where it was", was, true},
		{"elsewhere", was.Add(image.Pt(-66, 12)), true},
		{"gone", image.Rectangle{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTracker(t, Config{})
			if err := tr.Recall(t.Context(), bands(0, was), ann); err != nil {
				t.Fatal(err)
			}
			var o Object
			for seq := range uint64(30) {
				o = step(t, tr, bands(seq, tt.now), nil).Objects[0]
				if o.State == Visible && (!tt.found || o.Box.Intersect(tt.now).Empty()) {
					t.Fatalf("frame %d: visible in %v; want it in %v: %t", seq, o.Box, tt.now, tt.found)
				}
			}
			if o.ID != 1 || (o.State == Visible) != tt.found || tt.found && o.Box != tt.now {
				t.Errorf("object %d is %v in %v; want it found: %t, in %v", o.ID, o.State, o.Box, tt.found, tt.now)
			}
		})
	}
}

// A frame with the sequence number of a recalled scene is another one.
func TestRecalledSceneIsNoneOfTheCameras(t *testing.T) {
	tr := newTracker(t, Config{})
	box := image.Rect(102, 60, 138, 120)
	outline := annotation.Object{ID: 1, Polygon: []annotation.Point{{102, 60}, {138, 60}, {138, 120}, {102, 120}}}
	if err := tr.Recall(t.Context(), bands(0, box), &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{outline}}); err != nil {
		t.Fatal(err)
	}
	step(t, tr, bands(0, image.Rectangle{}), nil)
	other := annotation.Object{ID: 2, Polygon: []annotation.Point{{30, 30}, {60, 30}, {60, 60}, {30, 60}}}
	step(t, tr, bands(1, image.Rectangle{}), &annotation.Annotation{Frame: new(uint64), Width: 240, Height: 180, Objects: []annotation.Object{other}})
	if n := len(tr.frames.anchors); n != 2 {
		t.Errorf("%d annotated frames after one recalled and one annotated; want 2", n)
	}
}

// Of a picture from before all superpixels are estimated with its objects, which may be anywhere since; of one that is
// annotated now those near them.
func TestWhatIsNearAMark(t *testing.T) {
	box := image.Rect(102, 60, 138, 120)
	ann := &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{{ID: 1, Box: []float64{102, 60, 138, 120}}}}
	tr := newTracker(t, Config{})
	if err := tr.Recall(t.Context(), bands(0, box), ann); err != nil {
		t.Fatal(err)
	}
	if n := len(tr.frames.anchors[0].Belief.Near); n != 0 {
		t.Errorf("recalled: %d of %d are told apart", n, 2*tr.frames.anchors[0].N)
	}
	tr = newTracker(t, Config{})
	step(t, tr, bands(0, box), ann)
	f := tr.frames.anchors[0]
	for _, at := range []struct {
		image.Point
		near bool
	}{{image.Pt(120, 90), true}, {image.Pt(96, 90), true}, {image.Pt(4, 4), false}, {image.Pt(235, 175), false}} {
		if i := f.At(at.X, at.Y); f.Belief.Near[2*i+1] != at.near {
			t.Errorf("annotated: at %v near %t; want %t", at.Point, !at.near, at.near)
		}
	}
}

func TestRecallFaults(t *testing.T) {
	tr := newTracker(t, Config{})
	box := image.Rect(102, 60, 138, 120)
	good := &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{{ID: 1, Box: []float64{102, 60, 138, 120}}}}
	wrong := *good
	wrong.Width = 320
	if err := tr.Recall(t.Context(), bands(0, box), &wrong); !errors.Is(err, annotation.ErrInvalid) {
		t.Errorf("an annotation of another size: %v", err)
	}
	if err := tr.Recall(t.Context(), bands(0, box), good); err != nil {
		t.Fatal(err)
	}
	s, _ := film(t, 0)
	if err := tr.Recall(t.Context(), s, good); !errors.Is(err, annotation.ErrInvalid) {
		t.Errorf("a picture of another size than the one before it: %v", err)
	}
	// The camera's frames are of another size: nothing of it holds there.
	if res := step(t, tr, s, nil); len(res.Objects) != 0 {
		t.Errorf("%d objects; want the object forgotten", len(res.Objects))
	}
}
