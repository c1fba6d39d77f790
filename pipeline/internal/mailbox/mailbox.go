// Package mailbox is what stands in front of a stage: a queue of one frame, in which the newest replaces one that is
// unread, but never one that is pinned.
//
// A Box may be used by any goroutine; one of them takes.
package mailbox

import (
	"slices"
	"sync"
	"time"
)

// Item is what a Box holds.
type Item interface {
	// Pinned is what must not be replaced. How many may be pinned at once bounds a Box.
	Pinned() bool
	// Cored is what has a core already that it goes on with. The holder of the item says so.
	Cored() bool
}

// Box holds one unread item, and more only when they are pinned.
type Box[T Item] struct {
	drop func(T)

	mu      sync.Mutex
	changed sync.Cond
	items   []T       // oldest first; all but the last are pinned
	filled  time.Time // since when there are any
	idle    bool      // whether a reader waits for one
	closed  bool
}

// New returns an empty box, which calls drop, outside of its lock, with each item that will not be read.
func New[T Item](drop func(T)) *Box[T] {
	b := &Box[T]{drop: drop}
	b.changed.L = &b.mu
	return b
}

// Put hands over it, and drops what it replaces: an unread item that is not
// pinned, or it itself when all that is unread is pinned or the box is closed.
func (b *Box[T]) Put(it T) {
	if dropped, is := b.swap(it); is {
		b.drop(dropped)
	}
}

func (b *Box[T]) swap(it T) (dropped T, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return it, true
	}
	if last := len(b.items) - 1; last >= 0 {
		switch unread := b.items[last]; {
		case !unread.Pinned():
			b.items[last] = it
			return unread, true
		case !it.Pinned():
			return it, true
		}
	}
	if len(b.items) == 0 {
		b.filled = time.Now()
	}
	b.items = append(b.items, it)
	b.changed.Broadcast()
	return dropped, false
}

// Wait waits for an item, and tells since when there are any and whether the first has a core; ok
// is false once the box is closed and empty.
func (b *Box[T]) Wait() (since time.Time, cored, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = true
	for len(b.items) == 0 && !b.closed {
		b.changed.Wait()
	}
	b.idle = false
	ok = len(b.items) > 0
	return b.filled, ok && b.items[0].Cored(), ok
}

// Awaited tells whether an item that is put would be taken at once.
func (b *Box[T]) Awaited() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.idle && len(b.items) == 0
}

// Drain waits until the box is empty or closed.
func (b *Box[T]) Drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) > 0 && !b.closed {
		b.changed.Wait()
	}
}

// Take returns the oldest item; ok is false if there is none.
func (b *Box[T]) Take() (it T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) == 0 {
		return it, false
	}
	it = b.items[0]
	b.items = slices.Delete(b.items, 0, 1) // in its memory
	b.filled = time.Now()                  // as far as anybody was kept waiting
	b.changed.Broadcast()
	return it, true
}

// Unread tells whether there is an item.
func (b *Box[T]) Unread() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) > 0
}

// Close says that nothing more comes; what is unread may still be taken.
func (b *Box[T]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// Abort closes and drops what is unread.
func (b *Box[T]) Abort() {
	b.mu.Lock()
	unread := b.items
	b.items, b.closed = nil, true
	b.changed.Broadcast()
	b.mu.Unlock()
	for _, it := range unread {
		b.drop(it)
	}
}
