package daemon

import (
	"cmp"
	"sync"
	"time"

	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/cores"
	"github.com/segd/segd/pipeline"
)

const (
	// capacityWindow is over how long a capacity is measured, about.
	capacityWindow = 30.0 // seconds
	// busyLeast is what part of the cores must have been in use for a second to tell anything.
	busyLeast = 0.03
	// A frame takes otherStages times as long as the network does, and otherTime, before anything is measured.
	otherStages = 3
	otherTime   = 5 * time.Millisecond
	// someNetwork is how long the network takes where it was not timed.
	someNetwork = 40 * time.Millisecond
)

// capacity measures how many frames a second a box can label: those that it labels, by the share of its cores
// that takes.
type capacity struct {
	cores *cores.Cores

	mu     sync.Mutex
	frames float64 // labelled ones, of late
	busy   float64 // seconds of a core that they took
	last   time.Duration
	counts map[string]uint64 // by camera
	begin  float64           // what to say until something is measured
}

func newCapacity(c *cores.Cores) *capacity { return &capacity{cores: c, counts: map[string]uint64{}} }

// guess says how long the network takes for a frame on all cores; 0: unknown.
func (c *capacity) guess(network time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin = 1 / (otherStages*cmp.Or(network, someNetwork) + otherTime).Seconds()
}

// networkTime is how long a model's network takes for a frame; 0: it was not timed.
func networkTime(info dnn.Info) time.Duration {
	for _, e := range info.Engines {
		if e.Name == info.Engine && e.Milliseconds > 0 {
			return time.Duration(e.Milliseconds * float64(time.Millisecond))
		}
	}
	return time.Duration(info.Milliseconds * float64(time.Millisecond))
}

// measure is to be called once a second.
func (c *capacity) measure(snaps []pipeline.Snapshot) {
	busy := c.cores.Busy()
	c.mu.Lock()
	defer c.mu.Unlock()
	took := (busy - c.last).Seconds()
	c.last = busy
	counts, frames := make(map[string]uint64, len(snaps)), uint64(0)
	for _, s := range snaps {
		labelled := s.Published + s.Unleased
		counts[s.Camera] = labelled
		if before, ok := c.counts[s.Camera]; ok && labelled >= before {
			frames += labelled - before
		}
	}
	c.counts = counts
	if took < busyLeast*float64(c.cores.All()) || frames == 0 {
		return
	}
	const keep = 1 - 1/capacityWindow
	c.frames, c.busy = keep*c.frames+float64(frames), keep*c.busy+took
}

// framesPerSecond is the capacity; 0 before anything is known.
func (c *capacity) framesPerSecond() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy < 1 {
		return c.begin
	}
	return c.frames / c.busy * float64(c.cores.All())
}
