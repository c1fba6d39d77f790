package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

	"github.com/segd/segd/ingest/codec"
)

// ClipPath is where Debian's opencv-doc puts the sample clip: 768×576, 10
// frames a second, 795 frames of people walking past a surveillance camera.
const ClipPath = "/usr/share/doc/opencv-doc/examples/data/vtest.avi"

// ErrNoClip is wrapped when the clip's file does not exist.
var ErrNoClip = errors.New("sample clip is missing")

// Clip is a compressed clip in memory. It does not change once made.
type Clip struct {
	// Codec is codec.H264 or codec.H265.
	Codec codec.ID
	// Width and Height are in pixels.
	Width, Height int
	// FPS is the frames a second it is played at.
	FPS int
	// Start is the frame at which playing begins. It is a key frame.
	Start int

	units [][][]byte // each frame's NAL units
}

// Len returns the number of frames.
func (c *Clip) Len() int { return len(c.units) }

// Draw returns a clip of as many frames as asked for, each of them what picture returns for its number: BGR, row after
// row. There is a key frame in every cfg.GOP.
func Draw(cfg codec.EncoderConfig, frames int, picture func(n int) []byte) (*Clip, error) {
	enc, err := codec.NewEncoder(cfg)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer enc.Close()
	every := cmp.Or(cfg.GOP, cfg.FPS, 1)
	var packets []codec.Packet
	for n := range frames {
		p, err := enc.BGR(picture(n), n%every == 0)
		if err != nil {
			return nil, fmt.Errorf("demo: frame %d: %w", n, err)
		}
		packets = append(packets, p...)
	}
	p, err := enc.Flush()
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return NewClip(cfg, append(packets, p...))
}

// Shape is what a clip is made into. Zero fields leave it as the file has it.
type Shape struct {
	// Width and Height in pixels, even; the picture is stretched to them. Of a file with odd ones, one more.
	Width, Height int
	// FPS is the frames a second it is played at, each of the file's frames once.
	FPS int
	// Frames is how many frames of the file are taken, from its first on.
	Frames int
	// Start is the frame at which playing begins.
	Start int
}

// Prepare reads the clip at path and compresses it to H.264 as shape says, with a key
// frame a second and one where playing will begin. It calls progress, if not nil, after
// each frame; total can be off when the file does not know its own length, but the last
// call has done == total. It takes about two seconds a minute of the sample clip.
func Prepare(ctx context.Context, path string, shape Shape, progress func(done, total int)) (*Clip, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("demo: %w: there is no %s; Debian's package opencv-doc has it (apt-get install opencv-doc)", ErrNoClip, path)
	}
	in, err := codec.OpenFile(path)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer in.Close()
	width, height := in.Size()
	cfg := codec.EncoderConfig{
		Width: cmp.Or(shape.Width, width+width%2), Height: cmp.Or(shape.Height, height+height%2), // as H.264 wants them
		FPS: cmp.Or(shape.FPS, max(1, int(math.Round(float64(time.Second)/float64(in.FrameInterval()))))),
	}
	enc, err := codec.NewEncoder(cfg)
	if err != nil {
		return nil, fmt.Errorf("demo: %s: %w", path, err)
	}
	defer enc.Close()
	if progress == nil {
		progress = func(int, int) {}
	}
	start, most := shape.Start, cmp.Or(shape.Frames, math.MaxInt)
	packets, err := transcode(ctx, in, enc, start, most, progress)
	if err != nil {
		return nil, fmt.Errorf("demo: %s: %w", path, err)
	}
	clip, err := NewClip(cfg, packets)
	if err != nil {
		return nil, fmt.Errorf("demo: %s: %w", path, err)
	}
	if start < 0 || start >= clip.Len() {
		return nil, fmt.Errorf("demo: %s: start frame %d is not one of its %d frames", path, start, clip.Len())
	}
	clip.Start = start
	progress(clip.Len(), clip.Len())
	return clip, nil
}

func transcode(ctx context.Context, in *codec.Demuxer, enc *codec.Encoder, start, most int, progress func(done, total int)) ([]codec.Packet, error) {
	var packets []codec.Packet
	for n := 0; n < most; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pic, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		p, err := enc.Picture(pic, n == start)
		if err != nil {
			return nil, err
		}
		packets = append(packets, p...)
		progress(n+1, max(n+1, min(most, in.FrameCount())))
	}
	p, err := enc.Flush()
	return append(packets, p...), err
}

// NewClip makes a clip of packets an encoder made from cfg. It begins with the
// first packet, which must be a key frame.
func NewClip(cfg codec.EncoderConfig, packets []codec.Packet) (*Clip, error) {
	if len(packets) == 0 || !packets[0].Key {
		return nil, errors.New("demo: a clip must begin with a key frame")
	}
	c := &Clip{Codec: cfg.Codec, Width: cfg.Width, Height: cfg.Height, FPS: cfg.FPS}
	c.Codec = cmp.Or(c.Codec, codec.H264)
	c.FPS = cmp.Or(c.FPS, 25)
	for i, p := range packets {
		var nalus h264.AnnexB // H.265 uses the same framing
		if err := nalus.Unmarshal(p.Data); err != nil {
			return nil, fmt.Errorf("demo: frame %d: %w", i, err)
		}
		c.units = append(c.units, nalus)
	}
	return c, nil
}
