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
	boxes, areas := make([]image.Rectangle, 1+len(ann.Objects)), make([]float64, 1+len(ann.Objects))
	for p, mark := range ann.Raster() {
		if mark > 0 && ann.HasExtent(int(mark)-1) {
			x, y := p%ann.Width, p/ann.Width
			boxes[mark] = boxes[mark].Union(image.Rect(x, y, x+1, y+1))
			areas[mark]++
		}
	}
	for k, o := range ann.Objects {
		if b := o.Box; b != nil {
			boxes[k+1] = pixelsOf(b)
			areas[k+1] = fineFilled * (b[2] - b[0]) * (b[3] - b[1])
		}
		dst = appendFine(dst, boxes[k+1], areas[k+1])
	}
	return finestFirst(dst, from)
}

// pixelsOf are the pixels that an annotation's box touches.
func pixelsOf(box []float64) image.Rectangle {
	return image.Rect(int(box[0]), int(box[1]), int(math.Ceil(box[2])), int(math.Ceil(box[3])))
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
