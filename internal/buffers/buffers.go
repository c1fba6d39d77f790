// Package buffers lends memory for numbers whose sizes change from one use to the next. What nobody borrows the
// garbage collector takes.
package buffers

import (
	"math/bits"
	"sync"
	"unsafe"
)

// steps is how many sizes there are from one power of two to the next: a quarter more than was asked for, at most.
const steps = 4

// idle holds by size where the first value of each is, which needs no memory beside it.
var idle [steps * bits.UintSize]sync.Pool

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
	if first, ok := idle[which].Get().(*float32); ok {
		return unsafe.Slice(first, size)[:n]
	}
	return make([]float32, size)[:n]
}

// Put gives back what Get returned, from its first value on. Nobody may use it after.
func Put(values []float32) {
	if cap(values) == 0 {
		return
	}
	if size, which := class(cap(values)); size == cap(values) {
		idle[which].Put(unsafe.SliceData(values))
	}
}
