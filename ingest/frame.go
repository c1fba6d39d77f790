package ingest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/buffers"
)

// Clock says where a frame's capture time comes from.
type Clock uint8

const (
	// ClockArrival: this machine's wall clock when the last byte of the frame
	// came in.
	ClockArrival Clock = iota
	// ClockSenderReport: the camera's wall clock when it took the frame, by its
	// RTCP sender reports. It is as right as the camera's clock is.
	ClockSenderReport
	// ClockMedia: the source has no wall clock; Captured is when the frame was
	// released to the pipeline.
	ClockMedia
)

// String returns "arrival", "sender-report" or "media".
func (c Clock) String() string {
	names := [...]string{"arrival", "sender-report", "media"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("clock %d", uint8(c))
}

// Frame is one decoded picture. Its fields are read only once it is handed out.
//
// It is reference counted: a caller that keeps it beyond the call that showed it calls
// Retain, and each owner calls Release once. After the last Release Pix belongs
// to another frame.
type Frame struct {
	// Camera is Config.Camera.
	Camera string
	// Seq counts the frames of this source since Run began, from 0. Reconnecting
	// does not restart it.
	Seq uint64
	// PTS is stream time since the source's first frame. It always rises.
	PTS time.Duration
	// Captured is when the frame was taken, by Clock.
	Captured time.Time
	// Clock says what Captured is worth.
	Clock Clock
	// Received is when the frame's last byte came in (file and directory: when it
	// was read), by this machine's clock, with a monotonic reading.
	Received time.Time
	// Damaged is true when the decoder had to invent part of the picture because
	// data was lost on the way.
	Damaged bool
	// Width and Height are in pixels, of the upright picture.
	Width, Height int
	// PixelAspect is how many times as wide as high a pixel is meant to be seen, above 0; 1: as wide.
	PixelAspect float64
	// Pix is BGR24, row after row without padding: 3*Width*Height bytes.
	Pix []byte

	refs atomic.Int32
	kept *Kept // what Pix was made of, if that takes less; else nil
	own  Kept  // kept's memory, which outlives the frame's references
}

// Retain adds a reference. It panics on a frame that has none left.
func (f *Frame) Retain() {
	if f.refs.Add(1) <= 1 {
		panic("ingest: Retain of a frame that was released")
	}
}

// Release gives one reference back, and the pixels' memory with the last: one that is
// never released costs memory for ever.
// It panics when there is none to give back.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n == 0:
		pix := f.Pix
		f.Pix = nil
		buffers.Put(pix)
		if f.kept != nil {
			f.kept.Release()
		}
	case n < 0:
		panic("ingest: Release of a frame that was released")
	}
}

// newFrame returns a frame with one reference and memory for its pixels.
func newFrame(width, height int) *Frame {
	f := &Frame{Width: width, Height: height, PixelAspect: 1, Pix: buffers.Get[byte](3 * width * height)}
	f.refs.Store(1)
	return f
}

// decodedFrame returns a frame of what a decoder made, turned as the configuration says.
func (s *Source) decodedFrame(pic *codec.Picture) (*Frame, error) {
	pic.Rotate(s.quarters())
	f := newFrame(pic.Width, pic.Height)
	f.PixelAspect = pic.PixelAspect
	s.shape(f)
	if err := pic.BGR(f.Pix); err != nil {
		f.Release()
		return nil, err
	}
	f.Damaged = pic.Damaged
	decoded, err := pic.Keep()
	if err != nil {
		f.Release()
		return nil, err
	}
	if decoded.Bytes() > len(f.Pix) {
		decoded.Free()
		return f, nil
	}
	f.own.begin(f)
	f.own.decoded = decoded
	f.kept = &f.own
	return f, nil
}

// quarters is by how many quarters of a circle pictures are turned clockwise.
func (s *Source) quarters() int { return s.cfg.Rotate / 90 }

// shape gives f's pixels the aspect by which the picture has the configured one.
func (s *Source) shape(f *Frame) {
	if s.cfg.Aspect > 0 {
		f.PixelAspect = s.cfg.Aspect * float64(f.Height) / float64(f.Width)
	}
}
