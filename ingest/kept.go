package ingest

import (
	"fmt"
	"sync/atomic"

	"github.com/segd/segd/ingest/codec"
)

// Kept is a frame's picture as it is kept for later: as the decoder made it, which is
// half of BGR24 in YUV 4:2:0, or the frame's Pix where no decoder did. It outlives the frame
// and its source. It is reference counted as a Frame is.
type Kept struct {
	Width, Height int
	PixelAspect   float64 // the frame's

	refs    atomic.Int32
	decoded codec.Kept                          // none: frame's Pix
	ignore  func(bgr []byte, width, height int) // Config.Ignore, of decoded
	frame   *Frame
}

// Keep returns the frame's picture with a reference for the caller. It copies nothing.
func (f *Frame) Keep() *Kept {
	if f.kept != nil {
		f.kept.Retain()
		return f.kept
	}
	f.Retain()
	k := new(Kept)
	k.begin(f)
	k.frame = f
	return k
}

// begin makes k one of f's size, with one reference and without a picture.
func (k *Kept) begin(f *Frame) {
	k.Width, k.Height, k.PixelAspect = f.Width, f.Height, f.PixelAspect
	k.refs.Store(1)
}

// Bytes is how much memory the picture takes.
func (k *Kept) Bytes() int {
	if k.decoded.None() {
		return len(k.frame.Pix)
	}
	return k.decoded.Bytes()
}

// BGR writes the frame's Pix, to the byte, into dst, which must be as long. Several
// goroutines may call it.
func (k *Kept) BGR(dst []byte) error {
	if k.decoded.None() {
		if n := len(k.frame.Pix); len(dst) < n {
			return fmt.Errorf("ingest: BGR24 of %dx%d needs %d bytes, the buffer has %d", k.Width, k.Height, n, len(dst))
		}
		copy(dst, k.frame.Pix)
		return nil
	}
	if err := k.decoded.BGR(dst); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	if k.ignore != nil {
		k.ignore(dst, k.Width, k.Height)
	}
	return nil
}

// Retain adds a reference. It panics on a picture that has none left.
func (k *Kept) Retain() {
	if k.refs.Add(1) <= 1 {
		panic("ingest: Retain of a picture that was released")
	}
}

// Release gives one reference back, and the memory with the last. It panics when there is
// none to give back.
func (k *Kept) Release() {
	switch n := k.refs.Add(-1); {
	case n > 0:
	case n < 0:
		panic("ingest: Release of a picture that was released")
	case k.decoded.None():
		k.frame.Release()
	default:
		k.decoded.Free()
	}
}
