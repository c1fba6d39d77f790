package ingest

import (
	"errors"
	"fmt"

	"github.com/bluenviron/gortsplib/v5/pkg/format/rtpvp9"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"

	"github.com/segd/segd/ingest/codec"
)

// vp9Pictures makes pictures of VP9's packets. With spatial layers a picture is a frame of each of
// them, lowest first, up to the packet with the marker (RFC 9628, 4.1).
type vp9Pictures struct {
	dec  rtpvp9.Decoder
	held [][]byte // frames of the picture that is not complete
	size int      // their bytes
	at   uint32   // its RTP time
	top  int      // the highest layer of the newest frame
	// broken: packets of the picture may be missing, up to its end.
	broken bool
}

func (v *vp9Pictures) decode(p *rtp.Packet) ([][]byte, error) {
	var head codecs.VP9Packet
	if _, err := head.Unmarshal(p.Payload); err != nil {
		v.reset()
		return nil, err
	}
	if v.broken && !(head.B && head.SID == 0) {
		v.broken = !p.Marker
		return nil, errIncomplete
	}
	v.broken = false
	if len(v.held) > 0 && p.Timestamp != v.at {
		v.drop()
		return nil, errNoMarker
	}
	frame, err := v.dec.Decode(p)
	switch {
	case errors.Is(err, rtpvp9.ErrMorePacketsNeeded), errors.Is(err, rtpvp9.ErrNonStartingPacketAndNoPrevious):
		return nil, errIncomplete
	case err != nil:
		v.drop()
		v.broken = !p.Marker
		return nil, err
	}
	v.held, v.at, v.top = append(v.held, frame), p.Timestamp, int(head.SID)
	if v.size += len(frame); v.size > vp9.MaxFrameSize {
		size := v.size
		v.drop()
		return nil, fmt.Errorf("a picture of %d bytes; at most %d are accepted", size, vp9.MaxFrameSize)
	}
	if head.L && !p.Marker {
		return nil, errIncomplete
	}
	picture, err := codec.JoinVP9(v.held)
	v.drop()
	return [][]byte{picture}, err
}

// errNoMarker is about a sender that does not mark the end of pictures with layers.
var errNoMarker = errors.New("a picture with spatial layers whose last packet has no marker; RFC 9628 wants one")

// drop forgets the frames of a picture.
func (v *vp9Pictures) drop() { v.held, v.size = nil, 0 }

func (v *vp9Pictures) reset() {
	v.drop()
	v.dec = rtpvp9.Decoder{}
	v.broken = true
}

func (v *vp9Pictures) layer([][]byte) int { return v.top }

// av1Layer returns the highest spatial layer that a temporal unit has an OBU of.
func av1Layer(tu [][]byte) int {
	const hasExtension = 0x04
	top := 0
	for _, obu := range tu {
		if len(obu) > 1 && obu[0]&hasExtension != 0 && av1.OBUType(obu[0]>>3&0xf) != av1.OBUTypeTemporalDelimiter {
			top = max(top, int(obu[1]>>3&3))
		}
	}
	return top
}

// layerTime is for how long pictures may lack the highest spatial layer and are not shown: a sender may
// leave it out of some pictures, and objects must not be of another size for these.
const layerTime = ticksPerSecond / 2

// topLayer is the highest spatial layer of the pictures that are shown. The zero value is ready.
type topLayer struct {
	layer int
	at    int64 // ticks of the newest picture with it
}

// missing tells whether a picture whose highest layer is this one lacks one that others had until just now. One to
// start from lacks none: the sender has chosen anew.
func (t *topLayer) missing(layer int, ticks int64, key bool) bool {
	if since := ticks - t.at; layer < t.layer && !key && max(since, -since) < layerTime {
		return true
	}
	t.layer, t.at = layer, ticks
	return false
}
