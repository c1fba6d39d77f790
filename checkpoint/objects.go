package checkpoint

import (
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/track"
	"github.com/segd/segd/tracker"
)

// SetObjects has c know the objects of a table, and the tracks that they have.
func SetObjects(c *checkpointv1.Checkpoint, table objects.Table, tracks track.Snapshot) {
	c.Objects, c.Marker = nil, &checkpointv1.Marker{
		NextId: table.NextID(), Tracks: &checkpointv1.Tracks{TimeNs: tracks.Time.Nanoseconds(), Next: tracks.Next},
	}
	for _, o := range table.All() {
		c.Objects = append(c.Objects, &checkpointv1.Object{Id: o.ID, Label: o.Label, State: uint32(o.Told), Appeared: o.Appeared})
		marked := &checkpointv1.MarkedObject{
			Id: o.ID, Own: o.Owner != objects.People, Kept: o.Owner == objects.Kept, Class: o.Class, Label: o.Label, Resting: o.Dormant, Left: o.Left,
		}
		if slices.ContainsFunc(tracks.Tracks, func(t track.Saved) bool { return t.ID == o.Track }) { // else it may end before it counts
			marked.Track = o.Track
		}
		c.Marker.Objects = append(c.Marker.Objects, marked)
	}
	for _, t := range tracks.Tracks {
		c.Marker.Tracks.Tracks = append(c.Marker.Tracks.Tracks, &checkpointv1.Track{
			Id: t.ID, Class: t.Class, Box: []float64{t.Box.X0, t.Box.Y0, t.Box.X1, t.Box.Y1}, Velocity: t.Velocity[:],
			Score: t.Score, UnseenNs: t.Unseen.Nanoseconds(), Appearance: t.Appearance,
		})
	}
}

// mostID bounds ids.
const mostID = 1 << 30

// Objects returns the objects that c knows, all of them lost, the id of the next that a detector begins, and the
// tracks; nil of a checkpoint of before there were any. The error is of a faulty state of these: no object has one
// then, and all are people's.
func Objects(c *checkpointv1.Checkpoint) (all []objects.Object, next uint32, tracks *track.Snapshot, err error) {
	next = objects.FirstID
	has := func(id uint32) bool {
		return id == 0 || tracks != nil && slices.ContainsFunc(tracks.Tracks, func(t track.Saved) bool { return t.ID == id })
	}
	for _, o := range c.Objects {
		all = append(all, objects.Object{ID: o.Id, Label: o.Label, State: tracker.Lost, Told: tracker.State(o.State), Appeared: o.Appeared})
		next = max(next, o.Id+1)
	}
	m := c.Marker
	if m == nil {
		return all, next, nil, nil
	}
	if m.NextId <= mostID {
		next = max(next, m.NextId)
	}
	if tracks, err = readTracks(m.Tracks); err != nil {
		return all, next, nil, err
	}
	bound := slices.Clone(all)
	for i, o := range m.Objects {
		at := slices.IndexFunc(bound, func(b objects.Object) bool { return b.ID == o.Id })
		if at < 0 {
			continue // it was removed
		}
		sound := annotation.CheckLabel("class", o.Class) == nil && (!o.Own || o.Class != "") && has(o.Track) &&
			!slices.ContainsFunc(m.Objects[:i], func(f *checkpointv1.MarkedObject) bool { return f.Id == o.Id || o.Track != 0 && f.Track == o.Track })
		if !sound {
			return all, next, nil, fmt.Errorf("checkpoint: %w: object %d: its class is %q and its track %d", ErrDamaged, o.Id, o.Class, o.Track)
		}
		b := &bound[at]
		b.Class, b.Dormant, b.Track, b.Left = o.Class, o.Resting, o.Track, o.Left
		switch {
		case o.Own && o.Kept:
			b.Owner = objects.Kept
		case o.Own:
			b.Owner = objects.Detector
		}
	}
	return bound, next, tracks, nil
}

func readTracks(s *checkpointv1.Tracks) (*track.Snapshot, error) {
	if s == nil {
		return nil, nil
	}
	tracks := &track.Snapshot{Time: time.Duration(s.TimeNs), Next: max(1, s.Next)}
	for _, t := range s.Tracks {
		if len(t.Box) != 4 || len(t.Velocity) != 2 || !features.IsAppearance(t.Appearance) {
			return nil, fmt.Errorf("checkpoint: %w: track %d", ErrDamaged, t.Id)
		}
		tracks.Tracks = append(tracks.Tracks, track.Saved{
			ID: t.Id, Class: t.Class, Box: track.Box{X0: t.Box[0], Y0: t.Box[1], X1: t.Box[2], Y1: t.Box[3]},
			Velocity: [2]float64{t.Velocity[0], t.Velocity[1]}, Score: t.Score,
			Unseen: time.Duration(t.UnseenNs), Appearance: slices.Clone(t.Appearance),
		})
	}
	return tracks, nil
}
