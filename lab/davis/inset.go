package davis

import (
	"fmt"
	"image"

	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/mask"
)

// insetHeight is how many pixels high an object in an inset is in the first frame, unless it is
// less as it is: a person some way off in 1920×1080.
const insetHeight = 80

// inset is a take shrunk into a larger frame of one colour.
type inset struct {
	size  image.Point     // of the frame
	at    image.Rectangle // where the take is in it, in the middle
	scale float64         // shrunk to this
	bgr   [3]byte         // elsewhere: the first frame's mean
}

// newInset goes by the first frame alone.
func newInset(t *take, size image.Point) (*inset, error) {
	p, err := t.Read(0)
	if err != nil {
		return nil, err
	}
	object := mask.Encode(p.Truth, p.Width, p.Height).Box()
	if object.Empty() {
		return nil, fmt.Errorf("%s marks no object", t.Truths[0])
	}
	scale := min(1, insetHeight/float64(object.Dy()), float64(size.X)/float64(p.Width), float64(size.Y)/float64(p.Height))
	part := image.Pt(max(1, int(scale*float64(p.Width))), max(1, int(scale*float64(p.Height))))
	in := &inset{size: size, at: image.Rectangle{Max: part}.Add(size.Sub(part).Div(2)), scale: scale, bgr: clip.Mean(p)}
	if mask.Encode(in.apply(p).Truth, size.X, size.Y).Area() == 0 {
		return nil, fmt.Errorf("%s: nothing is left of the object at %d×%d; want an inset larger than %d×%d", t.Truths[0], part.X, part.Y, size.X, size.Y)
	}
	return in, nil
}

// apply shrinks p and returns it in its frame.
func (in *inset) apply(p *offline.Picture) *offline.Picture {
	clip.Shrink(p, in.at.Dx(), in.at.Dy())
	out := offline.Blank(in.size.X, in.size.Y, in.bgr)
	clip.Paste(out, p, in.at.Min)
	return out
}
