//go:build e2e

package interop

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/e2e/harness"
)

// TestOddRTSP watches cameras whose streams are right and yet not what most cameras send.
// FFmpeg has begun before segd comes: its only IDR picture is over by then.
func TestOddRTSP(t *testing.T) {
	restarts := filepath.Join(t.TempDir(), "restarts.mkv")
	// With more threads than one, FFmpeg writes restart markers; its own sender of RTP
	// would leave out where they are.
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=640x480:rate=25:duration=60",
		"-c:v", "mjpeg", "-q:v", "8", "-threads", "4", "-slices", "4", "-huffman", "default", "-pix_fmt", "yuvj420p", restarts).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	gst := harness.FreeAddrs(t, 1)[0]
	gstreamer(t, gst, restarts)
	relay := harness.StartRelay(t)
	harness.StartCamera(t, relay, "open", harness.Video{Args: []string{
		"-x264-params", "open-gop=1:ref=6:bframes=2:b-adapt=0:scenecut=0", "-bsf:v", "filter_units=remove_types=6"}})
	harness.StartCamera(t, relay, "refresh", harness.Video{Args: []string{"-x264-params", "intra-refresh=1"}})
	harness.StartCamera(t, relay, "wrapped", harness.Video{Encoder: "mjpeg", Width: 2560, Height: 1440, Rate: 5, Args: []string{"-q:v", "8"}})
	cameras := []struct {
		name, url, what string
		width, height   int32
	}{
		{"open", relay.Addr() + "/open", "H.264 of I pictures, and neither IDR nor recovery point", 640, 480},
		{"refresh", relay.Addr() + "/refresh", "H.264 whose pictures are renewed piece by piece", 640, 480},
		{"wrapped", relay.Addr() + "/wrapped", "MJPEG 2560 pixels wide, which FFmpeg says are 512", 2560, 1440},
		{"wide", gst + "/wide", "MJPEG 2560 pixels wide, which GStreamer says in the session description", 2560, 1440},
		{"restarts", gst + "/file", "MJPEG with restart markers", 640, 480},
	}
	var text strings.Builder
	text.WriteString("superpixels: 100\nmodel: {short_side: 64}\ncameras:\n")
	for _, c := range cameras {
		fmt.Fprintf(&text, "  - {name: %s, url: 'rtsp://%s', transport: tcp, detect: {off: true}}\n", c.name, c.url)
	}
	s := harness.Run(t, text.String())
	for _, c := range cameras {
		t.Run("masks of "+c.what, func(t *testing.T) {
			masks := listen(t, s, c.name)
			bounded(t, time.Minute, func(ctx context.Context) error {
				for range 10 {
					m, err := masks.mask(ctx)
					if err != nil {
						return err
					}
					if m.GetWidth() != c.width || m.GetHeight() != c.height {
						return fmt.Errorf("mask of %d×%d", m.GetWidth(), m.GetHeight())
					}
				}
				return nil
			})
		})
	}
}
