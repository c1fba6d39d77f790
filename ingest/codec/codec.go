package codec

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"
)

// Limits of the pictures that are decoded. A camera's parameter sets can announce
// any size, and a decoder keeps up to 16 pictures of it.
const (
	// MaxSide is the largest width or height, in pixels.
	MaxSide = 8192
	// MaxAspect is how many times as long as the other a side is at most. The network is shown a picture at a scale by
	// its shorter side: longer ones would be beyond what it can be shown.
	MaxAspect = 16
	// MaxPixels is the largest area, 8192×4608: what is called 8K, and a little more.
	// A frame of it takes 108 MiB as BGR24.
	MaxPixels = 8192 * 4608
)

// ID names a video codec.
type ID uint8

// The codecs that can be named to [NewDecoder] and [NewEncoder]. Files may hold
// any other that FFmpeg decodes.
const (
	H264 ID = iota + 1
	H265
	MJPEG
	VP8
	VP9
	AV1
	// Raw is uncompressed, from a Capture.
	Raw
)

// codecs are their usual names, and those of FFmpeg's software decoders.
var codecs = [...]struct{ name, decoder string }{
	H264:  {"H.264", "h264"},
	H265:  {"H.265", "hevc"},
	MJPEG: {"MJPEG", "mjpeg"},
	VP8:   {"VP8", "vp8"},
	VP9:   {"VP9", "vp9"},
	AV1:   {"AV1", "libdav1d"}, // the one called av1 needs a GPU
	Raw:   {"raw", ""},
}

// String returns the codec's usual name.
func (id ID) String() string {
	if id > 0 && int(id) < len(codecs) {
		return codecs[id].name
	}
	return fmt.Sprintf("codec %d", uint8(id))
}

var (
	// ErrTooLarge is wrapped by errors about pictures beyond [MaxSide] or
	// [MaxPixels].
	ErrTooLarge = errors.New("picture is too large")
	// ErrTooNarrow is wrapped by errors about pictures one of whose sides is more than [MaxAspect] times as long as the other.
	ErrTooNarrow = errors.New("picture is too narrow")
	// ErrUndecodable is wrapped by errors about bytes that are not a picture. The
	// decoder stays usable: the next key frame decodes.
	ErrUndecodable = errors.New("cannot be decoded")
	// ErrNoVideo is wrapped when a file has no video track.
	ErrNoVideo = errors.New("no video track")
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("codec: already closed")
)

// decoder returns the name of FFmpeg's software decoder of id; "": it has none by name.
func (id ID) decoder() string {
	if int(id) < len(codecs) {
		return codecs[id].decoder
	}
	return ""
}

// FFmpeg logs to stderr unless told otherwise. go-astiav's log callback formats
// into a fixed buffer without a bound, so text from a hostile stream must not
// reach it: the log is off, not redirected.
func init() {
	astiav.SetLogLevel(astiav.LogLevelQuiet)
}

// CheckSize returns an error that wraps [ErrTooLarge], [ErrTooNarrow] or [ErrUndecodable] if no
// picture of that size is decoded.
func CheckSize(width, height int) error {
	if err := checkArea(width, height); err != nil {
		return err
	}
	if max(width, height) > MaxAspect*min(width, height) {
		return fmt.Errorf("%w: %dx%d, one side at most %d times as long as the other is accepted", ErrTooNarrow, width, height, MaxAspect)
	}
	return nil
}

// checkArea is CheckSize for pictures that are encoded, which may be as narrow as they like.
func checkArea(width, height int) error {
	if width <= 0 || height <= 0 {
		return fmt.Errorf("%w: picture of %dx%d", ErrUndecodable, width, height)
	}
	if width > MaxSide || height > MaxSide || width*height > MaxPixels {
		return fmt.Errorf("%w: %dx%d, at most %d pixels a side and %d in all are accepted", ErrTooLarge, width, height, MaxSide, MaxPixels)
	}
	return nil
}

// setOptions fills an FFmpeg option dictionary from key, value pairs.
func setOptions(d *astiav.Dictionary, pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := d.Set(pairs[i], pairs[i+1], 0); err != nil {
			return fmt.Errorf("codec: option %s=%s: %w", pairs[i], pairs[i+1], err)
		}
	}
	return nil
}
