package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtpav1"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph264"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph265"
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtpvp8"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp8"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"
	"github.com/pion/rtp"

	"github.com/segd/segd/ingest/codec"
)

// track is a camera's video track and how its packets become access units.
type track struct {
	media  *description.Media
	format format.Format
	id     codec.ID
	// depacketise returns the parts of an access unit with the packet that completes
	// it, errIncomplete before: its NAL units, of AV1 its OBUs, of MJPEG, VP8 and
	// VP9 the frame in one part, of VP9 with those of its spatial layers.
	depacketise func(*rtp.Packet) ([][]byte, error)
	// reset forgets the packets of an access unit that is not complete.
	reset func()
	// layer returns the highest spatial layer of the access unit that depacketise returned;
	// nil of codecs without them.
	layer func(au [][]byte) int
	// jpeg depacketises MJPEG; nil of other codecs.
	jpeg *rtpJPEG
	// params are the newest parameter sets, from the session description and then from
	// the stream: they may come once only, and with a unit that the decoder never sees.
	params [][]byte
	// bare: the access unit before had no parameter sets.
	bare bool
	// top is the highest temporal sub-layer of H.265 that was seen.
	top byte
}

// errIncomplete: nothing is wrong, more packets are needed.
var errIncomplete = errors.New("access unit not complete")

// pickTrack returns the first video track that can be decoded.
func pickTrack(desc *description.Session) (*track, error) {
	var other []string // codecs of video tracks that cannot
	for _, m := range desc.Medias {
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
	if len(other) == 0 { // a camera without any video was refused by onlyVideo
		return nil, fmt.Errorf("%w: the stream's video tracks are all back channels", ErrNoVideo)
	}
	return nil, fmt.Errorf("%w: the camera sends %s; "+acceptedCodecs+" are accepted, "+
		"choose one of them in the camera's settings", ErrCodec, strings.Join(other, ", "))
}

func formatName(f format.Format) string {
	if name, _, _ := strings.Cut(f.RTPMap(), "/"); name != "" {
		return name
	}
	// Static payload types have no rtpmap: *format.MJPEG is MJPEG.
	return strings.TrimPrefix(fmt.Sprintf("%T", f), "*format.")
}

const acceptedCodecs = "H.264, H.265, MJPEG, VP8, VP9 and AV1"

// newTrack returns nil for a format that cannot be decoded.
func newTrack(m *description.Media, f format.Format) (*track, error) {
	t := &track{media: m, format: f}
	var err error
	switch f := f.(type) {
	case *format.H264:
		t.id = codec.H264
		t.params = [][]byte{f.SPS, f.PPS}
		err = unpack(t, f.CreateDecoder, (*rtph264.Decoder).Decode, rtph264.ErrMorePacketsNeeded, rtph264.ErrNonStartingPacketAndNoPrevious)
	case *format.H265:
		t.id = codec.H265
		t.params = [][]byte{f.VPS, f.SPS, f.PPS}
		err = unpack(t, f.CreateDecoder, (*rtph265.Decoder).Decode, rtph265.ErrMorePacketsNeeded, rtph265.ErrNonStartingPacketAndNoPrevious)
	case *format.VP8:
		t.id = codec.VP8
		err = unpack(t, f.CreateDecoder, whole((*rtpvp8.Decoder).Decode), rtpvp8.ErrMorePacketsNeeded, rtpvp8.ErrNonStartingPacketAndNoPrevious)
	case *format.VP9:
		t.id = codec.VP9
		v := new(vp9Pictures)
		t.depacketise, t.reset, t.layer = v.decode, v.reset, v.layer
	case *format.AV1:
		t.id = codec.AV1
		t.layer = av1Layer
		err = unpack(t, f.CreateDecoder, (*rtpav1.Decoder).Decode, rtpav1.ErrMorePacketsNeeded, rtpav1.ErrNonStartingPacketAndNoPrevious)
	case *format.MJPEG:
		t.id = codec.MJPEG
		t.jpeg = new(rtpJPEG)
		t.depacketise, t.reset = t.jpeg.decode, t.jpeg.reset
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCodec, t.id, err)
	}
	t.params = slices.DeleteFunc(t.params, func(p []byte) bool { return len(p) == 0 })
	return t, nil
}

// describe takes from a session description what gortsplib leaves out of it: the size of MJPEG
// pictures, as GStreamer says it (a=x-dimensions:2560,1440) and RFC 6064 (a=framesize:26
// 2560-1440).
func (t *track) describe(sdp []byte) {
	if t.jpeg == nil {
		return
	}
	var found size
	forms := []string{"a=x-dimensions:%d,%d", fmt.Sprintf("a=framesize:%d %%d-%%d", t.format.PayloadType())}
	const none = "-" // before the first track
	control := none
	for line := range strings.Lines(string(sdp) + "\nm=") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "m=") {
			if control == t.media.Control {
				t.jpeg.described = found
			}
			found, control = size{}, ""
		}
		if c, ok := strings.CutPrefix(line, "a=control:"); ok && control != none {
			control = c
		}
		for _, form := range forms {
			var s size
			if n, _ := fmt.Sscanf(line, form, &s.width, &s.height); n == 2 {
				found = s
			}
		}
	}
}

// unpack gives t the depacketiser of its format. The errors in more mean that
// nothing is wrong.
func unpack[D any](t *track, create func() (D, error), decode func(D, *rtp.Packet) ([][]byte, error), more ...error) error {
	dec, err := create()
	if err != nil {
		return err
	}
	t.depacketise = func(p *rtp.Packet) ([][]byte, error) {
		au, err := decode(dec, p)
		for _, e := range more {
			if errors.Is(err, e) {
				return nil, errIncomplete
			}
		}
		return au, err
	}
	t.reset = func() {
		if d, err := create(); err == nil { // it succeeded before
			dec = d
		}
	}
	return nil
}

// whole makes the one part of a frame a list.
func whole[D any](decode func(D, *rtp.Packet) ([]byte, error)) func(D, *rtp.Packet) ([][]byte, error) {
	return func(d D, p *rtp.Packet) ([][]byte, error) {
		frame, err := decode(d, p)
		return [][]byte{frame}, err
	}
}

// entry tells whether decoding can begin with the access unit au, and remembers the
// parameter sets in it.
func (t *track) entry(au [][]byte) entry {
	switch t.id {
	case codec.H264:
		return t.h264Entry(au)
	case codec.H265:
		return t.h265Entry(au)
	case codec.VP8:
		return entry{ok: vp8.IsRandomAccess(au[0])}
	case codec.VP9:
		return entry{ok: vp9.IsRandomAccess(au[0])}
	case codec.AV1:
		return entry{ok: av1.IsRandomAccess2(au)}
	case codec.MJPEG:
		return entry{ok: true}
	}
	return entry{}
}

const (
	// maxParams and maxParamBytes bound the parameter sets that are remembered, and each
	// of them: cameras have one of each kind, of some tens of bytes.
	maxParams     = 32
	maxParamBytes = 4096
)

// remember keeps the parameter set n, in the place of the one of its kind and number
// if there is one.
func (t *track) remember(n []byte) {
	if len(n) > maxParamBytes {
		return
	}
	key := t.paramKey(n)
	for i, p := range t.params {
		if t.paramKey(p) == key {
			if !bytes.Equal(p, n) {
				t.params[i] = bytes.Clone(n)
			}
			return
		}
	}
	if len(t.params) < maxParams {
		t.params = append(t.params, bytes.Clone(n)) // sets come after those they need
	}
}

// paramKey tells parameter sets apart: by their kind, and picture parameter sets,
// of which there may be several, by their number. That is an Exp-Golomb code at the
// start; its bits alone tell two numbers apart.
func (t *track) paramKey(n []byte) uint32 {
	kind, body := uint32(n[0]&0x1f), n[1:]
	numbered := h264.NALUType(kind) == h264.NALUTypePPS
	if t.id == codec.H265 {
		kind = uint32(n[0] >> 1 & 0x3f)
		numbered = h265.NALUType(kind) == h265.NALUType_PPS_NUT
		body = body[min(1, len(body)):]
	}
	if !numbered || len(body) == 0 {
		return kind << 16
	}
	first := uint32(body[0]) << 8
	if len(body) > 1 {
		first |= uint32(body[1])
	}
	zeros := bits.LeadingZeros16(uint16(first))
	return kind<<16 | first>>max(0, 16-(2*zeros+1))
}

// disposable tells whether no other access unit refers to au, which ended with the
// packet p, as far as that is cheaply known: of AV1 it is not.
func (t *track) disposable(au [][]byte, p *rtp.Packet) bool {
	switch t.id {
	case codec.H264:
		return h264Disposable(au)
	case codec.H265:
		return t.h265Disposable(au)
	case codec.VP8:
		const nonReference = 0x20 // RFC 7741, section 4.2
		return len(p.Payload) > 0 && p.Payload[0]&nonReference != 0
	case codec.VP9:
		return !slices.ContainsFunc(codec.VP9Frames(au[0]), func(frame []byte) bool { return !vp9Disposable(frame) })
	case codec.MJPEG:
		return true
	}
	return false
}

// h264Disposable: nal_ref_idc of all slices is 0.
func h264Disposable(au [][]byte) bool {
	found := false
	for _, n := range au {
		if len(n) == 0 {
			continue
		}
		switch h264.NALUType(n[0] & 0x1f) {
		case h264.NALUTypeNonIDR, h264.NALUTypeDataPartitionA, h264.NALUTypeDataPartitionB, h264.NALUTypeDataPartitionC, h264.NALUTypeIDR:
			if n[0]&0x60 != 0 {
				return false
			}
			found = true
		}
	}
	return found
}

// h265Disposable: all slices are of sub-layer non-reference pictures, and there is
// no sub-layer above theirs, whose pictures might refer to them.
func (t *track) h265Disposable(au [][]byte) bool {
	const lastNonReference = 14 // RSV_VCL_N14; even numbers up to it (H.265, table 7-1)
	found := false
	for _, n := range au {
		if len(n) < 2 || n[0]>>1&0x3f > 31 { // not a slice
			continue
		}
		layer := n[1] & 7
		t.top = max(t.top, layer)
		if typ := n[0] >> 1 & 0x3f; typ%2 != 0 || typ > lastNonReference || layer < t.top {
			return false
		}
		found = true
	}
	return found
}

// vp9Disposable: the frame is not kept in any of the eight slots (VP9 bitstream
// specification, section 6.2).
func vp9Disposable(frame []byte) bool {
	var pos int
	bits := func(n int) (v uint32) {
		for range n {
			v <<= 1
			if pos/8 < len(frame) {
				v |= uint32(frame[pos/8] >> (7 - pos%8) & 1)
			}
			pos++
		}
		return v
	}
	if bits(2) != 2 { // frame_marker
		return false
	}
	if low, high := bits(1), bits(1); low == 1 && high == 1 {
		bits(1) // reserved, of profile 3
	}
	if bits(1) == 1 { // show_existing_frame
		return false
	}
	inter, shown, resilient := bits(1), bits(1), bits(1)
	if inter == 0 {
		return false
	}
	if shown == 0 && bits(1) == 1 { // intra_only
		return false
	}
	if resilient == 0 {
		bits(2) // reset_frame_context
	}
	return bits(8) == 0 && pos <= 8*len(frame) // refresh_frame_flags
}

// join makes of an access unit what the decoder takes; the parameter sets params
// come first.
func (t *track) join(params, au [][]byte) []byte {
	switch t.id {
	case codec.MJPEG, codec.VP8, codec.VP9:
		return au[0]
	case codec.AV1:
		return obuStream(au)
	}
	unit, _ := h264.AnnexB(slices.Concat(params, au)).Marshal() // never fails; H.265 has the same
	return unit
}

// obuStream joins OBUs into AV1's low-overhead format, in which each says how
// long it is; RTP leaves that out.
func obuStream(obus [][]byte) []byte {
	const hasExtension, hasSize = 0x04, 0x02
	var out []byte
	for _, o := range obus {
		header := 1
		if len(o) > 0 && o[0]&hasExtension != 0 {
			header = 2
		}
		if len(o) < header {
			continue
		}
		if o[0]&hasSize != 0 {
			out = append(out, o...)
			continue
		}
		out = append(append(out, o[0]|hasSize), o[1:header]...)
		out = binary.AppendUvarint(out, uint64(len(o)-header)) // the same as AV1's leb128
		out = append(out, o[header:]...)
	}
	return out
}
