package restream

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/headers"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
	"github.com/pion/rtp"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/listen"
	"github.com/segd/segd/internal/rtspguard"
)

const (
	// writeQueue is how many packets wait for a viewer: those of a key frame come at once. It is a power of two.
	writeQueue = 1024
	// writeBuffer is how much waits in the kernel besides.
	writeBuffer = 256 << 10
	// writeTimeout is for how long a viewer may read nothing.
	writeTimeout = 10 * time.Second
	// maxConns bounds the connections, and maxClient those of one client; package rtspguard bounds those without a password.
	maxConns  = 256
	maxClient = maxConns / 2
)

// RTSPConfig says where streams are served by RTSP, and to whom.
type RTSPConfig struct {
	// Addr is host:port to listen on, over TCP.
	Addr string
	// Tokens let in clients that have one of them as the password, with any user name. None: all clients.
	Tokens []string
	// Elsewhere names the box of a fleet that runs a camera; empty: this one, or none. Nil: there is no fleet.
	Elsewhere func(camera string) (box string)
	// Logger takes what happens. Nil discards.
	Logger *slog.Logger
}

// RTSP is an RTSP server. Make it with Listen. Packets go over the viewers' connections (interleaved), and over those only.
type RTSP struct {
	cfg     RTSPConfig
	streams *Streams
	listens net.Listener
	server  *gortsplib.Server
	media   *description.Media
	shared  *gortsplib.ServerStream      // of all paths: which packets a viewer gets says Streams
	wrong   *limit.Limiter[netip.Prefix] // passwords
	started bool
	ready   chan struct{} // closed when there is shared
}

// Listen takes the address, so that one already in use is found before anything else is started. Start must follow, and
// Close.
func Listen(cfg RTSPConfig, streams *Streams) (*RTSP, error) {
	listens, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, listen.Explain("restream", "rtsp.addr", cfg.Addr, err)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Elsewhere == nil {
		cfg.Elsewhere = func(string) string { return "" }
	}
	// The parameter sets come with each key frame, since they change with the size of the pictures.
	media := &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{
		&format.H264{PayloadTyp: payloadType, PacketizationMode: 1},
	}}
	s := &RTSP{cfg: cfg, streams: streams, listens: listens, media: media, wrong: limit.New[netip.Prefix](), ready: make(chan struct{})}
	s.server = &gortsplib.Server{
		Handler: (*handler)(s), RTSPAddress: cfg.Addr, WriteQueueSize: writeQueue, WriteTimeout: writeTimeout,
		AuthMethods: []auth.VerifyMethod{auth.VerifyMethodDigestMD5}, // the token itself is never sent
		Listen: func(string, string) (net.Listener, error) {
			return rtspguard.Listen(limit.Listen(listener{listens}, limit.Conns{Setting: "rtsp.addr", All: maxConns, Strangers: maxClient, Logger: cfg.Logger})), nil
		},
	}
	return s, nil
}

// Start begins to serve.
func (s *RTSP) Start() error {
	if err := s.server.Start(); err != nil {
		return fmt.Errorf("restream: %w", err)
	}
	s.started = true
	s.shared = &gortsplib.ServerStream{Server: s.server, Desc: &description.Session{Title: "segd", Medias: []*description.Media{s.media}}}
	if err := s.shared.Initialize(); err != nil {
		return fmt.Errorf("restream: %w", err)
	}
	close(s.ready)
	s.cfg.Logger.Info("the cameras are served by RTSP", "url", "rtsp://"+s.Addr().String()+"/CAMERA", "and", "CAMERA/"+Overlay)
	return nil
}

// listener has a small buffer in the kernel for each connection, so that a slow viewer gets recent pictures.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, is := conn.(*net.TCPConn); is {
		_ = tcp.SetWriteBuffer(writeBuffer) // another one works, too
	}
	return conn, err
}

// Addr is where it listens.
func (s *RTSP) Addr() net.Addr { return s.listens.Addr() }

// Close disconnects everybody, gives the address back and waits until nothing is left of either. It may be called more
// than once.
func (s *RTSP) Close() {
	if s.started {
		s.server.Close()
	}
	_ = s.listens.Close() // the server may have
}

// handler answers viewers; it is the server under another name, so that its methods stay out of the package's API.
type handler RTSP

var errNoPassword = errors.New("too many requests without a right password")

// admit looks at who asks for what. If it returns nil they may have it.
func (h *handler) admit(conn *gortsplib.ServerConn, req *base.Request, path string) (*base.Response, error) {
	<-h.ready // gortsplib lets people in before
	peer := conn.NetConn().(*rtspguard.Conn)
	var given headers.Authorization
	has := given.Unmarshal(req.Header["Authorization"]) == nil
	if !h.knows(conn, req, given.Username) {
		if !has {
			return &base.Response{StatusCode: base.StatusUnauthorized}, liberrors.ErrServerAuth{}
		}
		h.cfg.Logger.Debug("a wrong password by RTSP", "client", peer.RemoteAddr().String())
		if wait, ok := h.wrong.Spend(peer.Client, limit.CostWork); !ok {
			res := refusal(base.StatusServiceUnavailable, errNoPassword.Error())
			res.Header = base.Header{"Retry-After": base.HeaderValue{strconv.Itoa(wait)}}
			return res, errNoPassword
		}
		return &base.Response{StatusCode: base.StatusUnauthorized}, liberrors.ErrServerAuth{}
	}
	peer.Trust()
	camera, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if box := h.cfg.Elsewhere(camera); box != "" {
		return refusal(base.StatusNotFound, fmt.Sprintf("camera %q is run by box %q; ask there", camera, box)), nil
	}
	if err := h.streams.Check(strings.TrimPrefix(path, "/")); err != nil {
		return refusalOf(err), nil
	}
	return nil, nil
}

// knows tells whether req has a right password.
func (h *handler) knows(conn *gortsplib.ServerConn, req *base.Request, user string) bool {
	user = cmp.Or(user, "segd") // for none gortsplib makes no nonce
	for _, token := range h.cfg.Tokens {
		if conn.VerifyCredentials(req, user, token) {
			return true
		}
	}
	return len(h.cfg.Tokens) == 0
}

func refusal(status base.StatusCode, why string) *base.Response {
	return &base.Response{StatusCode: status, StatusMessage: base.StatusMessages[status] + ": " + why}
}

func refusalOf(err error) *base.Response {
	if errors.Is(err, ErrNoStream) || errors.Is(err, ErrRemoved) {
		return refusal(base.StatusNotFound, err.Error())
	}
	return refusal(base.StatusServiceUnavailable, err.Error())
}

// OnDescribe implements gortsplib.ServerHandlerOnDescribe.
func (h *handler) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if res, err := h.admit(ctx.Conn, ctx.Request, ctx.Path); res != nil {
		return res, nil, err
	}
	return &base.Response{StatusCode: base.StatusOK}, h.shared, nil
}

// OnSetup implements gortsplib.ServerHandlerOnSetup.
func (h *handler) OnSetup(ctx *gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if res, err := h.admit(ctx.Conn, ctx.Request, ctx.Path); res != nil {
		return res, nil, err
	}
	return &base.Response{StatusCode: base.StatusOK}, h.shared, nil
}

// OnPlay implements gortsplib.ServerHandlerOnPlay. Packets wait in the session's queue until the answer is sent.
func (h *handler) OnPlay(ctx *gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	if ctx.Session.UserData() != nil { // it plays
		return &base.Response{StatusCode: base.StatusOK}, nil
	}
	session := ctx.Session
	viewer, err := h.streams.Watch(RTSPProtocol, strings.TrimPrefix(ctx.Path, "/"), func(p *rtp.Packet, captured time.Time) error {
		return session.WritePacketRTPWithNTP(h.media, p, captured)
	}, func(error) { session.Close() })
	if err != nil {
		return refusalOf(err), nil
	}
	session.SetUserData(viewer)
	viewer.Start()
	return &base.Response{StatusCode: base.StatusOK}, nil
}

// OnPause implements gortsplib.ServerHandlerOnPause.
func (h *handler) OnPause(ctx *gortsplib.ServerHandlerOnPauseCtx) (*base.Response, error) {
	h.leave(ctx.Session)
	return &base.Response{StatusCode: base.StatusOK}, nil
}

// OnSessionClose implements gortsplib.ServerHandlerOnSessionClose.
func (h *handler) OnSessionClose(ctx *gortsplib.ServerHandlerOnSessionCloseCtx) {
	h.leave(ctx.Session)
	h.cfg.Logger.Debug("an RTSP session ended", "reason", ctx.Error)
}

func (h *handler) leave(session *gortsplib.ServerSession) {
	if viewer, plays := session.UserData().(*Viewer); plays {
		viewer.Leave()
		session.SetUserData(nil)
	}
}
