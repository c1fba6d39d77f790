package ingest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
	"github.com/bluenviron/gortsplib/v5/pkg/ntp"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// numbered returns a picture whose upper half shows n in binary, one block a
// bit, so that a decoded frame can be told from its neighbours.
func numbered(width, height, n int) []byte {
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
	return pix
}

const numberBits = 8

// number reads what numbered wrote.
func number(f *Frame) int {
	n := 0
	for b := range numberBits {
		x := (2*b + 1) * f.Width / (2 * numberBits)
		if f.Pix[3*(f.Height/4*f.Width+x)+1] > 128 {
			n |= 1 << b
		}
	}
	return n
}

// packets returns n numbered pictures, compressed.
func packets(t testing.TB, cfg codec.EncoderConfig, n int) []codec.Packet {
	t.Helper()
	enc, err := codec.NewEncoder(cfg)
	require.NoError(t, err)
	defer enc.Close()
	var out []codec.Packet
	for i := range n {
		p, err := enc.BGR(numbered(cfg.Width, cfg.Height, i), false)
		require.NoError(t, err)
		out = append(out, p...)
	}
	p, err := enc.Flush()
	require.NoError(t, err)
	return append(out, p...)
}

// clipConfig is a small fast clip: 50 frames a second, a key frame every 5.
var clipConfig = codec.EncoderConfig{Width: 128, Height: 96, FPS: 50, GOP: 5}

const clipFrames = 20

func clip(t testing.TB, cfg codec.EncoderConfig) *demo.Clip {
	t.Helper()
	c, err := demo.NewClip(cfg, packets(t, cfg, clipFrames))
	require.NoError(t, err)
	return c
}

// serve starts a sample camera.
func serve(t testing.TB, c *demo.Clip, cfg demo.Config) *demo.Server {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = freeport.Addr(t) // free again when it is closed
	}
	s, err := demo.NewServer(c, cfg)
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(s.Close)
	return s
}

// testConfig has waits fit for tests.
func testConfig(url, transport string) Config {
	return Config{
		Camera: "test", URL: url, Transport: transport,
		StallTimeout: 2 * time.Second, minBackoff: 5 * time.Millisecond, maxBackoff: 40 * time.Millisecond,
	}
}

// events counts what an observer is told.
type events struct {
	mu                                sync.Mutex
	ups, downs, reconnects, undecoded int             // undecoded: units lost or undecodable
	retries                           []time.Duration // the pauses
	missed                            [Misses]int
	lastDown                          error
	decoders                          []codec.Device
	fallbacks                         int
	offsets                           []time.Duration
	units                             []Unit
}

func (e *events) observer() Observer {
	return Observer{
		Up: func(again bool) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.ups++
			if again {
				e.reconnects++
			}
		},
		Down:  func(err error) { e.mu.Lock(); e.downs++; e.lastDown = err; e.mu.Unlock() },
		Retry: func(_ error, d time.Duration) { e.mu.Lock(); e.retries = append(e.retries, d); e.mu.Unlock() },
		Missed: func(why Miss, n int) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.missed[why] += n
			if why == MissLost || why == MissUndecodable {
				e.undecoded += n
			}
		},
		Decoder: func(_ codec.ID, on codec.Device, fallback error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.decoders = append(e.decoders, on)
			if fallback != nil {
				e.fallbacks++
			}
		},
		ClockOffset: func(d time.Duration) { e.mu.Lock(); e.offsets = append(e.offsets, d); e.mu.Unlock() },
		Unit:        func(u Unit) { e.mu.Lock(); e.units = append(e.units, u); e.mu.Unlock() },
	}
}

// seen is a frame as a test remembers it.
type seen struct {
	*Frame // released: without pixels
	number int
}

// watch is a source running in the background.
type watch struct {
	t      testing.TB
	events events
	frames chan seen
	stop   func() error // ends Run and returns its error
}

func start(t testing.TB, cfg Config) *watch {
	t.Helper()
	w := &watch{t: t, frames: make(chan seen, 1000)}
	cfg.Observer = w.events.observer()
	s, err := Open(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Run(ctx, func(f *Frame) {
			if len(f.Pix) != 3*f.Width*f.Height {
				t.Errorf("frame %d: %d bytes for %dx%d", f.Seq, len(f.Pix), f.Width, f.Height)
			}
			n := number(f)
			f.Release()
			w.frames <- seen{f, n}
		})
	}()
	w.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = w.stop() })
	return w
}

const patience = waitfor.Limit

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

// take returns the next n frames, having checked what is true of any.
func (w *watch) take(n int) []seen {
	w.t.Helper()
	out := make([]seen, n)
	for i := range out {
		out[i] = w.next()
		if i > 0 && (out[i].Seq != out[i-1].Seq+1 || out[i].PTS <= out[i-1].PTS) {
			w.t.Fatalf("frame %d at %v follows frame %d at %v", out[i].Seq, out[i].PTS, out[i-1].Seq, out[i-1].PTS)
		}
	}
	return out
}

// eventually waits for what another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waitfor.True(t, what, ok)
}

// rawCamera is an RTSP server whose stream a test writes by hand.
type rawCamera struct {
	t      testing.TB
	server *gortsplib.Server
	stream *gortsplib.ServerStream
	media  *description.Media
	pack   interface {
		Encode([][]byte) ([]*rtp.Packet, error)
	}
	user, password string            // asked of clients, if user is not empty
	moved          map[string]string // path to where DESCRIBE sends clients
	mu             sync.Mutex
	playing        map[*gortsplib.ServerConn]bool // asked PLAY, not yet answered
	players        chan struct{}                  // one value a PLAY answered
	heard          chan rtcp.Packet               // what players report; more than it holds is dropped
	credentials    []string                       // every Authorization that came with a DESCRIBE
	connections    int
	ticks          uint32
	slow           time.Duration // to answer a connection's first request
	// dropNext, if n > 0, makes the n-th packet from now never leave.
	dropNext int
}

// serveRaw serves the medias; those that are written to hold one H.264 format.
func serveRaw(t testing.TB, medias ...*description.Media) *rawCamera {
	t.Helper()
	return serveRawBy(t, &gortsplib.Server{}, medias...)
}

// serveRawBy is serveRaw by a server that is set up but for where it listens.
func serveRawBy(t testing.TB, server *gortsplib.Server, medias ...*description.Media) *rawCamera {
	t.Helper()
	c := &rawCamera{t: t, server: server, players: make(chan struct{}, 100), heard: make(chan rtcp.Packet, 10),
		playing: make(map[*gortsplib.ServerConn]bool)}
	server.Handler, server.WriteQueueSize = c, 4096
	if server.RTSPAddress == "" {
		server.RTSPAddress = "127.0.0.1:0"
	}
	require.NoError(t, c.server.Start())
	c.stream = &gortsplib.ServerStream{Server: c.server, Desc: &description.Session{Medias: medias}}
	require.NoError(t, c.stream.Initialize())
	c.media = medias[len(medias)-1]
	if f, ok := c.media.Formats[0].(*format.H264); ok {
		enc, err := f.CreateEncoder()
		require.NoError(t, err)
		c.pack = enc
	}
	t.Cleanup(func() {
		c.stream.Close()
		c.server.Close()
	})
	return c
}

func (c *rawCamera) url() string { return "rtsp://" + c.server.NetListener().Addr().String() + "/cam" }

// send writes one Annex-B access unit, 20 ms after the last.
func (c *rawCamera) send(au []byte) {
	var nalus h264.AnnexB
	if err := nalus.Unmarshal(au); err != nil {
		c.t.Error(err)
		return
	}
	c.sendNALUs(nalus)
}

func (c *rawCamera) sendNALUs(nalus [][]byte) {
	pkts, err := c.pack.Encode(nalus)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.ticks += ticksPerSecond / 50
	for _, p := range pkts {
		p.Timestamp = c.ticks
		if c.dropNext > 0 {
			if c.dropNext--; c.dropNext == 0 {
				continue
			}
		}
		if err := c.stream.WritePacketRTP(c.media, p); err != nil {
			c.t.Error(err)
		}
	}
}

// report sends a sender report.
func (c *rawCamera) report(clock time.Time, ticks uint32) {
	for _, f := range c.stream.Stats().Medias[c.media].Formats {
		if err := c.stream.WritePacketRTCP(c.media, &rtcp.SenderReport{SSRC: f.LocalSSRC, NTPTime: ntp.Encode(clock), RTPTime: ticks}); err != nil {
			c.t.Error(err)
		}
	}
}

// player waits until a client plays.
func (c *rawCamera) player() {
	c.t.Helper()
	select {
	case <-c.players:
	case <-time.After(patience):
		c.t.Fatal("nobody plays")
	}
}

func (c *rawCamera) OnConnOpen(*gortsplib.ServerHandlerOnConnOpenCtx) {
	c.mu.Lock()
	c.connections++
	c.mu.Unlock()
}

func (c *rawCamera) OnRequest(_ *gortsplib.ServerConn, r *base.Request) {
	if r.Header["CSeq"][0] == "1" {
		time.Sleep(c.slow)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method == base.Describe {
		c.credentials = append(c.credentials, r.Header["Authorization"]...)
	}
}

// came returns how many connections there were, and what passwords were tried on them.
func (c *rawCamera) came() (connections int, credentials []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections, slices.Clone(c.credentials)
}

func (c *rawCamera) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if to := c.moved[ctx.Path]; to != "" {
		return &base.Response{StatusCode: base.StatusFound, Header: base.Header{"Location": base.HeaderValue{to}}}, nil, nil
	}
	if c.user != "" && !ctx.Conn.VerifyCredentials(ctx.Request, c.user, c.password) {
		return &base.Response{StatusCode: base.StatusUnauthorized}, nil, liberrors.ErrServerAuth{}
	}
	return &base.Response{StatusCode: base.StatusOK}, c.stream, nil
}

func (c *rawCamera) OnSetup(*gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	return &base.Response{StatusCode: base.StatusOK}, c.stream, nil
}

func (c *rawCamera) OnPlay(ctx *gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	c.mu.Lock()
	c.playing[ctx.Conn] = true
	c.mu.Unlock()
	ctx.Session.OnPacketRTCP(c.media, func(p rtcp.Packet) {
		select {
		case c.heard <- p:
		default:
		}
	})
	return &base.Response{StatusCode: base.StatusOK}, nil
}

func (c *rawCamera) OnResponse(conn *gortsplib.ServerConn, _ *base.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.playing[conn] {
		delete(c.playing, conn)
		c.players <- struct{}{}
	}
}

func (c *rawCamera) OnStreamWriteError(*gortsplib.ServerHandlerOnStreamWriteErrorCtx) {}

func h264Media() *description.Media {
	return &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{
		&format.H264{PayloadTyp: 96, PacketizationMode: 1},
	}}
}

func mjpegMedia() *description.Media {
	return &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{&format.MJPEG{}}}
}

func mustWrap(t testing.TB, err, want error) {
	t.Helper()
	assert.ErrorIs(t, err, want)
}

func splitNALUs(au []byte) [][]byte {
	var nalus h264.AnnexB
	if err := nalus.Unmarshal(au); err != nil {
		panic(err)
	}
	return nalus
}
