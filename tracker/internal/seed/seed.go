package seed

import (
	"cmp"
	"context"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Seeder applies annotations. The zero value with a Radius is ready.
type Seeder struct {
	Radius float64 // how far a correction spreads, in longer sides of the picture

	before    []int32 // labels of the picture without what the last annotation says
	corrected []int32 // what Corrected returns
	boxes     []boxFound
	graph     mrf.Potts
	unary     []float64
}

// Object tells what an object of an annotation is to the tracker.
type Object struct {
	Label   int
	Defined bool // it begins with the annotation, or is replaced; else it is corrected
	// MaskLogits are what a mask head makes of its box: N log odds, or none.
	MaskLogits []float32
}

// work is one call of Apply.
type work struct {
	*Seeder
	*picture.Picture
	*Marks
	pixels []int32   // superpixel of each pixel
	q      []float64 // N×L
	y      []int32   // N
	labels int       // L
}

// Apply puts what ann, which is valid, says of p into m, into the belief b, which stands
// as it would without it, and into the labels y. objects are those of the annotation.
func (s *Seeder) Apply(ctx context.Context, p *picture.Picture, b *propagation.Belief, y []int32, m *Marks, ann *annotation.Annotation, objects []Object) error {
	w := &work{Seeder: s, Picture: p, Marks: m, pixels: p.Map(), q: b.Q, y: y, labels: len(b.Q) / p.N}
	defer buffers.Put(w.pixels)
	s.before = scratch.Grow(s.before, p.N)
	b.Labels(s.before)
	for _, o := range objects {
		if o.Defined {
			m.redefine(int32(o.Label))
		}
	}
	w.fix(ann, objects)
	s.boxes = s.boxes[:0]
	order := make([]int, len(objects))
	for k := range order {
		order[k] = k
	}
	foot := func(k int) float64 {
		if box := ann.Objects[k].Box; box != nil {
			return box[3]
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(foot(j), foot(i)) }) // of boxes that overlap this one is in front
	for _, k := range order {
		o := objects[k]
		switch box := ann.Objects[k].Box; {
		case box != nil:
			if err := w.fillBox(ctx, o, box); err != nil {
				return err
			}
		case o.Defined && !ann.HasExtent(k):
			if err := w.growStrokes(ctx, o.Label, ann.Stroked(k)); err != nil {
				return err
			}
		}
	}
	s.corrected = s.corrected[:0]
	for k, o := range objects {
		if !o.Defined && len(ann.Objects[k].Scribbles) > 0 {
			s.noteLabel(int32(o.Label))
		}
	}
	w.correct()
	return nil
}

// Corrected lists the labels of the objects that the annotation last applied corrects:
// they are stroked, or a stroke takes something from them or gives it to them. It is
// valid until the next Apply.
func (s *Seeder) Corrected() []int32 { return s.corrected }

func (s *Seeder) noteLabel(label int32) {
	if label > 0 && !slices.Contains(s.corrected, label) {
		s.corrected = append(s.corrected, label)
	}
}

// NoteCorrected remembers in m where the labels y that came of the annotation last
// applied are others than the picture was taken for.
func (s *Seeder) NoteCorrected(m *Marks, y []int32) {
	if len(m.Corrected) == 0 {
		m.Corrected = scratch.Zero(m.Corrected, len(y))
	}
	for i, l := range y {
		if l != s.before[i] {
			m.Corrected[i] = true
		}
	}
}

// fix turns the annotation's marks into fixed labels and bounds. A
// superpixel takes the mark most of its marked pixels have; it lies outside an
// object's bounds when most of its pixels do. A superpixel that a mask or polygon
// cuts keeps the cut's fractions as its probabilities.
func (w *work) fix(a *annotation.Annotation, objects []Object) {
	labels := w.labels
	index := make([]int, len(a.Objects)+1)
	for k, o := range objects {
		index[k+1] = o.Label
		if o.Defined && a.Objects[k].Box == nil { // nothing of a box is certainly the object
			w.Begun = append(w.Begun, int32(o.Label))
		}
		if a.HasExtent(k) {
			w.Bounded = append(w.Bounded, int32(o.Label))
		}
	}
	kinds := labels + 2 // label, plus Unmarked and Outside shifted behind
	counts := make([]int32, w.N*kinds)
	for p, m := range a.Raster() {
		kind := labels - 1 - int(m) // Unmarked → labels, Outside → labels+1
		if m >= 0 {
			kind = index[m]
		}
		if i := w.pixels[p]; i != features.Unseen {
			counts[int(i)*kinds+kind]++
		}
	}
	w.bound(a, counts, kinds)
	for i := range w.N {
		row := counts[i*kinds : (i+1)*kinds]
		switch mark := dominant(row, labels); {
		case mark == annotation.Unmarked && w.Fixed[i] != annotation.Unmarked:
			// What was marked on this picture before still holds.
		case mark == annotation.Unmarked:
			w.settle(i, labels)
		default:
			w.Fixed[i] = mark
			w.soften(i, row, labels)
			if mark >= 0 {
				w.y[i] = mark
			} else {
				w.settle(i, labels)
			}
		}
	}
}

// settle moves superpixel i to the background when its label may not be there.
func (w *work) settle(i, labels int) {
	if !w.isOutside(i, int(w.y[i])) {
		return
	}
	w.y[i] = 0
	if w.Fixed[i] == annotation.Unmarked {
		q := w.q[i*labels : (i+1)*labels]
		for c := 1; c < labels; c++ {
			if w.isOutside(i, c) {
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

// bound sets w.outside. An object too small to fill most of a superpixel is given
// the one it fills best: counts of that superpixel are moved from outside it to
// the object, or to unmarked.
func (w *work) bound(a *annotation.Annotation, counts []int32, kinds int) {
	labels := w.labels
	width := len(w.Bounded)
	w.outside = scratch.Grow(w.outside, w.N*width)
	inside := make([]int32, w.N)
	at := 0
	for k, o := range a.Objects {
		if !a.HasExtent(k) {
			continue
		}
		label := int(w.Bounded[at])
		clear(inside)
		if a.Mask != nil {
			for i := range w.N {
				inside[i] = counts[i*kinds+label]
			}
		} else {
			a.Inside(k, func(p int) {
				if i := w.pixels[p]; i != features.Unseen {
					inside[i]++
				}
			})
		}
		fullest, found := 0, false
		for i := range w.N {
			w.outside[i*width+at] = 2*inside[i] < w.Area[i]
			found = found || !w.outside[i*width+at]
			if float64(inside[i])*float64(w.Area[fullest]) > float64(inside[fullest])*float64(w.Area[i]) {
				fullest = i
			}
		}
		if !found && inside[fullest] > 0 {
			w.outside[fullest*width+at] = false
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

// soften sets marked superpixel i's label probabilities to the fractions of its marked
// pixels. Pixels that are only known to be outside the bounded objects are divided among
// the other labels as q stood.
func (w *work) soften(i int, counts []int32, labels int) {
	q := w.q[i*labels : (i+1)*labels]
	sum, others := float64(counts[labels+1]), 0.0
	for c := range labels {
		sum += float64(counts[c])
		if !slices.Contains(w.Bounded, int32(c)) {
			others += q[c]
		}
	}
	rest := float64(counts[labels+1]) / sum
	for c, before := range q {
		q[c] = float64(counts[c]) / sum
		if !slices.Contains(w.Bounded, int32(c)) && others > 0 {
			q[c] += rest * before / others
		} else if c == 0 {
			q[c] += rest
		}
	}
}
