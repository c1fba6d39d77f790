package davis

import (
	"math"
	"testing"
)

// False pixels are sorted by their distance from the object, and are shares of its pixels.
func TestFalse(t *testing.T) {
	const w, h = 300, 400 // outlines may be off by 4 pixels
	want, got := make([]uint8, w*h), make([]uint8, w*h)
	fill := func(mask []uint8, x0, y0, x1, y1 int) {
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				mask[y*w+x] = 1
			}
		}
	}
	fill(want, 100, 100, 120, 120) // its size is 20 pixels
	fill(got, 105, 105, 123, 115)  // 3 columns too many
	fill(got, 130, 105, 134, 110)
	fill(got, 200, 300, 210, 310)
	counts := countFalse(got, want, w, h, boundaryReach(w, h))
	if counts != [3]int{30, 20, 100} {
		t.Errorf("%v; want 30 pixels at the outline, 20 near and 100 far", counts)
	}
	if gone := countFalse(got, make([]uint8, w*h), w, h, boundaryReach(w, h)); gone != [3]int{0, 0, 180 + 20 + 100} {
		t.Errorf("%v of an object that is not there; want all far", gone)
	}
	f := falseOf([][3]int{counts, {0, 0, 100}}, []int{400, 0})
	if math.Abs(f.Outline-0.075) > 1e-12 || math.Abs(f.Near-0.05) > 1e-12 || math.Abs(f.Far-0.5) > 1e-12 {
		t.Errorf("%+v; want .075, .05 and .5 of 400 pixels", f)
	}
}
