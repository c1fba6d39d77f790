package keeper

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/pipeline/internal/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const width, height = 32, 24

// frames are n of them, of which the caller has a reference each.
func frames(t *testing.T, n int) (all []*ingest.Frame) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%03d.png", i)))
		require.NoError(t, err)
		picture := image.NewRGBA(image.Rect(0, 0, width, height))
		picture.Set(i, i, color.White)
		require.NoError(t, errors.Join(png.Encode(f, picture), f.Close()))
	}
	source, err := ingest.Open(ingest.Config{Camera: "gate", URL: "dir:" + dir, FPS: 1000})
	require.NoError(t, err)
	if err := source.Run(t.Context(), func(f *ingest.Frame) { all = append(all, f) }); err != nil || len(all) != n {
		t.Fatalf("%d frames, %v", len(all), err)
	}
	return all
}

// store keeps checkpoints, or fails.
type store struct {
	mu     sync.Mutex
	fault  error
	kept   [][]byte
	shorts []bool
	at     []time.Time
	told   []error // of each capture
}

// state is what has come so far.
func (s *store) state() (shorts []bool, at []time.Time, told []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shorts), slices.Clone(s.at), slices.Clone(s.told)
}

func (s *store) fail(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *store) Save(_ context.Context, camera string, data []byte, short bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Now())
	if camera != "gate" || s.fault != nil {
		return s.fault
	}
	s.kept, s.shorts = append(s.kept, data), append(s.shorts, short)
	return nil
}

// One that comes replaces one that waits, but a short one not a whole one; every picture is given back.
func TestPut(t *testing.T) {
	pictures := frames(t, 3)
	for _, f := range pictures {
		f.Retain() // the test's
	}
	whole, newer, last := &Capture{Picture: pictures[0]}, &Capture{Picture: pictures[1]}, &Capture{Picture: pictures[2]}
	short := func() *Capture { return &Capture{Short: true} }
	k := New(nil, nil)
	first := short()
	k.Put(first)
	if k.Put(whole); k.waiting != whole {
		t.Error("a whole one does not replace a short one")
	}
	if k.Put(short()); k.waiting != whole {
		t.Error("a short one replaces a whole one")
	}
	if k.Put(newer); k.Take() != newer {
		t.Error("a newer one does not replace one that waits")
	}
	k.Put(first)
	if k.Put(short()); k.Take() == first {
		t.Error("a newer short one does not replace one that waits")
	}
	k.Put(first)
	k.Close()
	if k.Put(last); k.Take() != first || k.Take() != nil {
		t.Error("what waits at the end is not the last")
	}
	for name, c := range map[string]*Capture{"replaced": whole, "too late": last} {
		if c.Picture.Release(); c.Picture.Pix != nil {
			t.Errorf("the picture of one that is %s is not given back", name)
		}
	}
}

// A whole capture is kept with the pictures that objects were marked on and with its own, a short one without; each
// after a pause, but the last at once.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, full := &store{}, errors.New("no space left")
		var leased atomic.Bool
		leased.Store(true)
		k := New(kept, leased.Load)
		var running sync.WaitGroup
		running.Go(func() {
			k.Run(t.Context(), func(bytes int, _ time.Duration, err error) {
				assert.Equal(t, (err == nil || errors.Is(err, full)), (bytes > 0), "%d bytes, %v", bytes, err)
				kept.mu.Lock()
				defer kept.mu.Unlock()
				kept.told = append(kept.told, err)
			})
		})
		pause := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		table := objects.Restore([]objects.Object{{ID: 1, Label: "square"}}, 0)
		bits := make([]uint8, width*height)
		bits[5*width+5], bits[5*width+6] = 1, 1
		masks := &segdv1.MaskFrame{Width: width, Height: height, PixelAspect: 1, Objects: []*segdv1.Object{
			{Id: 1, Area: 2, Counts: mask.Encode(bits, width, height).String(), Box: &segdv1.Box{X: 5, Y: 5, Width: 2, Height: 1}},
		}}
		marked, err := memory.WithPicture(
			annotation.Annotation{Width: width, Height: height, Objects: []annotation.Object{{ID: 1, Box: []float64{4, 4, 8, 8}}}}, make([]byte, 3*width*height))
		require.NoError(t, err)
		pictures := frames(t, 3)
		capture := func(picture *ingest.Frame) *Capture {
			c := &Capture{Short: picture == nil, Picture: picture, Masks: masks}
			c.Camera, c.Time, c.Objects = "gate", time.Now(), table
			if picture != nil {
				c.Scenes = []*annotation.Annotation{marked}
			}
			return c
		}
		k.Put(capture(pictures[0]))
		synctest.Wait()
		k.Put(capture(nil))
		pause(SaveLeast - time.Millisecond)
		if shorts, _, _ := kept.state(); len(shorts) != 1 {
			t.Errorf("%d kept without a pause", len(shorts))
		}
		pause(time.Second)
		if shorts, _, _ := kept.state(); !slices.Equal(shorts, []bool{false, true}) || k.Owes() {
			t.Fatalf("kept short: %v; want a whole one, then a short one", shorts)
		}

		// What is not kept whole is owed; what another box may keep is not kept.
		kept.fail(full)
		k.Put(capture(pictures[1]))
		pause(time.Second)
		if _, _, told := kept.state(); !errors.Is(told[2], full) || !k.Owes() || k.Owes() {
			t.Errorf("%v; want it told, and owed once", told)
		}
		k.Put(capture(nil))
		pause(time.Second)
		leased.Store(false)
		k.Put(capture(nil))
		pause(time.Second)
		if _, at, told := kept.state(); !errors.Is(told[3], full) || !errors.Is(told[4], errUnleased) || k.Owes() || len(at) != 4 {
			t.Errorf("%v, %d saved", told, len(at))
		}

		// The last waits for nothing.
		leased.Store(true)
		kept.fail(nil)
		k.Put(capture(nil))
		synctest.Wait()
		k.Put(capture(pictures[2]))
		began := time.Now()
		k.Close()
		running.Wait()
		if last := len(kept.at) - 1; kept.shorts[len(kept.shorts)-1] || kept.at[last].Sub(began) > 0 {
			t.Errorf("the last is short: %v, kept after %v", kept.shorts, kept.at[last].Sub(began))
		}
		for n, pictured := range []int{1, 0} {
			cp, err := checkpoint.Decode(kept.kept[n])
			if err != nil || len(cp.Marked) != pictured || (len(cp.Last) > 0) != (pictured > 0) || cp.Objects.All()[0].Label != "square" {
				t.Errorf("kept %+v, %v", cp, err)
			}
		}
		for n, f := range pictures {
			if f.Pix != nil {
				t.Errorf("picture %d was not given back", n)
			}
		}
	})
}
