package davis

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/mask"
)

// The occlusion's course, in frames.
const (
	slideFrames = 4
	coverFrames = 15
	afterFrames = 10 // undisturbed ones that JAfter is the mean of
	// The first frame is the annotation and the last does not count.
	occlusionFrames = 1 + slideFrames + coverFrames + slideFrames + afterFrames + 1
)

// The patch reaches beyond the object's box on each side by this share of the
// box's longer side, and by this many pixels at least: truths leave out motion blur.
const (
	coverMargin    = 0.1
	coverMarginMin = 8
)

// patch is a textured rectangle that passes before the object.
type patch struct {
	start  int           // frame where it begins to slide in
	at     []image.Point // its upper left corner, from frame start on
	bounds image.Rectangle
	bgr    []byte // its texture, row-major, as large as bounds
}

// covered and gone are the first frame in which the patch hides all of the object,
// and the first without the patch.
func (p *patch) covered() int { return p.start + slideFrames }
func (p *patch) gone() int    { return p.start + len(p.at) }

// newPatch plans the patch's way from where the object is in the middle of the
// take.
func newPatch(seed uint64, t *take) (*patch, error) {
	p := &patch{start: 1 + (len(t.Images)-occlusionFrames)/2}
	boxes := make([]image.Rectangle, coverFrames)
	var frame image.Point
	size := image.Point{}
	for i := range boxes {
		f, err := t.Read(p.covered() + i)
		if err != nil {
			return nil, err
		}
		frame = image.Pt(f.Width, f.Height)
		boxes[i] = mask.Encode(f.Truth, f.Width, f.Height).Box()
		size.X, size.Y = max(size.X, boxes[i].Dx()), max(size.Y, boxes[i].Dy())
	}
	if size == (image.Point{}) {
		return nil, fmt.Errorf("the truth of frames %d to %d is empty; want an object for the patch to cover", p.covered(), p.covered()+coverFrames-1)
	}
	for i := 1; i < len(boxes); i++ { // an object out of sight anyway is where it went
		if boxes[i].Empty() {
			boxes[i] = boxes[i-1]
		}
	}
	for i := len(boxes) - 2; i >= 0; i-- { // or will come from
		if boxes[i].Empty() {
			boxes[i] = boxes[i+1]
		}
	}
	margin := max(coverMarginMin, int(coverMargin*float64(max(size.X, size.Y))))
	size = size.Add(image.Pt(2*margin, 2*margin))
	p.bounds = image.Rectangle{Max: size}

	rng := rand.New(rand.NewPCG(seed, t.Hash()))
	p.bgr = texture(rng, size.X, size.Y)
	from, to := -size.X, frame.X
	if rng.IntN(2) == 0 {
		from, to = to, from
	}
	corner := func(b image.Rectangle) image.Point {
		return b.Min.Add(b.Max).Sub(size).Div(2)
	}
	slide := func(outside int, inside image.Point, share float64) {
		x := float64(outside) + share*float64(inside.X-outside)
		p.at = append(p.at, image.Pt(int(math.Round(x)), inside.Y))
	}
	for k := range slideFrames {
		slide(from, corner(boxes[0]), float64(k+1)/(slideFrames+1))
	}
	for _, b := range boxes {
		p.at = append(p.at, corner(b))
	}
	for k := range slideFrames {
		slide(to, corner(boxes[coverFrames-1]), float64(slideFrames-k)/(slideFrames+1))
	}
	return p, nil
}

// rect is where the patch is in frame i, empty where it is not.
func (p *patch) rect(i int) image.Rectangle {
	if i < p.start || i >= p.gone() {
		return image.Rectangle{}
	}
	return p.bounds.Add(p.at[i-p.start])
}

func (p *patch) apply(i int, f *offline.Picture) {
	r := p.rect(i)
	seen := r.Intersect(image.Rect(0, 0, f.Width, f.Height))
	for y := seen.Min.Y; y < seen.Max.Y; y++ {
		from := (y-r.Min.Y)*r.Dx() + seen.Min.X - r.Min.X
		to := y*f.Width + seen.Min.X
		copy(f.BGR[3*to:3*(to+seen.Dx())], p.bgr[3*from:])
		clear(f.Truth[to : to+seen.Dx()])
	}
}

// The texture: noise summed over scales of half the size each, equally strong, as
// natural pictures have it (their amplitudes fall as 1/f).
const (
	textureCoarsest = 64  // pixels from one random value to the next
	textureFinest   = 2   //
	textureLight    = 16. // standard deviation of lightness at each scale, of 255
	textureColour   = 6.  // of each channel on top
)

// texture draws width×height BGR24 pixels.
func texture(rng *rand.Rand, width, height int) []byte {
	sum := make([]float64, 3*width*height)
	light := 90 + 80*rng.Float64()
	var base [3]float64
	for b := range base {
		base[b] = light + 60*(rng.Float64()-0.5)
	}
	for i := range sum {
		sum[i] = base[i%3]
	}
	for cell := textureCoarsest; cell >= textureFinest; cell /= 2 {
		cols, rows := width/cell+2, height/cell+2
		knots := make([]float64, 3*cols*rows)
		for k := 0; k < len(knots); k += 3 {
			light := textureLight * rng.NormFloat64()
			for b := range 3 {
				knots[k+b] = light + textureColour*rng.NormFloat64()
			}
		}
		for y := range height {
			v, row := fraction(y, cell), y/cell*cols
			for x := range width {
				u, at := fraction(x, cell), 3*(row+x/cell)
				for b := range 3 {
					k := knots[at+b:]
					upper := k[0] + u*(k[3]-k[0])
					lower := k[3*cols] + u*(k[3*cols+3]-k[3*cols])
					sum[3*(y*width+x)+b] += upper + v*(lower-upper)
				}
			}
		}
	}
	out := make([]byte, len(sum))
	for i, v := range sum {
		out[i] = clampByte(v)
	}
	return out
}

// fraction is how far x is between two knots, eased so that the knots' grid does
// not show.
func fraction(x, cell int) float64 {
	u := float64(x%cell) / float64(cell)
	return u * u * (3 - 2*u)
}
