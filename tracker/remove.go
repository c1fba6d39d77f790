package tracker

import "slices"

// Remove forgets the object with that id and tells whether there was one. Where it
// was marked or seen is background from now on; other objects are not affected.
func (t *Tracker) Remove(id uint32) bool {
	at := t.find(id)
	if at < 0 {
		return false
	}
	label, count := at+1, t.labels()
	t.drop(label, count)
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
