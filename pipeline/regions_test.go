package pipeline

import (
	"image"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
)

// extracted remembers how many superpixels each frame had.
type extracted struct {
	nopMeter
	mu          sync.Mutex
	superpixels []int
}

func (e *extracted) Extracted(s *features.Scene) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.superpixels = append(e.superpixels, s.N)
}

func boxOf(b *segdv1.Box) image.Rectangle {
	return image.Rect(int(b.X), int(b.Y), int(b.X+b.Width), int(b.Y+b.Height))
}

// A frame's message tells in which parts of it objects were looked for, and the meter of its
// superpixels: none as long as there are no objects, all of the picture of a frame that was
// annotated and of those soon after it, then what is round the object.
func TestRegionsOfInterest(t *testing.T) {
	const marked = 3
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		meter := &extracted{}
		b.cfg.Annotation, b.cfg.Meter = annotate(ptr(marked), marked), meter
		b.run(t.Context(), t)
		if len(b.rec.masks) != 30 || len(meter.superpixels) != 30 {
			t.Fatalf("%d masks and %d scenes of 30 frames", len(b.rec.masks), len(meter.superpixels))
		}
		all := image.Rect(0, 0, testWidth, testHeight)
		for n, m := range b.rec.masks {
			var seen []image.Rectangle
			for _, r := range m.RegionsOfInterest {
				seen = append(seen, boxOf(r.Box))
				if r.Zoom != 1 {
					t.Errorf("frame %d: zoom %d of a picture that has no more to be seen", n, r.Zoom)
				}
			}
			superpixels := meter.superpixels[n]
			switch {
			case n < marked:
				if len(seen) > 0 || superpixels > 0 {
					t.Errorf("frame %d has no objects, and %d superpixels in %v", n, superpixels, seen)
				}
			case n <= marked+8:
				if !slices.Equal(seen, []image.Rectangle{all}) || superpixels == 0 {
					t.Errorf("frame %d is annotated, or one soon before it is, and has %d superpixels in %v; want some in %v", n, superpixels, seen, all)
				}
			case n > marked+13:
				if len(seen) != 1 || seen[0] == all || !seen[0].In(all) || !boxOf(m.Objects[0].Box).In(seen[0]) {
					t.Errorf("frame %d: regions %v; want one, a part of %v round the object's %v", n, seen, all, m.Objects[0].Box)
				}
				if superpixels == 0 || superpixels >= meter.superpixels[marked] {
					t.Errorf("frame %d: %d superpixels; want some, fewer than all of the picture's %d", n, superpixels, meter.superpixels[marked])
				}
			}
		}
	})
}
