package boxlink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

const (
	// forwardedFor is who sent a request that another box hands on, and forwardedAs as what that box has let them in;
	// only boxes get here.
	forwardedFor = "Segd-Forwarded-For"
	forwardedAs  = "Segd-Forwarded-As"

	connectTime = 10 * time.Second // that it may take until two boxes speak
	headerTime  = 30 * time.Second // that an answer may take to begin
	idleTime    = 15 * time.Second // for which a connection waits for the next request; the asked box waits longer
	// retryFull is when to come again, in seconds, to a box that has as much to do as it may.
	retryFull = "10"
)

// Config is what a Link is made of. All but Logger is required.
type Config struct {
	// Box is the name of this box.
	Box string
	// Secret is what all boxes of the fleet have and no other host has.
	Secret []byte
	// Address returns the URL at which the page of another box is reached, or why that is not known.
	Address func(box string) (string, error)
	// Answer answers a request that another box hands on. r.RemoteAddr is who asked that box, and as is As there.
	Answer func(w http.ResponseWriter, r *http.Request, as string)
	// As tells as what this box has let in who sent r.
	As func(r *http.Request) string
	// Viewer is what As says of those who look and change nothing.
	Viewer string
	// Commands is how many requests of others than viewers this box answers at once, and Views how many of viewers, and
	// how many live connections of whomever.
	Commands, Views int
	Logger          *slog.Logger // nil discards
}

// Link hands requests on to other boxes, and answers theirs.
type Link struct {
	cfg       Config
	keys      keys
	in        *upgraded
	commands  chan struct{} // holds one for each that is answered; so does views
	views     chan struct{}
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	server    *http.Server
	served    sync.WaitGroup
}

// New returns a Link that answers other boxes once they come to Connect. Close must follow.
func New(cfg Config) (*Link, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Link{
		cfg: cfg, keys: keys{cfg.Secret}, in: newUpgraded(),
		commands: make(chan struct{}, cfg.Commands), views: make(chan struct{}, cfg.Views),
	}
	secured, err := l.keys.tls(cfg.Box, endServer)
	if err != nil {
		return nil, err
	}
	l.transport = &http.Transport{DialContext: l.dial, ResponseHeaderTimeout: headerTime, IdleConnTimeout: idleTime, MaxIdleConnsPerHost: cfg.Commands, MaxResponseHeaderBytes: limit.MaxHeader, DisableCompression: true}
	quiet := slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug)
	l.proxy = &httputil.ReverseProxy{Transport: l.transport, ErrorLog: quiet, Rewrite: handOn, ErrorHandler: l.failed}
	l.server = &http.Server{Handler: http.HandlerFunc(l.answer), ReadHeaderTimeout: connectTime, IdleTimeout: 2 * idleTime, ErrorLog: quiet, ConnContext: withConn}
	l.served.Go(func() {
		if err := l.server.Serve(tls.NewListener(l.in, secured)); !errors.Is(err, http.ErrServerClosed) {
			cfg.Logger.Warn("requests of other boxes are not answered any more", "error", err)
		}
	})
	return l, nil
}

// Close ends what is under way, but for live connections that are this box's: who answers them ends those.
func (l *Link) Close() {
	_ = l.server.Close() // closing a connection that is lost
	l.served.Wait()
	l.transport.CloseIdleConnections()
}

// Connect takes a connection of another box, to Path.
func (l *Link) Connect(w http.ResponseWriter, r *http.Request) { l.in.take(w, r) }

// dial opens a connection to a box, which addr names.
func (l *Link) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	box, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	page, err := l.cfg.Address(box)
	if err != nil {
		return nil, err
	}
	secured, err := l.keys.tls(box, endClient)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	outer, err := connect(ctx, page)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(outer, secured)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = outer.Close()
		return nil, fmt.Errorf("at %s: %w", page, err)
	}
	return conn, nil
}

// holder is the box that a request is handed on to, and as what its client was let in.
type holder struct{ box, as string }

// holderKey is the context's key of the holder, and handed that of a request that was handed on.
type (
	holderKey struct{}
	handed    struct{}
)

func holderOf(r *http.Request) holder {
	to, _ := r.Context().Value(holderKey{}).(holder)
	return to
}

// Handed tells whether another box has handed r on.
func Handed(r *http.Request) bool { return r.Context().Value(handed{}) != nil }

// To returns who hands requests on to a box.
func (l *Link) To(box string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Handed(r) { // from one to the other and back
			api.WriteProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("the camera is on its way to box %s", box))
			return
		}
		l.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), holderKey{}, holder{box, l.cfg.As(r)})))
	})
}

// handOn makes of a request the one that another box is sent: it tells who asks, and has nothing that lets them in.
func handOn(r *httputil.ProxyRequest) {
	to := holderOf(r.In)
	r.SetURL(&url.URL{Scheme: "http", Host: to.box})
	r.Out.Host = r.In.Host // which the page's origin is held against
	for _, secret := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
		r.Out.Header.Del(secret)
	}
	query := r.Out.URL.Query()
	for _, secret := range []string{"token", "access_token"} {
		query.Del(secret)
	}
	r.Out.URL.RawQuery = query.Encode()
	r.Out.Header.Set(forwardedFor, r.In.RemoteAddr)
	r.Out.Header.Set(forwardedAs, to.as)
}

// failed answers what was not handed on.
func (l *Link) failed(w http.ResponseWriter, r *http.Request, err error) {
	box := holderOf(r).box
	if r.Context().Err() == nil {
		l.cfg.Logger.Debug("a request is not handed on", "box", box, "path", r.URL.Path, "error", err)
	}
	api.WriteProblem(w, http.StatusBadGateway, fmt.Sprintf("box %s, which runs the camera, does not answer: %v", box, err))
}

// connOf is the context's key of a connection of another box.
type connOf struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connOf{}, limit.Of(c))
}

// answer answers a request that another box hands on, for a camera that this one runs.
func (l *Link) answer(w http.ResponseWriter, r *http.Request) {
	if conn, _ := r.Context().Value(connOf{}).(*limit.Conn); conn != nil {
		conn.Leave() // it is a box's, and what boxes ask is limited here
	}
	addr, err := netip.ParseAddrPort(r.Header.Get(forwardedFor))
	if err != nil {
		api.WriteProblem(w, http.StatusBadRequest, "the header "+forwardedFor+" is none that a box sends")
		return
	}
	as := r.Header.Get(forwardedAs)
	room := l.commands
	if as == l.cfg.Viewer || r.Header.Get("Upgrade") != "" {
		room = l.views
	}
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	default:
		w.Header().Set("Retry-After", retryFull)
		api.WriteProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("box %s, which runs the camera, is asked as much as it may be at once; try again in %s s", l.cfg.Box, retryFull))
		return
	}
	r.RemoteAddr = addr.String()
	r.Header.Del(forwardedFor)
	r.Header.Del(forwardedAs)
	l.cfg.Answer(w, r.WithContext(context.WithValue(r.Context(), handed{}, true)), as)
}
