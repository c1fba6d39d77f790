package codec

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/asticode/go-astiav"
)

// muxerClock is the unit of a file's times, as many a second.
const muxerClock = 90_000

// Muxer writes pictures of one size to a video file. The file is one of fragments,
// one a key frame, so what a full disk or a kill cuts short can be played up to there.
type Muxer struct {
	path   string
	enc    *Encoder
	format *astiav.FormatContext
	file   *astiav.IOContext
	packet *astiav.Packet
	stream *astiav.Stream
	last   int64 // time of the last picture, by muxerClock; -1 before the first
}

// CreateFile makes the MP4 file at path, or overwrites it, for pictures as cfg
// says. cfg.BFrames must be 0: packets are written in the order they are shown.
func CreateFile(path string, cfg EncoderConfig) (*Muxer, error) {
	if cfg.BFrames != 0 {
		return nil, fmt.Errorf("codec: %s: %d B-frames; want 0", path, cfg.BFrames)
	}
	enc, err := NewEncoder(cfg)
	if err != nil {
		return nil, err
	}
	m := &Muxer{path: path, enc: enc, last: -1}
	if err := m.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("codec: %s: %w", path, err), m.free())
	}
	return m, nil
}

func (m *Muxer) open() error {
	var err error
	if m.format, err = astiav.AllocOutputFormatContext(nil, "mp4", m.path); err != nil {
		return err
	}
	m.stream = m.format.NewStream(nil)
	if err := m.stream.CodecParameters().FromCodecContext(m.enc.ctx); err != nil {
		return err
	}
	m.stream.SetTimeBase(astiav.NewRational(1, muxerClock))
	// FFmpeg would take a URL or a pipe for a file.
	if m.file, err = createFile(m.path); err != nil {
		return err
	}
	m.format.SetPb(m.file)
	options := astiav.NewDictionary()
	defer options.Free()
	// The first fragment tells the header of the parameter sets.
	if err := setOptions(options, "movflags", "frag_keyframe+delay_moov", "flush_packets", "1"); err != nil {
		return err
	}
	if err := m.format.WriteHeader(options); err != nil {
		return err
	}
	m.packet = astiav.AllocPacket()
	return nil
}

// BGR appends a picture given as tight BGR24 rows, to be shown from the time at on,
// counted from the video's start. One that is not later than the picture before comes
// right after that. pix is only read, and not kept.
func (m *Muxer) BGR(pix []byte, at time.Duration) error {
	if m.format == nil {
		return ErrClosed
	}
	packets, err := m.enc.BGR(pix, false)
	if err != nil {
		return err
	}
	m.last = max(m.last+1, int64(math.Round(at.Seconds()*muxerClock)))
	for _, p := range packets { // one: the encoder has no delay
		if err := m.write(p); err != nil {
			return err
		}
	}
	return nil
}

func (m *Muxer) write(p Packet) error {
	if err := m.packet.FromData(p.Data); err != nil {
		return fmt.Errorf("codec: %s: %w", m.path, err)
	}
	defer m.packet.Unref()
	m.packet.SetPts(m.last)
	m.packet.SetDts(m.last)
	m.packet.SetDuration(int64(muxerClock / m.enc.cfg.FPS)) // counts for the last one only
	if p.Key {
		m.packet.SetFlags(astiav.NewPacketFlags(astiav.PacketFlagKey))
	}
	m.packet.RescaleTs(astiav.NewRational(1, muxerClock), m.stream.TimeBase())
	if err := m.format.WriteFrame(m.packet); err != nil {
		return fmt.Errorf("codec: %s: %w", m.path, err)
	}
	return nil
}

// Close writes what is left and closes the file.
func (m *Muxer) Close() error {
	if m.format == nil {
		return nil
	}
	var err error
	if trailer := m.format.WriteTrailer(); trailer != nil {
		err = fmt.Errorf("codec: %s: %w", m.path, trailer)
	}
	return errors.Join(err, m.free())
}

func (m *Muxer) free() (err error) {
	if m.file != nil {
		if err = m.file.Close(); err != nil {
			err = fmt.Errorf("codec: %s: %w", m.path, err)
		}
		m.file = nil
	}
	free(&m.packet)
	free(&m.format)
	m.enc.Close()
	return err
}
