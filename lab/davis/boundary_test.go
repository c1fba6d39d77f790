package davis

import (
	"math"
	"testing"
)

// square draws a filled square with its left upper corner at (x, y).
func square(x, y, side int) []uint8 {
	bits := make([]uint8, 200*100)
	for v := y; v < y+side; v++ {
		for u := x; u < x+side; u++ {
			bits[v*200+u] = 1
		}
	}
	return bits
}

func TestBoundaryF(t *testing.T) {
	// The diagonal of 200×100 is 223.6 pixels, so the tolerance is 2.
	none := make([]uint8, 200*100)
	for _, tt := range []struct {
		name      string
		got, want []uint8
		f         float64
	}{
		{"the same", square(30, 30, 40), square(30, 30, 40), 1},
		{"within the tolerance", square(31, 29, 40), square(30, 30, 40), 1},
		{"nothing in common", square(30, 30, 20), square(120, 30, 20), 0},
		{"both empty", none, none, 1},
		{"missed", none, square(30, 30, 40), 0},
		{"invented", square(30, 30, 40), none, 0},
		// All of a 20-pixel square lies 10 pixels inside a 40-pixel one.
		{"far inside", square(40, 40, 20), square(30, 30, 40), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f := boundaryF(tt.got, tt.want, 200, 100, boundaryReach(200, 100)); math.Abs(f-tt.f) > 1e-12 {
				t.Errorf("F = %.4f; want %.4f", f, tt.f)
			}
			if a, b := boundaryF(tt.got, tt.want, 200, 100, boundaryReach(200, 100)), boundaryF(tt.want, tt.got, 200, 100, boundaryReach(200, 100)); a != b {
				t.Errorf("F is %.4f one way and %.4f the other", a, b)
			}
		})
	}
	// A square with one side 10 pixels out: three of its four sides match, and a
	// little of the fourth near the corners.
	wide := square(30, 30, 40)
	for y := 30; y < 70; y++ {
		for x := 70; x < 80; x++ {
			wide[y*200+x] = 1
		}
	}
	if f := boundaryF(wide, square(30, 30, 40), 200, 100, boundaryReach(200, 100)); f < 0.72 || f > 0.82 {
		t.Errorf("F = %.3f with one of four sides off; want about 0.77", f)
	}
}
