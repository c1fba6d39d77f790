package codec

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However many pictures of a decoder are kept, it decodes on, and they stay what they were when
// it is gone.
func TestKeptPicturesOutliveTheirDecoder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: every codec")
	}
	const n, width, height = 80, 320, 240
	for _, id := range []ID{H264, H265, MJPEG, VP8, VP9, AV1} {
		t.Run(id.String(), func(t *testing.T) {
			var packets []Packet
			if id == MJPEG {
				e, err := NewJPEGEncoder(width, height, width, height, 80)
				require.NoError(t, err)
				defer e.Close()
				for i := range n {
					data, err := e.Encode(ramp(width, height, 8*i%width))
					require.NoError(t, err)
					packets = append(packets, Packet{Data: data, PTS: int64(i)})
				}
			} else {
				packets = encode(t, EncoderConfig{Codec: id, Width: width, Height: height, FPS: 5}, n)
			}
			d, err := NewDecoder(id)
			require.NoError(t, err)
			var want [][]byte
			var kept []*Kept
			emit := func(p *Picture) {
				pix := make([]byte, 3*p.Width*p.Height)
				require.NoError(t, p.BGR(pix))
				k, err := p.Keep()
				require.NoError(t, err)
				want, kept = append(want, pix), append(kept, &k)
			}
			for _, p := range packets {
				require.NoError(t, d.Decode(p.Data, p.PTS, emit))
			}
			require.NoError(t, d.Flush(emit))
			d.Close()
			require.Len(t, kept, n, "pictures")
			got := make([]byte, 3*width*height)
			for i, k := range kept {
				require.NoError(t, k.BGR(got))
				if !bytes.Equal(got, want[i]) {
					t.Fatalf("picture %d is another one", i)
				}
				// 1.5 bytes a pixel, and what rows are padded with.
				if b := k.Bytes(); b < width*height*3/2 || b > width*height*2 {
					t.Errorf("%d bytes for %d pixels", b, width*height)
				}
				assert.Error(t, k.BGR(got[:9]), "a buffer of 9 bytes is large enough")
				k.Free()
			}
		})
	}
}
