// Package buffers lends memory whose size changes from one use to the next. What was not borrowed for some seconds is
// let go.
package buffers

import (
	"math/bits"
	"slices"
	"sync"
	"time"
	"unsafe"
)

const (
	// steps is how many sizes there are from one power of two to the next: one is a quarter larger than what it is for, at most.
	steps = 4
	// patience is how long what is not borrowed stays.
	patience = 5 * time.Second
	// word is the unit of sizes, in bytes.
	word = 8
)

// Number is what can be lent: what takes 1, 2, 4 or 8 bytes and points nowhere.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// A Stock keeps what is not in use at the moment, the latest first, and for some seconds only. The zero value is empty.
// Any goroutine may use it.
type Stock[T any] struct {
	mu   sync.Mutex
	idle []idle[T] // the latest last
}

type idle[T any] struct {
	of    T
	since time.Time
}

// Take returns what was put back last, if there is anything.
func (s *Stock[T]) Take() (of T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.idle) - 1
	if at < 0 {
		return of, false
	}
	of = s.idle[at].of
	s.idle = slices.Delete(s.idle, at, at+1)
	return of, true
}

// Put gives back what the caller does not use any more, and lets go what has been there for long.
func (s *Stock[T]) Put(of T) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, idle[T]{of, now})
	s.sweep(now)
}

// sweep lets go what has been there for long. It needs mu.
func (s *Stock[T]) sweep(now time.Time) {
	s.idle = slices.DeleteFunc(s.idle, func(i idle[T]) bool { return now.Sub(i.since) >= patience })
}

var (
	stocks [steps * bits.UintSize]Stock[*uint64] // by size

	mu    sync.Mutex
	swept time.Time
)

// class is the smallest that has n words or more.
func class(n int) (which int) {
	n = max(n, steps)
	shift := max(0, bits.Len(uint(n-1))-bits.Len(uint(steps)))
	units := (n + 1<<shift - 1) >> shift // more than steps, up to twice as many
	return steps*shift + units - steps
}

// sizeOf is the size of a class, in words.
func sizeOf(which int) int {
	if which == 0 {
		return steps
	}
	return ((which-1)%steps + steps + 1) << ((which - 1) / steps)
}

// words is how many n values take.
func words[T Number](n int) int {
	var one T
	return (n*int(unsafe.Sizeof(one)) + word - 1) / word
}

// Get returns n values, of any value, in memory for as many, or for up to twice as many if that is idle: sizes that change
// all the time have few pieces. Put should follow.
func Get[T Number](n int) []T {
	if n < 1 {
		return nil
	}
	size, which := 0, class(words[T](n))
	var first *uint64
	for k := which; k <= which+steps && k < len(stocks) && first == nil; k++ {
		first, _ = stocks[k].Take()
		size = sizeOf(k)
	}
	if first == nil {
		size = sizeOf(which)
		first = unsafe.SliceData(make([]uint64, size))
	}
	var one T
	return unsafe.Slice((*T)(unsafe.Pointer(first)), size*word/int(unsafe.Sizeof(one)))[:n]
}

// Fit returns n values, of any value: in s, which Get returned, if there is room, else in other memory, and s is given back.
func Fit[T Number](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	Put(s)
	return Get[T](n)
}

// Put gives back what Get returned, from its first value on. It may not be used after.
func Put[T Number](values []T) {
	if cap(values) == 0 {
		return
	}
	which := class(words[T](cap(values)))
	var one T
	if sizeOf(which)*word != cap(values)*int(unsafe.Sizeof(one)) {
		return // is none of Get's
	}
	now := time.Now()
	stocks[which].Put((*uint64)(unsafe.Pointer(unsafe.SliceData(values))))
	mu.Lock()
	defer mu.Unlock()
	if since := now.Sub(swept); since >= 0 && since < time.Second { // a test's clock may be behind
		return
	}
	swept = now
	for k := range stocks {
		stocks[k].mu.Lock()
		stocks[k].sweep(now)
		stocks[k].mu.Unlock()
	}
}
