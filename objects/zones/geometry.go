package zones

import (
	"math"
	"slices"

	"github.com/segd/segd/mask"
)

// turn is above 0 if c is on the right hand of who looks from a to b (y points down), below 0
// if it is on the left, and 0 on the line through both. Other units for x and y leave its sign.
func turn(a, b, c Point) float64 {
	return (b[0]-a[0])*(c[1]-a[1]) - (b[1]-a[1])*(c[0]-a[0])
}

// right tells on which side of the line through a and b p is. What is on the line is on the
// right, always, so that no path crosses it twice or not at all where it bends on it.
func right(a, b, p Point) bool { return turn(a, b, p) >= 0 }

// crosses tells whether the way from p to q crosses the line from a to b.
func crosses(a, b, p, q Point) bool {
	return right(a, b, p) != right(a, b, q) && right(p, q, a) != right(p, q, b)
}

// meet tells whether a–b and c–d have a point in common.
func meet(a, b, c, d Point) bool {
	abc, abd, cda, cdb := turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)
	if abc*abd < 0 && cda*cdb < 0 {
		return true
	}
	return abc == 0 && between(a, b, c) || abd == 0 && between(a, b, d) ||
		cda == 0 && between(c, d, a) || cdb == 0 && between(c, d, b)
}

// between tells whether p, on the line through a and b, is between them.
func between(a, b, p Point) bool {
	return min(a[0], b[0]) <= p[0] && p[0] <= max(a[0], b[0]) && min(a[1], b[1]) <= p[1] && p[1] <= max(a[1], b[1])
}

// sidesMeet tells whether the sides from corners i < j of p meet elsewhere than in a corner
// that both have.
func sidesMeet(p []Point, i, j int) bool {
	n := len(p)
	a, b, c, d := p[i], p[i+1], p[j], p[(j+1)%n]
	switch {
	case j == i+1: // b is c: they meet elsewhere if the second folds back on the first
		return turn(a, b, d) == 0 && (between(a, b, d) || between(c, d, a))
	case i == 0 && j == n-1: // d is a
		return turn(a, b, c) == 0 && (between(a, b, c) || between(c, d, b))
	}
	return meet(a, b, c, d)
}

// area is that of a polygon.
func area(p []Point) float64 {
	sum := 0.
	for i, a := range p {
		b := p[(i+1)%len(p)]
		sum += a[0]*b[1] - b[0]*a[1]
	}
	return math.Abs(sum) / 2
}

// contains tells whether p is in the polygon, by how many of its sides are to the right of p.
func contains(polygon []Point, p Point) bool {
	in := false
	for i, a := range polygon {
		b := polygon[(i+1)%len(polygon)]
		if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0]+(p[1]-a[1])/(b[1]-a[1])*(b[0]-a[0]) {
			in = !in
		}
	}
	return in
}

// distance is how far p is from the line from a to b, in pixels of a picture of that size.
func distance(a, b, p Point, width, height float64) float64 {
	abx, aby := (b[0]-a[0])*width, (b[1]-a[1])*height
	apx, apy := (p[0]-a[0])*width, (p[1]-a[1])*height
	along := min(1, max(0, (apx*abx+apy*aby)/(abx*abx+aby*aby)))
	return math.Hypot(apx-along*abx, apy-along*aby)
}

// outline is how far p is from the nearest side of a polygon, in pixels.
func outline(polygon []Point, p Point, width, height float64) float64 {
	least := math.Inf(1)
	for i, a := range polygon {
		least = min(least, distance(a, polygon[(i+1)%len(polygon)], p, width, height))
	}
	return least
}

// Fill is the mask of a polygon: the pixels whose centres are in it.
func Fill(polygon []Point, width, height int) mask.RLE {
	bits := make([]uint8, width*height)
	var ys []float64 // where the column's middle meets the sides
	for x := range width {
		at := (float64(x) + 0.5) / float64(width)
		ys = ys[:0]
		for i, a := range polygon {
			b := polygon[(i+1)%len(polygon)]
			if (a[0] > at) != (b[0] > at) {
				ys = append(ys, a[1]+(at-a[0])/(b[0]-a[0])*(b[1]-a[1]))
			}
		}
		slices.Sort(ys)
		for i := 0; i+1 < len(ys); i += 2 { // they come in pairs: the polygon is closed
			row := func(y float64) int { return min(height, max(0, int(math.Ceil(y*float64(height)-0.5)))) }
			for y := row(ys[i]); y < row(ys[i+1]); y++ {
				bits[y*width+x] = 1
			}
		}
	}
	return mask.Encode(bits, width, height)
}
