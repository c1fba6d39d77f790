package codec

import (
	"bytes"
	"encoding/binary"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/av1"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"
)

var startCode = []byte{0, 0, 1}

// eachNALU calls f for each NAL unit of an Annex-B access unit, start codes and
// the zeros around them taken off.
func eachNALU(au []byte, f func(nalu []byte)) {
	i := bytes.Index(au, startCode)
	for i >= 0 {
		au = au[i+len(startCode):]
		i = bytes.Index(au, startCode)
		nalu := au
		if i >= 0 {
			nalu = au[:i]
		}
		if nalu = bytes.TrimRight(nalu, "\x00"); len(nalu) > 0 {
			f(nalu)
		}
	}
}

// eachOBU calls f for each OBU of an AV1 temporal unit whose OBUs have their sizes,
// as far as they can be told apart.
func eachOBU(tu []byte, f func(obu []byte)) {
	const hasExtension, hasSize = 0x04, 0x02
	for len(tu) > 0 && tu[0]&hasSize != 0 {
		header := 1
		if tu[0]&hasExtension != 0 {
			header = 2
		}
		if len(tu) < header {
			return
		}
		size, n := binary.Uvarint(tu[header:]) // the same as AV1's leb128
		body := header + n
		if n <= 0 || size > uint64(len(tu)-body) {
			return
		}
		end := body + int(size)
		f(tu[:end])
		tu = tu[end:]
	}
}

// checkAnnounced refuses an access unit that announces a picture that is too large.
// What cannot be parsed is left to FFmpeg, which knows more extensions.
func checkAnnounced(id ID, au []byte) error {
	var err error
	check := func(width, height int) {
		if e := CheckSize(width, height); e != nil && err == nil {
			err = e
		}
	}
	switch id {
	case H264:
		eachNALU(au, func(nalu []byte) {
			var sps h264.SPS
			if h264.NALUType(nalu[0]&0x1f) == h264.NALUTypeSPS && sps.Unmarshal(nalu) == nil {
				check(sps.Width(), sps.Height())
			}
		})
	case H265:
		eachNALU(au, func(nalu []byte) {
			var sps h265.SPS
			if h265.NALUType(nalu[0]>>1&0x3f) == h265.NALUType_SPS_NUT && sps.Unmarshal(nalu) == nil {
				check(sps.Width(), sps.Height())
			}
		})
	case VP8:
		// RFC 6386, section 9.1: a key frame has its size after the start code.
		if len(au) >= 10 && au[0]&1 == 0 && bytes.Equal(au[3:6], []byte{0x9d, 0x01, 0x2a}) {
			const scaleBits = 0x3fff
			check(int(binary.LittleEndian.Uint16(au[6:])&scaleBits), int(binary.LittleEndian.Uint16(au[8:])&scaleBits))
		}
	case VP9:
		for _, f := range VP9Frames(au) {
			var h vp9.Header
			if h.Unmarshal(f) == nil && h.FrameSize != nil {
				check(h.Width(), h.Height())
			}
		}
	case AV1:
		eachOBU(au, func(obu []byte) {
			const hasExtension = 0x04 // of which mediacommon's parser knows nothing
			var sh av1.SequenceHeader
			if av1.OBUType(obu[0]>>3&0xf) == av1.OBUTypeSequenceHeader && obu[0]&hasExtension == 0 && sh.Unmarshal(obu) == nil {
				check(sh.Width(), sh.Height())
			}
		})
	}
	return err
}
