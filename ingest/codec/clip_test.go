package codec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/asticode/go-astiav"
	"github.com/stretchr/testify/require"
)

// solid returns a picture of one colour.
func solid(width, height int, b, g, r uint8) []byte {
	pix := make([]byte, 3*width*height)
	for i := 0; i < len(pix); i += 3 {
		pix[i], pix[i+1], pix[i+2] = b, g, r
	}
	return pix
}

// ramp returns a grey picture that brightens from left to right, with a bright
// bar at column bar.
func ramp(width, height, bar int) []byte {
	pix := make([]byte, 3*width*height)
	for y := range height {
		for x := range width {
			v := uint8(40 + 160*x/width)
			if x >= bar && x < bar+8 {
				v = 235
			}
			o := 3 * (y*width + x)
			pix[o], pix[o+1], pix[o+2] = v, v, v
		}
	}
	return pix
}

// encode returns n pictures of a moving bar as packets.
func encode(t testing.TB, cfg EncoderConfig, n int) []Packet {
	t.Helper()
	e, err := NewEncoder(cfg)
	require.NoError(t, err)
	defer e.Close()
	var out []Packet
	for i := range n {
		p, err := e.BGR(ramp(cfg.Width, cfg.Height, 8*i%cfg.Width), false)
		require.NoError(t, err)
		out = append(out, p...)
	}
	p, err := e.Flush()
	require.NoError(t, err)
	return append(out, p...)
}

func newDecoder(t testing.TB, id ID) *Decoder {
	t.Helper()
	d, err := NewDecoder(id)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// writeMPEGTS writes packets of fps pictures a second into an MPEG-TS file.
func writeMPEGTS(t testing.TB, packets []Packet, width, height, fps int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.ts")
	fc, err := astiav.AllocOutputFormatContext(nil, "mpegts", path)
	require.NoError(t, err)
	defer fc.Free()
	s := fc.NewStream(nil)
	par := s.CodecParameters()
	par.SetCodecID(astiav.CodecIDH264)
	par.SetMediaType(astiav.MediaTypeVideo)
	par.SetWidth(width)
	par.SetHeight(height)
	io, err := createFile(path)
	require.NoError(t, err)
	fc.SetPb(io)
	require.NoError(t, fc.WriteHeader(nil))
	pkt := astiav.AllocPacket()
	defer pkt.Free()
	for _, p := range packets {
		require.NoError(t, pkt.FromData(p.Data))
		pkt.SetPts(90000 * (p.PTS + 5) / int64(fps))
		pkt.SetDts(pkt.Pts())
		require.NoError(t, fc.WriteFrame(pkt))
		pkt.Unref()
	}
	require.NoError(t, fc.WriteTrailer())
	require.NoError(t, io.Close())
	return path
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}
