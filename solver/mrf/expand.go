package mrf

import (
	"context"
	"math"
)

// move is what a cut of α-expansion was last set to.
type move struct {
	halved []bool // edges at half their weight
}

func (m *move) reset(edges int) {
	m.halved = grown(m.halved, edges)
	clear(m.halved)
}

// expand runs expansion moves, one label after another from 0, until a whole
// round brings nothing.
func (p *Potts) expand(ctx context.Context, r *Report, y []int32, u []float64) {
	for alpha, idle := 0, 0; idle < p.labels; alpha = (alpha + 1) % p.labels {
		idle++
		done, better := p.expandTo(ctx, r, y, u, int32(alpha))
		if better {
			idle = 1 // this one, too, would find nothing if run again
		}
		if !done {
			r.Stopped = true
			return
		}
	}
}

// expandTo finds the best labeling in which every node either keeps its label
// or changes to alpha, the source's side, and takes it if it is better.
//
// An edge between nodes of the same label, or one of which is alpha's already,
// costs w if just one of them ends on either side. With two different labels,
// neither alpha, it costs w unless both change: w/2 for each that keeps its
// label and w/2 if they part (Kolmogorov & Zabih 2004, without extra nodes).
func (p *Potts) expandTo(ctx context.Context, r *Report, y []int32, u []float64, alpha int32) (done, better bool) {
	slot := int(alpha) % len(p.cuts)
	c, halved := &p.cuts[slot], p.moves[slot].halved
	for i, l := range y {
		if l == alpha {
			p.diff[i] = math.Inf(1)
			continue
		}
		row := u[i*p.labels : (i+1)*p.labels]
		p.diff[i] = difference(row[l], row[alpha])
	}
	for k := range p.edges {
		e := &p.edges[k]
		a, b := y[e.I], y[e.J]
		half := a != b && a != alpha && b != alpha
		if half {
			p.diff[e.I] += e.W / 2
			p.diff[e.J] += e.W / 2
		}
		if half != halved[k] {
			halved[k] = half
			w := e.W
			if half {
				w /= 2
			}
			c.SetEdge(k, w, w)
		}
	}
	for i, d := range p.diff {
		c.SetTerminal(i, d)
	}
	done = p.solve(ctx, r, c)
	for i, l := range y {
		p.next[i] = l
		if c.Source(i) {
			p.next[i] = alpha
		}
	}
	return done, p.take(r, y, u)
}
