package tracker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/scratch"
)

// How an object is found in its box. Chosen on the first frames of eight DAVIS
// sequences, boxed by their ground truth: mean J 0.72, where the boxes themselves
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
)

// fillBox guesses which of the superpixels in a box are the object and writes it
// to f.belief.Q and f.y. As in GrabCut (Rother, Kolmogorov, Blake 2004) what is outside
// is known, and a model of both sides and the labels inside are estimated in
// turns. Ours is a linear classifier of the superpixels in and around the box,
// asked for each of them as it would be without that one: otherwise it learns the
// first guess by heart. The first guess is that the object is in the middle, unlike
// what is outside, and far from there by the differences on the way.
func (t *Tracker) fillBox(ctx context.Context, f *frame, label int, box []float64) error {
	b := &boxed{t: t, f: f, box: box, y: make([]int32, f.N), free: make([]bool, f.N)}
	for i, fixed := range f.fixed {
		b.free[i] = fixed == annotation.Unmarked && !f.isOutside(i, label) && (t.before[i] == 0 || int(t.before[i]) == label)
		if b.free[i] {
			b.in = append(b.in, i)
		} else if int(fixed) == label {
			b.y[i] = 1
		}
	}
	if len(b.in) == 0 {
		return nil
	}
	first := b.firstGuess()
	odds := make([]float64, f.N)
	for _, i := range b.in {
		odds[i] = (first[i] - (1 - boxShare)) / boxSlope
		if odds[i] > 0 {
			b.y[i] = 1
		}
	}
	p := make([]float64, f.N)
	scores := make([]float64, f.N)
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
	labels := t.labels()
	for _, i := range b.in {
		row := f.belief.Q[i*labels : (i+1)*labels]
		rest := row[0] + row[label] // what other objects leave
		row[label], row[0] = p[i]*rest, (1-p[i])*rest
		f.y[i] = int32(label) * b.y[i]
	}
	return nil
}

// boxed is one search of a box.
type boxed struct {
	t    *Tracker
	f    *frame
	box  []float64
	in   []int   // superpixels that may be the object or not
	free []bool  // whether a superpixel is one of them
	y    []int32 // 1 where the object is; strokes and what is outside do not change
}

// ellipse is 1 in the middle of the box and 0 on the ellipse that fills it.
func (b *boxed) ellipse(i int) float64 {
	x, y := b.offset(i)
	return 1 - x*x - y*y
}

// offset is superpixel i's place relative to the box's middle, ±1 on its sides.
func (b *boxed) offset(i int) (x, y float64) {
	x = (2*float64(b.f.Centroid[2*i]) - b.box[0] - b.box[2]) / (b.box[2] - b.box[0])
	y = (2*float64(b.f.Centroid[2*i+1]) - b.box[1] - b.box[3]) / (b.box[3] - b.box[1])
	return x, y
}

// firstGuess ranks the superpixels in the box from 0, surely background, to 1.
func (b *boxed) firstGuess() []float64 {
	sum := make([]float64, b.f.N)
	middle := make([]float64, b.f.N)
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
	f := b.f
	values := make([]float64, f.N)
	best := make([]cosine.Match, unlikeLinks)
	for slot, i := range f.Grid.Order {
		if !b.free[i] {
			continue
		}
		for c := range best {
			best[c].Cosine = -1
		}
		for s, j := range f.Grid.Order {
			if b.free[j] || b.y[j] == 1 {
				continue
			}
			if c := cosine.Dot(f.UnitAt(slot), f.UnitAt(s)); c > best[unlikeLinks-1].Cosine {
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
	f, d := b.f, b.f.Dim
	way := make([]float64, f.N)
	for i := range way {
		if b.free[i] || b.y[i] == 1 {
			way[i] = math.Inf(1)
		}
	}
	steps := make([]float64, len(f.Edges))
	for e, edge := range f.Edges {
		x, y := f.Features[int(edge.I)*d:int(edge.I+1)*d], f.Features[int(edge.J)*d:int(edge.J+1)*d]
		for k, v := range x {
			steps[e] += (v - y[k]) * (v - y[k])
		}
		steps[e] = math.Sqrt(steps[e])
	}
	for shorter := true; shorter; {
		shorter = false
		for e, edge := range f.Edges {
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
	order := make([]int, b.f.N)
	distance := make([]float64, b.f.N)
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
	f, d := b.f, b.f.Dim+1
	ring := b.ring()
	var count [2]float64
	for _, i := range ring {
		count[b.y[i]]++
	}
	var weight [2]float64
	for c := range weight {
		weight[c] = math.Pow(float64(len(ring))/(2*math.Max(1, count[c])), boxBalance)
	}
	normal, right := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	inRing := make([]bool, f.N)
	for _, i := range ring {
		inRing[i] = true
		x, w := mat.NewVecDense(d, f.Rows[i*d:(i+1)*d]), weight[b.y[i]]
		normal.SymRankOne(normal, w, x)
		right.AddScaledVec(right, w*sign(b.y[i]), x)
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
		x := mat.NewVecDense(d, f.Rows[i*d:(i+1)*d])
		scores[i] = mat.Dot(x, &fit)
		if !inRing[i] {
			continue
		}
		if cholesky.SolveVecTo(&z, x) != nil {
			return false
		}
		own := weight[b.y[i]] * mat.Dot(x, &z) // i's leverage, below 1
		scores[i] = (scores[i] - own*sign(b.y[i])) / (1 - own)
	}
	return true
}

func sign(y int32) float64 { return float64(2*y - 1) }

// cut labels the box by probabilities p of the object and smoothness.
func (b *boxed) cut(ctx context.Context, p []float64) error {
	t, n := b.t, b.f.N
	t.unary = scratch.Grow(t.unary, 2*n)
	for i := range n {
		u := t.unary[2*i : 2*i+2]
		u[0], u[1] = p[i], 1-p[i]
		if !b.free[i] {
			u[b.y[i]], u[1-b.y[i]] = 0, math.Inf(1)
		}
	}
	t.newest.Reset(n, 2, b.f.Edges)
	if _, err := t.newest.Label(ctx, b.y, t.unary); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	return nil
}
