//go:build e2e

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
)

// rtspCameras are the cameras' names and by what they are dialled. The relay has
// no UDP.
var rtspCameras = []struct{ name, path, transport string }{
	{"gst-h264", "/h264", "udp"},
	{"gst-bframes", "/bframes", "tcp"},
	{"gst-vp8", "/vp8", "auto"},
	{"gst-mjpeg", "/mjpeg", "udp"},
	{"ffmpeg-h264", "/h264", "tcp"},
	{"ffmpeg-h265", "/h265", "tcp"},
}

// gstreamer starts GStreamer's RTSP server and waits until it listens. It shows files, too.
func gstreamer(t *testing.T, addr string, files ...string) *harness.Process {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	// Debian's own, which has its packages.
	p := harness.Start(t, "gstreamer", "/usr/bin/python3", append([]string{"rtspserver.py", port}, files...)...)
	for { // as soon as it does: what follows is measured from there
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
			return p
		}
		select {
		case <-p.Exited:
			t.Fatal("rtspserver.py has ended")
		case <-t.Context().Done():
			t.Fatal(context.Cause(t.Context()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestRTSP(t *testing.T) {
	whole := t // the server outlives the part that starts it again
	gstAddr := harness.FreeAddrs(t, 1)[0]
	gst := gstreamer(t, gstAddr)
	relay := harness.StartRelay(t)
	harness.StartCamera(t, relay, "h264", harness.Video{})
	// As many pictures as x265 makes on a busy machine: reports would contradict each other
	// if it fell behind.
	harness.StartCamera(t, relay, "h265", harness.Video{Encoder: "libx265", Rate: 10})
	var text strings.Builder
	text.WriteString("superpixels: 100\nmodel: {short_side: 64}\ncameras:\n")
	for _, c := range rtspCameras {
		host := relay.Addr()
		if strings.HasPrefix(c.name, "gst-") {
			host = gstAddr
		}
		// On a busy machine encoders fall behind, and their RTP time with them: TestTimes is about that.
		fmt.Fprintf(&text, "  - {name: %s, url: 'rtsp://%s%s', transport: %s, clock: sender, detect: {off: true}}\n", c.name, host, c.path, c.transport)
	}
	s := harness.Run(t, text.String())
	for _, c := range rtspCameras {
		t.Run(fmt.Sprintf("masks of %s, over %s", c.name, c.transport), func(t *testing.T) {
			// Early is none; but FFmpeg's reports count from the moment its encoder gave the
			// first picture, for which x265 takes a second or two, and it catches up: its clock
			// is ahead by that. A wrong one is off by more; TestSenderClock in ingest holds one
			// that is right to a frame.
			early := 100 * time.Millisecond
			if !strings.HasPrefix(c.name, "gst-") {
				early = 10 * time.Second
			}
			masks, pts := listen(t, s, c.name), int64(-1)
			bounded(t, time.Minute, func(ctx context.Context) error {
				return masks.second(ctx, early, func(m *segdv1.MaskFrame) error {
					if m.GetWidth() != 640 || m.GetHeight() != 480 || pts >= 0 && m.GetPtsNs() <= pts {
						return fmt.Errorf("mask of %d×%d at %d ns after %d ns", m.GetWidth(), m.GetHeight(), m.GetPtsNs(), pts)
					}
					pts = m.GetPtsNs()
					return nil
				})
			})
		})
	}
	t.Run(fmt.Sprintf("GStreamer is killed, and found within %v of its return", found), func(t *testing.T) {
		camera := listen(t, s, "gst-h264")
		gst.End()
		bounded(t, time.Minute, func(ctx context.Context) error { return camera.down(ctx, "") })
		// Long enough that redialling has become slow.
		require.NoError(t, harness.Pause(t.Context(), 8*time.Second))
		if err := drain(t.Context(), camera.masks); err != nil { // segd may be quicker than the other client
			t.Fatal(err)
		}
		gst = gstreamer(whole, gstAddr)
		bounded(t, time.Minute, func(ctx context.Context) error {
			if err := watchable(ctx, "rtsp://"+gstAddr+"/h264"); err != nil {
				return err
			}
			back := time.Now()
			if _, err := camera.mask(ctx); err != nil {
				return err
			}
			if d := time.Since(back); d > found {
				return fmt.Errorf("the first mask came %v after another client had video of the server", d.Round(time.Millisecond))
			}
			return nil
		})
	})
}

// watchable waits until a client of its own has got video from a camera.
func watchable(ctx context.Context, address string) error {
	u, err := base.ParseURL(address)
	if err != nil {
		return err
	}
	tcp := gortsplib.ProtocolTCP
	c := &gortsplib.Client{Scheme: u.Scheme, Host: u.Host, Protocol: &tcp, ReadTimeout: time.Minute}
	if err := c.Start(); err != nil {
		return err
	}
	defer c.Close()
	desc, _, err := c.Describe(u)
	if err != nil {
		return err
	}
	if err := c.SetupAll(desc.BaseURL, desc.Medias); err != nil {
		return err
	}
	came := make(chan struct{})
	once := sync.OnceFunc(func() { close(came) })
	c.OnPacketRTPAny(func(m *description.Media, _ format.Format, _ *rtp.Packet) {
		if m.Type == description.MediaTypeVideo {
			once()
		}
	})
	if _, err := c.Play(nil); err != nil {
		return err
	}
	select {
	case <-came:
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), errors.New("waiting for video of "+address))
	}
}
