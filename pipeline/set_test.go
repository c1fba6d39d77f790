package pipeline

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segd/segd/bus/segdv1"
)

// runSet runs set beside the test. end ends it and waits.
func runSet(t *testing.T, set *Set) (end func(), ended func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := set.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	return func() { cancel(); <-done }, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

func built(b *bench) func() Config { return func() Config { return b.cfg } }

// A camera is added, replaced and removed while another runs, which loses no frame of its own.
func TestSetChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stays := newBench(t, "stays", 100)
		old, anew, added := newBench(t, "gate", 100), newBench(t, "gate", 100), newBench(t, "yard", 100)
		set, err := NewSet(old.cfg, stays.cfg)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := runSet(t, set)
		time.Sleep(1950 * time.Millisecond)
		steady, _ := set.Camera("stays")
		first, _ := set.Camera("gate")

		ended := false // by the time the new one is built
		if err := set.Change([]string{"yard", "stays", "gate"}, map[string]func() Config{
			"gate": func() Config { ended = !first.Snapshot().Up; return anew.cfg }, "yard": built(added),
		}); err != nil {
			t.Fatal(err)
		}
		if !ended {
			t.Error("a camera was built before the one that it replaces had ended")
		}
		if got := old.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN); got != errReplaced.Error() {
			t.Errorf("the replaced one is down because %q", got)
		}
		second, _ := set.Camera("gate")
		if again, _ := set.Camera("stays"); again != steady || second == first {
			t.Error("the wrong camera was built anew")
		}
		if snaps := set.Snapshots(); snaps[0].Camera != "yard" || snaps[1].Camera != "stays" || snaps[2].Camera != "gate" {
			t.Errorf("the order is %s %s %s", snaps[0].Camera, snaps[1].Camera, snaps[2].Camera)
		}
		time.Sleep(2 * time.Second)
		if err := set.Change([]string{"stays", "yard"}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := set.Camera("gate"); !errors.Is(err, ErrUnknownCamera) {
			t.Errorf("the removed one: %v", err)
		}
		if got := anew.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN); got != errRemoved.Error() {
			t.Errorf("the removed one is down because %q", got)
		}
		time.Sleep(time.Second)
		end()
		old.check(t, first)
		if n := anew.check(t, second).Published; n < 19 || n > 21 {
			t.Errorf("the new one published %d frames in 2 s of 10", n)
		}
		if n := stays.check(t, steady); n.In != n.Published || n.Published < 49 {
			t.Errorf("the one that stays had %d frames and published %d", n.In, n.Published)
		}
		third, _ := set.Camera("yard")
		if n := added.check(t, third).Published; n < 29 {
			t.Errorf("the added one published %d frames in 3 s of 10", n)
		}
		if err := set.Change([]string{"yard"}, nil); !errors.Is(err, ErrSetEnded) {
			t.Errorf("a change of a set that has ended: %v", err)
		}
	})
}

// A change that cannot be made is refused before any camera is touched.
func TestSetRefusesAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newBench(t, "a", 30)
		set, err := NewSet(a.cfg)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := runSet(t, set)
		for _, tt := range []struct {
			names []string
			build map[string]func() Config
			want  string
		}{
			{[]string{"a", "b"}, nil, `unknown camera "b"`},
			{[]string{"a", "a"}, nil, `two cameras are called "a"`},
			{[]string{"a"}, map[string]func() Config{"b": built(a)}, `"b" is to be built and not to be there`},
		} {
			if err := set.Change(tt.names, tt.build); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: %v, want %s", tt.names, err, tt.want)
			}
		}
		// What only shows when it is built costs that camera.
		bad := newBench(t, "b", 1)
		bad.cfg.NewStepper = nil
		if bad.cfg.Check() == nil {
			t.Error("Check finds nothing")
		}
		if err := set.Change([]string{"a", "b"}, map[string]func() Config{"b": built(bad)}); err == nil || !strings.Contains(err.Error(), "NewStepper") {
			t.Errorf("a camera without a part: %v", err)
		}
		time.Sleep(5 * time.Second)
		end()
		if snaps := set.Snapshots(); len(snaps) != 1 || snaps[0].Published != 30 {
			t.Errorf("the camera that is there: %+v", snaps)
		}
	})
}

// A set runs on while it is empty or is being changed, and ends with the last of its sources.
func TestSetEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := NewSet()
		if err != nil {
			t.Fatal(err)
		}
		_, ended := runSet(t, set)
		time.Sleep(time.Minute)
		a, b := newBench(t, "a", 10), newBench(t, "b", 30)
		if err := set.Change([]string{"a", "b"}, map[string]func() Config{"a": built(a), "b": built(b)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // a has ended
		// Between the end of b and the beginning of c no source is left.
		c := newBench(t, "c", 10)
		if err := set.Change([]string{"a", "c"}, map[string]func() Config{"c": func() Config {
			time.Sleep(time.Second)
			if ended() {
				t.Error("the set has ended while it was changed")
			}
			return c.cfg
		}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(900 * time.Millisecond)
		if ended() {
			t.Error("the set has ended before its last source")
		}
		time.Sleep(time.Second)
		if !ended() {
			t.Error("the set has not ended with its last source")
		}
	})
}

// A set that stays goes on after its last source, until its context ends.
func TestSetStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newBench(t, "a", 10)
		set, err := NewSet(a.cfg)
		if err != nil {
			t.Fatal(err)
		}
		set.Stay()
		stop, ended := runSet(t, set)
		time.Sleep(time.Minute)
		if ended() {
			t.Error("the set has ended with its last source")
		}
		stop()
		time.Sleep(time.Second)
		if !ended() {
			t.Error("the set has not ended with its context")
		}
	})
}

// Whoever annotates, holds or asks a camera that is removed is answered at once.
func TestRemovedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, other := newBench(t, "gate", 100), newBench(t, "other", 100)
		set, err := NewSet(b.cfg, other.cfg)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := runSet(t, set)
		time.Sleep(time.Second)
		gate, err := set.Camera("gate")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gate.Hold(t.Context(), 5, "somebody"); err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		asking.Go(func() {
			began := time.Now()
			_, err := gate.Annotate(t.Context(), annotate(ptr(80), 0))
			if !errors.Is(err, ErrDown) || !strings.Contains(err.Error(), "the camera was removed") || time.Since(began) > 2*time.Second {
				t.Errorf("the annotation was answered after %v: %v", time.Since(began), err)
			}
		})
		time.Sleep(time.Second)
		if err := set.Change([]string{"other"}, nil); err != nil {
			t.Fatal(err)
		}
		asking.Wait()
		if err := gate.LetGo(t.Context(), 5, "somebody"); !errors.Is(err, ErrDown) {
			t.Errorf("letting go of its frame: %v", err)
		}
		if _, err := gate.Annotate(t.Context(), annotate(nil, 0)); !errors.Is(err, ErrDown) {
			t.Errorf("an annotation afterwards: %v", err)
		}
		end()
		b.check(t, gate)
	})
}

// Whoever looks at a set while it changes sees one or the other.
func TestSetIsReadWhileItChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: a set that changes again and again")
	}
	a, b := newBench(t, "a", 1000), newBench(t, "b", 1000)
	set, err := NewSet(a.cfg)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := runSet(t, set)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if n := len(set.Snapshots()); n < 1 || n > 2 {
				t.Errorf("%d cameras", n)
			}
			if c, err := set.Camera("b"); err == nil {
				_ = c.State()
			}
		}
	})
	for range 5 {
		if err := set.Change([]string{"a", "b"}, map[string]func() Config{"b": built(b)}); err != nil {
			t.Error(err)
		}
		if err := set.Change([]string{"a"}, nil); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	reading.Wait()
	end()
}
