package codec

import (
	"bytes"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
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

// checkParameterSets refuses an access unit whose sequence parameter set
// announces a picture that is too large. One that cannot be parsed is left to
// FFmpeg, which knows more extensions.
func checkParameterSets(id ID, au []byte) error {
	var err error
	check := func(width, height int) {
		if e := checkSize(width, height); e != nil && err == nil {
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
	}
	return err
}
