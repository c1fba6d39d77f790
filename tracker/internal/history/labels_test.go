package history

import (
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/tracker/internal/scenetest"
)

func pixels(l Labels) (all []uint8) {
	for k, v := range l.values {
		all = append(all, slices.Repeat([]uint8{v}, int(l.runs[k]))...)
	}
	return all
}

func TestLabels(t *testing.T) {
	var h History
	s := scenetest.Squares(1, 3, 1, nil) // 18×6 pixels
	var marks []uint8
	for range 6 {
		marks = append(marks, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	h.Keep(s, photoOf(s), marks, 1<<20)
	before := h.bytes
	shown := h.Labels(0).Clone()
	if box, area := shown.Extent(2, s.Width); box != image.Rect(6, 0, 10, 6) || area != 24 {
		t.Errorf("label 2: %d pixels in %v", area, box)
	}
	y := []int32{9, 9, 9}
	if shown.Superpixels(y, s.Patches[0].Labels); !slices.Equal(y, []int32{1, 2, 0}) {
		t.Errorf("superpixels: %v; want 1 2 0", y)
	}
	h.DropLabel(1)
	if h.Labels(0).Superpixels(y, s.Patches[0].Labels); !slices.Equal(y, []int32{0, 1, 0}) {
		t.Errorf("without label 1: %v", y)
	}
	for label, want := range []bool{true, true, false} {
		if got := h.Labels(0).Show(int32(label)); got != want {
			t.Errorf("label %d is shown: %t", label, got)
		}
	}
	if !shown.Show(2) {
		t.Error("a clone changes with the history")
	}
	h.Relabel(0, slices.Repeat([]uint8{3}, len(marks)))
	if h.Labels(0).Superpixels(y, s.Patches[0].Labels); !slices.Equal(y, []int32{3, 3, 3}) || h.bytes != before {
		t.Errorf("labelled again: %v, %d bytes; want %d", y, h.bytes, before)
	}
	if h.DropLabels(); !h.Labels(0).None() || h.Labels(0).Show(0) {
		t.Error("labels are left")
	}
}

// Runs end at their longest, and go on in the next row.
func TestLongRuns(t *testing.T) {
	const width, height = 640, 360
	marks := make([]uint8, width*height)
	for p := 3*width + 600; p < 5*width+20; p++ {
		marks[p] = 4
	}
	var l Labels
	for range 2 { // in the memory of the first
		l.set(marks)
	}
	if !slices.Equal(pixels(l), marks) {
		t.Error("other labels come out")
	}
	if box, area := l.Extent(4, width); box != image.Rect(0, 3, width, 6) || area != 2*width-580 {
		t.Errorf("%d pixels in %v", area, box)
	}
	if box, area := l.Extent(5, width); !box.Empty() || area != 0 {
		t.Errorf("a label that is not there: %d pixels in %v", area, box)
	}
}
