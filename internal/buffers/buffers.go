// Package buffers lends memory for numbers whose sizes change from one use to the next. What nobody borrowed for
// some seconds is let go.
package buffers

import (
	"math/bits"
	"slices"
	"sync"
	"time"
	"unsafe"
)

const (
	// steps is how many sizes there are from one power of two to the next: a quarter more than was asked for, at most.
	steps = 4
	// patience is how long what is not borrowed stays.
	patience = 10 * time.Second
)

// waiting is memory that nobody has.
type waiting struct {
	first *float32
	since time.Time
}

var (
	mu    sync.Mutex
	idle  [steps * bits.UintSize][]waiting // by size, the latest last
	swept time.Time
)

// class is the smallest size of n values or more, and which one it is.
func class(n int) (size, which int) {
	n = max(n, steps)
	shift := bits.Len(uint(n-1)) - bits.Len(uint(steps))
	if shift < 0 {
		shift = 0
	}
	units := (n + 1<<shift - 1) >> shift // more than steps, up to twice as many
	return units << shift, steps*shift + units - steps
}

// Get returns n values, of any value. Put should follow.
func Get(n int) []float32 {
	if n < 1 {
		return nil
	}
	size, which := class(n)
	mu.Lock()
	defer mu.Unlock()
	if at := len(idle[which]) - 1; at >= 0 {
		first := idle[which][at].first
		idle[which] = slices.Delete(idle[which], at, at+1)
		return unsafe.Slice(first, size)[:n]
	}
	return make([]float32, size)[:n]
}

// Put gives back what Get returned, from its first value on. Nobody may use it after.
func Put(values []float32) {
	if cap(values) == 0 {
		return
	}
	size, which := class(cap(values))
	if size != cap(values) {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	now := time.Now()
	idle[which] = append(idle[which], waiting{unsafe.SliceData(values), now})
	if now.Sub(swept) < time.Second {
		return
	}
	swept = now
	for k, all := range idle {
		idle[k] = slices.DeleteFunc(all, func(w waiting) bool { return now.Sub(w.since) >= patience })
	}
}
