package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/keypair"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/listen"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/web/boxlink"
)

const (
	headerTimeout   = 10 * time.Second
	requestTimeout  = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 3 * time.Second
)

// ErrClosed is why no viewer is accepted any more.
var ErrClosed = errors.New("web: server closed")

// Server serves the page, the API, health and metrics. Make it with New.
type Server struct {
	cfg     Config
	gate    *gate
	feed    *feed
	tls     *keypair.Pair // nil: no TLS
	handler http.Handler
	inner   http.Handler   // without what is done before a client is let in
	served  []string       // the patterns of what is
	quit    chan struct{}  // closed by Close
	joined  sync.WaitGroup // one for each viewer
	trying  chan struct{}  // holds one for each camera that is tried or looked for
	exports chan struct{}  // holds one while kept events are exported
	skipped atomic.Uint64  // frames that viewers were too slow for

	mu       sync.Mutex // guards what follows
	cameras  map[string]*camera
	order    []string
	strange  map[string]bool // unknown cameras that were logged
	viewers  map[role]int
	refused  uint64
	closed   bool
	listener *limit.Listener // nil unless listening
}

// New returns a server for cfg that does not listen yet. Its error names every
// fault of cfg; an address off loopback without a token is one.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, gate: newGate(cfg), feed: newFeed(), quit: make(chan struct{}), trying: make(chan struct{}, tryingAtOnce), exports: make(chan struct{}, 1),
		cameras: make(map[string]*camera), strange: make(map[string]bool), viewers: make(map[role]int),
	}
	if cfg.TLSCert != "" {
		if s.tls, err = keypair.Open(cfg.TLSCert, cfg.TLSKey, cfg.Logger); err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
	}
	mux := s.routes(assets)
	s.inner = s.recovering(mux)
	s.handler = withSecurityHeaders(s.tls != nil, below(cfg.BasePath, s.recovering(proxies(cfg.TrustedProxies).resolve(s.counted(s.gate.checkHost(mux))))))
	return s, nil
}

// mux is a ServeMux that tells what it serves.
type mux struct {
	http.ServeMux
	patterns []string
}

func (m *mux) Handle(pattern string, h http.Handler) {
	m.ServeMux.Handle(pattern, h)
	m.patterns = append(m.patterns, pattern)
}

func (m *mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

func (s *Server) routes(assets map[string]asset) http.Handler {
	mux := new(mux)
	private := func(pattern string, h http.Handler) { mux.Handle(pattern, s.gate.require(mayView, 0, h)) }

	mux.HandleFunc("GET /{$}", s.gate.page(assets[indexName]))
	mux.HandleFunc("GET /history", s.gate.page(assets["history.html"]))
	mux.HandleFunc("GET /recordings", s.gate.page(assets["recordings.html"]))
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		file, ok := assets[r.PathValue("name")]
		if !ok {
			api.WriteProblem(w, http.StatusNotFound, "no such file")
			return
		}
		file.serve(w, r)
	})
	mux.HandleFunc("GET /login", assets["login.html"].serve)
	mux.Handle("POST /login", http.NewCrossOriginProtection().Handler(http.HandlerFunc(s.gate.signIn)))
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET "+boxlink.Path, s.answering(s.ofBox(s.connect)))
	if s.cfg.Metrics != nil {
		private("GET /metrics", s.cfg.Metrics)
	}
	if s.cfg.WHIP != nil {
		mux.Handle(whipPath, s.gate.publisher(s.cfg.WHIP))
		mux.HandleFunc("GET "+publishPath, publishPage(assets[publishName]))
	}
	if s.cfg.WHEP != nil {
		mux.Handle(whepPath, s.gate.watcher(s.cfg.WHEP))
	}
	s.mountAPI(mux, s.api())
	s.served = mux.patterns
	return mux
}

// Handler returns the server as a handler, for tests and for serving it within
// another server; Close then ends its viewers.
func (s *Server) Handler() http.Handler { return s.handler }

// Listen takes the address, so that one already in use is found before anything
// else is started. Run must follow; it listens itself if Listen was not called.
func (s *Server) Listen() error { return s.listen(context.Background()) }

func (s *Server) listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.listener != nil {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return listen.Explain("web", "http.addr", s.cfg.Addr, err)
	}
	s.listener = limit.Listen(listener, conns(s.cfg))
	return nil
}

// URL returns where the page is: with the port in use once listening, before
// that with the one configured.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	addr := s.cfg.Addr
	if s.listener != nil {
		addr = s.listener.Addr().String()
	}
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return scheme + addr + s.cfg.BasePath + "/"
}

// Run serves until ctx ends, and then returns nil once every connection is
// closed and every goroutine joined. Any other end is an error.
func (s *Server) Run(ctx context.Context) error {
	if err := s.listen(ctx); err != nil {
		return err
	}
	s.cfg.Logger.Info("page and API are served", "url", s.URL())
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      requestTimeout, // not of live connections: they have their own
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    limit.MaxHeader,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		if s.tls == nil {
			served <- server.Serve(s.listener)
			return
		}
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.tls.Get}
		served <- server.ServeTLS(s.listener, "", "")
	}()

	var failure error
	select {
	case <-ctx.Done():
	case err := <-served:
		served <- err
		failure = fmt.Errorf("web: serving %s: %w", s.URL(), err)
		if errors.Is(err, net.ErrClosed) { // Close took the address away
			failure = ErrClosed
		}
	}
	s.Close()
	s.shutdown(ctx, server)
	<-served
	return failure
}

func (s *Server) shutdown(ctx context.Context, server *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close() // a request that would not end is cut
	}
}

// Close ends every viewer, waits for their goroutines, and gives the address
// back. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	if s.listener != nil {
		_ = s.listener.Close() // Run's server may have closed it
	}
	s.mu.Unlock()
	s.joined.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cameras {
		c.encoders.close()
	}
}

// Cameras sets which cameras there are, in the order of the page. Viewers of
// one that is gone are disconnected; one that stays keeps its viewers.
func (s *Server) Cameras(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make(map[string]*camera, len(names))
	s.order = s.order[:0]
	for _, name := range names {
		if kept[name] != nil {
			continue
		}
		c := s.cameras[name]
		if c == nil {
			c = newCamera(name, s.cfg, &s.skipped)
		}
		kept[name] = c
		s.order = append(s.order, name)
	}
	for name, c := range s.cameras {
		if kept[name] == nil {
			close(c.gone)
			c.encoders.close()
		}
	}
	s.cameras = kept
}

// Stats is how the clients of a Server do. The counts are since New.
type Stats struct {
	Viewers        int    // live connections and clients of /api/v1/events
	Refused        uint64 // viewers who came when there were as many as may be
	ConnsRefused   uint64 // connections that were closed because there were as many as may be
	FramesDropped  uint64 // pictures that a viewer was too slow for: a newer one took their place
	NoticesDropped uint64 // events and statuses that a client of /api/v1/events was too slow for
}

// Stats tells how the clients do.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	viewers := 0
	for _, n := range s.viewers {
		viewers += n
	}
	var conns uint64
	if s.listener != nil {
		conns = s.listener.Refused()
	}
	return Stats{viewers, s.refused, conns, s.skipped.Load(), s.feed.dropped.Load()}
}

// Watched tells whether anybody watches camera, so that its pictures are wanted.
// It is cheap enough to be asked for every frame.
func (s *Server) Watched(camera string) bool {
	c := s.camera(camera)
	return c != nil && c.watching.Load() > 0
}

// Publish shows a frame, of which p is the picture, to each as they may see it. It
// encodes the JPEG on the caller's goroutine if anybody watches (about 12 ms for
// 768×576 on one core), hands the frame to each viewer without waiting for any, and keeps
// neither argument. What cannot be encoded is logged, at most once a second.
func (s *Server) Publish(mf *segdv1.MaskFrame, p *privacy.Picture) {
	if c := s.known(mf.GetCamera()); c != nil {
		c.publish(mf, p)
	}
}

// Status shows how a camera does. It keeps nothing of st.
func (s *Server) Status(st *segdv1.Status) {
	if c := s.known(st.GetCamera()); c != nil {
		if text := c.setStatus(st); text != nil {
			s.feed.tell(noticeStatus, c.name, text)
		}
	}
}

func (s *Server) camera(name string) *camera {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cameras[name]
}

// known is camera for those who publish: a name that Cameras does not list is
// a fault, logged once.
func (s *Server) known(name string) *camera {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cameras[name]
	if c == nil && !s.strange[name] {
		s.strange[name] = true
		s.cfg.Logger.Warn("a camera that is not on the page publishes", "camera", name, "accepts", s.order)
	}
	return c
}

func (s *Server) list() []*camera {
	s.mu.Lock()
	defer s.mu.Unlock()
	cameras := make([]*camera, len(s.order))
	for i, name := range s.order {
		cameras[i] = s.cameras[name]
	}
	return cameras
}

// retryRefused is when a viewer who was refused may come again, in seconds.
const retryRefused = "10"

// enter counts a connection in, or answers why it cannot stay: there are too many, or
// the server is closed. Each role has its own allowance: viewers cannot keep operators
// from seeing what they do. If it returns true, leave must be called.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (leave func(), ok bool) {
	as := s.gate.role(r)
	s.mu.Lock()
	closed, full := s.closed, s.viewers[as] >= s.cfg.MaxViewers
	switch {
	case closed:
	case full:
		s.refused++
	default:
		s.viewers[as]++
		s.joined.Add(1)
	}
	s.mu.Unlock()
	switch {
	case closed:
		api.WriteProblem(w, http.StatusServiceUnavailable, ErrClosed.Error())
	case full:
		w.Header().Set("Retry-After", retryRefused)
		api.WriteProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("segd has its limit of %d viewers (http.viewers)", s.cfg.MaxViewers))
	}
	return func() { s.leave(as) }, !closed && !full
}

func (s *Server) leave(as role) {
	s.mu.Lock()
	s.viewers[as]--
	s.mu.Unlock()
	s.joined.Done()
}
