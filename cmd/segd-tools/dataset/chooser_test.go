package dataset

import (
	"slices"
	"testing"
	"time"

	"github.com/segd/segd/bus/segdv1"
)

func TestChooser(t *testing.T) {
	event := func(kind segdv1.EventKind, sequence uint64) *segdv1.Event {
		return &segdv1.Event{Kind: kind, Sequence: sequence, Epoch: testEpoch}
	}
	const lost, accepted, up = segdv1.EventKind_EVENT_KIND_OBJECT_LOST, segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED, segdv1.EventKind_EVENT_KIND_CAMERA_UP
	for _, tc := range []struct {
		name    string
		chooser Chooser
		events  map[uint64]*segdv1.Event // that come before a frame
		scores  map[uint64]float64       // of frames with an object; others have one of .9
		want    []uint64
	}{
		{name: "every", chooser: Chooser{Every: time.Second}, want: []uint64{0, 10, 20}},
		{name: "all", chooser: Chooser{Every: 0}, want: []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}},
		{name: "changed", chooser: Chooser{When: Changed, Every: time.Second},
			events: map[uint64]*segdv1.Event{3: event(lost, 3), 5: event(lost, 5), 6: event(lost, 6), 20: event(accepted, 20), 21: event(up, 0)},
			want:   []uint64{3, 13}}, // the two after it have one, when it is time
		{name: "an event before its frame", chooser: Chooser{When: Changed}, events: map[uint64]*segdv1.Event{3: event(lost, 7)}, want: []uint64{7}},
		{name: "an event after its frame", chooser: Chooser{When: Changed}, events: map[uint64]*segdv1.Event{8: event(lost, 7)}, want: []uint64{8}},
		{name: "corrected", chooser: Chooser{When: Corrected}, events: map[uint64]*segdv1.Event{3: event(lost, 3), 20: event(accepted, 20)}, want: []uint64{20}},
		{name: "unsure", chooser: Chooser{When: Unsure, Unsure: .7, Every: time.Second}, scores: map[uint64]float64{4: .69, 5: .1, 15: .7, 25: .5}, want: []uint64{4, 25}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []uint64
			for seq := range uint64(30) {
				if e := tc.events[seq]; e != nil {
					tc.chooser.Event(e)
				}
				score, there := tc.scores[seq]
				if !there {
					score = .9
				}
				m, _ := frame(t, "gate", seq, &segdv1.Object{Id: 1, Score: score, Box: box(1, 1, 9, 9)}, &segdv1.Object{Id: 2}) // which is not in sight
				if tc.chooser.Take(m) {
					got = append(got, seq)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("it took %d; want %d", got, tc.want)
			}
		})
	}
	// Frames do not come when it is time. What is late by less than Every does not make the next ones late.
	late := Chooser{Every: time.Second}
	var got []time.Duration
	for _, at := range []time.Duration{0, 980, 1010, 1990, 2030, 2990, 3500, 3990, 6300, 7000, 7310} {
		m, _ := frame(t, "gate", 0)
		m.PtsNs = int64(at * time.Millisecond)
		if late.Take(m) {
			got = append(got, at)
		}
	}
	if want := []time.Duration{0, 1010, 2030, 3500, 6300, 7310}; !slices.Equal(got, want) {
		t.Errorf("it took those at %d ms; want %d", got, want)
	}
	// A segd that starts anew counts from the beginning, and a picture of it is wanted at once.
	c := Chooser{Every: time.Minute}
	m, _ := frame(t, "gate", 500)
	again, _ := frame(t, "gate", 0)
	again.Epoch++
	if !c.Take(m) || !c.Take(again) || c.Take(again) {
		t.Error("after a restart the first frame is not taken, or others are")
	}
}
