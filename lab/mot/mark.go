package mot

import (
	"fmt"
	"math"

	"github.com/segd/segd/annotation"
)

// Mark is how a person is marked.
type Mark uint8

const (
	MarkBox     Mark = iota // by the true box
	MarkEllipse             // by the outline of the ellipse in it
)

var markNames = [...]string{"box", "ellipse"}

func (m Mark) String() string { return markNames[m] }

// ParseMark is the inverse of String.
func ParseMark(s string) (Mark, error) {
	for m, name := range markNames {
		if s == name {
			return Mark(m), nil
		}
	}
	return 0, fmt.Errorf("mot: mark %q; want box or ellipse", s)
}

const (
	// markHeight is how tall a person is, in pixels, that a user would mark.
	markHeight = 60
	// ellipsePoints make an ellipse: it loses 0.6 % of its area.
	ellipsePoints = 32
)

// size is the pictures', in pixels.
type size struct{ width, height int }

// holds tells whether all of b is in the picture.
func (s size) holds(b Box) bool {
	return b.Left >= 0 && b.Top >= 0 && b.Left+b.Width <= float64(s.width) && b.Top+b.Height <= float64(s.height)
}

// within returns what of b is in the picture.
func (s size) within(b Box) Box {
	left, top := max(b.Left, 0), max(b.Top, 0)
	return Box{left, top, min(b.Left+b.Width, float64(s.width)) - left, min(b.Top+b.Height, float64(s.height)) - top}
}

// markFrame is the first frame in which all of a person is in the picture and it is
// tall enough, or else that of its tallest box, the first of equals; 0 if it has no box.
func (t *Truth) markFrame(id, first, last int, s size) int {
	tallest := 0
	for n := first; n <= last; n++ {
		e, ok := t.boxes[id][n]
		if !ok || e.ignored {
			continue
		}
		if e.box.Height >= markHeight && s.holds(e.box) {
			return n
		}
		if tallest == 0 || e.box.Height > t.boxes[id][tallest].box.Height {
			tallest = n
		}
	}
	return tallest
}

// object is what a user marks who sees a person in box b.
func (m Mark) object(p person, b Box, s size) (annotation.Object, error) {
	o := annotation.Object{ID: p.number, Label: fmt.Sprintf("person %d", p.id)}
	in := s.within(b)
	if in.Width < 1 || in.Height < 1 {
		return o, fmt.Errorf("the box of person %d in frame %d lies outside the picture of %d×%d pixels; want some of it inside", p.id, p.mark, s.width, s.height)
	}
	right, bottom := in.Left+in.Width, in.Top+in.Height
	if m == MarkBox {
		o.Box = []float64{in.Left, in.Top, right, bottom}
		return o, nil
	}
	for k := range ellipsePoints {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / ellipsePoints)
		x, y := b.Left+b.Width/2*(1+cos), b.Top+b.Height/2*(1+sin)
		o.Polygon = append(o.Polygon, annotation.Point{min(max(x, in.Left), right), min(max(y, in.Top), bottom)})
	}
	return o, nil
}
