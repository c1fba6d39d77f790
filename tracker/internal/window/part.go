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

// A part is what a frame has of an object: the superpixels that may be it, R. Its own labels are 1, the object, and 0, all else.
type part struct {
	label   int32   // the object's
	rows    []int32 // R superpixels, ascending
	x       []float32
	block   kernel.Block // of x; of nothing before filled
	filled  bool
	graph   mrf.Potts
	outward []float64 // R: the weights of its edges to superpixels that are not in the part
	lambda  []float64 // R×2: λ of the last solution that it was a part of
	solved  uint64    // which one that was, of Window.solves; 0: none
	idle    int       // solves since it was used
}

// spareParts are of no frame at the moment. The frames of all cameras share them.
var spareParts buffers.Stock[*part]

// mostRoom is how many times as many superpixels a part may have room for as it has: of a picture that is seen whole it has
// all, of the next one a few.
const mostRoom = 8

// idleSolves is for how many solves a part is kept that is not used: an object that is hidden now and then is soon back.
const idleSolves = 7

// part returns f's part of an object. It is made once, of what is known of f then, and its graph finds a cut sooner as it goes
// from the one before.
func (f *Frame) part(label int32, labels int) (*part, error) {
	at := slices.IndexFunc(f.parts, func(c *part) bool { return c.label == label })
	if at < 0 {
		c, ok := spareParts.Take()
		if !ok {
			c = &part{}
		}
		if err := c.reset(f, label, labels); err != nil {
			return nil, fmt.Errorf("window: %w", err)
		}
		at = len(f.parts)
		f.parts = append(f.parts, c)
	}
	f.parts[at].idle = 0
	return f.parts[at], nil
}

// reset makes c that part of f.
func (c *part) reset(f *Frame, label int32, labels int) error {
	c.label, c.rows, c.solved = label, c.rows[:0], 0
	for len(f.local) < f.p.N {
		f.local = append(f.local, -1)
	}
	for i := range f.p.N {
		if f.may(i, label, labels) {
			f.local[i] = int32(len(c.rows))
			c.rows = append(c.rows, int32(i))
		}
	}
	if cap(c.rows) > mostRoom*max(64, len(c.rows)) {
		*c = part{label: label, rows: slices.Clone(c.rows)}
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
	return c.graph.Reset(len(c.rows), 2, f.edges)
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

// may tells whether superpixel i may be the object.
func (f *Frame) may(i int, label int32, labels int) bool {
	return len(f.Belief.Near) == 0 || f.y[i] == label || f.Belief.Near[i*labels+int(label)]
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

// believe writes how likely f takes superpixel i for each of c's labels to q.
func (c *part) believe(q []float64, f *Frame, i int32, labels int) {
	q[1] = f.Belief.Q[int(i)*labels+int(c.label)]
	q[0] = 1 - q[1]
}

// price writes c's R×2 discrete energies to u, by what q believes: ω·(1 − q), what the object's edges to superpixels cost that are
// not in the part, and +Inf for what the marks rule out, as they do where q leaves nothing to an object that begins with them.
// Without omega all weigh 1.
func (c *part) price(u, q, omega []float64, f *Frame) {
	bounded, begun := len(f.Marks.Bounded) > 0, slices.Contains(f.Marks.Begun, c.label)
	for r, i := range c.rows {
		weight := 1.0
		if omega != nil {
			weight = omega[r]
		}
		u[2*r], u[2*r+1] = weight*(1-q[2*r]), weight*(1-q[2*r+1])+c.outward[r]
		marked := bounded || !f.Marks.Free(int(i))
		if marked && c.forbids(f, i, 0) {
			u[2*r] = math.Inf(1)
		}
		if marked && c.forbids(f, i, 1) || begun && q[2*r+1] == 0 {
			u[2*r+1] = math.Inf(1)
		}
	}
}

// forbids tells whether the marks rule out c's label k for superpixel i.
func (c *part) forbids(f *Frame, i int32, k int) bool {
	if k > 0 {
		return f.Marks.Forbids(int(i), int(c.label))
	}
	fixed := f.Marks.Fixed[i]
	return f.Marks.Forbids(int(i), 0) && (fixed <= 0 || fixed == c.label)
}

// own is c's label for what is a label of all.
func (c *part) own(l int32) int32 {
	if l == c.label {
		return 1
	}
	return 0
}

// take gives f what was found of c: y are labels of c's. Of what two objects want it is the one that f believes in more.
func (c *part) take(dst []int32, f *Frame, y []int32, labels int) {
	for r, k := range y {
		i := c.rows[r]
		switch had := dst[i]; {
		case k > 0:
			if had <= 0 || had == c.label || f.Belief.Q[int(i)*labels+int(c.label)] > f.Belief.Q[int(i)*labels+int(had)] {
				dst[i] = c.label
			}
		case had == c.label:
			dst[i] = 0
		}
	}
}

// objects are those that some superpixel of f may be.
func (f *Frame) objects(labels int) func(yield func(label int32) bool) {
	return func(yield func(label int32) bool) {
		for l := 1; l < labels; l++ {
			there := false
			for at := l; !there && at < f.p.N*labels; at += labels {
				there = f.Belief.Q[at] > 0 || len(f.Belief.Near) == 0 || f.Belief.Near[at]
			}
			if there && !yield(int32(l)) {
				return
			}
		}
	}
}
