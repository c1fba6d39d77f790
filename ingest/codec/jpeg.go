package codec

//#include "scale.h"
import "C"

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// JPEGEncoder compresses pictures of one size as JPEG, 4:2:0, each by itself. It is for one
// goroutine at a time.
type JPEGEncoder struct {
	compressor
	from, to size
}

// NewJPEGEncoder returns an encoder of BGR24 pictures of width×height that makes JPEGs of
// toWidth×toHeight; quality is that of libjpeg, 1 to 100, as nearly as FFmpeg has it.
func NewJPEGEncoder(width, height, toWidth, toHeight, quality int) (*JPEGEncoder, error) {
	e := &JPEGEncoder{from: size{width, height}, to: size{toWidth, toHeight}}
	for _, s := range []size{e.from, e.to} {
		if err := checkArea(s.width, s.height); err != nil {
			return nil, fmt.Errorf("codec: JPEG: %w", err)
		}
	}
	q := strconv.Itoa(qscale(quality))
	if err := e.open("mjpeg", e.from, e.to, astiav.PixelFormatYuvj420P, 1, "qmin", q, "qmax", q, "huffman", "default"); err != nil {
		e.Close()
		return nil, fmt.Errorf("codec: JPEG: %w", err)
	}
	return e, nil
}

// qscale is how coarse FFmpeg quantises, 1 to 31, for a quality of libjpeg's, which scales
// other tables. With this factor the errors that are left are about the same.
func qscale(quality int) int {
	scale := float64(200-2*quality) / 100
	if quality < 50 {
		scale = 50 / float64(quality)
	}
	return min(max(int(math.Round(11*scale)), 1), 31)
}

// Encode returns a picture, tight rows of BGR24, as JPEG in memory of its own. pix is only
// read, and not kept.
func (e *JPEGEncoder) Encode(pix []byte) ([]byte, error) {
	if e.ctx == nil {
		return nil, ErrClosed
	}
	if n := 3 * e.from.width * e.from.height; len(pix) != n {
		return nil, fmt.Errorf("codec: JPEG: BGR24 of %dx%d is %d bytes, got %d", e.from.width, e.from.height, n, len(pix))
	}
	C.segd_fill(cFrame(e.bgr), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(pix))))
	yuv, err := allocFrame(e.to.width, e.to.height, astiav.PixelFormatYuvj420P)
	if err != nil {
		return nil, err
	}
	defer yuv.Free()
	C.segd_frame_set_matrix(cFrame(yuv), flag(false)) // JFIF's
	if err := scaleError(C.segd_to_yuv(e.scale.c, cFrame(e.bgr), cFrame(yuv)), e.bgr, "YUV 4:2:0"); err != nil {
		return nil, err
	}
	if err := e.ctx.SendFrame(yuv); err != nil {
		return nil, fmt.Errorf("codec: JPEG: %w", err)
	}
	if err := e.ctx.ReceivePacket(e.packet); err != nil {
		return nil, fmt.Errorf("codec: JPEG: %w", err)
	}
	defer e.packet.Unref()
	return e.packet.Data(), nil
}
