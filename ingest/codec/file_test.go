package codec

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eachPicture calls f with the pictures of a file.
func eachPicture(t *testing.T, path string, f func(*Picture)) {
	t.Helper()
	m, err := OpenFile(path)
	require.NoError(t, err)
	defer m.Close()
	for {
		p, err := m.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		f(p)
	}
}

func readAll(t *testing.T, path string) (pts []time.Duration, last []byte) {
	t.Helper()
	eachPicture(t, path, func(p *Picture) {
		pts = append(pts, time.Duration(p.PTS))
		last = make([]byte, 3*p.Width*p.Height)
		require.NoError(t, p.BGR(last))
	})
	return pts, last
}

func TestFile(t *testing.T) {
	const n, fps = 20, 10
	packets := encode(t, EncoderConfig{Width: 96, Height: 64, FPS: fps}, n)
	var raw []byte
	for _, p := range packets {
		raw = append(raw, p.Data...)
	}
	for _, tc := range []struct {
		name, path string
		interval   time.Duration
	}{
		{"container with time stamps", writeMPEGTS(t, packets, 96, 64, fps), time.Second / fps},
		{"bare H.264", writeFile(t, "clip.h264", raw), time.Second / fps},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pts, last := readAll(t, tc.path)
			require.Len(t, pts, n, "pictures")
			for i, got := range pts {
				if want := time.Duration(i) * tc.interval; (got - want).Abs() > time.Millisecond {
					t.Errorf("picture %d at %v, want %v", i, got, want)
				}
			}
			// The bar of the last picture is where it was drawn.
			if x := 8*(n-1)%96 + 4; last[3*(32*96+x)] < 200 {
				t.Errorf("no bar at column %d of the last picture", x)
			}
		})
	}
}

func TestReorderedFile(t *testing.T) {
	packets := encode(t, EncoderConfig{Width: 96, Height: 64, FPS: 10, BFrames: 2}, 20)
	var raw []byte
	for _, p := range packets {
		raw = append(raw, p.Data...)
	}
	pts, _ := readAll(t, writeFile(t, "clip.h264", raw))
	require.Len(t, pts, 20, "pictures")
	for i := 1; i < len(pts); i++ {
		if pts[i] <= pts[i-1] {
			t.Fatalf("time stamps do not rise: %v", pts)
		}
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name, path, want string
	}{
		{"missing", filepath.Join(dir, "none.mp4"), "no such file"},
		{"directory", dir, "is a folder; accepted: a regular file"},
		{"URL", "http://127.0.0.1:1/x", "no such file"},
		{"text", writeFile(t, "a.txt", []byte("hello, this is no video at all\n")), "not a video file that is read"},
		{"empty", writeFile(t, "a.mp4", nil), "not a video file that is read"},
		{"sound only", writeFile(t, "a.wav", wav()), "not a video file that is read"},
		{"playlist", writeFile(t, "a.m3u8", []byte("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:1/a.ts\n#EXT-X-ENDLIST\n")), "not a video file that is read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := OpenFile(tc.path)
			if err == nil {
				m.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not say %q", err, tc.want)
			}
		})
	}
}

// wav is a tenth of a second of silence.
func wav() []byte {
	const n = 800
	h := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x20\x03\x00\x00")
	h[4], h[5] = byte((36+n)&0xff), byte((36+n)>>8)
	for range n {
		h = append(h, 0x80)
	}
	return h
}

func TestDemuxerClose(t *testing.T) {
	packets := encode(t, EncoderConfig{Width: 96, Height: 64}, 3)
	m, err := OpenFile(writeMPEGTS(t, packets, 96, 64, 25))
	require.NoError(t, err)
	if w, h := m.Size(); w != 96 || h != 64 {
		t.Errorf("size %dx%d", w, h)
	}
	m.Close()
	m.Close()
	_, err = m.Next()
	assert.ErrorIs(t, err, ErrClosed, "Next after Close")
}

// The encoder takes decoded pictures too.
func TestEncodePicture(t *testing.T) {
	packets := encode(t, EncoderConfig{Width: 96, Height: 64}, 4)
	d := newDecoder(t, H264)
	e, err := NewEncoder(EncoderConfig{Width: 96, Height: 64, CRF: 1})
	require.NoError(t, err)
	defer e.Close()
	n := 0
	for i, p := range packets {
		err := d.Decode(p.Data, 0, func(pic *Picture) {
			out, err := e.Picture(pic, i == 2)
			require.NoError(t, err)
			for _, o := range out {
				if o.PTS != int64(n) || o.Key != (i == 0 || i == 2) {
					t.Errorf("packet %d: PTS %d key %v", n, o.PTS, o.Key)
				}
				n++
			}
		})
		require.NoError(t, err)
	}
	assert.Equal(t, len(packets), n, "packets")
}

// A bound on the bit rate holds for pictures that nothing else would, whose pixels need not be square.
func TestMaxRate(t *testing.T) {
	const size, frames = 256, 50 // two seconds
	encoded := func(rate int) (bytes int) {
		e, err := NewEncoder(EncoderConfig{Width: size, Height: size, MaxRate: rate, PixelAspect: 4. / 3})
		require.NoError(t, err)
		defer e.Close()
		d, err := NewDecoder(H264)
		require.NoError(t, err)
		defer d.Close()
		noise, pix := rand.NewChaCha8([32]byte{}), make([]byte, 3*size*size)
		for range frames {
			_, _ = noise.Read(pix)
			packets, err := e.BGR(pix, false)
			if err != nil || len(packets) != 1 {
				t.Fatal(len(packets), err)
			}
			bytes += len(packets[0].Data)
			require.NoError(t, d.Decode(packets[0].Data, 0, func(p *Picture) {
				if math.Abs(p.PixelAspect-4./3) > 1e-3 {
					t.Fatalf("pixels are %v as wide as high", p.PixelAspect)
				}
			}))
		}
		return bytes
	}
	const rate = 1_000_000
	most := rate / 8 * (frames/25 + 1)
	if free, bounded := encoded(0), encoded(rate); free < 2*most || bounded > most {
		t.Errorf("%d bytes, with the bound %d; want at most %d", free, bounded, most)
	}
}

func TestEncoderErrors(t *testing.T) {
	for name, cfg := range map[string]EncoderConfig{
		"no size":     {},
		"odd width":   {Width: 63, Height: 64},
		"too large":   {Width: 10000, Height: 64},
		"not encoded": {Width: 64, Height: 64, Codec: MJPEG},
	} {
		if e, err := NewEncoder(cfg); err == nil {
			e.Close()
			t.Errorf("%s: no error", name)
		}
	}
	e, err := NewEncoder(EncoderConfig{Width: 64, Height: 64})
	require.NoError(t, err)
	_, err = e.BGR(make([]byte, 5), false)
	assert.Error(t, err, "BGR took 5 bytes for a picture")
	e.Close()
	e.Close()
	_, err = e.BGR(nil, false)
	assert.ErrorIs(t, err, ErrClosed, "BGR after Close")
}
