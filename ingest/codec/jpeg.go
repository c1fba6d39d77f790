package codec

//#include "scale.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// JPEGEncoder compresses pictures of one size as JPEG, 4:2:0, each by itself. It is for one
// goroutine at a time.
type JPEGEncoder struct {
	from, to size
	ctx      *astiav.CodecContext
	packet   *astiav.Packet
	bgr      *astiav.Frame
	scale    *scaler
}

type size struct{ width, height int }

// NewJPEGEncoder returns an encoder of BGR24 pictures of width×height that makes JPEGs of
// toWidth×toHeight; quality is that of libjpeg, 1 to 100, as nearly as FFmpeg has it.
func NewJPEGEncoder(width, height, toWidth, toHeight, quality int) (*JPEGEncoder, error) {
	e := &JPEGEncoder{from: size{width, height}, to: size{toWidth, toHeight}}
	for _, s := range []size{e.from, e.to} {
		if err := checkArea(s.width, s.height); err != nil {
			return nil, fmt.Errorf("codec: JPEG: %w", err)
		}
	}
	if err := e.open(quality); err != nil {
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

func (e *JPEGEncoder) open(quality int) error {
	c := astiav.FindEncoderByName("mjpeg")
	if c == nil {
		return errors.New("this FFmpeg has no mjpeg")
	}
	if e.ctx = astiav.AllocCodecContext(c); e.ctx == nil {
		return errors.New("out of memory")
	}
	e.ctx.SetWidth(e.to.width)
	e.ctx.SetHeight(e.to.height)
	e.ctx.SetPixelFormat(astiav.PixelFormatYuvj420P)
	e.ctx.SetTimeBase(astiav.NewRational(1, 1))
	e.ctx.SetThreadCount(1)
	d := astiav.NewDictionary()
	defer d.Free()
	q := strconv.Itoa(qscale(quality))
	if err := setOptions(d, "qmin", q, "qmax", q, "huffman", "default"); err != nil {
		return err
	}
	if err := e.ctx.Open(c, d); err != nil {
		return fmt.Errorf("mjpeg: %w", err)
	}
	var err error
	if e.bgr, err = allocFrame(e.from.width, e.from.height, astiav.PixelFormatBgr24); err != nil {
		return err
	}
	e.packet = astiav.AllocPacket()
	e.scale = newScaler()
	return nil
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

// Close frees the encoder's memory.
func (e *JPEGEncoder) Close() {
	if e.scale != nil {
		e.scale.close()
		e.packet.Free()
		e.scale = nil
	}
	if e.bgr != nil {
		e.bgr.Free()
		e.bgr = nil
	}
	if e.ctx != nil {
		e.ctx.Free()
		e.ctx = nil
	}
}
