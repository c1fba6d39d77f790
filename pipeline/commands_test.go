package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/pipeline/internal/pending"
)

// live runs a looping camera whose square is marked on frame 0, lets frames 0 to 20
// come, and calls test.
func live(t *testing.T, prepare func(*bench), test func(*testing.T, *bench, *Camera)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 24)
		b.loop = true
		b.cfg.Annotation = annotate(ptr(0), 0)
		if prepare != nil {
			prepare(b)
		}
		c, stop := b.start(t)
		defer func() {
			stop()
			assert.ErrorIs(t, c.Picture(nil), api.ErrDown, "a picture after the end")
			assert.ErrorIs(t, c.Clear(t.Context(), 0), api.ErrDown, "Clear after the end")
		}()
		time.Sleep(2050 * time.Millisecond)
		test(t, b, c)
	})
}

// all returns the masks published so far.
func (r *recorder) all() []*segdv1.MaskFrame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.masks)
}

// newest returns the last masks published.
func (r *recorder) newest() *segdv1.MaskFrame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.masks[len(r.masks)-1]
}

func (r *recorder) event(kind segdv1.EventKind) *segdv1.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			return e
		}
	}
	return nil
}

func TestClear(t *testing.T) {
	for _, id := range []uint32{0, 1} {
		live(t, nil, func(t *testing.T, b *bench, c *Camera) {
			if err := c.Clear(t.Context(), 7); !errors.Is(err, api.ErrUnknownObject) || !strings.Contains(err.Error(), "7; there is [1]") {
				t.Errorf("an unknown object: %v", err)
			}
			last := b.rec.newest()
			require.Len(t, last.Objects, 1, "objects before")
			require.NoError(t, c.Clear(t.Context(), id))
			if seq, objects := c.Objects(); seq != last.Sequence || len(objects) != 0 {
				t.Errorf("frame %d with %v after Clear(%d)", seq, objects, id)
			}
			if o := c.Snapshot().Objects; len(o) != 0 {
				t.Errorf("status still has %v", o)
			}
			time.Sleep(300 * time.Millisecond)
			for _, m := range b.rec.all() {
				if m.Sequence > last.Sequence && len(m.Objects) != 0 {
					t.Errorf("frame %d has %v", m.Sequence, m.Objects)
				}
			}
			if b.rec.newest().Sequence <= last.Sequence {
				t.Error("no frame came")
			}
			e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED)
			if e == nil || e.ObjectId != 1 || e.ObjectLabel != "square" || e.Sequence != last.Sequence {
				t.Errorf("event %v", e)
			}
			// It may begin again under the same number.
			_, err := c.Annotate(t.Context(), annotate(ptr(20), 20))
			require.NoError(t, err)
			if _, objects := c.Objects(); len(objects) != 1 || objects[0].Id != 1 {
				t.Errorf("annotated again: %v", objects)
			}
			require.NoError(t, c.Clear(t.Context(), 0))
			assert.NoError(t, c.Clear(t.Context(), 0), "clearing nothing")
		})
	}
}

// halved shows the upper half of its pictures from frame from on, up to frame to.
type halved struct {
	Source
	from, to uint64
}

func (h halved) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	return h.Source.Run(ctx, func(f *ingest.Frame) {
		if f.Seq >= h.from && f.Seq < h.to {
			f.Height /= 2
			f.Pix = f.Pix[:3*f.Width*f.Height]
		}
		sink(f)
	})
}

// watcher is a meter that knows what there are series of.
type watcher struct {
	nopMeter
	now func() Snapshot
}

func (w *watcher) Watch(now func() Snapshot) { w.now = now }

func (w *watcher) has(id uint32) bool {
	return slices.ContainsFunc(w.now().Objects, func(o objects.Object) bool { return o.ID == id })
}

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Objects that are gone because the picture has another size are told like removed
// ones, with the reason, whether or not their frame marks one of them anew.
func TestNewSizeRemovesObjects(t *testing.T) {
	const from, to = 25, 45
	var log *logged
	var meter *watcher
	prepare := func(b *bench) {
		log, meter = &logged{}, &watcher{}
		b.through(func(s Source) Source { return halved{s, from, to} })
		b.cfg.Meter = meter
		b.cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("marked again %t", again), func(t *testing.T) {
			live(t, prepare, func(t *testing.T, b *bench, c *Camera) {
				if !meter.has(1) {
					t.Fatal("the object has no series")
				}
				if again {
					a := annotate(ptr(from), 1) // the pictures began anew with frame 24
					a.Height, a.Background = testHeight/2, nil
					a.Objects[0].Scribbles[0].Points[0][1] = testHeight/2 - 2
					require.NoError(t, c.notes.Add(pending.New(a)))
				}
				time.Sleep(time.Second) // frame 30
				want := []string{"CAMERA_UP", "ANNOTATION_ACCEPTED", "OBJECT_APPEARED", "OBJECT_REMOVED"}
				left := 0
				if again {
					want = append(want, "ANNOTATION_ACCEPTED", "OBJECT_APPEARED")
					left = 1
				}
				assert.Equal(t, want, b.rec.kinds(), "events")
				e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED)
				if e == nil || e.ObjectId != 1 || e.ObjectLabel != "square" || e.Sequence != from-1 ||
					e.Message != "the picture size changed from 64×48 to 64×24" {
					t.Errorf("event %v", e)
				}
				if got := strings.Count(log.String(), "objects forgotten"); got != 1 ||
					!strings.Contains(log.String(), `level=WARN msg="objects forgotten, the picture size changed from 64×48 to 64×24" camera=gate objects=[1] seq=25`) {
					t.Errorf("%d lines in the log:\n%s", got, log)
				}
				if _, objects := c.Objects(); len(objects) != left {
					t.Errorf("listed: %v", objects)
				}
				if o := c.State().Objects; len(o) != left {
					t.Errorf("status has %v", o)
				}
				if o := c.Snapshot().Objects; again && o[0].VisibleFrames > 6 {
					t.Errorf("seen in %d frames of 6", o[0].VisibleFrames)
				}
				if meter.has(1) != again {
					t.Errorf("series of the object: %t, want %t", !again, again)
				}

				time.Sleep(2 * time.Second) // frame 50
				if n := strings.Count(log.String(), "objects forgotten"); n != 1+left {
					t.Errorf("back at the old size: %d lines, want %d:\n%s", n, 1+left, log)
				}
				if meter.has(1) {
					t.Error("back at the old size: the object still has series")
				}
				_, err := c.Annotate(t.Context(), annotate(ptr(50), 2))
				assert.NoError(t, err, "marking it at the old size")
			})
		})
	}
}

func TestRename(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		var f *annotation.Fault
		if _, err := c.Rename(t.Context(), 1, ""); !errors.As(err, &f) || f.Field != "label" {
			t.Errorf("an empty label: %v", err)
		}
		if _, err := c.Rename(t.Context(), 9, "nobody"); !errors.Is(err, api.ErrUnknownObject) {
			t.Errorf("an unknown object: %v", err)
		}
		before := b.rec.newest()
		o, err := c.Rename(t.Context(), 1, "door")
		if err != nil || o.Label != "door" || o.Id != 1 || o.Area != before.Objects[0].Area {
			t.Fatalf("got %v, %v", o, err)
		}
		assert.Equal(t, "square", before.Objects[0].Label, "what was published was changed")
		if _, objects := c.Objects(); objects[0].Label != "door" {
			t.Errorf("listed as %v", objects)
		}
		if s := c.Snapshot(); s.Objects[0].Label != "door" {
			t.Errorf("status has %v", s.Objects)
		}
		_, err = c.Rename(t.Context(), 1, "door")
		assert.NoError(t, err, "the same label")
		// An annotation renames too.
		a := annotate(nil, 0)
		a.Objects[0].Label, a.Objects[0].Scribbles = "gate", nil
		_, err = c.Annotate(t.Context(), a)
		require.NoError(t, err)
		time.Sleep(300 * time.Millisecond)
		if m := b.rec.newest(); m.Objects[0].Label != "gate" {
			t.Errorf("published as %v", m.Objects)
		}
		var told []string
		for _, e := range b.rec.events {
			if e.Kind == segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED {
				told = append(told, e.ObjectLabel+" "+e.Message)
			}
		}
		assert.Equal(t, []string{`door it was "square"`, `gate it was "door"`}, told, "told")
	})
}

// Two people look at what their strokes would give; the stream neither changes nor
// stops, and a third is told to come again.
func TestPreview(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		a := annotate(ptr(12), 12)
		a.Objects[0].ID = 2
		m, err := c.Preview(t.Context(), a)
		if err != nil || m.Sequence != 12 || m.Width != testWidth || m.Height != testHeight || len(m.Objects) != 2 {
			t.Fatalf("got %v, %v", m, err)
		}
		got, err := mask.Parse(m.Objects[1].Counts, testWidth, testHeight)
		require.NoError(t, err)
		if iou := mask.IoU(got, squareMask(12)); iou < 0.8 || m.Objects[1].Id != 2 {
			t.Errorf("object %d has IoU %.2f with the square", m.Objects[1].Id, iou)
		}
		if _, objects := c.Objects(); len(objects) != 1 {
			t.Errorf("a preview left %v", objects)
		}
		_, err = c.Preview(t.Context(), annotate(ptr(1000), 0))
		assert.ErrorIs(t, err, annotation.ErrFrame, "a frame to come")
		for range maxPreviews {
			c.previews <- struct{}{}
		}
		_, err = c.Preview(t.Context(), a)
		assert.ErrorIs(t, err, api.ErrBusy, "one too many")
		for range maxPreviews {
			<-c.previews
		}
	})
}

// findingExtractor finds things where large ones are looked for, too.
type findingExtractor struct {
	Extractor
	found *[]features.Detection
	fault *error
}

func (f findingExtractor) Extract(dst *features.Scene, bgr []byte, width, height int, plan features.Plan) error {
	err := f.Extractor.Extract(dst, bgr, width, height, plan)
	if plan.Large.Empty() { // it looks for nothing
		return err
	}
	if !plan.Still {
		return errors.New("the picture is not planned as one that will be seen again")
	}
	dst.Found = append(dst.Found, *f.found...)
	return errors.Join(err, *f.fault)
}

// What the network finds in a kept frame is listed, and nothing is marked. A model that finds nothing lists nothing.
func TestThings(t *testing.T) {
	var found []features.Detection
	var fault error
	live(t, func(b *bench) {
		extractors := b.cfg.NewExtractor
		b.cfg.NewExtractor = func() (Extractor, error) {
			e, err := extractors()
			return findingExtractor{e, &found, &fault}, err
		}
	}, func(t *testing.T, _ *bench, c *Camera) {
		m, err := c.Things(t.Context(), 12)
		if err != nil || m.Sequence != 12 || m.Width != testWidth || m.Height != testHeight || m.Objects == nil || len(m.Objects) != 0 {
			t.Fatalf("nothing is found: %v, %v", m, err)
		}
		found = []features.Detection{{Box: image.Rect(2, 3, 12, 9), Class: "dog", Score: 0.5}}
		m, err = c.Things(t.Context(), 12)
		if err != nil || len(m.Objects) != 1 {
			t.Fatalf("a dog is found: %v, %v", m, err)
		}
		if o := m.Objects[0]; o.Id != 1 || o.Class != "dog" || o.Box.X != 2 || o.Box.Height != 6 || o.Area != 60 || o.Score != 0.5 {
			t.Errorf("a dog is %v", o)
		}
		if _, objects := c.Objects(); len(objects) != 1 {
			t.Errorf("the objects are %v", objects)
		}
		_, err = c.Things(t.Context(), 1000)
		assert.ErrorIs(t, err, annotation.ErrFrame, "a frame to come")
		fault = errors.New("out of order")
		_, err = c.Things(t.Context(), 12)
		assert.ErrorIs(t, err, fault, "the network fails")
		for range maxPreviews {
			c.previews <- struct{}{}
		}
		_, err = c.Things(t.Context(), 12)
		assert.ErrorIs(t, err, api.ErrBusy, "one too many")
		for range maxPreviews {
			<-c.previews
		}
	})
}

// A command waits for the frame in hand, and no longer than it may.
func TestCommandsWait(t *testing.T) {
	slow := make(chan struct{})
	live(t, func(b *bench) {
		slow = make(chan struct{})
		b.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			if s.Seq == 20 {
				<-slow
			}
			return nil
		}
	}, func(t *testing.T, _ *bench, c *Camera) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, c.Clear(ctx, 1), context.DeadlineExceeded, "while a frame hangs")
		done := make(chan error)
		go func() { done <- c.Clear(t.Context(), 1) }()
		synctest.Wait()
		close(slow)
		assert.NoError(t, <-done, "after it")
	})
}

func TestMasksAndPicture(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		want := b.rec.all()[7]
		if got, err := c.Masks(7); err != nil || got != want {
			t.Errorf("frame 7: %v, %v", got, err)
		}
		if _, err := c.Masks(999); !errors.Is(err, api.ErrFrame) || !strings.Contains(err.Error(), "999 has not come yet; accepted: 0 to 20") {
			t.Errorf("a frame to come: %v", err)
		}
		var seen []byte
		err := c.Picture(func(m *segdv1.MaskFrame, p *privacy.Picture) error {
			bgr := p.BGR(false)
			if m.Sequence != 20 || len(bgr) != 3*testWidth*testHeight {
				t.Errorf("frame %d with %d bytes", m.Sequence, len(bgr))
			}
			seen = bytes.Clone(bgr)
			// The frames that come meanwhile do not take the picture away.
			time.Sleep(time.Second)
			if !bytes.Equal(seen, bgr) {
				t.Error("the picture changed while it was used")
			}
			return nil
		})
		require.NoError(t, err)
		middle := square(20).Min.Add(square(20).Size().Div(2))
		if p := 3 * (middle.Y*testWidth + middle.X); seen[p+2] < 150 {
			t.Errorf("the square's middle is %v", seen[p:p+3])
		}
		time.Sleep(30 * time.Second)
		if _, err := c.Masks(7); !errors.Is(err, api.ErrFrame) || !strings.Contains(err.Error(), "7 is no longer kept") {
			t.Errorf("long ago: %v", err)
		}
		assert.Equal(t, maxFrames, len(c.newest.frames), "frames kept")
	})
}

// An annotation that no frame comes for is refused with the reason.
func TestAnnotateWhileDown(t *testing.T) {
	live(t, nil, func(t *testing.T, _ *bench, c *Camera) {
		c.down(errors.New("the cable is out"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Annotate(ctx, annotate(ptr(500), 0))
		if !errors.Is(err, api.ErrDown) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the cable is out") {
			t.Errorf("got %v", err)
		}
	})
}
