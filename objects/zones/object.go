package zones

import (
	"image"
	"time"

	"github.com/segd/segd/mask"
)

// Frame is the objects of one frame.
type Frame struct {
	Time          time.Duration // stream time; never falls
	Width, Height int           // pixels, above 0
	Objects       []Object
}

// Object is where an object is in a frame.
type Object struct {
	ID      uint32
	Visible bool // else only ID and Lost count
	Lost    bool // not seen for so long that it is not known where it is

	Foot   Point
	Height float64  // of the object, in pixels
	Mask   mask.RLE // for zones ByShare; the zero RLE is in none
}

// footRows is the part of a mask's rows, from below, whose middle is its foot: of a person
// 100 pixels tall the lowest 5, most of a shoe.
const footRows = 1. / 20

// OfMask is an object by its mask, in a picture of the mask's size; an empty mask is one that
// is not visible.
//
// Its foot is, across, the mean of the pixels (their centres) in the lowest twentieth of the
// mask's rows, rounded up, and, down, the centre of the lowest of these rows. It costs as
// much as there are runs.
func OfMask(id uint32, m mask.RLE, lost bool) Object {
	o := Object{ID: id, Lost: lost, Mask: m}
	box := m.Box()
	if box.Empty() {
		return o
	}
	rows := max(1, int(footRows*float64(box.Dy())+0.999))
	top := box.Max.Y - rows
	sum, n, pos := 0., 0, 0
	for i, c := range m.Counts {
		end := pos + int(c)
		for i%2 == 1 && pos < end { // a run may go on in the next column
			x := pos / m.Height
			next := min(end, (x+1)*m.Height)
			if low := next - max(pos, x*m.Height+top); low > 0 {
				sum += float64(low) * (float64(x) + 0.5)
				n += low
			}
			pos = next
		}
		pos = end
	}
	o.Visible = true
	o.Foot = Point{sum / float64(n) / float64(m.Width), (float64(box.Max.Y) - 0.5) / float64(m.Height)}
	o.Height = float64(box.Dy())
	return o
}

// OfBox is an object by its box, whose top left corner is at (left, top) of a picture of that
// size, all in pixels. Its foot is the middle of the bottom edge, which may be outside of the
// picture.
func OfBox(id uint32, left, top, boxWidth, boxHeight float64, width, height int) Object {
	return Object{
		ID: id, Visible: true, Height: boxHeight,
		Foot: Point{(left + boxWidth/2) / float64(width), (top + boxHeight) / float64(height)},
	}
}

// WithExtent is o with the foot and the height of its full extent, in pixels of a picture of that size; o as it is
// if that is empty or o is not visible: where something is predicted to be it was not seen. Its foot is the middle
// of the lowest row, and in the picture: of a person who stands below that, at its lower edge.
func (o Object) WithExtent(extent image.Rectangle, width, height int) Object {
	if !o.Visible || extent.Empty() {
		return o
	}
	inside := func(v float64, size int) float64 { return min(max(v, 0.5), float64(size)-0.5) / float64(size) }
	o.Foot = Point{inside(float64(extent.Min.X+extent.Max.X)/2, width), inside(float64(extent.Max.Y)-0.5, height)}
	o.Height = float64(extent.Dy())
	return o
}
