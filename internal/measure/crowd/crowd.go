package crowd

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/offline"
	"github.com/segd/segd/marking"
	"github.com/segd/segd/tracker"
)

// Picture is one frame of a video.
type Picture = offline.Picture

// Video shows every frame, from the first on, and returns at its end, or at once the
// error that show returned, wrapped or not. A picture is left alone while it is shown.
type Video = offline.Video

const (
	// Frames are followed from the first on, with a look at all of every lookEvery-th; a person counts who
	// is seen in so many of them without a gap.
	followed  = 120
	lookEvery = 10
	// The empty scene is the median of every plateEvery-th frame of plateFrames.
	plateEvery, plateFrames = 25, 400
	// leastShown is the share of a person's full box that his mask fills in every frame.
	leastShown = 0.35
	// sway is how far a person walks to either side, as a share of his place.
	sway = 0.15
)

// Frames is how many pictures a crowd has; the first follows the last.
const Frames = 2 * (cut - 1)

// cut is for how many frames a person is cut out.
const cut = 15

// Crowd is a scene and who may be in it.
type Crowd struct {
	plate   *Picture
	persons [][]cutout
}

// cutout is a person in a frame.
type cutout struct {
	image.Rectangle
	bgr  []byte
	mask []uint8
}

// New follows the persons of a video, whose empty scene and persons the crowd has.
func New(ctx context.Context, video Video, model features.Model) (*Crowd, error) {
	camera, err := offline.NewCamera(model, features.Config{}, tracker.Config{}, marking.Config{Classes: []string{"person"}}, nil)
	if err != nil {
		return nil, err
	}
	c := &Crowd{}
	var samples [][]byte
	persons := map[uint32][]cutout{}
	n := 0
	enough := errors.New("enough")
	err = video(ctx, func(p *Picture) error {
		if n%plateEvery == 0 {
			samples = append(samples, slices.Clone(p.BGR))
		}
		if c.plate == nil {
			c.plate = offline.Blank(p.Width, p.Height, [3]byte{})
		}
		if n < followed {
			res, err := camera.Step(ctx, n, p, nil, n%lookEvery == 0)
			if err != nil {
				return err
			}
			c.collect(persons, p, res.Objects)
		}
		if n++; n == plateFrames {
			return enough
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, fmt.Errorf("crowd: %w", err)
	}
	if len(c.persons) == 0 {
		return nil, fmt.Errorf("crowd: nobody is seen whole for %d frames of the first %d", cut, followed)
	}
	values := make([]byte, len(samples))
	for i := range c.plate.BGR {
		for k, s := range samples {
			values[k] = s[i]
		}
		slices.Sort(values)
		c.plate.BGR[i] = values[len(values)/2]
	}
	return c, nil
}

// collect cuts out who is seen whole in a frame, and begins anew with who is not.
func (c *Crowd) collect(persons map[uint32][]cutout, p *Picture, objects []tracker.Object) {
	for _, o := range objects {
		whole := o.State == tracker.Visible && !o.Extent.Empty() && o.Extent.In(image.Rect(0, 0, p.Width, p.Height)) &&
			float64(o.Area) >= leastShown*float64(o.Extent.Dx()*o.Extent.Dy())
		if !whole {
			delete(persons, o.ID)
			continue
		}
		mask := o.Mask.Decode(nil)
		cutout := cutout{Rectangle: o.Box}
		for y := o.Box.Min.Y; y < o.Box.Max.Y; y++ {
			from, to := y*p.Width+o.Box.Min.X, y*p.Width+o.Box.Max.X
			cutout.bgr, cutout.mask = append(cutout.bgr, p.BGR[3*from:3*to]...), append(cutout.mask, mask[from:to]...)
		}
		if persons[o.ID] = append(persons[o.ID], cutout); len(persons[o.ID]) == cut {
			c.persons = append(c.persons, persons[o.ID])
			delete(persons, o.ID)
		}
	}
}

// Draw is picture n, from 0 on, of so many persons.
func (c *Crowd) Draw(n, persons, width, height int) *Picture {
	p := offline.Blank(width, height, [3]byte{})
	for y := range height {
		for x := 0; x < width; x += c.plate.Width {
			copy(p.BGR[3*(y*width+x):3*(y+1)*width], c.plate.BGR[3*(y%c.plate.Height)*c.plate.Width:][:3*min(c.plate.Width, width-x)])
		}
	}
	if n %= Frames; n >= cut {
		n = Frames - n // and back
	}
	if persons == 0 {
		return p
	}
	// Places are about twice as high as wide.
	columns := int(math.Ceil(math.Sqrt(2 * float64(persons) * float64(width) / float64(height))))
	place := image.Pt(width/columns, height/((persons+columns-1)/columns))
	for k := range persons {
		frames := c.persons[k%len(c.persons)]
		from, to := middle(frames[0]), middle(frames[cut-1])
		way := 2*float64(middle(frames[n]).X-from.X)/math.Max(1, math.Abs(float64(to.X-from.X))) - 1
		at := image.Pt(place.X*(k%columns)+place.X/2+int(sway*float64(place.X)*way), place.Y*(k/columns)+place.Y/2)
		frames[n].draw(p, at)
	}
	return p
}

func middle(c cutout) image.Point { return c.Min.Add(c.Max).Div(2) }

// draw draws c with its middle at a point of p.
func (c *cutout) draw(p *Picture, at image.Point) {
	corner := at.Sub(c.Size().Div(2))
	for y := range c.Dy() {
		for x := range c.Dx() {
			to := corner.Add(image.Pt(x, y))
			if from := y*c.Dx() + x; c.mask[from] != 0 && to.In(image.Rect(0, 0, p.Width, p.Height)) {
				copy(p.BGR[3*(to.Y*p.Width+to.X):], c.bgr[3*from:3*from+3])
			}
		}
	}
}
