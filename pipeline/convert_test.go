package pipeline

import (
	"image"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// A message is made of a few pieces of memory, not of one for each object, region and box.
func TestMaskFrameAllocs(t *testing.T) {
	it := &item{frame: &ingest.Frame{}, scene: &features.Scene{}}
	res := &tracker.Result{Width: 8, Height: 8}
	allocs := func() float64 {
		return testing.AllocsPerRun(100, func() { maskFrame("home", "gate", it, res, new(automatic).kind) })
	}
	// The message, a time, and of objects and regions a list and what is in it.
	const most = 6
	for n := range 4 {
		if got := allocs(); got > most {
			t.Errorf("%v allocations for %d objects and regions; want %d at most", got, n, most)
		}
		box := image.Rect(n, 0, n+2, 3)
		it.scene.Patches = append(it.scene.Patches, features.Patch{Rectangle: box, Zoom: 1})
		res.Objects = append(res.Objects, tracker.Object{ID: uint32(4 - n), Mask: mask.RLE{}, Box: box})
	}
	m := maskFrame("home", "gate", it, res, new(automatic).kind)
	for i, o := range m.Objects {
		if x := int32(3 - i); o.Id != uint32(i+1) || o.Box.X != x || m.RegionsOfInterest[i].Box.X != int32(i) {
			t.Errorf("object %d: %v, region %v", i, o, m.RegionsOfInterest[i])
		}
	}
}
