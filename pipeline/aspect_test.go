package pipeline

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/pipeline/internal/memory"
	"github.com/segd/segd/tracker"
)

// The aspect of a camera's pixels goes with every frame to what makes scenes of it, of new frames, of earlier
// ones and of those that objects are remembered by, to the tracker's plans and to subscribers, and no mask is stretched by it.
func TestPixelAspect(t *testing.T) {
	const aspect = 16.0 / 9
	want := aspect * testHeight / testWidth
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 20)
		var mu sync.Mutex
		var seen []float64
		b.onExtract = func(_ *features.Scene, plan features.Plan) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, plan.PixelAspect)
			return nil
		}
		b.onPicture = func(_ *features.Scene, p tracker.Picture) {
			assert.NoError(t, p.Scene(new(features.Scene), features.Plan{Whole: true}))
		}
		check := func() {
			t.Helper()
			for _, a := range seen {
				if math.Abs(a-want) > 1e-9 {
					t.Fatalf("pixels %v times as wide as high, want %v", a, want)
				}
			}
		}
		b.cfg.Annotation = annotate(ptr(3), 3)
		b.cfg.Open = func(o ingest.Observer) (Source, error) {
			return ingest.Open(ingest.Config{Camera: "gate", URL: "dir:" + b.dir, FPS: testFPS, Aspect: aspect, Observer: o})
		}
		c, err := New(b.cfg)
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context()))
		if len(seen) < 40 {
			t.Errorf("%d scenes of 20 frames, each made twice", len(seen))
		}
		check()
		for _, m := range b.rec.masks {
			if math.Abs(m.PixelAspect-want) > 1e-9 || m.Width != testWidth || m.Height != testHeight {
				t.Fatalf("masks of %d×%d, pixels %v", m.Width, m.Height, m.PixelAspect)
			}
		}
		if o := b.rec.masks[len(b.rec.masks)-1].Objects; len(o) != 1 || o[0].Area == 0 {
			t.Errorf("objects %v", o)
		}

		// The next stages learn the objects of pictures from before the first frame.
		s, err := memory.Shown(b.rec.masks[10], c.newest.table(), make([]byte, 3*testWidth*testHeight), false)
		if err != nil || s == nil || math.Abs(s.PixelAspect-want) > 1e-9 {
			t.Fatalf("remembered with %+v, %v", s, err)
		}
		again, err := New(b.cfg)
		require.NoError(t, err)
		again.memory.Add(s)
		first := true
		b.onExtract = func(_ *features.Scene, plan features.Plan) error {
			if first { // before any frame
				first, seen = false, []float64{plan.PixelAspect}
			}
			return nil
		}
		require.NoError(t, again.Run(t.Context()))
		check()
		if a := (annotation.Annotation{Width: 1, Height: 1, PixelAspect: 257}); a.Validate() == nil {
			t.Error("pixels of a line are valid")
		}
	})
}
