package features

import (
	"testing"
	"time"
)

// street is a picture of a textured scene seen from x on, with things that go across it from where they are at n.
type street struct {
	x, n  int
	light float64 // of 1
	empty bool    // without things
	dust  bool    // before most of it
}

const streetWidth, streetHeight = 384, 288

// thumbnail has the things in it, each of a pattern of its own.
func (s street) thumbnail() *Thumbnail {
	bgr := make([]byte, 3*streetWidth*streetHeight)
	grey := func(x, y, seed int) float64 { // tiles of 6 pixels
		v := uint32(x/6)*2654435761 ^ uint32(y/6)*40503 ^ uint32(seed)*97
		v ^= v >> 15
		v *= 2246822519
		return float64(60 + v>>24%120)
	}
	for y := range streetHeight {
		for x := range streetWidth {
			v := grey(x+s.x, y, 0)
			for k := range 6 {
				if left, top := (60*k+s.n*(1+k%2)*3)%streetWidth, 20+40*k; !s.empty && x >= left && x < left+36 && y >= top && y < top+60 {
					v = grey(x-left, y-top, k+1)
				}
			}
			if s.dust && y < streetHeight*9/10 {
				v = grey(x, y, 99)
			}
			v *= s.light
			i := 3 * (y*streetWidth + x)
			bgr[i], bgr[i+1], bgr[i+2] = byte(v), byte(v), byte(v)
		}
	}
	t := new(Thumbnail)
	t.Set(bgr, streetWidth, streetHeight)
	return t
}

// A cut is seen where it is, also if the camera is where it was and only who walks there is another; no other change is one:
// things that move, a camera that pans, before dust too, or turns at once, light that changes, a pause.
func TestCut(t *testing.T) {
	const at, frames = 25, 35
	then := func(change func(s *street, n int)) func(n int) street {
		return func(n int) street {
			s := street{n: n, light: 1}
			change(&s, n)
			return s
		}
	}
	for name, tt := range map[string]struct {
		show  func(n int) street
		pause time.Duration // before the frame
		want  int           // the frame it is seen in; 0: none
	}{
		"nothing":            {then(func(*street, int) {}), 0, 0},
		"a pan":              {then(func(s *street, n int) { s.x = 3 * n }), 0, 0},
		"the light goes out": {then(func(s *street, n int) { s.light = map[bool]float64{false: 1, true: .4}[n >= at] }), 0, 0},
		"a flash":            {then(func(s *street, n int) { s.light = map[bool]float64{false: .6, true: 1}[n == at] }), 0, 0},
		"a pause":            {then(func(s *street, n int) { s.n += map[bool]int{true: 40}[n >= at] }), 5 * time.Second, 0},
		"others walk there":  {then(func(s *street, n int) { s.n += map[bool]int{true: 40}[n >= at] }), 0, at},
		"the camera turns":   {then(func(s *street, n int) { s.x = 70 * max(0, n-at+1) }), 0, 0},
		"dust in a pan":      {then(func(s *street, n int) { s.x, s.empty, s.dust = 70*n, true, n == 9 || n == 12 }), 0, 0},
		"another place":      {then(func(s *street, n int) { s.x = map[bool]int{true: 4000}[n >= at] }), 0, at},
	} {
		var c CutDetector
		var m CameraMotion
		seen := 0
		for n := range frames {
			now := time.Duration(n) * 100 * time.Millisecond
			if n >= at {
				now += tt.pause
			}
			m.Step(tt.show(n).thumbnail(), nil)
			if c.Step(&m, now) {
				if seen != 0 {
					t.Errorf("%s: another cut before frame %d", name, n)
				}
				seen = n
			}
		}
		if seen != tt.want {
			t.Errorf("%s: cut before frame %d; want %d (0: none)", name, seen, tt.want)
		}
	}
}

func BenchmarkCutDetector(b *testing.B) {
	var pictures []*Thumbnail
	for n := range 40 {
		pictures = append(pictures, street{x: 3 * n, n: n, light: 1}.thumbnail())
	}
	var c CutDetector
	var m CameraMotion
	for n := 0; b.Loop(); n++ {
		m.Step(pictures[n%len(pictures)], nil)
		c.Step(&m, time.Duration(n)*40*time.Millisecond)
	}
}
