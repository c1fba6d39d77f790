package davis

import (
	"math"

	"github.com/segd/segd/lab/internal/clip"
)

// boundaryTolerance is how far, as a fraction of the picture's diagonal, a boundary
// pixel may lie from the other boundary and still match it (DAVIS-2016).
const boundaryTolerance = 0.008

// boundaryReach is that distance in pixels.
func boundaryReach(width, height int) int {
	return int(math.Ceil(boundaryTolerance * math.Hypot(float64(width), float64(height))))
}

// boundaryF is the F-measure of DAVIS-2016 between the outlines of two masks,
// height×width row-major, non-zero on the object: the harmonic mean of the shares
// of either outline within reach pixels of the other. 1 when neither has an outline, 0
// when only one does.
func boundaryF(got, want []uint8, width, height, reach int) float64 {
	g, w := outline(got, width, height), outline(want, width, height)
	if len(g) == 0 && len(w) == 0 {
		return 1
	}
	if len(g) == 0 || len(w) == 0 {
		return 0
	}
	disk := clip.Disk(reach)
	precision := matched(g, w, disk, width, height)
	recall := matched(w, g, disk, width, height)
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// outline lists the pixels that differ from their right, lower or lower right
// neighbour.
func outline(mask []uint8, width, height int) []int {
	var out []int
	at := func(x, y int) bool { return mask[min(y, height-1)*width+min(x, width-1)] != 0 }
	for y := range height {
		for x := range width {
			v := at(x, y)
			if at(x+1, y) != v || at(x, y+1) != v || at(x+1, y+1) != v {
				out = append(out, y*width+x)
			}
		}
	}
	return out
}

// matched is the share of the outline a within the disk of a pixel of b.
func matched(a, b []int, disk [][2]int, width, height int) float64 {
	reach := make([]bool, width*height)
	for _, p := range b {
		x, y := p%width, p/width
		for _, d := range disk {
			if u, v := x+d[0], y+d[1]; u >= 0 && u < width && v >= 0 && v < height {
				reach[v*width+u] = true
			}
		}
	}
	n := 0
	for _, p := range a {
		if reach[p] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
