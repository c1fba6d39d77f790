package seed

import (
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/propagation"
)

// A correction spreads to superpixels that resemble a corrected one: it has this
// many votes of full similarity against the one vote of what they were taken for.
const correctionWeight = 4

// wholePiece is the share of a piece of an object that has to be marked as
// something else for all of it to be that.
const wholePiece = 1.0 / 8

// correct spreads the corrections among the fixed labels, those that differ from
// w.before, in q: to a piece of an object as a whole when it carries corrections
// only and the object has other pieces, and else to what hangs together with a
// corrected superpixel, resembles it more than any confirmed one near by, and was
// taken for the same.
func (w *work) correct() {
	var corrected, confirmed []int32
	for i, fixed := range w.Fixed {
		switch {
		case fixed < 0 || slices.Contains(w.Begun, w.before[i]) || slices.Contains(w.Begun, fixed):
		case fixed != w.before[i]:
			corrected = append(corrected, int32(i))
			w.noteLabel(fixed)
			w.noteLabel(w.before[i])
		default:
			confirmed = append(confirmed, int32(i))
		}
	}
	if len(corrected) == 0 {
		return
	}
	w.dropPieces(corrected, confirmed)

	gain, label := make([]float64, w.N), make([]int32, w.N)
	w.spread(corrected, gain, label)
	labels := w.labels
	for i, g := range gain {
		for _, k := range confirmed {
			if g > 0 && w.before[k] == w.before[i] && w.likeness(i, int(k)) >= g {
				g = 0
			}
		}
		if g > 0 {
			row := w.q[i*labels : (i+1)*labels]
			row[label[i]] += correctionWeight * g
			for c := range row {
				row[c] /= 1 + correctionWeight*g
			}
		}
	}
}

// spread finds, from each corrected superpixel, those that hang together with it,
// are like it and were taken for the same: the greatest likeness of each and the
// label that comes with it.
func (w *work) spread(corrected []int32, gain []float64, label []int32) {
	seen := make([]bool, w.N)
	var open []int32
	for _, c := range corrected {
		clear(seen)
		open = append(open[:0], c)
		for len(open) > 0 {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			for _, j := range w.Touching.Of(i) {
				if seen[j] || w.Fixed[j] != annotation.Unmarked || w.before[j] != w.before[c] {
					continue
				}
				seen[j] = true
				g := w.likeness(int(j), int(c))
				if correctionWeight*g < 1 {
					continue
				}
				if g > gain[j] {
					gain[j], label[j] = g, w.Fixed[c]
				}
				open = append(open, j)
			}
		}
	}
}

// likeness is the weight of a match of two superpixels, 0 when they are
// farther apart than Seeder.Radius.
func (w *work) likeness(i, j int) float64 {
	dx, dy := float64(w.Centroid[2*i]-w.Centroid[2*j]), float64(w.Centroid[2*i+1]-w.Centroid[2*j+1])
	if math.Hypot(dx, dy) > w.Radius*w.Side() {
		return 0
	}
	return cosine.Weight(float64(float32(w.Cosine(i, j))), propagation.Temperature)
}

// dropPieces gives the pieces of objects that carry corrections but nothing
// confirmed to what they were corrected to, if there are other pieces.
func (w *work) dropPieces(corrected, confirmed []int32) {
	labels := w.labels
	piece, seen := make([]int32, w.N), make([]bool, w.N) // by superpixel, from 1
	var sizes []int                                      // by piece
	var of []int32                                       // label by piece
	for start := range w.N {
		label := w.before[start]
		if seen[start] || label == 0 {
			continue
		}
		members := w.Touching.AppendComponent(nil, seen, int32(start), func(j int32) bool { return w.before[j] == label })
		sizes, of = append(sizes, len(members)), append(of, label)
		for _, i := range members {
			piece[i] = int32(len(sizes))
		}
	}
	marks := make([][]int32, len(sizes)) // corrected superpixels by piece
	for _, i := range corrected {
		if p := piece[i]; p > 0 {
			marks[p-1] = append(marks[p-1], i)
		}
	}
	for _, i := range confirmed {
		if p := piece[i]; p > 0 {
			sizes[p-1] = math.MaxInt // not to be dropped
		}
	}
	for p, m := range marks {
		others := false
		for o := range marks {
			others = others || o != p && of[o] == of[p] && len(marks[o]) == 0
		}
		if !others || float64(len(m)) < wholePiece*float64(sizes[p]) {
			continue
		}
		for i := range w.N {
			if piece[i] == int32(p+1) && w.Fixed[i] == annotation.Unmarked {
				row := w.q[i*labels : (i+1)*labels]
				clear(row)
				row[w.Fixed[m[0]]] = 1
			}
		}
	}
}
