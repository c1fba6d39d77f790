package annotation

import (
	"cmp"
	"image"
	"slices"
)

// maxLoops is how many parts and holes an outline has: the way to each and back may sweep the picture.
const maxLoops = 16

// Outline is a polygon for what a mask shows, row-major with 0 for what it does not: its Inside is
// these pixels. Its parts and holes are joined by lines there and back; those with the shortest
// outlines are left out if there are more than an annotation may sweep, or more points than it may
// have. It is nil if that leaves none.
func Outline(bits []uint8, width, height int) []Point {
	loops := Loops(bits, width, height)
	var outline []Point
	for _, loop := range loops[:min(len(loops), maxLoops)] {
		if len(outline)+len(loop)+2 > MaxPoints {
			continue
		}
		for _, c := range loop {
			outline = append(outline, Point{float64(c.X), float64(c.Y)})
		}
		if outline = append(outline, outline[len(outline)-len(loop)]); len(outline) > len(loop)+1 {
			outline = append(outline, outline[0]) // back to where the first began
		}
	}
	return outline
}

// Loops are the outlines of a mask's parts and of its holes, the longest first, by the corners of pixels
// where they turn: what the mask shows is on the right hand of who walks along them.
func Loops(bits []uint8, width, height int) (loops [][]image.Point) {
	set := func(x, y int) bool { return x >= 0 && y >= 0 && x < width && y < height && bits[y*width+x] != 0 }
	// Sides of pixels with what is shown on the right hand, by where they begin. Two begin where
	// pixels meet by a corner alone.
	sides := map[image.Point][]image.Point{}
	var from []image.Point // as they are found
	add := func(a, b image.Point) {
		sides[a] = append(sides[a], b)
		from = append(from, a)
	}
	for y := range height {
		for x := range width {
			if !set(x, y) {
				continue
			}
			if !set(x, y-1) {
				add(image.Pt(x, y), image.Pt(x+1, y))
			}
			if !set(x+1, y) {
				add(image.Pt(x+1, y), image.Pt(x+1, y+1))
			}
			if !set(x, y+1) {
				add(image.Pt(x+1, y+1), image.Pt(x, y+1))
			}
			if !set(x-1, y) {
				add(image.Pt(x, y+1), image.Pt(x, y))
			}
		}
	}
	for _, start := range from {
		if len(sides[start]) == 0 {
			continue
		}
		var loop []image.Point
		for at := start; ; {
			next := sides[at][0]
			sides[at] = sides[at][1:]
			if n := len(loop); n == 0 || (loop[n-1].X == at.X) != (at.X == next.X) { // else straight on
				loop = append(loop, at)
			}
			if at = next; at == start {
				break
			}
		}
		loops = append(loops, loop)
	}
	slices.SortStableFunc(loops, func(a, b []image.Point) int { return cmp.Compare(len(b), len(a)) })
	return loops
}
