package propagation

import (
	"image"
	"slices"

	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/trackstate"
)

// Belief is what one picture's superpixels are taken for.
type Belief struct {
	Q        []float64 // N×L probabilities of the labels
	Trust    []float64 // N: how far the labels can bear out later ones, 0…1
	Unlearnt []bool    // N: of what the classifier can say nothing: an object may come back there
	Near     []bool    // N×L: whether the label's object is within reach of the superpixel, and Q may be above 0; empty: all are
	// Shown are N×L shares of the classifier's scores that count, by the objects' extents; empty: all do.
	Shown []float64
}

// Reset makes b that of n superpixels of which nothing is known: Q is zero.
func (b *Belief) Reset(n, labels int) {
	b.Q = scratch.Zero(b.Q, n*labels)
	b.Unlearnt = scratch.Zero(b.Unlearnt, n)
	b.Shown, b.Near = b.Shown[:0], b.Near[:0]
	b.Trust = scratch.Grow(b.Trust, n)
	for i := range b.Trust {
		b.Trust[i] = 1
	}
}

// Uniform makes every label as likely as any other.
func (b *Belief) Uniform(labels int) {
	for i := range b.Q {
		b.Q[i] = 1 / float64(labels)
	}
}

// Certain makes b, which was just reset, sure that the labels are y.
func (b *Belief) Certain(y []int32) {
	labels := len(b.Q) / max(1, len(y))
	for i, l := range y {
		b.Q[i*labels+int(l)] = 1
	}
}

// Take makes b's probabilities those that r has: from is, for each superpixel, the one of r
// that it is of, or -1 where b's stay.
func (b *Belief) Take(r *Reference, from []int32) {
	labels := len(b.Q) / max(1, len(from))
	for i, o := range from {
		if o >= 0 {
			copy(b.Q[i*labels:(i+1)*labels], r.Soft[int(o)*labels:])
		}
	}
}

// Labels writes the likeliest label of every superpixel to y.
func (b *Belief) Labels(y []int32) {
	labels := len(b.Q) / max(1, len(y))
	for i := range y {
		y[i] = labeling.Argmax(b.Q[i*labels : (i+1)*labels])
	}
}

// Widen makes room for more labels, of which nothing is known.
func (b *Belief) Widen(from, to int) {
	b.Q, b.Near = labeling.Widen(b.Q, from, to), labeling.Widen(b.Near, from, to)
}

// Drop makes a label background and closes the gap that it leaves.
func (b *Belief) Drop(label, labels int) {
	b.Q, b.Near = labeling.FoldColumn(b.Q, label, labels), labeling.DropColumn(b.Near, label, labels)
}

// Clone shares nothing with b.
func (b *Belief) Clone() Belief {
	return Belief{Q: slices.Clone(b.Q), Trust: slices.Clone(b.Trust), Unlearnt: slices.Clone(b.Unlearnt), Near: slices.Clone(b.Near), Shown: slices.Clone(b.Shown)}
}

// Reference is what a later frame looks up of an earlier one.
type Reference struct {
	*picture.Picture
	Soft      []float64 // N×L label probabilities
	Trust     []float64 // N: how far the labels bear out others, 0…1
	Observed  []bool    // L, or less: whether the label's object was there to be seen; the background always is
	Corrected []bool    // N, or empty: whether an annotation gave the superpixel another label than it had
}

// Knows tells whether r says anything of a label.
func (r *Reference) Knows(label int) bool {
	return label == 0 || label < len(r.Observed) && r.Observed[label]
}

func (r *Reference) knowsAll(labels int) bool {
	for l := range labels {
		if !r.Knows(l) {
			return false
		}
	}
	return true
}

// Believe makes r's probabilities those of b.
func (r *Reference) Believe(b *Belief) { copy(r.Soft, b.Q) }

// Label makes y the labels of the superpixels that free says are; the others keep the
// probabilities they have.
func (r *Reference) Label(y []int32, free func(i int) bool, labels int) {
	for i, l := range y {
		if free(i) {
			row := r.Soft[i*labels : (i+1)*labels]
			clear(row)
			row[l] = 1
		}
	}
}

// Hide makes what r shows of a label background.
func (r *Reference) Hide(label, labels int) {
	for i := 0; i < len(r.Soft); i += labels {
		r.Soft[i] += r.Soft[i+label]
		r.Soft[i+label] = 0
	}
}

// Distrust makes r say nothing of a label any more.
func (r *Reference) Distrust(label, labels int) {
	r.Hide(label, labels)
	if label < len(r.Observed) { // not so for an object marked later
		r.Observed[label] = false
	}
}

// Widen makes room for more labels, of which r knows nothing.
func (r *Reference) Widen(from, to int) { r.Soft = labeling.Widen(r.Soft, from, to) }

// Drop makes a label background and closes the gap it leaves.
func (r *Reference) Drop(label, labels int) {
	r.Soft = labeling.FoldColumn(r.Soft, label, labels)
	if label < len(r.Observed) {
		r.Observed = slices.Delete(r.Observed, label, label+1)
	}
}

// Clone shares nothing with r but the picture.
func (r *Reference) Clone() Reference {
	r.Share()
	return Reference{
		Picture: r.Picture, Soft: slices.Clone(r.Soft), Trust: slices.Clone(r.Trust),
		Observed: slices.Clone(r.Observed), Corrected: slices.Clone(r.Corrected),
	}
}

// Source is a reference and how it is looked up.
type Source struct {
	*Reference
	Latest    bool // one of the latest frames, else one from before them
	Annotated bool

	// Pace is, for one of the latest frames, how many of the camera's frames came since
	// for each that was labelled: above 1 when some were dropped.
	Pace float64
}

// Object is what is known of an object before it is seen in the newest picture.
type Object struct {
	*trackstate.Object
	*Detection
	Extent     image.Rectangle // pixels; of one that is tracked and in sight, else empty
	Misfit     float64         // how little its last mask's box was that, 0…1
	MaskLogits []float32       // N: by a mask head the log odds of being the thing in Extent; or none
	// TrackLost is whether it had a track, and has none now: where others have boxes it is behind them.
	TrackLost bool
}

// Detection is where an object that is not confirmed is likely to be by its looks.
type Detection struct {
	Probability []float64 // N, or empty: 0; below 1, and 0 where it is not worth a thought
	Suspect     []bool    // N, or empty: where it may have been at one size or another
	Rescaled    bool      // whether it was found at another size than it had
}
