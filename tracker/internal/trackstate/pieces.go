package trackstate

import (
	"cmp"
	"math"

	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Pieces is the workspace of KeepTogether.
type Pieces struct {
	seen    []bool  // N
	members []int32 // superpixels of the label, piece after piece
}

// KeepTogether gives the background those superpixels of a label, of which p has labels y,
// that are farther from the rest of object o than it is wide. The rest is what hangs
// together with its largest piece, where one counts less the farther it is from where
// the object was last, and what lies as near to that, step by step.
func (w *Pieces) KeepTogether(p *picture.Picture, y []int32, label int, o *Object) {
	w.seen, w.members = scratch.Zero(w.seen, p.N), w.members[:0]
	var main, n int // where the main piece begins, and its length
	most, largest := 0.0, 0.0
	for start, l := range y {
		if int(l) != label || w.seen[start] {
			continue
		}
		first, area, far := len(w.members), 0.0, math.Inf(1)
		w.members = p.Touching.AppendComponent(w.members, w.seen, int32(start), func(j int32) bool { return int(y[j]) == label })
		for _, i := range w.members[first:] {
			area += float64(p.Area[i])
			far = min(far, math.Hypot(float64(p.Centroid[2*i])-o.X, float64(p.Centroid[2*i+1])-o.Y))
		}
		largest = max(largest, area)
		weight := area
		if o.Area > 0 { // else it was just annotated
			weight /= 1 + far*far*math.Pi/(4*o.Area)
		}
		if weight > most {
			main, n, most = first, len(w.members)-first, weight
		}
	}
	for k := range n {
		w.members[k], w.members[main+k] = w.members[main+k], w.members[k]
	}
	for _, i := range apart(p, w.members, n, 2*math.Sqrt(cmp.Or(o.Area, largest)/math.Pi)) {
		y[i] = 0
	}
}

// apart returns those of all but the first n that are not within reach of these, nor of one that is.
func apart(p *picture.Picture, all []int32, n int, reach float64) []int32 {
	for k := 0; k < n; k++ {
		a := p.Centroid[2*all[k]:][:2]
		for j := n; j < len(all); j++ {
			if b := p.Centroid[2*all[j]:][:2]; math.Hypot(float64(a[0]-b[0]), float64(a[1]-b[1])) <= reach {
				all[n], all[j] = all[j], all[n]
				n++
			}
		}
	}
	return all[n:]
}
