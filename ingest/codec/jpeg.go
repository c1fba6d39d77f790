package codec

import (
	"fmt"
	"math"
	"strconv"

	"github.com/asticode/go-astiav"
)

// JPEGEncoder compresses pictures of one size as JPEG, 4:2:0, each by itself. It is for one
// goroutine at a time.
type JPEGEncoder struct{ compressor }

// NewJPEGEncoder returns an encoder of BGR24 pictures of width×height that makes JPEGs of
// toWidth×toHeight; quality is that of libjpeg, 1 to 100, as nearly as FFmpeg has it.
func NewJPEGEncoder(width, height, toWidth, toHeight, quality int) (*JPEGEncoder, error) {
	from, to := size{width, height}, size{toWidth, toHeight}
	for _, s := range []size{from, to} {
		if err := checkArea(s.width, s.height); err != nil {
			return nil, fmt.Errorf("codec: JPEG: %w", err)
		}
	}
	q := strconv.Itoa(qscale(quality))
	e := &JPEGEncoder{compressor{kind: "JPEG", from: from}}
	if err := e.open("mjpeg", to, astiav.PixelFormatYuvj420P, 1, "qmin", q, "qmax", q, "huffman", "default"); err != nil {
		return nil, err
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
	if err := e.fill(pix); err != nil {
		return nil, err
	}
	const bt709 = false // JFIF has BT.601
	yuv, err := e.scaled(e.bgr, bt709)
	if err != nil {
		return nil, err
	}
	defer yuv.Free()
	if err := e.ctx.SendFrame(yuv); err != nil {
		return nil, fmt.Errorf("codec: JPEG: %w", err)
	}
	if err := e.ctx.ReceivePacket(e.packet); err != nil {
		return nil, fmt.Errorf("codec: JPEG: %w", err)
	}
	defer e.packet.Unref()
	return e.packet.Data(), nil
}
