package pipeline

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// A panic, or frame after frame that fails, costs the stages, but not the objects: what was
// configured and what was marked since, with the names given since, is followed on, and what
// was removed is not. The folder begins anew with the new stages, so the objects have jumped.
func TestObjectsOutliveTheStages(t *testing.T) {
	errBad := errors.New("bad picture")
	for _, tt := range []struct {
		name  string
		frame uint64 // that the annotation names
		fails func(seq uint64) error
	}{
		{"a panic of the tracker", 0, func(seq uint64) error {
			if seq == 8 {
				panic("a wild index")
			}
			return nil
		}},
		{"ten bad frames", 0, func(seq uint64) error {
			if seq >= 8 && seq < 18 {
				return errBad
			}
			return nil
		}},
		{"a panic in the annotated frame", 3, func(seq uint64) error {
			if seq == 3 {
				panic("a wild index")
			}
			return nil
		}},
		{"a panic before the annotated frame", 20, func(seq uint64) error {
			if seq == 8 {
				panic("a wild index")
			}
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", 24)
				b.cfg.Annotation, b.cfg.AnnotationFits = annotate(ptr(tt.frame), int(tt.frame)), true
				b.onStep = func(s *features.Scene, _ *annotation.Annotation) error { return tt.fails(s.Seq) }
				_, snap := b.run(t.Context(), t)
				require.EqualValues(t, 1, snap.Restarts, "restarts")
				last := b.rec.masks[len(b.rec.masks)-1]
				if len(last.Objects) != 1 || last.Objects[0].Id != 1 || last.Objects[0].Label != "square" {
					t.Fatalf("objects of the last frame: %v; want the square", last.Objects)
				}
				got, err := mask.Parse(last.Objects[0].Counts, testWidth, testHeight)
				require.NoError(t, err)
				if iou := mask.IoU(got, squareMask(23)); iou < 0.8 {
					t.Errorf("%v, IoU %.2f with the square at the end; want at least 0.8", last.Objects[0].State, iou)
				}
				// A frame is counted from where the folder began.
				if e := b.rec.event(segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED); tt.frame == 20 && e.Sequence != 9+20 {
					t.Errorf("the annotation is of frame %d; want 29", e.Sequence)
				}
				if kinds := b.rec.kinds(); slices.Contains(kinds, "ANNOTATION_REJECTED") {
					t.Errorf("events %v; the annotation is no fault", kinds)
				}
			})
		})
	}
}

// What was marked, named and removed while the camera ran is so after new stages, too.
func TestMarksOutliveTheStages(t *testing.T) {
	var fail atomic.Bool
	live(t, func(b *bench) {
		b.loop = true
		b.onStep = func(*features.Scene, *annotation.Annotation) error {
			if fail.CompareAndSwap(true, false) {
				panic("a wild index")
			}
			return nil
		}
	}, func(t *testing.T, b *bench, c *Camera) {
		if _, err := c.Annotate(t.Context(), &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: []annotation.Object{
			rectangle(2, 2, 34, 30, 46), rectangle(3, 34, 2, 62, 12),
		}}); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, c.Clear(t.Context(), 3))
		if _, err := c.Rename(t.Context(), 2, "meadow"); err != nil {
			t.Fatal(err)
		}
		fail.Store(true)
		time.Sleep(4 * time.Second)
		_, objects := c.Objects()
		names := make(map[uint32]string)
		for _, o := range objects {
			names[o.Id] = o.Label
		}
		if names[2] != "meadow" || names[3] != "" {
			t.Errorf("objects %v after new stages; want 2 as meadow, and 3 still removed", names)
		}
		assert.EqualValues(t, 1, c.Snapshot().Restarts, "restarts")
		var known []uint32
		for _, o := range c.memory.Objects() {
			known = append(known, o.ID)
		}
		// Of the picture of the first mark, that of the second and the last one.
		assert.Equal(t, []uint32{1, 1, 2, 1, 2}, known, "remembered")
	})
}

// Objects with which the stages fail again and again are forgotten in the end, and it is told.
func TestObjectsThatFailAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 12)
		b.cfg.Annotation, b.cfg.AnnotationFits = annotate(ptr(0), 0), true
		b.onResult = func(res *tracker.Result) {
			if len(res.Objects) > 0 && res.Seq > 2 {
				panic("a wild index")
			}
		}
		_, snap := b.run(t.Context(), t)
		if snap.Restarts != 3 || len(snap.Objects) != 0 {
			t.Errorf("%d restarts, %d objects left; want 3 and none", snap.Restarts, len(snap.Objects))
		}
		e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED)
		if e == nil || e.ObjectId != 1 || e.ObjectLabel != "square" || !strings.Contains(e.Message, "the camera fails with it again and again") {
			t.Errorf("event %v", e)
		}
	})
}

// An annotation with its picture is for frames of its size.
func TestPictureOfAnotherSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 5)
		var picture bytes.Buffer
		require.NoError(t, png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 80, 60))))
		a := annotate(nil, 0)
		a.Width, a.Height, a.Picture = 80, 60, picture.Bytes()
		b.cfg.Annotation = a
		_, snap := b.run(t.Context(), t)
		want := []string{"CAMERA_UP", "ANNOTATION_REJECTED", "CAMERA_DOWN"}
		if got := b.rec.kinds(); !slices.Equal(got, want) || len(snap.Objects) != 0 || snap.Restarts != 0 {
			t.Errorf("events %v, objects %v, %d restarts; want %v", got, snap.Objects, snap.Restarts, want)
		}
		if got := b.rec.message(segdv1.EventKind_EVENT_KIND_ANNOTATION_REJECTED); !strings.HasSuffix(got, "annotation: picture: it is 80×60; the camera's frames are 64×48") {
			t.Errorf("the event says %q", got)
		}
	})
}

// A picture is for the configuration; an annotation of a frame has none.
func TestAnnotateWithPicture(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		a := annotate(nil, 0)
		a.Picture = []byte("any")
		if _, err := c.Annotate(t.Context(), a); !errors.Is(err, ErrAnnotate) || !strings.Contains(err.Error(), "picture: an annotation of a frame has none") {
			t.Errorf("annotating: %v", err)
		}
		_, err := c.Preview(t.Context(), a)
		assert.ErrorIs(t, err, ErrAnnotate, "previewing")
	})
}
