package tracker

import "github.com/segd/segd/annotation"

// Rename gives the object with that id another label, of 1 to 100 printable
// characters, and tells whether there is one. Errors are a *annotation.Fault of the field label.
func (t *Tracker) Rename(id uint32, label string) (bool, error) {
	if label == "" {
		return false, annotation.Faultf("label", "it is empty; want 1 to %d characters", annotation.MaxLabel)
	}
	if err := annotation.CheckLabel("label", label); err != nil {
		return false, err
	}
	at := t.find(id)
	if at >= 0 {
		t.objects[at].label = label
	}
	return at >= 0, nil
}
