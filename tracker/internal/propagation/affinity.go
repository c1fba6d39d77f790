package propagation

import (
	"slices"

	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/trackstate"
)

const (
	// Links is how many most similar superpixels are looked up in each reference.
	Links = 5
	// Temperature is T of the votes' weights.
	Temperature = 0.07
	// AnchorRadius is the search radius in references that are none of the latest frames, as a fraction of an object's
	// [trackstate.Object.Side].
	AnchorRadius = 0.15
	anchorWeight = 4   // votes of those against those of a latest frame
	novel        = 0.5 // cosine below which what resembles nothing seen before is background
)

const (
	// How far labels of the frame that an object comes back in bear out later ones.
	returnTrust = 0.5
	// Labels given while an object was out of sight are doubted, and by this much
	// less a frame of the camera.
	trustRate = 0.05
	// An object with an extent is looked up in as much of the picture as if that were so many times as long as the
	// extent: no object leaves that by more.
	ownLengths = 2
	// How many times as far as Affinity.Radius a latest frame is looked up when frames were
	// dropped since. The cost grows with the square, and what is alike farther away is
	// ever less likely to be the same.
	maxPace = 2
	// The standard deviation of what belongs to a label from the label's motion, in radii
	// of the search.
	motionSpread = 0.45
)

// Affinity is the workspace of Propagate.
type Affinity struct {
	// Radius is how far the latest frames are searched unless frames were dropped, as a fraction of an object's
	// [trackstate.Object.Side].
	Radius float64

	matches   []cosine.Match // N×Links, of one reference
	weights   []float64      // N×Links, of the matches' votes; where there is no match, anything
	motion    motion
	spread    spread
	search    search
	places    []place   // of one reference
	support   []float64 // N: the weight of the votes for a superpixel
	reliable  []float64 // N: as much of it as comes from labels that can be trusted
	radii     []float64 // N: how far a superpixel is looked up in one reference, pixels
	reachable []bool    // N: whether a superpixel is near one that some reference says may be an object
	asked     []bool    // N: whether it can be an object, so that it is looked up
	candidate []bool    // N×L: which label it can be
	can       sparse    // candidate
	reaches   []float64 // L: how far what can be an object is looked up in one reference, pixels
	shown     []sparse  // where the sources may have what
	shifted   [][]bool  // of each object, N: whether it can be that, which is elsewhere than in an annotated frame
	found     []float64 // L: pixels
	likely    []int     // objects that may have been detected
	extents   extents
}

// Propagate sets b, that of p, from the sources, and the objects' detections. p came
// elapsed of the camera's frames after the picture before it.
//
// References that know all objects vote first, because the others leave open what they
// do not know. An object is to be found within reach of where it was in the latest
// frames, or where it was detected: what is like it where an annotated frame had it long
// ago is something else, unless it has jumped there. Votes of the latest frames count as
// far as what they are for has moved there as the rest of its label has.
func (a *Affinity) Propagate(b *Belief, p *picture.Picture, elapsed int, sources []Source, objects []Object) {
	labels := 1 + len(objects)
	a.extents.lay(p, objects)
	a.reach(p, sources, objects)
	a.support, a.reliable = scratch.Grow(a.support, p.N), scratch.Grow(a.reliable, p.N)
	v := votes{q: b.Q, support: a.support, reliable: a.reliable, can: &a.can, labels: labels}
	for again := true; again; again = a.relax(b, p, objects) {
		clear(b.Q)
		clear(a.support)
		clear(a.reliable)
		for _, complete := range []bool{true, false} {
			for _, s := range sources {
				if s.knowsAll(labels) == complete {
					a.ask(v, p, s, objects)
				}
			}
			if complete {
				a.extents.vote(v, objects)
			}
		}
	}
	a.settleOpen(b, elapsed, sources, objects)
	a.extents.weigh(v, objects)
	b.Shown = a.extents.admit(b.Shown[:0], p.N, labels)
	v.normalise(a.asked)
	redetect(b, objects)
	b.Near = append(b.Near[:0], a.candidate...)
}

// Mark adds to what b, that of p, says is near objects what is within reach of where it says that they may be.
func (a *Affinity) Mark(b *Belief, p *picture.Picture, objects []Object) {
	labels := 1 + len(objects)
	var shown sparse
	list(&shown, b.Q, labels)
	for l := 1; l < labels && len(b.Near) > 0; l++ {
		a.spread.reset(p)
		a.spread.add(p, p, shown.superpixels(l), AnchorRadius*objects[l-1].side(p))
		for _, i := range a.spread.near {
			b.Near[int(i)*labels+l] = true
		}
	}
}

// radius is how far from where an object was in s it may be now, in p, in pixels.
// Affinity.Radius holds for each of the latest frames as long as none is dropped. Of dropped frames an object with a track
// is no farther away for that.
func (a *Affinity) radius(s Source, o Object, p *picture.Picture) float64 {
	switch {
	case !s.Latest:
		return AnchorRadius * o.side(p)
	case o.Tracked:
		return a.Radius * o.side(p)
	}
	return a.Radius * min(max(1, s.Pace), maxPace) * o.side(p)
}

// side is what lengths near o are fractions of in p.
func (o Object) side(p *picture.Picture) float64 {
	side := o.Side(p.Side())
	if e := o.Extent; !e.Empty() {
		side = min(side, ownLengths*float64(max(e.Dx(), e.Dy())))
	}
	return side
}

// measure sets how far each superpixel of p is looked up in s: as the object that it can be, so that something is found
// among as much of its surroundings whatever else the picture shows; of several, as far as the farthest.
func (a *Affinity) measure(p *picture.Picture, s Source, objects []Object) {
	a.radii, a.reaches = scratch.Grow(a.radii, p.N), append(a.reaches[:0], 0)
	for _, o := range objects {
		a.reaches = append(a.reaches, a.radius(s, o, p))
	}
	far := a.radius(s, Object{Object: &trackstate.Object{}}, p)
	for i := range a.radii {
		radius := 0.0
		for _, l := range a.can.of(int32(i)) {
			radius = max(radius, a.reaches[l])
		}
		if radius == 0 {
			radius = far
		}
		a.radii[i] = radius
	}
}

// weight is that of a vote of s.
func (s Source) weight() float64 {
	if s.Latest {
		return 1
	}
	return anchorWeight
}

// reach sets which labels the superpixels of p can be. What no object can be inherits
// background without being looked up. Without a source nothing is known at all.
func (a *Affinity) reach(p *picture.Picture, sources []Source, objects []Object) {
	labels, unknown := 1+len(objects), len(sources) == 0
	a.reachable, a.asked = scratch.Grow(a.reachable, p.N), scratch.Grow(a.asked, p.N)
	a.candidate = scratch.Zero(a.candidate, p.N*labels)
	for i := range a.asked {
		a.reachable[i], a.asked[i], a.candidate[i*labels] = unknown, unknown, true
	}
	for len(a.shown) < len(sources) {
		a.shown = append(a.shown, sparse{})
	}
	for k, s := range sources {
		list(&a.shown[k], s.Soft, labels)
	}
	for l := 1; l < labels; l++ {
		a.spread.reset(p)
		for k, s := range sources {
			if s.Latest {
				a.spread.add(p, s.Picture, a.shown[k].superpixels(l), a.radius(s, objects[l-1], p))
			}
		}
		for _, i := range a.spread.near {
			a.reachable[i], a.asked[i], a.candidate[int(i)*labels+l] = true, true, true
		}
	}
	a.spread.reset(p)
	for k, s := range sources {
		for l := 1; l < labels && !s.Latest; l++ {
			a.spread.add(p, s.Picture, a.shown[k].superpixels(l), a.radius(s, objects[l-1], p))
		}
	}
	for _, i := range a.spread.near {
		a.reachable[i] = true
	}
	for k, o := range objects {
		for i, probability := range o.Probability {
			if probability > 0 {
				a.asked[i], a.candidate[i*labels+k+1] = true, true
			}
		}
	}
	for k, near := range a.extents.boxes {
		for _, i := range near {
			if a.extents.shown(int(i), k) >= leastShown {
				a.asked[i], a.candidate[int(i)*labels+k+1] = true, true
			}
		}
	}
	list(&a.can, a.candidate, labels)
}

// spread is what is near to any of many superpixels.
type spread struct {
	near  []int32 // superpixels
	order []int32 // those of the picture's grid, in each of its cells first those that are not near yet
	left  []int32 // how many these are
}

func (s *spread) reset(p *picture.Picture) {
	s.near, s.order, s.left = s.near[:0], append(s.order[:0], p.Grid.Order...), p.Grid.Counts(s.left)
}

// add adds p's superpixels within radius pixels of some of r's. What is near already is not looked at again, or an object would cost
// the square of its size.
func (s *spread) add(p, r *picture.Picture, some []int32, radius float64) {
	r2 := float32(radius * radius)
	for _, j := range some {
		x, y := r.Centroid[2*j], r.Centroid[2*j+1]
		p.Grid.Cells(float64(x), float64(y), radius, func(cell, first int) {
			left := s.order[first:][:s.left[cell]]
			for k := 0; k < len(left); {
				i := left[k]
				dx, dy := p.Centroid[2*i]-x, p.Centroid[2*i+1]-y
				if dx*dx+dy*dy > r2 {
					k++
					continue
				}
				s.near = append(s.near, i)
				last := len(left) - 1
				left[k], left = left[last], left[:last]
			}
			s.left[cell] = int32(len(left))
		})
	}
}

// relax lets objects in sight be anywhere near where any reference has an object of which
// next to nothing was found where they can be, and tells whether there are any.
func (a *Affinity) relax(b *Belief, p *picture.Picture, objects []Object) (again bool) {
	labels := 1 + len(objects)
	a.found = scratch.Zero(a.found, labels)
	for i := range int32(p.N) {
		row, best := b.Q[int(i)*labels:][:labels], int32(0)
		for _, l := range a.can.of(i) {
			if row[l] > row[best] {
				best = l
			}
		}
		a.found[best] += float64(p.Area[i])
	}
	for k, o := range objects {
		if l := k + 1; o.State == trackstate.Visible && !o.Tracked && a.found[l] < trackstate.StayShare*o.Area {
			for i := range p.N {
				again = again || !a.candidate[i*labels+l]
				a.candidate[i*labels+l] = true
				a.asked[i] = a.asked[i] || a.reachable[i]
			}
		}
	}
	if again {
		list(&a.can, a.candidate, labels)
	}
	return again
}

// ask adds the votes of one reference.
func (a *Affinity) ask(v votes, p *picture.Picture, s Source, objects []Object) {
	a.measure(p, s, objects)
	a.places = append(a.places[:0], place{asked: a.asked})
	if s.Annotated {
		a.follow(p, s.Reference, objects)
	}
	a.matches = scratch.Grow(a.matches, p.N*Links)
	a.search.nearest(a.matches, p, s.Picture, a.places, Links, a.radii)
	a.weights = scratch.Grow(a.weights, len(a.matches))
	weight := s.weight()
	for c, m := range a.matches {
		if m.To >= 0 {
			a.weights[c] = weight * m.Weight(Temperature)
		}
	}
	if s.Latest {
		a.motion.estimate(a.matches, Links, p, s.Reference, v.labels, novel)
		a.motion.discount(a.weights, a.matches, Links, p, s.Reference, a.radii)
	}
	v.add(a.matches, a.weights, Links, s.Reference)
}

// follow adds to the places looked up in an annotated frame those round where it shows the
// objects that a superpixel can be: as an object moves, its looks go with it, and so do
// those of what it was told from.
func (a *Affinity) follow(p *picture.Picture, r *Reference, objects []Object) {
	labels := 1 + len(objects)
	for k, o := range objects {
		l := k + 1
		if !r.Knows(l) || o.State != trackstate.Visible {
			continue
		}
		var x, y, area float64
		for j := range r.N {
			if r.Soft[j*labels+l] > 0.5 {
				w := float64(r.Area[j])
				area += w
				x += w * float64(r.Centroid[2*j])
				y += w * float64(r.Centroid[2*j+1])
			}
		}
		if area == 0 {
			continue
		}
		shifted := a.shiftedOf(k, p.N)
		for i, asked := range a.asked {
			shifted[i] = asked && a.candidate[i*labels+l]
		}
		a.places = append(a.places, place{shifted, float32(o.X - x/area), float32(o.Y - y/area)})
	}
}

// shiftedOf is object k's part of a.shifted.
func (a *Affinity) shiftedOf(k, n int) []bool {
	for len(a.shifted) <= k {
		a.shifted = append(a.shifted, nil)
	}
	a.shifted[k] = scratch.Grow(a.shifted[k], n)
	return a.shifted[k]
}

// settleOpen gives away the votes that are left open: those of labels that cannot be
// trusted, by the objects' looks. So is, until every object is confirmed, one vote for
// what resembles nothing seen before; from then on it is for the background, or whatever
// comes before an object would pass for it.
func (a *Affinity) settleOpen(b *Belief, elapsed int, sources []Source, objects []Object) {
	labels := 1 + len(objects)
	unknown := 0.0
	for _, s := range sources {
		unknown += s.weight() * Links * cosine.Weight(novel, Temperature)
	}
	sought := slices.ContainsFunc(objects, Object.Sought)
	confirmed := !slices.ContainsFunc(objects, func(o Object) bool { return !o.Confirmed() })
	a.likely = a.likely[:0]
	for k, o := range objects {
		if len(o.Probability) > 0 {
			a.likely = append(a.likely, k)
		}
	}
	for i, support := range a.support {
		if !a.asked[i] {
			if sought {
				b.Trust[i] = 0
			}
			continue
		}
		row, open := b.Q[i*labels:(i+1)*labels], support-a.reliable[i]
		if support > 0 {
			b.Trust[i] = min(1, a.reliable[i]/support+trustRate*float64(elapsed))
		}
		if confirmed {
			row[0] += unknown
		} else {
			open += unknown
			b.Trust[i] *= support / (support + unknown)
		}
		if open <= 0 {
			continue
		}
		sum := 1.0
		for _, k := range a.likely {
			sum += odds(objects[k].Probability[i])
		}
		row[0] += open / sum
		for _, k := range a.likely {
			row[k+1] += open * odds(objects[k].Probability[i]) / sum
		}
	}
}

// odds of a probability, which must not be quite 1.
func odds(p float64) float64 { p = min(p, 0.98); return p / (1 - p) }

// redetect gives the background's share of every superpixel to the objects out of sight
// by their detections, and takes what the votes gave them. The classifier, which has not
// seen what was behind the thing that hid them, may refuse a detection but not add to it;
// of one that comes back at another size it can say nothing until it has learnt it.
func redetect(b *Belief, objects []Object) {
	labels := 1 + len(objects)
	for k, o := range objects {
		for i, p := range o.Probability {
			b.Unlearnt[i] = b.Unlearnt[i] || p > 0 && (o.Rescaled || p < 0.5 && o.Sought())
			if !o.Sought() {
				continue
			}
			row := b.Q[i*labels : (i+1)*labels]
			both := row[0] + row[k+1]
			row[0], row[k+1] = both*(1-p), both*p
			if p > 0 {
				b.Trust[i] = returnTrust
			}
		}
	}
}
