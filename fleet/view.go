package fleet

import (
	"maps"
	"slices"
	"strings"
)

// lease is what is known of a key that is held.
type lease struct {
	record
	revision uint64
}

// token is the revision at which it was taken.
func (l lease) token() uint64 {
	if l.Token != 0 {
		return l.Token
	}
	return l.revision
}

// rate is its camera's, frames a second.
func (l lease) rate() float64 { return finite(l.Rate, unknownRate) }

// boxView is what is known of a box.
type boxView struct {
	Box
	revision uint64
	since    instant // when that was learnt
	joined   instant // when its session was
	cameras  map[string]bool
	load     float64 // the rates of cameras
}

// view is what is known of the bucket.
type view struct {
	boxes  map[string]*boxView
	orders map[string]order
	leases map[string]lease           // by camera
	named  map[string]map[string]bool // cameras by the box that their lease names, whatever its session
	plan   lease
	joins  int // how often a session began or ended
}

func newView() *view {
	return &view{boxes: map[string]*boxView{}, orders: map[string]order{}, leases: map[string]lease{}, named: map[string]map[string]bool{}}
}

// alive is the box of that name if that session of it is not over.
func (v *view) alive(box, session string) *boxView {
	b := v.boxes[box]
	if b == nil || b.Over || b.Session != session || session == "" {
		return nil
	}
	return b
}

// holder is the box that holds l; nil: it may be taken. It is never nil for one that is held: a box's key is
// there before it takes anything, and tells for ever when its session is over.
func (v *view) holder(l lease) *boxView {
	if l.Session == "" {
		return nil
	}
	return v.alive(l.Box, l.Session)
}

// apply takes in a key's value, empty if it was deleted, and returns the cameras whose holder may be another. A
// revision that is not newer than the one known of the key is ignored.
func (v *view) apply(key string, value []byte, revision uint64, now instant) (cameras []string, err error) {
	switch {
	case key == planKey:
		if revision <= v.plan.revision {
			return nil, nil
		}
		r, err := decode[record](value)
		v.plan = lease{r, revision}
		return nil, err
	case strings.HasPrefix(key, boxKey):
		return v.applyBox(strings.TrimPrefix(key, boxKey), value, revision, now)
	case strings.HasPrefix(key, orderKey):
		o, err := decode[order](value)
		name := strings.TrimPrefix(key, orderKey)
		if v.orders[name] = o; o == (order{}) {
			delete(v.orders, name)
		}
		return nil, err
	case strings.HasPrefix(key, cameraKey):
		camera := strings.TrimPrefix(key, cameraKey)
		if revision <= v.leases[camera].revision {
			return nil, nil
		}
		r, err := decode[record](value)
		v.remove(camera)
		v.name(camera, r.Box)
		v.leases[camera] = lease{r, revision}
		v.add(camera)
		return []string{camera}, err
	}
	return nil, nil
}

func (v *view) applyBox(name string, value []byte, revision uint64, now instant) (cameras []string, err error) {
	old := v.boxes[name]
	if old != nil && revision <= old.revision {
		return nil, nil
	}
	b, err := decode[Box](value)
	if b.Session == "" {
		b.Over = true // it was deleted, or cannot be read
	}
	next := &boxView{Box: b.tidy(), revision: revision, since: now, joined: now, cameras: map[string]bool{}}
	if old != nil && old.Session == b.Session && old.Over == b.Over {
		next.cameras, next.load, next.joined = old.cameras, old.load, old.joined
		v.boxes[name] = next
		return nil, err
	}
	v.joins++
	if old != nil {
		cameras = slices.Collect(maps.Keys(old.cameras))
		for _, c := range cameras {
			v.remove(c)
		}
	}
	v.boxes[name] = next
	for camera := range v.named[name] {
		if v.leases[camera].Session == b.Session {
			v.add(camera)
			cameras = append(cameras, camera)
		}
	}
	return cameras, err
}

// name notes that a camera's lease names that box from now on.
func (v *view) name(camera, box string) {
	if old := v.leases[camera].Box; old != "" {
		if delete(v.named[old], camera); len(v.named[old]) == 0 {
			delete(v.named, old)
		}
	}
	if box == "" {
		return
	}
	if v.named[box] == nil {
		v.named[box] = map[string]bool{}
	}
	v.named[box][camera] = true
}

// remove and add have a camera's holder hold it no more, and hold it.
func (v *view) remove(camera string) {
	if b := v.holder(v.leases[camera]); b != nil && b.cameras[camera] {
		delete(b.cameras, camera)
		if b.load -= v.leases[camera].rate(); len(b.cameras) == 0 {
			b.load = 0
		}
	}
}

func (v *view) add(camera string) {
	l := v.leases[camera]
	if b := v.holder(l); b != nil && !b.cameras[camera] {
		b.cameras[camera] = true
		b.load += l.rate()
	}
}

// runs tells whether there is a box of that name that is not over.
func (v *view) runs(box string) bool {
	b := v.boxes[box]
	return b != nil && !b.Over
}

// running are the names of the boxes that are not over, in their order.
func (v *view) running() []string {
	var names []string
	for name := range v.boxes {
		if v.runs(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// candidates are the boxes that take a camera with such wants, the one named without apart.
func (v *view) candidates(wants map[string]string, without string) []candidate {
	list := make([]candidate, 0, len(v.boxes))
	for name, b := range v.boxes {
		o := v.orders[name]
		if b.Over || b.Leaving || name == without || o.Cordoned || o.Drained || !suits(b.Labels, wants) {
			continue
		}
		list = append(list, candidate{name, b.Capacity, b.load, b.Most > 0 && len(b.cameras) >= b.Most, b.Labels, b.joined})
	}
	return list
}
