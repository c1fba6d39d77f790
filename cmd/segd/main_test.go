package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
)

func TestMain(m *testing.M) {
	dnn.ChildMain() // this binary is also the child that tries models
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main() // and segd itself, where a test wants a process
	}
	goleak.VerifyTestMain(m)
}

// start runs segd with args in this process, as main would.
func start(t *testing.T, args ...string) *clitest.Command {
	t.Helper()
	return clitest.Start(t, func(ctx context.Context, in io.Reader, out, err io.Writer) error { return run(ctx, args, in, out, err) })
}

const clipWidth, clipHeight, clipFPS = 96, 64, 10

// clip is two seconds of a red square moving over green.
var clip = sync.OnceValues(func() (*demo.Clip, error) { return encode(2*clipFPS, clipFPS) })

// keysApart is how far the key frames of rareKeys are apart. A box waits for one for 6 s before it takes a camera over.
const keysApart = 4 * time.Second

// rareKeys is a clip with one key frame, in which the square comes and goes.
var rareKeys = sync.OnceValues(func() (*demo.Clip, error) {
	n := clipFPS * int(keysApart/time.Second)
	return encode(n, n)
})

// encode makes a clip of frames with a key frame in every so many, in which the square goes there and back.
func encode(frames, gop int) (*demo.Clip, error) {
	cfg := codec.EncoderConfig{Width: clipWidth, Height: clipHeight, FPS: clipFPS, GOP: gop}
	return demo.Draw(cfg, frames, func(n int) []byte {
		at := n % (4 * clipFPS)
		return picture(min(at, 4*clipFPS-at))
	})
}

func picture(n int) []byte {
	pix := bytes.Repeat([]byte{40, 140, 30}, clipWidth*clipHeight)
	for y := 20; y < 44; y++ {
		for x := 10 + n; x < 34+n; x++ {
			copy(pix[3*(y*clipWidth+x):], []byte{30, 20, 200})
		}
	}
	return pix
}

// camera serves the clip at addr.
func camera(t *testing.T, cfg demo.Config) *demo.Server {
	t.Helper()
	c, err := clip()
	if err != nil {
		t.Fatal(err)
	}
	return play(t, c, cfg)
}

// play serves a clip.
func play(t *testing.T, c *demo.Clip, cfg demo.Config) *demo.Server {
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

// squareAnnotation marks the square of the clip's frame 0.
const squareAnnotation = `{"frame": 0, "width": 96, "height": 64,
	"objects": [{"id": 1, "label": "square", "scribbles": [{"width": 14, "points": [[22, 32]]}]}],
	"background": [{"width": 8, "points": [[5, 5], [90, 5], [90, 58], [5, 58], [5, 5]]}]}`

// quick is the head of a configuration that costs little time a frame.
func quick(http, nats string) string {
	return fmt.Sprintf("http: {addr: %q}\nnats: {addr: %q}\nsuperpixels: 96\nmodel: {short_side: 64}\n", http, nats)
}
