package chaos

import (
	"slices"
	"sync"
	"time"
)

// health measures how soon each camera publishes after nothing ails it any more.
type health struct {
	mu      sync.Mutex
	cameras []condition
	// recovered are the times it took, by the fault that ended last; broken counts those
	// that another fault, or a step of the clock, cut short.
	recovered map[Kind][]time.Duration
	broken    int
}

// condition is a camera's.
type condition struct {
	ailing int       // faults that keep its masks from coming
	well   time.Time // since when it is without, until a mask has come; zero otherwise
	of     Kind      // what it had last
}

func newHealth(cameras int) *health {
	return &health{cameras: make([]condition, cameras), recovered: map[Kind][]time.Duration{}}
}

// harm begins a fault of cameras.
func (h *health) harm(cameras ...int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range cameras {
		h.cameras[c].ailing++
		h.interrupt(c)
	}
}

// heal ends one of a kind.
func (h *health) heal(k Kind, cameras ...int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range cameras {
		if h.cameras[c].ailing--; h.cameras[c].ailing == 0 {
			h.cameras[c].well, h.cameras[c].of = time.Now(), k
		}
	}
}

// step tells that the clock has jumped, by which masks are told apart.
func (h *health) step() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.cameras {
		h.interrupt(c)
	}
}

// interrupt needs mu.
func (h *health) interrupt(c int) {
	if !h.cameras[c].well.IsZero() {
		h.broken++
		h.cameras[c].well = time.Time{}
	}
}

// mask takes note of one that segd published at a moment of the wall clock. One that it
// published before the camera was well had only been kept up.
func (h *health) mask(camera int, published time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.cameras[camera]
	if c.well.IsZero() || published.Before(c.well.Round(0)) {
		return
	}
	h.recovered[c.of] = append(h.recovered[c.of], time.Since(c.well))
	c.well = time.Time{}
}

// times returns what has been measured, sorted, by the fault that ended last, and how
// many were cut short.
func (h *health) times() (recovered map[Kind][]time.Duration, broken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	recovered = map[Kind][]time.Duration{}
	for k, times := range h.recovered {
		recovered[k] = slices.Sorted(slices.Values(times))
	}
	return recovered, h.broken
}

// overdue returns the cameras that are well and have not published since.
func (h *health) overdue() (cameras []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c, now := range h.cameras {
		if now.ailing > 0 || !now.well.IsZero() {
			cameras = append(cameras, c)
		}
	}
	return cameras
}
