package features

import (
	"math"
	"math/bits"
)

const (
	// keyShift leaves three bits of mantissa in a queue key, so keys are 6 to 12 % of
	// a squared distance apart. From one bit to six the best J that superpixels allow
	// on DAVIS stays within 0.001, and fewer keys mean fewer pixels queued twice and
	// neighbours settled together, while they are in cache.
	keyShift = 20
	// keyBias is added to a squared distance before it is quantised, so that keys are
	// linear well below it and logarithmic well above. It is (1/6 of a Lab unit)²,
	// which is noise.
	keyBias = LabUnit * LabUnit / 32
	// keyOffset makes the key of distance 0 one.
	keyOffset = 0x43000000>>keyShift - 1 // math.Float32bits(keyBias)
	// keyCount covers every key, up to that of the largest float32.
	keyCount = 0x7f7fffff>>keyShift - keyOffset + 1

	// settled is the key of a pixel that has its label, unseen that of one that has
	// not been queued. Queue keys lie between.
	settled = 0
	unseen  = math.MaxUint16

	// chunkSize is how many waiting pixels are stored in a row.
	chunkSize = 64
)

// distanceKey quantises a squared distance to which keyBias has been added.
func distanceKey(d float32) uint32 { return math.Float32bits(d)>>keyShift - keyOffset }

// waiting is a pixel that may join a region: 16 bits each of x and y, from the lowest on, and the
// region's label. Coordinates count from 1, as there is a frame around the image.
type waiting uint64

func makeWaiting(x, y int, label int32) waiting {
	return waiting(uint16(x)) | waiting(uint16(y))<<16 | waiting(label)<<32
}

func (w waiting) x() uint32    { return uint32(w & 0xffff) }
func (w waiting) y() uint32    { return uint32(w >> 16 & 0xffff) }
func (w waiting) label() int32 { return int32(w >> 32) }

// at is the place of the pixel in rows of stride pixels.
func (w waiting) at(stride uint32) uint32 { return w.y()*stride + w.x() }

// span is a bucket's reading and writing position among the entries. A bucket is a
// list of chunks, of which only the first and the last are known by position.
type span struct{ read, write uint32 }

// queue is a priority queue with small integer keys, first in first out among
// equals: one bucket a key, made of chunks that are recycled.
type queue struct {
	key     uint32 // no bucket below it holds anything
	free    uint32 // first unused chunk, 0 for none: chunk 0 belongs to key 0
	entries []waiting
	next    []uint32                // chunk after each chunk
	filled  [keyCount/64 + 1]uint64 // one bit a key: may hold something
	buckets [keyCount]span

	batch batch // of those that take returned
}

// reset empties q.
func (q *queue) reset() {
	if len(q.next) < keyCount {
		q.next = make([]uint32, keyCount)
		q.entries = make([]waiting, keyCount*chunkSize)
	}
	for i := range q.buckets {
		q.buckets[i] = span{uint32(i * chunkSize), uint32(i * chunkSize)}
	}
	clear(q.filled[:])
	q.key = keyCount - 1
	q.free = 0
	for c := len(q.next) - 1; c >= keyCount; c-- {
		q.next[c] = q.free
		q.free = uint32(c)
	}
}

// push adds w under key, which must be in 1…keyCount−1.
func (q *queue) push(key uint32, w waiting) {
	b := &q.buckets[key]
	at := b.write
	q.entries[at] = w
	at++
	if at%chunkSize == 0 {
		at = q.extend(at/chunkSize-1) * chunkSize
	}
	b.write = at
	q.filled[key/64] |= 1 << (key % 64)
	if key < q.key {
		q.key = key
	}
}

// extend appends a chunk to the list that ends in chunk last.
func (q *queue) extend(last uint32) uint32 {
	c := q.free
	if c != 0 {
		q.free = q.next[c]
	} else {
		c = uint32(len(q.next))
		q.next = append(q.next, 0)
		q.entries = append(q.entries, make([]waiting, chunkSize)...)
	}
	q.next[last] = c
	return c
}

// waits tells whether an entry waits under q.key, which then is the lowest.
func (q *queue) waits() bool {
	b := &q.buckets[q.key]
	return b.read != b.write
}

// seek moves q.key to the lowest key of an entry, and tells whether there is one. There is none
// under the present q.key.
func (q *queue) seek() bool {
	for !q.waits() {
		q.filled[q.key/64] &^= 1 << (q.key % 64)
		word := q.key / 64
		for q.filled[word] == 0 {
			if word++; int(word) == len(q.filled) {
				q.key = keyCount - 1
				return false
			}
		}
		q.key = word*64 + uint32(bits.TrailingZeros64(q.filled[word]))
	}
	return true
}

// pop removes the oldest entry under q.key. There must be one.
func (q *queue) pop() waiting {
	b := &q.buckets[q.key]
	at := b.read
	w := q.entries[at]
	if at++; at%chunkSize == 0 {
		at = q.follow(at/chunkSize - 1)
	}
	b.read = at
	return w
}

// take removes the oldest entries under q.key, as many as are in a chunk. There must be one. The
// next push may overwrite what it returns.
func (q *queue) take() []waiting {
	b := &q.buckets[q.key]
	from, to, c := b.read, b.write, b.read/chunkSize
	if c == to/chunkSize {
		b.read = to
		return q.entries[from:to]
	}
	b.read = q.follow(c)
	return q.entries[from : (c+1)*chunkSize]
}

// follow frees a chunk that was read and returns where the next one begins.
func (q *queue) follow(c uint32) uint32 {
	at := q.next[c] * chunkSize
	q.next[c] = q.free
	q.free = c
	return at
}
