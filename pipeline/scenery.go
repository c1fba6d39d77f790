package pipeline

import "image"

const (
	// Pictures are compared cell by cell, of so many across and down, by the mean green of some of
	// their pixels, so many across and down.
	sceneryAcross, sceneryDown = 32, 24
	scenerySamples             = 6
	// A cell has changed that differs by more than this, of 255; something moves where so many have.
	sceneryChange, sceneryCells = 12, 3
)

// scenery is a small grey picture of a camera's.
type scenery struct {
	size  image.Point // of the picture
	cells [sceneryAcross * sceneryDown]int
}

// cell returns where cell i is in a picture.
func sceneryCell(i, width, height int) image.Rectangle {
	x, y := i%sceneryAcross, i/sceneryAcross
	return image.Rect(x*width/sceneryAcross, y*height/sceneryDown, (x+1)*width/sceneryAcross, (y+1)*height/sceneryDown)
}

func meanGreen(bgr []byte, width int, r image.Rectangle) int {
	sum, n := 0, 0
	for y := range scenerySamples {
		row := (r.Min.Y + y*r.Dy()/scenerySamples) * width
		for x := range scenerySamples {
			sum += int(bgr[3*(row+r.Min.X+x*r.Dx()/scenerySamples)+1])
			n++
		}
	}
	return sum / n
}

// take makes s that of a picture, tight rows of BGR.
func (s *scenery) take(bgr []byte, width, height int) {
	s.size = image.Pt(width, height)
	for i := range s.cells {
		if r := sceneryCell(i, width, height); !r.Empty() {
			s.cells[i] = meanGreen(bgr, width, r)
		}
	}
}

// differs tells whether a picture shows something that s does not, elsewhere than in the boxes that were
// known then or are now, and next to them.
func (s *scenery) differs(bgr []byte, width, height int, then, now []image.Rectangle) bool {
	if s.size != image.Pt(width, height) {
		return true
	}
	changed := 0
	for i, was := range s.cells {
		r := sceneryCell(i, width, height)
		if r.Empty() {
			continue
		}
		if d := meanGreen(bgr, width, r) - was; d <= sceneryChange && d >= -sceneryChange {
			continue
		}
		if overlapsAny(r, then) || overlapsAny(r, now) {
			continue
		}
		if changed++; changed >= sceneryCells {
			return true
		}
	}
	return false
}

// overlapsAny tells whether r, or a cell beside it, is in one of boxes.
func overlapsAny(r image.Rectangle, boxes []image.Rectangle) bool {
	near := image.Rect(r.Min.X-r.Dx(), r.Min.Y-r.Dy(), r.Max.X+r.Dx(), r.Max.Y+r.Dy())
	for _, b := range boxes {
		if b.Overlaps(near) {
			return true
		}
	}
	return false
}
