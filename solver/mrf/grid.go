package mrf

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Grid finds minimum s-t cuts among the pixels of a picture, or of some of them, each of
// which may have edges to the four beside it. It is [Cut] for that graph: a pixel knows its
// neighbours without lists of arcs, and capacities are integers, exact without any quantum.
// The zero value is ready.
//
// It has one owner, and allocates nothing once it has grown to the largest picture and the
// largest number of pixels.
type Grid struct {
	pixels []gridPixel // all zero but for those that take part
	part   []int32     // these
	offset [4]int32    // of the neighbour in a direction

	active     []int32 // ring of 2ᵏ pixels, each of which is in it once at most
	head, size int
	orphans    []int32
	time       int32
}

// gridPixel is 32 bytes, two to a cache line.
type gridPixel struct {
	excess     int32    // residual terminal capacity: > 0 from the source, < 0 to the sink
	residual   [4]int32 // of the arcs from here, by direction
	time, dist int32    // when dist, arcs up to the terminal, was last known to be right
	parent     int8     // direction in which it lies, gridRoot, gridOrphan or gridFree
	tree       int8
	active, in bool
}

// Directions are right, left, down and up, so that the opposite one is d^1. What a parent can
// be besides:
const (
	gridRoot   int8 = 4 // hangs on its tree's terminal
	gridOrphan int8 = 5
	gridFree   int8 = 6
)

// MaxGridCapacity bounds a pixel's terminal capacity and each of its edges.
const MaxGridCapacity = math.MaxInt32 / 2 // residuals reach twice an edge

// Cut finds the minimum cut among the given pixels of a picture of that width. A pixel's
// number is row·width+column; those of the first and the last row must not take part, nor those of
// the first column, for what is at a row's right is the next row's. Pixel
// part[k] has terminal[k] from the source, or to the sink where that is negative, and an edge
// of right[k] to the pixel at its right and down[k] to the one below it, which must be among the
// pixels unless that is 0; edges are not negative, and nothing is beyond MaxGridCapacity: else
// the error wraps ErrInput. Nothing of the arguments is kept.
//
// If ctx ends first, or after an error, it returns false, and Source says nothing.
func (g *Grid) Cut(ctx context.Context, width, height int, part, terminal, right, down []int32) (bool, error) {
	if width < 1 || height < 1 || width > math.MaxInt32/height {
		return false, fmt.Errorf("%w: a picture of %d×%d; want at least 1×1 and less than 2³¹ pixels", ErrInput, width, height)
	}
	if n := len(part); len(terminal) != n || len(right) != n || len(down) != n {
		return false, fmt.Errorf("%w: %d terminal capacities, %d edges to the right and %d down for %d pixels", ErrInput, len(terminal), len(right), len(down), n)
	}
	if err := g.load(width, height, part, terminal); err != nil {
		return false, err
	}
	if err := g.link(part, right, down); err != nil {
		return false, err
	}
	g.pushDirectly()
	g.plant()
	return g.maximise(ctx), nil
}

// Source tells whether a pixel that took part in the last Cut is on the source's side: in the
// smallest of all minimum cuts. A pixel that there is not is on neither.
func (g *Grid) Source(p int32) bool {
	return uint(p) < uint(len(g.pixels)) && g.pixels[p].tree == source
}

// load takes pixels without edges in.
func (g *Grid) load(width, height int, part, terminal []int32) error {
	for _, p := range g.part {
		g.pixels[p] = gridPixel{}
	}
	g.part = g.part[:0]
	if n := width * height; cap(g.pixels) < n {
		g.pixels = make([]gridPixel, n, n+n/4)
	} else {
		g.pixels = g.pixels[:n] // what is not in use is zero
	}
	g.offset = [4]int32{1, -1, int32(width), -int32(width)}
	if n := 1 << bits.Len(uint(len(part))); cap(g.active) < n {
		g.active = make([]int32, n)
	} else {
		g.active = g.active[:n]
	}
	g.orphans = slices.Grow(g.orphans[:0], len(part))
	for k, p := range part {
		t := terminal[k]
		if int(p) < width || int(p) >= width*(height-1) || g.pixels[p].in {
			return fmt.Errorf("%w: pixel %d of %d×%d is in the first or last row, or given twice", ErrInput, p, width, height)
		}
		if t < -MaxGridCapacity || t > MaxGridCapacity {
			return fmt.Errorf("%w: pixel %d has a terminal capacity of %d; want a magnitude of at most %d", ErrInput, p, t, MaxGridCapacity)
		}
		g.pixels[p].excess, g.pixels[p].in = t, true
		g.part = append(g.part, p)
	}
	return nil
}

// link gives pixels their edges.
func (g *Grid) link(part, right, down []int32) error {
	width := g.offset[2]
	for k, p := range part {
		r, d := right[k], down[k]
		if uint32(r) > MaxGridCapacity || uint32(d) > MaxGridCapacity ||
			r > 0 && !g.pixels[p+1].in || d > 0 && !g.pixels[p+width].in {
			return fmt.Errorf("%w: pixel %d has edges of %d to the right and %d down; want 0 to %d, and 0 to what takes no part", ErrInput, p, r, d, MaxGridCapacity)
		}
		if r > 0 {
			g.pixels[p].residual[0], g.pixels[p+1].residual[1] = r, r
		}
		if d > 0 {
			g.pixels[p].residual[2], g.pixels[p+width].residual[3] = d, d
		}
	}
	return nil
}

// pushDirectly is that of Cut.
func (g *Grid) pushDirectly() {
	for _, i := range g.part {
		p := &g.pixels[i]
		if p.excess <= 0 {
			continue
		}
		for d := range p.residual {
			q := &g.pixels[i+g.offset[d]]
			if q.excess >= 0 || p.residual[d] == 0 {
				continue
			}
			f := min(p.excess, p.residual[d], -q.excess)
			p.residual[d] -= f
			q.residual[d^1] += f
			q.excess += f
			if p.excess -= f; p.excess == 0 {
				break
			}
		}
	}
}

// plant begins the trees anew, with the flow there is.
func (g *Grid) plant() {
	g.head, g.size, g.orphans, g.time = 0, 0, g.orphans[:0], 1
	for _, i := range g.part {
		p := &g.pixels[i]
		p.tree, p.parent, p.time, p.dist, p.active = 0, gridFree, 0, 0, false
		switch {
		case p.excess > 0:
			p.tree = source
		case p.excess < 0:
			p.tree = sink
		default:
			continue
		}
		p.parent, p.time, p.dist = gridRoot, 1, 1
		g.activate(i)
	}
}

func (g *Grid) activate(i int32) {
	p := &g.pixels[i]
	if p.active {
		return
	}
	p.active = true
	g.active[(g.head+g.size)&(len(g.active)-1)] = i
	g.size++
}

// next takes the first active pixel that is in a tree, or that a neighbour's tree can take
// in; −1 if there is none.
func (g *Grid) next() int32 {
	for g.size > 0 {
		i := g.active[g.head]
		g.head = (g.head + 1) & (len(g.active) - 1)
		g.size--
		p := &g.pixels[i]
		p.active = false
		if p.tree != free || g.join(i) {
			return i
		}
	}
	return -1
}

// join hangs free pixel i on the neighbour nearest to a terminal that has residual for it.
func (g *Grid) join(i int32) bool {
	p := &g.pixels[i]
	for d := range p.residual {
		q := &g.pixels[i+g.offset[d]]
		if q.tree == free || p.tree != free && q.dist+1 >= p.dist {
			continue
		}
		if q.tree == source && q.residual[d^1] == 0 || q.tree == sink && p.residual[d] == 0 {
			continue
		}
		p.tree, p.parent = q.tree, int8(d)
		p.time, p.dist = q.time, q.dist+1
	}
	return p.tree != free
}

// maximise is that of Cut: grow, augment and adopt until no active pixel is left.
func (g *Grid) maximise(ctx context.Context) bool {
	ticks := pathsPerCheck
	for i := g.next(); i >= 0; i = g.next() {
		for d := 0; ; {
			if ticks--; ticks < 0 {
				if ctx.Err() != nil {
					return false
				}
				ticks = pathsPerCheck
			}
			tree := g.pixels[i].tree
			if tree == source {
				d = g.growSource(i, d)
			} else {
				d = g.growSink(i, d)
			}
			if d > 3 {
				break
			}
			if g.time == math.MaxInt32 { // the stamps are worn out
				g.plant()
				break
			}
			g.time++
			if tree == source {
				g.augment(i, d)
			} else {
				g.augment(i+g.offset[d&3], d^1)
			}
			g.adopt()
			if g.pixels[i].tree == free {
				break
			}
		}
	}
	return true
}

// growSource takes the free neighbours of source pixel i in, from direction d on, and returns
// the first direction in which an arc leads to the sink's tree, or 4.
func (g *Grid) growSource(i int32, d int) int {
	p := &g.pixels[i]
	for ; d < 4; d++ {
		if p.residual[d] == 0 {
			continue
		}
		j := i + g.offset[d]
		q := &g.pixels[j]
		switch q.tree {
		case free:
			q.tree, q.parent = source, int8(d^1)
			q.time, q.dist = p.time, p.dist+1
			g.activate(j)
		case sink:
			return d
		default: // see Cut.growSource
			if q.time <= p.time && q.dist > p.dist+1 {
				q.parent, q.time, q.dist = int8(d^1), p.time, p.dist+1
			}
		}
	}
	return d
}

// growSink is growSource for the sink's tree.
func (g *Grid) growSink(i int32, d int) int {
	p := &g.pixels[i]
	for ; d < 4; d++ {
		j := i + g.offset[d]
		q := &g.pixels[j]
		if q.residual[(d^1)&3] == 0 {
			continue
		}
		switch q.tree {
		case free:
			q.tree, q.parent = sink, int8(d^1)
			q.time, q.dist = p.time, p.dist+1
			g.activate(j)
		case source:
			return d
		default:
			if q.time <= p.time && q.dist > p.dist+1 {
				q.parent, q.time, q.dist = int8(d^1), p.time, p.dist+1
			}
		}
	}
	return d
}

// augment pushes all that fits along the path through the arc in direction d from pixel tail
// of the source's tree to one of the sink's.
func (g *Grid) augment(tail int32, d int) {
	pixels := g.pixels
	head := tail + g.offset[d&3]
	f := pixels[tail].residual[d&3]
	i := tail
	for pixels[i].parent < gridRoot {
		up := pixels[i].parent & 3
		i += g.offset[up]
		f = min(f, pixels[i].residual[up^1])
	}
	f = min(f, pixels[i].excess)
	for i = head; pixels[i].parent < gridRoot; {
		up := pixels[i].parent & 3
		f = min(f, pixels[i].residual[up])
		i += g.offset[up]
	}
	f = min(f, -pixels[i].excess)

	pixels[tail].residual[d&3] -= f
	pixels[head].residual[(d^1)&3] += f
	for i = tail; ; {
		p := &pixels[i]
		if p.parent == gridRoot {
			if p.excess -= f; p.excess == 0 {
				g.orphan(i)
			}
			break
		}
		up := p.parent & 3
		next := i + g.offset[up]
		p.residual[up] += f
		q := &pixels[next]
		if q.residual[up^1] -= f; q.residual[up^1] == 0 {
			g.orphan(i)
		}
		i = next
	}
	for i = head; ; {
		p := &pixels[i]
		if p.parent == gridRoot {
			if p.excess += f; p.excess == 0 {
				g.orphan(i)
			}
			break
		}
		up := p.parent & 3
		next := i + g.offset[up]
		pixels[next].residual[up^1] += f
		if p.residual[up] -= f; p.residual[up] == 0 {
			g.orphan(i)
		}
		i = next
	}
}

func (g *Grid) orphan(i int32) {
	g.pixels[i].parent = gridOrphan
	g.orphans = append(g.orphans, i)
}

// adopt finds each orphan a new parent in its tree or sets it free.
func (g *Grid) adopt() {
	for k := 0; k < len(g.orphans); k++ {
		i := g.orphans[k]
		if up, dist := g.findParent(i); up < 4 {
			p := &g.pixels[i]
			p.parent, p.time, p.dist = int8(up), g.time, dist+1
			continue
		}
		g.release(i)
	}
	g.orphans = g.orphans[:0]
}

// findParent is that of Cut: the direction of the neighbour nearest to the terminal, or of the
// first that is near enough; 4 if none hangs on the terminal.
func (g *Grid) findParent(i int32) (up int, dist int32) {
	p := &g.pixels[i]
	up, dist = 4, math.MaxInt32
	for d := range p.residual {
		j := i + g.offset[d]
		q := &g.pixels[j]
		if q.tree != p.tree || p.tree == source && q.residual[d^1] == 0 || p.tree == sink && p.residual[d] == 0 {
			continue
		}
		if r := g.rootDistance(j); r < dist {
			up, dist = d, r
			if r <= p.dist {
				break
			}
		}
	}
	return up, dist
}

// rootDistance is that of Cut.
func (g *Grid) rootDistance(j int32) int32 {
	pixels, now := g.pixels, g.time
	d := int32(0)
	for k := j; ; {
		p := &pixels[k]
		if p.time == now {
			d += p.dist
			break
		}
		if p.parent >= gridRoot {
			if p.parent != gridRoot {
				return math.MaxInt32
			}
			d++
			p.time, p.dist = now, 1
			break
		}
		d++
		k += g.offset[p.parent&3]
	}
	for k, e := j, d; pixels[k].time != now; e-- {
		p := &pixels[k]
		p.time, p.dist = now, e
		k += g.offset[p.parent&3]
	}
	return d
}

// release frees pixel i: its children are orphans now.
func (g *Grid) release(i int32) {
	p := &g.pixels[i]
	for d := range p.residual {
		j := i + g.offset[d]
		// What takes no part has a parent, too: 0. It is in no tree.
		if q := &g.pixels[j]; q.parent == int8(d^1) && q.tree == p.tree {
			g.orphan(j)
		}
	}
	g.activate(i)
	p.tree, p.parent = free, gridFree
}
