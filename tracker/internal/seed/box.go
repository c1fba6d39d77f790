package seed

import (
	"github.com/segd/segd/features"

	"cmp"
	"context"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/picture"
)

const (
	// A box is tight: what is found in it must reach over this share of it, or it is not
	// the object, as its sides are touched (Lempitsky and others, ICCV 2009). With sides off
	// by 10 % it still reaches over 0.69.
	boxReach = 0.6
	boxShare = 0.6  // of the box's superpixels are taken for the object then
	boxGuess = 0.75 // probability of those
	boxRing  = 2    // superpixels looked at per superpixel in the box, itself included
)

// fillBox guesses which of the superpixels in a box are the object and writes it to w.q
// and w.y: a mask head judges each by what objects look like, or of a model without one a perceptron by its cues. The
// pixels are cut by these log odds and by the colours of both sides, which are learnt from the cut in turn, as in GrabCut (Rother,
// Kolmogorov, Blake 2004).
func (w *work) fillBox(ctx context.Context, o Object, box []float64) error {
	label := o.Label
	b := w.newBoxed(label, box)
	if len(b.in) == 0 {
		return nil
	}
	odds, p := b.odds(o.MaskLogits), make([]float64, w.N)
	for _, i := range b.in {
		p[i] = 1 / (1 + math.Exp(-odds[i]))
	}
	if err := b.cells().refine(ctx, odds, p); err != nil {
		return err
	}
	for _, i := range b.in {
		if p[i] > 0.5 {
			b.object[i] = 1
		}
	}
	isObject := func(i int) bool { return b.object[i] == 1 }
	ranks := b.ranks(odds)
	for _, share := range []float64{boxShare, 1} {
		// What a mask head finds is believed, wherever in the box it is.
		if r := w.reach(box, isObject); r >= boxReach || r > 0 && len(o.MaskLogits) > 0 {
			break
		}
		for _, i := range b.in {
			b.object[i], p[i] = 0, 1-boxGuess
			if ranks[i] >= 1-share {
				b.object[i], p[i] = 1, boxGuess
			}
		}
	}
	found := boxFound{label: int32(label), box: box}
	for _, i := range b.in {
		b.give(i, label, p[i])
		if w.y[i] == 0 || w.y[i] == int32(label) { // and not of what is in front
			w.y[i] = int32(label) * b.object[i]
		}
		if isObject(i) {
			found.superpixels = append(found.superpixels, int32(i))
		}
	}
	w.boxes = append(w.boxes, found)
	return nil
}

// odds are the log odds of the superpixels in the box to be the object: a mask head's, or if it gave none a perceptron's.
func (b *boxed) odds(maskLogits []float32) []float64 {
	odds := make([]float64, b.N)
	if len(maskLogits) > 0 {
		for _, i := range b.in {
			odds[i] = float64(maskLogits[i])
		}
		return odds
	}
	rows := b.cues()
	for k, i := range b.in {
		odds[i] = boxPerceptron().Odds(rows[k*cueInputs : (k+1)*cueInputs])
	}
	return odds
}

// boxFound is what the search in a box took for the object.
type boxFound struct {
	label       int32
	box         []float64
	superpixels []int32
}

// KeepBoxes gives the objects that the annotation last applied boxed what the search in
// the box found, where y, labels of p, has lost so much of it that it is not the object.
func (s *Seeder) KeepBoxes(p *picture.Picture, y []int32) {
	w := &work{Picture: p}
	for _, f := range s.boxes {
		if w.reach(f.box, func(i int) bool { return y[i] == f.label }) >= boxReach {
			continue
		}
		for _, i := range f.superpixels {
			if y[i] == 0 {
				y[i] = f.label
			}
		}
	}
}

// reach is the share of a box that its pixels in the superpixels that object names span.
func (w *work) reach(box []float64, object func(i int) bool) float64 {
	at := func(v float64, end int) int { return min(max(int(math.Round(v)), 0), end) }
	left, top, right, bottom := at(box[0], w.Width), at(box[1], w.Height), at(box[2], w.Width), at(box[3], w.Height)
	span := image.Rectangle{}
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			if i := w.At(x, y); i != features.Unseen && object(int(i)) {
				span = span.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return float64(span.Dx()*span.Dy()) / math.Max(1, float64((right-left)*(bottom-top)))
}

// boxed is a search in a box.
type boxed struct {
	region
	label int
	box   []float64
	in    []int // superpixels that are free
}

func (w *work) newBoxed(label int, box []float64) *boxed {
	b := &boxed{region: w.newRegion(), label: label, box: box}
	for i, fixed := range w.Fixed {
		b.free[i] = fixed == annotation.Unmarked && b.open(i) && !w.isOutside(i, label)
		if b.free[i] {
			b.in = append(b.in, i)
		} else if int(fixed) == label {
			b.object[i] = 1
		}
	}
	return b
}

// open tells whether nothing is marked on superpixel i, but for bounds, and no other object
// is taken to be there.
func (b *boxed) open(i int) bool {
	return b.Fixed[i] < 0 && (b.before[i] == 0 || int(b.before[i]) == b.label)
}

// ellipse is 1 in the middle of the box and 0 on the ellipse that fills it.
func (b *boxed) ellipse(i int) float64 {
	x, y := b.offset(i)
	return 1 - x*x - y*y
}

// offset is superpixel i's place relative to the box's middle, ±1 on its sides.
func (b *boxed) offset(i int) (x, y float64) {
	x = (2*float64(b.Centroid[2*i]) - b.box[0] - b.box[2]) / (b.box[2] - b.box[0])
	y = (2*float64(b.Centroid[2*i+1]) - b.box[1] - b.box[3]) / (b.box[3] - b.box[1])
	return x, y
}

// ranks replaces the values in the box by their places in rising order, over
// their number.
func (b *boxed) ranks(values []float64) []float64 {
	order := slices.Clone(b.in)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for r, i := range order {
		ranks[i] = float64(r) / float64(len(order))
	}
	return ranks
}

// nearest lists the superpixels in the box and those nearest to it around.
func (b *boxed) nearest() []int {
	order := make([]int, b.N)
	distance := make([]float64, b.N)
	for i := range order {
		x, y := b.offset(i)
		order[i] = i
		distance[i] = math.Max((math.Abs(x)-1)*(b.box[2]-b.box[0]), (math.Abs(y)-1)*(b.box[3]-b.box[1]))
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(distance[i], distance[j]) })
	return order[:min(len(order), boxRing*len(b.in))]
}
