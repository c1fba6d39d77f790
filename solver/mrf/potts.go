package mrf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrUnary is wrapped by the errors that Label returns for unaries it cannot work
// with; the message names the index.
var ErrUnary = errors.New("mrf: bad unary energy")

// Potts is a Potts model: a graph with edge weights, on which labelings are
// sought for one set of unaries after another. The zero value is ready for
// Reset. See the package comment for the energy and the methods.
type Potts struct {
	model
	cut  Cut     // of two labels, or of one and all others
	part partial // of three labels and more
}

// model is an energy but for the unaries, and the labels tried.
type model struct {
	n, labels int
	edges     []Edge
	next      []int32
}

// Reset makes p the model of n nodes with the given number of labels and the
// given edges. Parallel edges add up; self edges and zero weights are ignored,
// as they cannot cost anything. The error wraps ErrInput if n is negative, labels is
// less than 1, an index is outside [0,n), or a weight is NaN, negative, or 2⁹⁶⁰ or
// more; the model is without nodes then. Cost O(n+m). Memory is reused, edges is not
// kept, and so is nothing of the flow of an earlier graph.
func (p *Potts) Reset(n, labels int, edges []Edge) error {
	p.n, p.labels, p.edges = 0, 1, p.edges[:0]
	if labels < 1 || labels > math.MaxInt32 {
		return fmt.Errorf("%w: %d labels, want at least 1", ErrInput, labels)
	}
	if err := p.cut.Reset(n, edges); err != nil { // for one label it does not work, but checks the edges
		return err
	}
	p.n, p.labels = n, labels
	p.edges = append(p.edges, edges...)
	p.next = grown(p.next, n)
	if labels > 2 {
		s := &p.part
		s.open, s.choice = grown(s.open, n), grown(s.choice, n)
		s.seen, s.local = grown(s.seen, n), grown(s.local, n)
	}
	return nil
}

// Energy returns the pairwise part of y's energy, Σ_e w_e [y_i ≠ y_j], summed
// in the order of the edges. y has n labels; of any other number the error wraps
// ErrInput.
func (p *Potts) Energy(y []int32) (float64, error) {
	if len(y) != p.n {
		return 0, fmt.Errorf("%w: %d labels for %d nodes", ErrInput, len(y), p.n)
	}
	sum := 0.0
	for k := range p.edges {
		e := &p.edges[k]
		if y[e.I] != y[e.J] {
			sum += e.W
		}
	}
	return sum, nil
}

// Label minimises the energy with unaries u, n×L row-major, from the labels in
// y, which have to be in [0,L), and leaves the result in y. For one or two
// labels the result is a minimum; for more it is one that no expansion move
// improves, at most twice the minimum where all unaries are at least 0. The result
// never has more energy than the y handed in, and is that y unless it has less.
//
// u[i*L+l] = +Inf forbids label l at node i. NaN, a finite magnitude of 2⁹⁶⁰ or
// more, -Inf, or a node with every label forbidden is an error that wraps
// ErrUnary, a wrong length, or a label in y outside [0,L), one that wraps ErrInput,
// and y is as it was. When ctx ends, the best labels so far are returned, without
// error. y and u must not overlap anything of p; u is only read.
//
// The cost is that of one cut, much less when u is near to that of the previous
// call; if L > 2, also that of small cuts about the nodes that do not have the
// commonest label, some two to four a label about those that stay undecided.
func (p *Potts) Label(ctx context.Context, y []int32, u []float64) error {
	forbidden, err := p.check(y, u)
	if err != nil {
		return err
	}
	if forbidden {
		p.allow(y, u)
	}
	switch p.labels {
	case 0, 1: // nothing to choose, or before Reset
	case 2:
		p.minimise(ctx, u)
		p.take(y, u)
	default:
		p.several(ctx, y, u)
	}
	return nil
}

// check validates, and returns whether y has a forbidden label. For more than two
// labels it sums up their rows.
func (p *Potts) check(y []int32, u []float64) (forbidden bool, err error) {
	if len(y) != p.n || len(u) != p.n*p.labels {
		return false, fmt.Errorf("%w: %d labels and %d unaries for %d nodes of %d labels", ErrInput, len(y), len(u), p.n, p.labels)
	}
	for i, l := range y {
		if l < 0 || int(l) >= p.labels {
			return false, fmt.Errorf("%w: node %d starts with label %d, want one in [0,%d)", ErrInput, i, l, p.labels)
		}
		// The common case at once: none too large, hence none NaN.
		if p.labels == 2 {
			if math.Abs(u[2*i])+math.Abs(u[2*i+1]) < tooLarge {
				continue
			}
		}
		if p.labels > 2 {
			c, size := choose(u[i*p.labels : (i+1)*p.labels])
			p.part.choice[i] = c
			if size < tooLarge {
				continue
			}
		}
		if _, err := p.cheapest(i, u); err != nil {
			return false, err
		}
		forbidden = forbidden || math.IsInf(u[i*p.labels+int(l)], 1)
	}
	return forbidden, nil
}

// allow replaces forbidden labels in y by the cheapest ones.
func (p *Potts) allow(y []int32, u []float64) {
	for i, l := range y {
		if math.IsInf(u[i*p.labels+int(l)], 1) {
			y[i], _ = p.cheapest(i, u) // cannot fail after check
		}
	}
}

// cheapest returns node i's label of least unary energy, the lowest of several.
func (p *Potts) cheapest(i int, u []float64) (int32, error) {
	row := u[i*p.labels : (i+1)*p.labels]
	best := 0
	for l, v := range row {
		if !(v > -tooLarge && (v < tooLarge || v > math.MaxFloat64)) {
			return 0, fmt.Errorf("%w: u[%d] of node %d, label %d, is %v, want a magnitude below 2^960 or +Inf",
				ErrUnary, i*p.labels+l, i, l, v)
		}
		if v < row[best] {
			best = l
		}
	}
	if row[best] > math.MaxFloat64 {
		return 0, fmt.Errorf("%w: node %d has every label forbidden, want at least one below +Inf", ErrUnary, i)
	}
	return int32(best), nil
}

// difference is a-b of two energies that are not both infinite.
func difference(a, b float64) float64 {
	switch {
	case a > math.MaxFloat64:
		return math.Inf(1)
	case b > math.MaxFloat64:
		return math.Inf(-1)
	}
	return a - b
}

// minimise puts into next the two labels that minimise the energy; label 1 is the
// source's side. Where ctx stops it they may be any.
func (p *Potts) minimise(ctx context.Context, u []float64) {
	c := &p.cut
	for i := range p.n {
		c.setTerminal(i, difference(u[2*i], u[2*i+1]))
	}
	c.Solve(ctx)
	for i := range p.next {
		p.next[i] = 0
		if c.Source(i) {
			p.next[i] = 1
		}
	}
}

// take copies next to y if that lowers the energy beyond any rounding. When it
// returns true the real numbers have fallen, so a sequence of such steps ends. The
// decision sums only what differs: a huge energy common to both hides nothing.
func (p *model) take(y []int32, u []float64) bool {
	if slices.Equal(y, p.next) {
		return false
	}
	var change sum
	for i, l := range p.next {
		if l != y[i] {
			change.add(u[i*p.labels+int(l)])
			change.add(-u[i*p.labels+int(y[i])])
		}
	}
	for k := range p.edges {
		e := &p.edges[k]
		cut, cutNext := y[e.I] != y[e.J], p.next[e.I] != p.next[e.J]
		switch {
		case cut && !cutNext:
			change.add(-e.W)
		case cutNext && !cut:
			change.add(e.W)
		}
	}
	if !change.negative() {
		return false
	}
	copy(y, p.next)
	return true
}

// sum adds with compensation: what each addition rounds off (Knuth's TwoSum) is
// summed as well, which leaves an error below 2⁻⁵¹ of the sum of magnitudes for
// any number of terms that occurs here.
type sum struct{ s, rest, magnitude float64 }

func (s *sum) add(x float64) {
	t := s.s + x
	z := t - s.s
	s.rest += (s.s - (t - z)) + (x - z)
	s.s = t
	s.magnitude += math.Abs(x)
}

// negative reports whether the sum is below 0 whatever the rounding.
func (s *sum) negative() bool { return s.s+s.rest < -0x1p-50*s.magnitude }
