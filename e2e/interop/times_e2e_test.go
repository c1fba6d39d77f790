//go:build e2e

package interop

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/conn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
)

// retiming changes a packet of a camera's video, which is RTCP or RTP.
type retiming func(control bool, packet []byte)

const (
	rtpTime    = 4  // where the RTP time of a packet is
	reportTime = 16 // and that of a sender report
	report     = 200
)

// faster has RTP time run at another speed.
func faster(percent uint64) func() retiming {
	return func() retiming {
		var first, last uint32
		var since uint64
		begun := false
		return func(control bool, packet []byte) {
			if control {
				return
			}
			now := binary.BigEndian.Uint32(packet[rtpTime:])
			if !begun {
				begun, first, last = true, now, now
			}
			since += uint64(now - last)
			last = now
			binary.BigEndian.PutUint32(packet[rtpTime:], first+uint32(since*percent/100))
		}
	}
}

// strays has the RTP time of every 20th frame hours before that of its neighbours.
func strays() retiming {
	var last uint32
	frames := 0
	return func(control bool, packet []byte) {
		if control {
			return
		}
		now := binary.BigEndian.Uint32(packet[rtpTime:])
		if now != last {
			frames++
			last = now
		}
		if frames%20 == 10 {
			binary.BigEndian.PutUint32(packet[rtpTime:], now-9800*90000)
		}
	}
}

// reports0 has RTP time 0 in all sender reports.
func reports0() retiming {
	return func(control bool, packet []byte) {
		if control && packet[1] == report {
			binary.BigEndian.PutUint32(packet[reportTime:], 0)
		}
	}
}

// retimed returns the address of what passes on a camera's video over TCP, changed.
func retimed(t *testing.T, camera string, change func() retiming) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(ctx, "tcp", camera)
			if err != nil {
				_ = client.Close()
				continue
			}
			end := func() { _, _ = client.Close(), server.Close() }
			context.AfterFunc(ctx, end)
			running.Go(func() {
				defer end()
				_, _ = io.Copy(server, client)
			})
			running.Go(func() {
				defer end()
				_ = pass(server, client, change())
			})
		}
	})
	return l.Addr().String()
}

// pass passes on what a camera sends, changed, until there is no more.
func pass(camera, client net.Conn, change retiming) error {
	from, to := conn.NewConn(bufio.NewReader(camera), nil), conn.NewConn(nil, client)
	buf := make([]byte, 4+1<<16)
	for {
		what, err := from.Read()
		if err != nil {
			return err
		}
		switch what := what.(type) {
		case *base.Response:
			err = to.WriteResponse(what)
		case *base.InterleavedFrame:
			change(what.Channel%2 == 1, what.Payload)
			err = to.WriteInterleavedFrame(what, buf)
		}
		if err != nil {
			return err
		}
	}
}

// joined writes a file whose times jump an hour ahead and then back.
func joined(t *testing.T) string {
	t.Helper()
	var all []byte
	for i, offset := range []string{"0", "3600", "0"} {
		part := filepath.Join(t.TempDir(), fmt.Sprintf("%d.ts", i))
		out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=10", "-t", "3",
			"-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-output_ts_offset", offset, part).CombinedOutput()
		if err != nil {
			t.Fatalf("ffmpeg: %v: %s", err, out)
		}
		data, err := os.ReadFile(part)
		require.NoError(t, err)
		all = append(all, data...)
	}
	path := filepath.Join(t.TempDir(), "joined.ts")
	require.NoError(t, os.WriteFile(path, all, 0o600))
	return path
}

// Cameras whose RTP times and sender reports are wrong, and a file of parts: stream time
// runs as time passes, no capture time is far off, and segd is well all along.
func TestTimes(t *testing.T) {
	const sender, arrival, media = segdv1.CaptureClock_CAPTURE_CLOCK_SENDER_REPORT, segdv1.CaptureClock_CAPTURE_CLOCK_ARRIVAL, segdv1.CaptureClock_CAPTURE_CLOCK_MEDIA
	addr := harness.FreeAddrs(t, 1)[0]
	gstreamer(t, addr)
	cameras := []struct {
		name   string
		change func() retiming // nil: the file
		clock  segdv1.CaptureClock
	}{
		{"still", faster(0), arrival},
		{"double", faster(200), arrival},
		{"slower", faster(80), arrival},
		{"strays", strays, sender},
		{"reports", reports0, arrival},
		{"joined", nil, media},
	}
	text := "superpixels: 100\nmodel: {short_side: 64}\ncameras:\n"
	for _, c := range cameras {
		if c.change == nil {
			text += fmt.Sprintf("  - {name: %s, url: 'file:%s', loop: true, detect: {off: true}}\n", c.name, joined(t))
			continue
		}
		text += fmt.Sprintf("  - {name: %s, url: 'rtsp://%s/h264', transport: tcp, detect: {off: true}}\n", c.name, retimed(t, addr, c.change))
	}
	s := harness.Run(t, text)
	listening := make(map[string]bus)
	for _, c := range cameras {
		listening[c.name] = listen(t, s, c.name)
		bounded(t, time.Minute, func(ctx context.Context) error { _, err := listening[c.name].mask(ctx); return err })
	}
	for range 40 {
		require.NoError(t, harness.Pause(t.Context(), time.Second))
		_, err := harness.Get(t.Context(), s.Page+"livez")
		require.NoError(t, err)
	}
	log, err := os.ReadFile(s.Log)
	require.NoError(t, err)
	for _, c := range cameras {
		want := 0
		if c.clock == arrival {
			want = 1
		}
		found := regexp.MustCompile(`(RTP time does not run as time passes|reports contradict each other).* camera=`+c.name).FindAll(log, -1)
		assert.Len(t, found, want, "the log says %q of %s", found, c.name)
		t.Run(c.name, func(t *testing.T) {
			bounded(t, time.Minute, func(ctx context.Context) error { return timed(ctx, listening[c.name], c.clock) })
		})
	}
}

// timed sees whether the masks that have come of a camera have the times at which they came,
// the last by a clock.
func timed(ctx context.Context, b bus, clock segdv1.CaptureClock) error {
	const far = 7 * time.Second // the bound of what a report may say, and how long a mask takes
	n, _, err := b.masks.Pending()
	if err != nil || n < 50 {
		return errors.Join(err, fmt.Errorf("%d masks came in 40 s", n))
	}
	var first, last *segdv1.MaskFrame
	for range n {
		if last, err = b.mask(ctx); err != nil {
			return err
		}
		if first == nil {
			first = last
		}
		if d := last.GetPublishTime().AsTime().Sub(last.GetCaptureTime().AsTime()); d.Abs() > far {
			return fmt.Errorf("a mask was published %v after its capture, by %v", d, last.GetCaptureClock())
		}
	}
	came := last.GetPublishTime().AsTime().Sub(first.GetPublishTime().AsTime())
	if pts := time.Duration(last.GetPtsNs() - first.GetPtsNs()); (pts - came).Abs() > 2*time.Second {
		return fmt.Errorf("stream time rose by %v in %v", pts, came)
	}
	if last.GetCaptureClock() != clock {
		return fmt.Errorf("the last mask is by %v, want %v", last.GetCaptureClock(), clock)
	}
	return nil
}
