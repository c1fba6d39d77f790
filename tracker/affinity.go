package tracker

import (
	"slices"

	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/life"
	"github.com/segd/segd/tracker/internal/scratch"
)

// neighbours writes, for every superpixel of f that near marks, its k most similar
// superpixels of ref whose centroids lie within radius pixels: dst is n×k, best
// first, and unused places have to = −1. Similarity is the cosine of the
// projected features, in unit's rows of d numbers. Cost O(marked·candidates·d).
func neighbours(dst []cosine.Match, f, ref *frame, near []bool, d, k int, radius float64) []cosine.Match {
	dst = scratch.Grow(dst, f.N*k)
	for i := range dst {
		dst[i] = cosine.None
	}
	addNeighbours(dst, f, ref, near, d, k, radius, 0, 0)
	return dst
}

// addNeighbours is neighbours for what was moved by dx, dy pixels since ref, beside the
// links that dst has.
func addNeighbours(dst []cosine.Match, f, ref *frame, near []bool, d, k int, radius float64, dx, dy float32) {
	var cosines []float32
	r2 := float32(radius * radius)
	for slot, i := range f.Grid.Order {
		if !near[i] {
			continue
		}
		x, y := f.Centroid[2*i]-dx, f.Centroid[2*i+1]-dy
		best := dst[int(i)*k : int(i+1)*k]
		query := f.Unit[slot*d : (slot+1)*d]
		first, last := ref.Grid.CellRows(float64(y), radius)
		for cy := first; cy <= last; cy++ {
			from, to := ref.Grid.Span(cy, float64(x), radius)
			if from >= to {
				continue
			}
			cosines = scratch.Grow(cosines, to-from)
			cosine.Products(cosines, query, ref.Unit[from*d:to*d], d)
			for s, c := range cosines {
				if c <= best[k-1].Cosine {
					continue
				}
				j := ref.Grid.Order[from+s]
				dx, dy := ref.Centroid[2*j]-x, ref.Centroid[2*j+1]-y
				if dx*dx+dy*dy <= r2 && !slices.ContainsFunc(best, func(l cosine.Match) bool { return l.To == j }) {
					cosine.Insert(best, cosine.Match{To: j, Cosine: c})
				}
			}
		}
	}
}

// followed adds to t.links, the k most similar superpixels of an annotated frame within
// radius, those round where it shows the objects that a superpixel may be: as an object
// moves, its looks go with it, and so do those of what it was told from.
func (t *Tracker) followed(f, ref *frame, k int, radius float64) {
	labels, d := t.labels(), f.UnitDim()
	for c := 1; c < labels; c++ {
		o := t.objects[c-1]
		if !ref.saw(c) || o.State != Visible {
			continue
		}
		var x, y, area float64
		for j := range ref.N {
			if ref.soft[j*labels+c] > 0.5 {
				a := float64(ref.Area[j])
				area += a
				x += a * float64(ref.Centroid[2*j])
				y += a * float64(ref.Centroid[2*j+1])
			}
		}
		if area == 0 {
			continue
		}
		t.moved = scratch.Grow(t.moved, f.N)
		for i, near := range t.near {
			t.moved[i] = near && t.may[i*labels+c]
		}
		addNeighbours(t.links, f, ref, t.moved, d, k, radius, float32(o.X-x/area), float32(o.Y-y/area))
	}
}

// reach calls visit for the superpixels of f that lie near to one of ref which may be
// label c, for each c but the background. All others can only inherit background.
func reach(f, ref *frame, labels int, radius float64, visit func(i int32, c int)) {
	for j := range ref.N {
		for c := 1; c < labels; c++ {
			if ref.soft[j*labels+c] > 0 {
				f.Near(ref.Centroid[2*j], ref.Centroid[2*j+1], radius, func(i int32) { visit(i, c) })
			}
		}
	}
}

// jumped lets objects in sight be anywhere of which next to nothing was found where they
// may be, and tells whether there are any.
func (t *Tracker) jumped(f *frame) (again bool) {
	labels := t.labels()
	found := make([]float64, labels) // pixels
	for i := range f.N {
		found[labeling.Argmax(f.q[i*labels:(i+1)*labels])] += float64(f.Area[i])
	}
	for k, o := range t.objects {
		if c := k + 1; o.State == Visible && found[c] < life.StayShare*o.Area {
			for i := range f.N {
				again = again || !t.may[i*labels+c]
				t.may[i*labels+c] = true
			}
		}
	}
	return again
}

// vote adds the soft labels of the linked superpixels to q, n×L: each link
// counts its own weight times ref's, or times correctedWeight if it leads to a
// corrected superpixel, and as much of it as ref can be trusted there. What ref
// calls background may be an object that was out of sight there or first annotated
// later; that share of its votes is divided as q stands among the background and
// the objects ref does not know. What ref says of labels that a superpixel may not be
// is not heard. mass and held, n each, sum the weights of what is and their trusted
// part.
func vote(q, mass, held []float64, may []bool, links []cosine.Match, k int, ref *frame, labels int, temperature, weight float64) {
	for i := range len(links) / k {
		row, rest := q[i*labels:(i+1)*labels], 0.0
		may := may[i*labels : (i+1)*labels]
		for _, l := range links[i*k : (i+1)*k] {
			if l.To < 0 {
				break
			}
			w := weight
			if len(ref.corrected) > 0 && ref.corrected[l.To] {
				w = correctedWeight
			}
			w *= l.Weight(temperature)
			soft := ref.soft[int(l.To)*labels : int(l.To+1)*labels]
			heard := 1.0
			for c, may := range may {
				if !may {
					heard -= soft[c]
				}
			}
			mass[i] += w * heard
			w *= ref.trust[l.To]
			held[i] += w * heard
			rest += w * soft[0]
			for c := 1; c < labels; c++ {
				if may[c] && ref.saw(c) {
					row[c] += w * soft[c]
				}
			}
		}
		ref.divide(row, rest)
	}
}

// saw tells whether f says anything of a label.
func (f *frame) saw(label int) bool { return label == 0 || label < len(f.knows) && f.knows[label] }

// divide adds rest to label 0 and the labels f says nothing of, in proportion to
// what they have.
func (f *frame) divide(row []float64, rest float64) {
	has := row[0]
	for c := range row {
		if !f.saw(c) {
			has += row[c]
		}
	}
	if has == 0 {
		row[0] += rest
		return
	}
	for c := range row {
		if c == 0 || !f.saw(c) {
			row[c] += rest * row[c] / has
		}
	}
}

// normaliseRows makes every row of q sum to 1. A row without votes becomes
// uniform, but certain background where near is false.
func normaliseRows(q []float64, near []bool, labels int) {
	for i := 0; i < len(q); i += labels {
		row, sum := q[i:i+labels], 0.0
		if !near[i/labels] {
			clear(row)
			row[0] = 1
			continue
		}
		for _, v := range row {
			sum += v
		}
		if sum <= 0 {
			for c := range row {
				row[c] = 1 / float64(labels)
			}
			continue
		}
		for c := range row {
			row[c] /= sum
		}
	}
}

// uncertainty is 1 − (largest − second largest) of a probability row: 0 when it is
// sure, 1 when two labels tie.
func uncertainty(q []float64) float64 {
	first, second := 0.0, 0.0
	for _, v := range q {
		if v > first {
			first, second = v, first
		} else if v > second {
			second = v
		}
	}
	return 1 - (first - second)
}
