package outline

import (
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"math"
	"math/bits"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// How the outlines are drawn. A pixel's energy for a label is its squared colour
// distance to the likest superpixel around that has the label, over 2·sigma²
// and at most farthest, less scoreWeight times how far the classifier's score for
// the label is above what tells it there, bounded to ±1, and less gridWeight times
// the log odds that a mask head has for it, bounded to ±gridMost; a label other than its superpixel's costs up to depthCost more, the
// farther the outline is; and an outline costs smoothness a pixel where the colours are
// alike, less where they differ.
const (
	bandWidth   = 0.5 // half the band's width over the mean superpixel's side
	sigma       = 6.0 // units of CIELAB
	farthest    = 4.0
	scoreWeight = 0.7
	gridWeight  = 1.0
	gridMost    = 4.0
	depthCost   = 0.5
	smoothness  = 4.0
	maxRings    = 64
)

// Drawer draws one picture after another. The zero value is ready.
type Drawer struct {
	width, height int
	pixels        []uint8           // label of each pixel of the picture
	drawn         []image.Rectangle // outside of which it is 0
	boxes         []image.Rectangle // round each label, once one of them was asked for
	bits          []uint8           // one object's; all 0 between calls

	labelOf []uint8 // of each superpixel, after that of what is unseen
	grids   []*features.Grid

	field
	palettes palettes
	scorer   scorer
	cutter
}

// Draw labels the pixels of p, whose superpixels have labels y: as their superpixels,
// but near an outline by their colours and what c says of them, and what a mask head says of some
// labels: grids has its log odds by label, nil or none where there are none. Where no patch sees them they are background.
func (r *Drawer) Draw(ctx context.Context, p *picture.Picture, y []int32, labels int, c Classifier, grids []*features.Grid) error {
	if r.width != p.Width || r.height != p.Height {
		n := p.Width * p.Height
		*r = Drawer{width: p.Width, height: p.Height, pixels: make([]uint8, n), bits: make([]uint8, n)}
	}
	r.wipe(r.pixels, r.drawn...)
	r.drawn, r.boxes = r.drawn[:0], r.boxes[:0]
	r.scorer.learn(c)
	r.grids = grids
	for k := range p.Patches {
		if err := r.drawPatch(ctx, scene{p, &p.Patches[k], y}, labels); err != nil {
			return fmt.Errorf("outline: %w", err)
		}
	}
	return nil
}

// wipe makes pixels of the picture's size 0 in boxes.
func (r *Drawer) wipe(pixels []uint8, boxes ...image.Rectangle) {
	for _, box := range boxes {
		for y := box.Min.Y; y < box.Max.Y; y++ {
			clear(pixels[y*r.width+box.Min.X:][:box.Dx()])
		}
	}
}

// drawPatch draws what a patch shows.
func (r *Drawer) drawPatch(ctx context.Context, f scene, labels int) error {
	rings := max(1, math.Round(bandWidth*f.patch.Spacing))
	box := r.find(f)
	if box.Empty() {
		return nil
	}
	patch := image.Rect(0, 0, f.patch.Cols, f.patch.Rows)
	r.begin(f.patch, box.Inset(-int(min(rings, maxRings))-1).Intersect(patch), r.labelOf)
	if r.findBand(uint8(min(rings, maxRings))); len(r.band) > 0 {
		r.measure()
		r.scorer.reset(f.patch)
		r.palettes.reset(f, &r.scorer)
		r.price(rings)
		if err := r.cut(ctx, f, labels); err != nil {
			return err
		}
	}
	r.paint()
	return nil
}

// find sets the labels of the superpixels, and returns where in the patch the objects are.
func (r *Drawer) find(f scene) (box image.Rectangle) {
	r.labelOf = append(scratch.Grow(r.labelOf, len(f.y)+1)[:0], 0) //nolint:gocritic // in its memory
	for _, l := range f.y {
		r.labelOf = append(r.labelOf, uint8(l))
	}
	for k, b := range f.patch.Boxes {
		if f.y[f.patch.First+k] != 0 {
			box = box.Union(b)
		}
	}
	return box
}

// paint writes what r.labels are to the picture.
func (r *Drawer) paint() {
	p := r.patch
	whole := image.Rectangle{r.box.Min.Mul(p.Shrink), r.box.Max.Mul(p.Shrink)}.Add(p.Min).Intersect(p.Rectangle)
	r.drawn = append(r.drawn, whole)
	for y := whole.Min.Y; y < whole.Max.Y; y++ {
		from := r.labels[((y-p.Min.Y)/p.Shrink-r.box.Min.Y+1)*r.stride+1:][:r.box.Dx()]
		to := r.pixels[y*r.width:][whole.Min.X:whole.Max.X]
		if p.Shrink == 1 {
			over(to, from)
			continue
		}
		for x := range to {
			if l := from[x/p.Shrink]; l != 0 {
				to[x] = l
			}
		}
	}
}

// over sets dst where src is not 0. Both are equally long.
func over(dst, src []uint8) {
	dst = dst[:len(src)]
	for len(src) >= 8 {
		if binary.LittleEndian.Uint64(src) != 0 {
			for k, l := range src[:8] {
				if l != 0 {
					dst[k] = l
				}
			}
		}
		dst, src = dst[8:], src[8:]
	}
	for k, l := range src {
		if l != 0 {
			dst[k] = l
		}
	}
}

// Labels are those of the last picture's pixels, as drawn and overruled. They are for reading,
// and until the next Draw.
func (r *Drawer) Labels() []uint8 { return r.pixels }

// Overrule gives the pixels that an annotation of this very picture marks what they
// are marked as: marks is its raster, and label[1+k] the label of its object k, 0 if
// that is not to be seen.
func (r *Drawer) Overrule(marks []int16, label []uint8) {
	r.drawn, r.boxes = append(r.drawn, image.Rect(0, 0, r.width, r.height)), r.boxes[:0]
	for p, m := range marks {
		switch {
		case m >= 0:
			r.pixels[p] = label[m]
		case m == annotation.Outside && slices.Contains(label, r.pixels[p]):
			r.pixels[p] = 0
		}
	}
}

// Mask returns the pixels of a label and their number. What is too thin for a band of
// pixels has those of its superpixels.
func (r *Drawer) Mask(p *picture.Picture, y []int32, label int) (m mask.RLE, area int) {
	if len(r.boxes) == 0 {
		r.measureLabels()
	}
	box := r.boxes[label]
	for row := box.Min.Y; row < box.Max.Y; row++ {
		at := row * r.width
		area += equal(r.bits[at:][box.Min.X:box.Max.X], r.pixels[at:][box.Min.X:box.Max.X], uint8(label))
	}
	if area == 0 {
		area, box = r.superpixels(p, y, label)
	}
	m = mask.EncodeIn(r.bits, p.Width, p.Height, box)
	r.wipe(r.bits, box)
	return m, area
}

// measureLabels sets the boxes round the pixels of each label but 0.
func (r *Drawer) measureLabels() {
	r.boxes = scratch.Zero(r.boxes, 256)
	for _, drawn := range r.drawn {
		for y := drawn.Min.Y; y < drawn.Max.Y; y++ {
			row := r.pixels[y*r.width:][drawn.Min.X:drawn.Max.X]
			for x := 0; x < len(row); {
				if x+8 <= len(row) && binary.LittleEndian.Uint64(row[x:]) == 0 {
					x += 8
					continue
				}
				from, l := x, row[x]
				for x++; x < len(row) && row[x] == l; x++ {
				}
				if l > 0 {
					r.boxes[l] = r.boxes[l].Union(image.Rect(drawn.Min.X+from, y, drawn.Min.X+x, y+1))
				}
			}
		}
	}
}

// equal sets dst to 1 where src is v, else to 0, and returns how often it is.
func equal(dst, src []uint8, v uint8) (n int) {
	dst = dst[:len(src)]
	const low, ones = 0x7f7f7f7f7f7f7f7f, 0x0101010101010101
	all := uint64(v) * ones
	for len(src) >= 8 {
		x := binary.LittleEndian.Uint64(src) ^ all
		x = ^((x&low + low) | x | low) >> 7 // 1 in the bytes that were 0
		binary.LittleEndian.PutUint64(dst, x)
		n += bits.OnesCount64(x)
		dst, src = dst[8:], src[8:]
	}
	for k, l := range src {
		dst[k] = 0
		if l == v {
			dst[k] = 1
			n++
		}
	}
	return n
}

// superpixels sets r.bits where the superpixels of a label are, all of which were drawn once,
// and returns how many there are, and the box round what was drawn.
func (r *Drawer) superpixels(p *picture.Picture, y []int32, label int) (area int, box image.Rectangle) {
	if !slices.Contains(y, int32(label)) {
		return 0, box
	}
	for _, drawn := range r.drawn {
		box = box.Union(drawn)
		for row := drawn.Min.Y; row < drawn.Max.Y; row++ {
			for x := drawn.Min.X; x < drawn.Max.X; x++ {
				if i := p.At(x, row); i != features.Unseen && int(y[i]) == label && r.bits[row*r.width+x] == 0 {
					r.bits[row*r.width+x] = 1
					area++
				}
			}
		}
	}
	return area, box
}

// scene is a picture with the labels of its superpixels, and a patch of it.
type scene struct {
	*picture.Picture
	patch *features.Patch
	y     []int32
}
