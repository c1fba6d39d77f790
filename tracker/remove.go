package tracker

import "slices"

// Remove forgets the object with that id and tells whether there was one. Where it
// was marked or seen is background from now on; other objects are not affected.
func (t *Tracker) Remove(id uint32) bool {
	at := t.find(id)
	if at < 0 {
		return false
	}
	label, labels := at+1, t.labels()
	for _, f := range t.all() {
		f.drop(label, labels)
	}
	for _, e := range t.past.entries {
		dropLabel(e.y, int32(label))
	}
	t.objects = slices.Delete(t.objects, at, at+1)
	if d := t.projection.Dim() + 1; len(t.weight) >= (label+1)*d {
		t.weight = slices.Delete(t.weight, label*d, (label+1)*d)
	}
	if len(t.objects) == 0 {
		past := t.past
		t.forget()
		for _, e := range past.entries {
			e.y = e.y[:0]
		}
		t.past = past
	}
	return true
}

// dropLabel makes a label background and closes the gap it leaves.
func dropLabel(y []int32, label int32) {
	for i, l := range y {
		if l == label {
			y[i] = 0
		} else if l > label {
			y[i] = l - 1
		}
	}
}

// drop takes a label out of f.
func (f *frame) drop(label, labels int) {
	for _, m := range f.perLabel() {
		probabilities := m == &f.q || m == &f.soft
		to := (*m)[:0]
		for i := range f.N {
			row := (*m)[i*labels : (i+1)*labels]
			if probabilities {
				row[0] += row[label]
			}
			to = append(append(to, row[:label]...), row[label+1:]...)
		}
		*m = to
	}
	dropLabel(f.y, int32(label))
	dropLabel(f.fixed, int32(label))
	if label < len(f.knows) {
		f.knows = slices.Delete(f.knows, label, label+1)
	}
	if label < len(f.sure) {
		d := len(f.looks) / len(f.sure) // an object marked later has neither
		f.sure = slices.Delete(f.sure, label, label+1)
		f.looks = slices.Delete(f.looks, label*d, (label+1)*d)
	}
	if k := slices.Index(f.bounded, int32(label)); k >= 0 {
		width, to := len(f.bounded), f.outside[:0]
		for i := range f.N {
			row := f.outside[i*width : (i+1)*width]
			to = append(append(to, row[:k]...), row[k+1:]...)
		}
		f.outside = to
		f.bounded = slices.Delete(f.bounded, k, k+1)
	}
	if k := slices.Index(f.marked, int32(label)); k >= 0 {
		f.marked = slices.Delete(f.marked, k, k+1)
	}
	dropLabel(f.bounded, int32(label))
	dropLabel(f.marked, int32(label))
}
