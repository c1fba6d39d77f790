package features

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The shift is the camera's, however many things move otherwise: of a slow pan, a jerk, and a camera that stands.
func TestCameraShift(t *testing.T) {
	for _, pan := range []int{0, 6, -50} {
		var c CameraMotion
		rng := rand.New(rand.NewPCG(1, 1))
		for n := range 4 {
			picture := street{x: pan * n, n: n, light: 1}.thumbnail()
			for i := range picture.Lab {
				picture.Lab[i] += int16(rng.NormFloat64() * 2 * LabUnit)
			}
			_, got, ok := c.Step(picture, nil)
			// Noise moves nothing: where the camera stands the shift is 0.
			if want := -float64(pan); n > 0 && (!ok || math.Hypot(got[0]-want, got[1]) > 1.5 || pan == 0 && got != [2]float64{}) {
				t.Errorf("a pan by %d, frame %d: %v, %t", pan, n, got, ok)
			}
		}
	}
	if got := agreed([][2]float64{{0, 0}, {9, 9}, {20, 0}, {0, 20}, {40, 0}}, 2); got != [2]float64{} {
		t.Errorf("of blocks that do not agree: %v", got)
	}
}
