package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// bitWriter writes what parameter sets and slices are made of.
type bitWriter struct {
	out  []byte
	bits int
}

func (w *bitWriter) u(n int, v uint32) *bitWriter {
	for i := n - 1; i >= 0; i-- {
		if w.bits%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[len(w.out)-1] |= byte(v>>i&1) << (7 - w.bits%8)
		w.bits++
	}
	return w
}

// ue writes numbers as Exp-Golomb codes.
func (w *bitWriter) ue(vs ...uint32) *bitWriter {
	for _, v := range vs {
		n := 0
		for (v+1)>>(n+1) > 0 {
			n++
		}
		w.u(n, 0).u(n+1, v+1)
	}
	return w
}

func (w *bitWriter) align() *bitWriter {
	for w.bits%8 != 0 {
		w.u(1, 0)
	}
	return w
}

// nalu ends the RBSP and returns the NAL unit, emulation prevented.
func (w *bitWriter) nalu(header ...byte) []byte {
	w.u(1, 1).align()
	out, zeros := header, 0
	for _, b := range w.out {
		if zeros >= 2 && b <= 3 {
			out, zeros = append(out, 3), 0
		}
		if zeros++; b != 0 {
			zeros = 0
		}
		out = append(out, b)
	}
	return out
}

// Of the small H.264 streams that tests write bit by bit: 64×48 pixels, macroblocks that are
// either copied as they are (I_PCM) or skipped.
const (
	pcmWidth, pcmHeight = 64, 48
	pcmBlocks           = pcmWidth / 16 * pcmHeight / 16
)

var (
	pcmSPS = new(bitWriter).u(24, 66<<16|30).ue(0, 4, 2, 8).u(1, 0).ue(pcmWidth/16-1, pcmHeight/16-1).u(1, 1).u(1, 1).u(2, 0).nalu(0x67)
	// Six pictures are referred to: FFmpeg shows no picture of such a stream by itself.
	pcmPPS = new(bitWriter).ue(0, 0).u(2, 0).ue(0, 5, 0).u(3, 0).ue(0, 0, 0).u(3, 0b100).nalu(0x68)
)

const (
	typeP = 5
	typeI = 7
)

// pcmSlice is a picture of number n: its macroblocks from first to end are new, of an I slice
// all; the others are skipped.
func pcmSlice(kind, frame, n uint32, first, end int) []byte {
	w := new(bitWriter).ue(0, kind, 0).u(8, frame%256)
	mbType := uint32(25)
	if kind == typeP {
		w.u(2, 0)
		mbType = 5 + 25
	}
	w.u(1, 0).ue(0, 1)
	pix := numbered(pcmWidth, pcmHeight, int(n))
	for b := first; b < end; b++ {
		if kind == typeP {
			skipped := uint32(0)
			if b == first {
				skipped = uint32(first)
			}
			w.ue(skipped)
		}
		w.ue(mbType).align()
		for i := range 256 {
			x, y := b%(pcmWidth/16)*16+i%16, b/(pcmWidth/16)*16+i/16
			w.u(8, uint32(pix[3*(y*pcmWidth+x)]))
		}
		for range 128 {
			w.u(8, 128)
		}
	}
	if left := pcmBlocks - end; kind == typeP && left > 0 {
		w.ue(uint32(left))
	}
	return w.nalu(0x61)
}

// sei is an SEI NAL unit of messages of types and payloads.
func sei(header []byte, messages ...[]byte) []byte {
	w := new(bitWriter)
	for _, m := range messages {
		for _, b := range m {
			w.u(8, uint32(b))
		}
	}
	return w.nalu(header...)
}

// message is an SEI message.
func message(typ int, payload ...byte) (out []byte) {
	for _, n := range []int{typ, len(payload)} {
		for ; n >= 255; n -= 255 {
			out = append(out, 255)
		}
		out = append(out, byte(n))
	}
	return append(out, payload...)
}

// recovery is a recovery point message: pictures are whole after so many more.
func recovery(after uint32) []byte {
	return message(seiRecoveryPoint, new(bitWriter).ue(after).u(4, 0b1000).u(1, 1).align().out...)
}

// shown decodes what came to r and returns the numbers that its pictures show by RTP time in
// pictures, negative where they are called damaged.
func shown(t *testing.T, r *receiver) map[int]int {
	t.Helper()
	dec, err := codec.NewDecoder(r.track.id)
	require.NoError(t, err)
	defer dec.Close()
	got := map[int]int{}
	for len(r.units) > 0 {
		u := <-r.units
		if err := dec.Decode(u.data, u.ticks, func(p *codec.Picture) {
			f := &Frame{Width: p.Width, Height: p.Height, Pix: make([]byte, 3*p.Width*p.Height)}
			require.NoError(t, p.BGR(f.Pix))
			n := number(f)
			if u.damaged || p.Damaged {
				n = -n
			}
			got[int(p.PTS/3600)] = n
		}); err != nil {
			t.Errorf("unit at %d: %v", u.ticks/3600, err)
		}
	}
	return got
}

// Cameras that send neither IDR pictures nor what says where to begin, and those that renew
// their pictures piece by piece: pictures come of all of them, and those that are not whole
// yet are not shown, or called damaged.
func TestEntryH264(t *testing.T) {
	const period, refresh = 12, 3 // pictures from one entry to the next, and to be whole
	userData := message(5, slices.Repeat([]byte{7}, 600)...)
	timing := message(1, 0, 0, 3, 0, 0) // emulated start codes
	intra := func(i uint32) [][]byte {
		if i%period == 0 {
			return [][]byte{pcmSPS, pcmPPS, pcmSlice(typeI, i, i, 0, pcmBlocks)}
		}
		return [][]byte{pcmSlice(typeP, i, i, 0, pcmBlocks)}
	}
	pieces := func(seis ...[]byte) func(i uint32) [][]byte {
		return func(i uint32) [][]byte {
			k := int(i % period)
			slice := pcmSlice(typeP, i, i, 0, 0)
			if k <= refresh {
				slice = pcmSlice(typeP, i, i/period, k*pcmBlocks/(refresh+1), (k+1)*pcmBlocks/(refresh+1))
			}
			if k > 0 {
				return [][]byte{slice}
			}
			return slices.Concat([][]byte{pcmSPS, pcmPPS}, seis, [][]byte{slice})
		}
	}
	h264 := []byte{6}
	for _, tc := range []struct {
		name     string
		stream   func(i uint32) [][]byte
		from, to int // the first picture, and what it shows
	}{
		{"I pictures without SEI", intra, period, period},
		{"recovery point", pieces(sei(h264, recovery(refresh))), period + refresh, 1},
		{"recovery point after other messages", pieces(sei(h264, userData, timing, recovery(refresh))), period + refresh, 1},
		{"recovery point in a second SEI unit", pieces(sei(h264, userData), sei(h264, recovery(refresh), timing)), period + refresh, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
			enc, err := (&format.H264{PacketizationMode: 1}).CreateEncoder()
			require.NoError(t, err)
			for i := uint32(5); i < 2*period+refresh+1; i++ { // joined late
				pkts, err := enc.Encode(tc.stream(i))
				require.NoError(t, err)
				for _, p := range pkts {
					p.Timestamp = i * 3600
					r.handle(p)
				}
			}
			assert.EqualValues(t, period-5, r.missed[MissNoKey].Load(), "units came before the first that was taken")
			got := shown(t, r)
			for i := range 2*period + refresh - tc.from {
				at := tc.from - period + i // the clock begins with the first unit that is taken
				want := tc.to
				if tc.to == period { // every picture has its number
					want += i
				} else if at >= period { // until the next are whole, some blocks are of before
					break
				}
				if n, ok := got[at]; !ok || n != want {
					t.Errorf("picture %d shows %d (there: %v), want %d", at, n, ok, want)
				}
			}
			for at, n := range got {
				if at < tc.from-period {
					t.Errorf("picture %d, which is not whole, is shown, with %d", at, n)
				}
			}
		})
	}
}

// flags hands the units of nalus, one of each, to r, and returns which units come, d: damaged.
func flags(t *testing.T, r *receiver, encode func([][]byte) ([]*rtp.Packet, error), from, to int, nalus func(i int) [][]byte) string {
	t.Helper()
	var got strings.Builder
	for i := from; i < to; i++ {
		pkts, err := encode(nalus(i))
		require.NoError(t, err)
		for _, p := range pkts {
			p.Timestamp = uint32(i) * 3600
			r.handle(p)
		}
		select {
		case u := <-r.units:
			got.WriteByte(map[bool]byte{true: 'd', false: '.'}[u.damaged])
		default:
			got.WriteByte('-')
		}
	}
	return got.String()
}

// Where parameter sets come again before pictures that are no entry, as of cameras that renew pictures piece by piece and
// do not say so, decoding begins there, and pictures are whole from the next of them on. Sets with each picture say
// nothing.
func TestEntryParameterSets(t *testing.T) {
	const period, refresh = 6, 3
	for _, tc := range []struct {
		name string
		sets func(i int) bool
		want string // of units 2 to 19
	}{
		{"each period", func(i int) bool { return i%period == 0 }, "----" + "dddddd" + "........"},
		{"each picture", func(int) bool { return true }, "------------------"},
		{"never", func(int) bool { return false }, "------------------"},
		{"only at the point that is joined", func(i int) bool { return i == 2 }, "------------------"},
		{"a stray one later", func(i int) bool { return i == 6 }, "----dddddddddddddd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h264 := &format.H264{PacketizationMode: 1}
			enc, err := h264.CreateEncoder()
			require.NoError(t, err)
			if got := flags(t, newTestReceiver(t, h264), enc.Encode, 2, 20, func(i int) [][]byte {
				p := pcmSlice(typeP, uint32(i), 0, 0, 0)
				if tc.sets(i) {
					return [][]byte{pcmSPS, pcmPPS, p}
				}
				return [][]byte{p}
			}); got != tc.want {
				t.Errorf("H.264: %s, want %s", got, tc.want)
			}

			coded := packets(t, codec.EncoderConfig{Codec: codec.H265, Width: 128, Height: 96, GOP: 100}, 20)
			sets := slices.DeleteFunc(splitNALUs(coded[0].Data), func(n []byte) bool { return h265.NALUType(n[0]>>1) < h265.NALUType_VPS_NUT })
			h265enc, err := (&format.H265{}).CreateEncoder()
			require.NoError(t, err)
			if got := flags(t, newTestReceiver(t, &format.H265{}), h265enc.Encode, 2, 20, func(i int) [][]byte {
				if tc.sets(i) {
					return slices.Concat(sets, splitNALUs(coded[i].Data))
				}
				return splitNALUs(coded[i].Data)
			}); got != tc.want {
				t.Errorf("H.265: %s, want %s", got, tc.want)
			}
		})
	}

	// The pictures are the camera's: the pieces of a period show its number.
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	enc, err := (&format.H264{PacketizationMode: 1}).CreateEncoder()
	require.NoError(t, err)
	for i := uint32(2); i < 4*period; i++ {
		k := int(i % period)
		au := [][]byte{pcmSlice(typeP, i, 0, 0, 0)}
		if k <= refresh {
			au = [][]byte{pcmSlice(typeP, i, i/period, k*pcmBlocks/(refresh+1), (k+1)*pcmBlocks/(refresh+1))}
		}
		if k == 0 {
			au = append([][]byte{pcmSPS, pcmPPS}, au...)
		}
		pkts, err := enc.Encode(au)
		require.NoError(t, err)
		for _, p := range pkts {
			p.Timestamp = i * 3600
			r.handle(p)
		}
	}
	got := shown(t, r) // from unit 6 on
	if got[5] != -1 || got[9] != 2 || got[11] != 2 || got[15] != 3 {
		t.Errorf("the pictures show %v", got)
	}
}

// A loss is over, in such a stream, two times of parameter sets later.
func TestRefreshUnsaidMends(t *testing.T) {
	h264 := &format.H264{PacketizationMode: 1}
	enc, err := h264.CreateEncoder()
	require.NoError(t, err)
	r := newTestReceiver(t, h264)
	got := flags(t, r, enc.Encode, 0, 24, func(i int) [][]byte {
		p := pcmSlice(typeP, uint32(i), 0, 0, 0)
		switch {
		case i == 0:
			return [][]byte{pcmSPS, pcmPPS, pcmSlice(typeI, 0, 0, 0, pcmBlocks)}
		case i == 8:
			r.gap()
		case i%6 == 0:
			return [][]byte{pcmSPS, pcmPPS, p}
		}
		return [][]byte{p}
	})
	assert.Equal(t, "........dddddddddd......", got, "damaged")
}

// Where the decoder could not use the first I picture, for want of parameter sets, the next is
// begun from.
func TestEntryAgain(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	enc, err := (&format.H264{PacketizationMode: 1}).CreateEncoder()
	require.NoError(t, err)
	for i := range uint32(6) {
		au := [][]byte{pcmSlice(typeP, i, i, 0, pcmBlocks)}
		switch i {
		case 0:
			au = [][]byte{pcmSlice(typeI, i, i, 0, pcmBlocks)}
		case 2:
			au = [][]byte{pcmSPS, pcmPPS, pcmSlice(typeI, i, i, 0, pcmBlocks)}
		}
		pkts, err := enc.Encode(au)
		require.NoError(t, err)
		for _, p := range pkts {
			p.Timestamp = i * 3600
			r.handle(p)
		}
		if i < 2 {
			<-r.units
			r.corrupt.Store(true) // as the decoder says
		}
	}
	if got := shown(t, r); len(got) != 4 || got[2] != 2 || got[5] != 5 {
		t.Errorf("pictures %v, want 2 to 5", got)
	}
}

// After a loss, pictures that are renewed piece by piece are called damaged until they are
// whole, not only until that begins.
func TestRefreshMends(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	point := sei([]byte{6}, recovery(3))
	var damaged []bool
	for i := range uint32(16) {
		if i == 2 || i == 9 {
			r.gap()
		}
		p := h264Packet(uint16(i), i*3600, pcmSlice(typeP, i, 0, 0, 0)...)
		if i%4 == 0 {
			nalus := [][]byte{point, p.Payload}
			enc, _ := (&format.H264{PacketizationMode: 1}).CreateEncoder()
			pkts, err := enc.Encode(nalus)
			if err != nil || len(pkts) != 1 {
				t.Fatal(len(pkts), err)
			}
			p.Payload = pkts[0].Payload
		}
		r.handle(p)
		u := <-r.units
		damaged = append(damaged, u.damaged)
	}
	var got strings.Builder
	for _, d := range damaged {
		got.WriteByte(map[bool]byte{true: 'd', false: '.'}[d])
	}
	// 0 to 2 are the first refresh, in which a packet is lost; that of 4 mends, but not before 7.
	assert.Equal(t, "ddddddd..dddddd.", got.String(), "damaged %s", &got)
}

// A packet that is no part of a picture damages the unit of its time, and not all that follow where a camera's times
// stand still.
func TestDamageEndsWhereTimesStandStill(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	var got strings.Builder
	for i := range uint16(5) {
		if i == 1 {
			r.handle(h264Packet(i, 0, 24, 0xff, 0xff)) // STAP-A that ends within its first unit
			continue
		}
		r.handle(h264Packet(i, 0, pcmSlice(typeI, 0, 0, 0, pcmBlocks)...))
		got.WriteByte(map[bool]byte{true: 'd', false: '.'}[(<-r.units).damaged])
	}
	assert.Equal(t, ".d..", got.String(), "damaged %s", &got)
}

// Pictures that are shown before the one that was begun from, and come after it, refer to what
// never came.
func TestLeadingPictures(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	b := []byte{0x01, 0x9a, 0x80} // of a B picture to which no other refers
	var got strings.Builder
	for i, p := range []struct {
		at   uint32
		nalu []byte
	}{
		{10, pcmSlice(typeI, 0, 0, 0, pcmBlocks)}, {8, b}, {9, b}, {12, pcmSlice(typeP, 1, 0, 0, 0)}, {11, b},
		{14, pcmSlice(typeI, 2, 0, 0, pcmBlocks)}, {13, b}, // nothing was lost
		{0, nil}, {16, pcmSlice(typeP, 4, 0, 0, 0)}, {18, pcmSlice(typeI, 5, 0, 0, pcmBlocks)}, {17, b}, {19, pcmSlice(typeP, 6, 0, 0, 0)},
	} {
		if p.nalu == nil {
			r.gap()
			continue
		}
		r.handle(h264Packet(uint16(i), p.at*3600, p.nalu...))
		got.WriteByte(map[bool]byte{true: 'd', false: '.'}[(<-r.units).damaged])
	}
	assert.Equal(t, ".dd...."+"d.d.", got.String(), "damaged %s", &got)
}

// H.265 with recovery points alone: decoding begins at one, and pictures are called damaged
// until the camera says that they are whole.
func TestEntryH265(t *testing.T) {
	const point, after, frames = 4, 3, 12
	r := newTestReceiver(t, &format.H265{})
	enc, err := (&format.H265{}).CreateEncoder()
	require.NoError(t, err)
	prefixSEI := []byte{byte(h265.NALUType_PREFIX_SEI_NUT) << 1, 1}
	count := new(bitWriter).ue(2*after-1).u(2, 0b10).u(1, 1).align().out // se(v): 2n−1 is n
	var first [][]byte
	for i, p := range packets(t, codec.EncoderConfig{Codec: codec.H265, Width: 128, Height: 96, GOP: 100}, frames) {
		nalus := splitNALUs(p.Data)
		if i == 0 { // it never comes, but its parameter sets are sent again
			first = slices.DeleteFunc(nalus, func(n []byte) bool { return h265.NALUType(n[0]>>1) < h265.NALUType_VPS_NUT })
			continue
		}
		if i == point {
			nalus = slices.Concat(first, [][]byte{sei(prefixSEI, message(5, make([]byte, 300)...), message(seiRecoveryPoint, count...))}, nalus)
		}
		pkts, err := enc.Encode(nalus)
		require.NoError(t, err)
		for _, pkt := range pkts {
			pkt.Timestamp = uint32(i) * 3600
			r.handle(pkt)
		}
	}
	var got strings.Builder
	for len(r.units) > 0 {
		got.WriteByte(map[bool]byte{true: 'd', false: '.'}[(<-r.units).damaged])
	}
	if want := "ddd....."; got.String() != want {
		t.Errorf("units %q, want %q: those from the recovery point on, the first %d damaged", &got, want, after)
	}
}

// H.265 slices by hand: a picture whose slices are all intra is an entry, wherever its
// segments begin.
func TestEntryH265Slices(t *testing.T) {
	nalus := splitNALUs(packets(t, codec.EncoderConfig{Codec: codec.H265, Width: 320, Height: 192}, 1)[0].Data)
	var bits int
	slice := func(first bool, address, kind uint32) []byte {
		w := new(bitWriter)
		if first {
			w.u(1, 1).ue(0)
		} else {
			w.u(1, 0).ue(0).u(bits, address)
		}
		return w.ue(kind).u(24, 0xabcdef).nalu(1<<1, 1)
	}
	var params [][]byte
	var sps h265.SPS
	for _, n := range nalus {
		if typ := h265.NALUType(n[0] >> 1); typ >= h265.NALUType_VPS_NUT && typ <= h265.NALUType_PPS_NUT {
			params = append(params, n)
			if typ == h265.NALUType_SPS_NUT {
				require.NoError(t, sps.Unmarshal(n))
			}
		}
	}
	switch bits = segmentAddressBits(&sps); bits { // of 15 blocks of 64×64, 60 of 32×32 or 240 of 16×16
	case 4, 6, 8:
	default:
		t.Fatalf("%d bits of address", bits)
	}
	for _, tc := range []struct {
		name string
		au   [][]byte
		want bool
	}{
		{"I", [][]byte{slice(true, 0, 2)}, true},
		{"P", [][]byte{slice(true, 0, 1)}, false},
		{"I and I", [][]byte{slice(true, 0, 2), slice(false, 5, 2)}, true},
		{"I and P", [][]byte{slice(true, 0, 2), slice(false, 5, 1)}, false},
	} {
		tr, err := newTrack(nil, &format.H265{})
		require.NoError(t, err)
		if got := tr.entry(tc.au).ok; got {
			t.Errorf("%s: an entry without parameter sets", tc.name)
		}
		tr.entry(params)
		assert.Equal(t, tc.want, tr.entry(tc.au).ok, "%s: an entry", tc.name)
	}
}

// While nothing can be decoded, the error says what is waited for.
func TestSilenceNamesWhatIsWaitedFor(t *testing.T) {
	r := newTestReceiver(t, &format.H264{PacketizationMode: 1})
	for i := range uint32(312) {
		r.handle(h264Packet(uint16(i), i*3600, pcmSlice(typeP, i, 0, 0, 0)...))
	}
	err := r.silence(15 * time.Second)
	mustWrap(t, err, ErrStalled)
	for _, want := range []string{"no picture for 15s", "waits for a key frame: 312 access units came", "I-frame interval"} {
		assert.Contains(t, err.Error(), want, "does not say")
	}
	r.handle(h264Packet(312, 312*3600, sei([]byte{6}, recovery(500))...))
	r.handle(h264Packet(313, 313*3600, pcmSlice(typeP, 57, 0, 0, 0)...))
	if text := fmt.Sprint(r.silence(time.Second)); strings.Contains(text, "key frame:") || !strings.Contains(text, "whole after") {
		t.Errorf("after a recovery point: %q", text)
	}
}

// FuzzEntry looks for where to begin in hostile NAL units, parted by start codes. What is
// found does not depend on what else was asked, and the mark that segd adds is found.
func FuzzEntry(f *testing.F) {
	join := func(nalus ...[]byte) []byte { return (&track{id: codec.H264}).join(nil, nalus) }
	f.Add(false, join(pcmSPS, pcmPPS, pcmSlice(typeI, 3, 3, 0, 0)))
	f.Add(false, join(sei([]byte{6}, message(5, make([]byte, 300)...), recovery(20)), pcmSlice(typeP, 3, 3, 0, 0)))
	f.Add(false, join([]byte{6, 255, 255, 255}, []byte{6, 6, 255}, []byte{0x61, 0, 0, 3, 0}))
	f.Add(true, join(sei([]byte{39 << 1, 1}, message(seiRecoveryPoint, new(bitWriter).ue(9).u(3, 0b101).align().out...))))
	var h265 [][]byte
	for _, p := range packets(f, codec.EncoderConfig{Codec: codec.H265, Width: 64, Height: 64}, 2) {
		h265 = append(h265, splitNALUs(p.Data)...)
	}
	f.Add(true, join(h265...))
	f.Fuzz(func(t *testing.T, is265 bool, in []byte) {
		var fm format.Format = &format.H264{}
		if is265 {
			fm = &format.H265{}
		}
		tr, err := newTrack(nil, fm)
		require.NoError(t, err)
		var au [][]byte
		for n := range bytes.SplitSeq(in, []byte{0, 0, 0, 1}) {
			au = append(au, n)
		}
		tr.entry(au) // the parameter sets
		e := tr.entry(au)
		if again := tr.entry(au); again != e {
			t.Errorf("%+v, then %+v", e, again)
		}
		if e.refresh < 0 || e.refresh > maxRefresh || !e.ok && e != (entry{}) {
			t.Errorf("%+v", e)
		}
		if len(tr.params) > maxParams {
			t.Errorf("%d parameter sets", len(tr.params))
		}
		if marked := tr.entry(append(slices.Clone(au), markEntry)); !is265 && (!marked.ok || marked.unmarked) {
			t.Errorf("marked: %+v", marked)
		}
	})
}
