package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph264"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph265"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/pion/rtp"

	"github.com/segd/segd/ingest/codec"
)

// track is a camera's video track and how its packets become access units.
type track struct {
	media  *description.Media
	format format.Format
	id     codec.ID
	// depacketise returns the NAL units of an access unit with the packet that
	// completes it, errIncomplete before.
	depacketise func(*rtp.Packet) ([][]byte, error)
	// params are the parameter sets that came with the session description.
	params [][]byte
}

// errIncomplete: nothing is wrong, more packets are needed.
var errIncomplete = errors.New("access unit not complete")

// pickTrack returns the first video track that can be decoded.
func pickTrack(desc *description.Session) (*track, error) {
	var other []string // codecs of video tracks that cannot
	var kinds []string // of all tracks
	for _, m := range desc.Medias {
		kinds = append(kinds, string(m.Type))
		if m.Type != description.MediaTypeVideo || m.IsBackChannel {
			continue
		}
		for _, f := range m.Formats {
			t, err := newTrack(m, f)
			if err != nil {
				return nil, err
			}
			if t != nil {
				return t, nil
			}
			other = append(other, formatName(f))
		}
	}
	if len(other) > 0 {
		return nil, fmt.Errorf("%w: the camera sends %s; H.264 and H.265 are accepted, "+
			"choose one of them in the camera's settings", ErrCodec, strings.Join(other, ", "))
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%w: the stream has no tracks at all", ErrNoVideo)
	}
	slices.Sort(kinds)
	return nil, fmt.Errorf("%w: the stream has only %s", ErrNoVideo, strings.Join(slices.Compact(kinds), ", "))
}

func formatName(f format.Format) string {
	if name, _, _ := strings.Cut(f.RTPMap(), "/"); name != "" {
		return name
	}
	// Static payload types have no rtpmap: *format.MJPEG is MJPEG.
	return strings.TrimPrefix(fmt.Sprintf("%T", f), "*format.")
}

// newTrack returns nil for a format that cannot be decoded.
func newTrack(m *description.Media, f format.Format) (*track, error) {
	t := &track{media: m, format: f}
	switch f := f.(type) {
	case *format.H264:
		dec, err := f.CreateDecoder()
		if err != nil {
			return nil, fmt.Errorf("%w: H.264: %w", ErrCodec, err)
		}
		t.id = codec.H264
		t.params = [][]byte{f.SPS, f.PPS}
		t.depacketise = func(p *rtp.Packet) ([][]byte, error) {
			au, err := dec.Decode(p)
			if errors.Is(err, rtph264.ErrMorePacketsNeeded) || errors.Is(err, rtph264.ErrNonStartingPacketAndNoPrevious) {
				err = errIncomplete
			}
			return au, err
		}
	case *format.H265:
		dec, err := f.CreateDecoder()
		if err != nil {
			return nil, fmt.Errorf("%w: H.265: %w", ErrCodec, err)
		}
		t.id = codec.H265
		t.params = [][]byte{f.VPS, f.SPS, f.PPS}
		t.depacketise = func(p *rtp.Packet) ([][]byte, error) {
			au, err := dec.Decode(p)
			if errors.Is(err, rtph265.ErrMorePacketsNeeded) || errors.Is(err, rtph265.ErrNonStartingPacketAndNoPrevious) {
				err = errIncomplete
			}
			return au, err
		}
	default:
		return nil, nil
	}
	t.params = slices.DeleteFunc(t.params, func(p []byte) bool { return len(p) == 0 })
	return t, nil
}

// randomAccess tells whether decoding can start with the access unit au, and
// whether au brings its own sequence parameter set.
func (t *track) randomAccess(au [][]byte) (start, params bool) {
	for _, n := range au {
		if len(n) < 2 {
			continue
		}
		if t.id == codec.H264 {
			switch h264.NALUType(n[0] & 0x1f) {
			case h264.NALUTypeIDR:
				start = true
			case h264.NALUTypeSPS:
				params = true
			case h264.NALUTypeSEI:
				// Cameras with intra refresh send no IDR, but say where to begin.
				start = start || n[1] == seiRecoveryPoint
			}
			continue
		}
		switch typ := h265.NALUType(n[0] >> 1 & 0x3f); {
		case typ >= h265.NALUType_BLA_W_LP && typ <= h265.NALUType_CRA_NUT:
			start = true
		case typ == h265.NALUType_SPS_NUT:
			params = true
		}
	}
	return start, params
}

// seiRecoveryPoint is the payload type of H.264's recovery point message.
const seiRecoveryPoint = 6

// annexB joins NAL units, those of first and then those of rest, into an Annex-B
// access unit.
func annexB(first, rest [][]byte) []byte {
	size := 0
	for _, part := range [2][][]byte{first, rest} {
		for _, n := range part {
			size += 4 + len(n)
		}
	}
	out := make([]byte, 0, size)
	for _, part := range [2][][]byte{first, rest} {
		for _, n := range part {
			out = append(append(out, 0, 0, 0, 1), n...)
		}
	}
	return out
}
