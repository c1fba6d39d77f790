//go:build !race

// With the race detector these take minutes.

package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/tracker"
)

// clipFrames writes every stride-th frame of the demo's clip as JPEG, n of them from each of
// the frames given, into a folder each.
func clipFrames(t testing.TB, stride, n int, from ...int) (dirs []string) {
	t.Helper()
	clip, err := codec.OpenFile(demo.FindClip())
	require.NoError(t, err)
	defer clip.Close()
	w, h := clip.Size()
	for range from {
		dirs = append(dirs, t.TempDir())
	}
	bgr := make([]byte, 3*w*h)
	for i := range slices.Max(from) + stride*n {
		pic, err := clip.Next()
		require.NoError(t, err)
		for k, first := range from {
			if i < first || i >= first+stride*n || (i-first)%stride != 0 {
				continue
			}
			require.NoError(t, pic.BGR(bgr))
			img := image.NewRGBA(image.Rect(0, 0, w, h))
			for p := range w * h {
				img.Pix[4*p], img.Pix[4*p+1], img.Pix[4*p+2], img.Pix[4*p+3] = bgr[3*p+2], bgr[3*p+1], bgr[3*p], 255
			}
			f, err := os.Create(filepath.Join(dirs[k], fmt.Sprintf("%04d.jpg", i)))
			require.NoError(t, err)
			require.NoError(t, errors.Join(jpeg.Encode(f, img, &jpeg.Options{Quality: 95}), f.Close()))
		}
	}
	return dirs
}

// demoAnnotation is the demo's, and its picture.
func demoAnnotation(t *testing.T, picture string) *annotation.Annotation {
	t.Helper()
	a, err := annotation.Parse(bytes.NewReader(demo.Persons))
	require.NoError(t, err)
	if picture != "" {
		a.Picture, err = os.ReadFile(picture)
		require.NoError(t, err)
	}
	return a
}

// clipBench is a camera that shows every second frame of the clip.
func clipBench(t *testing.T, dir string) *bench {
	b := newBench(t, "demo", 1)
	b.dir = dir
	b.cfg.NewExtractor = func() (Extractor, error) { return features.New(features.Config{}, nil) }
	return b
}

// networkBench is as clipBench, and knows persons.
func networkBench(t *testing.T, dir string, model *dnn.Model) *bench {
	b := clipBench(t, dir)
	b.cfg.NewExtractor = func() (Extractor, error) { return features.New(features.Config{}, model) }
	return b
}

// middle is that of an object's box.
func middle(o *segdv1.Object) image.Point {
	return image.Pt(int(o.Box.X+o.Box.Width/2), int(o.Box.Y+o.Box.Height/2))
}

// walker is where the first person of the demo's annotation is in the clip's frames, by eye.
var walker = map[int]image.Point{
	665: {285, 410}, 673: {230, 400}, 681: {172, 390}, 689: {140, 368}, 697: {129, 350}, 705: {106, 331}, 713: {76, 320},
}

// After a restart at another moment of the clip the person that was marked is found where it
// is by then, and nothing has its mask before; without the picture, the strokes are put on what
// stands where it was, as they say themselves.
func TestRestartAtAnotherMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: the demo's clip through the network")
	}
	const later, n = demo.Start + 100, 40
	dirs := clipFrames(t, 2, n, demo.Start, later)
	first := filepath.Join(dirs[0], fmt.Sprintf("%04d.jpg", demo.Start))
	for _, tt := range []struct {
		name    string
		picture string
	}{{"with its picture", first}, {"without", ""}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := clipBench(t, dirs[1])
				b.cfg.Annotation = demoAnnotation(t, tt.picture)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.picture == "" {
					b.cfg.Annotation.Frame = nil
					b.onStep = func(*features.Scene, *annotation.Annotation) error { cancel(); return nil } // the first is looked at
				}
				b.run(ctx, t)
				accepted := b.rec.event(segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED)
				if accepted == nil || (accepted.Message == "") != (tt.picture != "") {
					t.Fatalf("event %v", accepted)
				}
				if tt.picture == "" {
					if o := b.rec.masks[0].Objects[0]; o.Area == 0 || middle(o).X > 300 {
						t.Errorf("%v; want a mask where the person was, as a test that the picture helps", o)
					}
					return
				}
				found := 0
				for k, m := range b.rec.masks {
					is, known := walker[later+2*k]
					o := m.Objects[0]
					if o.Id != 1 || m.Objects[1].Id != 2 {
						t.Fatalf("frame %d: objects %v", later+2*k, m.Objects)
					}
					if o.Area == 0 || !known {
						continue
					}
					found++
					if d := middle(o).Sub(is); max(d.X, -d.X) > 25 || max(d.Y, -d.Y) > 40 {
						t.Errorf("frame %d: person 1 is at %v by its mask; want it at %v", later+2*k, middle(o), is)
					}
				}
				if found < 4 {
					t.Errorf("found in %d of %d frames; want at least 4", found, len(walker))
				}
			})
		})
	}
}

// In front of another scene nothing has a mask, and events tell that the objects were not found.
func TestRestartElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: the demo's clip through the network")
	}
	const n = 56
	first, elsewhere := clipFrames(t, 2, 1, demo.Start)[0], t.TempDir()
	var meadow bytes.Buffer
	img := image.NewRGBA(image.Rect(0, 0, 768, 576))
	for y := range 576 {
		for x := range 768 {
			img.SetRGBA(x, y, color.RGBA{uint8(60 + (x/7*13+y/9*29)%30), uint8(130 + (x/5*7+y/4*11)%40), 50, 255})
		}
	}
	require.NoError(t, jpeg.Encode(&meadow, img, nil))
	for k := range n {
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, fmt.Sprintf("%04d.jpg", k)), meadow.Bytes(), 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		b := clipBench(t, elsewhere)
		b.cfg.Annotation = demoAnnotation(t, filepath.Join(first, fmt.Sprintf("%04d.jpg", demo.Start)))
		_, snap := b.run(t.Context(), t)
		for k, m := range b.rec.masks {
			for _, o := range m.Objects {
				if o.Area > 0 {
					t.Fatalf("frame %d: object %d has a mask at %v", k, o.Id, middle(o))
				}
			}
		}
		told := b.rec.told()
		if len(told) != 2 || !strings.Contains(told[0], "was not found within 5.0 s of frame 0") {
			t.Errorf("told %q; want one event for each person", told)
		}
		if o := snap.Objects; len(o) != 2 || o[0].State != tracker.Lost || o[1].State != tracker.Lost {
			t.Errorf("objects %+v; want two, lost", o)
		}
	})
}

// After a panic the persons of the demo are followed on.
func TestPersonsAreFollowedAfterAPanic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 8 s: the demo's clip through the network")
	}
	const n = 20 // then the first person leaves the picture for a while
	dir := clipFrames(t, 2, n, demo.Start)[0]
	synctest.Test(t, func(t *testing.T) {
		b := clipBench(t, dir)
		b.cfg.Annotation, b.cfg.AnnotationFits = demoAnnotation(t, ""), true
		b.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			if s.Seq == 10 {
				panic("a wild index")
			}
			return nil
		}
		b.run(t.Context(), t)
		seen := make([]int, 3)
		for _, m := range b.rec.masks {
			if m.Sequence <= 10 {
				continue
			}
			for _, o := range m.Objects {
				if o.Area > 0 {
					seen[o.Id]++
				}
			}
		}
		if seen[1] < 6 || seen[2] < 6 {
			t.Errorf("the persons are seen in %d of the %d frames after the panic; want at least 6", seen[1:], n)
		}
		if b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_BACK) == nil {
			t.Errorf("events %v; want one that it is back", b.rec.kinds())
		}
	})
}
