package features

import "image"

// Detection is one thing that a detector sees in an image.
type Detection struct {
	// Box is in pixels of the image, inside it and not empty.
	Box image.Rectangle
	// Class is the name of its kind, as the detector's model calls it.
	Class string
	// Score is how sure the detector is, 0 to 1.
	Score float64
}

// IoU is the intersection of two boxes, which are not empty, over their union.
func IoU(a, b image.Rectangle) float64 {
	area := func(r image.Rectangle) int { return r.Dx() * r.Dy() }
	both := area(a.Intersect(b))
	return float64(both) / float64(area(a)+area(b)-both)
}
