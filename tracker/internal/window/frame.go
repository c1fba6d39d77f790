package window

import (
	"math"
	"slices"

	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/belief"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/seed"
)

// Frame is one frame of the window: evidence of what its N superpixels are, and the
// labels that the last solve gave them.
type Frame struct {
	Belief belief.Belief
	Marks  seed.Marks

	p     *picture.Picture
	graph graph
	block kernel.Block // of p.Rows
	y     []int32      // N labels
}

// graph is the smoothness between a frame's superpixels, for a number of labels; 0 when it
// is not made yet.
type graph struct {
	mrf.Potts
	labels int
}

// Reset makes f the frame of p, of which nothing is known.
func (f *Frame) Reset(p *picture.Picture, labels int) {
	f.p, f.graph.labels = p, 0
	f.Belief.Reset(p.N, labels)
	f.Marks.Reset(p.N)
	f.block.Reset32(p.Rows, p.N, p.Dim+1)
	f.y = scratch.Zero(f.y, p.N)
}

// Keep gives f the labels that it joins the next solve with.
func (f *Frame) Keep(y []int32) { copy(f.y, y) }

// Widen makes room for more labels and keeps what is known of the old ones.
func (f *Frame) Widen(from, to int) {
	f.Belief.Q = labeling.Widen(f.Belief.Q, from, to)
}

// Drop makes a label background and closes the gap it leaves.
func (f *Frame) Drop(label, labels int) {
	f.Belief.Q = labeling.FoldColumn(f.Belief.Q, label, labels)
	labeling.Drop(f.y, int32(label))
	f.Marks.Drop(int32(label))
}

// Clone shares nothing with f but the picture.
func (f *Frame) Clone() Frame {
	f.p.Share()
	return Frame{
		Belief: f.Belief.Clone(), Marks: f.Marks.Clone(), p: f.p,
		block: kernel.Block{N: f.block.N, D: f.block.D, X32: f.p.Rows, Gram: slices.Clone(f.block.Gram)},
		y:     slices.Clone(f.y),
	}
}

// potts is the smoothness of f's labels. It is made once, and finds a cut sooner as it goes
// from the one before.
func (f *Frame) potts(labels int) *mrf.Potts {
	if f.graph.labels != labels {
		f.graph.Reset(f.p.N, labels, f.p.Edges)
		f.graph.labels = labels
	}
	return &f.graph.Potts
}

// appendUnary appends f's N×L discrete energies: 1 − q, and +Inf for what an annotation
// rules out.
func (f *Frame) appendUnary(dst []float64, labels int) []float64 {
	for i := range f.p.N {
		for l := range labels {
			u := 1 - f.Belief.Q[i*labels+l]
			if f.Marks.Forbids(i, l) {
				u = math.Inf(1)
			}
			dst = append(dst, u)
		}
	}
	return dst
}
