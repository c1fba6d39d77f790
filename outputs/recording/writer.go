package recording

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

const (
	ticksPerSecond = 90_000 // of the video's times
	track          = 1
	// fragment is how much video is kept in memory, and lost by a kill; less of large pictures, and of many at once.
	fragment        = ticksPerSecond
	fragmentBytes   = 8 << 20
	fragmentSamples = 1000
	// longest is a pause in the video that a file bridges.
	longest = 10 * ticksPerSecond
	// frame is how long the only picture of a file is shown.
	frame = ticksPerSecond / 25
)

// errVideo: no file can be made of what the camera sends.
var errVideo = errors.New("the video cannot be recorded")

// writer writes one file.
type writer struct {
	file   *os.File
	size   int64 // of whole fragments
	ticks  int64 // the time of whole fragments
	params [][]byte
	id     codec.ID
	dts    interface {
		Extract(au [][]byte, pts int64) (int64, error)
	} // nil: pictures are decoded in the order in which they are shown
	base    int64          // Ticks of the first unit
	last    int64          // when the newest unit is decoded
	step    int64          // that, after the one before
	samples []*fmp4.Sample // of the next fragment; the duration of the last is not known yet
	from    int64          // when the first of them is decoded
	waiting int            // their bytes
	parts   uint32
	broken  bool // the disk refused something
}

// newWriter begins a file with a key frame. It returns the bytes that it wrote.
func newWriter(root *os.Root, path string, u ingest.Unit) (*writer, int, error) {
	w := &writer{id: u.Codec, params: u.Params, base: u.Ticks}
	init, err := w.header()
	if err != nil {
		return nil, 0, err
	}
	if w.file, err = root.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600); err != nil {
		return nil, 0, err
	}
	if _, err := w.file.Write(init); err != nil {
		return nil, 0, errors.Join(err, w.file.Close(), root.Remove(path))
	}
	w.size = int64(len(init))
	return w, len(init), nil
}

// header is what the file begins with.
func (w *writer) header() ([]byte, error) {
	sets := map[byte][]byte{} // the first of each kind
	for _, p := range w.params {
		if kind := w.kind(p); sets[kind] == nil {
			sets[kind] = p
		}
	}
	var c codecs.Codec
	switch w.id {
	case codec.H265:
		c = &codecs.H265{VPS: sets[byte(h265.NALUType_VPS_NUT)], SPS: sets[byte(h265.NALUType_SPS_NUT)], PPS: sets[byte(h265.NALUType_PPS_NUT)]}
		extractor := &h265.DTSExtractor{}
		extractor.Initialize()
		w.dts = extractor
	default:
		c = &codecs.H264{SPS: sets[byte(h264.NALUTypeSPS)], PPS: sets[byte(h264.NALUTypePPS)]}
		extractor := &h264.DTSExtractor{}
		extractor.Initialize()
		w.dts = extractor
	}
	var out seekablebuffer.Buffer
	if err := (fmp4.Init{Tracks: []*fmp4.InitTrack{{ID: track, TimeScale: ticksPerSecond, Codec: c}}}).Marshal(&out); err != nil {
		return nil, fmt.Errorf("%w: %w", errVideo, err)
	}
	return out.Bytes(), nil
}

// kind is the type of a NAL unit.
func (w *writer) kind(n []byte) byte {
	switch {
	case len(n) == 0:
		return 0
	case w.id == codec.H265:
		return n[0] >> 1 & 0x3f
	}
	return n[0] & 0x1f
}

// due tells whether the key frame u is to begin another file, as it does in one of that many bytes.
func (w *writer) due(u ingest.Unit, large int64) bool {
	return ticksToDuration(u.Ticks-w.base) >= usual || w.size > large || u.Codec != w.id ||
		!slices.EqualFunc(w.params, u.Params, bytes.Equal)
}

// full tells whether the file cannot have u, which is no key frame.
func (w *writer) full(u ingest.Unit, large int64) bool {
	return w.size > 2*large || ticksToDuration(u.Ticks-w.base) > most || (u.Ticks-w.base)-w.last > longest
}

// add takes a unit. It returns when it is shown, and the bytes that were written for it and those before.
func (w *writer) add(u ingest.Unit) (ticks int64, written int, err error) {
	var units h264.AnnexB // H.265 has the same
	if err := units.Unmarshal(u.Data); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errVideo, err)
	}
	au := [][]byte(units)
	first := w.parts == 0 && len(w.samples) == 0
	if first && !slices.ContainsFunc(au, func(n []byte) bool {
		return slices.ContainsFunc(w.params, func(p []byte) bool { return w.kind(n) == w.kind(p) })
	}) {
		au = slices.Concat(w.params, au)
	}
	ticks = u.Ticks - w.base
	at := ticks
	if w.dts != nil {
		if at, err = w.dts.Extract(au, ticks); err != nil && first {
			w.dts, at = nil, ticks // a camera that begins with another picture than IDR reorders none
		} else if err != nil {
			return 0, 0, fmt.Errorf("%w: %w", errVideo, err)
		}
	}
	if !first {
		if at < w.last {
			return 0, 0, fmt.Errorf("%w: its times fall", errVideo)
		}
		w.step = at - w.last
		w.samples[len(w.samples)-1].Duration = uint32(w.step)
		if at-w.from >= fragment || w.waiting >= fragmentBytes || len(w.samples) >= fragmentSamples {
			if written, err = w.flush(at); err != nil {
				return 0, 0, err
			}
		}
	}
	payload, err := h264.AVCC(au).Marshal()
	if err != nil {
		return 0, written, fmt.Errorf("%w: %w", errVideo, err)
	}
	if len(w.samples) == 0 {
		w.from = at
	}
	w.last = at
	w.waiting += len(payload)
	w.samples = append(w.samples, &fmp4.Sample{PTSOffset: int32(ticks - at), IsNonSyncSample: !u.Key, Payload: payload})
	return ticks, written, nil
}

// flush writes the samples as a fragment; what is next is decoded at that time.
func (w *writer) flush(next int64) (int, error) {
	var out seekablebuffer.Buffer
	part := fmp4.Part{SequenceNumber: w.parts, Tracks: []*fmp4.PartTrack{{ID: track, BaseTime: uint64(w.from), Samples: w.samples}}}
	if err := part.Marshal(&out); err != nil {
		return 0, fmt.Errorf("%w: %w", errVideo, err)
	}
	if _, err := w.file.Write(out.Bytes()); err != nil {
		return 0, err
	}
	n := len(out.Bytes())
	w.size += int64(n)
	w.ticks = next
	w.parts++
	w.waiting = 0
	clear(w.samples)
	w.samples = w.samples[:0]
	return n, nil
}

// held is how many frames are not written yet, with the one that is about to be.
func (w *writer) held() int { return len(w.samples) + 1 }

// until says that the next picture, of another file, is u.
func (w *writer) until(u ingest.Unit) {
	if n := len(w.samples); n > 0 {
		if d := u.Ticks - w.base - w.last; !u.Fresh && d > 0 && d <= longest {
			w.samples[n-1].Duration = uint32(d)
		}
	}
}

// abandon gives up what is not written yet.
func (w *writer) abandon() { w.broken = true }

// close writes what is left, and how long the file is. It returns the bytes that it wrote.
func (w *writer) close() (n int, err error) {
	if k := len(w.samples); k > 0 && !w.broken {
		last := w.samples[k-1]
		if last.Duration == 0 {
			last.Duration = uint32(cmp.Or(w.step, frame))
		}
		if n, err = w.flush(w.last + int64(last.Duration)); err != nil {
			w.broken = true
		}
	}
	if w.broken {
		err = errors.Join(err, w.file.Truncate(w.size))
	}
	return n, errors.Join(err, sayLength(w.file, ticksToDuration(w.ticks)), w.file.Close())
}

// sayLength writes into a file how long it is, which players need to know before they have read all of it.
func sayLength(f *os.File, length time.Duration) error {
	var head [1 << 10]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	i := bytes.Index(head[:n], []byte("mvhd"))
	if i < 0 {
		return errors.New("it has no header")
	}
	const toLength = 4 + 4 + 3*4 // mvhd, its version, two times and the scale, which is a millisecond (ISO/IEC 14496-12, 8.2.2)
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(length/time.Millisecond)), int64(i+toLength))
	return err
}
