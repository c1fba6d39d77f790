package main

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
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/internal/natsconn"
	"github.com/segd/segd/internal/problem"
	"github.com/segd/segd/web"
)

const (
	// forwardedFor is who sent a request that another box hands on, and forwardedAs as what that box has let them in
	// (see web.Server.As); nobody but boxes gets here.
	forwardedFor = "Segd-Forwarded-For"
	forwardedAs  = "Segd-Forwarded-As"
	// handedOn bounds how many requests of other boxes are answered at once, by each tunnel, besides live connections.
	handedOn      = 64
	headerForward = 30 * time.Second // that it may take to answer
	// retryFull is when to come again, in seconds, to a box that has as much to do as it may.
	retryFull = "10"
)

// forwarder hands requests about cameras that other boxes run on to them, over NATS, and answers theirs.
type forwarder struct {
	d        *daemon
	keys     *boxKeys
	commands *tunnel // of operators and publishers
	views    *tunnel // live connections, and all that viewers ask
	server   *http.Server
	proxy    *httputil.ReverseProxy
	served   sync.WaitGroup
}

// tunnel is a way between boxes. What goes by one takes nothing that another needs: it has a connection to NATS, where
// pictures that wait hold up what comes after them, and an allowance of its own.
type tunnel struct {
	conn      *nats.Conn
	listener  net.Listener
	transport *http.Transport
}

// openForwarder begins to answer what other boxes hand on to this one.
func (d *daemon) openForwarder() (_ *forwarder, err error) {
	f := &forwarder{d: d}
	if f.keys, err = newBoxKeys(d.cfg); err != nil {
		return nil, err
	}
	if f.commands, err = f.openTunnel("commands", handedOn); err != nil {
		return nil, err
	}
	const roles = 2 // that may watch, each as many as http.viewers
	if f.views, err = f.openTunnel("views", roles*d.cfg.HTTP.Viewers+handedOn); err != nil {
		f.commands.conn.Close()
		return nil, err
	}
	quiet := slog.NewLogLogger(d.log.Handler(), slog.LevelDebug)
	f.proxy = &httputil.ReverseProxy{Transport: f, ErrorLog: quiet, Rewrite: handOn, ErrorHandler: f.failed}
	f.server = &http.Server{Handler: http.HandlerFunc(f.answer), ReadHeaderTimeout: headerForward, ErrorLog: quiet}
	for _, t := range []*tunnel{f.commands, f.views} {
		f.served.Go(func() {
			if err := f.server.Serve(t.listener); !errors.Is(err, http.ErrServerClosed) {
				d.log.Warn("requests of other boxes are not answered any more", "error", err)
			}
		})
	}
	return f, nil
}

// openTunnel opens the tunnel of that kind, by which this box is asked no more at once than most.
func (f *forwarder) openTunnel(kind string, most int) (*tunnel, error) {
	subject := func(box string) string { return fleet.Subject(f.d.cfg.Site, kind, box) }
	secured, err := f.keys.tls(f.d.cfg.Fleet.Box, endServer)
	if err != nil {
		return nil, err
	}
	t := &tunnel{}
	if t.conn, err = f.d.bus.Another(); err != nil {
		return nil, err
	}
	listener, err := natsconn.Listen(t.conn, subject(f.d.cfg.Fleet.Box), natsconn.Config{Connections: most})
	if err != nil {
		t.conn.Close()
		return nil, err
	}
	t.listener = tls.NewListener(listener, secured)
	t.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			box, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return f.dial(ctx, t.conn, subject(box), box)
		},
		ResponseHeaderTimeout: headerForward, DisableCompression: true,
		DisableKeepAlives: true, // those of many boxes, kept for later, would take all that one may be asked at once
	}
	return t, nil
}

// dial opens a connection to a box.
func (f *forwarder) dial(ctx context.Context, over *nats.Conn, subject, box string) (net.Conn, error) {
	secured, err := f.keys.tls(box, endClient)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, headerForward)
	defer cancel()
	plain, err := natsconn.Dial(ctx, over, subject, natsconn.Config{})
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, secured)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, err
	}
	return conn, nil
}

// RoundTrip sends a request to the box that it is handed on to.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	if to := holderOf(r); to.as == web.Viewer || r.Header.Get("Upgrade") != "" {
		return f.views.transport.RoundTrip(r)
	}
	return f.commands.transport.RoundTrip(r)
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
func (f *forwarder) failed(w http.ResponseWriter, r *http.Request, err error) {
	box := holderOf(r).box
	if r.Context().Err() == nil {
		f.d.log.Debug("a request is not handed on", "box", box, "path", r.URL.Path, "error", err)
	}
	if errors.Is(err, natsconn.ErrFull) {
		w.Header().Set("Retry-After", retryFull)
		problem.Write(w, http.StatusServiceUnavailable, fmt.Sprintf("box %s, which runs the camera, is asked as much as it may be at once; try again in %s s", box, retryFull))
		return
	}
	problem.Write(w, http.StatusBadGateway, fmt.Sprintf("box %s, which runs the camera, does not answer: %v", box, err))
}

// answer answers a request that another box hands on, for a camera that this one runs.
func (f *forwarder) answer(w http.ResponseWriter, r *http.Request) {
	addr, err := netip.ParseAddrPort(r.Header.Get(forwardedFor))
	if err != nil {
		problem.Write(w, http.StatusBadRequest, "the header "+forwardedFor+" is none that a box sends")
		return
	}
	as := r.Header.Get(forwardedAs)
	r.RemoteAddr = addr.String()
	r.Header.Del(forwardedFor)
	r.Header.Del(forwardedAs)
	f.d.web.ServeHandedOn(w, r.WithContext(context.WithValue(r.Context(), handed{}, true)), as)
}

// holder is the box that a request is handed on to, and as what whoever asks was let in.
type holder struct{ box, as string }

// holderKey is the context's key of the holder, and handed that of a request that was handed on.
type (
	holderKey struct{}
	handed    struct{}
)

func withHolder(ctx context.Context, to holder) context.Context {
	return context.WithValue(ctx, holderKey{}, to)
}

func holderOf(r *http.Request) holder {
	to, _ := r.Context().Value(holderKey{}).(holder)
	return to
}

// to returns who hands requests on to a box.
func (f *forwarder) to(box string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(handed{}) != nil { // from one to the other and back
			problem.Write(w, http.StatusServiceUnavailable, fmt.Sprintf("the camera is on its way to box %s", box))
			return
		}
		to := holder{box, f.d.web.As(r)}
		f.proxy.ServeHTTP(w, r.WithContext(withHolder(r.Context(), to)))
	})
}

func (f *forwarder) close() {
	if f == nil {
		return
	}
	_ = f.server.Close() // what is under way ends with this box
	f.served.Wait()
	f.commands.conn.Close()
	f.views.conn.Close()
}

// elsewhere is the box that runs a camera, if that is another one, and the URL of its page.
func (b *box) elsewhere(camera string) (name, page string) {
	name, page = b.member.Holder(camera)
	if name == b.d.cfg.Fleet.Box {
		return "", ""
	}
	return name, page
}

// publisherDoor is where publishers come to, by WHIP: those of a camera that another box runs are sent to its page or,
// where it has none, what they ask is handed on.
type publisherDoor struct{ d *daemon }

func (p publisherDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := p.d
	if d.box == nil {
		d.whip.ServeHTTP(w, r)
		return
	}
	camera, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/whip/"), "/")
	name, page := d.box.elsewhere(camera)
	switch {
	case name == "":
		d.whip.ServeHTTP(w, r)
	case page != "" && r.Context().Value(handed{}) == nil:
		http.Redirect(w, r, strings.TrimSuffix(page, "/")+r.URL.Path, http.StatusTemporaryRedirect)
	default:
		d.box.forward.to(name).ServeHTTP(w, r)
	}
}

// hearOthers tells the page of what other boxes publish, until ctx ends: of each camera what has the greatest lease. In
// a large fleet it does while somebody looks at it only, since each box tells of each of its cameras once a second.
func (b *box) hearOthers(ctx context.Context) {
	d := b.d
	var mu sync.Mutex
	leases := map[string]uint64{}
	newest := func(camera string, token uint64) bool {
		if name, _ := b.elsewhere(camera); name == "" {
			return false // this box tells of it itself
		}
		mu.Lock()
		defer mu.Unlock()
		if token < leases[camera] {
			return false
		}
		leases[camera] = token
		return true
	}
	others := bus.Handlers{
		Event: func(e *segdv1.Event) {
			if newest(e.Camera, e.Lease) {
				d.web.Event(e)
			}
		},
		Status: func(s *segdv1.Status) {
			if newest(s.Camera, s.Lease) {
				d.web.Status(s)
			}
		},
	}
	stop := func() {}
	defer func() { stop() }()
	heard := false
	var looked time.Time
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if d.web.Stats().Viewers > 0 {
			looked = time.Now()
		}
		few := len(d.cameras.Settings().Cameras) <= fewCameras
		switch wanted := few || time.Since(looked) < lookedFor; {
		case wanted && !heard:
			end, err := d.bus.Hear(others)
			if err != nil {
				d.log.Debug("what other boxes publish is not heard", "error", err)
				break
			}
			stop, heard = end, true
		case !wanted && heard:
			stop()
			stop, heard = func() {}, false
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const (
	// fewCameras are so many that each box can hear of all.
	fewCameras = 256
	// lookedFor is for how long others are heard after somebody has looked at the page.
	lookedFor = time.Minute
)
