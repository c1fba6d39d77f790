package features

import (
	"cmp"
	"image"
	"slices"

	"github.com/segd/segd/features/coco"
)

// LeastScore is the score from which on a Model tells what it finds: one box in a hundred is right there.
const LeastScore = 0.01

// MaxFound bounds what is said to be found in an image.
const MaxFound = 100

// Detection is one thing that a detector sees in an image.
type Detection struct {
	// Box is in pixels of the image, inside it and not empty.
	Box image.Rectangle
	// Class is the name of its kind, as the detector's model calls it.
	Class string
	// Score is the chance that there is one, with an intersection over union of .5 with its box: 0 to 1.
	Score float64
	// Mask is what its detector says of which part of Box is the thing, over the box or a little more; nil: nothing. It is not changed.
	Mask *Grid
}

// IoU is the intersection of two boxes, which are not empty, over their union.
func IoU(a, b image.Rectangle) float64 {
	both := area(a.Intersect(b))
	return float64(both) / float64(area(a)+area(b)-both)
}

func area(r image.Rectangle) int { return r.Dx() * r.Dy() }

// SameThing is the intersection over union beyond which two boxes of a group that a Model finds are of one
// thing, as NanoDet's configurations have it.
const SameThing = 0.6

// Suppress sorts what was found, the best scores first, and leaves the MaxFound best of what does not overlap
// too much with something better: by an intersection over union beyond same with what is of its class or its group
// ([coco.Group]), and beyond other with what is of another, 1 for never. It returns them at the beginning of found.
func Suppress(found []Detection, same, other float64) []Detection {
	slices.SortStableFunc(found, func(a, b Detection) int { return cmp.Compare(b.Score, a.Score) })
	kept := found[:0]
	for _, f := range found {
		if len(kept) == MaxFound {
			break
		}
		if !slices.ContainsFunc(kept, func(better Detection) bool {
			limit := other
			if coco.Group(better.Class) == coco.Group(f.Class) {
				limit = same
			}
			return IoU(better.Box, f.Box) > limit
		}) {
			kept = append(kept, f)
		}
	}
	return kept
}
