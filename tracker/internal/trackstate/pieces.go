package trackstate

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Pieces is the workspace of KeepTogether.
type Pieces struct {
	seen    []bool    // N
	members []int32   // superpixels, piece after piece
	ends    []int     // of the pieces in members
	area    []float64 // of the pieces
	kept    []bool    // the pieces
}

// KeepTogether gives the background those superpixels of a label, of which p has labels y,
// that are farther from the rest of object o than it is wide. The rest is what hangs
// together with its largest piece, where one counts less the farther it is from where
// the object was last, and what lies as near to that.
func (w *Pieces) KeepTogether(p *picture.Picture, y []int32, label int, o *Object) {
	w.split(p, y, int32(label))
	if len(w.ends) < 2 {
		return
	}
	size := o.Area
	if size == 0 { // it was just annotated
		size = slices.Max(w.area)
	}
	reach, main, most := 2*math.Sqrt(size/math.Pi), 0, -1.0
	for k := range w.ends {
		weight := w.area[k]
		if o.Area > 0 {
			d := math.Inf(1)
			for _, i := range w.of(k) {
				d = min(d, math.Hypot(float64(p.Centroid[2*i])-o.X, float64(p.Centroid[2*i+1])-o.Y))
			}
			weight /= 1 + d*d/(reach*reach)
		}
		if weight > most {
			main, most = k, weight
		}
	}
	w.kept = scratch.Zero(w.kept, len(w.ends))
	w.kept[main] = true
	for again := true; again; {
		again = false
		for k := range w.ends {
			if !w.kept[k] && w.near(p, k, reach) {
				w.kept[k], again = true, true
			}
		}
	}
	for k := range w.ends {
		if !w.kept[k] {
			for _, i := range w.of(k) {
				y[i] = 0
			}
		}
	}
}

// near tells whether piece k is within reach of one that is kept.
func (w *Pieces) near(p *picture.Picture, k int, reach float64) bool {
	for other := range w.ends {
		if !w.kept[other] {
			continue
		}
		for _, i := range w.of(k) {
			for _, j := range w.of(other) {
				if math.Hypot(float64(p.Centroid[2*i]-p.Centroid[2*j]), float64(p.Centroid[2*i+1]-p.Centroid[2*j+1])) <= reach {
					return true
				}
			}
		}
	}
	return false
}

// of lists the superpixels of piece k.
func (w *Pieces) of(k int) []int32 {
	from := 0
	if k > 0 {
		from = w.ends[k-1]
	}
	return w.members[from:w.ends[k]]
}

// split finds the pieces of a label.
func (w *Pieces) split(p *picture.Picture, y []int32, label int32) {
	w.seen = scratch.Zero(w.seen, p.N)
	w.members, w.ends, w.area = w.members[:0], w.ends[:0], w.area[:0]
	for start, l := range y {
		if l != label || w.seen[start] {
			continue
		}
		first, area := len(w.members), 0.0
		w.members = p.Touching.AppendComponent(w.members, w.seen, int32(start), func(j int32) bool { return y[j] == label })
		for _, i := range w.members[first:] {
			area += float64(p.Area[i])
		}
		w.ends, w.area = append(w.ends, len(w.members)), append(w.area, area)
	}
}
