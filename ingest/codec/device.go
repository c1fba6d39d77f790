package codec

//#cgo pkg-config: libavutil
//#include "scale.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"

	"github.com/asticode/go-astiav"
)

// Device is what decodes.
type Device string

const (
	// Software decodes on the CPU.
	Software Device = "software"
	// CUDA decodes on an NVIDIA GPU (NVDEC).
	CUDA Device = "cuda"
	// VAAPI decodes on an Intel or AMD GPU.
	VAAPI Device = "vaapi"
	// AnyDevice stands for CUDA or VAAPI, whichever there is, and else Software.
	AnyDevice Device = "auto"
)

// Devices are what can be asked for.
var Devices = []Device{Software, CUDA, VAAPI, AnyDevice}

// ErrDevice is wrapped by what says why a device does not decode.
var ErrDevice = errors.New("decoding on the device failed")

// NewDecoderOn returns a decoder of the codec id on a device. Where the device is
// not there, does not know the codec or the stream, or fails, at once or later,
// software takes its place, and Fallback says why.
func NewDecoderOn(id ID, want Device) (*Decoder, error) {
	tried := []Device{want}
	switch want {
	case "", Software:
		return NewDecoder(id)
	case AnyDevice:
		tried = []Device{CUDA, VAAPI}
	case CUDA, VAAPI:
	default:
		return nil, fmt.Errorf("codec: device %q is unknown; accepted: %v", want, Devices)
	}
	var fallback error
	for _, device := range tried {
		d, err := newDeviceDecoder(id, device, attach)
		if err == nil {
			return d, nil
		}
		fallback = err
	}
	d, err := NewDecoder(id)
	if err == nil && want != AnyDevice {
		d.fallback = fallback
	}
	return d, err
}

// attach opens the device and hands it to a decoder that is not open yet.
func attach(ctx *astiav.CodecContext, device Device) error {
	options := astiav.NewDictionary()
	defer options.Free()
	if device == CUDA {
		// One context of the process for all decoders: each of its own takes hundreds of MB.
		if err := setOptions(options, "primary_ctx", "1"); err != nil {
			return err
		}
	}
	hw, err := hardwareContext(device, options)
	if err != nil {
		return fmt.Errorf("no such device here: %w", err)
	}
	ctx.SetHardwareDeviceContext(hw) // frees it with itself
	return nil
}

// newDeviceDecoder returns a decoder on a device, which attach opens.
func newDeviceDecoder(id ID, device Device, attach func(*astiav.CodecContext, Device) error) (*Decoder, error) {
	fail := func(err error) error { return fmt.Errorf("codec: %s on %s: %w: %w", id, device, ErrDevice, err) }
	c := astiav.FindDecoderByName(id.deviceDecoder())
	if c == nil {
		return nil, fail(errors.New("this FFmpeg has no decoder for it"))
	}
	format, ok := deviceFormat(c, device)
	if !ok {
		return nil, fail(errors.New("this FFmpeg has no decoder for it"))
	}
	ctx, err := openDecoder(c, nil, func(ctx *astiav.CodecContext) error {
		ctx.SetPixelFormatCallback(func(offered []astiav.PixelFormat) astiav.PixelFormat {
			if slices.Contains(offered, format) {
				return format
			}
			return offered[len(offered)-1] // software's, which comes last
		})
		return attach(ctx, device)
	})
	if err != nil {
		return nil, fail(err)
	}
	d := makeDecoder(id, ctx)
	d.device, d.format, d.raw = device, format, astiav.AllocFrame()
	return d, nil
}

// deviceFormat returns in which format c hands out pictures that are on a device.
func deviceFormat(c *astiav.Codec, device Device) (astiav.PixelFormat, bool) {
	for _, hw := range c.HardwareConfigs() {
		if hw.HardwareDeviceType().String() == string(device) && hw.MethodFlags().Has(astiav.CodecHardwareConfigMethodFlagHwDeviceCtx) {
			return hw.PixelFormat(), true
		}
	}
	return astiav.PixelFormatNone, false
}

// deviceDecoder returns the name of FFmpeg's decoder of id that can use a device.
func (id ID) deviceDecoder() string {
	if id == AV1 {
		return "av1" // libdav1d cannot, and this one cannot do without
	}
	return id.decoder()
}

// fetch brings a picture from the device into d.pic's frame. One that software made,
// because the device does not know this stream, is taken as it is.
func (d *Decoder) fetch() error {
	if d.raw.PixelFormat() != d.format {
		d.pic.frame.MoveRef(d.raw)
		d.settle(errors.New("the device does not know this kind of stream"))
		return nil
	}
	defer d.raw.Unref()
	if err := d.raw.TransferHardwareData(d.pic.frame); err != nil {
		return fmt.Errorf("%w: %w", ErrDevice, err)
	}
	if ret := C.segd_copy_props(cFrame(d.pic.frame), cFrame(d.raw)); ret < 0 {
		return astiav.Error(ret)
	}
	return nil
}

// settle says that software decodes from now on, and why.
func (d *Decoder) settle(why error) {
	d.fallback = fmt.Errorf("codec: %s on %s: %w: %w", d.id, d.device, ErrDevice, why)
	d.device = Software
	free(&d.raw)
}

// deviceFault tells whether err is about the device and not about the bytes.
func deviceFault(err error) bool {
	return err != nil && !errors.Is(err, astiav.ErrInvaliddata) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrTooNarrow)
}

// replace puts a software decoder in the place of one on a device that failed.
func (d *Decoder) replace(why error) error {
	soft, err := NewDecoder(d.id)
	if err != nil {
		return err
	}
	d.settle(why)
	d.freeContext()
	d.ctx = soft.ctx
	soft.ctx = nil
	soft.freeFrames()
	return nil
}

// Device returns what decodes: Software, CUDA or VAAPI.
func (d *Decoder) Device() Device { return d.device }

// Fallback says why software decodes although a device was asked for; nil if that
// is not so. It can change with each call of Decode. The error wraps ErrDevice.
func (d *Decoder) Fallback() error { return d.fallback }
