package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/nats-io/nats.go"
	"github.com/pion/rtp"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/scripts/process"
	"github.com/segd/segd/scripts/steps"
)

// found is within how long a camera that is back must show its first mask.
const found = 2 * time.Second

// rtspWorld is a segd that watches cameras of GStreamer and FFmpeg.
type rtspWorld struct {
	segd, script, dir string
	said              io.Writer
	gstAddr           string
	gstreamer, daemon *process.Process
	ffmpeg            []*process.Process
	relay             *relay
	conn              *nats.Conn
}

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

func (w *rtspWorld) steps() []steps.Step {
	out := []steps.Step{{Name: "GStreamer, FFmpeg and segd start", Do: w.begin}}
	for _, c := range rtspCameras {
		out = append(out, steps.Step{Name: fmt.Sprintf("masks of %s, over %s", c.name, c.transport), Do: func(ctx context.Context) error {
			return w.masks(ctx, c.name)
		}})
	}
	return append(out, steps.Step{Name: fmt.Sprintf("GStreamer is killed, and found within %v of its return", found), Do: w.killed})
}

func (w *rtspWorld) end() {
	if w.conn != nil {
		w.conn.Close()
	}
	for _, p := range append(w.ffmpeg, w.daemon, w.gstreamer) {
		if p != nil {
			p.End()
		}
	}
	if w.relay != nil {
		w.relay.end()
	}
}

func (w *rtspWorld) startGStreamer(ctx context.Context) (err error) {
	_, port, err := net.SplitHostPort(w.gstAddr)
	if err != nil {
		return err
	}
	// Debian's own, which has its packages.
	if w.gstreamer, err = process.Run(ctx, w.said, "/usr/bin/python3", w.script, port); err != nil {
		return err
	}
	for { // until it listens
		c, err := new(net.Dialer).DialContext(ctx, "tcp", w.gstAddr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-w.gstreamer.Exited:
			return fmt.Errorf("%s has ended; -v shows what it says", w.script)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *rtspWorld) startFFmpeg(ctx context.Context, url string, encoder ...string) error {
	args := append([]string{"-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=size=640x480:rate=25"}, encoder...)
	p, err := process.Run(ctx, w.said, "ffmpeg", append(args, "-g", "25", "-f", "rtsp", "-rtsp_transport", "tcp", url)...)
	if err == nil {
		w.ffmpeg = append(w.ffmpeg, p)
	}
	return err
}

func (w *rtspWorld) begin(ctx context.Context) error {
	addrs, err := process.FreeAddrs(ctx, 4)
	if err != nil {
		return err
	}
	w.gstAddr = addrs[0]
	if err := w.startGStreamer(ctx); err != nil {
		return err
	}
	if w.relay, err = startRelay(addrs[1]); err != nil {
		return err
	}
	if err := w.startFFmpeg(ctx, "rtsp://"+addrs[1]+"/h264", "-c:v", "libx264", "-preset", "ultrafast"); err != nil {
		return err
	}
	if err := w.startFFmpeg(ctx, "rtsp://"+addrs[1]+"/h265", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"); err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "http: {addr: '%s'}\nnats: {addr: '%s'}\nsuperpixels: 100\nmodel: {short_side: 64}\ncameras:\n", addrs[2], addrs[3])
	for _, c := range rtspCameras {
		host := addrs[1]
		if strings.HasPrefix(c.name, "gst-") {
			host = w.gstAddr
		}
		fmt.Fprintf(&text, "  - {name: %s, url: 'rtsp://%s%s', transport: %s}\n", c.name, host, c.path, c.transport)
	}
	config := filepath.Join(w.dir, "rtsp.yaml")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		return err
	}
	if w.daemon, err = process.Run(ctx, w.said, w.segd, "run", "-c", config); err != nil {
		return err
	}
	w.conn, err = connect(ctx, "nats://"+addrs[3])
	return err
}

// masks waits for a second of masks of a camera, the last of which knows the
// camera's clock, which is this machine's.
func (w *rtspWorld) masks(ctx context.Context, camera string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	sub, err := w.conn.SubscribeSync("segd.v1.home." + camera + ".mask")
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	var m segdv1.MaskFrame
	var pts int64
	for n := 1; n <= 25 || m.GetCaptureClock() != segdv1.CaptureClock_CAPTURE_CLOCK_SENDER_REPORT; n++ {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("%w after %d masks, the last by %v", err, n-1, m.GetCaptureClock())
		}
		if err := proto.Unmarshal(msg.Data, &m); err != nil {
			return err
		}
		if m.GetWidth() != 640 || m.GetHeight() != 480 || n > 1 && m.GetPtsNs() <= pts {
			return fmt.Errorf("mask of %d×%d at %d ns after %d ns", m.GetWidth(), m.GetHeight(), m.GetPtsNs(), pts)
		}
		pts = m.GetPtsNs()
	}
	// How late is a matter of how busy this machine is with encoding all these cameras.
	// Early is none; but FFmpeg's reports count from the moment its encoder gave the first
	// picture, for which x265 takes a second or two, and it catches up: its clock is ahead
	// by that. A wrong one is off by more; TestSenderClock in ingest holds one that is
	// right to a frame.
	early := 100 * time.Millisecond
	if !strings.HasPrefix(camera, "gst-") {
		early = 10 * time.Second
	}
	if d := m.GetPublishTime().AsTime().Sub(m.GetCaptureTime().AsTime()); d < -early || d > 30*time.Second {
		return fmt.Errorf("published %v after its capture", d)
	}
	return nil
}

// killed ends GStreamer's server for long enough that redialling has become slow.
func (w *rtspWorld) killed(ctx context.Context) error {
	const camera = "segd.v1.home.gst-h264."
	events, err := w.conn.SubscribeSync(camera + "event")
	if err != nil {
		return err
	}
	w.gstreamer.End()
	for down := false; !down; {
		msg, err := events.NextMsgWithContext(ctx)
		if err != nil {
			return err
		}
		var e segdv1.Event
		if err := proto.Unmarshal(msg.Data, &e); err != nil {
			return err
		}
		down = e.GetKind() == segdv1.EventKind_EVENT_KIND_CAMERA_DOWN
	}
	select {
	case <-time.After(8 * time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	masks, err := w.conn.SubscribeSync(camera + "mask") // segd may be quicker than the other client
	if err != nil {
		return err
	}
	if err := w.startGStreamer(ctx); err != nil {
		return err
	}
	if err := watchable(ctx, "rtsp://"+w.gstAddr+"/h264"); err != nil {
		return err
	}
	back := time.Now()
	if _, err := masks.NextMsgWithContext(ctx); err != nil {
		return err
	}
	if d := time.Since(back); d > found {
		return fmt.Errorf("the first mask came %v after another client had video of the server", d.Round(time.Millisecond))
	}
	return nil
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
		return context.Cause(ctx)
	}
}
