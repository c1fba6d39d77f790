//go:build e2e

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// oddCameras are the cameras of oddserver.py, by RTSP and by HTTP.
var oddCameras = []struct{ name, url string }{
	{"sound", "rtsp://RTSP/sound"},
	{"udp-406", "rtsp://RTSP/406"},
	{"udp-noports", "rtsp://RTSP/noports"},
	{"udp-closed", "rtsp://RTSP/closed"},
	{"digest-md5", "rtsp://anna:s3cret@RTSP/md5"},
	{"digest-sha256", "rtsp://anna:s3cret@RTSP/sha256"},
	{"digest-session", "rtsp://anna:s3cret@RTSP/session"},
	{"snapshot", "snapshot+http://anna:s3cret@HTTP/snapshot"},
}

// Cameras that get RTSP and HTTP wrong have masks, and one whose password is wrong is told so.
func TestOddCameras(t *testing.T) {
	addrs := harness.FreeAddrs(t, 2)
	dir := t.TempDir()
	video, picture := filepath.Join(dir, "a.h264"), filepath.Join(dir, "a.jpg")
	const source = "testsrc=size=320x240:rate=25:duration=4"
	for _, args := range [][]string{
		{"-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "0", "-x264-params", "slice-max-size=1200:aud=1", video},
		{"-frames:v", "1", picture},
	} {
		args = append([]string{"-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", source}, args...)
		if out, err := exec.CommandContext(t.Context(), "ffmpeg", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	_, rtsp, _ := net.SplitHostPort(addrs[0])
	_, web, _ := net.SplitHostPort(addrs[1])
	server := harness.Start(t, "oddserver", "/usr/bin/python3", "oddserver.py", rtsp, web, video, picture)
	for _, addr := range addrs {
		harness.Until(t, time.Minute, "oddserver.py listens", func(ctx context.Context) error {
			select {
			case <-server.Exited:
				return errors.New("oddserver.py has ended")
			default:
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err == nil {
				_ = conn.Close()
			}
			return err
		})
	}
	var text strings.Builder
	text.WriteString("superpixels: 100\nmodel: {short_side: 64}\ncameras:\n")
	add := func(name, url, more string) {
		url = strings.NewReplacer("RTSP", addrs[0], "HTTP", addrs[1]).Replace(url)
		fmt.Fprintf(&text, "  - {name: %s, url: '%s', detect: {off: true}%s}\n", name, url, more)
	}
	for _, c := range oddCameras {
		add(c.name, c.url, "")
	}
	add("same", "snapshot+http://anna:s3cret@HTTP/same", ", fps: 10")
	add("wrong", "rtsp://anna:guess1@RTSP/md5", "")
	s := harness.Run(t, text.String())
	for _, c := range oddCameras {
		t.Run("masks of "+c.name, func(t *testing.T) {
			camera := listen(t, s, c.name)
			bounded(t, time.Minute, func(ctx context.Context) error {
				for n := range 5 {
					m, err := camera.mask(ctx)
					if err != nil {
						return fmt.Errorf("%w, after %d", err, n)
					}
					if m.GetWidth() != 320 || m.GetHeight() != 240 {
						return fmt.Errorf("a mask of %d×%d", m.GetWidth(), m.GetHeight())
					}
				}
				return nil
			})
		})
	}
	t.Run("an unchanged snapshot is no fault", func(t *testing.T) {
		camera := listen(t, s, "same")
		bounded(t, time.Minute, func(ctx context.Context) error {
			return s.Wait(ctx, time.Minute, "the camera is up", func(ctx context.Context) error {
				now, err := s.Metrics(ctx)
				if err == nil && now.Sum("segd_camera_up", "camera", "same") != 1 {
					err = errors.New("it is down")
				}
				return err
			})
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // twice the time in which others stall
		defer cancel()
		assert.Error(t, camera.down(ctx, ""), "the camera went down")
	})
	t.Run("a wrong password is said to be one", func(t *testing.T) {
		status, err := harness.Connect(t, s.NATS).SubscribeSync("segd.v1.home.wrong.status")
		require.NoError(t, err)
		bounded(t, time.Minute, func(ctx context.Context) error {
			for {
				msg, err := status.NextMsgWithContext(ctx)
				if err != nil {
					return why(ctx, err)
				}
				if strings.Contains(string(msg.Data), "wrong credentials") {
					return nil
				}
			}
		})
	})
}
