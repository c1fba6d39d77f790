package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
)

// What was seen on a frame happened when that frame was taken, however long it took to find out; what a client asks
// for, and what the camera does, happens when it happens.
func TestEventTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = 70 * time.Millisecond // less than from one frame to the next: none is dropped
		b := newBench(t, "gate", 60)
		b.cfg.Annotation, b.cfg.Zones = annotate(ptr(3), 3), testZones
		b.onStep = func(*features.Scene, *annotation.Annotation) error { time.Sleep(took); return nil }
		b.through(func(s Source) Source { return hidden{s, 35, 45} })
		c, stop := b.start(t)
		time.Sleep(3*time.Second + took/2) // within a frame
		if _, err := c.Rename(t.Context(), 1, "Anna"); err != nil {
			t.Error(err)
		}
		renamed := time.Now()
		time.Sleep(2500 * time.Millisecond)
		stop()

		taken := map[uint64]time.Time{}
		for _, m := range b.rec.all() {
			taken[m.Sequence] = m.CaptureTime.AsTime()
		}
		var kinds []segdv1.EventKind
		for _, e := range b.rec.happened() {
			kinds = append(kinds, e.Kind)
			want := taken[e.Sequence]
			switch e.Kind {
			case segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED:
				want = renamed
			case segdv1.EventKind_EVENT_KIND_OBJECT_OCCLUDED, segdv1.EventKind_EVENT_KIND_OBJECT_BACK: // which has begun that long ago
				want = taken[e.Sequence-uint64(objects.Settle*testFPS/time.Second)]
			case segdv1.EventKind_EVENT_KIND_CAMERA_UP, segdv1.EventKind_EVENT_KIND_CAMERA_DOWN:
				continue // of no frame
			}
			if got := e.Time.AsTime(); !got.Equal(want) {
				t.Errorf("%v of frame %d at %v; want %v, and not %v later", e.Kind, e.Sequence, got, want, got.Sub(want))
			}
		}
		for _, want := range []segdv1.EventKind{
			segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED, segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED, segdv1.EventKind_EVENT_KIND_OBJECT_OCCLUDED,
			segdv1.EventKind_EVENT_KIND_OBJECT_BACK, segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED, segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED,
			segdv1.EventKind_EVENT_KIND_OBJECT_LEFT, segdv1.EventKind_EVENT_KIND_OBJECT_STAYED, segdv1.EventKind_EVENT_KIND_LINE_CROSSED,
		} {
			assert.Contains(t, kinds, want, "no event %v among", want)
		}
	})
}
