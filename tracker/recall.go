package tracker

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// How objects that were out of sight come back.
const (
	// A superpixel's margin under an object's last classifier from which on it is
	// rather the object than background; scores are ±1 where the classifier is sure.
	openMargin = 0.4
	openSlope  = 8 // log odds of the object per unit of margin beyond
	// Votes that a margin one above openMargin adds, over those of the background.
	marginVotes = 4
	// Labels given while an object was out of sight are doubted, and by this much
	// less a frame.
	trustRate = 0.05
	// For so many frames after an object came back, what is new in the picture may be
	// the rest of it.
	settleFrames = 10
)

// recallHidden looks for the objects that are out of sight all over f, and has
// the superpixels that resemble one looked up like those near a visible object. What
// resembles nothing seen of the object by at least Config.Recall, and does not have
// the margin under its last classifier, stays background.
func (t *Tracker) recallHidden(f *frame) {
	labels := t.labels()
	prior := t.cfg.AnchorWeight * float64(t.cfg.Links) * math.Exp((t.cfg.Recall-1)/t.cfg.Temperature)
	frames := slices.Concat(t.anchors, t.memory)
	for k := range t.objects {
		o, label := &t.objects[k], k+1
		if o.state == Visible {
			continue
		}
		recall(f.q, f, frames, label, labels, t.projection.Dim(), t.cfg.Links, t.cfg.Temperature, t.cfg.AnchorWeight)
		for i := range f.n {
			row := f.q[i*labels : (i+1)*labels]
			if m := o.margin(f, i) - openMargin; m > 0 {
				row[label] += prior * (1 + marginVotes*min(m, 1))
			}
			t.near[i] = t.near[i] || row[label] >= prior
			row[0] += prior
		}
	}
}

// recall adds to q, for every superpixel of f, votes of the k superpixels that
// resemble it most among those of one label in frames, wherever they lie: where an
// object that went out of sight comes back, nobody knows.
func recall(q []float64, f *frame, frames []*frame, label, labels, d, k int, temperature, weight float64) {
	best := make([]link, k)
	seen := make([][]int, len(frames)) // slots
	for r, ref := range frames {
		for slot, j := range ref.grid.order {
			if ref.saw(label) && ref.soft[int(j)*labels+label] > 0.5 {
				seen[r] = append(seen[r], slot)
			}
		}
	}
	for slot, i := range f.grid.order {
		for c := range best {
			best[c] = link{to: -1, cosine: -2}
		}
		query := blas32.Vector{N: d, Inc: 1, Data: f.unit[slot*d : (slot+1)*d]}
		for r, ref := range frames {
			for _, s := range seen[r] {
				if c := blas32.Dot(query, blas32.Vector{N: d, Inc: 1, Data: ref.unit[s*d : (s+1)*d]}); c > best[k-1].cosine {
					insert(best, link{to: int32(s), cosine: c})
				}
			}
		}
		for _, l := range best {
			if l.to >= 0 {
				q[int(i)*labels+label] += weight * l.weight(temperature)
			}
		}
	}
}

// keepLooks notes what the classifier says of the objects seen in f without doubt.
func (t *Tracker) keepLooks(f *frame) {
	d := t.projection.Dim() + 1
	for k := range t.objects {
		if !f.sure[k+1] || len(t.weight) < (k+2)*d {
			continue
		}
		o := &t.objects[k]
		o.looks = grow(o.looks, d)
		for c := range d {
			o.looks[c] = (t.weight[(k+1)*d+c] - t.weight[c]) / 2
		}
	}
}

// margin is half of what superpixel i's score for o exceeds that for the background
// by, under the classifier when o was last seen without doubt; 0 if it never was.
func (o *object) margin(f *frame, i int) float64 {
	sum := 0.0
	d := len(o.looks)
	for k, v := range f.rows[i*d : (i+1)*d] {
		sum += v * o.looks[k]
	}
	return sum
}

// fillOpen gives away the votes that the affinity leaves open. Those led to by
// labels that cannot be trusted go by the objects' last classifiers. So does, until
// every object has been back for a while, one vote for what resembles nothing seen
// before; from then on it is for the background, or whatever comes before an object
// would pass for it.
func (t *Tracker) fillOpen(f *frame, refs []reference) {
	labels := t.labels()
	novel := 0.0
	for _, r := range refs {
		novel += r.weight * float64(t.cfg.Links) * math.Exp((t.cfg.Novel-1)/t.cfg.Temperature)
	}
	hidden, settled := false, true
	for _, o := range t.objects {
		hidden = hidden || o.state != Visible
		settled = settled && o.state == Visible && o.settling <= 0
	}
	t.scores = grow(t.scores, labels)
	for i := range f.n {
		if !t.near[i] {
			if hidden {
				f.trust[i] = 0
			}
			continue
		}
		row, open := f.q[i*labels:(i+1)*labels], t.mass[i]-t.held[i]
		if t.mass[i] > 0 {
			f.trust[i] = min(1, t.held[i]/t.mass[i]+trustRate)
		}
		if settled {
			row[0] += novel
		} else {
			open += novel
			f.trust[i] *= t.mass[i] / (t.mass[i] + novel)
		}
		if open <= 0 {
			continue
		}
		sum := 1.0
		t.scores[0] = 1
		for k := range t.objects {
			m := max(-1, min(1, t.objects[k].margin(f, i)-openMargin))
			t.scores[k+1] = math.Exp(openSlope * m)
			sum += t.scores[k+1]
		}
		for c, v := range t.scores {
			row[c] += open * v / sum
		}
	}
}
