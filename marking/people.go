package marking

import (
	"image"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

// removed is a place where people had an object removed, and what is there is nothing new.
type removed struct {
	class      string // empty: any
	box        image.Rectangle
	seen       uint64     // the frame of that
	speed      [2]float64 // pixels a frame
	undetected int        // looks in a row
}

const (
	// maxRemoved bounds the places: the oldest go first.
	maxRemoved = 100
	// A detection may be at such a place with a box of at least this IoU with it. It is less than
	// leastIoU: nobody follows what is there.
	removedIoU = 0.1
)

// Reset forgets all objects, but not which ids were used and what people removed. known are those
// that the tracker follows by now; they are people's, and those of kept, with their classes, are as
// Keep leaves them.
func (m *Marker) Reset(known []uint32, kept map[uint32]string) {
	m.objects = m.objects[:0]
	for _, id := range known {
		class, ok := kept[id]
		m.objects = append(m.objects, object{id: id, own: ok, kept: ok, class: class, state: tracker.Lost})
	}
}

// Keep has an object that was marked here stay when it is not detected any more. Its mask is mended as
// before. It does nothing to what is people's; false if there is no such object.
func (m *Marker) Keep(id uint32) bool {
	at := m.find(id)
	if at >= 0 {
		m.objects[at].kept = m.objects[at].own
	}
	return at >= 0
}

// Yield makes an object people's altogether, as they have marked it themselves.
func (m *Marker) Yield(id uint32) {
	if at := m.find(id); at >= 0 {
		m.objects[at].own, m.objects[at].kept = false, false
	}
}

// Forget forgets an object that the tracker is to forget: whatever is detected there is a new one.
func (m *Marker) Forget(id uint32) {
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool { return o.id == id })
}

// Remove forgets an object that people do not want, after frame seq. No other begins where it is, moved
// on as it moved, while something of its class is detected there, and for two looks more.
func (m *Marker) Remove(id uint32, seq uint64) {
	at := m.find(id)
	if at < 0 {
		return
	}
	if o := m.objects[at]; !o.box.Empty() && o.state != tracker.Lost {
		if len(m.removed) == maxRemoved {
			m.removed = slices.Delete(m.removed, 0, 1)
		}
		m.removed = append(m.removed, removed{class: o.class, box: o.expected(seq), seen: seq, speed: o.speed})
	}
	m.Forget(id)
}

// Class is what kind of object was marked here, kept or people's since or not; automatic is whether it
// is neither. It is empty for what people marked.
func (m *Marker) Class(id uint32) (class string, automatic bool) {
	if at := m.find(id); at >= 0 {
		return m.objects[at].class, m.objects[at].own && !m.objects[at].kept
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

// unwanted tells which detections, of those that are of no object, are where people had
// one removed. Unless the look is an extra one it forgets the places where nothing was detected.
func (m *Marker) unwanted(l *Look, of []int) []bool {
	not := make([]bool, len(l.Found))
	for k := range m.removed {
		r := &m.removed[k]
		best, most := -1, removedIoU
		for i, d := range l.Found {
			if of[i] >= 0 || not[i] || r.class != "" && r.class != d.Class {
				continue
			}
			if v := features.IoU(d.Box, r.expected(l.Seq)); v >= most {
				best, most = i, v
			}
		}
		switch {
		case best >= 0:
			not[best] = true
			r.move(l.Found[best].Box, l.Seq)
		case !l.Extra:
			r.undetected++
		}
	}
	m.removed = slices.DeleteFunc(m.removed, func(r removed) bool { return r.undetected > maxUndetected })
	return not
}

// expected is where r is likely to be in frame seq.
func (r *removed) expected(seq uint64) image.Rectangle {
	n := float64(seq - r.seen)
	return r.box.Add(image.Pt(int(n*r.speed[0]), int(n*r.speed[1])))
}

// move notes that r was detected in frame seq.
func (r *removed) move(box image.Rectangle, seq uint64) {
	if n := float64(seq - r.seen); n > 0 {
		way := box.Min.Add(box.Max).Sub(r.box.Min).Sub(r.box.Max) // of the centre, twice
		r.speed = [2]float64{float64(way.X) / (2 * n), float64(way.Y) / (2 * n)}
	}
	r.box, r.seen, r.undetected = box, seq, 0
}
