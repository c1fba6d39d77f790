// Package draw draws masks: as pictures of their own, and on the pictures they are of.
package draw

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// Labels draws every mask of m with its object's id; a higher id covers a lower.
func Labels(m *segdv1.MaskFrame) (*image.Paletted, error) {
	img := image.NewPaletted(image.Rect(0, 0, int(m.Width), int(m.Height)), Palette)
	var bits []uint8
	for _, o := range m.Objects {
		if o.Id >= uint32(len(Palette)) {
			return nil, fmt.Errorf("draw: object id %d; a PNG holds ids up to %d", o.Id, len(Palette)-1)
		}
		rle, err := mask.Parse(o.Counts, int(m.Width), int(m.Height))
		if err != nil {
			return nil, fmt.Errorf("draw: frame %d, object %d: %w", m.Sequence, o.Id, err)
		}
		bits = rle.Decode(bits)
		for i, b := range bits {
			if b != 0 {
				img.Pix[i] = uint8(o.Id)
			}
		}
	}
	return img, nil
}

// Palette is PASCAL VOC's, which DAVIS and most mask editors use: black for the
// background, then colours whose bits are spread over the channels.
var Palette = func() color.Palette {
	p := make(color.Palette, 256)
	for i := range p {
		var r, g, b uint8
		for id, shift := i, 7; id != 0; id, shift = id>>3, shift-1 {
			r |= uint8(id&1) << shift
			g |= uint8(id>>1&1) << shift
			b |= uint8(id>>2&1) << shift
		}
		p[i] = color.RGBA{r, g, b, 255}
	}
	return p
}()

// Overlay returns img with each object tinted in its palette's hue, and its rim
// in the full colour.
func Overlay(img image.Image, labels *image.Paletted) *image.RGBA {
	dst := image.NewRGBA(labels.Bounds())
	draw.Draw(dst, dst.Bounds(), img, img.Bounds().Min, draw.Src)
	at := func(x, y int) uint8 {
		if !image.Pt(x, y).In(labels.Rect) {
			return 0
		}
		return labels.Pix[labels.PixOffset(x, y)]
	}
	for y := labels.Rect.Min.Y; y < labels.Rect.Max.Y; y++ {
		for x := labels.Rect.Min.X; x < labels.Rect.Max.X; x++ {
			id := at(x, y)
			if id == 0 {
				continue
			}
			c := bright(Palette[id].(color.RGBA))
			if at(x-1, y) == id && at(x+1, y) == id && at(x, y-1) == id && at(x, y+1) == id {
				p := dst.RGBAAt(x, y)
				c = color.RGBA{p.R/2 + c.R/2, p.G/2 + c.G/2, p.B/2 + c.B/2, 255}
			}
			dst.SetRGBA(x, y, c)
		}
	}
	return dst
}

// bright scales c until a channel is full: the palette's first colours are dark.
func bright(c color.RGBA) color.RGBA {
	most := max(c.R, c.G, c.B, 1)
	scale := func(v uint8) uint8 { return uint8(int(v) * 255 / int(most)) }
	return color.RGBA{scale(c.R), scale(c.G), scale(c.B), 255}
}

// Mask returns img with one object's mask drawn as `segd watch` draws it.
func Mask(img image.Image, m mask.RLE) *image.RGBA {
	labels := image.NewPaletted(image.Rect(0, 0, m.Width, m.Height), Palette)
	labels.Pix = m.Decode(labels.Pix)
	return Overlay(img, labels)
}

// Outline draws the pixels of m that touch a pixel outside it.
func Outline(img *image.RGBA, m mask.RLE, c color.RGBA) {
	bits := m.Decode(nil)
	at := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < m.Width && y < m.Height && bits[y*m.Width+x] != 0
	}
	for y := range m.Height {
		for x := range m.Width {
			inside := at(x-1, y) && at(x+1, y) && at(x, y-1) && at(x, y+1)
			if at(x, y) && !inside {
				img.SetRGBA(x, y, c)
			}
		}
	}
}
