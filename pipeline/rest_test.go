package pipeline

import (
	"image"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/cores"
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
// With Reidentify 1 it is another.
func TestAutomaticRests(t *testing.T) {
	t.Run("known again", func(t *testing.T) { rests(t, 0) })
	t.Run("never", func(t *testing.T) { rests(t, 1) })
}

func rests(t *testing.T, reidentify float64) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 120)
		b.detecting(&finder{}, 200*time.Millisecond)
		b.cfg.Detect.Reidentify = reidentify
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
		c, err := New(b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(t.Context()) })
		for removed.Load() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := c.Rename(t.Context(), 256, "Anna"); err != nil {
			t.Error(err)
		}
		running.Wait()
		lost := 0
		for _, m := range b.rec.masks {
			for _, o := range m.Objects {
				if !o.Automatic || o.Class != "person" {
					t.Fatalf("frame %d: %v; want an automatic one", m.Sequence, o)
				}
				if o.Id == 256 && o.State == segdv1.State_STATE_LOST {
					lost++
				}
			}
		}
		if lost < 20 || removed.Load() != 1 {
			t.Errorf("lost in %d frames, forgotten %d times; want it forgotten once, and listed still", lost, removed.Load())
		}
		last := b.rec.newest().Objects
		if reidentify == 1 {
			if len(last) != 2 || !slices.ContainsFunc(last, func(o *segdv1.Object) bool { return o.Id == 257 && o.Area > 0 }) {
				t.Errorf("%v in the end; want another one in sight", last)
			}
		} else if o := one(t, b.rec.newest()); o.Id != 256 || o.State != segdv1.State_STATE_VISIBLE || o.Label != "Anna" {
			t.Errorf("%v in the end; want it back, by its name", o)
		}
	})
}

// noon is a multiple of a second.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// A camera looks at its first picture, and then when it is its turn among the others.
func TestCamerasLookAtDifferentTimes(t *testing.T) {
	var looked [2][]uint64
	for nth := range looked {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, "gate", 60)
			shared := cores.New(2)
			for range nth {
				shared.Join()
			}
			b.cfg.Detect, b.cfg.Cores = Detect{Classes: []string{"person"}, Every: 400 * time.Millisecond}, shared
			b.onExtract = func(s *features.Scene, plan features.Plan) error {
				if plan.Look {
					looked[nth] = append(looked[nth], s.Seq)
				}
				return nil
			}
			b.run(t.Context(), t)
		})
	}
	a, b := looked[0], looked[1]
	if len(a) < 3 || len(b) < 3 || a[0] != 0 || b[0] != 0 || slices.Equal(a[1:], b[1:]) || a[2]-a[1] != b[2]-b[1] {
		t.Errorf("looks at frames %v and %v; want both at the first, and then at different times, as often", a, b)
	}
}

// However many cameras come up, and whenever each shows its first picture, their looks at all of it are spread evenly.
func TestLooksAreSpread(t *testing.T) {
	const rate = 100 // frames a second
	for _, cameras := range []int{2, 4, 9, 30} {
		var at []float64 // in the second
		for k := range cameras {
			l := looks{every: time.Second, nth: 7 + k}
			begin := time.Duration(k*k*37%1000) * time.Millisecond
			looked := 0
			for i := range uint64(2*rate + 1) {
				pts := time.Duration(i) * time.Second / rate
				if !l.due(noon.Add(begin), pts, i) {
					continue
				}
				if looked++; looked == 2 {
					at = append(at, math.Mod((begin+pts).Seconds(), 1))
				}
			}
			if looked < 3 {
				t.Fatalf("%d looks in 2 s", looked)
			}
		}
		slices.Sort(at)
		widest := 1 - at[len(at)-1] + at[0]
		for i := range at[1:] {
			widest = max(widest, at[i+1]-at[i])
		}
		if widest > 2/float64(cameras)+1.0/rate {
			t.Errorf("%d cameras: none looks for %v s of 1; want %v at most", cameras, widest, 2/float64(cameras))
		}
	}
}

// All of a picture is looked at in as many of the frames that are taken, however many are dropped in between.
func TestLooksAreShareOfFrames(t *testing.T) {
	const rate, taken = 10, 100 // frames a second, and how many are taken
	for _, step := range []uint64{1, 2, 3, 10} {
		l, n := looks{every: time.Second}, 0
		for i := range uint64(taken) {
			if l.due(noon, time.Duration(i*step)*time.Second/rate, i*step) {
				n++
			}
		}
		if n != taken/rate {
			t.Errorf("every frame of %d is taken: %d looks in %d; want %d", step, n, taken, taken/rate)
		}
	}
	l := looks{every: time.Second}
	l.due(noon, 0, 0)
	if !l.due(noon, time.Minute, 1) {
		t.Error("no look after a pause of the camera")
	}
}

// A camera whose stream time jumps back is looked at, and of many small things the first count.
func TestLookLimits(t *testing.T) {
	l := looks{every: time.Second, any: true, pts: time.Hour, seq: 9}
	if !l.due(noon, time.Minute, 10) {
		t.Error("no look after a jump back")
	}
	if (&looks{}).due(noon, 0, 0) {
		t.Error("a look of a camera that marks nothing")
	}
	var found []features.Detection
	for range 500 {
		found = append(found, features.Detection{Box: image.Rect(0, 0, 2, 2), Score: 0.9, Class: "person"})
	}
	if got := sift(found, 64, 48); len(got) != features.MaxFound {
		t.Errorf("%d are sifted; want %d", len(got), features.MaxFound)
	}
}
