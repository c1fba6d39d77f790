package annotation

import (
	"cmp"
	"slices"
)

// maxLoops is how many parts and holes an outline has: the way to each and back may sweep the picture.
const maxLoops = 16

// corner is where four pixels meet.
type corner struct{ x, y int }

// Outline is a polygon for what a mask shows, row-major with 0 for what it does not: its Inside is
// these pixels. Its parts and holes are joined by lines there and back; those with the shortest
// outlines are left out if there are more than an annotation may sweep, or more points than it may
// have. It is nil if that leaves none.
func Outline(bits []uint8, width, height int) []Point {
	loops := loopsOf(bits, width, height)
	slices.SortStableFunc(loops, func(a, b []corner) int { return cmp.Compare(len(b), len(a)) })
	var outline []Point
	for _, loop := range loops[:min(len(loops), maxLoops)] {
		if len(outline)+len(loop)+2 > maxStrokePoints {
			continue
		}
		for _, c := range loop {
			outline = append(outline, Point{float64(c.x), float64(c.y)})
		}
		if outline = append(outline, outline[len(outline)-len(loop)]); len(outline) > len(loop)+1 {
			outline = append(outline, outline[0]) // back to where the first began
		}
	}
	return outline
}

// loopsOf are the outlines of a mask's parts and of its holes, by their corners.
func loopsOf(bits []uint8, width, height int) (loops [][]corner) {
	set := func(x, y int) bool { return x >= 0 && y >= 0 && x < width && y < height && bits[y*width+x] != 0 }
	// Sides of pixels with what is shown on the right hand, by where they begin. Two begin where
	// pixels meet by a corner alone.
	sides := map[corner][]corner{}
	var from []corner // as they are found
	add := func(a, b corner) {
		sides[a] = append(sides[a], b)
		from = append(from, a)
	}
	for y := range height {
		for x := range width {
			if !set(x, y) {
				continue
			}
			if !set(x, y-1) {
				add(corner{x, y}, corner{x + 1, y})
			}
			if !set(x+1, y) {
				add(corner{x + 1, y}, corner{x + 1, y + 1})
			}
			if !set(x, y+1) {
				add(corner{x + 1, y + 1}, corner{x, y + 1})
			}
			if !set(x-1, y) {
				add(corner{x, y + 1}, corner{x, y})
			}
		}
	}
	for _, start := range from {
		if len(sides[start]) == 0 {
			continue
		}
		var loop []corner
		for at := start; ; {
			next := sides[at][0]
			sides[at] = sides[at][1:]
			if n := len(loop); n == 0 || (loop[n-1].x == at.x) != (at.x == next.x) { // else straight on
				loop = append(loop, at)
			}
			if at = next; at == start {
				break
			}
		}
		loops = append(loops, loop)
	}
	return loops
}
