package outline

import (
	"context"
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/scratch"
)

// unit is what an energy of 1 is as a capacity: what a pixel and its edges weigh, at most 4 edges
// of smoothness, farthest, twice that of scores and mask heads, and depthCost, stays below mrf.MaxGridCapacity.
const unit = 1 << 24

// An edge's weight is read off a table of so many steps up to an exponent of so much, between
// whose entries it is a line.
const weightSteps, weightMost = 64, 16

var weights = func() (t [weightSteps*weightMost + 2]float32) {
	for i := range weightSteps * weightMost {
		t[i] = float32(smoothness * math.Exp(-float64(i)/weightSteps))
	}
	return t
}()

// cutter is the memory of Drawer.cut.
type cutter struct {
	shape   [maxRings + 1]float32 // what another label costs, by depth
	perUnit float32               // of a squared difference: its steps in weights

	order, firsts, next []int32 // see findParts
	runs                []run
	set                 []uint8
	local               [256]uint8 // of the labels in set: which
	u                   []float32  // energies of a part, by local label and pixel
	node                []int32    // see link

	places                []int32 // of a part: where its pixels are
	inBox                 []int32 // and where in its own box
	terminal, right, down []int32 // of two labels
	grid                  mrf.Grid
	unary                 []float64 // of more
	y                     []int32
	edges                 []mrf.Edge
	graph                 mrf.Potts
}

// price sets what outlines cost.
func (r *Drawer) price(rings float64) {
	for d := range r.shape {
		r.shape[d] = float32(depthCost * (float64(d) - 0.5) / rings)
	}
	r.perUnit = float32(weightSteps / (2 * r.meanSquare))
}

// weight is what an outline costs between pixels whose colours differ that much, less the more
// they differ as in GrabCut.
func (r *Drawer) weight(squared int32) float32 {
	v := float32(squared) * r.perUnit
	if v >= weightSteps*weightMost {
		return 0
	}
	i := int(v)
	return weights[i] + (v-float32(i))*(weights[i+1]-weights[i])
}

// cut labels the pixels of the band anew, each of its parts by itself.
func (r *Drawer) cut(ctx context.Context, f scene, labels int) error {
	if labels == 2 {
		r.order = scratch.Grow(r.order, len(r.band))
		for k := range r.order {
			r.order[k] = int32(k)
		}
		r.set = append(r.set[:0], 0, 1)
		return r.cutPart(ctx, f, r.order)
	}
	r.findParts()
	for c := range len(r.firsts) - 1 {
		part := r.order[r.firsts[c]:r.firsts[c+1]]
		r.findLabels(f, part)
		if err := r.cutPart(ctx, f, part); err != nil {
			return err
		}
	}
	return nil
}

// findParts sorts the numbers of the band's pixels by the part that they belong to, of those
// that hang together: part c is order[firsts[c]:firsts[c+1]], ascending.
func (r *Drawer) findParts() {
	r.findRuns()
	r.firsts = append(r.firsts[:0], 0)
	for n := range r.runs {
		run := &r.runs[n]
		if run.joined == n {
			run.part = len(r.firsts) - 1
			r.firsts = append(r.firsts, 0)
		} else {
			run.joined = r.runs[run.joined].joined // as is that of all before it
			run.part = r.runs[run.joined].part
		}
		r.firsts[run.part+1] += int32(run.to - run.from)
	}
	for c := range len(r.firsts) - 1 {
		r.firsts[c+1] += r.firsts[c]
	}
	r.order, r.next = scratch.Grow(r.order, len(r.band)), append(r.next[:0], r.firsts...)
	for _, run := range r.runs {
		for k := run.from; k < run.to; k++ {
			r.order[r.next[run.part]] = int32(k)
			r.next[run.part]++
		}
	}
}

// run is band[from:to], pixels beside each other in a row.
type run struct {
	from, to int
	joined   int // the number of an earlier run that is of the same part, or its own
	part     int
}

// findRuns finds the runs of the band, and joins those that hang together.
func (r *Drawer) findRuns() {
	r.runs = r.runs[:0]
	root := func(n int) int {
		for r.runs[n].joined != n {
			n = r.runs[n].joined
		}
		return n
	}
	above, stride := 0, int32(r.stride)
	for k := 0; k < len(r.band); {
		n, from := len(r.runs), k
		for k++; k < len(r.band) && r.band[k] == r.band[k-1]+1; k++ {
		}
		r.runs = append(r.runs, run{from: from, to: k, joined: n})
		first, last := r.band[from]-stride, r.band[k-1]-stride
		for r.band[r.runs[above].to-1] < first {
			above++
		}
		for a := above; r.band[r.runs[a].from] <= last; a++ {
			i, j := root(a), root(n)
			r.runs[max(i, j)].joined = min(i, j)
		}
	}
}

// findLabels sets those of the superpixels around a part. Another one is nowhere cheaper: a
// region that has it can have any of these, for as much or less.
func (r *Drawer) findLabels(f scene, part []int32) {
	var is [256]bool
	last := int32(features.Unseen)
	for _, k := range part {
		if i := f.patch.Labels[r.at[k]]; i != last {
			last = i
			for _, g := range r.palettes.of(f, i) {
				is[g.label] = true
			}
		}
	}
	r.set = r.set[:0]
	for l, ok := range is {
		if ok {
			r.set = append(r.set, uint8(l))
		}
	}
}

// cutPart labels the pixels of a part with labels of r.set.
func (r *Drawer) cutPart(ctx context.Context, f scene, part []int32) error {
	labels := len(r.set)
	if labels < 2 {
		return nil
	}
	for l, label := range r.set {
		r.local[label] = uint8(l)
	}
	n := len(part)
	r.places, r.right, r.down = scratch.Grow(r.places, n), scratch.Grow(r.right, n), scratch.Grow(r.down, n)
	r.colours(f, part)
	r.classify(f, part)
	r.consult(f, part)
	for m, k := range part {
		p := int(r.band[k])
		r.places[m] = int32(p)
		r.charge(n, m, r.labels[p], r.shape[r.depth[p]])
		right, down := r.join(n, m, k)
		r.right[m], r.down[m] = int32(unit*right), int32(unit*down)
	}
	if labels == 2 {
		r.terminal = scratch.Grow(r.terminal, n)
		zero, one := r.u[:n], r.u[n:][:n]
		for m := range r.terminal {
			r.terminal[m] = int32(unit * (zero[m] - one[m]))
		}
		width, height := r.fit()
		done, err := r.grid.Cut(ctx, width, height, r.inBox, r.terminal, r.right, r.down)
		if err != nil {
			return err
		}
		if done {
			for m, p := range r.places {
				r.labels[p] = r.set[0]
				if r.grid.Source(r.inBox[m]) {
					r.labels[p] = r.set[1]
				}
			}
		}
		return nil
	}
	r.y, r.unary = scratch.Grow(r.y, n), scratch.Grow(r.unary, n*labels)
	for m, p := range r.places {
		r.y[m] = int32(r.local[r.labels[p]])
		for l := range labels {
			r.unary[m*labels+l] = float64(r.u[l*n+m])
		}
	}
	r.link()
	if err := r.graph.Reset(n, labels, r.edges); err != nil {
		return err
	}
	if err := r.graph.Label(ctx, r.y, r.unary); err != nil {
		return err
	}
	for m, p := range r.places {
		r.labels[p] = r.set[r.y[m]]
	}
	return nil
}

// fit sets where the pixels of a part are in a picture of its box and one pixel around it: what is as small stays in the
// processor's caches from one part to the next.
func (r *Drawer) fit() (width, height int) {
	stride, n := int32(r.stride), len(r.places)
	top := r.places[0] / stride
	first, left, right := top*stride, stride, int32(0)
	for _, p := range r.places {
		for p >= first+stride {
			first += stride
		}
		left, right = min(left, p-first), max(right, p-first)
	}
	wide := right - left + 3
	r.inBox = scratch.Grow(r.inBox, n)
	first, row := top*stride, wide // where the row of a pixel begins, and where in the box
	for m, p := range r.places {
		for p >= first+stride {
			first, row = first+stride, row+wide
		}
		r.inBox[m] = row + p - first - left + 1
	}
	return int(wide), int(row/wide) + 2
}

// classify takes what the classifier says off the energies of a part: by how much a pixel's
// score for a label is above what lies between those of the superpixels around that have the
// label and of those that have not. A classifier may be wrong by as much here, and where it does
// not tell these apart it has no say.
func (r *Drawer) classify(f scene, part []int32) {
	if !r.scorer.ready {
		return
	}
	r.scorer.next()
	for m, k := range part {
		at := r.at[k]
		groups := r.palettes.of(f, f.patch.Labels[at])
		if !slices.ContainsFunc(groups, group.isTold) {
			continue
		}
		scores := r.scorer.at(f.patch, int(at), r.set)
		for _, g := range groups {
			if l := int(r.local[g.label]); g.told {
				r.u[l*len(part)+m] -= scoreWeight * bounded(scores[l]-g.middle)
			}
		}
	}
}

// consult takes what a mask head says off the energies of a part.
func (r *Drawer) consult(f scene, part []int32) {
	for l, label := range r.set {
		if int(label) >= len(r.grids) || r.grids[label] == nil {
			continue
		}
		g, u := r.grids[label], r.u[l*len(part):][:len(part)]
		g.Over(f.patch)
		for m, k := range part {
			at := int(r.at[k])
			u[m] -= gridWeight * gridMost * bounded(g.At(at%f.patch.Cols, at/f.patch.Cols)/gridMost)
		}
	}
}

// bounded is a score from -1 to 1; what is no number is -1.
func bounded(score float32) float32 {
	if score > -1 {
		return min(score, 1)
	}
	return -1
}

// colours sets r.u to the colour energies of a part.
func (r *Drawer) colours(f scene, part []int32) {
	const perLab = 1.0 / features.LabUnit
	n := len(part)
	r.u = scratch.Grow(r.u, n*len(r.set))
	for m := range r.u {
		r.u[m] = farthest
	}
	seen := int32(features.Unseen)
	var groups []group
	for m, k := range part {
		at := r.at[k]
		if i := f.patch.Labels[at]; i != seen {
			groups, seen = r.palettes.of(f, i), i
		}
		pixel := f.patch.Pixels[3*at:][:3:3]
		x, y, z := perLab*float32(pixel[0]), perLab*float32(pixel[1]), perLab*float32(pixel[2])
		for _, g := range groups {
			least := float32(farthest * 2 * sigma * sigma)
			colours := r.palettes.swatch[g.from:g.to]
			for j := range colours {
				c := &colours[j]
				dx, dy, dz := x-c[0], y-c[1], z-c[2]
				least = min(least, dx*dx+dy*dy+dz*dz)
			}
			r.u[int(r.local[g.label])*n+m] = least * (1 / (2 * sigma * sigma))
		}
	}
}

// charge makes every label but one dearer for pixel m of n.
func (r *Drawer) charge(n, m int, label uint8, cost float32) {
	for l, other := range r.set {
		if other != label {
			r.u[l*n+m] += cost
		}
	}
}

// join returns the weights of the edges of pixel m of n, the band's k, to those at its right and
// below, and charges it at the band's rim for differing from what is outside.
func (r *Drawer) join(n, m int, k int32) (right, down float32) {
	p, at := int(r.band[k]), int(r.at[k])
	if r.inBand(p + 1) {
		right = r.weight(r.toRight[k])
	} else if r.depth[p+1] != beyond {
		r.charge(n, m, r.labels[p+1], r.weight(r.toRight[k]))
	}
	if r.inBand(p + r.stride) {
		down = r.weight(r.toBelow[k])
	} else if r.depth[p+r.stride] != beyond {
		r.charge(n, m, r.labels[p+r.stride], r.weight(r.toBelow[k]))
	}
	if d := r.depth[p-1]; d == 0 || d == unseen {
		r.charge(n, m, r.labels[p-1], r.weight(r.squared(at, at-1)))
	}
	if d := r.depth[p-r.stride]; d == 0 || d == unseen {
		r.charge(n, m, r.labels[p-r.stride], r.weight(r.squared(at, at-r.patch.Cols)))
	}
	return right, down
}

// link makes edges of r.right and r.down.
func (r *Drawer) link() {
	r.node = scratch.Grow(r.node, len(r.depth))
	for n, p := range r.places {
		r.node[p] = int32(n)
	}
	r.edges = r.edges[:0]
	for n, p := range r.places {
		if w := r.right[n]; w > 0 {
			r.edges = append(r.edges, mrf.Edge{I: int32(n), J: r.node[p+1], W: float64(w) / unit})
		}
		if w := r.down[n]; w > 0 {
			r.edges = append(r.edges, mrf.Edge{I: int32(n), J: r.node[int(p)+r.stride], W: float64(w) / unit})
		}
	}
}
