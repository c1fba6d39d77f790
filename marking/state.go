package marking

import (
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/track"
)

// State is what m knows of its objects and tracks. It shares nothing with m. What people removed may begin again.
func (m *Marker) State() *checkpointv1.Marker {
	s := &checkpointv1.Marker{NextId: m.nextID}
	known := m.tracks.State()
	for _, o := range m.objects {
		kept := &checkpointv1.MarkedObject{Id: o.id, Own: o.own, Kept: o.kept, Class: o.class, Label: o.label, Resting: o.resting, Left: o.left}
		if slices.ContainsFunc(known.Tracks, func(t track.Saved) bool { return t.ID == o.track }) {
			kept.Track = o.track
		}
		s.Objects = append(s.Objects, kept)
	}
	s.Tracks = &checkpointv1.Tracks{TimeNs: known.Time.Nanoseconds(), Next: known.Next}
	for _, t := range known.Tracks {
		s.Tracks.Tracks = append(s.Tracks.Tracks, &checkpointv1.Track{
			Id: t.ID, Class: t.Class, Box: []float64{t.Box.X0, t.Box.Y0, t.Box.X1, t.Box.Y1}, Velocity: t.Velocity[:],
			Score: t.Score, UnseenNs: t.Unseen.Nanoseconds(), Appearance: t.Appearance,
		})
	}
	return s
}

// most bounds ids of a state.
const most = 1 << 30

// Resume makes m know what another one did when s was taken. Objects that the tracker does not know,
// which are not in followed, rest if they were marked here and have a track, and else are forgotten. Of a faulty s
// nothing is taken but the ids that were used.
func (m *Marker) Resume(s *checkpointv1.Marker, followed []uint32) error {
	if s.NextId >= FirstID && s.NextId <= most {
		m.nextID = max(m.nextID, s.NextId)
	}
	tracks, err := resumed(s.Tracks)
	if err != nil {
		return err
	}
	known := track.Snapshot{Time: time.Duration(s.Tracks.GetTimeNs()), Next: max(1, s.Tracks.GetNext()), Tracks: tracks}
	var objects []object
	for _, o := range s.Objects {
		has := slices.ContainsFunc(tracks, func(t track.Saved) bool { return t.ID == o.Track })
		sound := o.Id > 0 && o.Id < m.nextID && annotation.CheckLabel("label", o.Label) == nil && annotation.CheckLabel("class", o.Class) == nil &&
			(!o.Own || o.Class != "") && (o.Track == 0 || has) && len(objects) < annotation.MaxFollowed+m.cfg.MaxObjects &&
			!slices.ContainsFunc(objects, func(f object) bool { return f.id == o.Id || o.Track != 0 && f.track == o.Track })
		if !sound {
			return fmt.Errorf("marking: faulty state of object %d", o.Id)
		}
		f := object{id: o.Id, track: o.Track, own: o.Own, kept: o.Kept, class: o.Class, label: o.Label, resting: o.Resting, left: o.Left}
		if !slices.Contains(followed, o.Id) {
			if !o.Own || o.Kept || o.Track == 0 {
				continue
			}
			f.resting = true
		}
		objects = append(objects, f)
	}
	if err := m.tracks.Resume(known); err != nil {
		return fmt.Errorf("marking: %w", err)
	}
	m.objects, m.now = objects, nil
	clear(m.about)
	return nil
}

// resumed are the tracks of a state; none of one from before there were any.
func resumed(s *checkpointv1.Tracks) (tracks []track.Saved, err error) {
	for _, t := range s.GetTracks() {
		if len(t.Box) != 4 || len(t.Velocity) != 2 || !features.IsAppearance(t.Appearance) {
			return nil, fmt.Errorf("marking: faulty state of track %d", t.Id)
		}
		tracks = append(tracks, track.Saved{
			ID: t.Id, Class: t.Class, Box: track.Box{X0: t.Box[0], Y0: t.Box[1], X1: t.Box[2], Y1: t.Box[3]},
			Velocity: [2]float64{t.Velocity[0], t.Velocity[1]}, Score: t.Score,
			Unseen: time.Duration(t.UnseenNs), Appearance: slices.Clone(t.Appearance),
		})
	}
	return tracks, nil
}
