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
	// motionReach is the farthest that a block is looked for from where the whole picture fits best: 3 % of the longer side.
	motionReach = 6
	// coarseCells is how many cells a side are one where the whole picture is fitted, and coarseReach how many of these it may
	// have moved: a quarter of the longer side.
	coarseCells = 4
	coarseReach = 12
	// coarseGain is by how much a farther place has to fit better than a nearer one, in units of L and beside one of noise: what
	// repeats itself, such as a fence, fits in many.
	coarseGain = .7
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
	last, now       field
	lastAll, nowAll field // coarse
	right, down     int   // how far the picture was shifted, in cells
	moved           []float64
	vectors         [][2]float64
	near            [2][]float64 // of them, right and down: what agreed compares
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

// coarsen makes f the mean of each coarseCells × coarseCells cells.
func (f *field) coarsen(fine *field) {
	f.width, f.height = fine.width/coarseCells, fine.height/coarseCells
	f.l = grown(f.l, f.width*f.height)
	for i := range f.l {
		sum, at := float32(0), i/f.width*coarseCells*fine.width+i%f.width*coarseCells
		for v := range coarseCells {
			for _, l := range fine.l[at+v*fine.width:][:coarseCells] {
				sum += l
			}
		}
		f.l[i] = sum / (coarseCells * coarseCells)
	}
}

// moved is how many cells all of f has moved since an earlier one, right and down: what has the least mean difference, the
// nearer where the farther fits hardly better.
func (f *field) moved(before *field) (right, down int) {
	limit := math.Inf(1) // which the mean difference of a better place is below
	reach := min(coarseReach, f.width/2, f.height/2)
	for r := 0; r <= reach && limit > 0; r++ {
		for v := -r; v <= r; v++ {
			for u := -r; u <= r; u++ {
				if max(u, -u, v, -v) != r {
					continue
				}
				sum, mean := float32(0), 0.
				left, width := max(0, -u), f.width-max(u, -u)
				cells := float64(width * (f.height - max(v, -v)))
				for y := max(0, -v); y < f.height-max(0, v) && mean < limit; y++ {
					a, b := before.l[y*f.width+left:][:width], f.l[(y+v)*f.width+left+u:][:width]
					for k, l := range a {
						sum += max(l-b[k], b[k]-l)
					}
					mean = float64(sum) / cells
				}
				if mean < limit {
					right, down, limit = u, v, coarseGain*(mean+1)-1
				}
			}
		}
	}
	return right, down
}

// Step takes the next picture's thumbnail. The results are how far the median of the picture's blocks has moved since the
// picture before, as a share of its longer side, and the shift that most of them agree on, in pixels of the image, right and
// down; 0 where that is less than StandingMotion. Blocks that skip says are left out, in pixels of the image (nil: none). ok is
// false in the first picture, in one of another size, and where hardly anything has texture.
// Blocks are matched by the least squared difference and then by a step of Lucas and Kanade's (1981).
func (c *CameraMotion) Step(t *Thumbnail, skip func(image.Rectangle) bool) (motion float64, shift [2]float64, ok bool) {
	c.last, c.now = c.now, c.last
	c.lastAll, c.nowAll = c.nowAll, c.lastAll
	c.now.shrink(t)
	c.nowAll.coarsen(&c.now)
	c.right, c.down = 0, 0
	if c.last.width != c.now.width || c.last.height != c.now.height {
		return 0, shift, false
	}
	c.moved, c.vectors = c.moved[:0], c.vectors[:0]
	const border = motionReach + 1
	cell := 2 * max(1, t.Cell)
	right, down := c.nowAll.moved(&c.lastAll)
	right, down = right*coarseCells, down*coarseCells
	for y := border + max(0, -down); y+motionBlock+border <= c.now.height-max(0, down); y += motionStep {
		for x := border + max(0, -right); x+motionBlock+border <= c.now.width-max(0, right); x += motionStep {
			if skip != nil && skip(image.Rect(x*cell, y*cell, (x+motionBlock)*cell, (y+motionBlock)*cell)) {
				continue
			}
			if u, v, ok := c.displacement(y*c.now.width+x, right, down); ok {
				c.moved = append(c.moved, math.Hypot(u, v)/float64(max(c.now.width, c.now.height)))
				c.vectors = append(c.vectors, [2]float64{u * float64(cell), v * float64(cell)})
			}
		}
	}
	if len(c.moved) < motionBlocks {
		return 0, shift, false
	}
	slices.Sort(c.moved)
	shift = c.agreed(float64(cell))
	c.right, c.down = int(math.Round(shift[0]/float64(cell))), int(math.Round(shift[1]/float64(cell)))
	if math.Hypot(shift[0], shift[1]) < StandingMotion*float64(cell*max(c.now.width, c.now.height)) {
		shift = [2]float64{}
	}
	return c.moved[len(c.moved)/2], shift, true
}

// agreed is the median, right and down, of the most vectors that are within a distance of one of them; none if these are too
// few.
func (c *CameraMotion) agreed(within float64) (median [2]float64) {
	most := motionBlocks - 1
	right, down := c.near[0], c.near[1]
	for _, v := range c.vectors {
		right, down = right[:0], down[:0]
		for _, w := range c.vectors {
			if math.Hypot(w[0]-v[0], w[1]-v[1]) <= within {
				right, down = append(right, w[0]), append(down, w[1])
			}
		}
		if n := len(right); n > most {
			slices.Sort(right)
			slices.Sort(down)
			most, median = n, [2]float64{right[n/2], down[n/2]}
		}
	}
	c.near = [2][]float64{right, down}
	return median
}

// displacement is how many cells the block whose first cell is at has moved, right and down, near where it is expected; ok is
// false where it has too little texture.
func (c *CameraMotion) displacement(at, from, above int) (right, down float64, ok bool) {
	a, b, width := c.last.l, c.now.l, c.now.width
	var xx, xy, yy float64
	for v := range motionBlock {
		for u := range motionBlock {
			gx, gy := gradient(a, width, at+v*width+u)
			xx, xy, yy = xx+gx*gx, xy+gx*gy, yy+gy*gy
		}
	}
	if least := (xx + yy - math.Hypot(xx-yy, 2*xy)) / 2; least < motionTexture*motionBlock*motionBlock {
		return 0, 0, false
	}
	// Of places that fit equally well the one where it is expected counts.
	dx, dy, best := from, above, difference(a, b, width, at, at+above*width+from, math.Inf(1))
	for v := above - motionReach; v <= above+motionReach; v++ {
		for u := from - motionReach; u <= from+motionReach; u++ {
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
	return float64(dx) + step(xy*by-yy*bx), float64(dy) + step(xy*bx-xx*by), true
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
