package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/segd/segd/demo"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
)

func TestMain(m *testing.M) {
	dnn.ChildMain() // this binary is also the child that tries models
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main() // and segd itself, where a test wants a process
	}
	goleak.VerifyTestMain(m)
}

// output is a writer that can be read meanwhile.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command is a segd command line that runs.
type command struct {
	out, err output
	cancel   context.CancelFunc
	done     chan error
}

// start runs segd with args in this process, as main would.
func start(t *testing.T, args ...string) *command {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &command{cancel: cancel, done: make(chan error, 1)}
	go func() { c.done <- run(ctx, args, strings.NewReader(""), &c.out, &c.err) }()
	t.Cleanup(func() {
		cancel()
		c.wait(t, time.Minute)
	})
	return c
}

// wait returns the command's error.
func (c *command) wait(t *testing.T, most time.Duration) error {
	t.Helper()
	select {
	case err := <-c.done:
		c.done <- err
		return err
	case <-time.After(most):
		t.Errorf("the command has not ended after %v; it wrote\n%s%s", most, c.out.String(), c.err.String())
		return errors.New("not ended")
	}
}

// until waits for something to become true.
func until(t *testing.T, most time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain for %s", most, what)
		}
	}
}

// freeAddr is a loopback address nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// file writes text to a file of that name and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const clipWidth, clipHeight, clipFPS = 96, 64, 10

// clip is two seconds of a red square moving over green.
var clip = sync.OnceValues(func() (*demo.Clip, error) {
	cfg := codec.EncoderConfig{Width: clipWidth, Height: clipHeight, FPS: clipFPS}
	enc, err := codec.NewEncoder(cfg)
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	var packets []codec.Packet
	for n := range 2 * clipFPS {
		p, err := enc.BGR(picture(n), n%clipFPS == 0)
		if err != nil {
			return nil, err
		}
		packets = append(packets, p...)
	}
	p, err := enc.Flush()
	if err != nil {
		return nil, err
	}
	return demo.NewClip(cfg, append(packets, p...))
})

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
