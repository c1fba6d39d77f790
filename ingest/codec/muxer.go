package codec

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"
)

// Muxer writes pictures of one size to a video file.
type Muxer struct {
	path   string
	enc    *Encoder
	format *astiav.FormatContext
	file   *astiav.IOContext
	packet *astiav.Packet
	stream *astiav.Stream
	step   astiav.Rational // the unit of the encoder's PTS
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
	m := &Muxer{path: path, enc: enc, step: astiav.NewRational(1, enc.cfg.FPS)}
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
	m.stream.SetTimeBase(m.step)
	// FFmpeg would take a URL or a pipe for a file.
	if m.file, err = astiav.OpenIOContext("file:"+m.path, astiav.NewIOContextFlags(astiav.IOContextFlagWrite)); err != nil {
		return err
	}
	m.format.SetPb(m.file)
	if err := m.format.WriteHeader(nil); err != nil {
		return err
	}
	m.packet = astiav.AllocPacket()
	return nil
}

// BGR appends a picture given as tight BGR24 rows. pix is only read, and not kept.
func (m *Muxer) BGR(pix []byte) error {
	if m.format == nil {
		return ErrClosed
	}
	packets, err := m.enc.BGR(pix, false)
	if err != nil {
		return err
	}
	return m.write(packets)
}

func (m *Muxer) write(packets []Packet) error {
	for _, p := range packets {
		if err := m.packet.FromData(p.Data); err != nil {
			return fmt.Errorf("codec: %s: %w", m.path, err)
		}
		m.packet.SetPts(p.PTS)
		m.packet.SetDts(p.PTS)
		m.packet.SetDuration(1)
		if p.Key {
			m.packet.SetFlags(astiav.NewPacketFlags(astiav.PacketFlagKey))
		}
		m.packet.RescaleTs(m.step, m.stream.TimeBase())
		err := m.format.WriteFrame(m.packet)
		m.packet.Unref()
		if err != nil {
			return fmt.Errorf("codec: %s: %w", m.path, err)
		}
	}
	return nil
}

// Close writes what is left and closes the file, which cannot be played before.
func (m *Muxer) Close() error {
	if m.format == nil {
		return nil
	}
	packets, err := m.enc.Flush()
	err = errors.Join(err, m.write(packets))
	if trailer := m.format.WriteTrailer(); trailer != nil {
		err = errors.Join(err, fmt.Errorf("codec: %s: %w", m.path, trailer))
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
	if m.packet != nil {
		m.packet.Free()
		m.packet = nil
	}
	if m.format != nil {
		m.format.Free()
		m.format = nil
	}
	m.enc.Close()
	return err
}
