package tracker

import (
	"math"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
)

// frame is one frame of the window: its superpixels as the solver and the
// affinity see them, and the labels they were given. Frames are recycled, so a
// sliding window allocates nothing.
type frame struct {
	seq           uint64
	n             int
	width, height int
	labels        []int32    // height×width superpixel of each pixel
	centroid      []float32  // n×2
	area          []int32    // n
	pixels        []int16    // height×width×3 colours; empty if the scene has none
	colour        []float32  // n×3 mean colours
	edges         []mrf.Edge // smoothness between its superpixels

	features []float64 // n×d, projected
	rows     []float64 // n×(d+1): features and a constant, the kernel's rows
	block    kernel.Block
	unit     []float32 // n×padded(d) features scaled to length 1, in cell order, for cosines
	grid     grid

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

// bias is the constant column of the classifier: the object is rare, so most
// scores must be negative where features average zero. At 3 the regulariser
// hardly feels it.
const bias = 3

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// load fills f from a scene and its projected features. What the solver found
// for the frame that f was before is forgotten.
func (f *frame) load(s *features.Scene, p *features.Projection, labels int, smooth float64) {
	f.knows, f.sure = f.knows[:0], f.sure[:0]
	f.corrected = f.corrected[:0]
	f.marked, f.bounded, f.outside = f.marked[:0], f.bounded[:0], f.outside[:0]
	f.seq, f.n, f.width, f.height = s.Seq, s.N, s.Width, s.Height
	f.labels = append(f.labels[:0], s.Labels...)
	f.centroid = append(f.centroid[:0], s.Centroid...)
	f.area = append(f.area[:0], s.Area...)
	f.pixels = append(f.pixels[:0], s.Pixels...)
	f.colour = append(f.colour[:0], s.Lab...)
	f.edges = smoothness(f.edges, s.Edges, smooth)
	d := p.Dim()
	f.features = p.Apply(f.features, s)
	f.rows = grow(f.rows, f.n*(d+1))
	for i := range f.n {
		copy(f.rows[i*(d+1):], f.features[i*d:(i+1)*d])
		f.rows[(i+1)*(d+1)-1] = bias
	}
	f.block.Reset(f.rows, f.n, d+1)
	f.grid.build(f.centroid, f.width, f.height)
	f.unit = f.normalise(f.unit, f.features, d)
	f.y, f.fixed = grow(f.y, f.n), grow(f.fixed, f.n)
	clear(f.y)
	f.trust, f.unlearnt = grow(f.trust, f.n), grow(f.unlearnt, f.n)
	clear(f.unlearnt)
	for i := range f.fixed {
		f.fixed[i] = annotation.Unmarked
		f.trust[i] = 1
	}
	f.resize(labels)
}

// smoothness writes the Potts model of a scene's adjacency to dst.
func smoothness(dst []mrf.Edge, edges []features.Edge, smooth float64) []mrf.Edge {
	potts := features.NewPotts(edges, smooth)
	dst = dst[:0]
	for _, e := range edges {
		dst = append(dst, mrf.Edge{I: e.I, J: e.J, W: potts.Weight(e)})
	}
	return dst
}

// perLabel lists the n×L matrices.
func (f *frame) perLabel() [4]*[]float64 {
	return [...]*[]float64{&f.scores, &f.lambda, &f.q, &f.soft}
}

// resize gives the n×L matrices room for a number of labels and clears them.
func (f *frame) resize(labels int) {
	for _, m := range f.perLabel() {
		*m = grow(*m, f.n*labels)
		clear(*m)
	}
}

// normalise writes n×d features to dst, scaled to length 1, in the grid's order.
func (f *frame) normalise(dst []float32, features []float64, d int) []float32 {
	wide := padded(d)
	dst = grow(dst, f.n*wide)
	for slot, i := range f.grid.order {
		row, to := features[int(i)*d:int(i+1)*d], dst[slot*wide:(slot+1)*wide]
		clear(to[d:])
		sum := 0.0
		for _, v := range row {
			sum += v * v
		}
		scale := 1 / math.Max(math.Sqrt(sum), 1e-12)
		for k, v := range row {
			to[k] = float32(v * scale)
		}
	}
	return dst
}

// cellsAcross is the number of grid cells along the longer side: fine enough that a
// search radius of a few per cent of the picture wastes little.
const cellsAcross = 32

// grid sorts superpixels into square cells by centroid, so that those near a
// point are a few runs of consecutive slots.
type grid struct {
	side       float64 // of a cell, pixels
	cols, rows int
	order      []int32 // slot → superpixel, cell by cell, row-major cells
	start      []int32 // cell → first slot; one more at the end
}

func (g *grid) build(centroid []float32, width, height int) {
	g.side = math.Max(1, float64(max(width, height))/cellsAcross)
	g.cols, g.rows = int(float64(width)/g.side)+1, int(float64(height)/g.side)+1
	n := len(centroid) / 2
	g.order = grow(g.order, n)
	g.start = grow(g.start, g.cols*g.rows+2)
	clear(g.start)
	for i := range n {
		g.start[g.cell(centroid[2*i], centroid[2*i+1])+2]++
	}
	for c := 2; c < len(g.start); c++ {
		g.start[c] += g.start[c-1]
	}
	for i := range n {
		c := g.cell(centroid[2*i], centroid[2*i+1]) + 1
		g.order[g.start[c]] = int32(i)
		g.start[c]++
	}
	g.start = g.start[:g.cols*g.rows+1]
}

func (g *grid) cell(x, y float32) int {
	cx := min(max(int(float64(x)/g.side), 0), g.cols-1)
	cy := min(max(int(float64(y)/g.side), 0), g.rows-1)
	return cy*g.cols + cx
}

// span returns the slots of cell row cy that may hold centroids with x in
// [x−r, x+r].
func (g *grid) span(cy int, x, r float64) (from, to int) {
	c0 := min(max(int((x-r)/g.side), 0), g.cols-1)
	c1 := min(max(int((x+r)/g.side), 0), g.cols-1)
	return int(g.start[cy*g.cols+c0]), int(g.start[cy*g.cols+c1+1])
}

// cellRows returns the first and last cell row with centroids within r of y.
func (g *grid) cellRows(y, r float64) (first, last int) {
	return min(max(int((y-r)/g.side), 0), g.rows-1), min(max(int((y+r)/g.side), 0), g.rows-1)
}
