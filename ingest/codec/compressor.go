package codec

//#include "scale.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"
)

type size struct{ width, height int }

// compressor is what encoders have in common: one of FFmpeg's, and a picture of BGR that is scaled for it.
type compressor struct {
	kind   string // in errors
	from   size   // of pictures of BGR
	ctx    *astiav.CodecContext
	packet *astiav.Packet
	bgr    *astiav.Frame // input of BGR, aligned
	scale  *scaler
}

// open opens the encoder of that name. Close must follow, unless there is an error.
func (c *compressor) open(name string, to size, format astiav.PixelFormat, fps int, options ...string) (err error) {
	defer func() {
		if err != nil {
			c.Close()
			err = fmt.Errorf("codec: %s: %w", c.kind, err)
		}
	}()
	found := astiav.FindEncoderByName(name)
	if found == nil {
		return fmt.Errorf("this FFmpeg has no %s", name)
	}
	if c.ctx = astiav.AllocCodecContext(found); c.ctx == nil {
		return errors.New("out of memory")
	}
	c.ctx.SetWidth(to.width)
	c.ctx.SetHeight(to.height)
	c.ctx.SetPixelFormat(format)
	c.ctx.SetTimeBase(astiav.NewRational(1, fps))
	c.ctx.SetFramerate(astiav.NewRational(fps, 1))
	c.ctx.SetThreadCount(1)
	d := astiav.NewDictionary()
	defer d.Free()
	if err := setOptions(d, options...); err != nil {
		return err
	}
	if err := c.ctx.Open(found, d); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if c.bgr, err = allocFrame(c.from.width, c.from.height, astiav.PixelFormatBgr24); err != nil {
		return err
	}
	c.packet = astiav.AllocPacket()
	c.scale = newScaler()
	return nil
}

// fill takes a picture given as tight BGR24 rows into c.bgr.
func (c *compressor) fill(pix []byte) error {
	if c.ctx == nil {
		return ErrClosed
	}
	if n := 3 * c.from.width * c.from.height; len(pix) != n {
		return fmt.Errorf("codec: %s: BGR24 of %dx%d is %d bytes, got %d", c.kind, c.from.width, c.from.height, n, len(pix))
	}
	C.segd_fill(cFrame(c.bgr), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(pix))))
	return nil
}

// scaled returns a picture as the encoder takes it, in a buffer of its own: encoders keep
// references to what they were given. The caller frees it.
func (c *compressor) scaled(src *astiav.Frame, bt709 bool) (*astiav.Frame, error) {
	yuv, err := allocFrame(c.ctx.Width(), c.ctx.Height(), c.ctx.PixelFormat())
	if err != nil {
		return nil, err
	}
	C.segd_frame_set_matrix(cFrame(yuv), flag(bt709))
	if err := scaleError(C.segd_to_yuv(c.scale.c, cFrame(src), cFrame(yuv)), src, "YUV 4:2:0"); err != nil {
		yuv.Free()
		return nil, err
	}
	return yuv, nil
}

// Close frees the encoder's memory.
func (c *compressor) Close() {
	if c.scale != nil {
		c.scale.close()
		c.packet.Free()
		c.scale = nil
	}
	free(&c.bgr)
	free(&c.ctx)
}
