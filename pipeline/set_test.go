package pipeline

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/pipeline/set"
)

// setOf is a set of the benches' cameras.
func setOf(t *testing.T, benches ...*bench) *set.Set[*Camera] {
	t.Helper()
	var names []string
	build := builds{}
	for _, b := range benches {
		names, build[b.cfg.Name] = append(names, b.cfg.Name), built(b)
	}
	all := set.New[*Camera]()
	require.NoError(t, all.Change(names, build))
	return all
}

type builds = map[string]func() (*Camera, error)

func built(b *bench) func() (*Camera, error) { return func() (*Camera, error) { return New(b.cfg) } }

// runSet runs a set beside the test. end ends it and waits.
func runSet(t *testing.T, all *set.Set[*Camera]) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		assert.NoError(t, all.Run(ctx))
	}()
	return func() { cancel(); <-done }
}

// A camera is added, replaced and removed while another runs, which loses no frame of its own.
func TestSetChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stays := newBench(t, "stays", 100)
		old, anew, added := newBench(t, "gate", 100), newBench(t, "gate", 100), newBench(t, "yard", 100)
		all := setOf(t, old, stays)
		end := runSet(t, all)
		time.Sleep(1950 * time.Millisecond)
		steady, _ := all.Camera("stays")
		first, _ := all.Camera("gate")

		ended := false // by the time the new one is built
		require.NoError(t, all.Change([]string{"yard", "stays", "gate"}, builds{
			"gate": func() (*Camera, error) { ended = !first.Snapshot().Up; return New(anew.cfg) }, "yard": built(added),
		}))
		if !ended {
			t.Error("a camera was built before the one that it replaces had ended")
		}
		assert.Equal(t, set.ErrReplaced.Error(), old.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN), "the replaced one is down because")
		second, _ := all.Camera("gate")
		if again, _ := all.Camera("stays"); again != steady || second == first {
			t.Error("the wrong camera was built anew")
		}
		if now := all.Cameras(); now[0].Name() != "yard" || now[1].Name() != "stays" || now[2].Name() != "gate" {
			t.Errorf("the order is %s %s %s", now[0].Name(), now[1].Name(), now[2].Name())
		}
		time.Sleep(2 * time.Second)
		require.NoError(t, all.Change([]string{"stays", "yard"}, nil))
		_, err := all.Camera("gate")
		assert.ErrorIs(t, err, set.ErrUnknown, "the removed one")
		assert.Equal(t, set.ErrRemoved.Error(), anew.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN), "the removed one is down because")
		time.Sleep(time.Second)
		end()
		old.check(t, first)
		if n := anew.check(t, second).Published; n < 19 || n > 21 {
			t.Errorf("the new one published %d frames in 2 s of 10", n)
		}
		if n := stays.check(t, steady); n.In != n.Published || n.Published < 49 {
			t.Errorf("the one that stays had %d frames and published %d", n.In, n.Published)
		}
		third, _ := all.Camera("yard")
		if n := added.check(t, third).Published; n < 29 {
			t.Errorf("the added one published %d frames in 3 s of 10", n)
		}
		assert.ErrorIs(t, all.Change([]string{"yard"}, nil), set.ErrEnded, "a change of a set that has ended")
	})
}

// A client that annotates, holds or asks a camera that is removed is answered at once.
func TestRemovedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, other := newBench(t, "gate", 100), newBench(t, "other", 100)
		all := setOf(t, b, other)
		end := runSet(t, all)
		time.Sleep(time.Second)
		gate, err := all.Camera("gate")
		require.NoError(t, err)
		_, err = gate.Hold(t.Context(), 5, "somebody")
		require.NoError(t, err)
		var asking sync.WaitGroup
		asking.Go(func() {
			began := time.Now()
			_, err := gate.Annotate(t.Context(), annotate(ptr(80), 0))
			if !errors.Is(err, api.ErrDown) || !strings.Contains(err.Error(), "the camera was removed") || time.Since(began) > 2*time.Second {
				t.Errorf("the annotation was answered after %v: %v", time.Since(began), err)
			}
		})
		time.Sleep(time.Second)
		require.NoError(t, all.Change([]string{"other"}, nil))
		asking.Wait()
		assert.ErrorIs(t, gate.LetGo(t.Context(), 5, "somebody"), api.ErrDown, "letting go of its frame")
		_, err = gate.Annotate(t.Context(), annotate(nil, 0))
		assert.ErrorIs(t, err, api.ErrDown, "an annotation afterwards")
		end()
		b.check(t, gate)
	})
}

// A caller that reads a set while it changes gets one or the other.
func TestSetIsReadWhileItChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: a set that changes again and again")
	}
	a, b := newBench(t, "a", 1000), newBench(t, "b", 1000)
	all := setOf(t, a)
	end := runSet(t, all)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			now := all.Cameras()
			if n := len(now); n < 1 || n > 2 {
				t.Errorf("%d cameras", n)
			}
			for _, c := range now {
				_ = c.Snapshot()
			}
			if c, err := all.Camera("b"); err == nil {
				_ = c.State()
			}
		}
	})
	for range 5 {
		assert.NoError(t, all.Change([]string{"a", "b"}, builds{"b": built(b)}))
		assert.NoError(t, all.Change([]string{"a"}, nil))
	}
	close(stop)
	reading.Wait()
	end()
}
