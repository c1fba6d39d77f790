package checkpoint

import (
	"encoding/json"
	"fmt"
	"image"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/checkpoint/checkpointv1"
	"github.com/segd/segd/tracker"
)

// Encode returns c as it is stored.
func Encode(c *Checkpoint) ([]byte, error) {
	out := &checkpointv1.Checkpoint{
		Camera: c.Camera, Time: timestamppb.New(c.Time), Epoch: c.Epoch, Sequence: c.Sequence, PtsNs: c.PTS.Nanoseconds(), Fps: c.FPS,
		Marked: c.Marked, Last: c.Last, Configured: c.Configured, Tracker: writeTracker(c.Tracker),
	}
	writeObjects(out, c.Objects, c.Tracks)
	if c.Zones != nil {
		layout, err := json.Marshal(c.Zones.Layout)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: zones: %w", err)
		}
		out.Zones = writeZones(c.Zones, layout)
		out.Zones.Configured = c.ConfiguredZones
	}
	return pack(out)
}

// Decode reads what Encode wrote. Parts that cannot be right are left out, and Faults tell of them. The error wraps
// ErrDamaged.
func Decode(data []byte) (*Checkpoint, error) {
	in, err := unpack(data)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{
		Camera: in.Camera, Time: in.Time.AsTime(), Epoch: in.Epoch, Sequence: in.Sequence, PTS: time.Duration(in.PtsNs), FPS: in.Fps,
		Marked: in.Marked, Last: in.Last, Configured: in.Configured, ConfiguredZones: in.Zones.GetConfigured(),
	}
	if in.Version != Version {
		c.Foreign = int(in.Version)
	}
	var faults [3]error
	c.Objects, c.Tracks, faults[0] = readObjects(in)
	c.Tracker, faults[1] = readTracker(in.Tracker)
	c.Zones, faults[2] = readZones(in.Zones)
	for _, err := range faults {
		if err != nil {
			c.Faults = append(c.Faults, fmt.Errorf("checkpoint: %w: %w", ErrDamaged, err))
		}
	}
	return c, nil
}

// writeObjects has c know the objects of a table, and the tracks that they have.
func writeObjects(c *checkpointv1.Checkpoint, table objects.Table, tracks *track.Snapshot) {
	c.Marker = &checkpointv1.Marker{NextId: table.NextID(), Tracks: writeTracks(tracks)}
	for _, o := range table.All() {
		c.Objects = append(c.Objects, &checkpointv1.Object{Id: o.ID, Label: o.Label, State: uint32(o.Told), Appeared: o.Appeared})
		marked := &checkpointv1.MarkedObject{
			Id: o.ID, Own: o.Owner != objects.People, Kept: o.Owner == objects.Kept, Class: o.Class, Resting: o.Dormant, Gone: o.Gone,
		}
		if has(tracks, o.Track) { // else it may end before it counts
			marked.Track = o.Track
		}
		c.Marker.Objects = append(c.Marker.Objects, marked)
	}
}

// has tells whether there is a track.
func has(tracks *track.Snapshot, id uint32) bool {
	return tracks != nil && slices.ContainsFunc(tracks.Tracks, func(t track.Saved) bool { return t.ID == id })
}

// mostID bounds ids.
const mostID = 1 << 30

// readObjects returns the objects that c knows, all of them lost, and their tracks; nil of a checkpoint of before there
// were any. The error is of a faulty state of these: no object has one then, and all are people's.
func readObjects(c *checkpointv1.Checkpoint) (table objects.Table, tracks *track.Snapshot, err error) {
	next := uint32(objects.FirstID)
	var all []objects.Object
	for _, o := range c.Objects {
		all = append(all, objects.Object{ID: o.Id, Label: o.Label, State: tracker.Lost, Told: tracker.State(o.State), Appeared: o.Appeared})
		next = max(next, o.Id+1)
	}
	if m := c.Marker; m != nil && m.NextId <= mostID {
		next = max(next, m.NextId)
	}
	if tracks, err = readTracks(c.Marker.GetTracks()); err != nil {
		return objects.Restore(all, next), nil, err
	}
	bound := slices.Clone(all)
	for i, o := range c.Marker.GetObjects() {
		at := slices.IndexFunc(bound, func(b objects.Object) bool { return b.ID == o.Id })
		if at < 0 {
			continue // it was removed
		}
		sound := annotation.CheckLabel("class", o.Class) == nil && (!o.Own || o.Class != "") && (o.Track == 0 || has(tracks, o.Track)) &&
			!slices.ContainsFunc(c.Marker.Objects[:i], func(f *checkpointv1.MarkedObject) bool { return f.Id == o.Id || o.Track != 0 && f.Track == o.Track })
		if !sound {
			return objects.Restore(all, next), nil, fmt.Errorf("object %d of class %q has track %d", o.Id, o.Class, o.Track)
		}
		b := &bound[at]
		b.Class, b.Dormant, b.Track, b.Gone = o.Class, o.Resting, o.Track, o.Gone
		switch {
		case o.Own && o.Kept:
			b.Owner = objects.Kept
		case o.Own:
			b.Owner = objects.Detector
		}
	}
	return objects.Restore(bound, next), tracks, nil
}

func writeTracks(s *track.Snapshot) *checkpointv1.Tracks {
	if s == nil {
		return nil
	}
	out := &checkpointv1.Tracks{TimeNs: s.Time.Nanoseconds(), Next: s.Next}
	for _, t := range s.Tracks {
		out.Tracks = append(out.Tracks, &checkpointv1.Track{
			Id: t.ID, Class: t.Class, Box: []float64{t.Box.X0, t.Box.Y0, t.Box.X1, t.Box.Y1}, Velocity: t.Velocity[:],
			Score: t.Score, UnseenNs: t.Unseen.Nanoseconds(), Appearance: t.Appearance,
		})
	}
	return out
}

func readTracks(s *checkpointv1.Tracks) (*track.Snapshot, error) {
	if s == nil {
		return nil, nil
	}
	tracks := &track.Snapshot{Time: time.Duration(s.TimeNs), Next: max(1, s.Next)}
	for _, t := range s.Tracks {
		if len(t.Box) != 4 || len(t.Velocity) != 2 || !features.IsAppearance(t.Appearance) {
			return nil, fmt.Errorf("track %d has %d numbers of a box and %d of a velocity", t.Id, len(t.Box), len(t.Velocity))
		}
		tracks.Tracks = append(tracks.Tracks, track.Saved{
			ID: t.Id, Class: t.Class, Box: track.Box{X0: t.Box[0], Y0: t.Box[1], X1: t.Box[2], Y1: t.Box[3]},
			Velocity: [2]float64{t.Velocity[0], t.Velocity[1]}, Score: t.Score,
			Unseen: time.Duration(t.UnseenNs), Appearance: slices.Clone(t.Appearance),
		})
	}
	return tracks, nil
}

func writeTracker(s *tracker.Snapshot) *checkpointv1.Tracker {
	if s == nil {
		return nil
	}
	out := &checkpointv1.Tracker{Width: int32(s.Size.X), Height: int32(s.Size.Y)}
	for _, o := range s.Objects {
		l := &o.Life
		out.Objects = append(out.Objects, &checkpointv1.TrackedObject{
			Id: o.ID, Box: []int32{int32(o.Box.Min.X), int32(o.Box.Min.Y), int32(o.Box.Max.X), int32(o.Box.Max.Y)},
			Life: &checkpointv1.Life{
				State: uint32(l.State), Area: l.Area, X: l.X, Y: l.Y, Unseen: int32(l.Unseen), Zoom: int32(l.Zoom),
				Probation: int32(l.Probation), Hits: int32(l.Hits), Required: int32(l.Required), Marked: l.Marked,
			},
		})
	}
	return out
}

func readTracker(s *checkpointv1.Tracker) (*tracker.Snapshot, error) {
	if s == nil {
		return nil, nil
	}
	out := &tracker.Snapshot{Size: image.Pt(int(s.Width), int(s.Height))}
	for _, o := range s.Objects {
		l := o.Life
		if l == nil || len(o.Box) != 4 || l.State > uint32(tracker.Lost) {
			return nil, fmt.Errorf("the tracker's object %d has no life, no box or no such state; its objects are looked for by what they looked like", o.Id)
		}
		out.Objects = append(out.Objects, tracker.ObjectSnapshot{
			ID: o.Id, Box: image.Rect(int(o.Box[0]), int(o.Box[1]), int(o.Box[2]), int(o.Box[3])),
			Life: tracker.LifeSnapshot{
				State: tracker.State(l.State), Area: l.Area, X: l.X, Y: l.Y, Unseen: int(l.Unseen), Zoom: int(l.Zoom),
				Probation: int(l.Probation), Hits: int(l.Hits), Required: int(l.Required), Marked: l.Marked,
			},
		})
	}
	return out, nil
}

func writeZones(s *zones.Snapshot, layout []byte) *checkpointv1.Zones {
	out := &checkpointv1.Zones{Layout: layout}
	for _, n := range s.Counts.Zones {
		out.Zones = append(out.Zones, &checkpointv1.ZoneCount{Entries: n.Entries, Stays: n.Stays})
	}
	for _, n := range s.Counts.Lines {
		out.Lines = append(out.Lines, &checkpointv1.LineCount{AToB: n.AToB, BToA: n.BToA})
	}
	for _, tr := range s.Tracks {
		t := &checkpointv1.ZoneTrack{Object: tr.Object, Seen: tr.Seen, X: tr.Foot[0], Y: tr.Foot[1], AtNs: tr.At.Nanoseconds()}
		for _, in := range tr.Zones {
			t.Zones = append(t.Zones, &checkpointv1.InZone{Inside: in.Inside, EnteredNs: in.Entered.Nanoseconds(), Stayed: in.Stayed})
		}
		for _, at := range tr.Lines {
			t.Lines = append(t.Lines, &checkpointv1.AtLine{Known: at.Known, Right: at.Right, Odd: at.Odd})
		}
		out.Tracks = append(out.Tracks, t)
	}
	return out
}

// maxLayout is how many bytes of JSON the largest layout has at most: its zones, each with its points of two numbers.
const maxLayout = zones.MaxZones * zones.MaxPoints * 2 * 32

func readZones(s *checkpointv1.Zones) (*zones.Snapshot, error) {
	if s == nil {
		return nil, nil
	}
	if len(s.Layout) > maxLayout {
		return nil, fmt.Errorf("zones: layout: %d bytes; want at most %d", len(s.Layout), maxLayout)
	}
	out := &zones.Snapshot{}
	if err := json.Unmarshal(s.Layout, &out.Layout); err != nil {
		return nil, fmt.Errorf("zones: layout: %w", err)
	}
	if len(s.Zones) != len(out.Layout.Zones) || len(s.Lines) != len(out.Layout.Lines) {
		return nil, fmt.Errorf("zones: counts of %d zones and %d lines; want %d and %d", len(s.Zones), len(s.Lines), len(out.Layout.Zones), len(out.Layout.Lines))
	}
	for k, n := range s.Zones {
		out.Counts.Zones = append(out.Counts.Zones, zones.ZoneCount{Name: out.Layout.Zones[k].Name, Entries: n.Entries, Stays: n.Stays})
	}
	for k, n := range s.Lines {
		out.Counts.Lines = append(out.Counts.Lines, zones.LineCount{Name: out.Layout.Lines[k].Name, AToB: n.AToB, BToA: n.BToA})
	}
	for _, t := range s.Tracks {
		tr := zones.TrackSnapshot{Object: t.Object, Seen: t.Seen, Foot: zones.Point{t.X, t.Y}, At: time.Duration(t.AtNs)}
		for _, in := range t.Zones {
			tr.Zones = append(tr.Zones, zones.InZone{Inside: in.Inside, Entered: time.Duration(in.EnteredNs), Stayed: in.Stayed})
		}
		for _, at := range t.Lines {
			tr.Lines = append(tr.Lines, zones.AtLine{Known: at.Known, Right: at.Right, Odd: at.Odd})
		}
		out.Tracks = append(out.Tracks, tr)
	}
	return out, nil
}
