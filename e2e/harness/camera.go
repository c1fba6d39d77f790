package harness

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Video is what a camera shows: FFmpeg's test picture. The zero value of a field means
// its default.
type Video struct {
	// Width and Height in pixels; 640×480.
	Width, Height int
	// Rate in frames a second; 25.
	Rate int
	// Keys is after how many frames there is a key frame; as many as there are in a second.
	Keys int
	// Encoder is FFmpeg's name of it; libx264.
	Encoder string
	// Args are more of FFmpeg's, for the encoder and what follows it.
	Args []string
	// Sound goes along with it.
	Sound bool
}

// args are FFmpeg's for publishing v to an RTSP URL.
func (v Video) args(url string) []string {
	rate, encoder := cmp.Or(v.Rate, 25), cmp.Or(v.Encoder, "libx264")
	args := []string{
		"-v", "error", "-nostdin", "-re",
		"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=%dx%d:rate=%d", cmp.Or(v.Width, 640), cmp.Or(v.Height, 480), rate),
	}
	if v.Sound {
		args = append(args, "-f", "lavfi", "-i", "sine", "-c:a", "aac")
	}
	args = append(args, "-c:v", encoder, "-g", strconv.Itoa(cmp.Or(v.Keys, rate)))
	switch encoder {
	case "libx264":
		args = append(args, "-preset", "ultrafast", "-tune", "zerolatency")
	case "libx265":
		args = append(args, "-preset", "ultrafast", "-x265-params", "log-level=none")
	case "mjpeg": // as RTP wants it: RFC 2435
		args = append(args, "-pix_fmt", "yuvj420p", "-huffman", "default")
	}
	args = append(args, v.Args...)
	return append(args, "-f", "rtsp", "-rtsp_transport", "tcp", url)
}

// Camera is an FFmpeg that publishes to a relay.
type Camera struct {
	*Process

	tb         testing.TB
	relay      *Relay
	name, path string
}

// StartCamera publishes v at /NAME of a relay until the test ends.
func StartCamera(tb testing.TB, relay *Relay, name string, v Video) *Camera {
	tb.Helper()
	c := &Camera{tb: tb, relay: relay, name: name, path: "/" + name}
	if err := c.Publish(tb.Context(), v); err != nil {
		tb.Fatal(err)
	}
	return c
}

// URL is where it can be watched.
func (c *Camera) URL() string { return "rtsp://" + c.relay.Addr() + c.path }

// cameraLimit is how long FFmpeg may take until it publishes.
const cameraLimit = 30 * time.Second

// Publish ends the FFmpeg that publishes, if there is one, and lets another publish v.
func (c *Camera) Publish(ctx context.Context, v Video) (err error) {
	if c.Process != nil {
		c.End()
	}
	if err := Wait(ctx, cameraLimit, "the relay to see "+c.name+" leave", func(context.Context) error {
		if c.relay.Has(c.path) {
			return fmt.Errorf("%s is still there", c.path)
		}
		return nil
	}); err != nil {
		return err
	}
	if c.Process, err = start(c.tb, c.name, exec.Command("ffmpeg", v.args(c.URL())...)); err != nil {
		return err
	}
	// Not by Wait: a test may measure how soon after this another thing happens.
	limit := time.After(cameraLimit)
	for !c.relay.Has(c.path) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.Exited:
			return fmt.Errorf("ffmpeg, camera %s, has ended: %w; it said: %s", c.name, c.Err(), c.said(logTail))
		case <-limit:
			return fmt.Errorf("ffmpeg, camera %s, publishes nothing after %v", c.name, cameraLimit)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
