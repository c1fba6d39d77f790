package tracker

// Rename gives the object with that id another label, of 1 to 100 printable
// characters, and tells whether there is one. Errors are a *Fault of the field label.
func (t *Tracker) Rename(id uint32, label string) (bool, error) {
	if label == "" {
		return false, fault("label", "it is empty; want 1 to %d characters", maxLabel)
	}
	if err := checkLabel("label", label); err != nil {
		return false, err
	}
	at := t.find(id)
	if at >= 0 {
		t.objects[at].label = label
	}
	return at >= 0, nil
}
