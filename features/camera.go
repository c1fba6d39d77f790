package features

import (
	"image"
	"math"
	"slices"
)

// How the camera's motion is measured, in thumbnails of half their size: of 192 cells along the longer side.
const (
	motionBlock = 8 // cells a side
	// motionStep is from one block to the next.
	motionStep = 16
	// motionReach is the farthest that a block is looked for: 3 % of the longer side. A camera that pans faster
	// moves, whatever fits there.
	motionReach = 6
	// A block counts from this least eigenvalue of its structure tensor on, in squared units of L a cell (Shi
	// and Tomasi, 1994): one with an edge in one direction alone may lie anywhere along it.
	motionTexture = 2.5
	motionBlocks  = 4 // fewest
)

// StandingMotion is the camera's motion from frame to frame, as a share of the picture's longer side, below which
// it stands: between the 0.0004 of TUD-Campus, where it does, and the 0.0105 of blackswan, the least of DAVIS' eight.
const StandingMotion = 0.002

// A CameraMotion measures how far a camera moves from one picture to the next. One goroutine uses it.
type CameraMotion struct {
	last, now field
	moved     []float64
}

// field is the lightness of an image's cells.
type field struct {
	width, height int
	l             []float32
}

// shrink makes f that of a thumbnail, at half its size.
func (f *field) shrink(t *Thumbnail) {
	f.width, f.height = t.Width/2, t.Height/2
	f.l = grown(f.l, f.width*f.height)
	for y := range f.height {
		for x := range f.width {
			at := func(dx, dy int) float32 { return float32(t.Lab[colours*((2*y+dy)*t.Width+2*x+dx)]) }
			f.l[y*f.width+x] = (at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)) / (4 * LabUnit)
		}
	}
}

// Step takes the next picture's thumbnail. The result is the median over the picture's blocks of how far each has
// moved since the picture before, as a share of its longer side; blocks that skip says are left out, in pixels of the
// image (nil: none). ok is false in the first picture, in one of another size, and where hardly anything has texture.
// Blocks are matched by the least squared difference and then by a step of Lucas and Kanade's (1981).
func (c *CameraMotion) Step(t *Thumbnail, skip func(image.Rectangle) bool) (motion float64, ok bool) {
	c.last, c.now = c.now, c.last
	c.now.shrink(t)
	if c.last.width != c.now.width || c.last.height != c.now.height {
		return 0, false
	}
	c.moved = c.moved[:0]
	const border = motionReach + 1
	cell := 2 * max(1, t.Cell)
	for y := border; y+motionBlock+border <= c.now.height; y += motionStep {
		for x := border; x+motionBlock+border <= c.now.width; x += motionStep {
			if skip != nil && skip(image.Rect(x*cell, y*cell, (x+motionBlock)*cell, (y+motionBlock)*cell)) {
				continue
			}
			if d, ok := c.displacement(y*c.now.width + x); ok {
				c.moved = append(c.moved, d/float64(max(c.now.width, c.now.height)))
			}
		}
	}
	if len(c.moved) < motionBlocks {
		return 0, false
	}
	slices.Sort(c.moved)
	return c.moved[len(c.moved)/2], true
}

// displacement is how many cells the block whose first cell is at has moved; ok is false where it has too little
// texture.
func (c *CameraMotion) displacement(at int) (d float64, ok bool) {
	a, b, width := c.last.l, c.now.l, c.now.width
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
	for v := -motionReach; v <= motionReach; v++ {
		for u := -motionReach; u <= motionReach; u++ {
			if s := difference(a, b, width, at, at+v*width+u, best); s < best {
				dx, dy, best = u, v, s
			}
		}
	}
	var bx, by float64
	for v := range motionBlock {
		for u := range motionBlock {
			i := at + v*width + u
			gx, gy := gradient(a, width, i)
			t := float64(b[i+dy*width+dx] - a[i])
			bx, by = bx+gx*t, by+gy*t
		}
	}
	det := xx*yy - xy*xy
	step := func(v float64) float64 { return math.Max(-1, math.Min(1, v/det)) }
	return math.Hypot(float64(dx)+step(xy*by-yy*bx), float64(dy)+step(xy*bx-xx*by)), true
}

// gradient is that of a at cell i.
func gradient(a []float32, width, i int) (x, y float64) {
	return float64(a[i+1]-a[i-1]) / 2, float64(a[i+width]-a[i-width]) / 2
}

// difference sums the squared differences of a block of a and one of b up, until they are no less than limit.
func difference(a, b []float32, width, at, to int, limit float64) (sum float64) {
	for v := 0; v < motionBlock && sum < limit; v++ {
		p, q := a[at+v*width:][:motionBlock], b[to+v*width:][:motionBlock]
		part := float32(0)
		for u, w := range p {
			part += (q[u] - w) * (q[u] - w)
		}
		sum += float64(part)
	}
	return sum
}
