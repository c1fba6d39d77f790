package message

import (
	"image"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/tracker"
)

// Whatever state an object is in, its mask is one of the picture's size.
func TestMaskInEveryState(t *testing.T) {
	const width, height = 8, 6
	bits := make([]uint8, width*height)
	copy(bits[width+1:], []uint8{1, 1})
	seen := mask.Encode(bits, width, height)
	res := &tracker.Result{Width: width, Height: height, Objects: []tracker.Object{
		{ID: 1, State: tracker.Visible, Mask: seen, Area: seen.Area(), Box: seen.Box(), Score: 0.5},
		{ID: 2, State: tracker.Occluded, Mask: mask.Empty(width, height)},
		{ID: 3, State: tracker.Occluded},
		{ID: 4, State: tracker.Lost}, // it rests
	}}
	m := Masks(&ingest.Frame{Captured: time.Now(), Clock: ingest.ClockArrival}, 0, &features.Scene{}, res, tableOf(res))
	m.Site, m.Camera, m.PublishTime = "home", "gate", timestamppb.Now()
	assert.NoError(t, bustest.Check(m))
}

// Of an object that was hidden when the stages ended, lists say as the status does that it is lost.
func TestHiddenIsLostWithTheStages(t *testing.T) {
	res := &tracker.Result{Width: 8, Height: 6, Objects: []tracker.Object{{ID: 1, State: tracker.Occluded}}}
	table := tableOf(res)
	m := Objects(res, table)[0]
	o := table.All()[0]
	if got := Current(m, &o, 8, 6); got != m || got.State != segdv1.State_STATE_OCCLUDED {
		t.Errorf("while they run: %v", got)
	}
	table, _ = table.Apply(objects.Lose{Reason: "they end"})
	o = table.All()[0]
	if got := Current(m, &o, 8, 6); got.State != segdv1.State_STATE_LOST || got.Id != 1 {
		t.Errorf("after them: %v", got)
	}
}

// An extent is published with or without a mask, and as far outside of the picture as is promised.
func TestExtent(t *testing.T) {
	res := &tracker.Result{Width: 8, Height: 6}
	for i, tt := range []struct{ is, want image.Rectangle }{
		{image.Rect(1, 2, 3, 4), image.Rect(1, 2, 3, 4)},
		{image.Rect(-2, 3, 5, 11), image.Rect(-2, 3, 5, 11)},
		{image.Rect(-100, -100, 100, 100), image.Rect(-8, -6, 16, 12)},
		{image.Rectangle{}, image.Rectangle{}},
		{image.Rect(16, 0, 20, 4), image.Rectangle{}},
	} {
		res.Objects = []tracker.Object{{ID: uint32(i + 1), State: tracker.Occluded, Extent: tt.is}}
		m := Masks(&ingest.Frame{Captured: time.Now(), Clock: ingest.ClockArrival}, 0, &features.Scene{}, res, tableOf(res))
		m.Site, m.Camera, m.PublishTime = "home", "gate", timestamppb.Now()
		assert.NoError(t, bustest.Check(m))
		e := m.Objects[0].Extent
		if got := image.Rect(int(e.GetX()), int(e.GetY()), int(e.GetX()+e.GetWidth()), int(e.GetY()+e.GetHeight())); got != tt.want || (e == nil) != tt.want.Empty() {
			t.Errorf("%v is published as %v; want %v", tt.is, e, tt.want)
		}
	}
}

// A message is made of a few pieces of memory, not of one for each object, region and box.
func TestMasksAllocs(t *testing.T) {
	frame, scene := &ingest.Frame{}, &features.Scene{}
	res := &tracker.Result{Width: 8, Height: 8}
	allocs := func() float64 {
		table := tableOf(res)
		return testing.AllocsPerRun(100, func() { Masks(frame, 0, scene, res, table) })
	}
	// The message with its times, and of objects and regions a list and what is in it; and the text of each mask.
	const most = 5
	for n := range 4 {
		if got := allocs(); got > most+float64(n) {
			t.Errorf("%v allocations for %d objects and regions; want %d at most, and one for each mask", got, n, most)
		}
		box := image.Rect(n, 0, n+2, 3)
		scene.Patches = append(scene.Patches, features.Patch{Rectangle: box, Zoom: 1})
		res.Objects = append(res.Objects, tracker.Object{ID: uint32(4 - n), Mask: mask.RLE{}, Box: box, Extent: box})
	}
	m := Masks(frame, 0, scene, res, tableOf(res))
	for i, o := range m.Objects {
		if x := int32(3 - i); o.Id != uint32(i+1) || o.Box.X != x || m.RegionsOfInterest[i].Box.X != int32(i) {
			t.Errorf("object %d: %v, region %v", i, o, m.RegionsOfInterest[i])
		}
	}
}

// What is seen larger is told with its zoom, and before what it lies in.
func TestRegionsZoomed(t *testing.T) {
	const width, height = 1440, 1080 // superpixels are grown on half of that
	e, err := features.New(features.Config{Superpixels: 48}, nil)
	require.NoError(t, err)
	scene := &features.Scene{}
	plan := features.Plan{Whole: true, Crops: []features.Crop{{Rectangle: image.Rect(100, 200, 400, 420), Zoom: 2}}}
	require.NoError(t, e.Extract(scene, make([]byte, 3*width*height), width, height, plan))
	var got [][5]int32
	for _, r := range Masks(&ingest.Frame{}, 0, scene, &tracker.Result{Width: width, Height: height}, objects.Table{}).RegionsOfInterest {
		got = append(got, [5]int32{r.Box.X, r.Box.Y, r.Box.Width, r.Box.Height, r.Zoom})
	}
	assert.Empty(t, cmp.Diff([][5]int32{{100, 200, 300, 220, 2}, {0, 0, width, height, 1}}, got), "-want +got (x, y, width, height, zoom)")
}

// tableOf is one of the objects of a result.
func tableOf(res *tracker.Result) objects.Table {
	table, _ := objects.Table{}.Apply(objects.Observe{Result: res})
	return table
}
