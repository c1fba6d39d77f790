// Package message makes the messages of segd.v1 (package segdv1) of what a camera's frame comes to: pure functions, of
// which the camera completes the results by its site, name, epoch and lease.
package message

import (
	"fmt"
	"image"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/tracker"
)

// Masks are those of a frame at that stream time, of which the scene is: a table's objects, with what res has of them. The
// time of publication is there to be set.
func Masks(f *ingest.Frame, pts time.Duration, scene *features.Scene, res *tracker.Result, table objects.Table) *segdv1.MaskFrame {
	own := new(struct { // in one piece
		frame               segdv1.MaskFrame
		captured, published timestamppb.Timestamp
	})
	m := &own.frame
	m.Sequence, m.PtsNs = res.Seq, pts.Nanoseconds()
	m.CaptureTime, m.CaptureClock, m.PublishTime = &own.captured, captureClock(f.Clock), &own.published
	SetTime(m.CaptureTime, f.Captured)
	m.Width, m.Height, m.PixelAspect = int32(res.Width), int32(res.Height), f.PixelAspect
	m.Objects, m.RegionsOfInterest = Objects(res, table), regions(scene)
	return m
}

// SetTime makes t that of a moment.
func SetTime(t *timestamppb.Timestamp, to time.Time) {
	t.Seconds, t.Nanos = to.Unix(), int32(to.Nanosecond())
}

// regions are the parts of the image that a scene shows.
func regions(s *features.Scene) []*segdv1.Region {
	all := make([]*segdv1.Region, len(s.Patches))
	own := make([]struct { // of all, in one piece
		region segdv1.Region
		box    segdv1.Box
	}, len(all))
	for i := range s.Patches {
		p := &s.Patches[i]
		all[i] = &own[i].region
		all[i].Box, all[i].Zoom = setBox(&own[i].box, p.Rectangle), int32(p.Zoom)
	}
	return all
}

func setBox(b *segdv1.Box, r image.Rectangle) *segdv1.Box {
	b.X, b.Y, b.Width, b.Height = int32(r.Min.X), int32(r.Min.Y), int32(r.Dx()), int32(r.Dy())
	return b
}

// box is r, nil if it is empty.
func box(r image.Rectangle) *segdv1.Box {
	if r.Empty() {
		return nil
	}
	return setBox(&segdv1.Box{}, r)
}

// Objects are a table's, with what res has of them.
func Objects(res *tracker.Result, table objects.Table) []*segdv1.Object {
	all := make([]*segdv1.Object, len(table.All()))
	own := make([]struct { // of all, in one piece
		object      segdv1.Object
		box, extent segdv1.Box
	}, len(all))
	for i, o := range table.All() {
		r := tracker.Object{}
		if k := slices.IndexFunc(res.Objects, func(r tracker.Object) bool { return r.ID == o.ID }); k >= 0 {
			r = res.Objects[k]
		}
		m := &own[i].object
		m.Id, m.Label, m.Class, m.Automatic, m.State = o.ID, o.Label, o.Class, o.Automatic(), State(o.State)
		m.Box, m.Area, m.Score = setBox(&own[i].box, r.Box), int32(r.Area), r.Score
		m.Counts = counts(r.Mask, res.Width, res.Height)
		if extent := objects.Extent(&r, res); !extent.Empty() {
			m.Extent = setBox(&own[i].extent, extent)
		}
		all[i] = m
	}
	return all
}

// Current is an object as it is by now, with its mask from the newest frame, of that size; m is nil if that lacks it.
func Current(m *segdv1.Object, o *objects.Object, width, height int32) *segdv1.Object {
	switch lost := m == nil || m.State != State(o.State); { // with the stages that followed it, or before the first frame
	case lost:
		m = &segdv1.Object{Id: o.ID, Class: o.Class, State: State(o.State), Box: &segdv1.Box{}, Counts: mask.Empty(int(width), int(height)).String()}
	case m.Label == o.Label && m.Automatic == o.Automatic():
		return m
	default:
		m = proto.CloneOf(m)
	}
	m.Label, m.Automatic = o.Label, o.Automatic()
	return m
}

// OfObject is what there is to be told of an object, as of frame seq.
func OfObject(ev objects.Event, seq uint64) *segdv1.Event {
	kind := [...]segdv1.EventKind{
		objects.Appeared:    segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED,
		objects.Back:        segdv1.EventKind_EVENT_KIND_OBJECT_BACK,
		objects.Occluded:    segdv1.EventKind_EVENT_KIND_OBJECT_OCCLUDED,
		objects.Lost:        segdv1.EventKind_EVENT_KIND_OBJECT_LOST,
		objects.Renamed:     segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED,
		objects.NotFollowed: segdv1.EventKind_EVENT_KIND_OBJECT_NOT_FOLLOWED,
		objects.Removed:     segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED,
	}[ev.Kind]
	return eventOf(kind, &ev.Object, seq, ev.Message)
}

// eventOf is an event of an object, as of frame seq.
func eventOf(kind segdv1.EventKind, o *objects.Object, seq uint64, message string) *segdv1.Event {
	return &segdv1.Event{
		Kind: kind, ObjectId: o.ID, ObjectLabel: o.Label, ObjectClass: o.Class, Sequence: seq, Message: message,
		Box: box(o.Box), Score: o.Score, Extent: box(o.Extent),
	}
}

// counts is m as subscribers are promised it: of the picture's size in every state. What is out of sight may
// have the zero mask, which has no size.
func counts(m mask.RLE, width, height int) string {
	if len(m.Counts) == 0 {
		m = mask.Empty(width, height)
	}
	return m.String()
}

func captureClock(c ingest.Clock) segdv1.CaptureClock {
	switch c {
	case ingest.ClockArrival:
		return segdv1.CaptureClock_CAPTURE_CLOCK_ARRIVAL
	case ingest.ClockSenderReport:
		return segdv1.CaptureClock_CAPTURE_CLOCK_SENDER_REPORT
	case ingest.ClockMedia:
		return segdv1.CaptureClock_CAPTURE_CLOCK_MEDIA
	}
	return segdv1.CaptureClock_CAPTURE_CLOCK_UNSPECIFIED
}

// State is one as subscribers are told it.
func State(s tracker.State) segdv1.State {
	switch s {
	case tracker.Visible:
		return segdv1.State_STATE_VISIBLE
	case tracker.Occluded:
		return segdv1.State_STATE_OCCLUDED
	case tracker.Lost:
		return segdv1.State_STATE_LOST
	}
	return segdv1.State_STATE_UNSPECIFIED
}

// OfRule is what there is to be told of a rule, as of frame seq; o is the zero Object where it is about none.
func OfRule(ev rules.Event, seq uint64, o *objects.Object) *segdv1.Event {
	out := eventOf(segdv1.EventKind_EVENT_KIND_RULE, o, seq, fmt.Sprintf("rule %s: %s", ev.Rule.Name, ev.Rule.What()))
	out.Rule, out.Zone = ev.Rule.Name, ev.Rule.Zone
	return out
}

// OfZone is what there is to be told of an object in a zone or at a line, as of frame seq.
func OfZone(ev zones.Event, seq uint64, o *objects.Object) *segdv1.Event {
	out := eventOf(segdv1.EventKind_EVENT_KIND_UNSPECIFIED, o, seq, "")
	switch ev.Kind {
	case zones.Entered:
		out.Kind, out.Zone = segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED, ev.Name
		out.Message = fmt.Sprintf("zone %s", ev.Name)
	case zones.Left:
		out.Kind, out.Zone, out.StaySeconds = segdv1.EventKind_EVENT_KIND_OBJECT_LEFT, ev.Name, ev.For.Seconds()
		out.Message = fmt.Sprintf("zone %s, after %.1f s", ev.Name, ev.For.Seconds())
	case zones.Stayed:
		out.Kind, out.Zone, out.StaySeconds = segdv1.EventKind_EVENT_KIND_OBJECT_STAYED, ev.Name, ev.For.Seconds()
		out.Message = fmt.Sprintf("zone %s, for %.1f s", ev.Name, ev.For.Seconds())
	case zones.Crossed:
		out.Kind, out.Line, out.Direction = segdv1.EventKind_EVENT_KIND_LINE_CROSSED, ev.Name, segdv1.Direction_DIRECTION_B_TO_A
		way := "from b to a"
		if ev.AToB {
			out.Direction, way = segdv1.Direction_DIRECTION_A_TO_B, "from a to b"
		}
		out.Message = fmt.Sprintf("line %s, %s", ev.Name, way)
	}
	return out
}
