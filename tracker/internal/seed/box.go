package seed

import (
	"cmp"
	"context"
	"image"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
)

// How an object is found in its box. Chosen on the first frames of eight DAVIS
// sequences, boxed by their ground truth: mean J 0.70, where the boxes themselves
// have 0.48 (segd eval scribbles).
const (
	boxShare    = 0.6  // of the box's superpixels are the object to begin with
	boxSlope    = 0.15 // of the first guess: ranks per unit of log odds
	boxRounds   = 10
	boxRing     = 2   // superpixels learnt from per superpixel in the box, itself included
	boxBalance  = 0.3 // exponent of the class weights
	boxRidge    = 6   // regulariser over the mean variance of a feature
	boxOdds     = 6   // log odds of a score of 1
	unlikeLinks = 3   // most similar superpixels outside that likeness is the mean of

	// A box is tight: what is found in it must reach over this share of it, or it is not
	// the object, as its sides are touched (Lempitsky and others, ICCV 2009).
	boxReach = 0.5
	boxGuess = 0.75 // probability of what is taken for the object then
)

// fillBox guesses which of the superpixels in a box are the object and writes it
// to w.q and w.y. As in GrabCut (Rother, Kolmogorov, Blake 2004) what is outside
// is known, and a model of both sides and the labels inside are estimated in
// turns. Ours is a linear classifier of the superpixels in and around the box,
// asked for each of them as it would be without that one: otherwise it learns the
// first guess by heart. The first guess is that the object is in the middle, unlike
// what is outside, and far from there by the differences on the way.
func (w *work) fillBox(ctx context.Context, label int, box []float64) error {
	b := &boxed{region: w.newRegion(), box: box}
	for i, fixed := range w.Fixed {
		b.free[i] = fixed == annotation.Unmarked && !w.isOutside(i, label) && (w.before[i] == 0 || int(w.before[i]) == label)
		if b.free[i] {
			b.in = append(b.in, i)
		} else if int(fixed) == label {
			b.object[i] = 1
		}
	}
	if len(b.in) == 0 {
		return nil
	}
	first := b.firstGuess()
	odds := make([]float64, w.N)
	for _, i := range b.in {
		odds[i] = (first[i] - (1 - boxShare)) / boxSlope
		if odds[i] > 0 {
			b.object[i] = 1
		}
	}
	p := make([]float64, w.N)
	scores := make([]float64, w.N)
	for range boxRounds {
		if !b.classify(scores) {
			clear(scores)
		}
		for _, i := range b.in {
			p[i] = 1 / (1 + math.Exp(-(boxOdds*scores[i] + odds[i])))
		}
		if err := b.cut(ctx, p); err != nil {
			return err
		}
	}
	isObject := func(i int) bool { return b.object[i] == 1 }
	for _, guess := range []func(i int) bool{
		func(i int) bool { return odds[i] > 0 },
		func(i int) bool { return true },
	} {
		if w.reach(box, isObject) >= boxReach {
			break
		}
		for _, i := range b.in {
			b.object[i], p[i] = 0, 1-boxGuess
			if guess(i) {
				b.object[i], p[i] = 1, boxGuess
			}
		}
	}
	found := boxFound{label: int32(label), box: box}
	for _, i := range b.in {
		b.give(i, label, p[i])
		w.y[i] = int32(label) * b.object[i]
		if isObject(i) {
			found.superpixels = append(found.superpixels, int32(i))
		}
	}
	w.boxes = append(w.boxes, found)
	return nil
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
			if object(int(w.Superpixel[y*w.Width+x])) {
				span = span.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return float64(span.Dx()*span.Dy()) / math.Max(1, float64((right-left)*(bottom-top)))
}

// boxed is a search in a box.
type boxed struct {
	region
	box []float64
	in  []int // superpixels that are free
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

// firstGuess ranks the superpixels in the box from 0, surely background, to 1.
func (b *boxed) firstGuess() []float64 {
	sum := make([]float64, b.N)
	middle := make([]float64, b.N)
	for _, i := range b.in {
		middle[i] = b.ellipse(i)
	}
	for _, cue := range [][]float64{middle, b.unlike(), b.far()} {
		for i, r := range b.ranks(cue) {
			sum[i] += r
		}
	}
	return b.ranks(sum)
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

// unlike is how little a superpixel resembles those that are not the object.
func (b *boxed) unlike() []float64 {
	values := make([]float64, b.N)
	best := make([]cosine.Match, unlikeLinks)
	for slot, i := range b.Grid.Order {
		if !b.free[i] {
			continue
		}
		for c := range best {
			best[c].Cosine = -1
		}
		for s, j := range b.Grid.Order {
			if b.free[j] || b.object[j] == 1 {
				continue
			}
			if c := cosine.Dot(b.UnitAt(slot), b.UnitAt(s)); c > best[unlikeLinks-1].Cosine {
				cosine.Insert(best, cosine.Match{Cosine: c})
			}
		}
		for _, l := range best {
			values[i] -= float64(l.Cosine)
		}
	}
	return values
}

// far is the length of the shortest way to a superpixel from one that is not the
// object, where a step is as long as its sides' features differ: the geodesic
// saliency of Wei and others (2012).
func (b *boxed) far() []float64 {
	d := b.Dim
	way := make([]float64, b.N)
	for i := range way {
		if b.free[i] || b.object[i] == 1 {
			way[i] = math.Inf(1)
		}
	}
	steps := make([]float64, len(b.Edges))
	for e, edge := range b.Edges {
		x, y := b.Features[int(edge.I)*d:int(edge.I+1)*d], b.Features[int(edge.J)*d:int(edge.J+1)*d]
		for k, v := range x {
			steps[e] += (v - y[k]) * (v - y[k])
		}
		steps[e] = math.Sqrt(steps[e])
	}
	for shorter := true; shorter; {
		shorter = false
		for e, edge := range b.Edges {
			i, j := edge.I, edge.J
			if way[j] < way[i] {
				i, j = j, i
			}
			if w := way[i] + steps[e]; w < way[j] {
				way[j] = w
				shorter = true
			}
		}
	}
	return way
}

// ring lists the superpixels in the box and those nearest to it around.
func (b *boxed) ring() []int {
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

// classify fits a weighted ridge regression to ±1 labels in and around the box and
// writes the score that each superpixel in the box has under the fit to all the
// others. It returns false when that cannot be done, which keeps the labels.
func (b *boxed) classify(scores []float64) bool {
	d := b.Dim + 1
	ring := b.ring()
	var count [2]float64
	for _, i := range ring {
		count[b.object[i]]++
	}
	var weight [2]float64
	for c := range weight {
		weight[c] = math.Pow(float64(len(ring))/(2*math.Max(1, count[c])), boxBalance)
	}
	normal, right := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	inRing := make([]bool, b.N)
	for _, i := range ring {
		inRing[i] = true
		x, w := mat.NewVecDense(d, b.Rows[i*d:(i+1)*d]), weight[b.object[i]]
		normal.SymRankOne(normal, w, x)
		right.AddScaledVec(right, w*sign(b.object[i]), x)
	}
	ridge := boxRidge * mat.Trace(normal) / float64(d)
	for k := range d {
		normal.SetSym(k, k, normal.At(k, k)+ridge)
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(normal) {
		return false
	}
	var fit, z mat.VecDense
	if cholesky.SolveVecTo(&fit, right) != nil {
		return false
	}
	for _, i := range b.in {
		x := mat.NewVecDense(d, b.Rows[i*d:(i+1)*d])
		scores[i] = mat.Dot(x, &fit)
		if !inRing[i] {
			continue
		}
		if cholesky.SolveVecTo(&z, x) != nil {
			return false
		}
		own := weight[b.object[i]] * mat.Dot(x, &z) // i's leverage, below 1
		scores[i] = (scores[i] - own*sign(b.object[i])) / (1 - own)
	}
	return true
}

func sign(y int32) float64 { return float64(2*y - 1) }
