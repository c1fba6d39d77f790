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
	c := CameraMotion{vectors: [][2]float64{{0, 0}, {9, 9}, {20, 0}, {0, 20}, {40, 0}}}
	if got := c.agreed(2); got != [2]float64{} {
		t.Errorf("of blocks that do not agree: %v", got)
	}
}

// All of a picture has moved to where it fits, however little contrast it has, but not to where it fits hardly better than nearer by.
func TestMoved(t *testing.T) {
	const width, height, right, down = 40, 24, 3, -2
	for _, tt := range []struct {
		name               string
		contrast, brighter float32
		right, down        int
	}{
		{"the same", 1.2, 0, right, down},
		{"hardly better", 1.2, 0.8, 0, 0},
		{"much contrast", 50, 0.8, right, down},
		{"none", 0, 0, 0, 0},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		before, now := field{width: width, height: height, l: make([]float32, width*height)}, field{width: width, height: height}
		for i := range before.l {
			before.l[i] = tt.contrast * float32(rng.IntN(2))
		}
		for i := range before.l {
			from := (i%width-right+width)%width + (i/width-down+height)%height*width
			now.l = append(now.l, before.l[from]+tt.brighter)
		}
		if r, d := now.moved(&before); r != tt.right || d != tt.down {
			t.Errorf("%s: moved by %d, %d; want %d, %d", tt.name, r, d, tt.right, tt.down)
		}
	}
}

// Its memory is used again.
func TestCameraMotionAllocs(t *testing.T) {
	var c CameraMotion
	pictures := [2]*Thumbnail{street{light: 1}.thumbnail(), street{x: 6, n: 1, light: 1}.thumbnail()}
	n := 0
	step := func() {
		if _, _, ok := c.Step(pictures[n%2], nil); !ok && n > 0 {
			t.Fatal("no motion was measured")
		}
		n++
	}
	if step(); testing.AllocsPerRun(10, step) > 0 {
		t.Error("it allocates")
	}
}
