package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckSize(t *testing.T) {
	for _, tc := range []struct {
		width, height int
		want          error
	}{
		{1, 1, nil}, {7680, 4320, nil}, {8192, 4608, nil}, {4608, 8192, nil}, {6144, 6144, nil},
		{8192, 8192, ErrTooLarge}, {8193, 1, ErrTooLarge}, {16384, 16384, ErrTooLarge}, {1 << 40, 1 << 40, ErrTooLarge},
		{16, 256, nil}, {1, 400, ErrTooNarrow}, {8192, 16, ErrTooNarrow}, {100, 1601, ErrTooNarrow},
		{0, 10, ErrUndecodable}, {10, -1, ErrUndecodable},
	} {
		assert.ErrorIs(t, CheckSize(tc.width, tc.height), tc.want, "%d×%d", tc.width, tc.height)
	}
}

// announce16k makes the key frame's bytes say 16,000 pixels square or more.
var announce16k = map[ID]func(au []byte) []byte{
	H264: func([]byte) []byte { return append([]byte{0, 0, 0, 1}, hugeSPS(16384, 16384)...) },
	VP8: func(au []byte) []byte {
		binary.LittleEndian.PutUint16(au[6:], 16000)
		binary.LittleEndian.PutUint16(au[8:], 16000)
		return au
	},
	VP9: func(au []byte) []byte {
		// After 8 bits of header, 24 of sync code and 4 of colour: 16 and 16 of size.
		var w bitWriter
		for _, b := range au[:4] {
			w.bits(uint32(b), 8)
		}
		w.bits(uint32(au[4]>>4), 4)
		w.bits(16383, 16)
		w.bits(16383, 16)
		w.bits(uint32(au[8]&0xf), 4)
		return append(w.buf, au[9:]...)
	},
}

// A stream that announces an enormous picture is refused with the size named,
// and without memory of that size.
func TestAnnouncedSizes(t *testing.T) {
	for id, huge := range announce16k {
		t.Run(id.String(), func(t *testing.T) {
			au := append([]byte(nil), encode(t, EncoderConfig{Codec: id, Width: 64, Height: 64}, 1)[0].Data...)
			d := newDecoder(t, id)
			before := peakMB(t)
			err := d.Decode(huge(au), 0, func(*Picture) { t.Error("a picture came out") })
			if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "x16") {
				t.Errorf("got %v, want the size in it", err)
			}
			if rose := peakMB(t) - before; rose > 100 { // a picture of it takes 384 MiB
				t.Errorf("memory rose by %d MiB", rose)
			}
		})
	}
}

// An AV1 sequence header announces the largest picture of the stream.
func TestAnnouncedAV1(t *testing.T) {
	tu := encode(t, EncoderConfig{Codec: AV1, Width: 64, Height: 64}, 1)[0].Data
	assert.NoError(t, checkAnnounced(AV1, tu), "64×64")
	var w bitWriter
	w.bits(0, 3)      // profile
	w.bits(1, 1)      // still picture
	w.bits(1, 1)      // reduced header
	w.bits(8, 5)      // level
	w.bits(15, 4)     // bits of width - 1
	w.bits(15, 4)     // bits of height - 1
	w.bits(16383, 16) // width - 1
	w.bits(16383, 16) // height - 1
	w.bits(0, 3+3+2)  // tools; no superres, cdef, restoration
	w.bits(0, 16)     // colour, film grain
	header := append([]byte{0x0a, byte(len(w.buf))}, w.buf...)
	assert.ErrorIs(t, checkAnnounced(AV1, append([]byte{0x12, 0}, header...)), ErrTooLarge, "16384×16384")
	for n := range header { // cut short it is FFmpeg's to judge
		assert.NoError(t, checkAnnounced(AV1, header[:n]), "%d bytes", n)
	}
}

// Parameter sets without end do not pile up: FFmpeg keeps one of each id.
func TestEndlessParameterSets(t *testing.T) {
	key := encode(t, EncoderConfig{Width: 64, Height: 64}, 1)[0].Data
	var nalus h264.AnnexB
	require.NoError(t, nalus.Unmarshal(key))
	d := newDecoder(t, H264)
	send := func(au []byte) (pictures int) {
		_ = d.Decode(au, 0, func(*Picture) { pictures++ })
		return pictures
	}
	sets := func(n int) []byte {
		var au []byte
		for _, nalu := range [][]byte{nalus[0], nalus[1], hugeSPS(uint32(64+16*(n%400)), 64)} {
			au = append(append(au, 0, 0, 0, 1), nalu...)
		}
		return au
	}
	for n := range 2000 {
		send(sets(n))
	}
	before := peakMB(t)
	for n := range 20000 {
		send(sets(n))
	}
	if rose := peakMB(t) - before; rose > 20 {
		t.Errorf("memory rose by %d MiB in 20,000 access units of parameter sets", rose)
	}
	assert.Equal(t, 1, send(key), "pictures of a key frame after that")
}

// peakMB is the most memory the process ever had resident, in MiB.
func peakMB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kB int
	_, err = fmt.Sscan(rest, &kB)
	require.NoError(t, err)
	return kB >> 10
}
