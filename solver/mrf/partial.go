package mrf

import (
	"context"
	"math"
)

// partial finds labels that some best labeling is sure to have, and with them cuts
// a problem of several labels down to a small one.
//
// For one label α, let each node choose between α and the cheapest of the others:
// a problem of two labels that a cut solves. Where its smallest solution has α,
// giving a labeling of all labels α instead never raises the energy, and lowers it
// unless the labeling had α there (Kovtun, Partial Optimal Labeling Search for a
// NP-hard Subclass of (max,+) Problems, 2003). So those nodes are decided, and
// what their edges cost the open ones goes into these ones' unaries. As the change
// keeps an expansion move one, no such move of the whole can improve labels that
// none of the open nodes' improves.
type partial struct {
	open   []bool // not decided yet
	nodes  []int32
	u      []float64 // n×L, rows of open nodes: above the least, less the edges to decided nodes
	choice []choice
	seen   []int32 // last label whose region the node was in, beside open
	local  []int32 // number in the region at hand, or -1
	count  []int32 // nodes that have the label for their cheapest, L

	region []int32
	edges  []Edge
	term   []float64
	cut    Cut
	rest   expansion
}

// choice is a row of unaries in short.
type choice struct {
	low, second float64 // the least two
	free        float64 // weight of the edges to open nodes
	best        int32   // label of the least, the lowest of several
}

// gain is what label alpha saves node i, edges to open nodes aside, over the best
// of the others.
func (s *partial) gain(i int32, labels int, alpha int32) float64 {
	c := &s.choice[i]
	if c.best == alpha {
		return c.second - c.low
	}
	return c.low - s.u[int(i)*labels+int(alpha)]
}

// choose sums up a row; size is the sum of magnitudes.
func choose(row []float64) (c choice, size float64) {
	c.low, c.second = math.Inf(1), math.Inf(1)
	for l, v := range row {
		size += math.Abs(v)
		if v < c.low {
			c.low, c.second, c.best = v, c.low, int32(l)
		} else if v < c.second {
			c.second = v
		}
	}
	return c, size
}

// several labels p with L > 2.
func (p *Potts) several(ctx context.Context, y []int32, u []float64) {
	copy(p.next, y)
	done := p.common(ctx, u)
	for alpha := int32(0); done && int(alpha) < p.labels; alpha++ {
		done = p.decide(ctx, alpha)
	}
	for _, i := range p.part.nodes {
		if done && p.part.open[i] {
			done = p.expand(ctx, i)
		}
	}
	p.take(y, u)
}

// common decides nodes for the label that is the cheapest of most, by a cut of the
// whole graph whose flow stays for the next call, and lists the open ones.
func (p *Potts) common(ctx context.Context, u []float64) bool {
	s, c, labels := &p.part, &p.cut, p.labels
	s.nodes = s.nodes[:0]
	s.count = grown(s.count, labels)
	clear(s.count)
	for i := range p.n {
		s.count[s.choice[i].best]++
	}
	base := int32(0)
	for l, k := range s.count {
		if k > s.count[base] {
			base = int32(l)
		}
	}
	for i := range p.n {
		if q := &s.choice[i]; q.best == base {
			c.setTerminal(i, q.second-q.low)
		} else {
			c.setTerminal(i, q.low-u[i*labels+int(base)])
		}
	}
	if !c.Solve(ctx) {
		return false
	}
	s.u = grown(s.u, p.n*labels)
	for i := range p.n {
		if s.open[i] = !c.Source(i); s.open[i] {
			s.nodes = append(s.nodes, int32(i))
			s.seen[i], s.local[i] = base, -1
		} else {
			p.next[i] = base
		}
	}
	clear(s.count)
	for _, i := range s.nodes {
		row, low, free := s.u[int(i)*labels:int(i+1)*labels], s.choice[i].low, 0.0
		for l, v := range u[int(i)*labels : int(i+1)*labels] {
			row[l] = v - low
		}
		for a := c.first[i]; a < c.first[i+1]; a++ {
			if w := c.weight(a); s.open[c.arcs[a].head] {
				free += w
			} else {
				row[base] -= w // beside the constant w
			}
		}
		s.choice[i], _ = choose(row)
		s.choice[i].free = free
		s.count[s.choice[i].best]++
	}
	s.count[base] = 0
	return true
}

// decide decides open nodes for label alpha, region by region.
func (p *Potts) decide(ctx context.Context, alpha int32) bool {
	s := &p.part
	if s.count[alpha] == 0 {
		return true
	}
	for _, i := range s.nodes {
		if !s.open[i] || s.seen[i] == alpha || s.gain(i, p.labels, alpha) <= 0 {
			continue
		}
		pays := p.around(i, alpha)
		if !pays {
			s.cut.reset(len(s.region), s.edges)
			for k, d := range s.term {
				s.cut.setTerminal(k, d)
			}
			if !s.cut.Solve(ctx) {
				return false
			}
		}
		for k, j := range s.region {
			s.seen[j], s.local[j] = alpha, -1
			if pays || s.cut.Source(k) {
				s.open[j], p.next[j] = false, alpha
			}
		}
		for _, j := range s.region {
			if !s.open[j] {
				p.tell(j, alpha)
			}
		}
	}
	return true
}

// around makes the problem of label alpha or another one for the open nodes about
// seed: region, edges and term. Nodes that would not take alpha if all around them
// had it bound it. It returns whether alpha pays for each node by itself.
func (p *Potts) around(seed, alpha int32) bool {
	s, c, labels := &p.part, &p.cut, p.labels
	s.region, s.edges, s.term = append(s.region[:0], seed), s.edges[:0], s.term[:0]
	s.local[seed] = 0
	pays := true
	for k := int32(0); int(k) < len(s.region); k++ {
		i := s.region[k]
		d := s.gain(i, labels, alpha)
		for a := c.first[i]; a < c.first[i+1]; a++ {
			j := c.arcs[a].head
			w := c.weight(a)
			if !s.open[j] || w == 0 {
				continue
			}
			if s.local[j] < 0 {
				if s.gain(j, labels, alpha) <= -s.choice[j].free {
					d -= w
					continue
				}
				s.local[j] = int32(len(s.region))
				s.region = append(s.region, j)
			}
			if s.local[j] > k {
				s.edges = append(s.edges, Edge{k, s.local[j], w})
			}
		}
		s.term = append(s.term, d)
		pays = pays && d >= 0
	}
	return pays
}

// tell lets the open neighbours of node i, decided for label l, feel its edges.
func (p *Potts) tell(i, l int32) {
	s, c := &p.part, &p.cut
	for a := c.first[i]; a < c.first[i+1]; a++ {
		j := c.arcs[a].head
		if !s.open[j] {
			continue
		}
		w, q := c.weight(a), &s.choice[j]
		v := s.u[int(j)*p.labels+int(l)] - w
		s.u[int(j)*p.labels+int(l)] = v
		q.free -= w
		switch {
		case q.best == l:
			q.low = v
		case v < q.low:
			q.low, q.second, q.best = v, q.low, l
		case v < q.second:
			q.second = v
		}
	}
}

// expand labels the open nodes that hang together with seed by expansion moves from
// the labels in p.next, and decides them.
func (p *Potts) expand(ctx context.Context, seed int32) bool {
	s, c, labels := &p.part, &p.cut, p.labels
	e := &s.rest
	s.region, e.edges = append(s.region[:0], seed), e.edges[:0]
	e.y, e.u = e.y[:0], e.u[:0]
	s.local[seed] = 0
	for k := int32(0); int(k) < len(s.region); k++ {
		i := s.region[k]
		e.y = append(e.y, p.next[i])
		e.u = append(e.u, s.u[int(i)*labels:int(i+1)*labels]...)
		for a := c.first[i]; a < c.first[i+1]; a++ {
			j := c.arcs[a].head
			if !s.open[j] {
				continue
			}
			if s.local[j] < 0 {
				s.local[j] = int32(len(s.region))
				s.region = append(s.region, j)
			}
			if s.local[j] > k {
				e.edges = append(e.edges, Edge{k, s.local[j], c.weight(a)})
			}
		}
	}
	done := e.run(ctx, labels)
	for k, i := range s.region {
		s.open[i], p.next[i] = false, e.y[k]
	}
	return done
}
