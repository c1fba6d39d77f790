package tracker

import (
	"slices"

	"github.com/segd/segd/tracker/internal/labeling"
)

// Remove forgets the object with that id and tells whether there was one. Where it
// was marked or seen is background from now on; other objects are not affected.
func (t *Tracker) Remove(id uint32) bool {
	at := t.find(id)
	if at < 0 {
		return false
	}
	label, count := at+1, t.labels()
	for _, f := range t.all() {
		f.drop(label, count)
	}
	t.past.DropLabel(int32(label))
	t.objects = slices.Delete(t.objects, at, at+1)
	if d := t.projection.Dim() + 1; len(t.weight) >= (label+1)*d {
		t.weight = slices.Delete(t.weight, label*d, (label+1)*d)
	}
	if len(t.objects) == 0 {
		kept := t.past
		t.forget()
		kept.DropLabels()
		t.past = kept
	}
	return true
}

// drop takes a label out of f.
func (f *frame) drop(label, count int) {
	for _, m := range []*[]float64{&f.q, &f.soft} {
		*m = labeling.FoldColumn(*m, label, count)
	}
	for _, m := range []*[]float64{&f.scores, &f.lambda} {
		*m = labeling.DropColumn(*m, label, count)
	}
	labeling.Drop(f.y, int32(label))
	labeling.Drop(f.fixed, int32(label))
	if label < len(f.knows) {
		f.knows = slices.Delete(f.knows, label, label+1)
	}
	if label < len(f.sure) {
		d := len(f.looks) / len(f.sure) // an object marked later has neither
		f.sure = slices.Delete(f.sure, label, label+1)
		f.looks = slices.Delete(f.looks, label*d, (label+1)*d)
	}
	if k := slices.Index(f.bounded, int32(label)); k >= 0 {
		f.outside = labeling.DropColumn(f.outside, k, len(f.bounded))
		f.bounded = slices.Delete(f.bounded, k, k+1)
	}
	if k := slices.Index(f.marked, int32(label)); k >= 0 {
		f.marked = slices.Delete(f.marked, k, k+1)
	}
	labeling.Drop(f.bounded, int32(label))
	labeling.Drop(f.marked, int32(label))
}
