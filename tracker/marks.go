package tracker

import (
	"context"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/scratch"
)

// mark puts what ann says of f into its fixed labels, its bounds and its
// probabilities q, which stand as they would without it.
func (t *Tracker) mark(ctx context.Context, f *frame, ann *annotation.Annotation, defined []bool) error {
	labels := t.labels()
	t.before = t.before[:0]
	for i := range f.N {
		t.before = append(t.before, labeling.Argmax(f.belief.Q[i*labels:(i+1)*labels]))
	}
	for k, o := range ann.Objects {
		if defined[k] {
			t.redefine(f, int32(1+t.find(o.ID)))
		}
	}
	t.fix(f, ann, defined)
	for k, o := range ann.Objects {
		switch label := 1 + t.find(o.ID); {
		case o.Box != nil:
			if err := t.fillBox(ctx, f, label, o.Box); err != nil {
				return err
			}
		case defined[k] && !ann.HasExtent(k):
			if err := t.growStrokes(ctx, f, label); err != nil {
				return err
			}
		}
	}
	t.heed(f)
	return nil
}

// redefine forgets what an earlier annotation of f said of a label.
func (t *Tracker) redefine(f *frame, label int32) {
	for i, fixed := range f.fixed {
		if fixed == label || fixed == annotation.Outside {
			f.fixed[i] = annotation.Unmarked
		}
	}
	f.bounded, f.outside = f.bounded[:0], f.outside[:0]
}

// A correction spreads to superpixels that resemble a corrected one: it has this
// many votes of full similarity against the one vote of what they were taken for.
const correctionWeight = 4

// wholePiece is the share of a piece of an object that has to be marked as
// something else for all of it to be that.
const wholePiece = 1.0 / 8

// noteCorrected remembers where what was said of f changed what f was taken for.
// On the first annotated frame nothing was known.
func (t *Tracker) noteCorrected(f *frame) {
	if len(t.frames.anchors) == 0 {
		return
	}
	if len(f.Corrected) == 0 {
		f.Corrected = scratch.Grow(f.Corrected, f.N)
		clear(f.Corrected)
	}
	for i, y := range f.y {
		if y != t.before[i] {
			f.Corrected[i] = true
		}
	}
}

// heed spreads the corrections among f's fixed labels, those that differ from
// t.before, in q: to a piece of an object as a whole when it carries corrections
// only and the object has other pieces, and else to what hangs together with a
// corrected superpixel, resembles it more than any confirmed one near by, and was
// taken for the same.
func (t *Tracker) heed(f *frame) {
	var corrected, confirmed []int32
	for i, fixed := range f.fixed {
		switch {
		case fixed < 0 || slices.Contains(f.marked, t.before[i]) || slices.Contains(f.marked, fixed):
		case fixed != t.before[i]:
			corrected = append(corrected, int32(i))
		default:
			confirmed = append(confirmed, int32(i))
		}
	}
	if len(corrected) == 0 {
		return
	}
	t.dropPieces(f, corrected, confirmed)

	gain, label := make([]float64, f.N), make([]int32, f.N)
	t.spread(f, corrected, gain, label)
	labels := t.labels()
	for i, g := range gain {
		for _, k := range confirmed {
			if g > 0 && t.before[k] == t.before[i] && t.likeness(f, i, int(k)) >= g {
				g = 0
			}
		}
		if g > 0 {
			row := f.belief.Q[i*labels : (i+1)*labels]
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
func (t *Tracker) spread(f *frame, corrected []int32, gain []float64, label []int32) {
	seen := make([]bool, f.N)
	var open []int32
	for _, c := range corrected {
		clear(seen)
		open = append(open[:0], c)
		for len(open) > 0 {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			for _, j := range f.Touching.Of(i) {
				if seen[j] || f.fixed[j] != annotation.Unmarked || t.before[j] != t.before[c] {
					continue
				}
				seen[j] = true
				g := t.likeness(f, int(j), int(c))
				if correctionWeight*g < 1 {
					continue
				}
				if g > gain[j] {
					gain[j], label[j] = g, f.fixed[c]
				}
				open = append(open, j)
			}
		}
	}
}

// likeness is the weight of a link between two superpixels of f, 0 when they are
// farther apart than Config.AnchorRadius.
func (t *Tracker) likeness(f *frame, i, j int) float64 {
	dx, dy := float64(f.Centroid[2*i]-f.Centroid[2*j]), float64(f.Centroid[2*i+1]-f.Centroid[2*j+1])
	if math.Hypot(dx, dy) > t.cfg.AnchorRadius*float64(max(f.Width, f.Height)) {
		return 0
	}
	return cosine.Match{Cosine: float32(f.Cosine(i, j))}.Weight(t.cfg.Temperature)
}

// dropPieces gives the pieces of objects that carry corrections but nothing
// confirmed to what they were corrected to, if there are other pieces.
func (t *Tracker) dropPieces(f *frame, corrected, confirmed []int32) {
	labels := t.labels()
	piece := make([]int32, f.N) // by superpixel, from 1
	var sizes []int             // by piece
	var of []int32              // label by piece
	for start := range f.N {
		if piece[start] != 0 || t.before[start] == 0 {
			continue
		}
		id := int32(len(sizes) + 1)
		sizes, of = append(sizes, 0), append(of, t.before[start])
		piece[start] = id
		for open := []int32{int32(start)}; len(open) > 0; {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			sizes[id-1]++
			for _, j := range f.Touching.Of(i) {
				if piece[j] == 0 && t.before[j] == t.before[i] {
					piece[j] = id
					open = append(open, j)
				}
			}
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
		for i := range f.N {
			if piece[i] == int32(p+1) && f.fixed[i] == annotation.Unmarked {
				row := f.belief.Q[i*labels : (i+1)*labels]
				clear(row)
				row[f.fixed[m[0]]] = 1
			}
		}
	}
}

// fix turns the annotation's marks into the frame's fixed labels and bounds. A
// superpixel takes the mark most of its marked pixels have; it lies outside an
// object's bounds when most of its pixels do. A superpixel that a mask or polygon
// cuts keeps the cut's fraction as its soft label. defined tells which of the
// annotation's objects begin with it or are replaced.
func (t *Tracker) fix(f *frame, a *annotation.Annotation, defined []bool) {
	labels := t.labels()
	index := make([]int, len(a.Objects)+1)
	for k, o := range a.Objects {
		label := 1 + t.find(o.ID)
		index[k+1] = label
		if defined[k] && o.Box == nil { // nothing of a box is certainly the object
			f.marked = append(f.marked, int32(label))
		}
		if a.HasExtent(k) {
			f.bounded = append(f.bounded, int32(label))
		}
	}
	kinds := labels + 2 // label, plus Unmarked and Outside shifted behind
	counts := make([]int32, f.N*kinds)
	for p, m := range a.Raster() {
		kind := labels - 1 - int(m) // Unmarked → labels, Outside → labels+1
		if m >= 0 {
			kind = index[m]
		}
		counts[int(f.Superpixel[p])*kinds+kind]++
	}
	t.bound(f, a, counts, kinds)
	for i := range f.N {
		row := counts[i*kinds : (i+1)*kinds]
		switch mark := dominant(row, labels); {
		case mark == annotation.Unmarked && f.fixed[i] != annotation.Unmarked:
			// What was marked on this frame before still holds.
		case mark == annotation.Unmarked:
			f.settle(i, labels)
		default:
			f.fixed[i] = mark
			f.soften(i, row, labels)
			if mark >= 0 {
				f.y[i] = mark
			} else {
				f.settle(i, labels)
			}
		}
	}
}

// settle moves superpixel i to the background when its label may not be there.
func (f *frame) settle(i, labels int) {
	if !f.isOutside(i, int(f.y[i])) {
		return
	}
	f.y[i] = 0
	if f.fixed[i] == annotation.Unmarked {
		q := f.belief.Q[i*labels : (i+1)*labels]
		for c := 1; c < labels; c++ {
			if f.isOutside(i, c) {
				q[0] += q[c]
				q[c] = 0
			}
		}
	}
}

// dominant is the mark of a superpixel with the given counts of pixels by kind.
// Unmarked pixels have no say against a label, because a stroke need not fill a
// superpixel, but they have one against being outside.
func dominant(counts []int32, labels int) int32 {
	best, mark := int32(0), int32(annotation.Unmarked)
	for c, n := range counts[:labels] {
		if n > best {
			best, mark = n, int32(c)
		}
	}
	if outside := counts[labels+1]; outside > best && (mark >= 0 || outside > counts[labels]) {
		mark = annotation.Outside
	}
	return mark
}

// bound sets f.outside. An object too small to fill most of a superpixel is given
// the one it fills best: counts of that superpixel are moved from outside it to
// the object, or to unmarked.
func (t *Tracker) bound(f *frame, a *annotation.Annotation, counts []int32, kinds int) {
	labels := t.labels()
	width := len(f.bounded)
	f.outside = scratch.Grow(f.outside, f.N*width)
	held := make([]int32, f.N)
	at := 0
	for k, o := range a.Objects {
		if !a.HasExtent(k) {
			continue
		}
		label := int(f.bounded[at])
		clear(held)
		if a.Mask != nil {
			for i := range f.N {
				held[i] = counts[i*kinds+label]
			}
		} else {
			a.Inside(k, func(p int) { held[f.Superpixel[p]]++ })
		}
		fullest, found := 0, false
		for i := range f.N {
			f.outside[i*width+at] = 2*held[i] < f.Area[i]
			found = found || !f.outside[i*width+at]
			if float64(held[i])*float64(f.Area[fullest]) > float64(held[fullest])*float64(f.Area[i]) {
				fullest = i
			}
		}
		if !found && held[fullest] > 0 {
			f.outside[fullest*width+at] = false
			row := counts[fullest*kinds : (fullest+1)*kinds]
			to := label
			if o.Box != nil {
				to = labels
			}
			row[to] += row[labels+1]
			row[labels+1] = 0
		}
		at++
	}
}

// isOutside tells whether superpixel i lies outside the bounds that an annotation
// gave label l.
func (f *frame) isOutside(i, l int) bool {
	k := slices.Index(f.bounded, int32(l))
	return k >= 0 && f.outside[i*len(f.bounded)+k]
}

// soften sets marked superpixel i's label probabilities to the fractions of its marked
// pixels. Pixels that are only known to be outside the
// bounded objects are divided among the other labels as q stood.
func (f *frame) soften(i int, counts []int32, labels int) {
	q := f.belief.Q[i*labels : (i+1)*labels]
	sum, others := float64(counts[labels+1]), 0.0
	for c := range labels {
		sum += float64(counts[c])
		if !slices.Contains(f.bounded, int32(c)) {
			others += q[c]
		}
	}
	rest := float64(counts[labels+1]) / sum
	for c, before := range q {
		q[c] = float64(counts[c]) / sum
		if !slices.Contains(f.bounded, int32(c)) && others > 0 {
			q[c] += rest * before / others
		} else if c == 0 {
			q[c] += rest
		}
	}
}
