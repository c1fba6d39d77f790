//go:build !race

package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/internal/message"
	"github.com/segd/segd/tracker"
)

// overlaps is the mean IoU of the objects of masks with those of want, frame by frame, of n frames.
func overlaps(t *testing.T, masks, want []*segdv1.MaskFrame, n int) float64 {
	t.Helper()
	if len(masks) < n || len(want) < n {
		t.Fatalf("%d and %d frames; want %d", len(masks), len(want), n)
	}
	rle := func(o *segdv1.Object) mask.RLE {
		m, err := mask.Parse(o.Counts, int(want[0].Width), int(want[0].Height))
		require.NoError(t, err)
		return m
	}
	sum, objects := 0.0, 0
	for k := range n {
		for _, o := range want[k].Objects {
			if o.Area == 0 {
				continue
			}
			objects++
			for _, got := range masks[k].Objects {
				if got.Id == o.Id && got.Area > 0 {
					sum += mask.IoU(rle(got), rle(o))
				}
			}
		}
	}
	if objects < n {
		t.Fatalf("%d objects in %d frames of the undisturbed run; want at least one a frame", objects, n)
	}
	return sum / float64(objects)
}

// network is the one in the binary.
func network(t *testing.T) *dnn.Model {
	t.Helper()
	model, err := dnn.Embedded(dnn.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

// walkers marks two persons in frame 45 of the clip, who stay in sight.
func walkers(t *testing.T, picture string) *annotation.Annotation {
	t.Helper()
	a := &annotation.Annotation{Frame: ptr(0), Width: 768, Height: 576, Objects: []annotation.Object{
		{ID: 1, Label: "tall one", Box: []float64{542, 225, 572, 320}}, {ID: 2, Label: "dark coat", Box: []float64{709, 268, 744, 384}},
	}}
	if picture != "" {
		var err error
		a.Picture, err = os.ReadFile(picture)
		require.NoError(t, err)
		a.Frame = nil
	}
	return a
}

// Persons of the demo's clip are where they were, from the first frame after a restart on, as if there had been none.
// Without a checkpoint, by the annotation's picture alone, they are found later.
func TestPersonsAreFollowedAfterARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 29 s: the demo's clip through the network")
	}
	const start, before, n = 45, 12, 20 // persons stay in sight from frame start on
	first, cut := clipFrames(t, 2, before+n, start)[0], clipFrames(t, 2, before, start)[0]
	rest := clipFrames(t, 2, n, start+2*before)[0]
	model := network(t)
	synctest.Test(t, func(t *testing.T) {
		alone := networkBench(t, first, model)
		alone.cfg.Annotation = walkers(t, "")
		alone.run(t.Context(), t)
		want := alone.rec.masks[before:]

		store := &shelf{}
		b := networkBench(t, cut, model)
		b.cfg.Annotation, b.cfg.Checkpoints = walkers(t, ""), store
		b.run(t.Context(), t)
		restored := networkBench(t, rest, model)
		restored.cfg.Annotation, restored.cfg.Checkpoints = walkers(t, ""), store
		restored.run(t.Context(), t)
		if kinds := restored.rec.ofObjects(); len(kinds) > 0 {
			t.Errorf("events %v", kinds)
		}
		recalled := networkBench(t, rest, model)
		recalled.cfg.Annotation = walkers(t, filepath.Join(cut, fmt.Sprintf("%04d.jpg", start)))
		recalled.run(t.Context(), t)
		const soon = 3 // frames in which they are hardly found without
		with, first, without := overlaps(t, restored.rec.masks, want, n), overlaps(t, restored.rec.masks, want, soon), overlaps(t, recalled.rec.masks, want, soon)
		t.Logf("mean IoU with an undisturbed run: with a checkpoint %.2f, in the first %d frames %.2f, without %.2f", with, soon, first, without)
		if with < 0.9 || first-without < 0.15 {
			t.Errorf("mean IoU %.2f with an undisturbed run, in the first %d frames %.2f, and %.2f without the checkpoint; want at least 0.9, and 0.15 more than without",
				with, soon, first, without)
		}
	})
}

// So they are after the camera's stages failed: those to come go on from what was known a second before.
func TestPersonsAreFollowedAfterAFailure(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 30 s: the demo's clip through the network")
	}
	const start, before, n = 45, 32, 20
	first, cut := clipFrames(t, 2, before+n, start)[0], clipFrames(t, 2, before, start)[0]
	rest := clipFrames(t, 2, n, start+2*before)[0]
	model := network(t)
	synctest.Test(t, func(t *testing.T) {
		alone := networkBench(t, first, model)
		alone.cfg.Annotation = walkers(t, "")
		alone.run(t.Context(), t)

		b := networkBench(t, cut, model)
		b.cfg.Annotation = walkers(t, "")
		b.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			if s.Seq == before-1 {
				b.dir = rest // the camera has gone on
				panic("a wild index")
			}
			return nil
		}
		b.run(t.Context(), t)
		if got := overlaps(t, b.rec.masks[before-1:], alone.rec.masks[before:], n); got < 0.7 {
			t.Errorf("mean IoU %.2f with an undisturbed run; want at least 0.7", got)
		}
	})
}

// What a frame waits for while it is noted what the camera knows: in the demo's clip, 768×576, with that many objects.
func BenchmarkCapture(b *testing.B) {
	dir := clipFrames(b, 1, 12, 45)[0]
	frames := seenFrames(b, dir, 12)
	for _, followed := range []int{2, 30} {
		ann := &annotation.Annotation{Width: 768, Height: 576}
		for k := range followed {
			x, y := float64(20+70*(k%10)), float64(100+150*(k/10))
			ann.Objects = append(ann.Objects, annotation.Object{ID: uint32(k + 1), Box: []float64{x, y, x + 40, y + 100}})
		}
		bench := &bench{rec: &recorder{tb: b}, dir: dir}
		cfg := bench.config("demo")
		cfg.Checkpoints = &shelf{}
		c, err := New(cfg)
		require.NoError(b, err)
		s := &stages{c: c, holds: map[hold]time.Time{}}
		s.extract, err = features.New(features.Config{}, nil)
		require.NoError(b, err)
		s.step, err = tracker.New(tracker.Config{})
		require.NoError(b, err)
		for k, frame := range frames {
			it := &item{frame: frame, seq: uint64(k), scene: &features.Scene{Seq: uint64(k)}}
			require.NoError(b, s.extract.Extract(it.scene, frame.Pix, frame.Width, frame.Height, tracker.PlanFor(s.step.Plan(features.Plan{}), ann)))
			a := ann
			if k != 1 {
				a = nil
			}
			res, err := s.step.Step(context.Background(), it.scene, nil, a, nil)
			require.NoError(b, err)
			table, _ := c.newest.table().Apply(objects.Observe{Result: res})
			it.masks = message.Masks(frame, 0, it.scene, res, table)
			c.newest.keep(it, table)
		}
		for _, whole := range []bool{false, true} {
			b.Run(fmt.Sprintf("objects=%d/whole=%t", followed, whole), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.capture(s, whole)
				}
			})
		}
		c.keeper.Take().Drop()
		c.newest.drop()
		s.step.Close()
	}
	for _, frame := range frames {
		frame.Release()
	}
}
