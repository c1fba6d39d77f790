package dnn

import (
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/features"
)

// Images that come together are computed in one run, each as if it were alone; those of another size in
// a run of their own.
func TestBatch(t *testing.T) {
	needONNXRuntime(t)
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			alone := mustOpen(t, EmbeddedName, Options{ShortSide: 64, Computing: Computing{Engine: engine, Device: DeviceCPU}})
			m := mustOpen(t, EmbeddedName, Options{ShortSide: 64, Computing: Computing{Engine: engine, Device: DeviceCPU, Batch: 3, BatchWait: maxBatchWait}})
			if got := m.Info().Batch; got != 3 {
				t.Fatalf("%d images in a batch: %+v", got, m.Info().Engines)
			}
			const turns = 3
			for range turns {
				var users sync.WaitGroup
				for k := range 6 {
					users.Go(func() {
						w, h := 100+k, 70 // of one size for the network
						if k >= 3 {
							w, h = 70, 100
						}
						bgr := noise(w, h)
						for i := range bgr {
							bgr[i] ^= byte(k) // no two alike
						}
						got, err := m.Features(features.Sight{}, bgr, w, h, features.View{})
						if err != nil {
							t.Error(err)
							return
						}
						want, err := alone.Features(features.Sight{}, bgr, w, h, features.View{})
						if err != nil || !equalMaps(got.Maps[0], want.Maps[0]) || !(distance(got.Maps[0].Data, want.Maps[0].Data) < 1e-5) {
							t.Errorf("image %d: %v, or another map than alone", k, err)
						}
					})
				}
				users.Wait()
			}
			// Three that come within the wait are one run; on a busy machine one may come late.
			s := m.Status().Work[DeviceCPU]
			if s.Images != 6*turns || s.Runs >= s.Images || s.Runs < 2*turns {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A model that makes something else of an image among others gets each for itself, and that is said.
func TestUnbatched(t *testing.T) {
	needONNXRuntime(t)
	conv, weight := picker("pick", "image", "picked", 0, 1, 2)
	file := onnxFile{
		inputs:  []message{value("image", elemFloat, 1, 3, 64, 64)},
		outputs: []message{value("map", elemFloat, 1, 3, 64, 64)},
		nodes:   []message{conv, node("Reshape", "shape", []string{"picked", "sides"}, []string{"map"})},
		weights: []message{weight, int64s("sides", 1, 3, 64, 64)},
	}
	for _, engine := range engines() {
		opt := raw
		opt.Engine, opt.Batch = engine, 4
		m := mustOpen(t, file.write(t), opt)
		info := m.Info()
		if i := slices.IndexFunc(info.Engines, func(e EngineInfo) bool { return e.Name == engine }); info.Batch != 1 || info.Engines[i].Unbatched == "" {
			t.Errorf("%s: batches of %d, %+v", engine, info.Batch, info.Engines)
		}
		if _, err := m.Features(features.Sight{}, noise(64, 64), 64, 64, features.View{}); err != nil {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

// slow is an engine whose runs take a second and fail if they are told to. Its images are one number.
type slow struct {
	kept int // what keep says
	fail atomic.Pointer[error]
	mu   sync.Mutex
	runs []int // images of each
}

func (e *slow) layOut(_ image.Point, images int) (network, error) {
	return &slowNetwork{engine: e, in: make([]float32, 3*images)}, nil
}
func (e *slow) step() int    { return sizeStep }
func (e *slow) keep() int    { return e.kept }
func (e *slow) close() error { return nil }

type slowNetwork struct {
	engine   *slow
	in, made []float32
}

func (n *slowNetwork) input() ([]float32, error) { return n.in, nil }

func (n *slowNetwork) run(images int) error {
	n.made = slices.Clone(n.in)
	time.Sleep(time.Second)
	n.engine.mu.Lock()
	n.engine.runs = append(n.engine.runs, images)
	n.engine.mu.Unlock()
	if err := n.engine.fail.Load(); err != nil {
		return *err
	}
	return nil
}

func (n *slowNetwork) output(dst []float32, _, image int) ([]float32, []int, error) {
	return append(dst[:0], n.made[3*image]), []int{1, 1, 1}, nil
}
func (n *slowNetwork) lend(int, int) ([]float32, []int, error) { return nil, nil, errShape }
func (n *slowNetwork) close() error                            { return nil }

// ask has a backend compute a number, which becomes itself.
func ask(c *backend, v float32) error {
	return c.compute(image.Pt(1, 1), func(in []float32) error { in[0] = v; return nil }, func(n network, image int) error {
		got, _, err := n.output(nil, 0, image)
		if err == nil && got[0] != v {
			err = fmt.Errorf("%v became %v", v, got[0])
		}
		return err
	})
}

// An image waits for others no longer than it may, and less where the run is full; one that comes while
// another run is under way is in the next one.
func TestBatchWait(t *testing.T) {
	const wait = 100 * time.Millisecond
	for _, tt := range []struct {
		name string
		come []time.Duration // when each image does
		want []time.Duration // when it is through
		runs []int
	}{
		{"alone", []time.Duration{0}, []time.Duration{wait + time.Second}, []int{1}},
		{"one within the wait", []time.Duration{0, wait / 2}, []time.Duration{wait + time.Second, wait + time.Second}, []int{2}},
		{"full", []time.Duration{0, 1, 2, 3}, []time.Duration{3 + time.Second, 3 + time.Second, 3 + time.Second, 3 + time.Second}, []int{4}},
		{
			"three", []time.Duration{0, 1, 2},
			[]time.Duration{wait + time.Second, wait + time.Second, wait + time.Second},
			[]int{4}, // the network is laid out for 1, 2 and 4 only
		},
		{
			"while another runs", []time.Duration{0, wait + 1, 600 * time.Millisecond},
			[]time.Duration{wait + time.Second, wait + 2*time.Second, wait + 2*time.Second},
			[]int{1, 2},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := new(slow)
				c := newBackend(e, "slow", DeviceCUDA, 4, wait)
				start := time.Now()
				var users sync.WaitGroup
				for k, come := range tt.come {
					users.Go(func() {
						time.Sleep(come)
						if err := ask(c, float32(k)); err != nil {
							t.Error(err)
						}
						if took := time.Since(start); took != tt.want[k] {
							t.Errorf("image %d was through after %v, want %v", k, took, tt.want[k])
						}
					})
				}
				users.Wait()
				if !slices.Equal(e.runs, tt.runs) {
					t.Errorf("runs of %v images, want %v", e.runs, tt.runs)
				}
				if s := c.work; s.Images != uint64(len(tt.come)) || s.Runs != uint64(len(tt.runs)) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// Networks of several images take as much more memory, of which no more is kept.
func TestBatchKeep(t *testing.T) {
	c := newBackend(&slow{kept: 12}, "slow", DeviceCUDA, 4, 0)
	for _, size := range []image.Point{{X: 1, Y: 1}, {X: 2, Y: 1}, {X: 1, Y: 2}} {
		n, err := c.take(size)
		if err != nil {
			t.Fatal(err)
		}
		c.put(n)
	}
	if len(c.networks) != 1 || c.networks[0].size != image.Pt(1, 2) {
		t.Errorf("%d networks are kept", len(c.networks))
	}
}

// closing is an engine that remembers how many networks it was laid out for at once.
type closing struct {
	slow
	open, most int
}

type closed struct {
	network
	e *closing
}

func (e *closing) layOut(size image.Point, images int) (network, error) {
	e.open++
	e.most = max(e.most, e.open)
	n, err := e.slow.layOut(size, images)
	return closed{n, e}, err
}

func (n closed) close() error {
	n.e.open--
	return n.network.close()
}

// Of an engine that keeps none a network is closed before the next is laid out, which takes its memory.
func TestMemoryIsHandedOn(t *testing.T) {
	e := new(closing)
	c := newBackend(e, "closing", DeviceCPU, 1, 0)
	for n := range 10 {
		size := image.Pt(1+n%3, 1)
		if err := c.compute(size, func([]float32) error { return nil }, func(network, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if e.most != 1 || len(c.networks) != 1 {
		t.Errorf("%d networks at once, %d are kept; want one", e.most, len(c.networks))
	}
}

// An image that takes long to be written is waited for by those of its run, and begins no other.
func TestBatchSlowImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := new(slow)
		c := newBackend(e, "slow", DeviceCUDA, 4, time.Millisecond)
		start := time.Now()
		var users sync.WaitGroup
		users.Go(func() {
			if err := ask(c, 1); err != nil {
				t.Error(err)
			}
		})
		users.Go(func() {
			time.Sleep(time.Nanosecond)
			err := c.compute(image.Pt(1, 1), func(in []float32) error {
				time.Sleep(time.Minute)
				in[0] = 2
				return nil
			}, func(n network, image int) error {
				if got, _, err := n.output(nil, 0, image); err != nil || got[0] != 2 {
					t.Errorf("%v, %v", got, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		users.Wait()
		if took, want := time.Since(start), 1+time.Minute+time.Second; took != want || !slices.Equal(e.runs, []int{2}) {
			t.Errorf("runs of %v images, after %v; want one of two after %v", e.runs, took, want)
		}
	})
}

// What is wrong with one image, even a panic, is no other image's; a run that fails is all theirs.
func TestBatchFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := new(slow)
		c := newBackend(e, "slow", DeviceCUDA, 4, time.Millisecond)
		wrong := errors.New("no such image")
		read := func(network, int) error { return nil }
		var users sync.WaitGroup
		for _, first := range []bool{true, false} {
			users.Go(func() {
				if !first {
					time.Sleep(time.Nanosecond)
				}
				if err := ask(c, 1); err != nil {
					t.Error(err)
				}
			})
			users.Go(func() {
				if first {
					time.Sleep(time.Nanosecond)
				}
				if err := c.compute(image.Pt(1, 1), func([]float32) error { return wrong }, read); !errors.Is(err, wrong) {
					t.Errorf("a wrong image: %v", err)
				}
			})
			users.Go(func() {
				if first {
					time.Sleep(time.Nanosecond)
				}
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				_ = c.compute(image.Pt(1, 1), func([]float32) error { panic("an image") }, read)
			})
			users.Wait()
		}
		broken := errors.New("broken")
		e.fail.Store(&broken)
		for k := range 2 {
			users.Go(func() {
				if _, ok := errors.AsType[computeError](ask(c, float32(k))); !ok {
					t.Error("no computeError")
				}
			})
		}
		users.Wait()
		if len(c.open) != 0 || len(c.running) != 0 {
			t.Errorf("%d batches are open, %d run", len(c.open), len(c.running))
		}
	})
}

func TestBatchOptions(t *testing.T) {
	for _, tt := range []struct {
		c    Computing
		want string
	}{
		{Computing{Batch: -1}, "-1 images in a batch; want 1 to 64"},
		{Computing{Batch: 65}, "65 images in a batch; want 1 to 64"},
		{Computing{BatchWait: -1}, "waits -1ns for others; want at most 100ms"},
		{Computing{BatchWait: time.Second}, "waits 1s for others; want at most 100ms"},
	} {
		if _, err := tt.c.withDefaults(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}
