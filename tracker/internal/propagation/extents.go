package propagation

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// What a box says of the superpixels in it and around it. Boxes that are as their objects are tight, and the
// object reaches to their sides (Lempitsky and others, ICCV 2009). Inside, a mask head says where it is, and its log odds are
// added to the box's; without one nothing is known of that.
const (
	// The log odds are boxOdds·(1 − m⁸), m being about the larger of the ways from the middle along both
	// sides, in half of these: 2 in most of the box, 0 at its sides, −6.6 a fifth of half a side outside.
	boxOdds = 2.0
	// A box has as many votes as this many superpixels that are quite alike, if the object has no mask.
	boxVotes = 12.0
	// How much of the odds counts inside of a box that the object's mask fits. MOTA of the masks' boxes, the demo's
	// frames 1–200 and TUD-Campus: .424 and .284 with 0, .536 and .362 with .5, .571 and .365 with .75, .576 and .343
	// with 1.
	insideShare = 0.75
	// Votes below which a superpixel that is unlikely to be one of the objects is background.
	leastVotes = 1.0
	// The log odds far outside: what becomes of votes by them is still a normal number. They are that at more than
	// leastReach of a side from the middle, as leastReach is more than (1 − leastLogit/boxOdds)^⅛ halves.
	leastLogit = -50
	leastReach = 0.76
	// A probability below that is not worth a thought.
	leastShown = 0.02
)

// boxLogit is the log odds that superpixel i of p shows what a box is round, by the box alone.
func boxLogit(box image.Rectangle, p *picture.Picture, i int) float64 {
	u := (2*float64(p.Centroid[2*i]) - float64(box.Min.X+box.Max.X)) / float64(box.Dx())
	v := (2*float64(p.Centroid[2*i+1]) - float64(box.Min.Y+box.Max.Y)) / float64(box.Dy())
	return max(boxOdds*(1-eighth(u)-eighth(v)), leastLogit)
}

// eighth is v⁸.
func eighth(v float64) float64 { v *= v; v *= v; return v * v }

// farOdds are the odds far outside.
var farOdds = math.Exp(leastLogit)

// extents is what the objects' tracks say.
type extents struct {
	order []int     // objects with a box, from the front
	odds  []float64 // N for each object, of the superpixels by its own box
	free  []float64 // N for each object: what the boxes in front of it leave of each
	left  []float64 // N: what all boxes leave
	near  []int32   // superpixels that are not far outside of the boxes, box by box in that order
	ends  []int     // of these
}

// lay takes the boxes of the objects in p. Of boxes that overlap the one with the lower foot is in front. Those whose track is
// lost are less likely to be seen where boxes are.
func (e *extents) lay(p *picture.Picture, objects []Object) {
	e.order = e.order[:0]
	for k, o := range objects {
		if !o.Extent.Empty() {
			e.order = append(e.order, k)
		}
	}
	if len(e.order) == 0 {
		return
	}
	slices.SortStableFunc(e.order, func(i, j int) int {
		return cmp.Compare(objects[j].Extent.Max.Y, objects[i].Extent.Max.Y)
	})
	e.odds, e.free, e.left = scratch.Grow(e.odds, p.N*len(objects)), scratch.Grow(e.free, p.N*len(objects)), scratch.Grow(e.left, p.N)
	e.near, e.ends = e.near[:0], e.ends[:0]
	for i := range e.left {
		e.left[i] = 1
	}
	for _, k := range e.order {
		odds := e.odds[k*p.N:][:p.N]
		for i := range odds {
			odds[i] = farOdds // next to 1 it is nothing: it takes nothing of what is left
		}
		copy(e.free[k*p.N:], e.left)
		box := objects[k].Extent
		first, last := p.Grid.CellRows(float64(box.Min.Y+box.Max.Y)/2, leastReach*float64(box.Dy()))
		for row := first; row <= last; row++ {
			from, to := p.Grid.Span(row, float64(box.Min.X+box.Max.X)/2, leastReach*float64(box.Dx()))
			for _, i := range p.Grid.Order[from:to] {
				logit := boxLogit(box, p, int(i))
				if in := objects[k].MaskLogits; len(in) > 0 {
					logit += float64(in[i])
				}
				if logit > leastLogit {
					odds[i] = math.Exp(logit)
					e.left[i] /= 1 + odds[i]
					e.near = append(e.near, i)
				}
			}
		}
		e.ends = append(e.ends, len(e.near))
	}
	for _, o := range objects {
		if o.TrackLost {
			for i := range o.Probability {
				o.Probability[i] *= e.left[i]
			}
		}
	}
}

// shown is the probability that object k is to be seen in superpixel i, by the boxes alone.
func (e *extents) shown(i, k int) float64 {
	at := k*len(e.left) + i
	return e.free[at] * e.odds[at] / (1 + e.odds[at])
}

// boxes are the objects with a box, from the front, and the superpixels that are not far outside of each.
func (e *extents) boxes(yield func(k int, near []int32) bool) {
	from := 0
	for n, k := range e.order {
		if !yield(k, e.near[from:e.ends[n]]) {
			return
		}
		from = e.ends[n]
	}
}

// vote adds the votes of the objects' boxes, the fewer the better an object's mask fits its box anyway. Those
// that are not for the object are divided as what else is there has votes.
func (e *extents) vote(v votes, objects []Object) {
	for _, k := range e.order {
		weight := boxVotes * objects[k].Misfit
		if weight == 0 {
			continue
		}
		for _, i := range v.can.superpixels(k + 1) {
			row := v.q[int(i)*v.labels:][:v.labels]
			own, others := weight*e.shown(int(i), k), row[0]
			for _, l := range v.can.of(i) {
				if int(l) != k+1 {
					others += row[l]
				}
			}
			if others < leastShown { // hardly any vote
				row[0] += weight - own
			} else {
				row[0] *= 1 + (weight-own)/others
				for _, l := range v.can.of(i) {
					if int(l) != k+1 {
						row[l] *= 1 + (weight-own)/others
					}
				}
			}
			row[k+1] += own
			v.support[i] += weight
			v.reliable[i] += weight
		}
	}
}

// weigh multiplies the votes for each object by the odds of its box, and by what those in front leave: outside
// of the box, and inside by insideShare of it at least, by more as far as the object's mask does not fit it. Those for an object whose track is lost it
// multiplies by what all boxes leave.
func (e *extents) weigh(v votes, objects []Object) {
	for _, k := range e.order {
		for _, i := range v.can.superpixels(k + 1) {
			row := v.q[int(i)*v.labels:][:v.labels]
			if row[k+1] == 0 {
				continue
			}
			odds := e.odds[k*len(e.left)+int(i)]
			if odds > 1 {
				odds = math.Pow(odds, max(objects[k].Misfit, insideShare))
			}
			odds *= e.free[k*len(e.left)+int(i)]
			row[k+1] *= odds
			row[0] += leastVotes * max(0, 1-odds)
		}
	}
	for k, o := range objects {
		if !o.TrackLost || len(e.order) == 0 {
			continue
		}
		for _, i := range v.can.superpixels(k + 1) {
			if row := v.q[int(i)*v.labels:][:v.labels]; row[k+1] > 0 {
				row[k+1] *= e.left[i]
				row[0] += leastVotes * (1 - e.left[i])
			}
		}
	}
}

// admit appends N×L shares of what a classifier says of each label that count: of an object with a box what the boxes
// say that is to be seen of it, of all others 1. It appends nothing where no object has a box.
func (e *extents) admit(dst []float64, n, labels int) []float64 {
	if len(e.order) == 0 {
		return dst
	}
	for range n * labels {
		dst = append(dst, 1)
	}
	for _, k := range e.order {
		for i := range n {
			dst[i*labels+k+1] = e.shown(i, k)
		}
	}
	return dst
}
