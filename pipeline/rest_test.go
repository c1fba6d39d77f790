package pipeline

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
)

// removals counts what a stepper is told to forget.
type removals struct {
	Stepper
	n *atomic.Int32
}

func (r removals) Remove(id uint32) bool {
	r.n.Add(1)
	return r.Stepper.Remove(id)
}

// An automatic object that is lost rests: the stepper forgets it, subscribers are told that it is lost, and
// when something detected looks like it, it is there again under its number, called what people call it.
func TestAutomaticRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 120)
		b.detecting(&finder{}, 200*time.Millisecond)
		open, make := b.cfg.Open, b.cfg.NewStepper
		b.cfg.Open = func(o ingest.Observer) (Source, error) {
			s, err := open(o)
			return hidden{s, 20, 100}, err
		}
		var removed atomic.Int32
		b.cfg.NewStepper = func() (Stepper, error) {
			s, err := make()
			return removals{s, &removed}, err
		}
		b.run(t.Context(), t)
		lost := 0
		for _, m := range b.rec.masks {
			o := one(t, m)
			if o.Id != 256 || !o.Automatic || o.Class != "person" || o.Label != "person" {
				t.Fatalf("frame %d: %v; want the one there is", m.Sequence, o)
			}
			if o.State == segdv1.State_STATE_LOST {
				lost++
			}
		}
		if o := one(t, b.rec.newest()); o.State != segdv1.State_STATE_VISIBLE || lost < 20 || removed.Load() != 1 {
			t.Errorf("%v in the end, lost in %d frames, forgotten %d times; want it back after it was forgotten once", o, lost, removed.Load())
		}
	})
}
