package ingest

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/demo"
)

// proxy stands between a source and a camera and does to their connections what
// networks do.
type proxy struct {
	t        testing.TB
	listener net.Listener
	backend  string
	done     sync.WaitGroup

	mu     sync.Mutex
	links  map[*proxied]bool
	frozen bool // new connections too are accepted and nothing passes
	closed bool
}

// proxied is one connection through a proxy.
type proxied struct {
	near, far net.Conn
	gate      chan struct{} // closed: bytes pass
	corrupt   bool          // under proxy.mu
}

// throughProxy returns a proxy to the camera at address, and the address to dial
// instead.
func throughProxy(t testing.TB, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: l, backend: u.Host, links: map[*proxied]bool{}}
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.backend)
		if err != nil {
			near.Close()
			continue
		}
		l := &proxied{near: near, far: far, gate: make(chan struct{})}
		p.mu.Lock()
		p.links[l] = true
		if !p.frozen || p.closed {
			close(l.gate)
		}
		closed := p.closed
		p.mu.Unlock()
		if closed {
			l.end()
		}
		p.done.Go(func() { p.pump(l, near, far, true) })
		p.done.Go(func() { p.pump(l, far, near, false) })
	}
}

// pump passes bytes from src to dst; those of the camera can be corrupted.
func (p *proxy) pump(l *proxied, dst, src net.Conn, fromCamera bool) {
	defer l.end()
	buf := make([]byte, 4096)
	for {
		n, err := src.Read(buf)
		p.mu.Lock()
		gate, corrupt := l.gate, l.corrupt && fromCamera
		p.mu.Unlock()
		<-gate
		if err != nil {
			return
		}
		if corrupt {
			for i := range buf[:n] {
				buf[i] ^= 0x55
			}
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *proxied) end() {
	l.near.Close()
	l.far.Close()
}

// freeze lets nothing pass on the connections there are, and keeps them open: as
// when the other host has lost its power. With all it does the same to new ones.
func (p *proxy) freeze(all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = all
	for l := range p.links {
		l.gate = make(chan struct{})
	}
}

// thaw lets pass what freeze held.
func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = false
	for l := range p.links {
		select {
		case <-l.gate:
		default:
			close(l.gate)
		}
	}
}

// cut ends every connection at once, without a goodbye.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_ = l.near.(*net.TCPConn).SetLinger(0) // a reset instead of an orderly end
		l.end()
		delete(p.links, l)
	}
}

// corrupt spoils what the camera sends on the connections there are.
func (p *proxy) corrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.corrupt = true
	}
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.thaw()
	p.cut()
	p.done.Wait()
}

// A network that fails in each of its ways, and is well again: frames go on, with
// what was not there counted, and Run ends when told to.
func TestNetworkFaults(t *testing.T) {
	for _, tc := range []struct {
		name       string
		fault      func(p *proxy)
		reconnects int
		why        error // of going down; nil: whatever it is called
	}{
		{"cut", (*proxy).cut, 1, nil},
		{"half open", func(p *proxy) { p.freeze(false) }, 1, ErrStalled},
		{"corrupted", (*proxy).corrupt, 1, nil},
		{"delayed", func(p *proxy) { p.freeze(false); time.Sleep(300 * time.Millisecond); p.thaw() }, 0, nil},
		{"all silent, then well", func(p *proxy) {
			p.freeze(true)
			time.Sleep(1500 * time.Millisecond) // so that redialling meets the silence too
			p.mu.Lock()
			p.frozen = false
			p.mu.Unlock()
		}, 1, ErrStalled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, clip(t, clipConfig), demo.Config{})
			p, address := throughProxy(t, s.URL())
			cfg := testConfig(address, "tcp")
			cfg.StallTimeout = 10 * patience // nothing here may need it
			w := start(t, cfg)
			w.take(10)
			tc.fault(p)
			e := &w.events
			eventually(t, "the camera is up again", func() bool {
				e.mu.Lock()
				defer e.mu.Unlock()
				return e.reconnects >= tc.reconnects
			})
			for len(w.frames) > 0 { // of before
				w.take(1)
			}
			w.take(10)
			if err := w.stop(); !errors.Is(err, context.Canceled) {
				t.Errorf("Run returned %v", err)
			}
			// A machine that is slow for a while may make a second connection be quicker.
			if e.ups != e.reconnects+1 || e.downs != e.reconnects || e.reconnects < tc.reconnects || tc.reconnects == 0 && e.reconnects != 0 {
				t.Errorf("events: %+v", e)
			}
			if tc.why != nil {
				mustWrap(t, e.lastDown, tc.why)
			}
		})
	}
}
