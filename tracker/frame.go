package tracker

import (
	"github.com/segd/segd/annotation"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// frame is one frame of the window: its superpixels as the solver and the
// affinity see them, and the labels they were given. Frames are recycled, so a
// sliding window allocates nothing.
type frame struct {
	*picture.Picture
	block kernel.Block // of Rows

	scores   []float64 // n×L, Kα of the last solve
	lambda   []float64 // n×L multipliers of the last solve
	y        []int32   // n labels
	q        []float64 // n×L propagated label probabilities; each row sums to 1
	fixed    []int32   // n: label ≥ 0 that was annotated, or annotation.Unmarked, annotation.Outside
	trust    []float64 // n: how far the labels bear out others, 0…1
	unlearnt []bool    // n: what came back at a size the classifier has not learnt
	knows    []bool    // L: whether the label's object was there to be seen; 0 always is
	sure     []bool    // L: whether its object was seen without doubt
	looks    []float32 // L×d mean directions of the objects' features
	marked   []int32   // labels that an annotation of this frame defined: all their pieces hang together with a mark
	soft     []float64 // n×L label probabilities a later frame's affinity reads

	bounded   []int32 // labels that an annotation of this frame bounded by a mask, polygon or box
	corrected []bool  // n, or empty: whether an annotation gave the superpixel another label than it had

	outside []bool // n×len(bounded): whether the superpixel lies outside the bounds
}

// load makes f the frame of a picture. What the solver found for the frame that f was before is forgotten.
func (f *frame) load(p *picture.Picture, labels int) {
	f.knows, f.sure = f.knows[:0], f.sure[:0]
	f.corrected = f.corrected[:0]
	f.marked, f.bounded, f.outside = f.marked[:0], f.bounded[:0], f.outside[:0]
	f.Picture = p
	f.block.Reset(f.Rows, f.N, f.Dim+1)
	f.y, f.fixed = scratch.Grow(f.y, f.N), scratch.Grow(f.fixed, f.N)
	clear(f.y)
	f.trust, f.unlearnt = scratch.Grow(f.trust, f.N), scratch.Grow(f.unlearnt, f.N)
	clear(f.unlearnt)
	for i := range f.fixed {
		f.fixed[i] = annotation.Unmarked
		f.trust[i] = 1
	}
	f.resize(labels)
}

// perLabel lists the n×L matrices.
func (f *frame) perLabel() [4]*[]float64 {
	return [...]*[]float64{&f.scores, &f.lambda, &f.q, &f.soft}
}

// resize gives the n×L matrices room for a number of labels and clears them.
func (f *frame) resize(labels int) {
	for _, m := range f.perLabel() {
		*m = scratch.Grow(*m, f.N*labels)
		clear(*m)
	}
}
