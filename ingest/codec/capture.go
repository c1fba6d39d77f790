package codec

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/asticode/go-astiav"
)

// CaptureConfig says what a capture device is to send. Zero fields leave it to the
// device.
type CaptureConfig struct {
	// Width and Height in pixels: both or neither.
	Width, Height int
	// FPS is the pictures a second.
	FPS int
	// Format is one of CaptureFormats.
	Format string
}

// CaptureFormats are what can be asked of a capture device: compressed, or raw in
// FFmpeg's names.
var CaptureFormats = []string{
	"mjpeg", "h264", "hevc", "yuyv422", "uyvy422", "yvyu422", "yuv420p", "nv12", "bgr24", "rgb24", "gray",
}

var (
	// ErrNothingYet is returned by Capture.Read when no picture is there.
	ErrNothingYet = errors.New("codec: no picture yet")
	// ErrCapture is wrapped by errors about a device that does not capture.
	ErrCapture = errors.New("no video from the device")
)

// Capture reads a video capture device of the kernel (V4L2), through FFmpeg.
type Capture struct {
	path   string
	format *astiav.FormatContext
	packet *astiav.Packet
	id     ID
	raw    rawFormat
}

// rawFormat is the layout of uncompressed pictures.
type rawFormat struct {
	format        astiav.PixelFormat
	width, height int
}

// registerDevices makes FFmpeg know its devices, for which devices.c loads a library; files need none.
var registerDevices = sync.OnceFunc(astiav.RegisterAllDevices)

// OpenCapture opens the device at path, such as /dev/video0, and starts it.
func OpenCapture(path string, cfg CaptureConfig) (*Capture, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("codec: %w: %w", ErrCapture, err)
	}
	if info.Mode()&os.ModeCharDevice == 0 {
		return nil, fmt.Errorf("codec: %w: %s is not a device; accepted: such as /dev/video0", ErrCapture, path)
	}
	c := &Capture{path: path}
	if err := c.open(cfg); err != nil {
		c.Close()
		return nil, fmt.Errorf("codec: %w: %s: %w", ErrCapture, path, err)
	}
	return c, nil
}

func (c *Capture) open(cfg CaptureConfig) error {
	registerDevices()
	input := astiav.FindInputFormat("v4l2")
	if input == nil {
		return errors.New("this FFmpeg knows no V4L2, or has no libavdevice")
	}
	options := astiav.NewDictionary()
	defer options.Free()
	var pairs []string
	if cfg.Width != 0 || cfg.Height != 0 {
		pairs = append(pairs, "video_size", fmt.Sprintf("%dx%d", cfg.Width, cfg.Height))
	}
	if cfg.FPS != 0 {
		pairs = append(pairs, "framerate", strconv.Itoa(cfg.FPS))
	}
	if cfg.Format != "" {
		pairs = append(pairs, "input_format", cfg.Format)
	}
	if err := setOptions(options, pairs...); err != nil {
		return err
	}
	c.format = astiav.AllocFormatContext()
	// Else a read could not be given up, and one of a device that was pulled out may
	// last for ever.
	c.format.SetFlags(astiav.NewFormatContextFlags(astiav.FormatContextFlagNonblock))
	if err := c.format.OpenInput(c.path, input, options); err != nil {
		c.format = nil // freed by FFmpeg when it fails
		return explainCapture(err, cfg)
	}
	streams := c.format.Streams()
	if len(streams) != 1 {
		return fmt.Errorf("%d streams, want one of video", len(streams))
	}
	par := streams[0].CodecParameters()
	if err := CheckSize(par.Width(), par.Height()); err != nil {
		return err
	}
	switch par.CodecID() {
	case astiav.CodecIDRawvideo:
		c.id, c.raw = Raw, rawFormat{par.PixelFormat(), par.Width(), par.Height()}
	case astiav.CodecIDMjpeg:
		c.id = MJPEG
	case astiav.CodecIDH264:
		c.id = H264
	case astiav.CodecIDHevc:
		c.id = H265
	default:
		return fmt.Errorf("it sends %s; ask it for one of %v", par.CodecID().Name(), CaptureFormats)
	}
	c.packet = astiav.AllocPacket()
	return nil
}

// explainCapture puts the kernel's refusal into words.
func explainCapture(err error, cfg CaptureConfig) error {
	var code astiav.Error
	if !errors.As(err, &code) {
		return err
	}
	var words string
	switch errno := syscall.Errno(-int(code)); errno {
	case syscall.EBUSY:
		words = "another program uses it"
	case syscall.EACCES, syscall.EPERM:
		words = "it may not be read; is this user in the group video?"
	case syscall.ENOTTY, syscall.ENODEV, syscall.ENXIO:
		words = "it is no camera that captures video"
	case syscall.EINVAL:
		words = fmt.Sprintf("it refuses size %dx%d, %d frames/s, format %q (0 and none: its own choice); v4l2-ctl --list-formats-ext says what it has",
			cfg.Width, cfg.Height, cfg.FPS, cfg.Format)
	default:
		return err
	}
	return fmt.Errorf("%s (%w)", words, syscall.Errno(-int(code)))
}

// ID returns what the pictures are in: Raw, MJPEG, H264 or H265.
func (c *Capture) ID() ID { return c.id }

// Size returns the bytes of a raw picture; 0 of others.
func (c *Capture) Size() int {
	if c.id != Raw {
		return 0
	}
	// No raw format has more than 4 bytes a pixel; less is what most take.
	return 4 * c.raw.width * c.raw.height
}

// Read returns the next picture's bytes, which are the caller's, and when it was
// taken: nanoseconds by a clock of the kernel's that only rises, or NoPTS. The error
// is ErrNothingYet when there is none, and else says why there will be none any more.
func (c *Capture) Read() (data []byte, pts int64, err error) {
	if c.format == nil {
		return nil, 0, ErrClosed
	}
	if err := c.format.ReadFrame(c.packet); err != nil {
		if errors.Is(err, astiav.ErrEagain) {
			return nil, 0, ErrNothingYet
		}
		return nil, 0, fmt.Errorf("codec: %w: %s: %w", ErrCapture, c.path, explainCapture(err, CaptureConfig{}))
	}
	defer c.packet.Unref()
	pts = c.packet.Pts()
	if pts != NoPTS {
		base := c.format.Streams()[0].TimeBase()
		pts = int64(float64(pts) * base.Float64() * 1e9)
	}
	return c.packet.Data(), pts, nil
}

// DecoderMaker returns what makes decoders of what the device sends, on want where
// that can be. It may be called after Close.
func (c *Capture) DecoderMaker(want Device) func() (*Decoder, error) {
	id, raw := c.id, c.raw
	return func() (*Decoder, error) {
		if id != Raw {
			return NewDecoderOn(id, want)
		}
		codec := astiav.FindDecoder(astiav.CodecIDRawvideo)
		if codec == nil {
			return nil, errors.New("codec: this FFmpeg has no rawvideo decoder")
		}
		ctx, err := openDecoder(codec, nil, func(ctx *astiav.CodecContext) error {
			ctx.SetWidth(raw.width)
			ctx.SetHeight(raw.height)
			ctx.SetPixelFormat(raw.format)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("codec: opening the decoder of raw pictures: %w", err)
		}
		return makeDecoder(Raw, ctx), nil
	}
}

// Close stops and closes the device. It may be called more than once.
func (c *Capture) Close() {
	free(&c.packet)
	if c.format != nil {
		c.format.CloseInput() // frees it too
		c.format = nil
	}
}

// CheckCapture refuses what no device has, naming every fault.
func CheckCapture(cfg CaptureConfig) error {
	var faults []error
	if cfg.Width != 0 || cfg.Height != 0 {
		if err := CheckSize(cfg.Width, cfg.Height); err != nil {
			faults = append(faults, fmt.Errorf("size: %w", err))
		}
	}
	const maxFPS = 1000
	if cfg.FPS < 0 || cfg.FPS > maxFPS {
		faults = append(faults, fmt.Errorf("fps %d; accepted: 1 to %d", cfg.FPS, maxFPS))
	}
	if cfg.Format != "" && !slices.Contains(CaptureFormats, cfg.Format) {
		faults = append(faults, fmt.Errorf("format %q; accepted: %v", cfg.Format, CaptureFormats))
	}
	return errors.Join(faults...)
}
