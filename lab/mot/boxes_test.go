package mot

import (
	"image"
	"testing"

	"github.com/segd/segd/tracker"
)

// An extent counts while its object is hidden, too; a mask's box only while it is in sight.
func TestBoxes(t *testing.T) {
	box, extent := image.Rect(10, 10, 20, 30), image.Rect(8, 10, 22, 50)
	for _, tt := range []struct {
		name           string
		object         tracker.Object
		extents, masks image.Rectangle
	}{
		{"with a track", tracker.Object{State: tracker.Visible, Box: box, Extent: extent}, extent, box},
		{"without", tracker.Object{State: tracker.Visible, Box: box}, box, box},
		{"hidden", tracker.Object{State: tracker.Occluded, Extent: extent}, extent, image.Rectangle{}},
		{"hidden without a track", tracker.Object{State: tracker.Occluded, Box: box}, image.Rectangle{}, image.Rectangle{}},
	} {
		if a, b := Extents.of(&tt.object), Masks.of(&tt.object); a != tt.extents || b != tt.masks {
			t.Errorf("%s: extent %v, mask %v; want %v, %v", tt.name, a, b, tt.extents, tt.masks)
		}
	}
	for _, b := range []Boxes{Extents, Masks} {
		if got, err := ParseBoxes(b.String()); err != nil || got != b {
			t.Errorf("%v is read as %v, %v", b, got, err)
		}
	}
	if _, err := ParseBoxes("all"); err == nil {
		t.Error("boxes of any name are taken")
	}
}

// A person is followed by the boxes that are asked for.
func TestTrackBoxes(t *testing.T) {
	truth := parse(t, "1,7,1,1,20,60,1", "2,7,1,1,20,60,1", "3,7,1,1,20,60,1")
	results := []*tracker.Result{
		2: {Objects: []tracker.Object{{ID: 1, State: tracker.Visible, Box: image.Rect(0, 0, 20, 15), Extent: image.Rect(0, 0, 20, 60)}}},
		3: {Objects: []tracker.Object{{ID: 1, State: tracker.Occluded, Extent: image.Rect(2, 0, 22, 60)}}},
	}
	for b, want := range []Object{
		Extents: {ID: 7, Marked: 1, Present: 2, Right: 2},
		Masks:   {ID: 7, Marked: 1, Present: 2, False: 1, Missed: 2},
	} {
		tr := track{person: person{id: 7, number: 1, mark: 1}, boxes: Boxes(b), truth: truth.boxes[7]}
		tr.note(2, results[2])
		tr.note(3, results[3])
		if got := tr.object([]int{1, 2, 3}, 0); got != want {
			t.Errorf("by %v: %+v; want %+v", Boxes(b), got, want)
		}
	}
}
