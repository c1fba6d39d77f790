package codec

//#cgo pkg-config: libavutil libswscale
//#include <stdlib.h>
//#include "scale.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// NoPTS is the PTS of a picture whose stream does not say when it is shown.
const NoPTS = -1 << 63

// Picture is a decoded picture still in FFmpeg's memory. It is valid only as
// long as the function that handed it out says; Keep makes it last.
type Picture struct {
	// Width and Height are in pixels, cropping applied, of the upright picture.
	Width, Height int
	// PixelAspect is how many times as wide as high a pixel of the upright picture is meant to be
	// seen: 1 if the stream does not say.
	PixelAspect float64
	// PTS is in the units it was given to the decoder in; from a Demuxer it is in
	// nanoseconds from the start of the track. NoPTS when unknown.
	PTS int64
	// Key is true for a picture that needs no other to be decoded.
	Key bool
	// Damaged is true when the decoder had to invent part of the picture because
	// bytes or references were missing.
	Damaged bool

	frame *astiav.Frame
	scale *scaler
	track orientation // of the file's track, for frames that say nothing
	turn  orientation
}

// Rotate turns the picture clockwise by so many quarters of a circle, beside what its stream says.
func (p *Picture) Rotate(quarters int) {
	p.turn.quarters = (p.turn.quarters + quarters) & 3
	if quarters%2 != 0 {
		p.Width, p.Height, p.PixelAspect = p.Height, p.Width, 1/p.PixelAspect
	}
}

// BGR writes the upright picture as BGR24, row after row without padding, into the
// first 3*Width*Height bytes of dst, which must be that long at least. The
// colour matrix and range are the stream's; where it names none, BT.601 below
// 720 lines and BT.709 from there on, limited range.
func (p *Picture) BGR(dst []byte) error {
	if n := 3 * p.Width * p.Height; len(dst) < n {
		return fmt.Errorf("codec: BGR24 of %dx%d needs %d bytes, the buffer has %d", p.Width, p.Height, n, len(dst))
	}
	return p.scale.toBGR(p.frame, dst, p.turn)
}

// upright returns the picture as a frame in BGR24, which the caller frees.
func (p *Picture) upright() (*astiav.Frame, error) {
	pix := make([]byte, 3*p.Width*p.Height)
	if err := p.BGR(pix); err != nil {
		return nil, err
	}
	f, err := allocFrame(p.Width, p.Height, astiav.PixelFormatBgr24)
	if err != nil {
		return nil, err
	}
	C.segd_fill(cFrame(f), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(pix))))
	return f, nil
}

// fill makes p describe what the decoder left in its frame, whose samples have that aspect ratio.
func (p *Picture) fill(sample astiav.Rational) error {
	p.Width, p.Height = p.frame.Width(), p.frame.Height()
	if err := CheckSize(p.Width, p.Height); err != nil {
		return err
	}
	p.PixelAspect = pixelAspect(sample, p.Width, p.Height)
	p.turn = orientation{}
	turn := p.track
	if d := p.frame.SideData(astiav.FrameSideDataTypeDisplaymatrix); d != nil {
		turn = turnOf(d.Data())
	}
	p.turn.mirrored = turn.mirrored
	p.Rotate(turn.quarters)
	f := cFrame(p.frame)
	p.PTS = int64(C.segd_frame_pts(f))
	p.Key = p.frame.KeyFrame()
	p.Damaged = C.segd_frame_damaged(f) != 0
	return nil
}

func cFrame(f *astiav.Frame) *C.AVFrame { return (*C.AVFrame)(f.UnsafePointer()) }

// scaler converts whole pictures between pixel formats. It goes through a frame
// of its own with aligned rows, because swscale's vector code writes past the
// end of tight rows whose length is not a multiple of its step.
type scaler struct {
	c     *C.SegdScaler
	frame *astiav.Frame // BGR24, aligned; nil until first used
}

func newScaler() *scaler {
	return &scaler{c: (*C.SegdScaler)(C.calloc(1, C.sizeof_SegdScaler))}
}

func (s *scaler) toBGR(src *astiav.Frame, dst []byte, turn orientation) error {
	if err := s.fit(src.Width(), src.Height()); err != nil {
		return err
	}
	ret := C.segd_to_bgr(s.c, cFrame(src), cFrame(s.frame), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(dst))),
		C.int(turn.quarters), flag(turn.mirrored))
	return scaleError(ret, src, "BGR24")
}

// fit gives s.frame the size asked for.
func (s *scaler) fit(width, height int) error {
	if s.frame != nil && s.frame.Width() == width && s.frame.Height() == height {
		return nil
	}
	free(&s.frame)
	f, err := allocFrame(width, height, astiav.PixelFormatBgr24)
	if err != nil {
		return err
	}
	s.frame = f
	return nil
}

// free frees what is there, once.
func free[T any, P interface {
	*T
	Free()
}](what *P) {
	if *what != nil {
		(*what).Free()
		*what = nil
	}
}

func (s *scaler) close() {
	free(&s.frame)
	if s.c != nil {
		C.segd_scaler_free(s.c)
		C.free(unsafe.Pointer(s.c))
		s.c = nil
	}
}

// rowAlign is what swscale's widest vector code asks of a row, in bytes.
const rowAlign = 64

func allocFrame(width, height int, format astiav.PixelFormat) (*astiav.Frame, error) {
	f := astiav.AllocFrame()
	f.SetWidth(width)
	f.SetHeight(height)
	f.SetPixelFormat(format)
	if err := f.AllocBuffer(rowAlign); err != nil {
		f.Free()
		return nil, fmt.Errorf("codec: frame of %dx%d: %w", width, height, err)
	}
	return f, nil
}

func scaleError(ret C.int, src *astiav.Frame, to string) error {
	if ret >= 0 {
		return nil
	}
	return fmt.Errorf("codec: converting %s of %dx%d to %s: %w",
		src.PixelFormat().Name(), src.Width(), src.Height(), to, astiav.Error(ret))
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
