package outline

import (
	"context"
	"fmt"
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
)

// Drawer draws one picture after another. The zero value is ready.
type Drawer struct {
	pixels []uint8 // label of each pixel
	bits   []uint8 // one object's

	depth []uint8 // per pixel: rings from the outline, 1 beside it; 0 outside the band
	node  []int32 // per pixel of the band: its number
	band  []int32 // pixels, ring by ring
	unary []float64
	y     []int32
	edges []mrf.Edge
	graph mrf.Potts
}

// Draw labels the pixels of p, whose superpixels have labels y: as their superpixels,
// but near an outline by their colours. Without colours the superpixels stay.
func (r *Drawer) Draw(ctx context.Context, p *picture.Picture, y []int32, labels int) error {
	r.pixels = scratch.Grow(r.pixels, len(p.Superpixel))
	f := scene{p, y}
	for at, i := range p.Superpixel {
		r.pixels[at] = uint8(y[i])
	}
	if len(f.Pixels) == 0 {
		return nil
	}
	rings := max(1, math.Round(bandWidth*math.Sqrt(float64(len(r.pixels))/float64(f.N))))
	if r.findBand(r.pixels, f.Width, f.Height, uint8(min(rings, 64))); len(r.band) == 0 {
		return nil
	}
	r.unary, r.y = scratch.Grow(r.unary, len(r.band)*labels), scratch.Grow(r.y, len(r.band))
	for k, p := range r.band {
		r.y[k] = int32(r.pixels[p])
		r.colours(r.unary[k*labels:(k+1)*labels], f, p)
		shape := depthCost * (float64(r.depth[p]) - 0.5) / rings
		r.charge(int32(k), r.pixels[p], shape, labels)
	}
	r.join(r.pixels, f, labels)
	r.graph.Reset(len(r.band), labels, r.edges)
	if err := r.graph.Label(ctx, r.y, r.unary); err != nil {
		return fmt.Errorf("outline: %w", err)
	}
	for k, p := range r.band {
		r.pixels[p] = uint8(r.y[k])
	}
	return nil
}

// Labels are those of the last picture's pixels, as drawn and overruled. They are for reading,
// and until the next Draw.
func (r *Drawer) Labels() []uint8 { return r.pixels }

// Overrule gives the pixels that an annotation of this very picture marks what they
// are marked as: marks is its raster, and label[1+k] the label of its object k, 0 if
// that is not to be seen.
func (r *Drawer) Overrule(marks []int16, label []uint8) {
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
	r.bits = scratch.Zero(r.bits, len(r.pixels))
	for at, l := range r.pixels {
		if int(l) == label {
			r.bits[at] = 1
			area++
		}
	}
	if area == 0 {
		for at, i := range p.Superpixel {
			if int(y[i]) == label {
				r.bits[at] = 1
				area++
			}
		}
	}
	return mask.Encode(r.bits, p.Width, p.Height), area
}

// scene is a picture with the labels of its superpixels.
type scene struct {
	*picture.Picture
	y []int32
}

// colours writes pixel p's colour energy for every label to u.
func (r *Drawer) colours(u []float64, f scene, p int32) {
	const unit = 1.0 / features.LabUnit
	for l := range u {
		u[l] = farthest
	}
	pix := f.Pixels[3*p : 3*p+3]
	x, y, z := unit*float64(pix[0]), unit*float64(pix[1]), unit*float64(pix[2])
	look := func(i int32) {
		c := f.Colour[3*i : 3*i+3]
		dx, dy, dz := x-float64(c[0]), y-float64(c[1]), z-float64(c[2])
		d := (dx*dx + dy*dy + dz*dz) / (2 * sigma * sigma)
		if l := f.y[i]; d < u[l] {
			u[l] = d
		}
	}
	i := f.Superpixel[p]
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
func (r *Drawer) join(y []uint8, f scene, labels int) {
	w, h := int32(f.Width), int32(f.Height)
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
			r.charge(r.node[p], y[q], weight, labels)
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
// labels.
func (r *Drawer) findBand(y []uint8, w, h int, rings uint8) {
	r.depth, r.node, r.band = scratch.Grow(r.depth, w*h), scratch.Grow(r.node, w*h), r.band[:0]
	clear(r.depth)
	add := func(p int, depth uint8) {
		if r.depth[p] == 0 {
			r.depth[p] = depth
			r.node[p] = int32(len(r.band))
			r.band = append(r.band, int32(p))
		}
	}
	for row := range h {
		for x := range w {
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
