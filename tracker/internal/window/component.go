package window

import (
	"fmt"
	"math"
	"slices"

	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/scratch"
)

// A part is what a frame has of a component, which are objects that compete for superpixels: the superpixels
// that may be one of them, R. Its own labels are 0, the background and all other objects, and k+1 for objects[k].
type part struct {
	objects []int32 // labels, ascending
	rows    []int32 // R superpixels, ascending
	x       []float32
	block   kernel.Block // of x; of nothing before filled
	filled  bool
	graph   mrf.Potts
	outward []float64 // R: the weights of its edges to superpixels that are not in the part
	lambda  []float64 // R×labels: λ of the last solution that it was a part of
	solved  uint64    // which one that was, of Window.solves; 0: none
	idle    int       // solves since it was used
}

// spareParts are of no frame at the moment. The frames of all cameras share them.
var spareParts buffers.Stock[*part]

// mostRoom is how many times as many superpixels a part may have room for as it has: of a picture that is seen whole it has
// all, of the next one a few.
const mostRoom = 8

// idleSolves is for how many solves a part is kept that is not used: objects that touch now and then compete again soon.
const idleSolves = 7

// labels is how many the part has.
func (c *part) labels() int { return 1 + len(c.objects) }

// part returns f's part of a component. It is made once, of what is known of f then, and its graph finds a cut sooner as it goes
// from the one before.
func (f *Frame) part(objects []int32, labels int) (*part, error) {
	at := slices.IndexFunc(f.parts, func(c *part) bool { return slices.Equal(c.objects, objects) })
	if at < 0 {
		c, ok := spareParts.Take()
		if !ok {
			c = &part{}
		}
		if err := c.reset(f, objects, labels); err != nil {
			return nil, fmt.Errorf("window: %w", err)
		}
		at = len(f.parts)
		f.parts = append(f.parts, c)
	}
	f.parts[at].idle = 0
	return f.parts[at], nil
}

// reset makes c that part of f.
func (c *part) reset(f *Frame, objects []int32, labels int) error {
	c.objects, c.rows, c.solved = append(c.objects[:0], objects...), c.rows[:0], 0
	for len(f.local) < f.p.N {
		f.local = append(f.local, -1)
	}
	for i := range f.p.N {
		if f.may(i, objects, labels) {
			f.local[i] = int32(len(c.rows))
			c.rows = append(c.rows, int32(i))
		}
	}
	if cap(c.rows) > mostRoom*max(64, len(c.rows)) {
		*c = part{objects: c.objects, rows: slices.Clone(c.rows)}
	}
	c.outward = scratch.Zero(c.outward, len(c.rows))
	f.edges = f.edges[:0]
	for r, i := range c.rows {
		edges := f.p.Touching.EdgesOf(i)
		for k, j := range f.p.Touching.Of(i) {
			if local, e := f.local[j], f.p.Edges[edges[k]]; local < 0 {
				c.outward[r] += e.W
			} else if e.I == i {
				f.edges = append(f.edges, mrf.Edge{I: int32(r), J: local, W: e.W})
			}
		}
	}
	for _, i := range c.rows {
		f.local[i] = -1
	}
	return c.graph.Reset(len(c.rows), c.labels(), f.edges)
}

// fill makes the block, which is not needed where nothing is estimated.
func (c *part) fill(f *Frame) error {
	if c.filled {
		return nil
	}
	d := f.p.Dim + 1
	c.x = buffers.Fit(c.x, len(c.rows)*d)[:0]
	for _, i := range c.rows {
		c.x = append(c.x, f.p.Rows[int(i)*d:int(i+1)*d]...)
	}
	c.filled = true
	return c.block.Reset32(c.x, len(c.rows), d)
}

// spare gives c to the next that needs a part.
func (c *part) spare() {
	buffers.Put(c.x)
	c.x, c.filled, c.idle = nil, false, 0
	spareParts.Put(c)
}

// may tells whether superpixel i may be one of the objects.
func (f *Frame) may(i int, objects []int32, labels int) bool {
	if len(f.Belief.Near) == 0 || slices.Contains(objects, f.y[i]) {
		return true
	}
	near := f.Belief.Near[i*labels : (i+1)*labels]
	for _, l := range objects {
		if near[l] {
			return true
		}
	}
	return false
}

// forget gives back the parts that have not been used for a while.
func (f *Frame) forget() {
	kept := f.parts[:0]
	for _, c := range f.parts {
		if c.idle++; c.idle <= idleSolves {
			kept = append(kept, c)
		} else {
			c.spare()
		}
	}
	clear(f.parts[len(kept):])
	f.parts = kept
}

// believe writes what f takes superpixel i for to q, by c's labels.
func (c *part) believe(q []float64, f *Frame, i int32, labels int) {
	row := f.Belief.Q[int(i)*labels:][:labels]
	for k, l := range c.objects {
		q[k+1] = row[l]
	}
	q[0] = row[0]
	for l, v := range row[1:] {
		if v != 0 && !slices.Contains(c.objects, int32(l+1)) {
			q[0] += v
		}
	}
}

// price writes c's R×labels discrete energies to u, by what q believes: ω·(1 − q), what its edges to others cost that are none of its
// objects, and +Inf for what the marks rule out, as they do where q leaves nothing to an object that begins with them. Without
// omega all weigh 1.
func (c *part) price(u, q, omega []float64, f *Frame) {
	labels := c.labels()
	for r, i := range c.rows {
		weight := 1.0
		if omega != nil {
			weight = omega[r]
		}
		for k := range labels {
			at := r*labels + k
			u[at] = weight * (1 - q[at])
			if k > 0 {
				u[at] += c.outward[r]
			}
			if c.forbids(f, i, k) || k > 0 && q[at] == 0 && slices.Contains(f.Marks.Begun, c.objects[k-1]) {
				u[at] = math.Inf(1)
			}
		}
	}
}

// forbids tells whether the marks rule out c's label k for superpixel i.
func (c *part) forbids(f *Frame, i int32, k int) bool {
	if k > 0 {
		return f.Marks.Forbids(int(i), int(c.objects[k-1]))
	}
	fixed := f.Marks.Fixed[i]
	return f.Marks.Forbids(int(i), 0) && (fixed <= 0 || slices.Contains(c.objects, fixed))
}

// label is c's label for what is a label of all.
func (c *part) label(l int32) int32 { return int32(slices.Index(c.objects, l) + 1) }

// take gives f what was found of c: y are labels of c's. Of what two components want it is the one that f believes in more.
func (c *part) take(dst []int32, f *Frame, y []int32, labels int) {
	for r, k := range y {
		i := c.rows[r]
		switch had := dst[i]; {
		case k > 0:
			if l := c.objects[k-1]; had <= 0 || slices.Contains(c.objects, had) || f.Belief.Q[int(i)*labels+int(l)] > f.Belief.Q[int(i)*labels+int(had)] {
				dst[i] = l
			}
		case slices.Contains(c.objects, had):
			dst[i] = 0
		}
	}
}

// split finds the components of f: objects that some superpixel may be the one or the other of are of one. Objects that no superpixel may be are
// in none.
func (w *Window) split(f *Frame, labels int) {
	w.joined, w.there = scratch.Grow(w.joined, labels), scratch.Zero(w.there, labels)
	for l := range w.joined {
		w.joined[l] = int32(l)
	}
	root := func(l int32) int32 {
		for w.joined[l] != l {
			l = w.joined[l]
		}
		return l
	}
	for i := range f.p.N {
		first := int32(0)
		for k, q := range f.Belief.Q[i*labels+1 : (i+1)*labels] {
			l := int32(k + 1)
			if q <= 0 {
				continue
			}
			w.there[l] = true
			if first == 0 {
				first = root(l)
				continue
			}
			a, b := min(first, root(l)), max(first, root(l))
			w.joined[b], first = a, a
		}
	}
	for l := int32(1); int(l) < labels; l++ {
		for at := int(l); !w.there[l] && at < f.p.N*labels; at += labels {
			w.there[l] = len(f.Belief.Near) == 0 || f.Belief.Near[at]
		}
	}
	w.objects, w.ends = w.objects[:0], w.ends[:0]
	for l := int32(1); int(l) < labels; l++ {
		if root(l) != l {
			continue
		}
		from := len(w.objects)
		for o := l; int(o) < labels; o++ {
			if w.there[o] && root(o) == l {
				w.objects = append(w.objects, o)
			}
		}
		if len(w.objects) > from {
			w.ends = append(w.ends, len(w.objects))
		}
	}
}

// components are what split found.
func (w *Window) components(yield func(objects []int32) bool) {
	from := 0
	for _, end := range w.ends {
		if !yield(w.objects[from:end]) {
			return
		}
		from = end
	}
}
