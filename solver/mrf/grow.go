package mrf

import (
	"context"
	"math"
)

// pathsPerCheck is how many augmentations, or scanned nodes, pass between two
// looks at the context: some tens of microseconds.
const pathsPerCheck = 256

// activate appends node i to the queue of active nodes unless it is in it.
func (c *Cut) activate(i int32) {
	if c.nodes[i].next != noNode {
		return
	}
	c.nodes[i].next = i
	if c.activeTail == noNode {
		c.activeHead = i
	} else {
		c.nodes[c.activeTail].next = i
	}
	c.activeTail = i
}

// nextActive takes the first active node that is in a tree, or that a neighbour's
// tree can take in; noNode if there is none.
func (c *Cut) nextActive() int32 {
	for c.activeHead != noNode {
		i := c.activeHead
		p := &c.nodes[i]
		c.activeHead = p.next
		if p.next == i {
			c.activeHead, c.activeTail = noNode, noNode
		}
		p.next = noNode
		if p.tree != free || c.join(i) {
			return i
		}
	}
	return noNode
}

// join hangs free node i on the neighbour nearest to a terminal, in whatever tree,
// that has residual for it.
func (c *Cut) join(i int32) bool {
	nodes, arcs := c.nodes, c.arcs
	p := &nodes[i]
	for a, end := c.first[i], c.first[i+1]; a < end; a++ {
		q := &nodes[arcs[a].head]
		if q.tree == free || p.tree != free && q.dist+1 >= p.dist {
			continue
		}
		if c.residual(arcs[a].sister, q.tree) == 0 {
			continue
		}
		p.tree = q.tree
		p.parent, p.parentArc = arcs[a].head, a
		p.time, p.dist = q.time, q.dist+1
	}
	return p.tree != free
}

// orphaned cuts node i off its parent. Each node is an orphan at most once
// between two calls of adopt that empty the queue, so it never outgrows n.
func (c *Cut) orphaned(i int32) {
	c.nodes[i].parent = orphan
	c.orphans = append(c.orphans, i)
}

// repair makes the trees fit the terminal residuals again.
//
// Invariant of the trees, which the search needs: the arcs out of a source node
// that is not active lead, as far as they have residual, to source nodes and to
// active free ones; likewise those into a sink node that is not active come from
// sink nodes and active free ones.
func (c *Cut) repair() {
	if c.time == 0 {
		c.pushDirectly()
		c.rebuild()
	}
	if c.time >= maxTime {
		c.rebuild()
	}
	c.time++
	for _, i := range c.dirty {
		p := &c.nodes[i]
		p.dirty = false
		want := sign(p.excess)
		switch {
		case want == free:
			if p.parent == terminal {
				c.orphaned(i)
			}
			continue
		case want != p.tree:
			c.changeSide(i, want)
		}
		p.parent, p.parentArc = terminal, -1
		p.time, p.dist = c.time, 1
	}
	c.dirty = c.dirty[:0]
	c.adopt()
}

// pushDirectly sends what fits from each node with something from the source to
// its neighbours with capacity to the sink: half of a cold solve's paths are
// such, and need no trees.
func (c *Cut) pushDirectly() {
	for i := range c.nodes {
		have := c.nodes[i].excess
		if have <= 0 {
			continue
		}
		arcs := c.arcs[c.first[i]:c.first[i+1]]
		for k := range arcs {
			a := &arcs[k]
			q := &c.nodes[a.head]
			if q.excess >= 0 || a.res == 0 {
				continue
			}
			f := min(have, a.res, -q.excess)
			a.res -= f
			c.arcs[a.sister].res += f
			q.excess += f
			if have -= f; have == 0 {
				break
			}
		}
		c.nodes[i].excess = have
	}
}

// changeSide moves node i to the given tree. Its children lose their parent.
func (c *Cut) changeSide(i int32, tree int8) {
	for a := c.first[i]; a < c.first[i+1]; a++ {
		if j := c.arcs[a].head; c.nodes[j].parent == i {
			c.orphaned(j)
		}
	}
	c.nodes[i].tree = tree
	c.activate(i)
}

// residual is that of arc a seen away from the tree's terminal.
func (c *Cut) residual(a int32, tree int8) float64 {
	if tree == source {
		return c.arcs[a].res
	}
	return c.arcs[c.arcs[a].sister].res
}

// rebuild forgets the trees, not the flow.
func (c *Cut) rebuild() {
	c.activeHead, c.activeTail = noNode, noNode
	c.orphans, c.dirty = c.orphans[:0], c.dirty[:0]
	c.time = 1
	for i := range c.nodes {
		p := &c.nodes[i]
		*p = node{excess: p.excess, parent: noNode, parentArc: -1, next: noNode}
		if p.tree = sign(p.excess); p.tree != free {
			p.parent, p.time, p.dist = terminal, 1, 1
			c.activate(int32(i))
		}
	}
}

// maximise grows, augments and adopts until no active node is left.
func (c *Cut) maximise(ctx context.Context) bool {
	ticks := pathsPerCheck
	for i := c.nextActive(); i != noNode; i = c.nextActive() {
		a := c.first[i]
		for {
			if ticks--; ticks < 0 {
				if ctx.Err() != nil {
					c.activate(i)
					return false
				}
				ticks = pathsPerCheck
			}
			tree := c.nodes[i].tree
			if tree == source {
				a = c.growSource(i, a)
			} else {
				a = c.growSink(i, a)
			}
			if a < 0 {
				break
			}
			if c.time >= maxTime {
				c.rebuild()
				break
			}
			c.time++
			if tree == source {
				c.augment(a)
			} else {
				c.augment(c.arcs[a].sister)
			}
			c.adopt()
			// Neighbours freed meanwhile are active themselves, so going on
			// at the same arc leaves none out.
			if c.nodes[i].tree == free {
				break
			}
		}
	}
	return true
}

// growSource scans the arcs of source node i from arc a on, takes in free
// neighbours, and returns the first arc that leads with residual to the sink's
// tree, or -1. Neighbours that i would bring nearer to the terminal become its
// children.
func (c *Cut) growSource(i, a int32) int32 {
	nodes, p := c.nodes, &c.nodes[i]
	arcs := c.arcs[:c.first[i+1]]
	for ; int(a) < len(arcs); a++ {
		if arcs[a].res == 0 {
			continue
		}
		q := &nodes[arcs[a].head]
		switch q.tree {
		case free:
			q.tree = source
			q.parent, q.parentArc = i, arcs[a].sister
			q.time, q.dist = p.time, p.dist+1
			c.activate(arcs[a].head)
		case sink:
			return a
		default:
			// A parent is never older than its child, nor farther at the same
			// age; so this cannot close a circle.
			if q.time <= p.time && q.dist > p.dist+1 {
				q.parent, q.parentArc = i, arcs[a].sister
				q.time, q.dist = p.time, p.dist+1
			}
		}
	}
	return -1
}

// growSink is growSource for the sink's tree, whose arcs count by the residual
// of the sister; the neighbour is looked at first because that is nearer.
func (c *Cut) growSink(i, a int32) int32 {
	nodes, p := c.nodes, &c.nodes[i]
	arcs, end := c.arcs, c.first[i+1]
	for ; a < end; a++ {
		q := &nodes[arcs[a].head]
		switch q.tree {
		case free:
			if arcs[arcs[a].sister].res == 0 {
				continue
			}
			q.tree = sink
			q.parent, q.parentArc = i, arcs[a].sister
			q.time, q.dist = p.time, p.dist+1
			c.activate(arcs[a].head)
		case source:
			if arcs[arcs[a].sister].res > 0 {
				return a
			}
		default:
			if q.time <= p.time && q.dist > p.dist+1 && arcs[arcs[a].sister].res > 0 {
				q.parent, q.parentArc = i, arcs[a].sister
				q.time, q.dist = p.time, p.dist+1
			}
		}
	}
	return -1
}

// augment pushes all that fits along the path through arc a from the source's
// tree to the sink's.
func (c *Cut) augment(a int32) {
	nodes, arcs := c.nodes, c.arcs
	tail, head := arcs[arcs[a].sister].head, arcs[a].head

	f := arcs[a].res // min() of floats minds NaN and signed zeros: slower
	i := tail
	for nodes[i].parent >= 0 {
		if r := arcs[arcs[nodes[i].parentArc].sister].res; r < f {
			f = r
		}
		i = nodes[i].parent
	}
	if r := nodes[i].excess; r < f {
		f = r
	}
	for i = head; nodes[i].parent >= 0; i = nodes[i].parent {
		if r := arcs[nodes[i].parentArc].res; r < f {
			f = r
		}
	}
	if r := -nodes[i].excess; r < f {
		f = r
	}

	arcs[a].res -= f
	arcs[arcs[a].sister].res += f
	for i = tail; ; {
		p := &nodes[i]
		if p.parent < 0 {
			if p.excess -= f; p.excess == 0 {
				c.orphaned(i)
			}
			break
		}
		up := &arcs[p.parentArc]
		down := &arcs[up.sister]
		up.res += f
		next := p.parent
		if down.res -= f; down.res == 0 {
			c.orphaned(i)
		}
		i = next
	}
	for i = head; ; {
		p := &nodes[i]
		if p.parent < 0 {
			if p.excess += f; p.excess == 0 {
				c.orphaned(i)
			}
			break
		}
		up := &arcs[p.parentArc]
		arcs[up.sister].res += f
		next := p.parent
		if up.res -= f; up.res == 0 {
			c.orphaned(i)
		}
		i = next
	}
}

// adopt finds each orphan a new parent in its tree or sets it free.
func (c *Cut) adopt() {
	for k := 0; k < len(c.orphans); k++ {
		i := c.orphans[k]
		if c.nodes[i].parent != orphan {
			continue // has got a terminal since
		}
		if best, dist := c.findParent(i); best >= 0 {
			p := &c.nodes[i]
			p.parent, p.parentArc = c.arcs[best].head, best
			p.time, p.dist = c.time, dist+1
			continue
		}
		c.release(i)
	}
	c.orphans = c.orphans[:0]
}

// findParent returns the arc from orphan i to the neighbour of its tree that is
// nearest to the terminal, and that neighbour's distance; -1 if none hangs on
// the terminal. The first that sets i back by no more than one is near enough:
// looking on costs more than it saves (a tenth of the time of a solve).
func (c *Cut) findParent(i int32) (int32, int32) {
	nodes, arcs := c.nodes, c.arcs
	tree := nodes[i].tree
	best, bestDist := int32(-1), int32(math.MaxInt32)
	for a, end := c.first[i], c.first[i+1]; a < end; a++ {
		j := arcs[a].head
		if nodes[j].tree != tree {
			continue
		}
		if tree == source {
			if arcs[arcs[a].sister].res == 0 {
				continue
			}
		} else if arcs[a].res == 0 {
			continue
		}
		if d := c.rootDistance(j); d < bestDist {
			best, bestDist = a, d
			if d <= nodes[i].dist {
				break
			}
		}
	}
	return best, bestDist
}

// rootDistance walks from node j up to the terminal and returns the number of
// arcs, MaxInt32 if an orphan is in the way. Nodes on the way are stamped, so
// that the next walk is short.
func (c *Cut) rootDistance(j int32) int32 {
	nodes, now := c.nodes, c.time
	d := int32(0)
	for k := j; ; {
		p := &nodes[k]
		if p.time == now {
			d += p.dist
			break
		}
		if p.parent < 0 {
			if p.parent != terminal {
				return math.MaxInt32
			}
			d++
			p.time, p.dist = now, 1
			break
		}
		d++
		k = p.parent
	}
	for k, e := j, d; nodes[k].time != now; k = nodes[k].parent {
		nodes[k].time, nodes[k].dist = now, e
		e--
	}
	return d
}

// release frees node i: its children are orphans now. It is active, to see whether
// a neighbour takes it back.
func (c *Cut) release(i int32) {
	nodes, arcs := c.nodes, c.arcs
	for a, end := c.first[i], c.first[i+1]; a < end; a++ {
		if j := arcs[a].head; nodes[j].parent == i {
			c.orphaned(j)
		}
	}
	c.activate(i)
	nodes[i].tree, nodes[i].parent, nodes[i].parentArc = free, noNode, -1
}
