package features

import (
	"image"
	"slices"
	"sort"

	"github.com/segd/segd/internal/buffers"
)

// Lab is CIELAB for the D65 white of sRGB: L in 0…100, a and b about −110…110.
// It is what every colour of this package means.

// An Edge joins two superpixels that touch.
type Edge struct {
	// I and J are superpixel indices, I < J.
	I, J int32
	// Length counts the 4-neighbour pixel pairs the border consists of.
	Length float32
	// Contrast is the Euclidean distance between the mean Lab colours of I and J.
	Contrast float32
}

// A Scene is one image, or parts of one, seen as superpixels. All slices are flat and
// row-major. Lengths and areas are in pixels of the image.
//
// An Extractor fills it; its holder may read it from any goroutine as long
// as it is not handed to Extract again.
type Scene struct {
	// Seq is the caller's frame number. Extract leaves it alone. A Tracker counts time
	// by it: frames that were dropped have had theirs.
	Seq uint64
	// Width and Height are the image's, in pixels.
	Width, Height int
	// PixelAspect is the Plan's; never 0.
	PixelAspect float64
	// Patches are the parts of the image that are seen. Superpixels lie in one of them.
	Patches []Patch
	// Thumbnail is all of the image.
	Thumbnail Thumbnail
	// Light is that of the image, and how the model was shown it.
	Light Light
	// N counts superpixels, D the columns of X.
	N, D int
	// X is N×D: the model's channels averaged over the superpixel, map by map in
	// the model's order, then mean L, a and b. Raw: a Projection standardises.
	X []float32
	// Maps holds the channels of each of the model's maps, in X's order; they sum to
	// D−3. Columns of one map are of one scale.
	Maps []int
	// Lab is N×3, the mean colour.
	Lab []float32
	// Centroid is N×2: mean x, mean y of the superpixel's pixel centres, in pixels.
	Centroid []float32
	// Area counts pixels, N of them sum to what the patches cover.
	Area []int32
	// Edges lists each touching pair of a patch once, sorted by I, then J.
	Edges []Edge
	// Coarse holds X as the model sees the image at 1/2 and at 1/4 of its size, if a patch has a Coarse; zeros
	// for the superpixels elsewhere.
	Coarse [][]float32
	// Found is what the model finds in the parts of the image that it sees, each thing once, the best
	// scores first.
	Found []Detection
	// Looked are these parts, the crops of the plan with what is round them: all of the image alone if
	// that is one of them. What lies elsewhere was not looked for.
	Looked []image.Rectangle

	masker Masker // nil: none made it
}

// A Patch is a part of an image that is seen, and how.
type Patch struct {
	image.Rectangle // of the image
	// Zoom is how many times as large, and as fine, it is seen as all of the image would be.
	Zoom int
	// Shrink is how many pixels of the image, across and down, one of the patch is the mean of.
	Shrink int
	// Spacing is how far apart superpixels are that were not wanted finer, in the patch's pixels.
	Spacing float64
	// Coarse is the part of it that was seen smaller, too: superpixels whose centroids are in it.
	Coarse image.Rectangle
	// Cols and Rows count the patch's pixels: as many as cover Rectangle.
	Cols, Rows int
	// First is the first of its superpixels, N counts them.
	First, N int
	// Labels holds Rows×Cols superpixel indices in First…First+N−1, or Unseen where an
	// earlier patch counts. Every superpixel is one 4-connected region and none is empty.
	Labels []int32
	// Boxes are those of the N superpixels, in the patch's pixels.
	Boxes []image.Rectangle
	// Pixels is Rows×Cols×3: every pixel's L, a and b, in units of 1/LabUnit.
	Pixels []int16
	// Maps are what the model saw of the patch and round it, in the model's order.
	Maps []Map
	// MaskFeatures are what a Masker sees of it beside Maps.
	MaskFeatures Map
}

// centred tells whether superpixel i has its centroid in a part of the image.
func (s *Scene) centred(i int, part image.Rectangle) bool {
	return image.Pt(int(s.Centroid[2*i]), int(s.Centroid[2*i+1])).In(part)
}

// SeenSmaller tells whether Coarse has superpixel i.
func (s *Scene) SeenSmaller(i int) bool {
	k := sort.Search(len(s.Patches), func(k int) bool { return i < s.Patches[k].First+s.Patches[k].N })
	return k < len(s.Patches) && s.centred(i, s.Patches[k].Coarse)
}

// Release gives what takes most of s's memory to those who make scenes next, of any camera. s may not be used any more until
// Extract has filled it anew.
func (s *Scene) Release() {
	patches := s.Patches[:cap(s.Patches)]
	for k := range patches {
		p := &patches[k]
		release(&p.Labels)
		release(&p.Pixels)
		releaseMaps(p.Maps)
		release(&p.MaskFeatures.Data)
	}
	release(&s.X)
	for k := range s.Coarse[:cap(s.Coarse)] {
		release(&s.Coarse[:cap(s.Coarse)][k])
	}
	release(&s.Thumbnail.Lab)
	s.Patches, s.Coarse = s.Patches[:0], s.Coarse[:0]
}

func releaseMaps(maps []Map) {
	for i := range maps {
		release(&maps[i].Data)
	}
}

// release gives back what Get or Fit of package buffers returned.
func release[T buffers.Number](s *[]T) {
	buffers.Put(*s)
	*s = nil
}

// Unseen is the label of a pixel that lies in no superpixel of a patch.
const Unseen = -1

// find returns the patch that counts at a pixel of the image, and the index of its pixel there; nil: none.
func find(patches []Patch, x, y int) (p *Patch, i int) {
	at := image.Pt(x, y)
	for k := range patches {
		if p := &patches[k]; at.In(p.Rectangle) {
			if i := p.Index(x, y); p.Labels[i] != Unseen {
				return p, i
			}
		}
	}
	return nil, 0
}

// Label is the superpixel in which a pixel of the image lies, or Unseen.
func Label(patches []Patch, x, y int) int32 {
	if p, i := find(patches, x, y); p != nil {
		return p.Labels[i]
	}
	return Unseen
}

// Pixel is the colour of a pixel of the image, as far as it is seen.
func Pixel(patches []Patch, x, y int) (lab [colours]int16, seen bool) {
	if p, i := find(patches, x, y); p != nil {
		return [colours]int16(p.Pixels[colours*i:]), true
	}
	return lab, false
}

// Index is where the patch's pixel is that covers pixel (x, y) of the image, which lies in it.
func (p *Patch) Index(x, y int) int {
	return (y-p.Min.Y)/p.Shrink*p.Cols + (x-p.Min.X)/p.Shrink
}

// thumbnailSide is how many cells of the thumbnail the image's longer side has.
const thumbnailSide = 384

// A Thumbnail is an image as square cells of Cell×Cell pixels; what is too narrow for one at
// the right and at the bottom is left out.
type Thumbnail struct {
	Cell, Width, Height int
	// Lab is Height×Width×3: the L, a and b of every cell's mean colour, in units of 1/LabUnit.
	Lab []int16

	mean []byte // of the bytes of a cell, by their sum
	// Of a row of cells.
	sums   []uint32
	means  []byte
	pixels []pixel
}

// A Map is features of an image's cells.
type Map struct {
	// Data's shape is Height, Width, Channels, in that order, row-major.
	Channels, Height, Width int
	// Cell (i, j) is centred on pixel x = StrideX·j + OffsetX, y = StrideY·i + OffsetY
	// of the original image, where pixel (0, 0) is centred on x = y = 0.
	StrideX, StrideY, OffsetX, OffsetY float64
	// Data holds Height×Width×Channels values.
	Data []float32
}

// A Sight is what a Model makes of a view of an image.
type Sight struct {
	Maps []Map
	// Found are the things in view, of any class that the model knows and with a score of LeastScore or
	// more, the best first; nothing if it knows none. What a border of the view cuts, unless it is
	// one of the image, is left out.
	Found []Detection
	// MaskFeatures are what a Masker wants back; without Data where a model is none.
	MaskFeatures Map
}

// release gives back the memory of s.
func (s *Sight) release() {
	releaseMaps(s.Maps)
	release(&s.MaskFeatures.Data)
}

// CopyTo returns a copy of s in dst's memory, which is dst's alone.
func (s Sight) CopyTo(dst Sight) Sight {
	dst.Maps = slices.Grow(dst.Maps[:0], len(s.Maps))[:len(s.Maps)]
	for k, m := range s.Maps {
		m.Data = append(buffers.Fit(dst.Maps[k].Data, len(m.Data))[:0], m.Data...)
		dst.Maps[k] = m
	}
	head := s.MaskFeatures
	head.Data = append(buffers.Fit(dst.MaskFeatures.Data, len(head.Data))[:0], head.Data...)
	dst.MaskFeatures = head
	dst.Found = append(dst.Found[:0], s.Found...)
	return dst
}

// The shorter side of all of an image is about ModelSide pixels of a Model's input, whose sides are multiples of ModelStep.
const (
	ModelSide = 544
	ModelStep = 32
)

// ModelScale is how many pixels of its input there are for the height of one of an image of a size, a pixel of which is aspect times as
// wide as high.
func ModelScale(size image.Point, aspect float64) float64 {
	return ModelSide / max(1, min(aspect*float64(size.X), float64(size.Y)))
}

// part copies what of m shows a part of the image, and a cell round it.
func (m *Map) part(r image.Rectangle) Map {
	if len(m.Data) == 0 {
		return Map{}
	}
	along := func(from, to int, stride, offset float64, n int) (first, end int) {
		first = min(max(0, int((float64(from)-offset)/stride)-1), n-1)
		return first, min(max(first+1, int((float64(to)-offset)/stride)+2), n)
	}
	x, right := along(r.Min.X, r.Max.X, m.StrideX, m.OffsetX, m.Width)
	y, bottom := along(r.Min.Y, r.Max.Y, m.StrideY, m.OffsetY, m.Height)
	p := *m
	p.Width, p.Height = right-x, bottom-y
	p.OffsetX, p.OffsetY = m.OffsetX+float64(x)*m.StrideX, m.OffsetY+float64(y)*m.StrideY
	p.Data = buffers.Get[float32](p.Width * p.Height * p.Channels)[:0]
	for row := y; row < bottom; row++ {
		p.Data = append(p.Data, m.Data[(row*m.Width+x)*m.Channels:][:p.Width*p.Channels]...)
	}
	return p
}

// A Model computes feature maps of an image, and finds things in it; features/dnn has one.
type Model interface {
	// Features computes the maps of what view shows of a BGR24 image of width×height pixels
	// (tight, 3·width·height bytes, not kept), and what is found there, and returns them in dst, whose
	// memory it reuses and no other caller has. Number, order and channels of the maps never change; cells and boxes are placed
	// in the image as it is. The model may look farther than the view.
	Features(dst Sight, bgr []byte, width, height int, view View) (Sight, error)
}

// A DeviceModel is a Model that may compute on a device of its own.
type DeviceModel interface {
	Model
	// NeedsCore says whether the processor computes the next image.
	NeedsCore() bool
}

// A View is what of an image a model is shown. The zero View is all of it.
type View struct {
	image.Rectangle // of the image; empty: all of it
	// Scale is how large it is shown beside how large all of an image usually is; 0: 1.
	Scale float64
	// Large has things looked for that are too large to be found in a view of this scale, by a smaller one. Nothing
	// else is found, and there are no maps.
	Large bool
	// Exposure is what becomes of its bytes before.
	Exposure Exposure
	// PixelAspect is how many times as wide as high a pixel of the image is meant to be seen; 0: 1. The model is
	// shown it as it is meant to be seen.
	PixelAspect float64
}

// Aspect is PixelAspect, 1 where there is none.
func (v View) Aspect() float64 {
	if v.PixelAspect == 0 {
		return 1
	}
	return v.PixelAspect
}
