// Package draw draws masks: as pictures of their own, and on the pictures they are of.
// An object has one colour wherever it is drawn; the page's palette.js has the same.
package draw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"math"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

var colours = [...]color.RGBA{
	{0x19, 0xc3, 0xff, 255}, {0xff, 0x9f, 0x1c, 255}, {0x7e, 0xe0, 0x4f, 255}, {0xff, 0x4f, 0x9a, 255},
	{0xb4, 0x8c, 0xff, 255}, {0xff, 0xe1, 0x4d, 255}, {0xff, 0x6b, 0x57, 255}, {0x2e, 0xe6, 0xc5, 255},
}

// Colour is an object's.
func Colour(id uint32) color.RGBA { return colours[(max(1, id)-1)%uint32(len(colours))] }

// Palette is of label pictures, whose pixels are object ids: black for the background,
// then each object's colour.
var Palette = func() color.Palette {
	p := make(color.Palette, 256)
	p[0] = color.RGBA{A: 255}
	for id := 1; id < len(p); id++ {
		p[id] = Colour(uint32(id))
	}
	return p
}()

// Labels draws every mask of m with its object's id; a higher id covers a lower. It is an *image.Paletted
// or, where there are ids above 255, an *image.Gray16, which holds ids up to 65535. With an error that
// wraps ErrMask it has the other objects.
func Labels(m *segdv1.MaskFrame) (image.Image, error) {
	largest := uint32(0)
	for _, o := range m.GetObjects() {
		largest = max(largest, o.GetId())
	}
	all := image.Rect(0, 0, int(m.GetWidth()), int(m.GetHeight()))
	if largest < uint32(len(Palette)) {
		img := image.NewPaletted(all, Palette)
		return img, each(m, func(id uint32, bits []uint8) {
			for i, b := range bits {
				if b != 0 {
					img.Pix[i] = uint8(id)
				}
			}
		})
	}
	if largest > math.MaxUint16 {
		return nil, fmt.Errorf("draw: %w: object id %d; a PNG holds ids up to %d", ErrID, largest, math.MaxUint16)
	}
	img := image.NewGray16(all)
	return img, each(m, func(id uint32, bits []uint8) {
		for i, b := range bits {
			if b != 0 {
				binary.BigEndian.PutUint16(img.Pix[2*i:], uint16(id))
			}
		}
	})
}

// ErrID says: an object's id does not fit into a picture's pixels.
var ErrID = errors.New("too large an id")

// ErrMask says: an object has no mask that could be drawn. The others are drawn.
var ErrMask = errors.New("no mask of the picture")

// each calls f with every object's mask, decoded until f returns. Its error is of the first that has none.
func each(m *segdv1.MaskFrame, f func(id uint32, bits []uint8)) (first error) {
	var bits []uint8
	for _, o := range m.GetObjects() {
		rle, err := mask.Parse(o.GetCounts(), int(m.GetWidth()), int(m.GetHeight()))
		if err != nil {
			if first == nil {
				first = fmt.Errorf("draw: frame %d, object %d: %w: %w", m.GetSequence(), o.GetId(), ErrMask, err)
			}
			continue
		}
		bits = rle.Decode(bits)
		f(o.GetId(), bits)
	}
	return first
}

// Copy is img to be drawn on.
func Copy(img image.Image) *image.RGBA {
	dst := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	imagedraw.Draw(dst, dst.Rect, img, img.Bounds().Min, imagedraw.Src)
	return dst
}

// Canvas is a picture that masks of its size are drawn on.
type Canvas struct {
	pix                         []uint8
	width, height, stride, step int
	red, green, blue            int // where they are in a pixel
}

// BGR is a canvas of pixels of three bytes without padding, as cameras' frames are.
func BGR(pix []uint8, width, height int) Canvas {
	return Canvas{pix, width, height, 3 * width, 3, 2, 1, 0}
}

// RGBA is img as a canvas.
func RGBA(img *image.RGBA) Canvas {
	return Canvas{img.Pix, img.Rect.Dx(), img.Rect.Dy(), img.Stride, 4, 0, 1, 2}
}

// Masks tints every object of m in its colour and draws its rim in the full colour. With an error that wraps
// ErrMask it has drawn the other objects.
func (c Canvas) Masks(m *segdv1.MaskFrame) error {
	width, height := int(m.GetWidth()), int(m.GetHeight())
	if c.width != width || c.height != height || len(c.pix) < (height-1)*c.stride+c.step*width {
		return fmt.Errorf("draw: masks of %d×%d on a picture of %d×%d, %d bytes", width, height, c.width, c.height, len(c.pix))
	}
	return each(m, func(id uint32, bits []uint8) {
		c.draw(bits, Colour(id), true)
	})
}

// Mask tints one object, which is as large as the picture.
func (c Canvas) Mask(m mask.RLE, colour color.RGBA) { c.draw(m.Decode(nil), colour, true) }

// Outline draws the rim alone.
func (c Canvas) Outline(m mask.RLE, colour color.RGBA) { c.draw(m.Decode(nil), colour, false) }

// draw draws the rim of bits, the pixels that touch one outside, and tints the others.
func (c Canvas) draw(bits []uint8, colour color.RGBA, tint bool) {
	at := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < c.width && y < c.height && bits[y*c.width+x] != 0
	}
	for i, b := range bits {
		if b == 0 {
			continue
		}
		x, y := i%c.width, i/c.width
		rim := !at(x-1, y) || !at(x+1, y) || !at(x, y-1) || !at(x, y+1)
		if !rim && !tint {
			continue
		}
		p := c.pix[y*c.stride+c.step*x:]
		for _, v := range [...]struct {
			place int
			value uint8
		}{{c.red, colour.R}, {c.green, colour.G}, {c.blue, colour.B}} {
			if !rim {
				v.value = p[v.place]/2 + v.value/2
			}
			p[v.place] = v.value
		}
	}
}
