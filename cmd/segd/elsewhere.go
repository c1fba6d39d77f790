package main

import (
	"context"
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
)

const (
	// forwardedFor is who sent a request that another box hands on; nobody but boxes gets here.
	forwardedFor = "Segd-Forwarded-For"
	// handedOn bounds how many connections of other boxes are answered at once.
	handedOn = 64
	// idleForward is for how long a connection to another box is kept for the next request.
	idleForward   = 30 * time.Second
	headerForward = 30 * time.Second // that it may take to answer
)

// forwarder hands requests about cameras that other boxes run on to them, over NATS, and answers theirs.
type forwarder struct {
	d        *daemon
	conn     *nats.Conn
	listener net.Listener
	server   *http.Server
	proxy    *httputil.ReverseProxy
	tunnel   *http.Transport
	served   sync.WaitGroup
}

// openForwarder begins to answer what other boxes hand on to this one.
func (d *daemon) openForwarder() (_ *forwarder, err error) {
	f := &forwarder{d: d}
	if f.conn, err = d.bus.Another(); err != nil {
		return nil, err
	}
	subject := func(box string) string { return fleet.Subject(d.cfg.Site, "http", box) }
	f.tunnel = &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			box, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return natsconn.Dial(ctx, f.conn, subject(box), natsconn.Config{})
		},
		IdleConnTimeout: idleForward, ResponseHeaderTimeout: headerForward, MaxConnsPerHost: handedOn, DisableCompression: true,
	}
	quiet := slog.NewLogLogger(d.log.Handler(), slog.LevelDebug)
	f.proxy = &httputil.ReverseProxy{
		Transport: f.tunnel, ErrorLog: quiet,
		Rewrite: func(r *httputil.ProxyRequest) {
			box, _ := r.In.Context().Value(holder{}).(string)
			r.SetURL(&url.URL{Scheme: "http", Host: box})
			r.Out.Host = r.In.Host // which the page's origin is held against
			r.Out.Header.Set(forwardedFor, r.In.RemoteAddr)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			box, _ := r.Context().Value(holder{}).(string)
			if r.Context().Err() == nil {
				d.log.Debug("a request is not handed on", "box", box, "path", r.URL.Path, "error", err)
			}
			problem.Write(w, http.StatusBadGateway, fmt.Sprintf("box %s, which runs the camera, does not answer: %v", box, err))
		},
	}
	if f.listener, err = natsconn.Listen(f.conn, subject(d.cfg.Fleet.Box), natsconn.Config{Connections: handedOn}); err != nil {
		f.conn.Close()
		return nil, err
	}
	f.server = &http.Server{Handler: http.HandlerFunc(f.answer), ReadHeaderTimeout: headerForward, ErrorLog: quiet}
	f.served.Go(func() {
		if err := f.server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
			d.log.Warn("requests of other boxes are not answered any more", "error", err)
		}
	})
	return f, nil
}

// answer answers a request that another box hands on, for a camera that this one runs.
func (f *forwarder) answer(w http.ResponseWriter, r *http.Request) {
	addr, err := netip.ParseAddrPort(r.Header.Get(forwardedFor))
	if err != nil {
		problem.Write(w, http.StatusBadRequest, "the header "+forwardedFor+" is none that a box sends")
		return
	}
	r.RemoteAddr = addr.String()
	r.Header.Del(forwardedFor)
	f.d.web.Handler().ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), handed{}, true)))
}

// holder is the context's key of the box that a request is handed on to, and handed of one that was.
type (
	holder struct{}
	handed struct{}
)

// to returns who hands requests on to a box.
func (f *forwarder) to(box string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(handed{}) != nil { // from one to the other and back
			problem.Write(w, http.StatusServiceUnavailable, fmt.Sprintf("the camera is on its way to box %s", box))
			return
		}
		f.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), holder{}, box)))
	})
}

func (f *forwarder) close() {
	if f == nil {
		return
	}
	_ = f.server.Close() // what is under way ends with this box
	f.served.Wait()
	f.tunnel.CloseIdleConnections()
	f.conn.Close()
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
		few := len(d.current.Load().Cameras) <= fewCameras
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
