// Package netfault is a TCP proxy that does to connections what networks do: it
// slows down, cuts, corrupts, and goes silent. Tests put it before a camera.
//
// All methods may be called from any goroutine.
package netfault

import (
	"net"
	"sync"
	"time"
)

// Proxy stands between a client and a server. Make it with New.
type Proxy struct {
	listener net.Listener
	backend  string
	done     sync.WaitGroup

	mu     sync.Mutex
	links  map[*proxied]bool
	frozen [ways]bool // new connections are accepted and nothing passes that way
	rate   int        // bytes a second of each connection; 0: no limit
	closed bool
}

// Way is one of the two ways that bytes go.
type Way int

// The ways.
const (
	ToServer Way = iota
	ToClient
	ways
)

// proxied is one connection through a Proxy.
type proxied struct {
	near, far net.Conn
	gates     [ways]chan struct{} // closed: bytes pass that way
	corrupt   bool                // under Proxy.mu
}

// New returns a proxy to the server at backend, host and port, that listens on a free
// port of 127.0.0.1. Close must follow.
func New(backend string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, backend: backend, links: map[*proxied]bool{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr returns the host and port to dial instead of the server's.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
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
		l := &proxied{near: near, far: far}
		p.mu.Lock()
		p.links[l] = true
		for way := range ways {
			l.gates[way] = make(chan struct{})
			if !p.frozen[way] || p.closed {
				close(l.gates[way])
			}
		}
		closed := p.closed
		p.mu.Unlock()
		if closed {
			l.end()
		}
		p.done.Go(func() { p.pump(l, near, far, ToClient) })
		p.done.Go(func() { p.pump(l, far, near, ToServer) })
	}
}

// pump passes bytes from src to dst; those of the camera can be corrupted.
func (p *Proxy) pump(l *proxied, dst, src net.Conn, way Way) {
	defer l.end()
	fromCamera := way == ToClient
	buf := make([]byte, 4096)
	for {
		n, err := src.Read(buf)
		p.mu.Lock()
		gate, corrupt, rate := l.gates[way], l.corrupt && fromCamera, p.rate
		p.mu.Unlock()
		<-gate
		if rate > 0 && fromCamera {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
		}
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

// open tells whether bytes pass that way. It needs Proxy.mu, as pass does.
func (l *proxied) open(way Way) bool {
	select {
	case <-l.gates[way]:
		return true
	default:
		return false
	}
}

func (l *proxied) pass() {
	for way := range ways {
		if !l.open(way) {
			close(l.gates[way])
		}
	}
}

// Freeze lets nothing pass on the connections there are, and keeps them open: as
// when the other host has lost its power. With all it does the same to new ones,
// until Mend or Thaw.
func (p *Proxy) Freeze(all bool) {
	for way := range ways {
		p.FreezeWay(way, all)
	}
}

// FreezeWay is Freeze of what goes one way.
func (p *Proxy) FreezeWay(way Way, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen[way] = all
	for l := range p.links {
		if l.open(way) {
			l.gates[way] = make(chan struct{})
		}
	}
}

// Mend lets new connections pass again, and leaves the frozen ones as they are.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = [ways]bool{}
}

// Thaw lets pass what Freeze held.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = [ways]bool{}
	for l := range p.links {
		l.pass()
	}
}

// Cut ends every connection at once, without a goodbye.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		_ = l.near.(*net.TCPConn).SetLinger(0) // a reset instead of an orderly end
		l.end()
		l.pass() // to their end
		delete(p.links, l)
	}
}

// Corrupt spoils what the camera sends on the connections there are.
func (p *Proxy) Corrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.corrupt = true
	}
}

// Slow lets no more than so many bytes a second of what the camera sends pass on each
// connection; 0 lifts that.
func (p *Proxy) Slow(bytesPerSecond int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = bytesPerSecond
}

// Close ends every connection and waits until nothing is left of them.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.Thaw()
	p.Cut()
	p.done.Wait()
}
