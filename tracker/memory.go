package tracker

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/scratch"
)

// all lists every frame whose labels are used: the window's and the remembered.
func (t *Tracker) all() []*frame { return append(t.kept(), t.memory...) }

// remember takes in a frame that leaves the window, if some object was seen in it
// without doubt. Of more than Config.Memory frames, the later one of the two that
// show their objects most alike is dropped; the latest one always stays. So what is
// kept are the object's most different looks, and its last.
func (t *Tracker) remember(f *frame) {
	if t.cfg.Memory == 0 || !slices.Contains(f.sure, true) {
		t.release(f)
		return
	}
	t.memory = append(t.memory, f)
	if len(t.memory) <= t.cfg.Memory {
		return
	}
	drop, most := 0, math.Inf(-1)
	for k, m := range t.memory[:len(t.memory)-1] {
		for _, old := range slices.Concat(t.memory[:k], t.anchors) {
			if s := m.alike(old, t.projection.Dim()); s > most {
				drop, most = k, s
			}
		}
	}
	t.release(t.memory[drop])
	t.memory = slices.Delete(t.memory, drop, drop+1)
}

// distrust drops the latest frames and the remembered ones, but not those annotated.
func (t *Tracker) distrust() {
	for _, f := range append(t.recent, t.memory...) {
		if !slices.Contains(t.anchors, f) {
			t.release(f)
		}
	}
	t.recent, t.memory = t.recent[:0], t.memory[:0]
}

// setLooks sets f.looks, L×d: the mean direction of each object's features.
func (f *frame) setLooks(labels, d int) {
	wide := cosine.Padded(d)
	f.looks = scratch.Grow(f.looks, labels*d)
	clear(f.looks)
	for slot, i := range f.Grid.Order {
		for l := 1; l < labels; l++ {
			if f.soft[int(i)*labels+l] > 0.5 {
				for k, v := range f.Unit[slot*wide : slot*wide+d] {
					f.looks[l*d+k] += v
				}
			}
		}
	}
	for l := 1; l < labels; l++ {
		sum := 0.0
		for _, v := range f.looks[l*d : (l+1)*d] {
			sum += float64(v) * float64(v)
		}
		scale := float32(1 / math.Max(math.Sqrt(sum), 1e-12))
		for k := l * d; k < (l+1)*d; k++ {
			f.looks[k] *= scale
		}
	}
}

// alike is the least cosine between the looks of an object that both frames show,
// −1 if there is none.
func (f *frame) alike(g *frame, d int) float64 {
	least, common := 1.0, false
	for l := 1; l < min(len(f.sure), len(g.sure)); l++ {
		if !f.sure[l] || !g.sure[l] {
			continue
		}
		dot := 0.0
		for k, v := range f.looks[l*d : (l+1)*d] {
			dot += float64(v) * float64(g.looks[l*d+k])
		}
		least, common = min(least, dot), true
	}
	if !common {
		return -1
	}
	return least
}
