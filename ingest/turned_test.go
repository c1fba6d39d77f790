package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// still is a picture with everything a consumer is told of its shape.
type still struct {
	width, height int
	aspect        float64
	pix           []byte
}

// stills are the pictures of a source, as they are and as they are kept, which is the same.
func stills(t *testing.T, cfg Config, most int) (all []still) {
	t.Helper()
	s, err := Open(cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = s.Run(ctx, func(f *Frame) {
		defer f.Release()
		if len(all) == most {
			stop()
			return
		}
		k := f.Keep()
		defer k.Release()
		pix := make([]byte, len(f.Pix))
		if err := k.BGR(pix); err != nil || !bytes.Equal(pix, f.Pix) || k.Width != f.Width || k.Height != f.Height || k.PixelAspect != f.PixelAspect {
			t.Errorf("another picture is kept: %v", err)
		}
		all = append(all, still{f.Width, f.Height, f.PixelAspect, pix})
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return all
}

// Every source's pictures are turned as the configuration says, and have the aspect that it says.
func TestRotateAndAspect(t *testing.T) {
	const n = 4
	images := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=x")
		for i := 0; r.Context().Err() == nil; i++ {
			data := numberedJPEG(t, 128, 96, 5)
			fmt.Fprintf(w, "\r\n--x\r\nContent-Length: %d\r\n\r\n%s", len(data), data)
			http.NewResponseController(w).Flush()
		}
	})
	for _, url := range []string{"file:" + clipFile(t), "dir:" + imageDir(t, n), images} {
		cfg := testConfig(url, "")
		cfg.AsFast = true
		plain := stills(t, cfg, n)
		for _, rotate := range []int{90, 180, 270} {
			cfg.Rotate, cfg.Aspect = rotate, 0
			if rotate == 90 {
				cfg.Aspect = 1.5
			}
			turned := stills(t, cfg, n)
			if len(turned) != n || len(plain) != n {
				t.Fatalf("%s: %d pictures, and turned %d", url, len(plain), len(turned))
			}
			for i, got := range turned {
				want := still{plain[i].height, plain[i].width, 1, make([]byte, len(plain[i].pix))}
				if rotate == 180 {
					want.width, want.height = plain[i].width, plain[i].height
				}
				if rotate == 90 {
					want.aspect = 1.5 * 128 / 96 // of the picture that is 96 wide and 128 high
				}
				codec.RotateBGR(want.pix, plain[i].pix, plain[i].width, plain[i].height, rotate/90)
				if got.width != want.width || got.height != want.height || math.Abs(got.aspect-want.aspect) > 1e-9 || !bytes.Equal(got.pix, want.pix) {
					t.Errorf("%s, picture %d by %d degrees: %d×%d of %v, or other pixels", url, i, rotate, got.width, got.height, got.aspect)
				}
			}
		}
	}
}

// A JPEG lies as its EXIF orientation says, in a folder and of a web camera, and need not have Huffman tables. A file's
// display matrix and the rotation that is configured add up.
func TestSaysHowItLies(t *testing.T) {
	upright := numberedJPEG(t, 128, 96, 5)
	lying := bytes.Join([][]byte{upright[:2], []byte("\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"), upright[2:]}, nil)
	dht := bytes.Index(lying, []byte{0xff, 0xc4})
	tableless := bytes.Clone(lying)
	for dht >= 0 {
		n := 2 + int(tableless[dht+2])<<8 + int(tableless[dht+3])
		tableless = append(tableless[:dht], tableless[dht+n:]...)
		dht = bytes.Index(tableless, []byte{0xff, 0xc4})
	}
	dir := t.TempDir()
	write(t, dir, "a.jpg", lying)
	write(t, dir, "b.jpg", tableless)
	write(t, dir, "c.jpg", upright[:len(upright)/2])
	images := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=x")
		for r.Context().Err() == nil {
			fmt.Fprintf(w, "\r\n--x\r\nContent-Length: %d\r\n\r\n%s", len(lying), lying)
			http.NewResponseController(w).Flush()
		}
	})
	for _, tt := range []struct {
		url    string
		n      int
		rotate int
	}{{"dir:" + dir, 2, 0}, {images, 3, 0}, {"file:" + phone(t), 3, 0}, {"dir:" + dir, 2, 90}, {images, 3, 90}, {"file:" + phone(t), 3, 90}} {
		cfg := testConfig(tt.url, "")
		cfg.AsFast, cfg.Rotate = true, tt.rotate
		all := stills(t, cfg, tt.n)
		if len(all) != tt.n {
			t.Fatalf("%s: %d pictures, want %d", tt.url, len(all), tt.n)
		}
		for _, p := range all {
			width, height := 96, 128
			if tt.rotate == 90 {
				width, height = height, width
			}
			if p.width != width || p.height != height {
				t.Fatalf("%s by %d degrees: %d×%d, want %d×%d", tt.url, tt.rotate, p.width, p.height, width, height)
			}
			back := make([]byte, len(p.pix))
			codec.RotateBGR(back, p.pix, p.width, p.height, (270-tt.rotate)/90)
			assert.Equal(t, 5, number(&Frame{Width: 128, Height: 96, Pix: back}), "%s by %d degrees: picture", tt.url, tt.rotate)
		}
	}
}

// phone is a file of a video that is to be turned clockwise by a quarter.
func phone(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "phone.mp4")
	m, err := codec.CreateFile(path, codec.EncoderConfig{Width: 128, Height: 96, FPS: 10})
	require.NoError(t, err)
	for range 3 {
		err = errors.Join(err, m.BGR(numbered(128, 96, 5), 0))
	}
	require.NoError(t, errors.Join(err, m.Close()))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(data[bytes.Index(data, []byte("tkhd"))+44:], "\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestRotateAndAspectRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		"rotate 45; 0, 90, 180 and 270 are accepted": {URL: "dir:/d", Rotate: 45},
		"rotate -90;":                            {URL: "dir:/d", Rotate: -90},
		"aspect 17 is not between 1:16 and 16:1": {URL: "dir:/d", Aspect: 17},
		"aspect NaN":                             {URL: "dir:/d", Aspect: math.NaN()},
		"aspect -1":                              {URL: "dir:/d", Aspect: -1},
	} {
		_, err := Open(cfg)
		assert.ErrorContains(t, err, want)
	}
}
