package dataset

import (
	"cmp"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/mask"
)

// inset is how far a polygon's points lie inside the corners of pixels, in pixels. Tools that fill a polygon
// by the centres of pixels (pycocotools) and those that cut its points to whole numbers and fill these pixels and
// what is between (OpenCV, by which Ultralytics trains) then both get the mask's pixels.
const inset = 0.01

// polygon is one outline for what a mask shows. Its parts and holes are joined by lines there and back, the shortest
// that there are, as Ultralytics joins COCO's (merge_multi_segment); one is left out if the intersection over union with the
// mask is better without it, since those who fill by points fill the line too.
func polygon(r mask.RLE) (joined []annotation.Point) {
	box, small := cut(r)
	shown, union := 0.0, float64(r.Area())
	for _, loop := range annotation.Loops(small, box.Dx(), box.Dy()) {
		part := inside(loop, box.Min)
		with, way := join(joined, part)
		pixels := area(part)
		if math.Abs(pixels)*union <= shown*way {
			continue
		}
		joined, shown, union = with, shown+max(0, pixels), union+way
	}
	return joined
}

// inside moves a loop of annotation.Loops by offset, and its points inwards.
func inside(loop []image.Point, offset image.Point) []annotation.Point {
	points := make([]annotation.Point, len(loop))
	for i, p := range loop {
		along := loop[(i+1)%len(loop)].Sub(loop[(i+len(loop)-1)%len(loop)])
		points[i] = annotation.Point{
			float64(p.X+offset.X) - inset*float64(cmp.Compare(along.Y, 0)),
			float64(p.Y+offset.Y) + inset*float64(cmp.Compare(along.X, 0)),
		}
	}
	return points
}

// join adds a loop to an outline, and tells how long the way to it is.
func join(outline, loop []annotation.Point) (joined []annotation.Point, way float64) {
	if len(outline) == 0 || len(loop) == 0 {
		return append(outline, loop...), 0
	}
	from, to, way := 0, 0, math.Inf(1)
	for i, p := range outline {
		for k, q := range loop {
			if d := math.Hypot(p[0]-q[0], p[1]-q[1]); d < way {
				from, to, way = i, k, d
			}
		}
	}
	return slices.Concat(outline[:from+1], loop[to:], loop[:to+1], outline[from:]), way
}

// area is that of a loop, in pixels, of a hole below 0.
func area(loop []annotation.Point) float64 {
	twice := 0.0
	for i, p := range loop {
		q := loop[(i+1)%len(loop)]
		twice += p[0]*q[1] - q[0]*p[1]
	}
	return twice / 2
}

// cut is the part of a mask that its box holds.
func cut(r mask.RLE) (box image.Rectangle, bits []uint8) {
	box = r.Box()
	all := r.Decode(nil)
	bits = make([]uint8, 0, box.Dx()*box.Dy())
	for y := box.Min.Y; y < box.Max.Y; y++ {
		bits = append(bits, all[y*r.Width+box.Min.X:y*r.Width+box.Max.X]...)
	}
	return box, bits
}

// outline is annotation.Outline of a mask.
func outline(r mask.RLE) []annotation.Point {
	box, bits := cut(r)
	points := annotation.Outline(bits, box.Dx(), box.Dy())
	for i := range points {
		points[i][0] += float64(box.Min.X)
		points[i][1] += float64(box.Min.Y)
	}
	return points
}

// points pairs numbers, x and y, and leaves out what is outside a picture of that size.
func points(values []float64, width, height int) (list []annotation.Point, err error) {
	if len(values)%2 != 0 {
		return nil, fmt.Errorf("points: %d numbers; accepted: pairs of x and y", len(values))
	}
	for ; len(values) >= 2; values = values[2:] {
		list = append(list, annotation.Point{values[0], values[1]})
	}
	return within(list, width, height), nil
}

// within returns the part of an outline that is in a picture of that size. It is filled by the even-odd rule, so that it
// may go along the picture's sides there and back.
func within(outline []annotation.Point, width, height int) []annotation.Point {
	for _, side := range []struct {
		axis     int
		at, sign float64
	}{{0, 0, 1}, {0, float64(width), -1}, {1, 0, 1}, {1, float64(height), -1}} {
		inside := func(p annotation.Point) bool { return side.sign*(p[side.axis]-side.at) >= 0 }
		if !slices.ContainsFunc(outline, func(p annotation.Point) bool { return !inside(p) }) {
			continue
		}
		var kept []annotation.Point
		last := outline[len(outline)-1]
		for _, p := range outline {
			if inside(last) != inside(p) {
				across := p
				across[side.axis] = side.at
				along := 1 - side.axis
				across[along] += (last[along] - p[along]) * (side.at - p[side.axis]) / (last[side.axis] - p[side.axis])
				kept = append(kept, across)
			}
			if inside(p) {
				kept = append(kept, p)
			}
			last = p
		}
		outline = kept
	}
	return outline
}

// boxWithin returns the part of a box, its left, top, right and bottom, that is in a picture of that size.
func boxWithin(box []float64, width, height int) []float64 {
	for i, most := range []int{width, height, width, height} {
		box[i] = min(max(box[i], 0), float64(most))
	}
	return box
}
