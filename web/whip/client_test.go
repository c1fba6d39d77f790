package whip

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/ice/v2"
	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/waitfor"
)

const (
	width, height = 320, 240
	numberBits    = 10
	patience      = waitfor.Limit
)

// numbered returns a picture whose upper half shows n in binary, one block a bit,
// over noise, which fills several packets.
func numbered(n int) []byte {
	pix := make([]byte, 3*width*height)
	for y := range height / 2 {
		for x := range width {
			v := uint8(30)
			if n>>(x*numberBits/width)&1 == 1 {
				v = 220
			}
			o := 3 * (y*width + x)
			pix[o], pix[o+1], pix[o+2] = v, v, v
		}
	}
	noise := uint32(n + 1)
	for i := 3 * width * (height - 24); i < len(pix); i++ {
		noise = noise*1664525 + 1013904223
		pix[i] = byte(noise >> 24)
	}
	return pix
}

// number reads what numbered wrote.
func number(f *ingest.Frame) int {
	n := 0
	for b := range numberBits {
		x := (2*b + 1) * f.Width / (2 * numberBits)
		if f.Pix[3*(f.Height/4*f.Width+x)+1] > 128 {
			n |= 1 << b
		}
	}
	return n
}

// eventually waits for what another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waitfor.True(t, what, ok)
}

// serve starts a server for the cameras of cfg ("a" unless it names some) and
// returns it with its HTTP address.
func serve(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	if cfg.Cameras == nil {
		cfg.Cameras = []string{"a"}
	}
	if cfg.Logger == nil && testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	s, err := New(cfg)
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		plainHTTP.CloseIdleConnections()
		h.Close()
		s.Close()
	})
	return s, h.URL
}

// plainHTTP keeps connections: a server lingers for half a second over one that it
// closes.
var plainHTTP = &http.Client{Transport: new(http.Transport)}

// ask sends a request and returns the answer with its body.
func ask(t testing.TB, method, url, contentType, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := plainHTTP.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(b)
}

// seen is a frame as a test remembers it.
type seen struct {
	*ingest.Frame // released: without pixels
	number        int
}

// watch is a source that runs in the background.
type watch struct {
	t      testing.TB
	frames chan seen
	stop   func()

	mu                     sync.Mutex // guards what follows
	ups, downs, reconnects int
	lost                   int
	came, late, never      int // packets
	held                   []time.Duration
	lastDown               error
}

func follow(t testing.TB, s *Server, camera string, stall time.Duration) *watch {
	t.Helper()
	w := &watch{t: t, frames: make(chan seen, 10000)}
	count := func(f func()) { w.mu.Lock(); defer w.mu.Unlock(); f() }
	src, err := ingest.Open(ingest.Config{
		Camera: camera, URL: "whip:", Door: s.Door(camera), StallTimeout: stall,
		Observer: ingest.Observer{
			Up: func(again bool) {
				count(func() {
					w.ups++
					if again {
						w.reconnects++
					}
				})
			},
			Down: func(err error) { count(func() { w.downs++; w.lastDown = err }) },
			Packets: func(came, late, never int, _ time.Duration) {
				count(func() { w.came += came; w.late += late; w.never += never })
			},
			Held:   func(d time.Duration) { count(func() { w.held = append(w.held, d) }) },
			Missed: func(_ ingest.Miss, n int) { count(func() { w.lost += n }) },
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = src.Run(ctx, func(f *ingest.Frame) {
			n := number(f)
			f.Release()
			w.frames <- seen{f, n}
		})
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(w.stop)
	return w
}

func (w *watch) next() seen {
	w.t.Helper()
	select {
	case f := <-w.frames:
		return f
	case <-time.After(patience):
		w.t.Fatal("no frame came")
		return seen{}
	}
}

// down waits for the n-th time the camera is down and returns why.
func (w *watch) down(n int) (reason error) {
	w.t.Helper()
	eventually(w.t, "the camera goes down", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		reason = w.lastDown
		return w.downs >= n
	})
	return reason
}

// lossy loses some of the RTP packets that go out, retransmissions too.
type lossy struct {
	interceptor.NoOp
	rate float64

	mu   sync.Mutex // guards what follows
	rng  *rand.Rand
	sent int
	lost int
}

func (l *lossy) NewInterceptor(string) (interceptor.Interceptor, error) { return l, nil }

func (l *lossy) BindLocalStream(_ *interceptor.StreamInfo, w interceptor.RTPWriter) interceptor.RTPWriter {
	return interceptor.RTPWriterFunc(func(h *rtp.Header, payload []byte, a interceptor.Attributes) (int, error) {
		l.mu.Lock()
		l.sent++
		lose := l.rng.Float64() < l.rate
		if lose {
			l.lost++
		}
		l.mu.Unlock()
		if lose {
			return len(payload), nil
		}
		return w.Write(h, payload, a)
	})
}

// silenced is a socket that sends nothing more once it is cut.
type silenced struct {
	net.PacketConn
	cut atomic.Bool
}

func (s *silenced) WriteTo(b []byte, to net.Addr) (int, error) {
	if s.cut.Load() {
		return len(b), nil
	}
	return s.PacketConn.WriteTo(b, to)
}

// clientConfig says how a test publishes.
type clientConfig struct {
	codec    codec.ID
	loss     float64
	overTCP  bool // by the answer's TCP candidates only
	every    time.Duration
	limit    int                                      // frames to send; 0: until stopped
	spoil    func(data []byte) []byte                 // what is sent instead of a picture
	offer    func(sdp string) string                  // changes the offer
	answer   func(sdp string) string                  // changes the answer
	answered func(resp *http.Response, answer string) // sees the answer
}

// client publishes by WHIP, as a browser would: a key frame at first and then only
// when it is asked for.
type client struct {
	t        testing.TB
	base     string
	location string
	etag     string
	ufrag    string
	pc       *webrtc.PeerConnection
	socket   *silenced
	loss     *lossy
	keys     atomic.Int64 // key frames asked for
	sent     atomic.Int64 // frames
	stop     func()
}

func capability(id codec.ID) webrtc.RTPCodecCapability {
	c := webrtc.RTPCodecCapability{ClockRate: 90000, RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}}}
	for _, v := range videoCodecs {
		if v.id == id {
			c.MimeType = v.mime
		}
	}
	if id == codec.H264 {
		c.SDPFmtpLine = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
	}
	return c
}

func payloader(id codec.ID) rtp.Payloader {
	switch id {
	case codec.H265:
		return &codecs.H265Payloader{}
	case codec.VP8:
		return &codecs.VP8Payloader{EnablePictureID: true}
	case codec.VP9:
		return &codecs.VP9Payloader{}
	case codec.AV1:
		return &codecs.AV1Payloader{}
	}
	return &codecs.H264Payloader{}
}

// newClient makes a client and its offer, and does not post it.
func newClient(t testing.TB, base string, cfg clientConfig) (*client, *webrtc.TrackLocalStaticRTP, string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	c := &client{t: t, base: base, loss: &lossy{rate: cfg.loss, rng: rand.New(rand.NewPCG(7, 9))}}
	media := new(webrtc.MediaEngine)
	kind := capability(cfg.codec)
	check(media.RegisterCodec(webrtc.RTPCodecParameters{RTPCodecCapability: kind, PayloadType: 102}, webrtc.RTPCodecTypeVideo))
	registry := new(interceptor.Registry)
	registry.Add(c.loss) // nearest to the network
	responder, err := nack.NewResponderInterceptor()
	check(err)
	registry.Add(responder)
	reports, err := report.NewSenderInterceptor(report.SenderInterval(50 * time.Millisecond))
	check(err)
	registry.Add(reports)
	var set webrtc.SettingEngine
	set.SetIncludeLoopbackCandidate(true)
	set.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	if cfg.overTCP {
		set.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	} else {
		pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
		check(err)
		c.socket = &silenced{PacketConn: pc}
		mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: c.socket})
		t.Cleanup(func() { _ = mux.Close() })
		set.SetICEUDPMux(mux)
	}
	api := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(set))
	c.pc, err = api.NewPeerConnection(webrtc.Configuration{})
	check(err)
	t.Cleanup(func() { _ = c.pc.GracefulClose() })
	track, err := webrtc.NewTrackLocalStaticRTP(kind, "video", "stream")
	check(err)
	tr, err := c.pc.AddTransceiverFromTrack(track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	check(err)
	offer, err := c.pc.CreateOffer(nil)
	check(err)
	gathered := webrtc.GatheringCompletePromise(c.pc)
	check(c.pc.SetLocalDescription(offer))
	<-gathered

	var running sync.WaitGroup
	running.Go(func() {
		for {
			pkts, _, err := tr.Sender().ReadRTCP()
			if err != nil {
				return
			}
			for _, p := range pkts {
				if _, ok := p.(*rtcp.PictureLossIndication); ok {
					c.keys.Add(1)
				}
			}
		}
	})
	t.Cleanup(running.Wait) // after the connection is closed
	t.Cleanup(func() { _ = c.pc.GracefulClose() })
	text := c.pc.LocalDescription().SDP
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "a=ice-ufrag:"); ok {
			c.ufrag = strings.TrimSpace(v)
		}
	}
	if cfg.offer != nil {
		text = cfg.offer(text)
	}
	return c, track, text
}

// publish posts an offer, connects and sends numbered frames.
func publish(t testing.TB, base, camera string, cfg clientConfig) *client {
	t.Helper()
	if cfg.codec == 0 {
		cfg.codec = codec.H264
	}
	if cfg.every == 0 {
		cfg.every = 10 * time.Millisecond
	}
	c, track, offer := newClient(t, base, cfg)
	resp, answer := ask(t, http.MethodPost, base+"/whip/"+camera, typeSDP, offer)
	require.Equal(t, http.StatusCreated, resp.StatusCode, "offer %s", answer)
	c.location, c.etag = resp.Header.Get("Location"), resp.Header.Get("ETag")
	if cfg.overTCP {
		var kept []string
		for line := range strings.Lines(answer) {
			if !strings.HasPrefix(line, "a=candidate:") || strings.Contains(line, " tcp ") {
				kept = append(kept, line)
			}
		}
		answer = strings.Join(kept, "")
	}
	if cfg.answered != nil {
		cfg.answered(resp, answer)
	}
	if cfg.answer != nil {
		answer = cfg.answer(answer)
	}
	connected := make(chan struct{})
	once := sync.OnceFunc(func() { close(connected) })
	c.pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		if s == webrtc.PeerConnectionStateConnected {
			once()
		}
	})
	if err := c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		t.Fatalf("answer: %v\n%s", err, answer)
	}
	select {
	case <-connected:
	case <-time.After(patience):
		t.Fatalf("no connection by the answer\n%s", answer)
	}
	quit := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.send(track, cfg, quit)
	}()
	c.stop = sync.OnceFunc(func() {
		close(quit)
		<-done
	})
	t.Cleanup(c.stop)
	return c
}

func (c *client) send(track *webrtc.TrackLocalStaticRTP, cfg clientConfig, quit <-chan struct{}) {
	enc, err := codec.NewEncoder(codec.EncoderConfig{Codec: cfg.codec, Width: width, Height: height, FPS: 25, GOP: 10000})
	if err != nil {
		c.t.Error(err)
		return
	}
	defer enc.Close()
	pack := rtp.NewPacketizer(1200, 0, 0, payloader(cfg.codec), rtp.NewRandomSequencer(), 90000)
	tick := time.NewTicker(cfg.every)
	defer tick.Stop()
	asked, start := int64(0), time.Now()
	for n := 0; cfg.limit == 0 || n < cfg.limit; n++ {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		key := c.keys.Load() > asked
		asked = c.keys.Load()
		packets, err := enc.BGR(numbered(n%(1<<numberBits)), key)
		if err != nil || len(packets) != 1 {
			c.t.Errorf("%d packets, %v", len(packets), err)
			return
		}
		data := packets[0].Data
		if cfg.spoil != nil {
			data = cfg.spoil(bytes.Clone(data))
		}
		// By the clock and not by the tick: a busy machine is late, and reports would contradict the frames.
		at := uint32(time.Since(start) * 90 / time.Millisecond)
		for i, p := range pack.Packetize(data, 0) {
			p.Timestamp += at
			if n == 0 && i == 0 {
				continue // the first key frame never comes whole: another must be asked for
			}
			if err := track.WriteRTP(p); err != nil {
				return // closed
			}
		}
		c.sent.Add(1)
	}
	<-quit
}
