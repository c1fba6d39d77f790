package demo

import (
	"fmt"

	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/pion/rtp"

	"github.com/segd/segd/ingest/codec"
)

// clockRate is the RTP clock of video, in ticks a second.
const clockRate = 90000

// payloadType is the first of the dynamic RTP payload types.
const payloadType = 96

// track is a clip as gortsplib sees it.
type track struct {
	media     *description.Media
	packetise func(nalus [][]byte) ([]*rtp.Packet, error)
}

func newTrack(c *Clip) (*track, error) {
	var f format.Format
	var packetise func([][]byte) ([]*rtp.Packet, error)
	switch c.Codec {
	case codec.H264:
		h := &format.H264{PayloadTyp: payloadType, PacketizationMode: 1}
		for _, n := range c.units[0] {
			switch h264.NALUType(n[0] & 0x1f) {
			case h264.NALUTypeSPS:
				h.SPS = n
			case h264.NALUTypePPS:
				h.PPS = n
			}
		}
		enc, err := h.CreateEncoder()
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		f, packetise = h, enc.Encode
	case codec.H265:
		h := &format.H265{PayloadTyp: payloadType}
		for _, n := range c.units[0] {
			switch h265.NALUType(n[0] >> 1 & 0x3f) {
			case h265.NALUType_VPS_NUT:
				h.VPS = n
			case h265.NALUType_SPS_NUT:
				h.SPS = n
			case h265.NALUType_PPS_NUT:
				h.PPS = n
			}
		}
		enc, err := h.CreateEncoder()
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		f, packetise = h, enc.Encode
	default:
		return nil, fmt.Errorf("demo: cannot serve %s, only H.264 and H.265", c.Codec)
	}
	return &track{
		media:     &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{f}},
		packetise: packetise,
	}, nil
}
