package ingest

import (
	"fmt"
	"sync/atomic"
)

// Miss is why an access unit, or an image, gave no frame.
type Miss uint8

const (
	// MissLost: packets of it never came.
	MissLost Miss = iota
	// MissUndecodable: it came whole, and the decoder made no picture of it, or one
	// without the highest spatial layer.
	MissUndecodable
	// MissDisposable: it was not decoded because decoding or what comes after it is
	// behind, and no other unit refers to it.
	MissDisposable
	// MissOverflow: too much waited for the decoder, so it was thrown away, or what
	// it refers to was.
	MissOverflow
	// MissNoKey: it came before the first key frame of its connection.
	MissNoKey
	// Misses is how many reasons there are.
	Misses = iota
)

// String returns the reason's name in metrics.
func (m Miss) String() string {
	names := [Misses]string{"lost", "undecodable", "skipped_disposable", "skipped_overflow", "skipped_no_key"}
	if int(m) < len(names) {
		return names[m]
	}
	return fmt.Sprintf("miss %d", uint8(m))
}

// misses counts access units by why they gave no frame, until they are told.
type misses [Misses]atomic.Int64

func (m *misses) add(why Miss) { m[why].Add(1) }

// tell passes on what was counted since the last time.
func (m *misses) tell(f func(why Miss, n int)) {
	for why := range m {
		if n := int(m[why].Swap(0)); n > 0 {
			f(Miss(why), n)
		}
	}
}
