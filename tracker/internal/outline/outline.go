package outline

import (
	"context"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// How the outlines are drawn. A pixel's energy for a label is its squared colour
// distance to the likest superpixel around that has the label, over 2·sigma²
// and at most farthest; a label other than its superpixel's costs up to
// depthCost more, the farther the outline is; and an outline costs smoothness
// a pixel where the colours are alike, less where they differ.
const (
	bandWidth  = 0.5 // half the band's width over the mean superpixel's side
	sigma      = 6.0 // units of CIELAB
	farthest   = 4.0
	depthCost  = 0.5
	smoothness = 4.0
	maxRings   = 64
)

// Drawer draws one picture after another. The zero value is ready.
type Drawer struct {
	width, height int
	pixels        []uint8           // label of each pixel of the picture
	drawn         []image.Rectangle // outside of which it is 0
	bits          []uint8           // one object's; all 0 between calls

	// Of a patch, or of the part of it where there are objects.
	labels []uint8
	depth  []uint8 // per pixel: rings from the outline, 1 beside it; 0 outside the band
	node   []int32 // per pixel of the band: its number
	band   []int32 // pixels, ring by ring
	unary  []float64
	y      []int32
	edges  []mrf.Edge
	graph  mrf.Potts
}

// Draw labels the pixels of p, whose superpixels have labels y: as their superpixels,
// but near an outline by their colours. Where no patch sees them they are background.
func (r *Drawer) Draw(ctx context.Context, p *picture.Picture, y []int32, labels int) error {
	if r.width != p.Width || r.height != p.Height {
		n := p.Width * p.Height
		*r = Drawer{width: p.Width, height: p.Height, pixels: make([]uint8, n), bits: make([]uint8, n)}
	}
	r.wipe(r.pixels, r.drawn...)
	r.drawn = r.drawn[:0]
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
	box := r.label(f)
	if box.Empty() {
		return nil
	}
	patch := image.Rect(0, 0, f.patch.Cols, f.patch.Rows)
	box = box.Inset(-int(min(rings, maxRings)) - 1).Intersect(patch)
	if r.findBand(f.patch, box, uint8(min(rings, maxRings))); len(r.band) > 0 {
		r.unary, r.y = scratch.Grow(r.unary, len(r.band)*labels), scratch.Grow(r.y, len(r.band))
		for k, p := range r.band {
			r.y[k] = int32(r.labels[p])
			r.colours(r.unary[k*labels:(k+1)*labels], f, p)
			shape := depthCost * (float64(r.depth[p]) - 0.5) / rings
			r.charge(int32(k), r.labels[p], shape, labels)
		}
		r.join(f.patch, labels)
		r.graph.Reset(len(r.band), labels, r.edges)
		if err := r.graph.Label(ctx, r.y, r.unary); err != nil {
			return err
		}
		for k, p := range r.band {
			r.labels[p] = uint8(r.y[k])
		}
	}
	r.paint(f.patch, box)
	return nil
}

// label sets r.labels to those of the superpixels, and returns where the objects are.
func (r *Drawer) label(f scene) (box image.Rectangle) {
	w, h := f.patch.Cols, f.patch.Rows
	r.labels = scratch.Grow(r.labels, w*h)
	for row := range h {
		first, last := w, -1
		for x, i := range f.patch.Labels[row*w : (row+1)*w] {
			l := uint8(0)
			if i != features.Unseen {
				l = uint8(f.y[i])
			}
			if r.labels[row*w+x] = l; l != 0 {
				first, last = min(first, x), x
			}
		}
		if last >= 0 {
			box = box.Union(image.Rect(first, row, last+1, row+1))
		}
	}
	return box
}

// paint writes the part of r.labels in a box to the picture.
func (r *Drawer) paint(p *features.Patch, box image.Rectangle) {
	whole := image.Rectangle{box.Min.Mul(p.Shrink), box.Max.Mul(p.Shrink)}.Add(p.Min).Intersect(p.Rectangle)
	r.drawn = append(r.drawn, whole)
	for y := whole.Min.Y; y < whole.Max.Y; y++ {
		from := r.labels[(y-p.Min.Y)/p.Shrink*p.Cols:][:p.Cols]
		to := r.pixels[y*r.width:][:r.width]
		for x := whole.Min.X; x < whole.Max.X; x++ {
			if l := from[(x-p.Min.X)/p.Shrink]; l != 0 {
				to[x] = l
			}
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
	r.drawn = append(r.drawn, image.Rect(0, 0, r.width, r.height))
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
	var box image.Rectangle
	for _, b := range r.drawn {
		box = box.Union(b)
	}
	for row := box.Min.Y; row < box.Max.Y; row++ {
		bits := r.bits[row*r.width:][box.Min.X:box.Max.X]
		for x, l := range r.pixels[row*r.width:][box.Min.X:box.Max.X] {
			if int(l) == label {
				bits[x] = 1
				area++
			}
		}
	}
	if area == 0 {
		area = r.superpixels(p, y, label)
	}
	m = mask.Encode(r.bits, p.Width, p.Height)
	r.wipe(r.bits, box)
	return m, area
}

// superpixels sets r.bits where the superpixels of a label are, all of which were drawn once,
// and returns how many there are.
func (r *Drawer) superpixels(p *picture.Picture, y []int32, label int) (area int) {
	for _, box := range r.drawn {
		for row := box.Min.Y; row < box.Max.Y; row++ {
			for x := box.Min.X; x < box.Max.X; x++ {
				if i := p.At(x, row); i != features.Unseen && int(y[i]) == label && r.bits[row*r.width+x] == 0 {
					r.bits[row*r.width+x] = 1
					area++
				}
			}
		}
	}
	return area
}

// scene is a picture with the labels of its superpixels, and a patch of it.
type scene struct {
	*picture.Picture
	patch *features.Patch
	y     []int32
}

// colours writes pixel p's colour energy for every label to u.
func (r *Drawer) colours(u []float64, f scene, p int32) {
	const unit = 1.0 / features.LabUnit
	for l := range u {
		u[l] = farthest
	}
	pix := f.patch.Pixels[3*p : 3*p+3]
	x, y, z := unit*float64(pix[0]), unit*float64(pix[1]), unit*float64(pix[2])
	look := func(i int32) {
		c := f.Colour[3*i : 3*i+3]
		dx, dy, dz := x-float64(c[0]), y-float64(c[1]), z-float64(c[2])
		d := (dx*dx + dy*dy + dz*dz) / (2 * sigma * sigma)
		if l := f.y[i]; d < u[l] {
			u[l] = d
		}
	}
	i := f.patch.Labels[p]
	look(i)
	for _, j := range f.Touching.Of(i) {
		look(j)
	}
}

// charge makes every label but one dearer for a node.
func (r *Drawer) charge(node int32, label uint8, cost float64, labels int) {
	u := r.unary[int(node)*labels : (int(node)+1)*labels]
	for l := range u {
		if l != int(label) {
			u[l] += cost
		}
	}
}

// join sets the edges between the band's pixels, contrast-sensitive as in GrabCut,
// and charges those at the band's rim for differing from the pixel outside.
func (r *Drawer) join(f *features.Patch, labels int) {
	w, h := int32(f.Cols), int32(f.Rows)
	squared := func(p, q int32) float64 {
		a, b := f.Pixels[3*p:3*p+3], f.Pixels[3*q:3*q+3]
		l, m, n := int32(a[0])-int32(b[0]), int32(a[1])-int32(b[1]), int32(a[2])-int32(b[2])
		return float64(l*l + m*m + n*n)
	}
	sum, count := 1e-9, 1e-9
	for _, p := range r.band {
		if p%w+1 < w {
			sum, count = sum+squared(p, p+1), count+1
		}
		if p+w < w*h {
			sum, count = sum+squared(p, p+w), count+1
		}
	}
	scale := -count / (2 * sum)
	r.edges = r.edges[:0]
	pair := func(p, q int32) { // p is in the band
		weight := smoothness * math.Exp(scale*squared(p, q))
		switch {
		case r.depth[q] == 0:
			r.charge(r.node[p], r.labels[q], weight, labels)
		case q > p:
			r.edges = append(r.edges, mrf.Edge{I: r.node[p], J: r.node[q], W: weight})
		}
	}
	for _, p := range r.band {
		if p%w > 0 && r.depth[p-1] == 0 {
			pair(p, p-1)
		}
		if p%w+1 < w {
			pair(p, p+1)
		}
		if p >= w && r.depth[p-w] == 0 {
			pair(p, p-w)
		}
		if p+w < w*h {
			pair(p, p+w)
		}
	}
}

// findBand finds the band: rings pixels on either side of every border between
// labels, as far as they are seen. All borders are in a box, and more than rings pixels from
// its sides unless the patch ends there.
func (r *Drawer) findBand(f *features.Patch, box image.Rectangle, rings uint8) {
	w, h, y := f.Cols, f.Rows, r.labels
	r.depth, r.node, r.band = scratch.Zero(r.depth, w*h), scratch.Grow(r.node, w*h), r.band[:0]
	add := func(p int, depth uint8) {
		if r.depth[p] == 0 && f.Labels[p] != features.Unseen {
			r.depth[p] = depth
			r.node[p] = int32(len(r.band))
			r.band = append(r.band, int32(p))
		}
	}
	for row := box.Min.Y; row < box.Max.Y; row++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			p := row*w + x
			if x+1 < w && y[p] != y[p+1] {
				add(p, 1)
				add(p+1, 1)
			}
			if row+1 < h && y[p] != y[p+w] {
				add(p, 1)
				add(p+w, 1)
			}
		}
	}
	for k := 0; k < len(r.band); k++ {
		p := int(r.band[k])
		d := r.depth[p] + 1
		if d > rings {
			break
		}
		if p%w > 0 {
			add(p-1, d)
		}
		if p%w+1 < w {
			add(p+1, d)
		}
		if p >= w {
			add(p-w, d)
		}
		if p+w < w*h {
			add(p+w, d)
		}
	}
}
