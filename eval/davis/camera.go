package davis

import (
	"math"

	"github.com/segd/segd/eval/internal/clip"
	"github.com/segd/segd/eval/internal/stats"
)

// How the camera's motion is measured, in pictures shrunk so that their longer side has motionSide pixels.
const (
	motionSide  = 192
	motionBlock = 8 // pixels a side
	// motionReach is the farthest that a block is looked for: 3 % of the longer side. A camera that pans faster
	// moves, whatever fits there.
	motionReach = 6
	// A block counts from this least eigenvalue of its structure tensor on, in squared levels of 255 a pixel (Shi
	// and Tomasi, 1994): one with an edge in one direction alone may lie anywhere along it.
	motionTexture = 16
	motionBlocks  = 8 // fewest
)

var motionPlaces = clip.Disk(motionReach)

// standingMotion is the camera's motion from frame to frame, as a share of the picture's longer side, below which
// it stands: between the 0.0004 of TUD-Campus, where it does, and the 0.0105 of blackswan, the least of DAVIS' eight.
const standingMotion = 0.002

// gauge measures how far the camera moves from one picture to the next.
type gauge struct{ last *clip.Picture }

// step takes the next picture. motion is the median over the blocks away from the object of how far each moves, as
// a share of the longer side; ok is false in the first picture, and where hardly anything has texture. Blocks are
// matched by the least squared difference and then by a step of Lucas and Kanade's (1981).
func (g *gauge) step(p *clip.Picture) (motion float64, ok bool) {
	now := *p
	shrink := math.Max(1, float64(max(p.Width, p.Height))/motionSide)
	now.Shrink(max(1, int(float64(p.Width)/shrink)), max(1, int(float64(p.Height)/shrink)))
	last := g.last
	g.last = &now
	if last == nil || last.Width != now.Width || last.Height != now.Height {
		return 0, false
	}
	a, b := greys(last), greys(&now)
	var moved []float64
	const border = motionReach + 1
	for y := border; y+motionBlock+border <= now.Height; y += motionBlock {
		for x := border; x+motionBlock+border <= now.Width; x += motionBlock {
			if near(last, x, y) || near(&now, x, y) {
				continue
			}
			if d, ok := displacement(a, b, now.Width, y*now.Width+x); ok {
				moved = append(moved, d/float64(max(now.Width, now.Height)))
			}
		}
	}
	return stats.Median(moved), len(moved) >= motionBlocks
}

// near tells whether the object is in the block at (x, y), or beside it.
func near(p *clip.Picture, x, y int) bool {
	for v := y - 1; v <= y+motionBlock; v++ {
		for u := x - 1; u <= x+motionBlock; u++ {
			if p.Truth[v*p.Width+u] != 0 {
				return true
			}
		}
	}
	return false
}

// greys are the pixels' luma (BT.601), row-major.
func greys(p *clip.Picture) []float64 {
	out := make([]float64, p.Width*p.Height)
	for i := range out {
		out[i] = 0.114*float64(p.BGR[3*i]) + 0.587*float64(p.BGR[3*i+1]) + 0.299*float64(p.BGR[3*i+2])
	}
	return out
}

// displacement is how many pixels the block whose first pixel is at moves from a to b, which have rows of width
// pixels; ok is false where it has too little texture.
func displacement(a, b []float64, width, at int) (d float64, ok bool) {
	var xx, xy, yy float64
	for v := range motionBlock {
		for u := range motionBlock {
			gx, gy := gradient(a, width, at+v*width+u)
			xx, xy, yy = xx+gx*gx, xy+gx*gy, yy+gy*gy
		}
	}
	if least := (xx + yy - math.Hypot(xx-yy, 2*xy)) / 2; least < motionTexture*motionBlock*motionBlock {
		return 0, false
	}
	// Of places that fit equally well the one where it was counts.
	dx, dy, best := 0, 0, difference(a, b, width, at, at, math.Inf(1))
	for _, to := range motionPlaces {
		if s := difference(a, b, width, at, at+to[1]*width+to[0], best); s < best {
			dx, dy, best = to[0], to[1], s
		}
	}
	var bx, by float64
	for v := range motionBlock {
		for u := range motionBlock {
			i := at + v*width + u
			gx, gy := gradient(a, width, i)
			t := b[i+dy*width+dx] - a[i]
			bx, by = bx+gx*t, by+gy*t
		}
	}
	det := xx*yy - xy*xy
	step := func(v float64) float64 { return math.Max(-1, math.Min(1, v/det)) }
	return math.Hypot(float64(dx)+step(xy*by-yy*bx), float64(dy)+step(xy*bx-xx*by)), true
}

// gradient is that of a at pixel i.
func gradient(a []float64, width, i int) (x, y float64) {
	return (a[i+1] - a[i-1]) / 2, (a[i+width] - a[i-width]) / 2
}

// difference sums the squared differences of a block of a and one of b up, until they are no less than limit.
func difference(a, b []float64, width, at, to int, limit float64) (sum float64) {
	for v := 0; v < motionBlock && sum < limit; v++ {
		for u := range motionBlock {
			d := b[to+v*width+u] - a[at+v*width+u]
			sum += d * d
		}
	}
	return sum
}

// What Sequence.Camera says.
const standing, moving = "standing", "moving"

// stands decides whether the camera does.
func (s *Sequence) stands() {
	if s.Camera = moving; s.CameraMotion < standingMotion {
		s.Camera = standing
	}
}

// byCamera is the means over the sequences of one kind; nil of none.
func (r *Report) byCamera(kind string) *ByCamera {
	var j, f []float64
	for _, s := range r.Sequences {
		if s.Camera == kind {
			j, f = append(j, s.J), append(f, s.F)
		}
	}
	if j == nil {
		return nil
	}
	return &ByCamera{Sequences: len(j), MeanJ: stats.Mean(j), MeanF: stats.Mean(f)}
}
