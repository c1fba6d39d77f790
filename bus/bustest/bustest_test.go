package bustest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
)

// A message as segd sends it passes, and each promise that it breaks is told.
func TestCheck(t *testing.T) {
	now := timestamppb.Now()
	frame := func(change func(*segdv1.MaskFrame, *segdv1.Object)) proto.Message {
		o := &segdv1.Object{Id: 1, State: segdv1.State_STATE_VISIBLE, Box: &segdv1.Box{X: 2, Y: 1, Width: 1, Height: 1}, Area: 1, Score: 0.5, Counts: "714"}
		m := &segdv1.MaskFrame{Site: "home", Camera: "gate", Width: 4, Height: 3, CaptureTime: now, PublishTime: now,
			CaptureClock: segdv1.CaptureClock_CAPTURE_CLOCK_ARRIVAL, Objects: []*segdv1.Object{o}}
		change(m, o)
		return m
	}
	for _, tt := range []struct {
		name string
		m    proto.Message
		err  string // "": it passes
	}{
		{"as it is sent", frame(func(*segdv1.MaskFrame, *segdv1.Object) {}), ""},
		{"no mask", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) { o.Counts = "" }), "objects[0].counts"},
		{"another area", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) { o.Area = 2 }), "area 2"},
		{"another box", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) { o.Box.X = 1 }), "box (1,1)-(2,2)"},
		{"hidden with a mask", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) { o.State = segdv1.State_STATE_LOST }), "STATE_LOST with 1 pixels"},
		{"hidden with an extent", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) {
			o.State, o.Counts, o.Area, o.Score, o.Box = segdv1.State_STATE_OCCLUDED, "<", 0, 0, nil
			o.Extent = &segdv1.Box{X: -1, Y: -1, Width: 3, Height: 5}
		}), ""},
		{"an extent far outside", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) { o.Extent = &segdv1.Box{X: 8, Width: 1, Height: 1} }), "objects[0].extent"},
		{"a high score", frame(func(_ *segdv1.MaskFrame, o *segdv1.Object) { o.Score = 1.5 }), "score 1.5"},
		{"no time", frame(func(m *segdv1.MaskFrame, _ *segdv1.Object) { m.CaptureTime = nil }), "capture_time"},
		{"an event", &segdv1.Event{Site: "home", Camera: "gate", Time: now, Kind: segdv1.EventKind_EVENT_KIND_CAMERA_UP}, ""},
		{"an event of no time", &segdv1.Event{Site: "home", Camera: "gate", Kind: segdv1.EventKind_EVENT_KIND_CAMERA_UP}, "want a kind and a time"},
		{"a status of no time", &segdv1.Status{Site: "home", Camera: "gate"}, "status without a time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Check(tt.m); tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("Check = %v; want %q", err, tt.err)
			}
		})
	}
}
