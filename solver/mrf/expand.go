package mrf

import (
	"context"
)

// expansion improves labels y of a small graph by expansion moves.
type expansion struct {
	model
	y    []int32
	u    []float64 // len(y)×labels
	diff []float64
	move []Edge
	cut  Cut
}

// run makes expansion moves, to one label after another from 0, until a whole round
// brings nothing. It returns false if ctx ended it.
func (e *expansion) run(ctx context.Context, labels int) bool {
	e.n, e.labels = len(e.y), labels
	e.next, e.diff = grown(e.next, e.n), grown(e.diff, e.n)
	for alpha, idle := 0, 0; idle < labels; alpha = (alpha + 1) % labels {
		idle++
		if !e.prepare(int32(alpha)) {
			continue
		}
		e.cut.reset(e.n, e.move)
		for i, d := range e.diff {
			e.cut.setTerminal(i, d)
		}
		if !e.cut.Solve(ctx) {
			return false
		}
		for i, l := range e.y {
			e.next[i] = l
			if e.cut.Source(i) {
				e.next[i] = int32(alpha)
			}
		}
		if e.take(e.y, e.u) {
			idle = 1 // this one, too, would find nothing if run again
		}
	}
	return true
}

// prepare makes the cut that finds the best labeling in which every node either
// keeps its label or changes to alpha, the source's side: move and diff. It returns
// false if no node can gain.
//
// An edge between nodes of the same label costs w if just one of them changes, one
// to a node that is alpha's already if the other one does not. With two different
// labels, neither alpha, it costs w unless both change: w/2 for each that keeps its
// label and w/2 if they part (Kolmogorov & Zabih 2004, without extra nodes).
func (e *expansion) prepare(alpha int32) bool {
	for i, l := range e.y {
		row := e.u[i*e.labels : (i+1)*e.labels]
		e.diff[i] = difference(row[l], row[alpha])
		if l == alpha {
			e.diff[i] = 0
		}
	}
	e.move = e.move[:0]
	for _, d := range e.edges {
		a, b := e.y[d.I], e.y[d.J]
		switch {
		case a == alpha && b == alpha:
			continue
		case a == alpha:
			e.diff[d.J] += d.W
			continue
		case b == alpha:
			e.diff[d.I] += d.W
			continue
		case a != b:
			d.W /= 2
			e.diff[d.I] += d.W
			e.diff[d.J] += d.W
		}
		e.move = append(e.move, d)
	}
	for _, d := range e.diff {
		if d > 0 {
			return true
		}
	}
	return false
}
