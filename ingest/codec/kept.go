package codec

//#include "scale.h"
import "C"

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"
)

// Kept is a decoded picture that outlives its Picture and its decoder: one reference to
// FFmpeg's memory of it, which is no copy, and which no decoder writes to meanwhile.
// Several goroutines may call all but Free.
type Kept struct {
	frame *astiav.Frame
	bytes int
	turn  orientation
}

// Keep returns the picture for as long as it is wanted. Free must follow.
func (p *Picture) Keep() (Kept, error) {
	own := p.frame.Clone()
	if own == nil {
		return Kept{}, errors.New("codec: keeping a picture: out of memory")
	}
	return Kept{frame: own, bytes: int(C.segd_frame_bytes(cFrame(own))), turn: p.turn}, nil
}

// None tells whether there is no picture: of the zero Kept.
func (k *Kept) None() bool { return k.frame == nil }

// Bytes is how much memory the picture takes.
func (k *Kept) Bytes() int { return k.bytes }

// BGR writes what Picture.BGR did, to the byte. It sets its conversion up anew each time: most
// pictures that are kept are not looked at again.
func (k *Kept) BGR(dst []byte) error {
	width, height := k.frame.Width(), k.frame.Height()
	if n := 3 * width * height; len(dst) < n {
		return fmt.Errorf("codec: BGR24 of %dx%d needs %d bytes, the buffer has %d", width, height, n, len(dst))
	}
	s := newScaler()
	defer s.close()
	return s.toBGR(k.frame, dst, k.turn)
}

// Free gives the reference back. It may be called once.
func (k *Kept) Free() {
	k.frame.Free()
	k.frame = nil
}
