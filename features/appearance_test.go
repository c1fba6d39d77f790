package features

import (
	"image"
	"math"
	"testing"
)

// Of a box with more cells than an appearance takes it takes some of all of it: the upper half dark, the left half of the lower one
// grey, the rest light.
func TestAppearanceOfLargeBox(t *testing.T) {
	shows := func(side int) Appearance {
		thumbnail := Thumbnail{Cell: 1, Width: side, Height: side, Lab: make([]int16, 3*side*side)}
		for y := side / 2; y < side; y++ {
			for x := range side {
				thumbnail.Lab[3*(y*side+x)] = 40 * LabUnit
				if x >= side/2 {
					thumbnail.Lab[3*(y*side+x)] = 80 * LabUnit
				}
			}
		}
		return thumbnail.Appearance(nil, image.Rect(0, 0, side, side))
	}
	small, large := shows(appearanceSide/2), shows(5*appearanceSide/2)
	sum, apart := 0., 0.
	for i, v := range large {
		sum += float64(v)
		apart += math.Abs(float64(v - small[i]))
	}
	if math.Abs(sum-1) > 1e-3 || apart > .02 {
		t.Errorf("a sum of %.3f, %.3f from a small box of the same", sum, apart)
	}
}
