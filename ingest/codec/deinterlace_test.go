package codec

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const barsWidth, barsHeight = 128, 96

// bars draws vertical bars that move to the right by four pixels a step.
func bars(step int) []byte {
	pix := make([]byte, 3*barsWidth*barsHeight)
	for i := range pix {
		if (i/3%barsWidth+400-4*step)/16%2 == 0 {
			pix[i] = 200
		}
	}
	return pix
}

// woven is a picture of two fields: its lower lines are of the step before the one of its upper lines.
func woven(step int) []byte {
	lower, pix := bars(step), bars(step+1)
	for y := 1; y < barsHeight; y += 2 {
		copy(pix[3*y*barsWidth:3*(y+1)*barsWidth], lower[3*y*barsWidth:])
	}
	return pix
}

// combed is how far the lines differ from the mean of the lines above and below, on average.
func combed(pix []byte) float64 {
	sum := 0
	const row = 3 * barsWidth
	for i := row; i < len(pix)-row; i++ {
		d := 2*int(pix[i]) - int(pix[i-row]) - int(pix[i+row])
		sum += max(d, -d)
	}
	return float64(sum) / float64(len(pix))
}

const interlacedPictures = 8

// interlaced returns pictures of two fields, or not, in H.264.
func interlaced(t *testing.T, fields bool) (out []Packet) {
	t.Helper()
	e, err := NewEncoder(EncoderConfig{Width: barsWidth, Height: barsHeight, Interlaced: fields, CRF: 5})
	require.NoError(t, err)
	defer e.Close()
	for i := range interlacedPictures {
		p, err := e.BGR(woven(2*i), false)
		require.NoError(t, err)
		out = append(out, p...)
	}
	return out
}

// What its stream calls interlaced loses its combs, in all the same number of pictures and times, if that is wanted;
// other pictures are deinterlaced on demand, and else not delayed.
func TestDeinterlace(t *testing.T) {
	const few, many = 8, 40 // combs
	for _, tc := range []struct {
		name       string
		fields     bool
		mode       Deinterlace
		combs      bool
		atOnce     int // pictures that have come before the last is flushed
		interlaced bool
	}{
		{"interlaced", true, "", false, interlacedPictures - 1, true},
		{"interlaced, auto", true, DeinterlaceAuto, false, interlacedPictures - 1, true},
		{"interlaced, off", true, DeinterlaceOff, true, interlacedPictures, false},
		{"called progressive", false, DeinterlaceAuto, true, interlacedPictures, false},
		{"called progressive, on", false, DeinterlaceOn, false, interlacedPictures - 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDecoder(t, H264)
			d.SetDeinterlace(tc.mode)
			n := 0
			see := func(p *Picture) {
				if p.PTS != int64(n) || p.Width != barsWidth || p.Height != barsHeight || p.Key != (n == 0) || p.Damaged {
					t.Errorf("picture %d: %d×%d at %d, key %v, damaged %v", n, p.Width, p.Height, p.PTS, p.Key, p.Damaged)
				}
				pix := make([]byte, 3*p.Width*p.Height)
				require.NoError(t, p.BGR(pix))
				if c := combed(pix); tc.combs && c < many || !tc.combs && c > few {
					t.Errorf("picture %d has combs of %.1f", n, c)
				}
				n++
			}
			for i, p := range interlaced(t, tc.fields) {
				require.NoError(t, d.Decode(p.Data, int64(i), see))
			}
			if n != tc.atOnce || d.Deinterlacing() != tc.interlaced {
				t.Errorf("%d pictures at once, want %d; deinterlacing %v", n, tc.atOnce, d.Deinterlacing())
			}
			if err := d.Flush(see); err != nil || n != interlacedPictures {
				t.Errorf("%d pictures in all, %v", n, err)
			}
		})
	}
}

// A change of size in the midst, or to progressive pictures, costs no picture.
func TestDeinterlaceChange(t *testing.T) {
	d := newDecoder(t, H264)
	var widths []int
	see := func(p *Picture) { widths = append(widths, p.Width) }
	for _, packets := range [][]Packet{interlaced(t, true), encode(t, EncoderConfig{Width: 64, Height: 64}, 3), interlaced(t, true), interlaced(t, false)} {
		for _, p := range packets {
			require.NoError(t, d.Decode(p.Data, p.PTS, see))
		}
	}
	require.NoError(t, d.Flush(see))
	require.Equal(t, 3*interlacedPictures+3, len(widths), "pictures")
	for i, w := range widths {
		assert.Equal(t, w == 64, i >= interlacedPictures && i < interlacedPictures+3, "picture %d is %d wide", i, w)
	}
}

// Pictures too small for the filter are left as they are.
func TestDeinterlaceTiny(t *testing.T) {
	d := newDecoder(t, MJPEG)
	d.SetDeinterlace(DeinterlaceOn)
	n := 0
	tiny, _ := encodeJPEG(t, gradient(16, 2), 16, 2, 16, 2, 90)
	if err := d.Decode(tiny, 0, func(*Picture) { n++ }); err != nil || n != 1 || d.Deinterlacing() {
		t.Errorf("%d pictures, %v, deinterlacing %v", n, err, d.Deinterlacing())
	}
}

// A file's interlaced pictures come out whole, all of them.
func TestDeinterlaceFile(t *testing.T) {
	var stream []byte
	for _, p := range interlaced(t, true) {
		stream = append(stream, p.Data...)
	}
	path := filepath.Join(t.TempDir(), "fields.h264")
	require.NoError(t, os.WriteFile(path, stream, 0o600))
	for mode, combs := range map[Deinterlace]bool{DeinterlaceAuto: false, DeinterlaceOff: true} {
		m, err := OpenFile(path)
		require.NoError(t, err)
		m.SetDeinterlace(mode)
		n, last := 0, int64(-1)
		for {
			p, err := m.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			pix := make([]byte, 3*p.Width*p.Height)
			require.NoError(t, p.BGR(pix))
			if c := combed(pix); (c > 20) != combs || p.PTS <= last {
				t.Errorf("%s: picture %d at %d has combs of %.1f", mode, n, p.PTS, c)
			}
			n, last = n+1, p.PTS
		}
		if n != interlacedPictures || m.Deinterlacing() == combs {
			t.Errorf("%s: %d pictures, deinterlacing %v", mode, n, m.Deinterlacing())
		}
		m.Close()
	}
}
