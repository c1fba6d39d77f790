package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects/privacy"
)

// thumbnailMeter counts thumbnails.
type thumbnailMeter struct {
	nopMeter
	made, leftOut atomic.Int32
}

func (m *thumbnailMeter) Thumbnails(made, _, leftOut int) {
	m.made.Add(int32(made))
	m.leftOut.Add(int32(leftOut))
}

// What an object did in a zone before an event told of it has a thumbnail of then.
func TestThumbnailOfThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		b.detecting(&finder{}, 200*time.Millisecond)
		meter := &thumbnailMeter{}
		b.cfg.Zones, b.cfg.Meter = testZones, meter
		b.run(t.Context(), t) // which holds thumbnails against the frames
		entered, appeared := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED), b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED)
		if entered == nil || appeared == nil || entered.Sequence >= appeared.Sequence || entered.Thumbnail == appeared.Thumbnail ||
			!strings.HasSuffix(entered.Thumbnail, "-256") || !strings.HasSuffix(appeared.Thumbnail, "-256") {
			t.Errorf("%v and %v; want two frames' thumbnails", entered, appeared)
		}
		if meter.made.Load() < 2 || meter.leftOut.Load() != 0 {
			t.Errorf("%d made, %d left out", meter.made.Load(), meter.leftOut.Load())
		}
	})
}

// stuck is a recorder whose bus takes no events until release is closed.
type stuck struct {
	*recorder
	release chan struct{}
}

func (s stuck) PublishEvent(e *segdv1.Event) error {
	<-s.release
	return s.recorder.PublishEvent(e)
}

// Few frames wait for thumbnails while the bus takes no events, whatever number of events each has; the other thumbnails
// are left out and counted, and no frame waits.
func TestThumbnailsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 60)
		meter := &thumbnailMeter{}
		bus := stuck{b.rec, make(chan struct{})}
		b.cfg.Annotation, b.cfg.Meter, b.cfg.Publisher = annotate(ptr(3), 3), meter, bus
		c, err := New(b.cfg)
		require.NoError(t, err)
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(t.Context()) })
		time.Sleep(time.Second + 50*time.Millisecond) // it has appeared
		const frames = 10
		for i := range frames {
			for k := range 2 {
				if _, err := c.Rename(t.Context(), 1, fmt.Sprint(i, k)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second / testFPS)
		}
		const room = maxPictured - 1 // one waits for its appearance
		assert.EqualValues(t, 2*(frames-room), meter.leftOut.Load(), "are left out")
		close(bus.release)
		running.Wait()
		if n := meter.made.Load(); n != maxPictured {
			t.Errorf("%d are made; want one of each frame, of which there are %d", n, maxPictured)
		}
		b.rec.mu.Lock()
		defer b.rec.mu.Unlock()
		var renamed []bool
		for _, e := range b.rec.events {
			if e.Kind == segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED {
				renamed = append(renamed, e.Thumbnail != "")
			}
		}
		if want := append(slices.Repeat([]bool{true}, 2*room), make([]bool, 2*(frames-room))...); !slices.Equal(renamed, want) {
			t.Errorf("thumbnails %v; want %v", renamed, want)
		}
		if len(b.rec.masks) != 60 || c.events.pictured != 0 {
			t.Errorf("%d frames have masks, %d still wait", len(b.rec.masks), c.events.pictured)
		}
	})
}

// broken is a viewer that panics when it makes a thumbnail.
type broken struct{ *recorder }

func (broken) Thumbnail(*segdv1.MaskFrame, *privacy.Picture, uint32) (string, int, int) {
	panic("no picture")
}

// A panic costs the thumbnail, and neither the event nor the camera.
func TestThumbnailPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		meter := &thumbnailMeter{}
		b.cfg.Annotation, b.cfg.Meter, b.cfg.Viewer = annotate(ptr(3), 3), meter, broken{b.rec}
		c, err := New(b.cfg)
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context()))
		if e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED); e == nil || e.Thumbnail != "" || meter.leftOut.Load() == 0 {
			t.Errorf("%v, %d left out", e, meter.leftOut.Load())
		}
	})
}
