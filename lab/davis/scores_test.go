package davis

import (
	"math"
	"testing"
)

// The first frame and the last do not count: there the masks are empty.
func TestScores(t *testing.T) {
	const width, height = 40, 30 // outlines may be off by a pixel
	square := func(left, size int) []uint8 {
		m := make([]uint8, width*height)
		for y := 5; y < 5+size; y++ {
			for x := left; x < left+size; x++ {
				m[y*width+x] = 7
			}
		}
		return m
	}
	var s Scores
	for _, got := range [][]uint8{square(0, 0), square(4, 10), square(9, 10), square(0, 0)} {
		s.Add(got, square(4, 10), width, height)
	}
	j, f := s.Mean()
	// The second square covers half of the first: J is 1/3.
	if want := (1 + 1./3) / 2; math.Abs(j-want) > 1e-12 {
		t.Errorf("J is %g; want %g", j, want)
	}
	if want := (1 + boundaryF(square(9, 10), square(4, 10), width, height, boundaryReach(width, height))) / 2; f != want || f <= 0.5 || f >= 1 {
		t.Errorf("F is %g; want %g", f, want)
	}
}
