package pipeline

import (
	"image"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/tracker"
)

// An object's extent is published while it is hidden, too, and with what happens to it: when it is lost, the last one.
func TestExtents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 120)
		b.cfg.Annotation, b.cfg.Zones = annotate(ptr(3), 3), testZones
		b.through(func(s Source) Source { return hidden{s, 35, 100} })
		b.onResult = func(res *tracker.Result) {
			for i := range res.Objects {
				if o := &res.Objects[i]; o.State != tracker.Lost {
					o.Extent = image.Rect(50, 30, 70, 60).Add(image.Pt(int(res.Seq)%10, 0)) // reaches out of the picture
				}
			}
		}
		b.run(t.Context(), t)
		extents := map[uint64]*segdv1.Box{} // by frame, of what is lost the last one
		var last *segdv1.Box
		hidden := 0
		for _, m := range b.rec.all() {
			for _, o := range m.Objects {
				if lost := o.State == segdv1.State_STATE_LOST; lost != (o.Extent == nil) || !lost && o.Extent.X != 50+int32(m.Sequence)%10 {
					t.Fatalf("frame %d: %v; want the extent that its track has", m.Sequence, o)
				}
				if o.Extent != nil {
					last = o.Extent
					if o.Area == 0 {
						hidden++
					}
				}
				extents[m.Sequence] = last
			}
		}
		if hidden == 0 {
			t.Error("no frame in which it is hidden and has an extent")
		}
		var kinds []segdv1.EventKind
		for _, e := range b.rec.happened() {
			kinds = append(kinds, e.Kind)
			var want *segdv1.Box
			if e.ObjectId != 0 {
				want = extents[e.Sequence]
			}
			if !proto.Equal(e.Extent, want) {
				t.Errorf("%v of frame %d: extent %v; want %v", e.Kind, e.Sequence, e.Extent, want)
			}
		}
		for _, want := range []segdv1.EventKind{
			segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED, segdv1.EventKind_EVENT_KIND_OBJECT_OCCLUDED, segdv1.EventKind_EVENT_KIND_OBJECT_LOST,
			segdv1.EventKind_EVENT_KIND_OBJECT_BACK, segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED,
		} {
			assert.Contains(t, kinds, want, "no event %v among", want)
		}
	})
}

// An object with an extent is where the foot of that is, and not that of its mask.
func TestZonesByExtent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		b.cfg.Annotation, b.cfg.Zones = annotate(ptr(3), 3), testZones
		b.onResult = func(res *tracker.Result) {
			for i := range res.Objects {
				res.Objects[i].Extent = image.Rect(2, 8, 18, 40) // left of the line, where the mask leaves
			}
		}
		b.run(t.Context(), t)
		assert.Equal(t, []string{"ENTERED all", "STAYED all"}, b.rec.zoned(), "events")
	})
}
