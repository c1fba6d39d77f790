package codec

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/asticode/go-astiav"
)

// EncoderConfig says what an [Encoder] makes. Zero fields mean the default.
type EncoderConfig struct {
	// Codec is H264 (the default, by libx264), H265 (libx265), VP8, VP9 (libvpx) or
	// AV1 (libaom).
	Codec ID
	// Width and Height of the pictures, in pixels; even.
	Width, Height int
	// FPS is the frames a second the stream announces; 0 = 25.
	FPS int
	// GOP is the most frames from one key frame to the next; 0 = FPS, one second.
	GOP int
	// CRF is the quality, 1 (best) to 51 (VP8, VP9 and AV1: 63); 0 = 20.
	CRF int
	// BFrames is how many reordered pictures may stand between two others, of H.264
	// and H.265. Above 0 the stream is neither baseline nor without delay.
	BFrames int
	// MaxRate bounds the bit rate of H.264, over half a second of FPS frames; 0 = no bound.
	MaxRate int
	// PixelAspect is how many times as wide as high a pixel is meant to be seen; 0 = 1.
	PixelAspect float64
	// Interlaced makes H.264 whose pictures are two fields, the lower lines before the upper.
	Interlaced bool
	// BT709 writes with the BT.709 matrix instead of BT.601.
	BT709 bool
}

// Packet is one compressed picture.
type Packet struct {
	// Data is an Annex-B access unit, of AV1 a temporal unit whose OBUs have their
	// sizes, of VP8 and VP9 a frame. Key frames carry their parameter sets.
	Data []byte
	// PTS counts pictures from 0 in the order they were given to the encoder.
	PTS int64
	// Key is true where decoding can start.
	Key bool
}

// Encoder compresses pictures, H.264 by default in baseline profile, all by
// default with no delay.
type Encoder struct {
	compressor
	cfg   EncoderConfig
	count int64
}

// NewEncoder returns an encoder of pictures of one size.
func NewEncoder(cfg EncoderConfig) (*Encoder, error) {
	cfg.Codec = cmp.Or(cfg.Codec, H264)
	cfg.FPS = cmp.Or(cfg.FPS, 25)
	cfg.GOP = cmp.Or(cfg.GOP, cfg.FPS)
	cfg.CRF = cmp.Or(cfg.CRF, 20)
	if err := checkArea(cfg.Width, cfg.Height); err != nil {
		return nil, fmt.Errorf("codec: encoder: %w", err)
	}
	if cfg.Width%2 != 0 || cfg.Height%2 != 0 {
		return nil, fmt.Errorf("codec: encoder: %dx%d: width and height must be even", cfg.Width, cfg.Height)
	}
	name, options := encoderOptions(cfg)
	if name == "" {
		return nil, fmt.Errorf("codec: encoder: cannot make %s, only H.264, H.265, VP8, VP9 and AV1", cfg.Codec)
	}
	frame := size{cfg.Width, cfg.Height}
	e := &Encoder{compressor: compressor{kind: "encoder", from: frame}, cfg: cfg}
	if err := e.open(name, frame, astiav.PixelFormatYuv420P, cfg.FPS, options...); err != nil {
		return nil, err
	}
	return e, nil
}

func encoderOptions(cfg EncoderConfig) (name string, options []string) {
	options = []string{
		"g", strconv.Itoa(cfg.GOP), "crf", strconv.Itoa(cfg.CRF), "color_range", "tv",
		"colorspace", pick(cfg.BT709, "bt709", "smpte170m"),
	}
	if cfg.PixelAspect > 0 {
		options = append(options, "aspect", strconv.FormatFloat(cfg.PixelAspect, 'f', 6, 64))
	}
	switch cfg.Codec {
	case H264, H265:
		options = append(options, "preset", "ultrafast", "forced-idr", "1", "bf", strconv.Itoa(cfg.BFrames))
		if cfg.BFrames == 0 {
			options = append(options, "tune", "zerolatency")
		}
	case VP8, VP9, AV1:
		// Their quality is a bound on what the bit rate asks for; this rate is no bound.
		rate := 4 * cfg.Width * cfg.Height * cfg.FPS
		options = append(options, "b", strconv.Itoa(rate), "cpu-used", "8", "lag-in-frames", "0")
	}
	switch cfg.Codec {
	case H264:
		params := "scenecut=0"
		switch {
		case cfg.Interlaced:
			params += ":bff=1"
		case cfg.BFrames == 0:
			options = append(options, "profile", "baseline")
		}
		if cfg.MaxRate > 0 {
			options = append(options, "maxrate", strconv.Itoa(cfg.MaxRate), "bufsize", strconv.Itoa(cfg.MaxRate/2))
		}
		return "libx264", append(options, "x264-params", params)
	case H265:
		// libx265 writes to stderr by itself.
		return "libx265", append(options, "x265-params", "log-level=none:scenecut=0:repeat-headers=1:pools=none")
	case VP8:
		return "libvpx", append(options, "deadline", "realtime", "qmin", "0") // its own least is above CRF 1
	case VP9:
		return "libvpx-vp9", append(options, "deadline", "realtime")
	case AV1:
		return "libaom-av1", append(options, "usage", "realtime")
	}
	return "", nil
}

func pick(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

// BGR encodes a picture given as tight BGR24 rows, 3*Width*Height bytes, as a
// key frame if key is true, and returns the packets that became ready: one,
// unless BFrames is set. pix is only read, and not kept.
func (e *Encoder) BGR(pix []byte, key bool) ([]Packet, error) {
	if err := e.fill(pix); err != nil {
		return nil, err
	}
	return e.encode(e.bgr, key)
}

// Picture encodes a decoded picture, upright and scaled to the encoder's size if its own is
// another; otherwise it is as BGR.
func (e *Encoder) Picture(p *Picture, key bool) ([]Packet, error) {
	if e.ctx == nil {
		return nil, ErrClosed
	}
	if p.turn == (orientation{}) {
		return e.encode(p.frame, key)
	}
	upright, err := p.upright()
	if err != nil {
		return nil, err
	}
	defer upright.Free()
	return e.encode(upright, key)
}

func (e *Encoder) encode(src *astiav.Frame, key bool) ([]Packet, error) {
	yuv, err := e.scaled(src, e.cfg.BT709)
	if err != nil {
		return nil, err
	}
	defer yuv.Free()
	yuv.SetPts(e.count)
	e.count++
	if key {
		yuv.SetPictureType(astiav.PictureTypeI)
	}
	if err := e.ctx.SendFrame(yuv); err != nil {
		return nil, fmt.Errorf("codec: encoder: %w", err)
	}
	return e.receive()
}

// Flush returns the packets the encoder still holds; it takes no more pictures.
func (e *Encoder) Flush() ([]Packet, error) {
	if e.ctx == nil {
		return nil, ErrClosed
	}
	if err := e.ctx.SendFrame(nil); err != nil && !errors.Is(err, astiav.ErrEof) {
		return nil, fmt.Errorf("codec: encoder: %w", err)
	}
	return e.receive()
}

func (e *Encoder) receive() ([]Packet, error) {
	var out []Packet
	for {
		err := e.ctx.ReceivePacket(e.packet)
		if errors.Is(err, astiav.ErrEagain) || errors.Is(err, astiav.ErrEof) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("codec: encoder: %w", err)
		}
		out = append(out, Packet{
			Data: e.packet.Data(),
			PTS:  e.packet.Pts(),
			Key:  e.packet.Flags().Has(astiav.PacketFlagKey),
		})
		e.packet.Unref()
	}
}
