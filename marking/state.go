package marking

import (
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

// State is what m knows of its objects. It shares nothing with m. What people removed and what is
// nothing is found out again.
func (m *Marker) State() *checkpointv1.Marker {
	s := &checkpointv1.Marker{NextId: m.nextID}
	for _, o := range m.objects {
		s.Objects = append(s.Objects, &checkpointv1.MarkedObject{
			Id: o.id, Own: o.own, Kept: o.kept, Class: o.class, Label: o.label, State: uint32(o.state),
			Box:  []int32{int32(o.box.Min.X), int32(o.box.Min.Y), int32(o.box.Max.X), int32(o.box.Max.Y)},
			Seen: o.seen, Vx: o.speed[0], Vy: o.speed[1], Undetected: int32(o.undetected), Detected: int32(o.detected),
			Resting: o.resting, Looks: slices.Clone(o.looks),
		})
	}
	return s
}

// most bounds counts and lengths of a state.
const most = 1 << 30

// Resume makes m know what another one did when s was taken. Objects that the tracker does not know,
// which are not in followed, rest if they were marked here, those in sight until the next look, where they are
// expected, and else are forgotten. Of a faulty s
// nothing is taken but the ids that were used.
func (m *Marker) Resume(s *checkpointv1.Marker, followed []uint32) error {
	if s.NextId >= FirstID && s.NextId <= most {
		m.nextID = max(m.nextID, s.NextId)
	}
	var objects []object
	for _, o := range s.Objects {
		sound := o.Id > 0 && o.Id < m.nextID && o.State <= uint32(tracker.Lost) && len(o.Box) == 4 && features.IsAppearance(o.Looks) &&
			annotation.CheckLabel("label", o.Label) == nil && annotation.CheckLabel("class", o.Class) == nil && (!o.Own || o.Class != "") &&
			math.Abs(o.Vx) <= most && math.Abs(o.Vy) <= most && o.Undetected >= 0 && o.Undetected <= most && o.Detected >= 0 && o.Detected <= most &&
			len(objects) < annotation.MaxFollowed+m.cfg.MaxObjects && !slices.ContainsFunc(objects, func(f object) bool { return f.id == o.Id })
		if !sound {
			return fmt.Errorf("marking: faulty state of object %d", o.Id)
		}
		f := object{
			id: o.Id, own: o.Own, kept: o.Kept, class: o.Class, label: o.Label, state: tracker.State(o.State),
			box:  image.Rect(int(o.Box[0]), int(o.Box[1]), int(o.Box[2]), int(o.Box[3])),
			seen: o.Seen, speed: [2]float64{o.Vx, o.Vy}, undetected: int(o.Undetected), detected: int(o.Detected),
			resting: o.Resting, looks: slices.Clone(o.Looks),
		}
		if !slices.Contains(followed, o.Id) {
			if !o.Own || o.Kept {
				continue
			}
			f.awaited = !f.resting && f.state == tracker.Visible
			f.resting, f.state = true, tracker.Lost
		}
		objects = append(objects, f)
	}
	m.objects, m.last = objects, 0
	return nil
}
