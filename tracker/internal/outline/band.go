package outline

import (
	"encoding/binary"
	"image"
	"math/bits"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scratch"
)

// field is a part of a patch, and the band of pixels along the outlines in it. Pixels are
// numbered row by row with one more on either side, and a row above and below.
type field struct {
	patch  *features.Patch
	box    image.Rectangle // in the patch
	stride int
	labels []uint8
	depth  []uint8 // rings from the outline, 1 beside it; 0 outside the band, or unseen or beyond

	band []int32 // the pixels of the band in their order
	at   []int32 // where in the patch they are
	// Squared differences of colours, in LabUnits, of each pixel of the band to the one at its
	// right and to the one below, as far as there are any in the patch.
	toRight, toBelow []int32
	meanSquare       float64

	queue []int32
}

// What is never in the band.
const (
	unseen = 254
	beyond = 255 // the patch ends there
)

// begin makes f a box of a patch, whose superpixels have labels: labelOf[1+i].
func (f *field) begin(p *features.Patch, box image.Rectangle, labelOf []uint8) {
	f.patch, f.box, f.stride = p, box, box.Dx()+2
	n := f.stride * (box.Dy() + 2)
	f.labels, f.depth = scratch.Grow(f.labels, n), scratch.Zero(f.depth, n)
	for x := range f.stride {
		f.depth[x], f.depth[n-1-x] = beyond, beyond
	}
	for y := range box.Dy() {
		at := (y + 1) * f.stride
		f.depth[at], f.depth[at+f.stride-1] = beyond, beyond
		row, depth := f.labels[at+1:at+1+box.Dx()], f.depth[at+1:at+1+box.Dx()]
		last, l := int32(features.Unseen), uint8(0)
		for x, i := range f.row(y) {
			if i != last {
				last, l = i, labelOf[1+i]
			}
			row[x] = l
			if i == features.Unseen {
				depth[x] = unseen
			}
		}
	}
}

// row is the superpixels of a row of the box.
func (f *field) row(y int) []int32 {
	at := (y+f.box.Min.Y)*f.patch.Cols + f.box.Min.X
	return f.patch.Labels[at : at+f.box.Dx()]
}

// findBand finds the band: rings pixels on either side of every border between labels, as far
// as they are seen. All borders are in the box, and more than rings pixels from its sides
// unless the patch ends there.
func (f *field) findBand(rings uint8) {
	queue := f.findBorders(f.queue[:0])
	around := [4]int{-1, 1, -f.stride, f.stride}
	for k := 0; k < len(queue); k++ {
		p := int(queue[k])
		d := f.depth[p] + 1
		if d > rings {
			break
		}
		for _, o := range around {
			if q := p + o; f.depth[q] == 0 {
				f.depth[q] = d
				queue = append(queue, int32(q))
			}
		}
	}
	f.queue = queue
	// In the order of rows what belongs to it is read in its order.
	f.band, f.at = scratch.Grow(f.band, len(queue))[:0], scratch.Grow(f.at, len(queue))[:0]
	for y := range f.box.Dy() {
		from := (y+1)*f.stride + 1
		offset := (y+f.box.Min.Y)*f.patch.Cols + f.box.Min.X - from
		for row := f.depth[from : from+f.box.Dx()]; len(row) > 0; {
			if len(row) >= 8 && binary.LittleEndian.Uint64(row) == 0 {
				row, from = row[8:], from+8
				continue
			}
			n := min(8, len(row))
			for k, d := range row[:n] {
				if d-1 < unseen-1 { // not 0, unseen or beyond
					f.band, f.at = append(f.band, int32(from+k)), append(f.at, int32(from+k+offset))
				}
			}
			row, from = row[n:], from+n
		}
	}
}

// inBand tells whether a pixel is in the band.
func (f *field) inBand(p int) bool { return f.depth[p]-1 < unseen-1 }

// findBorders appends the pixels at a border between labels, which are at depth 1 from then on.
func (f *field) findBorders(queue []int32) []int32 {
	add := func(p int) {
		if f.depth[p] == 0 {
			f.depth[p] = 1
			queue = append(queue, int32(p))
		}
	}
	w, h := f.box.Dx(), f.box.Dy()
	for y := range h {
		at := (y+1)*f.stride + 1
		row, below := f.labels[at:at+w], f.labels[at:at+w]
		if y+1 < h {
			below = f.labels[at+f.stride : at+f.stride+w]
		}
		for x := 0; x < w; {
			if x+9 <= w {
				v := binary.LittleEndian.Uint64(row[x:])
				differ := (v ^ binary.LittleEndian.Uint64(row[x+1:])) | (v ^ binary.LittleEndian.Uint64(below[x:]))
				if differ == 0 {
					x += 8
					continue
				}
				x += bits.TrailingZeros64(differ) / 8
			}
			if x+1 < w && row[x] != row[x+1] {
				add(at + x)
				add(at + x + 1)
			}
			if row[x] != below[x] {
				add(at + x)
				add(at + x + f.stride)
			}
			x++
		}
	}
	return queue
}

// measure sets the differences of colours, and their mean.
func (f *field) measure() {
	f.toRight, f.toBelow = scratch.Grow(f.toRight, len(f.band)), scratch.Grow(f.toBelow, len(f.band))
	sum, count := int64(0), 0
	for k, p := range f.band {
		at := int(f.at[k])
		if f.depth[p+1] != beyond {
			f.toRight[k] = f.squared(at, at+1)
			sum, count = sum+int64(f.toRight[k]), count+1
		}
		if f.depth[int(p)+f.stride] != beyond {
			f.toBelow[k] = f.squared(at, at+f.patch.Cols)
			sum, count = sum+int64(f.toBelow[k]), count+1
		}
	}
	f.meanSquare = (float64(sum) + 1e-9) / (float64(count) + 1e-9)
}

// squared is the squared difference of the colours of two pixels of the patch.
func (f *field) squared(p, q int) int32 {
	a, b := f.patch.Pixels[3*p:][:3:3], f.patch.Pixels[3*q:][:3:3]
	l, m, n := int32(a[0])-int32(b[0]), int32(a[1])-int32(b[1]), int32(a[2])-int32(b[2])
	return l*l + m*m + n*n
}
