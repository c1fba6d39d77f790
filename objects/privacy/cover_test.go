package privacy

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/mask"
)

var blurred, grey = Config{Blur: []string{"person"}}, Config{Fill: []string{"person"}}

// noise is a picture in which no two pixels are alike by chance for long.
func noise(width, height int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	bgr := make([]byte, 3*width*height)
	for i := range bgr {
		bgr[i] = byte(r.Uint32())
	}
	return bgr
}

// rectangle is the mask of one.
func rectangle(width, height int, r image.Rectangle) mask.RLE {
	bits := make([]uint8, width*height)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			bits[y*width+x] = 1
		}
	}
	return mask.Encode(bits, width, height)
}

// A pixel is hidden if it is in a block with a pixel of the mask or nearer to one than the margin: by a slow count.
func TestBits(t *testing.T) {
	const width, height = 61, 47
	size := image.Pt(width, height)
	shape := make([]uint8, width*height) // a ring, at the picture's edge
	for i := range shape {
		dx, dy := i%width-50, i/width-20
		if d := dx*dx + dy*dy; d > 60 && d < 250 {
			shape[i] = 1
		}
	}
	ring := mask.Encode(shape, width, height)
	for name, p := range map[string]Part{
		"mask":              {Mask: ring, Box: ring.Box(), Side: 33, Margin: 3},
		"filled mask":       {Mask: ring, Box: ring.Box(), Side: 33, Margin: 3, Fill: true},
		"no margin":         {Mask: ring, Box: ring.Box(), Side: 33},
		"box":               {Box: image.Rect(5, 6, 30, 20), Side: 25, Margin: 2},
		"box at the corner": {Box: image.Rect(-20, 30, 9, 90), Side: 60, Margin: 2},
		"box outside":       {Box: image.Rect(70, 50, 90, 90), Side: 40, Margin: 2},
	} {
		cover := Cover{Size: size, Parts: []Part{p}}
		got := make([]uint8, width*height)
		cover.Bits(got)

		grid := p.Box.Inset(-p.Margin).Intersect(image.Rectangle{Max: size})
		near := func(x, y int) bool {
			for yy := y - p.Margin; yy <= y+p.Margin; yy++ {
				for xx := x - p.Margin; xx <= x+p.Margin; xx++ {
					at := image.Pt(xx, yy)
					if at.In(p.Box) && (len(p.Mask.Counts) == 0 || at.In(image.Rectangle{Max: size}) && shape[yy*width+xx] != 0) {
						return true
					}
				}
			}
			return false
		}
		want := make([]uint8, width*height)
		for k := range want {
			if at := image.Pt(k%width, k/width); at.In(grid) {
				corner := at.Sub(grid.Min).Div(p.block()).Mul(p.block()).Add(grid.Min)
				block := image.Rectangle{Min: corner, Max: corner.Add(image.Pt(p.block(), p.block()))}.Intersect(grid)
				for y := block.Min.Y; y < block.Max.Y; y++ {
					for x := block.Min.X; x < block.Max.X; x++ {
						if near(x, y) {
							want[k] = 1
						}
					}
				}
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d pixels hidden, %d of them should be", name, bytes.Count(got, []byte{1}), bytes.Count(want, []byte{1}))
		}
	}
}

// What is hidden has the mean of its block or grey, and the rest is as it was.
func TestBGR(t *testing.T) {
	const width, height = 64, 40
	bgr := noise(width, height)
	before := bytes.Clone(bgr)
	for _, fill := range []bool{false, true} {
		cover := &Cover{Size: image.Pt(width, height), Parts: []Part{{Box: image.Rect(8, 8, 40, 32), Side: 32, Fill: fill}}}
		bits := make([]uint8, width*height)
		cover.Bits(bits)
		got := NewPicture(bgr, cover, nil).BGR(true) // operators see no more unless it says so
		colours := map[[3]byte]int{}
		for i, hidden := range bits {
			pixel := [3]byte(got[3*i:])
			if hidden == 0 {
				if pixel != [3]byte(bgr[3*i:]) {
					t.Fatalf("fill %v: pixel %d is %v, was %v", fill, i, pixel, bgr[3*i:3*i+3])
				}
				continue
			}
			colours[pixel]++
		}
		want := map[bool]int{false: 8 * 6, true: 1}[fill]
		if len(colours) != want {
			t.Errorf("fill %v: %d colours; want %d, one a block", fill, len(colours), want)
		}
		if fill && colours[[3]byte{filled, filled, filled}] != 32*24 {
			t.Errorf("filled with %v", colours)
		}
		if !fill {
			first := got[3*(8*width+8):][:3]
			if m := mean(before, 3*width, image.Rect(8, 8, 12, 12)); !bytes.Equal(first, m[:]) {
				t.Errorf("the first block is %v; its mean %v", first, m)
			}
		}
	}
	if !bytes.Equal(bgr, before) {
		t.Error("the picture itself was changed")
	}
}

// Who sees what: all where nothing is hidden, operators where they may.
func TestPicture(t *testing.T) {
	const width, height = 32, 32
	bgr := noise(width, height)
	seeing := blurred
	seeing.Operators = true
	for _, tt := range []struct {
		name            string
		cover           *Cover
		operator, plain bool
	}{
		{"nothing is hidden", nil, false, true},
		{"nothing is hidden, operator", nil, true, true},
		{"hidden", blurred.Cover(width, height), false, false},
		{"hidden, operator", blurred.Cover(width, height), true, false},
		{"filled, operator", grey.Cover(width, height), true, false},
		{"operators see", seeing.Cover(width, height), true, true},
		{"operators see, viewer", seeing.Cover(width, height), false, false},
	} {
		p := NewPicture(bgr, tt.cover, nil)
		assert.Equal(t, tt.plain, p.Plain(tt.operator), "%s: plain", tt.name)
		assert.Equal(t, tt.plain, bytes.Equal(p.BGR(tt.operator), bgr), "%s: the picture as it is", tt.name)
	}
	if got := NewPicture(bgr[3:], blurred.Cover(width, height), nil).BGR(false); got != nil {
		t.Errorf("a picture of another size comes out with %d bytes", len(got))
	}
}

// With memory of its own, a picture is hidden without more.
func TestAllocations(t *testing.T) {
	const width, height = 768, 576
	bgr, cover, scratch := noise(width, height), crowd(width, height), []byte(nil)
	hide := func() { NewPicture(bgr, cover, &scratch).BGR(false) }
	hide()
	// The picture, and each mask's blocks.
	if got := testing.AllocsPerRun(20, hide); got > float64(len(cover.Parts)+4) {
		t.Errorf("%v allocations for %d objects", got, len(cover.Parts))
	}
}

// crowd hides ten persons.
func crowd(width, height int) *Cover {
	c := &Cover{Size: image.Pt(width, height)}
	for k := range 10 {
		m := rectangle(width, height, image.Rect(width*k/12, height/4, width*k/12+width/20, height/2))
		c.Parts = append(c.Parts, Part{Mask: m, Box: m.Box(), Side: height / 4, Margin: height / 40})
	}
	return c
}

func BenchmarkPicture(b *testing.B) {
	for _, size := range []image.Point{{768, 576}, {1920, 1080}} {
		bgr, scratch := noise(size.X, size.Y), []byte(nil)
		for name, cover := range map[string]*Cover{"off": nil, "ten": crowd(size.X, size.Y), "whole": blurred.Cover(size.X, size.Y)} {
			b.Run(size.String()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					NewPicture(bgr, cover, &scratch).BGR(false)
				}
			})
		}
	}
}
