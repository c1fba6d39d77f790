package ingest

import (
	"errors"
	"math/bits"

	mbits "github.com/bluenviron/mediacommon/v2/pkg/bits"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"github.com/segd/segd/ingest/codec"
)

// entry is what an access unit is to a decoder that knows nothing yet.
type entry struct {
	// ok: decoding can begin here.
	ok bool
	// refresh is after how many further units pictures are whole: 0 of a key frame, and
	// more where the camera renews its pictures piece by piece (intra refresh).
	refresh int
	// unmarked: the unit is one to begin with and does not say so, which FFmpeg's
	// decoder of H.264 wants to be told.
	unmarked bool
}

// untilNext is entry.refresh of a camera that begins to renew its pictures piece by piece and does not say how long that
// takes: they are whole when it begins anew. It has the parameter sets come again before a picture that refers to others,
// as x265 does, and once only an IDR picture.
const untilNext = 1 << 20 // above maxRefresh

// markEntry is an SEI NAL unit of H.264 that says that decoding can begin with the picture
// after it: a recovery point (H.264, D.1.8) with recovery_frame_cnt 0 and exact_match_flag 1.
// FFmpeg shows nothing of a stream with neither IDR pictures nor recovery points if more than
// four pictures are referred to.
var markEntry = []byte{byte(h264.NALUTypeSEI), seiRecoveryPoint, 1, 0b11000100, 0x80}

// h264Entry looks for an IDR picture, a recovery point, or slices that are all intra.
func (t *track) h264Entry(au [][]byte) entry {
	key, recovery, sets, frames := false, false, false, 0
	var intra intraPicture
	for _, n := range au {
		if len(n) < 2 {
			continue
		}
		switch typ := h264.NALUType(n[0] & 0x1f); typ {
		case h264.NALUTypeIDR:
			key = true
		case h264.NALUTypeSPS, h264.NALUTypePPS:
			t.remember(n)
			sets = true
		case h264.NALUTypeSEI:
			if p := seiPayload(h264.EmulationPreventionRemove(n[1:]), seiRecoveryPoint); p != nil && !recovery {
				recovery, frames = true, recoveryFrames(p)
			}
		case h264.NALUTypeNonIDR, h264.NALUTypeDataPartitionA:
			first, kind, err := h264Slice(n)
			const referredTo = 0x60 // nal_ref_idc
			intra.add(first == 0, err == nil && kind.intra() && n[0]&referredTo != 0)
		}
	}
	again := t.again(sets)
	switch {
	case key:
		return entry{ok: true}
	case intra.whole():
		return entry{ok: true, unmarked: !recovery}
	case recovery:
		return entry{ok: true, refresh: frames}
	}
	return t.unsaid(again && intra.slices)
}

// again tells whether parameter sets come with an access unit, and did not with the one before: some cameras send them
// with each.
func (t *track) again(sets bool) bool {
	bare := t.bare
	t.bare = !sets
	return sets && bare
}

// unsaid is what an access unit is that is no other entry.
func (t *track) unsaid(begins bool) entry {
	if !begins {
		return entry{}
	}
	return entry{ok: true, refresh: untilNext, unmarked: t.id == codec.H264}
}

// h265Entry looks for an IRAP picture, a recovery point, or slices that are all intra.
func (t *track) h265Entry(au [][]byte) entry {
	key, recovery, sets, pictures, segments := false, false, false, 0, 0
	var intra intraPicture
	for _, n := range au {
		if len(n) < 3 {
			continue
		}
		switch typ := h265.NALUType(n[0] >> 1 & 0x3f); {
		case typ >= h265.NALUType_BLA_W_LP && typ <= h265.NALUType_CRA_NUT:
			key = true
		case typ == h265.NALUType_VPS_NUT, typ == h265.NALUType_SPS_NUT, typ == h265.NALUType_PPS_NUT:
			t.remember(n)
			sets = true
		case typ == h265.NALUType_PREFIX_SEI_NUT:
			if p := seiPayload(h264.EmulationPreventionRemove(n[2:]), seiRecoveryPoint); p != nil && !recovery {
				recovery, pictures = true, recoveryPictures(p)
			}
		case typ < h265.NALUType_BLA_W_LP:
			if segments++; intra.inter || segments > maxSegments {
				intra.inter = true
				continue
			}
			first, kind, err := t.h265Slice(n)
			if err == nil && kind == sliceDependent { // it is of the kind of the one before
				continue
			}
			intra.add(first, err == nil && kind == sliceI)
		}
	}
	again := t.again(sets)
	switch {
	case key, intra.whole():
		return entry{ok: true}
	case recovery:
		return entry{ok: true, refresh: pictures}
	}
	return t.unsaid(again && intra.inter)
}

// intraPicture tells whether the first picture of an access unit can be decoded without
// others. There are two where fields are; the second may refer to the first.
type intraPicture struct{ slices, inter, second bool }

// add takes the next slice: whether it is the first of a picture, and whether it is intra.
func (p *intraPicture) add(first, intra bool) {
	p.second = p.second || first && p.slices
	p.inter = p.inter || !intra && !p.second
	p.slices = true
}

func (p *intraPicture) whole() bool { return p.slices && !p.inter }

// seiRecoveryPoint is the payload type of the recovery point message, of H.264 (D.1.1) and
// H.265 (D.2.1).
const seiRecoveryPoint = 6

// seiPayload returns the first message of a type in an SEI RBSP (H.264, 7.3.2.3.1; H.265,
// 7.3.5); nil if there is none.
func seiPayload(rbsp []byte, want int) []byte {
	// number reads what is written as bytes of 255 and a smaller one.
	number := func() (n int, ok bool) {
		for i, b := range rbsp {
			n += int(b)
			if b != 0xff {
				rbsp = rbsp[i+1:]
				return n, true
			}
		}
		return 0, false
	}
	for len(rbsp) >= 2 { // less is the trailing bits
		typ, ok := number()
		if !ok {
			return nil
		}
		size, ok := number()
		if !ok || size > len(rbsp) {
			return nil
		}
		if typ == want {
			return rbsp[:size:size]
		}
		rbsp = rbsp[size:]
	}
	return nil
}

// maxRefresh bounds the units that a refresh takes, to what H.264 has: MaxFrameNum.
const maxRefresh = 1 << 16

// recoveryFrames reads recovery_frame_cnt (H.264, D.1.8).
func recoveryFrames(payload []byte) int {
	n, err := mbits.ReadGolombUnsigned(payload, new(int))
	if err != nil {
		return 0
	}
	return int(min(n, maxRefresh))
}

// recoveryPictures reads recovery_poc_cnt (H.265, D.2.8). Picture order counts rise by one
// or more a picture.
func recoveryPictures(payload []byte) int {
	n, err := mbits.ReadGolombSigned(payload, new(int))
	if err != nil {
		return 0
	}
	return int(min(max(n, 0), maxRefresh))
}

// sliceHead is how much of a slice is read: more than what is before and in slice_type takes.
const sliceHead = 32

// h264SliceType is slice_type of H.264, table 7-6. From 5 on it means the same of all slices
// of the picture.
type h264SliceType uint32

func (t h264SliceType) intra() bool { return t == 2 || t == 4 || t == 7 || t == 9 } // I, SI

// h264Slice reads the head of a slice: H.264, 7.3.3.
func h264Slice(nalu []byte) (firstMacroblock uint32, typ h264SliceType, err error) {
	rbsp := h264.EmulationPreventionRemove(nalu[1:min(len(nalu), sliceHead)])
	pos := 0
	if firstMacroblock, err = mbits.ReadGolombUnsigned(rbsp, &pos); err != nil {
		return 0, 0, err
	}
	n, err := mbits.ReadGolombUnsigned(rbsp, &pos)
	return firstMacroblock, h264SliceType(n), err
}

// maxSegments is the most slice segments of a picture (H.265, table A.8).
const maxSegments = 600

// Of slice_type of H.265, table 7-7, and one for a segment that has none of its own.
const (
	sliceI         = 2
	sliceDependent = -1
)

// h265Slice reads the head of a slice segment, of another kind than IRAP: H.265, 7.3.6.1.
func (t *track) h265Slice(nalu []byte) (first bool, typ int, err error) {
	rbsp := h264.EmulationPreventionRemove(nalu[2:min(len(nalu), sliceHead)])
	pos := 0
	if first, err = mbits.ReadFlag(rbsp, &pos); err != nil {
		return false, 0, err
	}
	id, err := mbits.ReadGolombUnsigned(rbsp, &pos)
	if err != nil {
		return first, 0, err
	}
	pps, sps, err := t.h265Params(id)
	if err != nil {
		return first, 0, err
	}
	if !first {
		dependent := false
		if pps.DependentSliceSegmentsEnabledFlag {
			if dependent, err = mbits.ReadFlag(rbsp, &pos); err != nil {
				return first, 0, err
			}
		}
		if _, err = mbits.ReadBits(rbsp, &pos, segmentAddressBits(sps)); err != nil || dependent {
			return first, sliceDependent, err
		}
	}
	if _, err = mbits.ReadBits(rbsp, &pos, int(pps.NumExtraSliceHeaderBits)); err != nil {
		return first, 0, err
	}
	n, err := mbits.ReadGolombUnsigned(rbsp, &pos)
	return first, int(n), err
}

// h265Params returns the picture parameter set of a number, and the sequence parameter set.
// Of the latter there is one, as cameras have it.
func (t *track) h265Params(id uint32) (*h265.PPS, *h265.SPS, error) {
	var pps h265.PPS
	var sps h265.SPS
	found := false
	for _, n := range t.params {
		switch h265.NALUType(n[0] >> 1 & 0x3f) {
		case h265.NALUType_SPS_NUT:
			if err := sps.Unmarshal(n); err != nil {
				return nil, nil, err
			}
		case h265.NALUType_PPS_NUT:
			var p h265.PPS
			if err := p.Unmarshal(n); err == nil && p.ID == id {
				pps, found = p, true
			}
		}
	}
	if !found {
		return nil, nil, errNoParams
	}
	return &pps, &sps, nil
}

var errNoParams = errors.New("the parameter set of a slice is not known")

// segmentAddressBits is how many bits slice_segment_address has: H.265, 7.4.7.1.
func segmentAddressBits(sps *h265.SPS) int {
	shift := (sps.Log2MinLumaCodingBlockSizeMinus3 + 3 + sps.Log2DiffMaxMinLumaCodingBlockSize) & 31
	side := uint64(1) << shift
	across := (uint64(sps.PicWidthInLumaSamples) + side - 1) >> shift
	down := (uint64(sps.PicHeightInLumaSamples) + side - 1) >> shift
	return bits.Len64(max(across*down, 1) - 1)
}
