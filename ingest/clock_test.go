package ingest

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A camera whose clock is known and not this machine's: capture times are by it,
// to less than a frame, however unevenly the frames arrive and although RTP time
// wraps in between; without sender reports, or before a clock that is hours off is
// confirmed, they are the times of arrival. Each frame says which.
func TestCaptureTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: cameras on real clocks")
	}
	const step, wrapAt = 20 * time.Millisecond, 15
	for _, tc := range []struct {
		name    string
		offset  time.Duration // of the camera's clock
		reports bool
		setting string
		frames  int
		want    Clock
		by      int // the frame from which on it is that
	}{
		{"a little ahead", 3 * time.Second, true, "auto", 40, ClockSenderReport, 20},
		{"ahead", 83 * time.Minute, true, "", 250, ClockSenderReport, 230},
		{"behind", -7 * time.Hour, true, "sender", 250, ClockSenderReport, 230},
		{"not asked for", 3 * time.Second, true, "arrival", 40, ClockArrival, 0},
		{"no reports", 83 * time.Minute, false, "auto", 40, ClockArrival, 0},
		{"never set", -20 * 365 * 24 * time.Hour, true, "auto", 40, ClockArrival, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cam := serveRawBy(t, &gortsplib.Server{DisableRTCPSenderReports: !tc.reports}, h264Media())
			cfg := testConfig(cam.url(), "tcp")
			cfg.Clock = tc.setting
			sent := packets(t, clipConfig, tc.frames)
			w := start(t, cfg)
			cam.player()
			began := time.Now().Add(tc.offset)
			ticks := func(i int) uint32 { return uint32(i-wrapAt) * uint32(step*ticksPerSecond/time.Second) }
			for i, p := range sent {
				if i == 220 { // the server's own second one comes too late for a test
					cam.report(began.Add(time.Duration(i)*step), ticks(i))
				}
				pkts, err := cam.pack.Encode(splitNALUs(p.Data))
				require.NoError(t, err)
				for _, pkt := range pkts {
					pkt.Timestamp = ticks(i)
					require.NoError(t, cam.stream.WritePacketRTPWithNTP(cam.media, pkt, began.Add(time.Duration(i)*step)))
				}
				time.Sleep(time.Duration(i*7%40) * time.Millisecond)
			}
			for i, f := range w.take(tc.frames) {
				require.Equal(t, i, f.number, "frame %d shows picture", i)
				switch f.Clock {
				case ClockArrival:
					if f.Captured != f.Received || tc.want != ClockArrival && i > tc.by {
						t.Errorf("frame %d: captured %v by %v, received %v", i, f.Captured, f.Clock, f.Received)
					}
				case tc.want:
					if taken := began.Add(time.Duration(i) * step); f.Captured.Sub(taken).Abs() >= step {
						t.Errorf("frame %d: captured %v after it was taken", i, f.Captured.Sub(taken))
					}
				default:
					t.Errorf("frame %d: captured by %v, want %v", i, f.Clock, tc.want)
				}
			}
			_ = w.stop()
			if n := len(w.events.offsets); (n > 0) != (tc.want == ClockSenderReport) {
				t.Errorf("the camera's offset was told %d times", n)
			}
			for _, d := range w.events.offsets { // how late it came is in it
				if late := tc.offset - d; late < -time.Second || late > patience {
					t.Errorf("offset %v, the clock is %v off", d, tc.offset)
				}
			}
		})
	}
}

// A camera whose RTP time stands still is timed by arrival, which is logged once; unless it
// is to be followed.
func TestRTPTimeStandsStill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 13 s: cameras on real clocks")
	}
	for _, tc := range []struct {
		setting string
		lines   int
		arrival bool
	}{{"auto", 1, true}, {"sender", 0, false}, {"arrival", 0, true}} {
		t.Run(tc.setting, func(t *testing.T) {
			t.Parallel()
			cam := serveRaw(t, h264Media())
			var buf lockedBuffer
			cfg := testConfig(cam.url(), "tcp")
			cfg.Clock, cfg.Logger = tc.setting, slog.New(slog.NewTextHandler(&buf, nil))
			clip := packets(t, clipConfig, clipFrames)
			w := start(t, cfg)
			cam.player()
			const frames = 120
			for i := range frames {
				cam.ticks = 0
				cam.send(clip[i%clipFrames].Data)
				time.Sleep(100 * time.Millisecond)
			}
			got := w.take(frames)
			_ = w.stop()
			last := got[frames-1]
			came, off := last.Received.Sub(got[0].Received), last.PTS-last.Received.Sub(got[0].Received)
			assert.Equal(t, tc.arrival, off.Abs() < time.Second, "after %v stream time is %v", came, last.PTS)
			if n := strings.Count(buf.String(), "does not run as time passes"); n != tc.lines || n > 0 && !strings.Contains(buf.String(), "speed=0") {
				t.Errorf("%d lines, want %d:\n%s", n, tc.lines, buf.String())
			}
		})
	}
}
