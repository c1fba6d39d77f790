// Package outbox holds what waits to be sent: a queue, oldest first, bounded by number and by bytes. It has no lock: the
// mutex of its holder guards it.
package outbox

// Queue is bounded. Make it with New.
type Queue[T any] struct {
	most, mostBytes int
	size            func(T) int

	items []T // oldest first
	bytes int
	gone  uint64 // items that have left
}

// New returns an empty queue for as many items, and as many bytes by their size; nil: bytes are not counted.
func New[T any](most, mostBytes int, size func(T) int) Queue[T] {
	if size == nil {
		size = func(T) int { return 0 }
	}
	return Queue[T]{most: most, mostBytes: mostBytes, size: size}
}

// Len is how many items there are.
func (q *Queue[T]) Len() int { return len(q.items) }

// Bytes is how many they have.
func (q *Queue[T]) Bytes() int { return q.bytes }

// All are the items, oldest first, until the queue is changed.
func (q *Queue[T]) All() []T { return q.items }

// Fits tells whether there is room for it.
func (q *Queue[T]) Fits(it T) bool {
	return len(q.items) < q.most && q.bytes+q.size(it) <= q.mostBytes
}

// Put queues it, and drops the oldest items beyond the bounds; it too, if it alone is larger.
func (q *Queue[T]) Put(it T) (dropped int) {
	q.items = append(q.items, it)
	q.bytes += q.size(it)
	for ; len(q.items) > q.most || q.bytes > q.mostBytes; dropped++ {
		q.Drop(1)
	}
	return dropped
}

// Oldest is the item to send next, if there is one, and its place for Done.
func (q *Queue[T]) Oldest() (it T, at uint64, ok bool) {
	if len(q.items) > 0 {
		it, ok = q.items[0], true
	}
	return it, q.gone, ok
}

// Done takes off what was the Oldest at that place, and returns false if it was dropped while it was sent.
func (q *Queue[T]) Done(at uint64) bool {
	there := at == q.gone && len(q.items) > 0
	if there {
		q.Drop(1)
	}
	return there
}

// Drop takes the n oldest off.
func (q *Queue[T]) Drop(n int) {
	for _, it := range q.items[:n] {
		q.bytes -= q.size(it)
	}
	clear(q.items[:n]) // for the garbage collector
	q.items = q.items[n:]
	q.gone += uint64(n)
}
