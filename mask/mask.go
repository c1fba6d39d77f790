package mask

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"image"
	"math"
)

// RLE is a binary mask as COCO run lengths.
//
// Counts are the lengths of alternating runs of the picture read column by
// column, top to bottom, left to right; the first counts background pixels and
// may be 0, the second object pixels, and so on. They add up to Width·Height.
// What Encode and Parse return is canonical: no run but the first is 0, so two
// equal masks have equal Counts.
//
// The zero RLE is an empty mask of no size.
type RLE struct {
	Width, Height int // pixels
	Counts        []uint32
}

// Empty returns the mask of no pixel of a picture of width×height.
func Empty(width, height int) RLE {
	return RLE{Width: width, Height: height, Counts: []uint32{uint32(width * height)}}
}

// stackColumns is the widest picture whose column offsets Encode keeps on its
// stack (16 KiB); a wider one costs a second allocation.
const stackColumns = 4096

// Encode returns the runs of a bitmap of width×height pixels, row-major and
// without padding, in which every byte other than 0 is object.
//
// It reads bits once, and the rows the object spans twice, eight pixels or more
// at a time, and allocates the runs alone. It panics when len(bits) is not width·height or that is 2³² or more.
func Encode(bits []uint8, width, height int) RLE {
	return EncodeIn(bits, width, height, image.Rect(0, 0, width, height))
}

// EncodeIn is Encode of a bitmap that is 0 outside of box, and reads no more than that of it. What
// of box is outside of the picture counts for nothing.
func EncodeIn(bits []uint8, width, height int, box image.Rectangle) RLE {
	if width < 0 || height < 0 || len(bits) != width*height {
		panic(fmt.Sprintf("mask: Encode: %d pixels given for %d×%d", len(bits), width, height))
	}
	if uint64(len(bits)) > math.MaxUint32 {
		panic(fmt.Sprintf("mask: Encode: %d×%d is more than %d pixels", width, height, uint32(math.MaxUint32)))
	}
	r := RLE{Width: width, Height: height}
	box = box.Intersect(image.Rect(0, 0, width, height))
	if box.Empty() {
		r.Counts = []uint32{uint32(len(bits))} // as maskApi.c does
		return r
	}
	// A run starts at (x,y) where the pixel differs from the one before it in
	// column-major order: the one above or, in row 0, the foot of column x−1.
	// First count the starts of each column, then put each in its place. Runs that reach
	// the box's right side end in the column, and those that reach its lower side in the row,
	// after it.
	var stack [stackColumns]uint32
	at := stack[:]
	if width > stackColumns {
		at = make([]uint32, width)
	}
	left, right := box.Min.X, min(box.Max.X+1, width)
	at = at[left:right]
	line := func(y int) []uint8 { return bits[y*width+left : y*width+right] }
	countTops(at, line(0), line(height-1))
	first, last := height, 0 // the rows, from 1, that start a run
	top, bottom := max(1, box.Min.Y), min(box.Max.Y, height-1)
	for y := top; y <= bottom; y++ {
		above, row := line(y-1), line(y)
		if !bytes.Equal(above, row) && countStarts(at, above, row) {
			first, last = min(first, y), y
		}
	}
	total := uint32(0)
	for x, n := range at {
		at[x] = total
		total += n
	}

	r.Counts = make([]uint32, total+1)
	starts := r.Counts[:total]
	h, offset := uint32(height), uint32(left*height)
	before := false
	head, foot := line(0), line(height-1)
	for x := range at {
		if (head[x] != 0) != before {
			starts[at[x]] = uint32(x) * h
			at[x]++
		}
		before = foot[x] != 0
	}
	for y := first; y <= last; y++ {
		placeStarts(starts, at, line(y-1), line(y), uint32(y), h)
	}
	previous := uint32(0)
	for i, s := range starts {
		starts[i] = s - previous
		previous = s
	}
	if total > 0 {
		starts[0] += offset
	}
	r.Counts[total] = uint32(len(bits)) - offset - previous
	if total == 0 {
		r.Counts[0] = uint32(len(bits))
	}
	return r
}

// countTops adds 1 to at[x] for each x where the top of a column differs from the foot of the one
// before.
func countTops(at []uint32, head, foot []uint8) {
	before := false
	for x := range at {
		if (head[x] != 0) != before {
			at[x]++
		}
		before = foot[x] != 0
	}
}

// countStarts adds 1 to at[x] for each x where row and above differ and reports
// whether any does. All three are equally long.
func countStarts(at []uint32, above, row []uint8) bool {
	above, at = above[:len(row)], at[:len(row)]
	any := false
	x := 0
	for ; x+8 <= len(row); x += 8 {
		if binary.LittleEndian.Uint64(above[x:]) == binary.LittleEndian.Uint64(row[x:]) {
			continue
		}
		for i := x; i < x+8; i++ {
			if (above[i] != 0) != (row[i] != 0) {
				at[i]++
				any = true
			}
		}
	}
	for ; x < len(row); x++ {
		if (above[x] != 0) != (row[x] != 0) {
			at[x]++
			any = true
		}
	}
	return any
}

// placeStarts writes the column-major position of each run start of row y, in a
// picture h high, to starts[at[x]] and moves at[x] on.
func placeStarts(starts, at []uint32, above, row []uint8, y, h uint32) {
	above, at = above[:len(row)], at[:len(row)]
	x := 0
	for ; x+8 <= len(row); x += 8 {
		if binary.LittleEndian.Uint64(above[x:]) == binary.LittleEndian.Uint64(row[x:]) {
			continue
		}
		for i := x; i < x+8; i++ {
			if (above[i] != 0) != (row[i] != 0) {
				starts[at[i]] = uint32(i)*h + y
				at[i]++
			}
		}
	}
	for ; x < len(row); x++ {
		if (above[x] != 0) != (row[x] != 0) {
			starts[at[x]] = uint32(x)*h + y
			at[x]++
		}
	}
}

// Decode writes the mask to dst row-major, 0 or 1 a pixel, and returns it cut
// or grown to Width·Height; it allocates only when dst's capacity is too small.
// It panics when the counts do not add up to Width·Height.
func (r RLE) Decode(dst []uint8) []uint8 {
	n := r.Width * r.Height
	if cap(dst) < n {
		dst = make([]uint8, n)
	} else {
		dst = dst[:n]
		clear(dst)
	}
	if sum := r.sum(); sum != uint64(n) {
		panic(fmt.Sprintf("mask: Decode: counts cover %d pixels of %d×%d", sum, r.Width, r.Height))
	}
	// Mark where a column's value changes, then let each row inherit from the
	// one above: Encode's way backwards.
	pos := 0
	for i, c := range r.Counts {
		end := pos + int(c)
		if i%2 == 1 {
			toggleColumns(dst, r.Width, r.Height, pos, end)
		}
		pos = end
	}
	for y := 1; y < r.Height; y++ {
		row := dst[y*r.Width:][:r.Width]
		subtle.XORBytes(row, row, dst[(y-1)*r.Width:y*r.Width])
	}
	return dst
}

// toggleColumns flips dst where the object run [pos,end) begins and, below it,
// where it ends in each column it touches.
func toggleColumns(dst []uint8, width, height, pos, end int) {
	if pos == end {
		return
	}
	x, y := pos/height, pos%height
	for pos < end {
		dst[y*width+x] ^= 1
		if foot := y + end - pos; foot < height {
			dst[foot*width+x] ^= 1
		}
		pos += height - y
		x, y = x+1, 0
	}
}

func (r RLE) sum() uint64 {
	sum := uint64(0)
	for _, c := range r.Counts {
		sum += uint64(c)
	}
	return sum
}

// Area returns the number of object pixels.
func (r RLE) Area() int {
	area := 0
	for i := 1; i < len(r.Counts); i += 2 {
		area += int(r.Counts[i])
	}
	return area
}

// Box returns the smallest rectangle that holds every object pixel, in pixels,
// Max outside of it as in package image. It is image.Rectangle{} when Area is 0.
func (r RLE) Box() image.Rectangle {
	var box image.Rectangle
	pos := 0
	for i, c := range r.Counts {
		end := pos + int(c)
		if i%2 == 1 && c > 0 {
			run := image.Rect(pos/r.Height, 0, (end-1)/r.Height+1, r.Height)
			if run.Dx() == 1 {
				run.Min.Y = pos % r.Height
				run.Max.Y = run.Min.Y + int(c)
			}
			box = box.Union(run)
		}
		pos = end
	}
	return box
}

// IoU returns the number of pixels in both masks over that in either, in [0,1],
// and 1 when both are empty. It costs O(len(a.Counts)+len(b.Counts)).
//
// The zero RLE stands for an empty mask of any size; otherwise IoU panics when
// the sizes differ.
func IoU(a, b RLE) float64 {
	areaA, areaB, both := a.Area(), b.Area(), Overlap(a, b)
	if areaA+areaB == 0 {
		return 1
	}
	return float64(both) / float64(areaA+areaB-both)
}

// Overlap returns the number of pixels in both masks. It costs O(len(a.Counts)+len(b.Counts)),
// and takes and refuses the same as IoU.
func Overlap(a, b RLE) int {
	if len(a.Counts) > 0 && len(b.Counts) > 0 && (a.Width != b.Width || a.Height != b.Height) {
		panic(fmt.Sprintf("mask: %d×%d against %d×%d", a.Width, a.Height, b.Width, b.Height))
	}
	return intersection(a.Counts, b.Counts)
}

// intersection walks two run lists side by side and returns the number of
// pixels that are object in both.
func intersection(a, b []uint32) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	both := 0
	i, j := 0, 0
	restA, restB := a[0], b[0]
	for {
		step := min(restA, restB)
		if i&j&1 == 1 {
			both += int(step)
		}
		restA -= step
		restB -= step
		if restA == 0 {
			if i++; i == len(a) {
				return both
			}
			restA = a[i]
		}
		if restB == 0 {
			if j++; j == len(b) {
				return both
			}
			restB = b[j]
		}
	}
}
