package ingest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
)

// A camera on loopback, by each transport and codec: every frame from the
// first, in order, at its time.
func TestRTSP(t *testing.T) {
	h265 := clipConfig
	h265.Codec = codec.H265
	for _, tc := range []struct {
		name, transport string
		cfg             codec.EncoderConfig
	}{
		{"H.264 over TCP", "tcp", clipConfig},
		{"H.264 over UDP", "udp", clipConfig},
		{"H.264 over auto", "", clipConfig},
		{"H.265 over TCP", "tcp", h265},
		{"H.265 over UDP", "udp", h265},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := clip(t, tc.cfg)
			c.Start = 10
			s := serve(t, c, demo.Config{})
			w := start(t, testConfig(s.URL(), tc.transport))
			const n = 2*clipFrames + 5 // over the loop, twice
			frames := w.take(n)
			for i, f := range frames {
				if f.Seq != uint64(i) || f.Camera != "test" || f.Width != 128 || f.Height != 96 || f.Damaged {
					t.Fatalf("frame %d: %+v", i, f.Frame)
				}
				assert.Equal(t, (10+i)%clipFrames, f.number, "frame %d shows picture", i)
				if want := time.Duration(i) * 20 * time.Millisecond; (f.PTS - want).Abs() > time.Millisecond {
					t.Errorf("frame %d has PTS %v, want %v", i, f.PTS, want)
				}
			}
			last := frames[n-1]
			assert.Equal(t, ClockSenderReport, last.Clock, "clock of frame %d is", n-1)
			if d := last.Received.Sub(last.Captured); d.Abs() > 5*time.Second {
				t.Errorf("captured %v before it was received, on one machine", d)
			}
			assert.ErrorIs(t, w.stop(), context.Canceled, "Run returned")
			e := &w.events
			if e.ups != 1 || e.downs != 0 || e.reconnects != 0 || e.undecoded != 0 || len(e.offsets) == 0 {
				t.Errorf("ups %d, downs %d, reconnects %d, undecoded %d, offsets %d", e.ups, e.downs, e.reconnects, e.undecoded, len(e.offsets))
			}
			for i, u := range e.units {
				if u.Codec != max(tc.cfg.Codec, codec.H264) || u.Fresh != (i == 0) || i == 0 && !u.Key || u.Key != (len(u.Params) > 0) || len(u.Data) == 0 {
					t.Fatalf("unit %d: %v, key %v, fresh %v, %d parameter sets, %d bytes", i, u.Codec, u.Key, u.Fresh, len(u.Params), len(u.Data))
				}
				if i < n && !u.Captured.Equal(frames[i].Captured) {
					t.Errorf("unit %d was captured at %v, its frame at %v", i, u.Captured, frames[i].Captured)
				}
			}
			if len(e.units) < n {
				t.Errorf("%d units, want %d or more", len(e.units), n)
			}
		})
	}
}

// Whatever device is configured, frames come; without it software decodes them,
// which is counted, and logged once for all connections.
func TestDecodeFallback(t *testing.T) {
	for _, device := range []codec.Device{codec.CUDA, codec.VAAPI, codec.AnyDevice} {
		t.Run(string(device), func(t *testing.T) {
			t.Parallel()
			s := serve(t, clip(t, clipConfig), demo.Config{})
			p, address := throughProxy(t, s.URL())
			cfg := testConfig(address, "tcp")
			var buf lockedBuffer
			cfg.Decode, cfg.Logger = device, slog.New(slog.NewTextHandler(&buf, nil))
			w := start(t, cfg)
			w.take(5)
			p.Cut()
			e := &w.events
			eventually(t, "Reconnect", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.reconnects == 1 })
			w.take(5)
			_ = w.stop()
			require.Len(t, e.decoders, 2, "decoders")
			fell := 0
			if e.decoders[0] == codec.Software && device != codec.AnyDevice {
				fell = 2
			}
			if n := strings.Count(buf.String(), "software decodes instead of the device"); e.fallbacks != fell || n != fell/2 {
				t.Errorf("decoded by %v: %d fallbacks, %d lines of them", e.decoders, e.fallbacks, n)
			}
		})
	}
}

// multicastAddress returns an address of an interface that multicast can go by.
func multicastAddress(t *testing.T) string {
	t.Helper()
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range interfaces {
		if i.Flags&net.FlagMulticast == 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, err := i.Addrs()
		require.NoError(t, err)
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
				return n.IP.String()
			}
		}
	}
	t.Skip("this machine has no interface for multicast; any with an IPv4 address and the flag MULTICAST will do, such as a container's eth0")
	return ""
}

// By multicast two watchers get the same packets; a camera without it says so.
func TestMulticast(t *testing.T) {
	t.Parallel()
	port := 20000 + 2*rand.N(5000) // so that two of these tests at a time do not meet
	cam := serveRawBy(t, &gortsplib.Server{
		RTSPAddress:      net.JoinHostPort(multicastAddress(t), "0"),
		MulticastIPRange: fmt.Sprintf("239.255.%d.0/24", rand.N(256)), MulticastRTPPort: port, MulticastRTCPPort: port + 1,
	}, audioMedia(), h264Media())
	// The packets are ready first: a multicast session that brings nothing in its
	// first second is ended by gortsplib.
	const n = 10
	sent := packets(t, clipConfig, n)
	a, b := start(t, testConfig(cam.url(), "multicast")), start(t, testConfig(cam.url(), "multicast"))
	cam.player()
	cam.player()
	for _, p := range sent {
		cam.send(p.Data)
	}
	for _, w := range []*watch{a, b} {
		for i, f := range w.take(n) {
			if f.number != i || f.Damaged {
				t.Errorf("frame %d shows picture %d: %+v", i, f.number, f.Frame)
			}
		}
		_ = w.stop()
		if e := &w.events; e.ups != 1 || e.downs != 0 || e.undecoded != 0 {
			t.Errorf("%d times up, %d down, the last for %v, %d undecoded", e.ups, e.downs, e.lastDown, e.undecoded)
		}
	}
	cfg := testConfig(serve(t, clip(t, clipConfig), demo.Config{}).URL(), "multicast")
	mustWrap(t, probe(t.Context(), cfg), ErrTransport)
}

// A client that comes in mid-stream begins with a key frame, whole.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := serve(t, clip(t, clipConfig), demo.Config{})
	first := start(t, testConfig(s.URL(), "tcp"))
	first.take(7)
	f := start(t, testConfig(s.URL(), "tcp")).next()
	if f.Seq != 0 || f.PTS != 0 || f.number%clipConfig.GOP != 0 || f.Damaged {
		t.Errorf("first frame shows picture %d: %+v", f.number, f.Frame)
	}
}

// The camera goes away and comes back on the same port.
func TestReturn(t *testing.T) {
	for _, transport := range []string{"tcp", "udp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			c := clip(t, clipConfig)
			s := serve(t, c, demo.Config{})
			cfg := testConfig(s.URL(), transport)
			cfg.StallTimeout = time.Second
			w := start(t, cfg)
			before := w.take(10)
			s.Close()
			e := &w.events
			eventually(t, "Down", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs == 1 })
			for len(w.frames) > 0 {
				before = append(before, w.take(1)...)
			}
			serve(t, c, demo.Config{Addr: address(s)})
			after := w.take(10)
			last := before[len(before)-1]
			if after[0].Seq != last.Seq+1 {
				t.Errorf("frame %d follows frame %d", after[0].Seq, last.Seq)
			}
			// Stream time went on while the camera was away.
			away := after[0].Received.Sub(last.Received)
			if step := after[0].PTS - last.PTS; (step - away).Abs() > 100*time.Millisecond {
				t.Errorf("PTS rose by %v, away were %v", step, away)
			}
			_ = w.stop()
			if e.ups != 2 || e.downs != 1 || e.reconnects != 1 {
				t.Errorf("events: %+v", e)
			}
		})
	}
}

// A camera that is not there yet at the start is waited for.
func TestLateCamera(t *testing.T) {
	t.Parallel()
	c := clip(t, clipConfig)
	gone := serve(t, c, demo.Config{})
	gone.Close()
	w := start(t, testConfig(gone.URL(), "tcp"))
	e := &w.events
	eventually(t, "Down", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs == 1 })
	serve(t, c, demo.Config{Addr: address(gone)})
	w.take(3)
	_ = w.stop()
	mustWrap(t, e.lastDown, ErrRefused)
	if e.ups != 1 || e.downs != 1 || e.reconnects != 0 {
		t.Errorf("events: %+v", e)
	}
}

// A camera that keeps the connection and sends no more pictures is redialled.
func TestStall(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, h264Media())
	cfg := testConfig(cam.url(), "tcp")
	cfg.StallTimeout = time.Second
	w := start(t, cfg)
	for _, p := range packets(t, clipConfig, 4) {
		if p.Key {
			cam.player()
		}
		cam.send(p.Data)
	}
	w.take(4)
	// It may dial before it says so, and the next picture goes to both connections.
	e := &w.events
	eventually(t, "Down", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs == 1 })
	cam.player() // it dials again
	cam.send(packets(t, clipConfig, 1)[0].Data)
	if f := w.next(); f.Seq != 4 {
		t.Errorf("frame %d after the stall, want 4", f.Seq)
	}
	_ = w.stop()
	mustWrap(t, e.lastDown, ErrStalled)
	if !strings.Contains(e.lastDown.Error(), "no picture for") || e.reconnects != 1 {
		t.Errorf("down by %v; events: %+v", e.lastDown, e)
	}
}

// Parameter sets that come only with the session description reach the decoder.
func TestOutOfBandParameters(t *testing.T) {
	t.Parallel()
	ps := packets(t, clipConfig, 12)
	m := h264Media()
	f := m.Formats[0].(*format.H264)
	strip := func(au []byte) [][]byte {
		var nalus h264.AnnexB
		require.NoError(t, nalus.Unmarshal(au))
		return slices.DeleteFunc(nalus, func(n []byte) bool {
			switch h264.NALUType(n[0] & 0x1f) {
			case h264.NALUTypeSPS:
				f.SPS = n
			case h264.NALUTypePPS:
				f.PPS = n
			default:
				return false
			}
			return true
		})
	}
	strip(ps[0].Data)
	cam := serveRaw(t, m)
	w := start(t, testConfig(cam.url(), "tcp"))
	cam.player()
	for _, p := range ps {
		cam.sendNALUs(strip(p.Data))
	}
	for i, f := range w.take(len(ps)) {
		assert.Equal(t, i, f.number, "frame %d shows picture", i)
	}
}

// Parameter sets that change once, with a unit for which there is no room, are known
// when the next key frame comes without any; those of the session description are
// out of date then. A changed picture parameter set alone is one more such.
func TestParametersChangeUnseen(t *testing.T) {
	for _, id := range []codec.ID{codec.H264, codec.H265} {
		t.Run(id.String(), func(t *testing.T) {
			var enc interface {
				Encode([][]byte) ([]*rtp.Packet, error)
			}
			f := formatOf(id)
			kind := func(n []byte) int { return int(n[0] & 0x1f) }
			sets := map[int]bool{int(h264.NALUTypeSPS): true, int(h264.NALUTypePPS): true}
			switch f := f.(type) {
			case *format.H264:
				enc, _ = f.CreateEncoder()
			case *format.H265:
				enc, _ = f.CreateEncoder()
				kind = func(n []byte) int { return int(n[0] >> 1 & 0x3f) }
				sets = map[int]bool{int(h265.NALUType_VPS_NUT): true, int(h265.NALUType_SPS_NUT): true, int(h265.NALUType_PPS_NUT): true}
			}
			old := packets(t, codec.EncoderConfig{Codec: id, Width: 128, Height: 96, FPS: 25, GOP: 1}, 2)
			now := packets(t, codec.EncoderConfig{Codec: id, Width: 320, Height: 240, FPS: 25, GOP: 1, CRF: 35}, 2)
			tr, err := newTrack(nil, f)
			require.NoError(t, err)
			without := func(au []byte, use func([]byte)) [][]byte {
				return slices.DeleteFunc(splitNALUs(au), func(n []byte) bool {
					if sets[kind(n)] {
						use(n)
					}
					return sets[kind(n)]
				})
			}
			without(old[0].Data, func(n []byte) { tr.params = append(tr.params, n) }) // as described
			r := newReceiver(tr)
			ticks := uint32(0)
			send := func(nalus [][]byte) {
				pkts, err := enc.Encode(nalus)
				require.NoError(t, err)
				ticks += 3600
				for _, p := range pkts {
					p.Timestamp = ticks
					r.handle(p)
				}
			}
			nothing := func([]byte) {}
			for range queueUnits {
				send(without(old[1].Data, nothing))
			}
			send(splitNALUs(now[0].Data)) // no room
			dec, err := codec.NewDecoder(id)
			require.NoError(t, err)
			defer dec.Close()
			var sizes [][2]int
			decode := func() {
				for len(r.units) > 0 {
					u := <-r.units
					r.took(u)
					assert.NoError(t, dec.Decode(u.data, u.ticks, func(p *codec.Picture) {
						if !p.Damaged {
							sizes = append(sizes, [2]int{p.Width, p.Height})
						}
					}))
				}
			}
			decode()
			if len(sizes) != queueUnits || sizes[0] != [2]int{128, 96} {
				t.Fatalf("%d pictures before, of %v", len(sizes), sizes)
			}
			send(without(now[1].Data, nothing))
			decode()
			if len(sizes) != queueUnits+1 || sizes[queueUnits] != [2]int{320, 240} {
				t.Errorf("after the change came pictures of %v", sizes[queueUnits:])
			}
		})
	}
}

// What is remembered of parameter sets is the newest of each kind and number, and
// bounded.
func TestRememberedParameters(t *testing.T) {
	tr, err := newTrack(nil, &format.H264{SPS: []byte{0x67, 1}, PPS: []byte{0x68, 0xff}})
	require.NoError(t, err)
	// Numbers are 0 (bit 1), 1 (bits 010) and 2 (011).
	for _, n := range [][]byte{{0x67, 2}, {0x68, 0x80}, {0x68, 0x40}, {0x68, 0x60}, {0x68, 0x5f}, {0x67, 3}} {
		if tr.entry([][]byte{n}).ok {
			t.Errorf("decoding starts with %x", n)
		}
	}
	want := [][]byte{{0x67, 3}, {0x68, 0x80}, {0x68, 0x5f}, {0x68, 0x60}}
	if !slices.EqualFunc(tr.params, want, bytes.Equal) {
		t.Errorf("remembered %x, want %x", tr.params, want)
	}
	for i := range 5000 {
		tr.entry([][]byte{{0x68, byte(i >> 8), byte(i)}})
	}
	tr.entry([][]byte{append([]byte{0x67}, make([]byte, maxParamBytes)...)})
	if len(tr.params) != maxParams || !bytes.Equal(tr.params[0], want[0]) {
		t.Errorf("%d sets are remembered, the first is %x", len(tr.params), tr.params[0])
	}
}

// Each way of asking for a password that cameras have.
func TestAuthentication(t *testing.T) {
	for name, method := range map[string]auth.VerifyMethod{
		"Basic": auth.VerifyMethodBasic, "Digest, MD5": auth.VerifyMethodDigestMD5, "Digest, SHA-256": auth.VerifyMethodDigestSHA256,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cam := serveRawBy(t, &gortsplib.Server{AuthMethods: []auth.VerifyMethod{method}}, h264Media())
			cam.user, cam.password = "anna", "r%ght/p@ss"
			w := start(t, testConfig(strings.Replace(cam.url(), "//", "//anna:r%25ght%2Fp%40ss@", 1), "tcp"))
			cam.player()
			for _, p := range packets(t, clipConfig, 3) {
				cam.send(p.Data)
			}
			w.take(3)
			mustWrap(t, probe(t.Context(), testConfig(strings.Replace(cam.url(), "//", "//anna:wrong1@", 1), "tcp")), ErrUnauthorized)
		})
	}
}

// The picture's size changes in mid-stream, and damaged access units come in
// between: frames go on.
func TestSizeChangeAndGarbage(t *testing.T) {
	t.Parallel()
	cam := serveRaw(t, h264Media())
	w := start(t, testConfig(cam.url(), "tcp"))
	cam.player()
	sizes := [][2]int{{128, 96}, {320, 240}, {64, 64}}
	for _, size := range sizes {
		for _, p := range packets(t, codec.EncoderConfig{Width: size[0], Height: size[1], FPS: 50, GOP: 5}, 6) {
			cam.send(p.Data)
		}
		cam.sendNALUs([][]byte{{0x65, 0xde, 0xad, 0xbe, 0xef}, {0x41, 0xff, 0xff, 0x00, 0x13}})
		cam.sendNALUs([][]byte{{0x67, 0xff}, {0x68}, {0x1f, 1, 2, 3}})
	}
	got := map[[2]int]int{}
	for range 3 * 6 {
		f := w.next()
		got[[2]int{f.Width, f.Height}]++
	}
	_ = w.stop()
	for _, size := range sizes {
		if got[size] < 6 {
			t.Errorf("%d frames of %v, want 6", got[size], size)
		}
	}
	if w.events.undecoded == 0 || w.events.downs != 0 {
		t.Errorf("events: %+v", &w.events)
	}
}

// What a user can get wrong, each said in words.
func TestFirst(t *testing.T) {
	locked := serve(t, clip(t, clipConfig), demo.Config{User: "admin", Password: "s3cret"})
	host := address(locked)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() }) // after the parallel cases
	closed := serve(t, clip(t, clipConfig), demo.Config{})
	closed.Close()

	for _, tc := range []struct {
		name, url string
		want      error
		words     string
	}{
		{"right credentials", "rtsp://admin:s3cret@" + host + "/demo", nil, ""},
		{"wrong password", "rtsp://admin:guess1@" + host + "/demo", ErrUnauthorized, "wrong credentials"},
		{"wrong user", "rtsp://root:guess1@" + host + "/demo", ErrUnauthorized, "wrong credentials"},
		{"no credentials", "rtsp://" + host + "/demo", ErrUnauthorized, "rtsp://USER:PASSWORD@"},
		{"no such path", "rtsp://admin:s3cret@" + host + "/other", ErrNotFound, "/other"},
		{"refused", closed.URL(), ErrRefused, "nothing listens at 127.0.0.1:"},
		{"no such host", "rtsp://no-such-host.invalid/x", ErrUnreachable, "no-such-host.invalid"},
		{"silent", "rtsp://" + silent.Addr().String() + "/x", ErrStalled, "no answer within"},
		{"silent TLS", "rtsps://" + silent.Addr().String() + "/x", ErrStalled, "no answer within"},
		{"no video", serveRaw(t, audioMedia()).url(), ErrNoVideo, "only audio"},
		{"codec", serveRaw(t, &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{&format.MPEG4Video{PayloadTyp: 96}}}).url(),
			ErrCodec, "sends MP4V-ES; H.264, H.265, MJPEG, VP8, VP9 and AV1 are accepted"},
		{"no pictures", serveRaw(t, h264Media()).url(), ErrStalled, "no picture for"},
		{"not RTSP at all", "http://127.0.0.1/x", ErrConfig, "rtsp://host/path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(tc.url, "tcp")
			if tc.want != nil {
				cfg.StallTimeout = time.Second
			}
			err := probe(context.Background(), cfg)
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			mustWrap(t, err, tc.want)
			text := err.Error()
			assert.Contains(t, text, tc.words)
			if !strings.HasPrefix(text, "ingest: ") || strings.Contains(text, "\n") {
				t.Errorf("error %q is not one line of this package", text)
			}
			if strings.Contains(text, "s3cret") || strings.Contains(text, "guess1") {
				t.Errorf("error %q shows the password", text)
			}
			if u, perr := url.Parse(tc.url); perr == nil && !strings.Contains(text, u.Host) {
				t.Errorf("error %q does not name the host %s", text, u.Host)
			}
		})
	}
}

func TestFirstEndsWithContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err = probe(ctx, Config{URL: "rtsp://" + silent.Addr().String() + "/x"})
	mustWrap(t, err, context.DeadlineExceeded)
}

func TestOpenFaults(t *testing.T) {
	_, err := Open(Config{Camera: "door", URL: "rtsp://admin:p@ss:w/ord@host:99999999/x", Transport: "smoke", Decode: "abacus", FPS: -3, StallTimeout: -1})
	mustWrap(t, err, ErrConfig)
	for _, want := range []string{`camera "door"`, "is not a URL", "%2F", `transport "smoke"`, "auto, tcp, udp, multicast are accepted", `decode "abacus"`, "fps -3", "stall timeout"} {
		assert.Contains(t, err.Error(), want, "error does not say")
	}
	if strings.Contains(err.Error(), "ss:w") || strings.Contains(err.Error(), "ord@") {
		t.Errorf("error shows the password:\n%v", err)
	}
	for _, url := range []string{"", "file:", "dir:", "rtsp:///x", "ftp://h/x", "mjpeg+http:///x", "rtsp://h/x#y", "whip:", "whip:door"} {
		if _, err := Open(Config{URL: url}); err == nil {
			t.Errorf("url %q was accepted", url)
		}
	}
	for url, name := range map[string]string{
		"rtsp://a:b@h:1/x": "rtsp://xxxxx@h:1/x", "file:a/b.mp4": "a/b.mp4", "file:///a.mp4": "/a.mp4",
		"mjpeg+http://a:b@h/x?q=1": "mjpeg+http://xxxxx@h/x?q=xxxxx", "dir:/d": "/d", "clip.avi": "clip.avi", "rtsps://h/x": "rtsps://h/x",
	} {
		s, err := Open(Config{URL: url})
		if err != nil {
			t.Errorf("url %q: %v", url, err)
		} else if s.Name() != name {
			t.Errorf("url %q is named %q, want %q", url, s.Name(), name)
		}
	}
}
