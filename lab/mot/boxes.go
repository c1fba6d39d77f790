package mot

import (
	"fmt"
	"image"

	"github.com/segd/segd/tracker"
)

// Boxes says which box of an object is where it is.
type Boxes uint8

const (
	Extents Boxes = iota // the full one by the object's track, hidden or not; without a track its mask's
	Masks                // its mask's
)

var boxesNames = [...]string{"extent", "mask"}

func (b Boxes) String() string { return boxesNames[b] }

// ParseBoxes is the inverse of String.
func ParseBoxes(s string) (Boxes, error) {
	for b, name := range boxesNames {
		if s == name {
			return Boxes(b), nil
		}
	}
	return 0, fmt.Errorf("mot: boxes %q; want extent or mask", s)
}

// of is an object's box; empty where it has none.
func (b Boxes) of(o *tracker.Object) image.Rectangle {
	switch {
	case b == Extents && !o.Extent.Empty():
		return o.Extent
	case o.State == tracker.Visible:
		return o.Box
	}
	return image.Rectangle{}
}
