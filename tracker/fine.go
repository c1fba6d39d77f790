package tracker

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// How fine superpixels are to be where an object is.
const (
	fineSuperpixels = 35  // of which it should consist
	fineLeast       = 4   // pixels they are apart at least
	fineMargin      = 0.2 // round its box, in means of the box's sides
	fineFilled      = 0.6 // of a box that somebody draws is the object
)

// Fine appends to dst where the next scene should have superpixels of its own, and how fine
// they should be, the finest first: where the objects are or were, the lost ones not.
func (t *Tracker) Fine(dst []features.Region) []features.Region {
	from := len(dst)
	for _, o := range t.objects.all {
		if o.State != Lost {
			dst = appendFine(dst, o.box, o.Area)
		}
	}
	return finestFirst(dst, from)
}

// FineFor appends to dst where the scene that an annotation is of should have them, by its
// mask, outlines and boxes. Of a faulty annotation there is nothing.
func FineFor(dst []features.Region, ann *annotation.Annotation) []features.Region {
	if ann.Validate() != nil {
		return dst
	}
	from := len(dst)
	boxes, areas := make([]image.Rectangle, len(ann.Objects)), make([]float64, len(ann.Objects))
	if ann.Mask != nil {
		var index [256]int
		for k, o := range ann.Objects {
			index[o.ID] = k + 1
		}
		for p, id := range ann.Mask {
			if k := index[id] - 1; k >= 0 {
				boxes[k] = boxes[k].Union(pixel(p, ann.Width))
				areas[k]++
			}
		}
	}
	for k, o := range ann.Objects {
		box, area := outlined(ann, k)
		if o.Box != nil {
			area *= fineFilled
		}
		dst = appendFine(dst, boxes[k].Union(box), areas[k]+area)
	}
	return finestFirst(dst, from)
}

// outlined is how far an annotation's object reaches by its outline or box, and the pixels
// therein; empty for one that has none.
func outlined(ann *annotation.Annotation, k int) (box image.Rectangle, area float64) {
	ann.Inside(k, func(p int) {
		box = box.Union(pixel(p, ann.Width))
		area++
	})
	return box, area
}

func pixel(p, width int) image.Rectangle {
	x, y := p%width, p/width
	return image.Rect(x, y, x+1, y+1)
}

// appendFine appends the region of an object of that area in a box.
func appendFine(dst []features.Region, box image.Rectangle, area float64) []features.Region {
	if box.Empty() {
		return dst
	}
	margin := int(fineMargin * float64(box.Dx()+box.Dy()) / 2)
	return append(dst, features.Region{
		Rectangle: box.Inset(-margin),
		Spacing:   max(fineLeast, int(math.Sqrt(area/fineSuperpixels))),
	})
}

func finestFirst(dst []features.Region, from int) []features.Region {
	slices.SortStableFunc(dst[from:], func(a, b features.Region) int { return cmp.Compare(a.Spacing, b.Spacing) })
	return dst
}
