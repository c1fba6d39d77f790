package marking

import "slices"

// Reset forgets all objects but known, those that the tracker follows by now: what was marked here and nobody keeps
// is people's then. Each has the track that it had.
func (m *Marker) Reset(known []uint32) {
	before := m.objects
	m.objects = nil
	for _, id := range known {
		o := object{id: id}
		if at := slices.IndexFunc(before, func(o object) bool { return o.id == id }); at >= 0 {
			was := &before[at]
			if o.track = was.track; !was.automatic() {
				o.own, o.kept, o.class = was.own, was.kept, was.class
			}
		}
		m.objects = append(m.objects, o)
	}
}

// Keep has an object that was marked here stay when its track ends. It does nothing to what is people's; false if
// there is no such object.
func (m *Marker) Keep(id uint32) bool {
	at := m.find(id)
	if at >= 0 {
		m.objects[at].kept = m.objects[at].own
	}
	return at >= 0
}

// Yield makes an object people's altogether, as they have marked it themselves: it may be another thing than its
// track's.
func (m *Marker) Yield(id uint32) {
	if at := m.find(id); at >= 0 {
		m.objects[at].own, m.objects[at].kept, m.objects[at].track = false, false, 0
	}
}

// Bind binds an object that people have marked in the last frame, after Observe, to the track that its mask fits best
// there: what they marked is more surely a thing than what a mask has become later.
func (m *Marker) Bind(id uint32) {
	at := m.find(id)
	if at < 0 {
		return
	}
	m.objects[at].left, m.objects[at].fresh, m.objects[at].marked = false, true, m.time
	if !m.stands() || !m.objects[at].visible {
		return
	}
	o, most := &m.objects[at], 0.0
	for i := range m.now {
		t := &m.now[i]
		if v := fitMark(o.box, t); v > most && t.Detected >= 0 && (m.of(t.ID) == nil || m.of(t.ID) == o) {
			o.track, most = t.ID, v
		}
	}
}

// Forget forgets an object that the tracker is to forget: whatever is detected there is a new one.
func (m *Marker) Forget(id uint32) {
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool { return o.id == id })
}

// Remove forgets an object that people do not want. No other begins for its track.
func (m *Marker) Remove(id uint32) {
	if at := m.find(id); at >= 0 {
		m.refuse(m.objects[at].track)
	}
	m.Forget(id)
}

// Class is what kind of object was marked here, kept or people's since or not; automatic is whether it
// is neither. It is empty for what people marked.
func (m *Marker) Class(id uint32) (class string, automatic bool) {
	if at := m.find(id); at >= 0 {
		return m.objects[at].class, m.objects[at].automatic()
	}
	return "", false
}

// Follows tells whether the tracker follows an object with that id, whoever marked it, or it rests.
func (m *Marker) Follows(id uint32) bool { return m.find(id) >= 0 }

// Len is how many objects the tracker follows, whoever marked them.
func (m *Marker) Len() (n int) {
	for _, o := range m.objects {
		if !o.resting {
			n++
		}
	}
	return n
}

// Automatic is how many of them were marked here and are neither kept nor people's.
func (m *Marker) Automatic() int { return m.own() }

// Rename calls an object that rests, which the tracker does not know, otherwise; false if it does not.
func (m *Marker) Rename(id uint32, label string) bool {
	at := m.find(id)
	if at < 0 || !m.objects[at].resting {
		return false
	}
	m.objects[at].label = label
	return true
}

func (m *Marker) find(id uint32) int {
	return slices.IndexFunc(m.objects, func(o object) bool { return o.id == id })
}
