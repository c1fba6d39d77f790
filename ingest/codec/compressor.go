package codec

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"
)

type size struct{ width, height int }

// compressor is what encoders have in common: one of FFmpeg's, and a picture of BGR that is scaled for it.
type compressor struct {
	ctx    *astiav.CodecContext
	packet *astiav.Packet
	bgr    *astiav.Frame // input of BGR, aligned
	scale  *scaler
}

// open opens the encoder of that name. Close must follow, whatever it returns.
func (c *compressor) open(name string, from, to size, format astiav.PixelFormat, fps int, options ...string) error {
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
	var err error
	if c.bgr, err = allocFrame(from.width, from.height, astiav.PixelFormatBgr24); err != nil {
		return err
	}
	c.packet = astiav.AllocPacket()
	c.scale = newScaler()
	return nil
}

// Close frees the encoder's memory.
func (c *compressor) Close() {
	if c.scale != nil {
		c.scale.close()
		c.packet.Free()
		c.scale = nil
	}
	if c.bgr != nil {
		c.bgr.Free()
		c.bgr = nil
	}
	if c.ctx != nil {
		c.ctx.Free()
		c.ctx = nil
	}
}
