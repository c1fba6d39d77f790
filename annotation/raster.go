package annotation

import (
	"math"
	"slices"
)

// What else than the background, 0, or the annotation's object k, 1+k, a pixel is
// marked as.
const (
	Unmarked = -1 // nothing is said of it
	Outside  = -2 // outside the masks, polygons and boxes of the annotation
)

// Raster draws the annotation, which is valid: one mark a pixel, row-major, 0 for
// the background, 1+k for object k, Unmarked or Outside. What a box holds is
// Unmarked.
func (a *Annotation) Raster() []int16 {
	marks := make([]int16, a.Width*a.Height)
	base := int16(Unmarked)
	for k := range a.Objects {
		if a.HasExtent(k) {
			base = Outside
		}
	}
	for i := range marks {
		marks[i] = base
	}
	if a.Mask != nil {
		var index [256]int16
		for i := range index {
			index[i] = Outside
		}
		for k, o := range a.Objects {
			index[o.ID] = int16(k + 1)
		}
		for i, id := range a.Mask {
			marks[i] = index[id]
		}
	}
	for k := range a.Objects {
		a.Inside(k, func(p int) { marks[p] = Unmarked })
	}
	for k, o := range a.Objects {
		if o.Polygon != nil {
			a.Inside(k, func(p int) { marks[p] = int16(k + 1) })
		}
	}
	for _, s := range a.Background {
		a.stroke(marks, s, 0)
	}
	for k, o := range a.Objects {
		for _, s := range o.Scribbles {
			a.stroke(marks, s, int16(k+1))
		}
	}
	return marks
}

// Inside calls visit with every pixel whose centre is in object k's box or, by the
// even-odd rule, in its polygon.
func (a *Annotation) Inside(k int, visit func(p int)) {
	o := a.Objects[k]
	outline := o.Polygon
	if b := o.Box; b != nil {
		outline = []Point{{b[0], b[1]}, {b[2], b[1]}, {b[2], b[3]}, {b[0], b[3]}}
	}
	if len(outline) == 0 {
		return
	}
	top, bottom := outline[0][1], outline[0][1]
	for _, p := range outline {
		top, bottom = math.Min(top, p[1]), math.Max(bottom, p[1])
	}
	var crossings [256][]float64 // of as many rows at once: each line may cross all of them
	end := min(a.Height, int(bottom)+1)
	for first := max(0, int(top)); first < end; first += len(crossings) {
		rows := min(len(crossings), end-first)
		last := outline[len(outline)-1]
		for _, p := range outline {
			up, down := last, p
			if up[1] > down[1] {
				up, down = down, up
			}
			// Rows whose centre is in [up, down).
			for y := max(first, int(math.Ceil(up[1]-0.5))); y < first+rows && float64(y)+0.5 < down[1]; y++ {
				x := up[0] + (float64(y)+0.5-up[1])*(down[0]-up[0])/(down[1]-up[1])
				crossings[y-first] = append(crossings[y-first], x)
			}
			last = p
		}
		for r, xs := range crossings[:rows] {
			slices.Sort(xs)
			for i := 0; i+1 < len(xs); i += 2 {
				for x := max(0, int(math.Ceil(xs[i]-0.5))); x < a.Width && float64(x)+0.5 < xs[i+1]; x++ {
					visit((first+r)*a.Width + x)
				}
			}
			crossings[r] = xs[:0]
		}
	}
}

// stroke paints every pixel whose centre is within half the width of the line.
func (a *Annotation) stroke(marks []int16, s Stroke, mark int16) {
	radius := math.Max(s.Width/2, 0.75) // a hairline still hits a pixel
	last := s.Points[0]
	for _, p := range s.Points {
		x0, x1 := math.Min(last[0], p[0])-radius, math.Max(last[0], p[0])+radius
		y0, y1 := math.Min(last[1], p[1])-radius, math.Max(last[1], p[1])+radius
		for y := max(0, int(y0)); y < a.Height && float64(y) <= y1; y++ {
			for x := max(0, int(x0)); x < a.Width && float64(x) <= x1; x++ {
				if distance(Point{float64(x) + 0.5, float64(y) + 0.5}, last, p) <= radius {
					marks[y*a.Width+x] = mark
				}
			}
		}
		last = p
	}
}

// distance is that of p from the segment a–b.
func distance(p, a, b Point) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = math.Min(1, math.Max(0, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/l))
	}
	return math.Hypot(p[0]-a[0]-t*dx, p[1]-a[1]-t*dy)
}
