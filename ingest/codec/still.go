package codec

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"
)

// DecodeJPEG decodes one image, and calls use with it. One that is cut short is refused. The picture is valid until use returns.
func DecodeJPEG(data []byte, use func(*Picture)) error {
	c := astiav.FindDecoderByName(MJPEG.decoder())
	if c == nil {
		return fmt.Errorf("codec: this FFmpeg has no %s decoder", MJPEG)
	}
	// A decoder of its own: an image without Huffman tables is not to get another's.
	ctx, err := openDecoder(c, nil, nil, "err_detect", "explode")
	if err != nil {
		return fmt.Errorf("codec: opening the %s decoder: %w", MJPEG, err)
	}
	d := makeDecoder(MJPEG, ctx)
	defer d.Close()
	n := 0
	once := func(p *Picture) {
		if n++; n == 1 {
			use(p)
		}
	}
	if err := errors.Join(d.Decode(data, 0, once), d.Flush(once)); err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("codec: %s: %w: there is no picture in it", MJPEG, ErrUndecodable)
	}
	return nil
}
