package codec

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/asticode/go-astiav"
)

// paddingSize is AV_INPUT_BUFFER_PADDING_SIZE: FFmpeg's bit readers may look
// that far past the end of a packet, and want zeros there.
const paddingSize = 64

// Decoder decodes access units one by one, with no more delay than the stream's
// own picture reordering asks for (none for cameras).
type Decoder struct {
	id     ID
	ctx    *astiav.CodecContext
	packet *astiav.Packet
	pic    Picture
	padded []byte // the access unit being sent, with its padding
	dots   bool   // it is a JPEG that tells dots an inch
	// newest is the newest picture of an access unit of VP9, the last of which is the picture: those
	// before it are its lower spatial layers, each of which FFmpeg shows. nil of other codecs.
	newest *astiav.Frame
	weave  deinterlacer

	device   Device
	format   astiav.PixelFormat // of pictures on the device
	raw      *astiav.Frame      // a picture as the device has it; nil in software
	fallback error
}

// NewDecoder returns a decoder of the codec id in software.
func NewDecoder(id ID) (*Decoder, error) {
	if id.decoder() == "" {
		return nil, fmt.Errorf("codec: no decoder of %s, only of H.264, H.265, MJPEG, VP8, VP9 and AV1", id)
	}
	c := astiav.FindDecoderByName(id.decoder())
	if c == nil {
		return nil, fmt.Errorf("codec: this FFmpeg has no %s decoder", id)
	}
	ctx, err := openDecoder(c, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("codec: opening the %s decoder: %w", id, err)
	}
	return makeDecoder(id, ctx), nil
}

// makeDecoder makes a decoder in software of an open context.
func makeDecoder(id ID, ctx *astiav.CodecContext) *Decoder {
	d := &Decoder{
		id:     id,
		ctx:    ctx,
		packet: astiav.AllocPacket(),
		pic:    Picture{frame: astiav.AllocFrame(), scale: newScaler()},
		device: Software,
	}
	if id == VP9 {
		d.newest = astiav.AllocFrame()
	}
	return d
}

// openDecoder opens c for low delay, with a file's stream parameters if given,
// after prepare if that is given, and with more of its options as key, value pairs.
func openDecoder(c *astiav.Codec, par *astiav.CodecParameters, prepare func(*astiav.CodecContext) error, more ...string) (*astiav.CodecContext, error) {
	ctx := astiav.AllocCodecContext(c)
	if ctx == nil {
		return nil, errors.New("out of memory")
	}
	if par != nil {
		if err := par.ToCodecContext(ctx); err != nil {
			ctx.Free()
			return nil, err
		}
	} else {
		// A file may hold reordered pictures and loses nothing by waiting for them.
		ctx.SetFlags(astiav.NewCodecContextFlags(astiav.CodecContextFlagLowDelay))
	}
	ctx.SetThreadCount(1)
	options := astiav.NewDictionary()
	defer options.Free()
	// The guard that holds for every codec; what announces a size is looked at
	// before, for the sake of a clear error.
	if err := setOptions(options, append(more, "max_pixels", strconv.Itoa(MaxPixels))...); err != nil {
		freeContext(ctx)
		return nil, err
	}
	if prepare != nil {
		if err := prepare(ctx); err != nil {
			freeContext(ctx)
			return nil, err
		}
	}
	if err := ctx.Open(c, options); err != nil {
		freeContext(ctx)
		return nil, err
	}
	return ctx, nil
}

// freeContext frees ctx and what the binding keeps beside it.
func freeContext(ctx *astiav.CodecContext) {
	ctx.SetPixelFormatCallback(nil)
	ctx.Free()
}

// SetDeinterlace says which pictures are deinterlaced: by default those that their stream calls interlaced. Each of these
// comes with the next one, and is whole by itself. It is called before Decode.
func (d *Decoder) SetDeinterlace(which Deinterlace) { d.weave.mode = which }

// Deinterlacing tells whether the newest picture was deinterlaced.
func (d *Decoder) Deinterlacing() bool { return d.weave.now }

// Decode decodes one access unit (H.264 and H.265: Annex-B, start codes
// included) and calls emit for each picture that became ready, usually one. The
// picture is valid until emit returns. pts comes back in Picture.PTS.
//
// An error that wraps [ErrUndecodable], [ErrTooLarge] or [ErrTooNarrow] is about these bytes;
// the decoder goes on with the next ones. au is only read, and not kept.
func (d *Decoder) Decode(au []byte, pts int64, emit func(*Picture)) error {
	if d.ctx == nil {
		return ErrClosed
	}
	if len(au) == 0 {
		return fmt.Errorf("codec: %s: %w: empty access unit", d.id, ErrUndecodable)
	}
	if err := checkAnnounced(d.id, au); err != nil {
		return fmt.Errorf("codec: %s: %w", d.id, err)
	}
	d.dots = d.id == MJPEG && tellsDots(au)
	d.padded = append(append(d.padded[:0], au...), make([]byte, paddingSize)...)
	if d.id == VP9 && d.device != Software && layered(au) {
		// Each layer has a size of its own, and devices begin anew with each size.
		if err := d.replace(errors.New("pictures with spatial layers are decoded by software")); err != nil {
			return err
		}
	}
	err := d.send(len(au), pts, emit)
	if d.device != Software && deviceFault(err) {
		if err := d.replace(err); err != nil {
			return err
		}
		err = d.send(len(au), pts, emit)
	}
	return err
}

// send decodes the first n bytes of d.padded.
func (d *Decoder) send(n int, pts int64, emit func(*Picture)) error {
	if err := d.packet.FromData(d.padded); err != nil {
		return fmt.Errorf("codec: %s: %w", d.id, err)
	}
	defer d.packet.Unref()
	d.packet.SetSize(n)
	d.packet.SetPts(pts)
	d.packet.SetDts(NoPTS)

	sendErr := d.ctx.SendPacket(d.packet)
	// Pictures can be ready even when these bytes were bad.
	if err := d.receive(emit); err != nil {
		return fmt.Errorf("codec: %s: %w", d.id, err)
	}
	if sendErr != nil {
		return fmt.Errorf("codec: %s: %w: %w", d.id, ErrUndecodable, sendErr)
	}
	return nil
}

// Flush emits the pictures the decoder still holds and makes it ready for
// nothing but Close.
func (d *Decoder) Flush(emit func(*Picture)) error {
	if d.ctx == nil {
		return ErrClosed
	}
	if err := d.ctx.SendPacket(nil); err != nil && !errors.Is(err, astiav.ErrEof) {
		return fmt.Errorf("codec: %s: %w", d.id, err)
	}
	if err := d.receive(emit); err != nil {
		return err
	}
	if err := d.weave.end(); err != nil {
		return fmt.Errorf("codec: %s: %w", d.id, err)
	}
	return d.emit(emit)
}

func (d *Decoder) receive(emit func(*Picture)) error {
	held := false // by d.newest
	for {
		into := d.pic.frame
		if d.raw != nil {
			into = d.raw
		}
		err := d.ctx.ReceiveFrame(into)
		if errors.Is(err, astiav.ErrEagain) || errors.Is(err, astiav.ErrEof) {
			if !held {
				return nil
			}
			d.pic.frame.MoveRef(d.newest)
			return d.show(emit)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUndecodable, err)
		}
		if d.raw != nil {
			err = d.fetch()
		}
		switch {
		case err != nil:
			d.pic.frame.Unref()
		case d.newest != nil:
			held = true
			d.newest.Unref()
			d.newest.MoveRef(d.pic.frame)
		default:
			err = d.show(emit)
		}
		if err != nil {
			return err
		}
	}
}

// show emits the picture in d.pic's frame, or those that it makes ready, and gives it back.
func (d *Decoder) show(emit func(*Picture)) error {
	defer d.pic.frame.Unref()
	if err := d.weave.push(d.pic.frame); err != nil {
		return err
	}
	return d.emit(emit)
}

// emit emits the pictures that are ready.
func (d *Decoder) emit(emit func(*Picture)) error {
	for {
		ready, err := d.weave.pull(d.pic.frame)
		if err != nil || !ready {
			return err
		}
		sample := d.pic.frame.SampleAspectRatio()
		if d.dots {
			sample = astiav.NewRational(0, 1)
		}
		if err := d.pic.fill(sample); err != nil {
			return err
		}
		emit(&d.pic)
	}
}

// Close frees the decoder's memory. Pictures it made are gone after it.
func (d *Decoder) Close() {
	if d.ctx == nil {
		return
	}
	d.freeContext()
	d.freeFrames()
}

func (d *Decoder) freeContext() {
	freeContext(d.ctx)
	d.ctx = nil
}

func (d *Decoder) freeFrames() {
	d.weave.close()
	d.pic.scale.close()
	d.pic.frame.Free()
	d.packet.Free()
	free(&d.newest)
	free(&d.raw)
}
