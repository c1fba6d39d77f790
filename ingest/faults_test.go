package ingest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/pause"
)

// hugeSPS is an H.264 sequence parameter set of 20000×12000 pixels, baseline
// profile, level 5.1.
var hugeSPS = []byte{0x67, 0x42, 0x00, 0x33, 0xda, 0x00, 0x13, 0x88, 0x01, 0x77, 0x64}

func audioMedia() *description.Media {
	return &description.Media{Type: description.MediaTypeAudio, Formats: []format.Format{&format.Opus{PayloadTyp: 97, ChannelCount: 2}}}
}

// A camera that has no UDP is read over TCP when the transport is left open,
// and its sound is left alone.
func TestAutoWithoutUDP(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, audioMedia(), h264Media())
	w := start(t, testConfig(cam.url(), "auto"))
	cam.player()
	for _, p := range packets(t, clipConfig, 3) {
		cam.send(p.Data)
	}
	w.take(3)
	_ = w.stop()
	if w.events.downs != 0 {
		t.Errorf("events: %+v", &w.events)
	}
	err := probe(context.Background(), testConfig(cam.url(), "udp"))
	mustWrap(t, err, ErrTransport)
	assert.Contains(t, err.Error(), "auto, tcp or multicast", "error %q does not say what can be tried", err)
}

// A lost packet costs its access unit, is counted, and the next key frame is
// whole.
func TestPacketLoss(t *testing.T) {
	t.Parallel()
	// Noise does not compress, so an access unit is several packets.
	cfg := codec.EncoderConfig{Width: 320, Height: 240, FPS: 50, GOP: 5, CRF: 5}
	enc, err := codec.NewEncoder(cfg)
	require.NoError(t, err)
	defer enc.Close()
	cam := serveRaw(t, h264Media())
	w := start(t, testConfig(cam.url(), "tcp"))
	cam.player()
	const frames, hurt = 15, 6
	for i := range frames {
		pix := numbered(cfg.Width, cfg.Height, i)
		noise := uint32(i + 1)
		for j := len(pix) / 2; j < len(pix); j++ {
			noise = noise*1664525 + 1013904223
			pix[j] = byte(noise >> 24)
		}
		ps, err := enc.BGR(pix, false)
		if err != nil || len(ps) != 1 {
			t.Fatalf("%d packets, %v", len(ps), err)
		}
		if i == hurt {
			cam.dropNext = 2 // not the first and not the last packet of the unit
		}
		cam.send(ps[0].Data)
	}
	require.Equal(t, 0, cam.dropNext, "no packet was dropped")
	whole := map[int]bool{}
	for !whole[frames-1] {
		if f := w.next(); !f.Damaged {
			whole[f.number] = true
		}
	}
	_ = w.stop()
	if w.events.undecoded == 0 {
		t.Error("the lost access unit was not counted")
	}
	for _, n := range []int{0, 5, 10, 11, 12, 13, 14} {
		if !whole[n] {
			t.Errorf("picture %d did not come out whole", n)
		}
	}
	if w.events.downs != 0 {
		t.Errorf("events: %+v", &w.events)
	}
}

// A camera that announces pictures too large to decode is refused with the
// reason, not just as silent.
func TestTooLargeCamera(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, h264Media())
	done := make(chan error, 1)
	cfg := testConfig(cam.url(), "tcp")
	cfg.StallTimeout = time.Second
	go func() { done <- probe(context.Background(), cfg) }()
	cam.player()
	cam.sendNALUs([][]byte{hugeSPS, {0x68, 0xce, 0x38, 0x80}, {0x65, 0x88, 0x84, 0x21}})
	err := <-done
	mustWrap(t, err, codec.ErrTooLarge)
	mustWrap(t, err, ErrStalled)
	assert.Contains(t, err.Error(), "20000x12000", "error %q does not name the size", err)
}

// What is logged about a camera that is down: one line for the many attempts,
// without the password.
func TestLogs(t *testing.T) {
	t.Parallel()
	gone := serve(t, clip(t, clipConfig), demo.Config{})
	gone.Close()
	var buf lockedBuffer
	cfg := testConfig("rtsp://admin:s3cret@"+address(gone)+"/demo", "tcp")
	cfg.Logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := start(t, cfg)
	e := &w.events
	eventually(t, "many attempts", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.retries) >= 15 })
	mustWrap(t, w.stop(), context.Canceled)
	text := buf.String()
	assert.Equal(t, 1, strings.Count(text, "\n"), "lines:\n%s", text)
	for _, want := range []string{"camera=test", "camera is down", "connection refused", "rtsp://xxxxx@"} {
		assert.Contains(t, text, want, "log does not say %q", want)
	}
	assert.NotContains(t, text, "s3cret", "log shows the password")
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Sound and packets of video that cannot be decoded go on while pictures stop
// coming: the watch is on pictures, so the camera is redialled.
func TestPicturesVanish(t *testing.T) {
	t.Parallel()
	audio := audioMedia()
	cam := serveRaw(t, audio, h264Media())
	cfg := testConfig(cam.url(), "tcp")
	cfg.StallTimeout = time.Second
	w := start(t, cfg)
	ps := packets(t, clipConfig, 4)
	cam.player()
	for _, p := range ps {
		cam.send(p.Data)
	}
	w.take(len(ps))

	stop := make(chan struct{})
	var noise sync.WaitGroup
	noise.Go(func() {
		for n := uint16(0); ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			sound := &rtp.Packet{Header: rtp.Header{Version: 2, PayloadType: 97, SequenceNumber: n, SSRC: 5}, Payload: []byte{0xf8, 0xff, 0xfe}}
			assert.NoError(t, cam.stream.WritePacketRTP(audio, sound))
			cam.sendNALUs([][]byte{{0x41, 0xff, 0xff, 0x00, 0x13}})
		}
	})
	e := &w.events
	eventually(t, "Down although much is sent", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs == 1 })
	cam.player()
	close(stop)
	noise.Wait()
	eventually(t, "pictures again", func() bool {
		for _, p := range ps {
			cam.send(p.Data)
		}
		time.Sleep(20 * time.Millisecond)
		return len(w.frames) > 0
	})
	w.take(len(ps))
	_ = w.stop()
	mustWrap(t, w.events.lastDown, ErrStalled)
	if w.events.ups != 2 || w.events.downs != 1 || w.events.reconnects != 1 || w.events.undecoded == 0 {
		t.Errorf("events: %+v", &w.events)
	}
}

// address is the host and port that s listens on.
func address(s *demo.Server) string {
	return strings.TrimSuffix(strings.TrimPrefix(s.URL(), "rtsp://"), demo.Path)
}

// A camera whose password is another one for a while is up again once it is the
// right one.
func TestWrongPasswordThenRight(t *testing.T) {
	t.Parallel()
	c := clip(t, clipConfig)
	wrong, right := demo.Config{User: "admin", Password: "guess1"}, demo.Config{User: "admin", Password: "s3cret"}
	s := serve(t, c, wrong)
	wrong.Addr, right.Addr = address(s), address(s)
	cfg := testConfig(strings.Replace(s.URL(), "//", "//admin:s3cret@", 1), "tcp")
	cfg.minRefused, cfg.maxRefused = cfg.minBackoff, cfg.maxBackoff
	w := start(t, cfg)
	e := &w.events
	eventually(t, "Down", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs == 1 })
	mustWrap(t, e.lastDown, ErrUnauthorized)
	s.Close()

	s = serve(t, c, right)
	w.take(5)
	s.Close()
	s = serve(t, c, wrong)
	eventually(t, "Down again", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs == 2 })
	s.Close()
	serve(t, c, right)
	eventually(t, "Reconnect", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.reconnects == 1 })
	w.take(5)
	_ = w.stop()
	if e.ups != 2 || e.downs != 2 || e.reconnects != 1 || len(e.retries) < 2 {
		t.Errorf("events: %+v", e)
	}
	for _, pause := range e.retries {
		if pause <= 0 || pause > testConfig("", "").maxBackoff {
			t.Errorf("told of a pause of %v", pause)
		}
	}
}

// By default a camera that is back is dialled within a second of that, whether it
// refused until then or said nothing, which leaves another for its key frame; and a
// dead one is not dialled all the time.
func TestRedialIsPrompt(t *testing.T) {
	s, err := Open(Config{URL: "rtsp://192.0.2.1/x"})
	require.NoError(t, err)
	const prompt, busy = time.Second, 500 * time.Millisecond
	b := pause.Growing(s.cfg.minBackoff, s.cfg.maxBackoff)
	var longest, sum time.Duration
	const n = 1000
	for range n {
		d := b.NextBackOff()
		longest, sum = max(longest, d), sum+d
	}
	if longest > prompt || dialAgain > prompt || leastDoubt > prompt {
		t.Errorf("waits of up to %v after a refusal, %v after no answer, %v after the last picture", longest, dialAgain, leastDoubt)
	}
	if sum/n < busy || dialAgain < busy {
		t.Errorf("a dead camera is dialled every %v or %v", sum/n, dialAgain)
	}
}

// A camera that accepts connections and says nothing is dialled again beside the
// dials there are, of which there are few at a time.
func TestSilentDials(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	var mu sync.Mutex
	open, most, dials := 0, 0, 0
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			dials++
			open++
			most = max(most, open)
			mu.Unlock()
			go func() {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c) // until it is given up
				mu.Lock()
				open--
				mu.Unlock()
			}()
		}
	}()
	cfg := testConfig("rtsp://"+silent.Addr().String()+"/x", "tcp")
	cfg.StallTimeout = 10 * patience
	w := start(t, cfg)
	eventually(t, "more dials than there may be at a time", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return dials > maxAttempts+1
	})
	_ = w.stop()
	eventually(t, "every connection closed", func() bool { mu.Lock(); defer mu.Unlock(); return open == 0 })
	// The one that is dropped may still be closing when the next one is accepted.
	if most > maxAttempts+1 {
		t.Errorf("%d connections at a time, want at most %d", most, maxAttempts)
	}
}
