package mrf

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrInput is wrapped by the errors of arguments that do not fit each other, or a graph that is none.
var ErrInput = errors.New("mrf: bad input")

// Edge joins nodes I and J with weight W: in a Potts model the cost of giving
// them different labels, in a Cut the capacity in both directions.
type Edge struct {
	I, J int32
	W    float64
}

// tooLarge bounds energies so that no sum of 2³¹ of them overflows.
const tooLarge = 0x1p960

// Which search tree a node is in. Terminal residuals have the same signs.
const (
	free   int8 = 0
	source int8 = 1
	sink   int8 = -1
)

// Values of node.parent that are not nodes.
const (
	noNode   int32 = -1 // free, or end of a list
	terminal int32 = -2 // hangs on its tree's terminal
	orphan   int32 = -3 // lost its parent, waits for adoption
)

// maxTime is when the time stamps are worn out and the trees rebuilt.
const maxTime = math.MaxInt32 - 2

// node is 32 bytes, so that two share a cache line. Walking up a tree touches
// nodes only: the parent's index is kept beside the arc.
type node struct {
	excess    float64 // residual terminal capacity: > 0 from the source, < 0 to the sink
	parent    int32   // node, terminal, orphan or noNode
	parentArc int32   // arc from here to the parent
	next      int32   // queue of active nodes: noNode outside, itself at the tail
	time      int32   // when dist was last known to be right
	dist      int32   // arcs up to the terminal, then
	tree      int8
	dirty     bool // in Cut.dirty
}

// arc is one direction of an edge; a node's arcs are contiguous (CSR).
type arc struct {
	head   int32
	sister int32 // the opposite direction
	res    float64
}

// Cut finds minimum s-t cuts of a sparse graph with n nodes besides the two
// terminals, and finds them again quickly when terminal capacities have changed.
// The zero value is an empty graph; see the package comment for the method and
// for how float64 capacities are kept exact.
type Cut struct {
	nodes []node
	first []int32 // arcs of node i: arcs[first[i]:first[i+1]]
	arcs  []arc
	limit []float64 // sum of the capacities at a node
	term  []float64 // terminal capacity set last, clamped and rounded

	quantum, perQuantum float64

	activeHead, activeTail int32
	orphans                []int32
	dirty                  []int32
	time                   int32
}

// Reset makes c the graph of n nodes and the given edges, without flow and
// with all terminal capacities zero. Each edge has capacity W in both
// directions. Parallel edges add up; self edges carry nothing. The error wraps
// ErrInput if n is negative, an index is outside [0,n), or a weight is NaN,
// negative, or 2⁹⁶⁰ or more; c is without nodes then. Cost O(n+m); memory is reused,
// and edges is not kept.
func (c *Cut) Reset(n int, edges []Edge) error {
	c.nodes, c.time = c.nodes[:0], 0 // at time 0 there is no earlier flow for Solve to repair
	if n < 0 || n >= math.MaxInt32 || len(edges) >= math.MaxInt32/2 {
		return fmt.Errorf("%w: graph of %d nodes and %d edges, want at least 0 and less than 2³¹ and 2³⁰", ErrInput, n, len(edges))
	}
	for k := range edges {
		if e := &edges[k]; uint32(e.I) >= uint32(n) || uint32(e.J) >= uint32(n) || !(e.W >= 0 && e.W < tooLarge) {
			return badEdge(n, k, *e)
		}
	}
	c.reset(n, edges)
	return nil
}

// reset is Reset of a graph that is one.
func (c *Cut) reset(n int, edges []Edge) {
	c.nodes = grown(c.nodes, n)
	c.first = grown(c.first, n+1)
	c.limit = grown(c.limit, n)
	c.term = grown(c.term, n)
	c.orphans = grown(c.orphans, n)[:0]
	c.dirty = grown(c.dirty, n)[:0]
	clear(c.first)
	clear(c.term)
	for i := range c.nodes {
		c.nodes[i] = node{parent: noNode, parentArc: -1, next: noNode}
	}
	c.activeHead, c.activeTail = noNode, noNode

	heaviest := 0.0
	for k := range edges {
		e := &edges[k]
		if e.I != e.J {
			c.first[e.I+1]++
			c.first[e.J+1]++
			if e.W > heaviest {
				heaviest = e.W
			}
		}
	}
	degree := int32(0)
	for i := range n {
		degree = max(degree, c.first[i+1])
		c.first[i+1] += c.first[i]
	}
	c.setQuantum(heaviest * float64(degree))
	c.arcs = grown(c.arcs, int(c.first[n]))
	c.fillArcs(edges)
}

// badEdge says what is wrong with edge k.
func badEdge(n, k int, e Edge) error {
	if e.W >= 0 && e.W < tooLarge {
		return fmt.Errorf("%w: edge %d joins %d and %d, want nodes in [0,%d)", ErrInput, k, e.I, e.J, n)
	}
	return fmt.Errorf("%w: edge %d has weight %v, want one in [0,2^960)", ErrInput, k, e.W)
}

// setQuantum derives the quantum from a bound m of the sum of weights at a
// node. With m < 2^e, every residual stays below 2m plus roundings, hence below
// 2^(e+2) = 2⁵³q.
func (c *Cut) setQuantum(m float64) {
	exp := 0
	if m > 0 {
		_, exp = math.Frexp(m)
	}
	exp = max(exp-51, -1000) // keep 1/q finite; weights below 2⁻¹⁰⁰⁰ count as 0
	c.quantum, c.perQuantum = math.Ldexp(1, exp), math.Ldexp(1, -exp)
}

// fillArcs lays out the arcs by counting sort; each node's stay in the order
// of edges.
func (c *Cut) fillArcs(edges []Edge) {
	// first doubles as the fill cursor; shifting it back costs one pass and
	// saves an array.
	for k := range edges {
		e := &edges[k]
		if e.I == e.J {
			continue
		}
		a, b := c.first[e.I], c.first[e.J]
		c.first[e.I]++
		c.first[e.J]++
		w := c.round(e.W)
		c.arcs[a] = arc{head: e.J, sister: b, res: w}
		c.arcs[b] = arc{head: e.I, sister: a, res: w}
	}
	n := len(c.nodes)
	copy(c.first[1:], c.first[:n])
	c.first[0] = 0
	for i := range c.limit {
		sum := 0.0
		for _, a := range c.arcs[c.first[i]:c.first[i+1]] {
			sum += a.res
		}
		c.limit[i] = sum
	}
}

// round gives the multiple of the quantum nearest to x.
func (c *Cut) round(x float64) float64 {
	return math.RoundToEven(x*c.perQuantum) * c.quantum
}

// SetTerminal sets node i's terminal capacity: d > 0 from the source, d < 0 of
// -d to the sink. For a node with both, d is their difference and the smaller
// one adds to the flow outside. ±Inf is allowed and ties the node to that
// terminal. What flows already is kept. The error wraps ErrInput if there is no
// node i, or d is NaN; the capacity is as it was then.
func (c *Cut) SetTerminal(i int, d float64) error {
	if i < 0 || i >= len(c.nodes) || d != d {
		return fmt.Errorf("%w: terminal capacity %g of node %d of %d", ErrInput, d, i, len(c.nodes))
	}
	c.setTerminal(i, d)
	return nil
}

// setTerminal is SetTerminal of a node that there is, and of a number.
func (c *Cut) setTerminal(i int, d float64) {
	// Beyond limit the node's side is decided; one quantum more says so
	// strictly. Without branches, as their outcomes would be guesswork.
	bound := c.limit[i] + c.quantum
	t := c.round(min(max(d, -bound), bound))
	if bound == c.quantum && d != 0 {
		t = math.Copysign(bound, d) // no edges: the sign decides
	}
	if delta := t - c.term[i]; delta != 0 {
		c.term[i] = t
		c.addExcess(int32(i), delta)
	}
}

// addExcess changes a terminal residual. Only a change of sign concerns the
// trees.
func (c *Cut) addExcess(i int32, delta float64) {
	p := &c.nodes[i]
	before, after := p.excess, p.excess+delta
	p.excess = after
	if ((before > 0) != (after > 0) || (before < 0) != (after < 0)) && !p.dirty {
		p.dirty = true
		c.dirty = append(c.dirty, i)
	}
}

func sign(x float64) int8 {
	switch {
	case x > 0:
		return source
	case x < 0:
		return sink
	}
	return free
}

// Solve brings the flow to its maximum, starting from what flows already. If
// ctx ends first it returns false with a valid, smaller flow, from which the
// next call goes on.
func (c *Cut) Solve(ctx context.Context) bool {
	c.repair()
	return c.maximise(ctx)
}

// Source reports whether node i is on the source's side: after a Solve that
// returned true, the smallest source side among all minimum cuts. A node that there
// is not is on neither.
func (c *Cut) Source(i int) bool { return uint(i) < uint(len(c.nodes)) && c.nodes[i].tree == source }

// weight is that of arc a's edge.
func (c *Cut) weight(a int32) float64 {
	return (c.arcs[a].res + c.arcs[c.arcs[a].sister].res) / 2
}

// Flow returns the flow's value, which after a Solve that returned true is the
// capacity of the cut. The sum is a float64 one, with its rounding.
func (c *Cut) Flow() float64 {
	flow := 0.0
	for i := range c.nodes {
		flow += max(c.term[i], 0) - max(c.nodes[i].excess, 0)
	}
	return flow
}

// grown returns s with length n, its memory reused where it is large enough;
// the contents are unspecified.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
