package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/pipeline/internal/keeper"
	"github.com/segd/segd/pipeline/internal/memory"
	"github.com/segd/segd/tracker"
)

// An object that comes in sight when pictures are kept seldom has one soon.
func TestNewObjectsArePictured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		f := &finder{}
		f.blind.Store(true)
		b.detecting(f, 200*time.Millisecond)
		_, stop := b.start(t)
		time.Sleep(8 * time.Second) // whole ones after 0, 2 and 6 s; the next would come after 14
		f.blind.Store(false)
		before, _ := store.count()
		time.Sleep(wholeNew + 500*time.Millisecond) // it begins once it is confirmed
		if whole, _ := store.count(); before != 3 || whole != before+1 {
			t.Errorf("%d whole ones, and %d when an object has been in sight for %v; want 3 and 4", before, whole, wholeNew)
		}
		stop()
	})
}

// The last checkpoint is kept at once, however short the time since the one before: another box may wait for it.
func TestLastIsKeptAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		b.cfg.Annotation = annotate(nil, 0)
		_, stop := b.start(t)
		for whole, short := store.count(); whole+short == 0; whole, short = store.count() {
			time.Sleep(time.Millisecond)
		}
		before := time.Now()
		stop()
		if took := time.Since(before); took >= keeper.SaveLeast/2 {
			t.Errorf("it ends in %v; want no pause of %v", took, keeper.SaveLeast)
		}
	})
}

// Of a camera that follows nothing nothing is kept from second to second.
func TestNothingFollowedIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		_, stop := b.start(t)
		time.Sleep(5 * time.Second)
		stop()
		if whole, short := store.count(); whole == 0 || short != 0 {
			t.Errorf("%d whole ones, %d short ones; want some, and none", whole, short)
		}
	})
}

// What is kept says of the pictures' objects which there are; the newest picture counts as a detector's.
func TestRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		b.cfg.Annotation = annotate(nil, 0)
		_, stop := b.start(t)
		time.Sleep(3 * time.Second)
		stop()
		read := func(f func(*checkpoint.Checkpoint)) (all []annotation.Object, marked, last []*annotation.Annotation) {
			cp, err := checkpoint.Decode(store.all[len(store.all)-1].data)
			require.NoError(t, err)
			f(cp)
			m, err := memory.Restore(cp)
			require.NoError(t, err)
			marked = m.Marked()
			return m.Objects(), marked, m.Scenes()[len(marked):]
		}
		_, marked, last := read(func(*checkpoint.Checkpoint) {})
		if o := last[0].Objects; len(o) != 1 || o[0].Label != "" || len(marked) != 1 || !last[0].Automatic || marked[0].Automatic {
			t.Errorf("%v; want one object, as a detector would mark it", last[0])
		}
		_, _, last = read(func(cp *checkpoint.Checkpoint) {
			cp.Objects = objects.Restore([]objects.Object{{ID: 1, Owner: objects.Detector}}, 0)
		})
		if !last[0].Automatic {
			t.Error("a picture of what was marked automatically is a person's")
		}
		_, marked, last = read(func(cp *checkpoint.Checkpoint) { cp.Tracker.Objects = nil }) // it is dormant
		if len(last) != 0 || len(marked) != 0 {
			t.Errorf("last %v, marked %v; want no picture of what the tracker did not follow", last, marked)
		}
		if all, _, _ := read(func(cp *checkpoint.Checkpoint) { cp.Objects = objects.Table{} }); len(all) != 0 { // it was removed
			t.Errorf("%v; want no picture of what was removed", all)
		}
	})
}

// running is a source that says when it began.
type running struct {
	Source
	at *atomic.Int64
}

func (s running) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	s.at.Store(time.Now().UnixNano())
	return s.Source.Run(ctx, sink)
}

// The camera is dialled while what was marked before is learnt.
func TestDialsWhileItLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 5)
		b.cfg.Annotation = annotate(nil, 0)
		var err error
		b.cfg.Annotation.Picture, err = os.ReadFile(filepath.Join(b.dir, "0000.png"))
		require.NoError(t, err)
		var began atomic.Int64
		b.through(func(s Source) Source { return running{s, &began} })
		var learnt atomic.Int64
		b.onExtract = func(*features.Scene, features.Plan) error {
			if learnt.Load() == 0 {
				time.Sleep(time.Second)
				learnt.Store(time.Now().UnixNano())
			}
			return nil
		}
		b.run(t.Context(), t)
		if began.Load() == 0 || began.Load() >= learnt.Load() {
			t.Errorf("dialled at %d, learnt at %d; want it dialled before", began.Load(), learnt.Load())
		}
	})
}

// stateful says when its state is asked for.
type stateful struct {
	Stepper
	asked func()
}

func (s stateful) Snapshot() *tracker.Snapshot {
	s.asked()
	return s.Stepper.Snapshot()
}

// Masks are out before what is known is noted.
func TestMasksBeforeCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := remembering(t)
		b.cfg.Annotation = annotate(nil, 0)
		make, asked := b.cfg.NewStepper, 0
		var c *Camera
		b.cfg.NewStepper = func() (Stepper, error) {
			s, err := make()
			return stateful{s, func() {
				asked++
				if seq := c.newest.sequence(); !slices.Contains(b.rec.sequences(), seq) {
					t.Errorf("noted before the masks of frame %d were published", seq)
				}
			}}, err
		}
		var err error
		c, err = New(b.cfg)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.NoError(t, c.Run(ctx))
		b.check(t, c)
		if asked < 3 {
			t.Errorf("noted %d times in 3 s", asked)
		}
	})
}
