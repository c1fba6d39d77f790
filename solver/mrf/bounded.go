package mrf

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrBounds is wrapped by the errors of LabelBounded about areas and bounds.
var ErrBounds = errors.New("mrf: bad area bounds")

// maxSteps ends a search on the multiplier that rounding keeps from ending by
// itself; about ten are usual.
const maxSteps = 100

// exactGap is the gap between energy and bound, relative to what they are made
// of, that is put down to rounding.
const exactGap = 1e-12

// LabelBounded minimises the energy of two labels subject to
// lo ≤ Σ_i area[i]·y_i ≤ hi. Areas are finite and at least 0; nil means 1 for
// every node. Bounds may be infinite. For the rest it is like Label, but the y
// handed in is only kept, as the better one, if it obeys the bounds.
//
// The area of the y that minimises E(y) + μ·area(y) falls with the multiplier
// μ, in steps. If μ = 0 obeys the bounds, or a step ends on the bound in the
// way, the result is exact. Otherwise the bound lies inside a step, where no
// multiplier leads, and the true problem is as hard as a knapsack. Then the two
// labelings at the ends of the step, one inside the other, are changed by the
// connected pieces of their difference, while the bounds allow it and it pays,
// and if need be by single nodes. The best labeling met is the result; the
// minimum is between Report.Bound and Report.Energy, and Report.Exact is set
// only if the two meet.
//
// An error that wraps ErrBounds says that the bounds contradict each other or
// the forbidden labels, that an area is NaN, negative or infinite, or that no
// labeling within the bounds was found, which need not mean that there is none;
// y is then as it was. The cost is that of one cut if the bounds are not in the
// way, else of about ten warm ones.
func (p *Potts) LabelBounded(ctx context.Context, y []int32, u, area []float64, lo, hi float64) (Report, error) {
	if p.labels != 2 {
		panic(fmt.Sprintf("mrf: area bounds for %d labels, want 2", p.labels))
	}
	s := &p.search
	s.reset(p.n)
	if area == nil {
		area = s.units(p.n)
	}
	if len(area) != p.n {
		panic(fmt.Sprintf("mrf: %d areas for %d nodes", len(area), p.n))
	}
	_, forbidden, err := p.check(y, u)
	if err != nil {
		return Report{}, err
	}
	if err := s.extremes(u, area, lo, hi); err != nil {
		return Report{}, err
	}
	s.low.energy, s.high.energy = p.energy(s.low.labels, u), p.energy(s.high.labels, u)

	r := Report{Bound: math.Inf(-1)}
	found := p.bracket(ctx, &r, u, area, lo, hi)
	if !found {
		p.split(u, area, lo, hi)
		found = s.choose(lo, hi, p.next)
	}
	start := areaOf(y, area)
	usable := !forbidden && lo <= start && start <= hi
	if !found && !usable {
		return Report{}, fmt.Errorf("%w: no labeling found with an area in [%v,%v], the nearest have %v and %v",
			ErrBounds, lo, hi, s.low.area, s.high.area)
	}
	if !usable {
		copy(y, p.next)
	}
	if !found {
		copy(p.next, y)
	}
	p.take(&r, y, u)
	if scale := math.Abs(r.Energy) + math.Abs(r.Bound) + math.Abs(r.Multiplier)*areaOf(y, area); !r.Stopped {
		r.Exact = r.Exact || r.Energy-r.Bound <= exactGap*scale
	}
	if r.Exact {
		r.Bound = r.Energy
	}
	return r, nil
}

// energy is that of y, unary and pairwise.
func (p *Potts) energy(y []int32, u []float64) float64 {
	sum := 0.0
	for i, l := range y {
		sum += u[i*p.labels+int(l)]
	}
	return sum + p.Energy(y)
}

func areaOf(y []int32, area []float64) float64 {
	sum := 0.0
	for i, l := range y {
		if l == 1 {
			sum += area[i]
		}
	}
	return sum
}

// side is one end of a search: labels that are optimal at a multiplier.
type side struct {
	labels       []int32
	area, energy float64
	mu           float64
}

// search is LabelBounded's memory.
type search struct {
	unit      []float64 // areas of 1
	low, high side      // low's nodes of label 1 are all high's
	pieces    pieces
	queue     heap
}

func (s *search) reset(n int) {
	s.low.labels, s.high.labels = grown(s.low.labels, n), grown(s.high.labels, n)
}

func (s *search) units(n int) []float64 {
	s.unit = grown(s.unit, n)
	for i := range s.unit {
		s.unit[i] = 1
	}
	return s.unit
}

// extremes starts the search with the least and the largest labeling that the
// forbidden labels allow, having checked that the bounds allow them to.
func (s *search) extremes(u, area []float64, lo, hi float64) error {
	if !(lo <= hi) || math.IsInf(lo, 1) || math.IsInf(hi, -1) {
		return fmt.Errorf("%w: [%v,%v], want a lower and an upper one", ErrBounds, lo, hi)
	}
	for i, a := range area {
		if !(a >= 0 && a < tooLarge) {
			return fmt.Errorf("%w: area[%d] is %v, want one in [0,2^960)", ErrBounds, i, a)
		}
		s.low.labels[i], s.high.labels[i] = 0, 1
		if math.IsInf(u[2*i], 1) {
			s.low.labels[i] = 1
		}
		if math.IsInf(u[2*i+1], 1) {
			s.high.labels[i] = 0
		}
	}
	s.low.area, s.low.mu = areaOf(s.low.labels, area), math.Inf(1)
	s.high.area, s.high.mu = areaOf(s.high.labels, area), math.Inf(-1)
	if s.low.area > hi || s.high.area < lo {
		return fmt.Errorf("%w: [%v,%v], while the forbidden labels leave areas in [%v,%v]",
			ErrBounds, lo, hi, s.low.area, s.high.area)
	}
	return nil
}

// set makes s the labeling y, which is optimal at mu.
func (s *side) set(y []int32, area, energy, mu float64) {
	copy(s.labels, y)
	s.area, s.energy, s.mu = area, energy, mu
}

// bracket moves low and high to the ends of the step in which the bound lies.
// It returns true if it meets the exact solution, and then that is in next.
func (p *Potts) bracket(ctx context.Context, r *Report, u, area []float64, lo, hi float64) bool {
	s := &p.search
	// Areas up to limit belong to low. Which bound is in the way is known
	// after the first cut; if neither is, that cut is the solution.
	limit := hi
	mu, meeting := 0.0, false
	for step := range maxSteps {
		if !p.minimise(ctx, r, u, area, mu) {
			r.Stopped = true
			return false
		}
		// A cut has a least and a largest minimiser.
		least := areaOf(p.next, area)
		energy := p.energy(p.next, u)
		if dual := energy + slack(mu, least, lo, hi); dual > r.Bound {
			r.Bound, r.Multiplier = dual, mu
		}
		if r.Exact = step == 0 && lo <= least && least <= hi; r.Exact {
			return true
		}
		before := s.high.area - s.low.area
		s.narrow(p.next, least, energy, mu, limit)
		p.raiseTies()
		most := areaOf(p.next, area)
		if r.Exact = step == 0 && lo <= most && most <= hi; r.Exact {
			return true
		}
		if step == 0 && most < lo {
			limit = math.Nextafter(lo, math.Inf(-1))
		}
		s.narrow(p.next, most, p.energy(p.next, u), mu, limit)

		if s.low.mu == s.high.mu || meeting && s.high.area-s.low.area == before {
			return false // both ends minimise at mu: nothing lies between
		}
		// Go on where the Lagrangians of the two ends meet; that alone may
		// creep up from one end, so now and then in the middle.
		mu = (s.low.energy - s.high.energy) / (s.high.area - s.low.area)
		meeting = true
		if middle := (s.low.mu + s.high.mu) / 2; step%3 == 2 && math.Abs(middle) < tooLarge {
			mu, meeting = middle, false
		}
		if !(s.high.mu <= mu && mu <= s.low.mu) {
			return false
		}
	}
	return false
}

// slack is what a Lagrangian adds to the energy: by weak duality the sum bounds
// every energy within the bounds from below.
func slack(mu, area, lo, hi float64) float64 {
	switch {
	case mu > 0:
		return mu * (area - hi)
	case mu < 0:
		return mu * (area - lo)
	}
	return 0
}

// narrow replaces the end that y, optimal at mu, improves on.
func (s *search) narrow(y []int32, area, energy, mu, limit float64) {
	if area <= limit {
		if area >= s.low.area {
			s.low.set(y, area, energy, mu)
		}
	} else if area <= s.high.area {
		s.high.set(y, area, energy, mu)
	}
}

// raiseTies gives label 1 to the nodes of next that can have either.
func (p *Potts) raiseTies() {
	c := &p.cut
	for i := range p.next {
		if !c.Sink(i) {
			p.next[i] = 1
		}
	}
}

// choose copies the better end within the bounds to dst.
func (s *search) choose(lo, hi float64, dst []int32) bool {
	low := lo <= s.low.area && s.low.area <= hi
	high := lo <= s.high.area && s.high.area <= hi
	switch {
	case low && (!high || s.low.energy <= s.high.energy):
		copy(dst, s.low.labels)
	case high:
		copy(dst, s.high.labels)
	}
	return low || high
}
