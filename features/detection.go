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
