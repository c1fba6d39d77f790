package dnn

import (
	"image"

	"github.com/segd/segd/features"
)

const (
	// What is longer than largest, in pixels of the input, is longer than the pictures that NanoDet saw in training, and is
	// looked for at largeScale. Of 166 things of COCO of 384 to 576 pixels .72 are found (chance .4, IoU .5) without that,
	// .81 with it, of 82 larger ones .50 and .79. NanoDet's own boxes reach no farther: 7 cells of 32 pixels to each side.
	largest    = 2 * (7 - 1) * 32
	largeScale = 0.5
	// cutShort is how near to a border of what the model sees, in pixels of its input, a box ends whose thing goes on
	// beyond it: half of the finest stride. In windows with 12 to 76 pixels round 120 persons of the demo's clip,
	// from a score of .3 on, of what is found .82 to .85 are persons if nothing is left out, .86 to .91 with 0,
	// .93 to .95 with 4, .94 to .97 with 8, and of 12 pixels round persons .91, .91, .90 and .88 are found.
	cutShort = 4
	// maxCandidates is how much may overlap before it is sorted out: as much as NanoDet looks at of a stride.
	maxCandidates = 1000
)

// find appends what a head's planes, channels×height×width, show in an image of a size to found. Of several
// classes in a cell each counts. Nothing but what is found costs more than a comparison.
func (m *Model) find(found []features.Detection, planes []float32, stride int, s shown, size image.Point) ([]features.Detection, error) {
	l := &m.heads
	cols := cells(s.input.X, stride)
	n := cols * cells(s.input.Y, stride)
	if len(planes) != n*l.columns() {
		return found, errChanged
	}
	for class, name := range m.info.Classes {
		of := chances(name)
		least := float32(of.logit(features.LeastScore))
		for at, logit := range planes[class*n:][:n] {
			if !(logit >= least) {
				continue
			}
			var sides [4 * maxBins]float32
			for k := range 4 * l.bins {
				sides[k] = planes[(l.classes+k)*n+at]
			}
			left, top, right, bottom := l.around(sides[:], float64(at%cols), float64(at/cols), float64(stride))
			if s.cuts(left, top, right, bottom, cutShort, size) {
				continue
			}
			if s.large && max(right-left, bottom-top) < largest*largeScale {
				continue
			}
			if box := s.inImage(left, top, right, bottom); !box.Empty() {
				found = append(found, features.Detection{Box: box, Class: name, Score: of.chance(float64(logit))})
			}
			if len(found) == maxCandidates {
				found = features.Suppress(found, features.SameThing, 1)
			}
		}
	}
	return found, nil
}

// cuts says that a box in the input comes so near to a border of what is shown of an image of a size, though
// not one of the image's own.
func (s *shown) cuts(left, top, right, bottom, near float64, size image.Point) bool {
	return s.Min.X > 0 && left < near || s.Min.Y > 0 && top < near ||
		s.Max.X < size.X && right > float64(s.size.X)-near || s.Max.Y < size.Y && bottom > float64(s.size.Y)-near
}
