package window

import (
	"slices"

	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/seed"
)

// Frame is one frame of the window: evidence of what its N superpixels are, and the
// labels that the last solve gave them.
type Frame struct {
	Belief propagation.Belief
	Marks  seed.Marks

	p     *picture.Picture
	y     []int32   // N labels that the next solve starts with: the last solve's, if there was one
	told  []int32   // N labels that the weights go by: those published, once there are some
	doubt []float64 // N: how unsure the belief was when it was the newest frame; empty before
	omega []float64 // N training weights

	parts []*part
	local []int32    // N: which superpixel of a part, or -1
	edges []mrf.Edge // of a part
}

// Reset makes f the frame of p, of which nothing is known.
func (f *Frame) Reset(p *picture.Picture, labels int) {
	f.p = p
	f.Belief.Reset(p.N, labels)
	f.Marks.Reset(p.N)
	f.y, f.told, f.doubt = scratch.Zero(f.y, p.N), scratch.Zero(f.told, p.N), f.doubt[:0]
	f.forgetParts()
}

// Release gives others what f holds that they can use. Nothing is known of f any more until Reset makes it a frame again.
func (f *Frame) Release() { f.forgetParts() }

// forgetParts forgets all parts.
func (f *Frame) forgetParts() {
	for k, c := range f.parts {
		c.spare()
		f.parts[k] = nil
	}
	f.parts = f.parts[:0]
}

// question sets f.doubt.
func (f *Frame) question(labels int) {
	f.doubt = scratch.Grow(f.doubt, f.p.N)
	for i := range f.doubt {
		f.doubt[i] = propagation.Uncertainty(f.Belief.Q[i*labels : (i+1)*labels])
	}
}

// Keep gives f the labels that the next solve starts with, and Tells them.
func (f *Frame) Keep(y []int32) {
	copy(f.y, y)
	f.Tell(y)
}

// Tell gives f the labels that its weights go by.
func (f *Frame) Tell(y []int32) { copy(f.told, y) }

// Widen makes room for more labels and keeps what is known of the old ones.
func (f *Frame) Widen(from, to int) {
	f.Belief.Widen(from, to)
}

// Drop makes a label background and closes the gap it leaves.
func (f *Frame) Drop(label, labels int) {
	f.Belief.Drop(label, labels)
	labeling.Drop(f.y, int32(label))
	labeling.Drop(f.told, int32(label))
	f.Marks.Drop(int32(label))
	f.forgetParts()
}

// Clone shares nothing with f but the picture.
func (f *Frame) Clone() Frame {
	f.p.Share()
	return Frame{Belief: f.Belief.Clone(), Marks: f.Marks.Clone(), p: f.p, y: slices.Clone(f.y), told: slices.Clone(f.told), doubt: slices.Clone(f.doubt)}
}
