//go:build e2e

package interop

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/e2e/harness"
)

// ffmpeg makes a file in dir and returns its path.
func ffmpeg(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append(append([]string{"-v", "error", "-y"}, args...), path)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg makes %s: %v\n%s", name, err, out)
	}
	return path
}

// Pictures are shown as they are meant to be seen, by what FFmpeg's files say of it and by what the configuration
// says of a camera: turned upright, with the aspect of their pixels, of the track that is a video.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	video := []string{"-f", "lavfi", "-i", "testsrc2=s=320x240:r=10:d=3", "-c:v", "libx264", "-preset", "ultrafast"}
	plain := ffmpeg(t, dir, "plain.mp4", video...)
	cover := ffmpeg(t, dir, "cover.png", "-f", "lavfi", "-i", "testsrc2=s=64x64", "-frames:v", "1")
	sound := []string{"-f", "lavfi", "-i", "sine=d=3"}
	relay := harness.StartRelay(t)
	harness.StartCamera(t, relay, "live", harness.Video{})
	cameras := []struct {
		name, url, more string
		width, height   int32
		aspect          float64
	}{
		{"phone", ffmpeg(t, dir, "phone.mp4", "-i", plain, "-c", "copy", "-metadata:s:v:0", "rotate=90"), "", 240, 320, 1},
		{"upside-down", ffmpeg(t, dir, "down.mov", "-i", plain, "-c", "copy", "-metadata:s:v:0", "rotate=180"), "", 320, 240, 1},
		{"phone-turned", filepath.Join(dir, "phone.mp4"), ", rotate: 270", 320, 240, 1},
		{"recorder", ffmpeg(t, dir, "recorder.mkv", "-i", plain, "-c:v", "libx264", "-s", "120x240", "-aspect", "4:3"), "", 120, 240, 8.0 / 3},
		{"transport", ffmpeg(t, dir, "recorder.ts", "-i", filepath.Join(dir, "recorder.mkv"), "-c", "copy"), "", 120, 240, 8.0 / 3},
		{"recorder-turned", filepath.Join(dir, "recorder.mkv"), ", rotate: 90", 240, 120, 3.0 / 8},
		{"said", plain, ", aspect: 16:9", 320, 240, 4.0 / 3},
		{"covered", ffmpeg(t, dir, "covered.mp4", "-i", cover, "-i", plain, "-map", "0", "-map", "1", "-c", "copy", "-disposition:v:0", "attached_pic"), "", 320, 240, 1},
		{"covered-mkv", ffmpeg(t, dir, "covered.mkv", "-i", plain, "-c", "copy", "-attach", cover, "-metadata:s:t", "mimetype=image/png"), "", 320, 240, 1},
		{"still-first", ffmpeg(t, dir, "still.mkv", "-i", cover, "-i", plain, "-map", "0", "-map", "1", "-c:v", "libx264", "-pix_fmt", "yuv420p"), "", 320, 240, 1},
		{"not-default", ffmpeg(t, dir, "default.mkv", "-i", plain, "-i", plain, "-map", "0", "-map", "1", "-c:v:0", "copy", "-c:v:1", "libx264", "-s:v:1", "160x120", "-disposition:v:0", "0", "-disposition:v:1", "default"), "", 160, 120, 1},
		{"live", "rtsp://" + relay.Addr() + "/live", ", transport: tcp, rotate: 90, aspect: 3:4", 480, 640, 1},
	}
	album := ffmpeg(t, dir, "album.m4a", append(sound, "-i", cover, "-map", "0", "-map", "1", "-c:a", "aac", "-c:v", "copy", "-disposition:v:0", "attached_pic")...)
	var text strings.Builder
	text.WriteString("superpixels: 100\nmodel: {short_side: 64}\ncameras:\n")
	for _, c := range cameras {
		loop := ", loop: true"
		if strings.Contains(c.url, "://") {
			loop = ""
		}
		fmt.Fprintf(&text, "  - {name: %s, url: '%s', detect: {off: true}%s%s}\n", c.name, c.url, loop, c.more)
	}
	fmt.Fprintf(&text, "  - {name: album, url: '%s', detect: {off: true}}\n", album)
	s := harness.Run(t, text.String())
	for _, c := range cameras {
		t.Run(c.name, func(t *testing.T) {
			masks := listen(t, s, c.name)
			bounded(t, time.Minute, func(ctx context.Context) error {
				for range 15 { // more than a cover has
					m, err := masks.mask(ctx)
					if err != nil {
						return err
					}
					if m.GetWidth() != c.width || m.GetHeight() != c.height || math.Abs(m.GetPixelAspect()-c.aspect) > 0.01 {
						return fmt.Errorf("masks of %d×%d, pixels %.3f times as wide as high; want %d×%d and %.3f",
							m.GetWidth(), m.GetHeight(), m.GetPixelAspect(), c.width, c.height, c.aspect)
					}
				}
				return nil
			})
		})
	}
	t.Run("a cover alone", func(t *testing.T) {
		bounded(t, time.Minute, func(ctx context.Context) error {
			return s.Wait(ctx, time.Minute, "why there is no picture of a cover", func(ctx context.Context) error {
				answer, err := harness.Get(ctx, s.Page+"api/v1/cameras")
				if err == nil && !strings.Contains(string(answer), "such as a cover") {
					err = fmt.Errorf("the API says %s", answer)
				}
				return err
			})
		})
	})
}
