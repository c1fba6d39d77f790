package cores

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of those who wait, frames that were begun go first, and then those that wait the longest, in whatever order they
// asked.
func TestUrgency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(1)
		c.Acquire(false, time.Now())
		at := func(ms int) time.Time { return time.Now().Add(time.Duration(ms) * time.Millisecond) }
		var running sync.WaitGroup
		var served []string
		for _, w := range []struct {
			name  string
			begun bool
			since time.Time
		}{
			{"young", false, at(30)}, {"old", false, at(10)}, {"old, later", false, at(10)},
			{"begun", true, at(40)}, {"begun before", true, at(20)},
		} {
			running.Go(func() {
				c.Acquire(w.begun, w.since)
				served = append(served, w.name) // one at a time
				c.Release(1)
			})
			synctest.Wait()
		}
		c.Release(1)
		running.Wait()
		assert.Equal(t, []string{"begun before", "begun", "old", "old, later", "young"}, served, "served")
	})
}

// No frame gets a core that is not there, and none is lost.
func TestBound(t *testing.T) {
	const n, workers = 3, 10
	c := New(n)
	var busy, most atomic.Int32
	use := func(k int32) {
		now := busy.Add(k)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
	}
	var running sync.WaitGroup
	for w := range workers {
		running.Go(func() {
			for i := range 500 {
				c.Acquire(i%2 == 0, time.Now())
				use(1)
				helpers := c.TryAcquire(w % n)
				use(int32(helpers))
				use(int32(-helpers))
				c.Release(helpers)
				use(-1)
				c.Release(1)
			}
		})
	}
	running.Wait()
	if got := most.Load(); got > n {
		t.Errorf("%d computed at once on %d cores", got, n)
	}
	assert.Equal(t, n, c.TryAcquire(workers), "cores are free in the end")
	assert.Equal(t, 0, c.TryAcquire(1), "more")
}

// Busy adds up what is in use.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(3)
		time.Sleep(time.Second)
		c.Acquire(false, time.Now())
		time.Sleep(time.Second)
		require.Equal(t, 2, c.TryAcquire(5), "more cores")
		time.Sleep(time.Second)
		var waiting sync.WaitGroup
		waiting.Go(func() { c.Acquire(false, time.Now()) })
		synctest.Wait()
		time.Sleep(time.Second)
		c.Release(3) // one goes to who waits
		waiting.Wait()
		time.Sleep(time.Second)
		if got, want := c.Busy(), 8*time.Second; got != want || c.All() != 3 {
			t.Errorf("%d cores, busy for %v, want 3 and %v", c.All(), got, want)
		}
		c.Release(1)
	})
}

// Waiting allocates nothing in the long run.
func TestAllocations(t *testing.T) {
	c := New(1)
	var running sync.WaitGroup
	ask, got := make(chan struct{}), make(chan struct{})
	running.Go(func() {
		for range ask {
			c.Acquire(false, time.Time{})
			c.Release(1)
			got <- struct{}{}
		}
	})
	if n := testing.AllocsPerRun(100, func() {
		c.Acquire(true, time.Time{})
		ask <- struct{}{}
		c.Release(1)
		<-got
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	close(ask)
	running.Wait()
}

func Example() {
	c := New(2)
	c.Acquire(false, time.Now()) // a frame's turn
	helpers := c.TryAcquire(3)   // and what else is free
	fmt.Println(1 + helpers)
	c.Release(1 + helpers)
	// Output: 2
}
