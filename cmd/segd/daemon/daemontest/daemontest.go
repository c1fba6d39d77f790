// Package daemontest has what tests of the daemon and of the commands show it: a red square over green.
package daemontest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
)

// Width, Height and FPS are those of the clips.
const Width, Height, FPS = 96, 64, 10

// MarkedAt is the frame of Pictures in which the square is where Annotation marks it.
const MarkedAt = 40

// Clip is two seconds of a red square moving over green.
var Clip = sync.OnceValues(func() (*demo.Clip, error) { return encode(2*FPS, FPS) })

// KeysApart is how far the key frames of RareKeys are apart. A box waits for one for 6 s before it takes a camera over.
const KeysApart = 4 * time.Second

// RareKeys is a clip with one key frame, in which the square comes and goes.
var RareKeys = sync.OnceValues(func() (*demo.Clip, error) {
	n := FPS * int(KeysApart/time.Second)
	return encode(n, n)
})

// encode makes a clip of frames with a key frame in every so many, in which the square goes there and back.
func encode(frames, gop int) (*demo.Clip, error) {
	cfg := codec.EncoderConfig{Width: Width, Height: Height, FPS: FPS, GOP: gop}
	return demo.Draw(cfg, frames, func(n int) []byte {
		at := n % (4 * FPS)
		return Picture(min(at, 4*FPS-at))
	})
}

// Picture has the square n pixels to the right.
func Picture(n int) []byte {
	pix := bytes.Repeat([]byte{40, 140, 30}, Width*Height)
	for y := 20; y < 44; y++ {
		for x := 10 + n; x < 34+n; x++ {
			copy(pix[3*(y*Width+x):], []byte{30, 20, 200})
		}
	}
	return pix
}

// Camera serves the clip at addr.
func Camera(t *testing.T, cfg demo.Config) *demo.Server {
	t.Helper()
	c, err := Clip()
	if err != nil {
		t.Fatal(err)
	}
	return Play(t, c, cfg)
}

// Play serves a clip.
func Play(t *testing.T, c *demo.Clip, cfg demo.Config) *demo.Server {
	t.Helper()
	s, err := demo.NewServer(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Annotation marks the square of the clip's frame 0.
const Annotation = `{"frame": 0, "width": 96, "height": 64,
	"objects": [{"id": 1, "label": "square", "scribbles": [{"width": 14, "points": [[22, 32]]}]}],
	"background": [{"width": 8, "points": [[5, 5], [90, 5], [90, 58], [5, 58], [5, 5]]}]}`

// Quick is the head of a configuration that costs little time a frame.
func Quick(http, nats string) string {
	return fmt.Sprintf("http: {addr: %q}\nnats: {addr: %q}\nsuperpixels: 96\nmodel: {short_side: 64}\n", http, nats)
}

// Pictures writes the clip's square, which goes there and back, to a folder, with noise
// that leaves the solver something to do.
func Pictures(t *testing.T, frames int) string {
	t.Helper()
	dir := t.TempDir()
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range frames {
		n := (i + MarkedAt) % (2 * MarkedAt)
		pix := Picture(min(n, 2*MarkedAt-n))
		img := image.NewRGBA(image.Rect(0, 0, Width, Height))
		for p := range Width * Height {
			grain := uint8(noise.IntN(50))
			bgr := pix[3*p:]
			img.SetRGBA(p%Width, p/Width, color.RGBA{bgr[2] + grain, bgr[1] + grain, bgr[0] + grain, 255})
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, img); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Value returns the value of a series in what /metrics said.
func Value(text, series string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
