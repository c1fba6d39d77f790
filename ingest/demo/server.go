package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"

	"github.com/segd/segd/internal/rtspguard"
)

// Path is the path of the stream in the server's URL.
const Path = "/demo"

// writeQueue is how many packets wait for a client: those of two key frames of 4K come at once, and
// gortsplib drops what is more than that.
const writeQueue = 4096

// Config says how a clip is served. The zero value is usable.
type Config struct {
	// Addr is the host and port to listen on for RTSP; "" = 127.0.0.1:0, any free
	// port. UDP takes two more free ports of the same host.
	Addr string
	// User and Password, if User is not empty, are asked of clients.
	User, Password string
	// Logger takes what happens to clients; nil discards it.
	Logger *slog.Logger
}

// Server serves a clip over RTSP.
type Server struct {
	clip   *Clip
	cfg    Config
	log    *slog.Logger
	track  *track
	rtsp   *gortsplib.Server
	stream *gortsplib.ServerStream

	playing chan struct{} // closed when the first client plays
	cancel  context.CancelFunc
	done    sync.WaitGroup
	sent    int64 // frames; the player's until done

	mu      sync.Mutex
	url     string                // "" before Start
	starter *gortsplib.ServerConn // client whose PLAY is being answered
	began   bool                  // playing is closed
	closed  bool
}

// NewServer returns a server of clip, which is not listening yet.
func NewServer(clip *Clip, cfg Config) (*Server, error) {
	if clip == nil || clip.Len() == 0 {
		return nil, errors.New("demo: the clip is empty")
	}
	cfg.Addr = cmp.Or(cfg.Addr, "127.0.0.1:0")
	if _, _, err := net.SplitHostPort(cfg.Addr); err != nil {
		return nil, fmt.Errorf("demo: address %q is not HOST:PORT: %w", cfg.Addr, err)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	tr, err := newTrack(clip)
	if err != nil {
		return nil, err
	}
	return &Server{clip: clip, cfg: cfg, log: cfg.Logger, track: tr, playing: make(chan struct{})}, nil
}

// Start begins to listen. Frames flow once the first client plays. A server
// starts once.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url != "" || s.closed {
		return errors.New("demo: a server starts once")
	}
	host, _, _ := net.SplitHostPort(s.cfg.Addr)
	rtp, rtcp, err := listenUDPPair(host)
	if err != nil {
		return err
	}
	udp := []net.PacketConn{rtp, rtcp}
	s.rtsp = &gortsplib.Server{
		Handler:        (*handler)(s),
		WriteQueueSize: writeQueue,
		RTSPAddress:    s.cfg.Addr,
		UDPRTPAddress:  rtp.LocalAddr().String(),
		UDPRTCPAddress: rtcp.LocalAddr().String(),
		// Hand over the sockets already bound, in the order gortsplib asks: closing
		// and binding again could lose the ports to another program.
		ListenPacket: func(string, string) (net.PacketConn, error) {
			if len(udp) == 0 {
				return nil, errors.New("demo: no UDP socket left")
			}
			pc := udp[0]
			udp = udp[1:]
			return pc, nil
		},
		Listen: func(network, addr string) (net.Listener, error) {
			l, err := net.Listen(network, addr)
			if err != nil {
				return nil, err
			}
			return rtspguard.Listen(l), nil
		},
	}
	if err := s.rtsp.Start(); err != nil {
		for _, pc := range udp {
			_ = pc.Close()
		}
		return fmt.Errorf("demo: listening on %s: %w", s.cfg.Addr, err)
	}
	s.stream = &gortsplib.ServerStream{
		Server: s.rtsp,
		Desc:   &description.Session{Title: "segd sample camera", Medias: []*description.Media{s.track.media}},
	}
	if err := s.stream.Initialize(); err != nil {
		s.rtsp.Close()
		return fmt.Errorf("demo: %w", err)
	}
	u := url.URL{Scheme: "rtsp", Host: s.rtsp.NetListener().Addr().String(), Path: Path}
	s.url = u.String()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.done.Go(func() { s.play(ctx) })
	return nil
}

// URL returns where the stream is, without credentials; "" before Start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Stop ends the sending of frames, leaves the clients connected, and returns how
// many frames were sent, the first of them to the first client that played. It
// may be called more than once; Close is still needed.
func (s *Server) Stop() int64 {
	s.mu.Lock()
	cancel := s.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	s.done.Wait()
	return s.sent
}

// Close disconnects every client, stops listening and waits for everything the
// server started. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	first := s.url != "" && !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.cancel()
		s.stream.Close()
		s.rtsp.Close()
	}
	s.done.Wait()
}

// maxLate is how far the stream may fall behind, as when the machine slept,
// before it goes on from now instead of sending what it missed in a burst.
const maxLate = time.Second

// play sends the clip, frame after frame, from the first PLAY on.
func (s *Server) play(ctx context.Context) {
	select {
	case <-s.playing:
	case <-ctx.Done():
		return
	}
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := int64(0); ; n++ {
		due := start.Add(time.Duration(n) * time.Second / time.Duration(s.clip.FPS))
		if late := time.Since(due); late > maxLate {
			start, due = start.Add(late), due.Add(late)
		}
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		s.send(n, due)
	}
}

// send sends the n-th frame since playing began, due at the wall clock's due.
func (s *Server) send(n int64, due time.Time) {
	frame := (s.clip.Start + int(n%int64(s.clip.Len()))) % s.clip.Len()
	packets, err := s.track.packetise(s.clip.units[frame])
	if err != nil {
		s.log.Error("frame not sent", "frame", frame, "error", err)
		return
	}
	for _, p := range packets {
		p.Timestamp = uint32(n * clockRate / int64(s.clip.FPS)) // wraps as RTP time does
		if err := s.stream.WritePacketRTPWithNTP(s.track.media, p, due); err != nil {
			return // closing
		}
	}
	s.sent++
}

// listenUDPPair binds an even UDP port of host and the one after it, as RTP and
// RTCP want them.
func listenUDPPair(host string) (rtp, rtcp net.PacketConn, err error) {
	const attempts = 50
	for range attempts {
		if rtp, err = net.ListenPacket("udp", net.JoinHostPort(host, "0")); err != nil {
			break
		}
		port := rtp.LocalAddr().(*net.UDPAddr).Port
		err = fmt.Errorf("port %d is odd", port)
		if port%2 == 0 {
			rtcp, err = net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(port+1)))
			if err == nil {
				return rtp, rtcp, nil
			}
		}
		_ = rtp.Close()
	}
	return nil, nil, fmt.Errorf("demo: no pair of UDP ports on %s: %w", host, err)
}

// handler answers clients; it is the server under another name, so that its
// methods stay out of the package's API.
type handler Server

func (h *handler) authorised(conn *gortsplib.ServerConn, req *base.Request) bool {
	return h.cfg.User == "" || conn.VerifyCredentials(req, h.cfg.User, h.cfg.Password)
}

func (h *handler) find(conn *gortsplib.ServerConn, req *base.Request, path string) (*base.Response, *gortsplib.ServerStream, error) {
	if !h.authorised(conn, req) {
		return &base.Response{StatusCode: base.StatusUnauthorized}, nil, liberrors.ErrServerAuth{}
	}
	conn.NetConn().(*rtspguard.Conn).Trust()
	if "/"+strings.Trim(path, "/") != Path {
		return &base.Response{StatusCode: base.StatusNotFound}, nil, nil
	}
	h.mu.Lock() // a client may come while Start is still at work
	defer h.mu.Unlock()
	return &base.Response{StatusCode: base.StatusOK}, h.stream, nil
}

// OnDescribe implements gortsplib.ServerHandlerOnDescribe.
func (h *handler) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	return h.find(ctx.Conn, ctx.Request, ctx.Path)
}

// OnSetup implements gortsplib.ServerHandlerOnSetup.
func (h *handler) OnSetup(ctx *gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	return h.find(ctx.Conn, ctx.Request, ctx.Path)
}

// OnPlay implements gortsplib.ServerHandlerOnPlay.
func (h *handler) OnPlay(ctx *gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.starter == nil {
		h.starter = ctx.Conn
	}
	return &base.Response{StatusCode: base.StatusOK}, nil
}

// OnResponse implements gortsplib.ServerHandlerOnResponse. The stream begins
// when the first PLAY is answered and not in OnPlay: gortsplib makes the client
// a reader in between, and it must not miss the first frame.
func (h *handler) OnResponse(conn *gortsplib.ServerConn, _ *base.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.starter == conn && !h.began {
		h.began = true
		close(h.playing)
	}
}

// OnSessionOpen implements gortsplib.ServerHandlerOnSessionOpen.
func (h *handler) OnSessionOpen(ctx *gortsplib.ServerHandlerOnSessionOpenCtx) {
	h.log.Debug("client came", "client", ctx.Conn.NetConn().RemoteAddr().String())
}

// OnSessionClose implements gortsplib.ServerHandlerOnSessionClose.
func (h *handler) OnSessionClose(ctx *gortsplib.ServerHandlerOnSessionCloseCtx) {
	h.log.Debug("client left", "reason", ctx.Error)
}

// OnStreamWriteError implements gortsplib.ServerHandlerOnStreamWriteError.
func (h *handler) OnStreamWriteError(ctx *gortsplib.ServerHandlerOnStreamWriteErrorCtx) {
	h.log.Debug("client is too slow", "error", ctx.Error)
}

// OnPacketsLost implements gortsplib.ServerHandlerOnPacketsLost.
func (h *handler) OnPacketsLost(ctx *gortsplib.ServerHandlerOnPacketsLostCtx) {
	h.log.Debug("packets lost", "count", ctx.Lost)
}

// OnDecodeError implements gortsplib.ServerHandlerOnDecodeError.
func (h *handler) OnDecodeError(ctx *gortsplib.ServerHandlerOnDecodeErrorCtx) {
	h.log.Debug("bad packet from client", "error", ctx.Error)
}
