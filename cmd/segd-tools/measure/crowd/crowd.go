package crowd

import (
	"context"
	_ "embed" // the masks
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"slices"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
)

// Picture is one, of tight BGR24.
type Picture struct {
	Width, Height int
	BGR           []byte
}

func blank(width, height int) *Picture {
	return &Picture{Width: width, Height: height, BGR: make([]byte, 3*width*height)}
}

const (
	// The empty scene is the median of every plateEvery-th frame of plateFrames.
	plateEvery, plateFrames = 25, 400
	// sway is how far a person walks to either side, as a share of his place.
	sway = 0.15
)

// Frames is how many pictures a crowd has; the first follows the last.
const Frames = 2 * (Cut - 1)

// Cut is for how many frames a person is cut out.
const Cut = 15

// Person is whom to cut out of a video.
type Person struct {
	Frame int      `json:"frame"` // the first, from 0 on
	Masks []string `json:"masks"` // in that and those after it, as COCO's run lengths
}

// personsJSON has those of the demo's clip. lab/cmd/cutpersons made them.
//
//go:embed persons.json
var personsJSON []byte

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

// New reads the demo's clip, whose empty scene and persons the crowd has.
func New(ctx context.Context, path string) (*Crowd, error) {
	c, err := read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("crowd: %w", err)
	}
	return c, nil
}

func read(ctx context.Context, path string) (*Crowd, error) {
	var known []Person
	if err := json.Unmarshal(personsJSON, &known); err != nil {
		return nil, err
	}
	in, err := codec.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	p := blank(in.Size())
	c := &Crowd{plate: blank(in.Size()), persons: make([][]cutout, len(known))}
	var samples [][]byte
	for n := range plateFrames {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pic, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has %d frames; want the demo's clip, of %d and more", path, n, plateFrames)
		}
		if err != nil {
			return nil, err
		}
		if err := pic.BGR(p.BGR); err != nil {
			return nil, err
		}
		if n%plateEvery == 0 {
			samples = append(samples, slices.Clone(p.BGR))
		}
		for k, person := range known {
			if i := n - person.Frame; i >= 0 && i < len(person.Masks) {
				m, err := mask.Parse(person.Masks[i], p.Width, p.Height)
				if err != nil {
					return nil, fmt.Errorf("%s is not the demo's clip: %w", path, err)
				}
				c.persons[k] = append(c.persons[k], p.cut(m))
			}
		}
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

// cut cuts out what a mask covers.
func (p *Picture) cut(m mask.RLE) cutout {
	c, all := cutout{Rectangle: m.Box()}, m.Decode(nil)
	for y := c.Min.Y; y < c.Max.Y; y++ {
		from, to := y*p.Width+c.Min.X, y*p.Width+c.Max.X
		c.bgr, c.mask = append(c.bgr, p.BGR[3*from:3*to]...), append(c.mask, all[from:to]...)
	}
	return c
}

// Shape says how a crowd is drawn.
type Shape struct {
	Persons, Width, Height int
	// Share of the picture is what each person's box has, if it is not higher than that then; 0: they are as large as in the clip.
	Share float64
}

// Draw is picture n, from 0 on, of a shape.
func (c *Crowd) Draw(n int, s Shape) *Picture {
	p := blank(s.Width, s.Height)
	for y := range s.Height {
		for x := 0; x < s.Width; x += c.plate.Width {
			copy(p.BGR[3*(y*s.Width+x):3*(y+1)*s.Width], c.plate.BGR[3*(y%c.plate.Height)*c.plate.Width:][:3*min(c.plate.Width, s.Width-x)])
		}
	}
	for k := range s.Persons {
		cut, box := c.place(n, k, s)
		cut.draw(p, box)
	}
	return p
}

// Box is where person k is in picture n.
func (c *Crowd) Box(n, k int, s Shape) image.Rectangle {
	_, box := c.place(n, k, s)
	return box.Intersect(image.Rect(0, 0, s.Width, s.Height))
}

// place is person k in picture n, and the box that is drawn in.
func (c *Crowd) place(n, k int, s Shape) (*cutout, image.Rectangle) {
	if n %= Frames; n >= Cut {
		n = Frames - n // and back
	}
	// Places are about twice as high as wide.
	columns := int(math.Ceil(math.Sqrt(2 * float64(s.Persons) * float64(s.Width) / float64(s.Height))))
	place := image.Pt(s.Width/columns, s.Height/((s.Persons+columns-1)/columns))
	frames := c.persons[k%len(c.persons)]
	from, to := middle(frames[0]), middle(frames[Cut-1])
	way := 2*float64(middle(frames[n]).X-from.X)/math.Max(1, math.Abs(float64(to.X-from.X))) - 1
	at := image.Pt(place.X*(k%columns)+place.X/2+int(sway*float64(place.X)*way), place.Y*(k/columns)+place.Y/2)
	scale, size := 1.0, frames[n].Size()
	if first := frames[0].Size(); s.Share > 0 {
		scale = min(float64(s.Height)/float64(first.Y), math.Sqrt(s.Share*float64(s.Width*s.Height)/float64(first.X*first.Y)))
	}
	size = image.Pt(int(scale*float64(size.X)), int(scale*float64(size.Y)))
	corner := at.Sub(size.Div(2))
	return &frames[n], image.Rectangle{Min: corner, Max: corner.Add(size)}
}

func middle(c cutout) image.Point { return c.Min.Add(c.Max).Div(2) }

// draw draws c in a box of p.
func (c *cutout) draw(p *Picture, box image.Rectangle) {
	for y := range box.Dy() {
		for x := range box.Dx() {
			to := box.Min.Add(image.Pt(x, y))
			if from := y*c.Dy()/box.Dy()*c.Dx() + x*c.Dx()/box.Dx(); c.mask[from] != 0 && to.In(image.Rect(0, 0, p.Width, p.Height)) {
				copy(p.BGR[3*(to.Y*p.Width+to.X):], c.bgr[3*from:3*from+3])
			}
		}
	}
}
