package cores

import (
	"slices"
	"sync"
	"time"
)

// Cores is how many goroutines may compute at once.
type Cores struct {
	mu      sync.Mutex
	all     int
	cameras int           // that have joined
	busy    time.Duration // of all cores so far, as of at
	at      time.Time
	free    int             // 0 while anybody waits
	waiting []waiter        // the most urgent first
	spare   []chan struct{} // of waiters that have gone
}

// waiter is a frame that waits for a core.
type waiter struct {
	begun bool
	since time.Time
	turn  chan struct{}
}

// urgency orders waiters.
func urgency(a, b waiter) int {
	if a.begun != b.begun {
		if a.begun {
			return -1
		}
		return 1
	}
	return a.since.Compare(b.since)
}

// New returns n free cores, of which there must be one at least.
func New(n int) *Cores {
	if n < 1 {
		panic("cores: none")
	}
	return &Cores{free: n, all: n, at: time.Now()}
}

// count adds what was in use since the last time; it needs mu, and comes before each change of free.
func (c *Cores) count() {
	now := time.Now()
	c.busy += time.Duration(c.all-c.free) * now.Sub(c.at)
	c.at = now
}

// Busy is for how long cores were in use so far, added up over all of them.
func (c *Cores) Busy() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count()
	return c.busy
}

// Join is for a camera that is to compute on the cores, and tells which of those that ever joined it is, from 1 on.
func (c *Cores) Join() (nth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cameras++
	return c.cameras
}

// All is how many cores there are.
func (c *Cores) All() int { return c.all }

// Acquire waits for a core. begun is whether work for the same frame is done already, since
// from when on it waits; of two that are as urgent the first to ask goes first.
func (c *Cores) Acquire(begun bool, since time.Time) {
	c.mu.Lock()
	if c.free > 0 {
		c.count()
		c.free--
		c.mu.Unlock()
		return
	}
	w := waiter{begun: begun, since: since}
	if n := len(c.spare); n > 0 {
		w.turn, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		w.turn = make(chan struct{}, 1)
	}
	at, _ := slices.BinarySearchFunc(c.waiting, w, func(other, w waiter) int {
		if urgency(other, w) <= 0 { // behind those that are as urgent
			return -1
		}
		return 1
	})
	c.waiting = slices.Insert(c.waiting, at, w)
	c.mu.Unlock()
	<-w.turn
	c.mu.Lock()
	c.spare = append(c.spare, w.turn)
	c.mu.Unlock()
}

// TryAcquire takes as many cores as are free, at most so many, and returns their number.
func (c *Cores) TryAcquire(most int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(c.free, most)
	if n > 0 {
		c.count()
		c.free -= n
	}
	return n
}

// Release gives back n cores.
func (c *Cores) Release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; n > 0 && len(c.waiting) > 0; n-- {
		c.waiting[0].turn <- struct{}{} // it has room for one
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
	if n > 0 {
		c.count()
		c.free += n
	}
}
