package ingest

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

func TestV4L2URL(t *testing.T) {
	for url, want := range map[string]codec.CaptureConfig{
		"v4l2:/dev/video0":                                      {},
		"v4l2:///dev/video0":                                    {},
		"v4l2:/dev/video0?size=1280x720":                        {Width: 1280, Height: 720},
		"v4l2:/dev/video0?size=640x480&fps=30&format=mjpeg":     {Width: 640, Height: 480, FPS: 30, Format: "mjpeg"},
		"v4l2:/dev/video0?format=yuyv422":                       {Format: "yuyv422"},
		"v4l2:/dev/v4l/by-id/usb-046d_C920-video-index0?fps=15": {FPS: 15},
	} {
		s, err := Open(Config{URL: url})
		if err != nil {
			t.Errorf("url %q: %v", url, err)
		} else if s.capture != want || !strings.HasPrefix(s.Name(), "v4l2:/dev/v") {
			t.Errorf("url %q: %+v of %q, want %+v", url, s.capture, s.Name(), want)
		}
	}
	for url, words := range map[string]string{
		"v4l2:":                                  "is not the path of a device",
		"v4l2:video0":                            `"video0" is not the path`,
		"v4l2:/dev/video0?size=1280":             `size="1280"`,
		"v4l2:/dev/video0?size=1280x0":           `size="1280x0"`,
		"v4l2:/dev/video0?size=99999x720":        "99999x720, at most 8192",
		"v4l2:/dev/video0?fps=fast":              `fps="fast"`,
		"v4l2:/dev/video0?fps=5000":              "fps 5000; accepted: 1 to 1000",
		"v4l2:/dev/video0?format=gif":            `format "gif"; accepted: [mjpeg h264`,
		"v4l2:/dev/video0?fps=1&fps=2":           "fps is there 2 times",
		"v4l2:/dev/video0?colour=red&format=gif": `unknown "colour"`,
		"v4l2:/dev/video0?%zz":                   "invalid URL escape",
	} {
		_, err := Open(Config{URL: url})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("url %q: error %v does not say %q", url, err, words)
		}
	}
}

// What is no camera, each said in words; and it is asked again and again.
func TestV4L2Faults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for path, words := range map[string]string{
		"/dev/no-such-camera": "no such file or directory",
		file:                  "is not a device; accepted: such as /dev/video0",
		"/dev/null":           "/dev/null: it is no camera that captures video (inappropriate ioctl for device)",
	} {
		cfg := testConfig("v4l2:"+path, "")
		err := probe(t.Context(), cfg)
		mustWrap(t, err, codec.ErrCapture)
		if !strings.Contains(err.Error(), words) {
			t.Errorf("error %q does not say %q", err, words)
		}
		if path != "/dev/null" {
			continue
		}
		before := measureHeld(t)
		var buf lockedBuffer
		cfg.Logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w := start(t, cfg)
		eventually(t, "Down", func() bool { w.events.mu.Lock(); defer w.events.mu.Unlock(); return w.events.downs == 1 })
		time.Sleep(300 * time.Millisecond) // some ten attempts
		_ = w.stop()
		if n := strings.Count(buf.String(), "camera is down"); n != 1 {
			t.Errorf("%d lines:\n%s", n, buf.String())
		}
		eventually(t, "no more files open than before", func() bool { return measureHeld(t).files <= before.files })
	}
}

// emulated says that this process has the camera of testdata/v4l2.c.
const emulated = "SEGD_V4L2"

// A camera that answers as the kernel's do, emulated below FFmpeg: its pictures come
// in order, at its times and in the size asked for; pulled out and plugged in again,
// it goes on. No real device was at hand.
func TestV4L2(t *testing.T) {
	if os.Getenv(emulated) == "" {
		library := filepath.Join(t.TempDir(), "v4l2.so")
		if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-o", library, "testdata/v4l2.c", "-ldl").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		// A character device that nothing else opens.
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestV4L2$", "-test.v")
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, emulated+"=/dev/full", "SEGD_V4L2_FRAMES=12")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestV4L2") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	const width, height, each = 128, 96, 12
	w := start(t, testConfig(fmt.Sprintf("v4l2:/dev/full?size=%dx%d&fps=25&format=yuyv422", width, height), ""))
	frames := w.take(3 * each)
	for i, f := range frames {
		if f.number != i || f.Width != width || f.Height != height || f.Damaged || f.Clock != ClockArrival {
			t.Fatalf("frame %d shows picture %d: %+v", i, f.number, f.Frame)
		}
		if step := f.PTS - frames[max(i-1, 0)].PTS; i%each != 0 && (step-40*time.Millisecond).Abs() > 100*time.Microsecond {
			t.Errorf("frame %d comes %v after the last", i, step)
		}
	}
	e := &w.events
	_ = w.stop()
	if e.ups < 3 || e.reconnects != e.ups-1 || e.undecoded != 0 {
		t.Errorf("events: %+v", e)
	}
	mustWrap(t, e.lastDown, codec.ErrCapture)
	assert.Contains(t, e.lastDown.Error(), "no such device", "a camera that was pulled out is down because")
	cfg := testConfig("v4l2:/dev/full?format=mjpeg", "")
	time.Sleep(200 * time.Millisecond) // so that it is there again
	assert.ErrorContains(t, probe(t.Context(), cfg), `format "mjpeg"`, "a format that it does not have")
}
