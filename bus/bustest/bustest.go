// Package bustest holds messages against what segd.proto promises: as subscribers do, with
// bus.Unmarshal, and what that lets pass because it does no harm.
package bustest

import (
	"errors"
	"fmt"
	"image"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// Unmarshal is bus.Unmarshal, whose arguments it takes, and holds m against what else is promised of it.
func Unmarshal(contentType string, data []byte, m proto.Message) error {
	if err := bus.Unmarshal(contentType, data, m); err != nil {
		return err
	}
	return kept(m)
}

// Check sends m and holds what arrives against the promises, in both encodings. It takes the site and
// the times for given that a bus.Bus sets when they are missing.
func Check(m proto.Message) error {
	binary, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return err
	}
	arrived := m.ProtoReflect().New().Interface
	return errors.Join(Unmarshal(bus.TypeProtobuf, binary, arrived()), Unmarshal(bus.TypeJSON, text, arrived()))
}

// kept tells which promises m breaks.
func kept(m proto.Message) error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf("bustest: "+format, args...)) }
	switch m := m.(type) {
	case *segdv1.MaskFrame:
		if m.CaptureTime == nil || m.PublishTime == nil || m.CaptureClock == segdv1.CaptureClock_CAPTURE_CLOCK_UNSPECIFIED {
			bad("frame %d: capture_time %v by %v, publish_time %v; want all of them", m.Sequence, m.CaptureTime, m.CaptureClock, m.PublishTime)
		}
		for _, o := range m.Objects {
			runs, err := mask.Parse(o.Counts, int(m.Width), int(m.Height))
			if err != nil {
				bad("%w", err)
				continue
			}
			b := o.GetBox()
			box := image.Rect(int(b.GetX()), int(b.GetY()), int(b.GetX()+b.GetWidth()), int(b.GetY()+b.GetHeight()))
			if int(o.Area) != runs.Area() || box != runs.Box() {
				bad("frame %d, object %d: area %d and box %v of a mask of %d pixels in %v", m.Sequence, o.Id, o.Area, box, runs.Area(), runs.Box())
			}
			if o.State == segdv1.State_STATE_UNSPECIFIED || (o.State == segdv1.State_STATE_VISIBLE) != (o.Area > 0) {
				bad("frame %d, object %d: it is %v with %d pixels", m.Sequence, o.Id, o.State, o.Area)
			}
			if !(o.Score >= 0 && o.Score <= 1) {
				bad("frame %d, object %d: score %v; want 0 to 1", m.Sequence, o.Id, o.Score)
			}
		}
	case *segdv1.Event:
		if m.Time == nil || m.Kind == segdv1.EventKind_EVENT_KIND_UNSPECIFIED {
			bad("event %v at %v; want a kind and a time", m.Kind, m.Time)
		}
		if !(m.Score >= 0 && m.Score <= 1) || m.Box == nil && m.Score != 0 {
			bad("event %v: box %v and score %v; want 0 to 1, and 0 without a box", m.Kind, m.Box, m.Score)
		}
		if (m.Width > 0) != (m.CaptureTime != nil) {
			bad("event %v: a picture %d wide of %v; want the size and the time of its frame, or neither", m.Kind, m.Width, m.CaptureTime)
		}
	case *segdv1.Status:
		if m.Time == nil {
			bad("status without a time")
		}
	}
	return errors.Join(faults...)
}
