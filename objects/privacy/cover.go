package privacy

import (
	"image"
	"time"

	"github.com/segd/segd/mask"
)

const (
	// blurBlocks is how many blocks an object's longer side has.
	blurBlocks = 8
	// fillBlocks is that of what is filled: as many as follow its outline.
	fillBlocks = 32
	leastBlock = 4 // pixels
	// filled is the colour of what is filled, in each channel.
	filled = 0x80
)

// Config says what is hidden in a camera's pictures.
type Config struct {
	// Blur and Fill are classes of what is detected, and labels.
	Blur, Fill []string
	// ExceptKept leaves out what people marked or keep.
	ExceptKept bool
	// Margin is what is hidden round an object, as a part of its longer side.
	Margin float64
	// Operators see the pictures as they are.
	Operators bool
	// Every is the time from one look at all of a picture to the next; 0: nothing is detected.
	Every time.Duration
}

// On tells whether anything is hidden.
func (c Config) On() bool { return len(c.Blur)+len(c.Fill) > 0 }

// Cover hides all of a picture of that size.
func (c Config) Cover(width, height int) *Cover {
	size := image.Pt(width, height)
	return &Cover{
		Whole: true, Size: size, Operators: c.Operators,
		Parts: []Part{{Box: image.Rectangle{Max: size}, Side: max(width, height), Fill: len(c.Fill) > 0}},
	}
}

// A Cover says what is hidden in a frame of that size.
type Cover struct {
	Whole     bool // all of the picture is
	Size      image.Point
	Operators bool // see the picture as it is
	Parts     []Part
}

// A Part is something that is hidden.
type Part struct {
	Mask   mask.RLE        // no counts: all of the box is
	Box    image.Rectangle // of the mask
	Side   int             // the longer one of all of it
	Margin int             // round it, in pixels
	Fill   bool
}

// block is how large the blocks are that hide it, in pixels.
func (p *Part) block() int {
	n := blurBlocks
	if p.Fill {
		n = fillBlocks
	}
	return max(leastBlock, (p.Side+n-1)/n)
}

// blocks calls f with each block in a picture of that size that has a pixel of p or of the margin round it.
func (p *Part) blocks(size image.Point, f func(image.Rectangle)) {
	grid := p.Box.Inset(-p.Margin).Intersect(image.Rectangle{Max: size})
	if grid.Empty() {
		return
	}
	b := p.block()
	columns, rows := (grid.Dx()+b-1)/b, (grid.Dy()+b-1)/b
	var on []bool
	if len(p.Mask.Counts) > 0 {
		on = make([]bool, columns*rows)
		p.mark(on, grid, b, columns)
	}
	for k := range columns * rows {
		if on == nil || on[k] {
			at := grid.Min.Add(image.Pt(k%columns*b, k/columns*b))
			f(image.Rectangle{Min: at, Max: at.Add(image.Pt(b, b))}.Intersect(grid))
		}
	}
}

// mark marks the blocks of a grid that the mask, grown by the margin, has pixels in.
func (p *Part) mark(on []bool, grid image.Rectangle, b, columns int) {
	height, pos := p.Mask.Height, 0
	for i, n := range p.Mask.Counts {
		end := pos + int(n)
		for i%2 == 1 && pos < end { // a run may go on in the next column
			x, y := pos/height, pos%height
			next := min(end, (x+1)*height)
			run := image.Rect(x, y, x+1, y+next-pos).Inset(-p.Margin).Intersect(grid).Sub(grid.Min)
			for row := run.Min.Y / b; row <= (run.Max.Y-1)/b; row++ {
				for column := run.Min.X / b; column <= (run.Max.X-1)/b; column++ {
					on[row*columns+column] = true
				}
			}
			pos = next
		}
		pos = end
	}
}

// each calls f with each block that is hidden, those that are filled last.
func (c *Cover) each(f func(block image.Rectangle, fill bool)) {
	for _, fill := range [...]bool{false, true} {
		for i := range c.Parts {
			if p := &c.Parts[i]; p.Fill == fill {
				p.blocks(c.Size, func(r image.Rectangle) { f(r, fill) })
			}
		}
	}
}

// Bits marks what is hidden in dst, a byte a pixel, row after row.
func (c *Cover) Bits(dst []uint8) {
	c.each(func(r image.Rectangle, _ bool) {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			row := dst[y*c.Size.X:][r.Min.X:r.Max.X]
			for x := range row {
				row[x] = 1
			}
		}
	})
}

// apply hides in dst, a copy of bgr.
func (c *Cover) apply(dst, bgr []byte) {
	stride := 3 * c.Size.X
	c.each(func(r image.Rectangle, fill bool) {
		colour := [3]byte{filled, filled, filled}
		if !fill {
			colour = mean(bgr, stride, r)
		}
		first := dst[r.Min.Y*stride:][3*r.Min.X : 3*r.Max.X]
		for i := 0; i < len(first); i += 3 {
			copy(first[i:], colour[:])
		}
		for y := r.Min.Y + 1; y < r.Max.Y; y++ {
			copy(dst[y*stride+3*r.Min.X:], first)
		}
	})
}

func mean(bgr []byte, stride int, r image.Rectangle) [3]byte {
	var blue, green, red uint32 // of at most 2^24 pixels
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := bgr[y*stride:][3*r.Min.X : 3*r.Max.X]
		for i := 2; i < len(row); i += 3 {
			blue, green, red = blue+uint32(row[i-2]), green+uint32(row[i-1]), red+uint32(row[i])
		}
	}
	n := uint32(r.Dx() * r.Dy())
	return [3]byte{byte(blue / n), byte(green / n), byte(red / n)}
}

// A Picture is that of a frame, tight rows of BGR, for those who may see it. It is valid for as long as its pixels are.
type Picture struct {
	bgr, hidden []byte
	cover       *Cover
	scratch     *[]byte
}

// NewPicture is the picture of a frame in which that is hidden that a cover says, which is nil where nothing may have to be.
// What is not nil is the memory of the hidden pixels, and for one Picture at a time.
func NewPicture(bgr []byte, cover *Cover, scratch *[]byte) *Picture {
	return &Picture{bgr: bgr, cover: cover, scratch: scratch}
}

// Plain tells whether a viewer sees the picture as it is.
func (p *Picture) Plain(operator bool) bool { return p.cover == nil || operator && p.cover.Operators }

// BGR is the picture as an operator of the page or anybody else may see it.
func (p *Picture) BGR(operator bool) []byte {
	if p.Plain(operator) {
		return p.bgr
	}
	if p.hidden == nil && len(p.bgr) == 3*p.cover.Size.X*p.cover.Size.Y {
		if p.scratch == nil {
			p.scratch = new([]byte)
		}
		*p.scratch = append((*p.scratch)[:0], p.bgr...)
		p.hidden = *p.scratch
		p.cover.apply(p.hidden, p.bgr)
	}
	return p.hidden
}
