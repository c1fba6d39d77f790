package mrf

import (
	"cmp"
	"math"
	"slices"
)

// piece is a connected component of the nodes that are in high and not in low:
// pieces.nodes[begin:end]. change is the energy its label 1 costs over label 0;
// as pieces have no edges between them, these add up.
type piece struct {
	begin, end   int32
	area, change float64
}

type pieces struct {
	list  []piece
	nodes []int32
	in    []bool // in high, not in low, and in no piece yet
	every []int32
}

// all lists every node.
func (ps *pieces) all(n int) []int32 {
	ps.every = grown(ps.every, n)
	for i := range ps.every {
		ps.every[i] = int32(i)
	}
	return ps.every
}

// split moves low and high towards the bounds inside the step between them.
func (p *Potts) split(u, area []float64, lo, hi float64) {
	s := &p.search
	p.findPieces(u, area)
	// Large ones first: at the step's multiplier, change is in proportion to
	// area.
	slices.SortFunc(s.pieces.list, func(a, b piece) int {
		if d := cmp.Compare(b.area, a.area); d != 0 {
			return d
		}
		return cmp.Compare(a.begin, b.begin)
	})
	for _, q := range s.pieces.list {
		if s.low.area+q.area <= hi && (q.change < 0 || s.low.area < lo) {
			s.low.area += q.area
			s.pieces.put(&q, s.low.labels, 1)
		}
		if s.high.area-q.area >= lo && (q.change > 0 || s.high.area > hi) {
			s.high.area -= q.area
			s.pieces.put(&q, s.high.labels, 0)
		}
	}
	// Single nodes of the pieces, then any.
	for _, from := range [2][]int32{s.pieces.nodes, s.pieces.all(p.n)} {
		if s.low.area < lo {
			p.creep(&s.low, 1, from, u, area, lo, hi)
		}
		if s.high.area > hi {
			p.creep(&s.high, 0, from, u, area, lo, hi)
		}
	}
	// Summed anew, so that the bounds hold for the sum in order of the nodes.
	s.low.area, s.low.energy = areaOf(s.low.labels, area), p.energy(s.low.labels, u)
	s.high.area, s.high.energy = areaOf(s.high.labels, area), p.energy(s.high.labels, u)
}

func (ps *pieces) put(q *piece, y []int32, label int32) {
	for _, i := range ps.nodes[q.begin:q.end] {
		y[i] = label
	}
}

// findPieces lists the components.
func (p *Potts) findPieces(u, area []float64) {
	s, c := &p.search, &p.cut
	ps := &s.pieces
	ps.list, ps.nodes = ps.list[:0], ps.nodes[:0]
	ps.in = grown(ps.in, p.n)
	for i := range ps.in {
		ps.in[i] = s.high.labels[i] == 1 && s.low.labels[i] == 0
	}
	for root := range p.n {
		if !ps.in[root] {
			continue
		}
		q := piece{begin: int32(len(ps.nodes))}
		ps.in[root] = false
		ps.nodes = append(ps.nodes, int32(root))
		for k := q.begin; int(k) < len(ps.nodes); k++ {
			i := ps.nodes[k]
			q.area += area[i]
			q.change += u[2*i+1] - u[2*i]
			for a := c.first[i]; a < c.first[i+1]; a++ {
				j := c.arcs[a].head
				switch {
				case s.low.labels[j] == 1:
					q.change -= c.weight(a)
				case s.high.labels[j] == 0:
					q.change += c.weight(a)
				case ps.in[j]:
					ps.in[j] = false
					ps.nodes = append(ps.nodes, j)
				}
			}
		}
		q.end = int32(len(ps.nodes))
		ps.list = append(ps.list, q)
	}
}

// weight is that of arc a's edge.
func (c *Cut) weight(a int32) float64 {
	return (c.arcs[a].res + c.arcs[c.arcs[a].sister].res) / 2
}

// creep gives single nodes of those listed the label, where it is allowed, the
// one that costs least for its area first, until the area is within the bounds.
func (p *Potts) creep(s *side, label int32, from []int32, u, area []float64, lo, hi float64) {
	c, h := &p.cut, &p.search.queue
	h.reset(p.n)
	for _, i := range from {
		if s.labels[i] != label && area[i] > 0 && !math.IsInf(u[2*i+label], 1) {
			h.push(i, p.flipCost(s.labels, u, i)/area[i])
		}
	}
	for h.len() > 0 && !(lo <= s.area && s.area <= hi) {
		i := h.pop()
		after := s.area + area[i]
		if label == 0 {
			after = s.area - area[i]
		}
		if label == 1 && after > hi || label == 0 && after < lo {
			continue
		}
		s.area = after
		s.labels[i] = label
		for a := c.first[i]; a < c.first[i+1]; a++ {
			if j := c.arcs[a].head; h.has(j) {
				h.update(j, p.flipCost(s.labels, u, j)/area[j])
			}
		}
	}
}

// flipCost is the energy that node i costs in its other label over its present.
func (p *Potts) flipCost(y []int32, u []float64, i int32) float64 {
	c := &p.cut
	d := u[2*i+1-y[i]] - u[2*i+y[i]]
	for a := c.first[i]; a < c.first[i+1]; a++ {
		if y[c.arcs[a].head] == y[i] {
			d += c.weight(a)
		} else {
			d -= c.weight(a)
		}
	}
	return d
}
