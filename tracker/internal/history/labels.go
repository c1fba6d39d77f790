package history

import (
	"image"
	"slices"
)

// Labels are those of a picture's pixels, kept as runs of one label. The zero value is of a
// picture in which nothing was tracked.
type Labels struct {
	values []uint8  // label of each run of pixels, row-major
	runs   []uint16 // pixels of each run
}

const longestRun = 1<<16 - 1

// set makes l those of pixels, in its own memory.
func (l *Labels) set(pixels []uint8) {
	l.values, l.runs = l.values[:0], l.runs[:0]
	for from := 0; from < len(pixels); {
		v, to := pixels[from], from+1
		for end := min(len(pixels), from+longestRun); to < end && pixels[to] == v; to++ {
		}
		l.values, l.runs = append(l.values, v), append(l.runs, uint16(to-from))
		from = to
	}
}

// None tells whether nothing was tracked.
func (l Labels) None() bool { return len(l.runs) == 0 }

// Clone shares no memory with l.
func (l Labels) Clone() Labels { return Labels{slices.Clone(l.values), slices.Clone(l.runs)} }

// Show tells whether some pixel has a label.
func (l Labels) Show(label int32) bool {
	return slices.ContainsFunc(l.values, func(v uint8) bool { return int32(v) == label })
}

// Superpixels writes to y the label that most pixels of each superpixel have, the least of
// several; superpixel is each pixel's, or below 0. There must be labels.
func (l Labels) Superpixels(y, superpixel []int32) {
	labels := 1 + int(slices.Max(l.values))
	votes := make([]int32, len(y)*labels)
	for k, v := range l.values {
		run := superpixel[:l.runs[k]]
		for _, i := range run {
			if i >= 0 {
				votes[int(i)*labels+int(v)]++
			}
		}
		superpixel = superpixel[len(run):]
	}
	for i := range y {
		row := votes[i*labels : (i+1)*labels]
		y[i] = int32(slices.Index(row, slices.Max(row)))
	}
}

// Extent returns where the pixels of a label are in a picture of that width, and how many.
func (l Labels) Extent(label int32, width int) (box image.Rectangle, area int) {
	at := 0
	for k, v := range l.values {
		run := int(l.runs[k])
		if int32(v) == label {
			first, last := at/width, (at+run-1)/width
			r := image.Rect(at%width, first, at%width+run, first+1)
			if first != last {
				r = image.Rect(0, first, width, last+1)
			}
			box = box.Union(r)
			area += run
		}
		at += run
	}
	return box, area
}
