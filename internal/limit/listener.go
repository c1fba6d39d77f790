package limit

import (
	"net"
	"net/netip"
	"sync"
)

// Listener lets each Client have no more than so many connections at once, so that none takes all that there may be. What
// is one too many is closed.
type Listener struct {
	net.Listener
	most int

	mu    sync.Mutex
	conns map[netip.Prefix]int
}

// Listen returns l with such a limit.
func Listen(l net.Listener, most int) *Listener {
	return &Listener{Listener: l, most: most, conns: map[netip.Prefix]int{}}
}

// Accept returns the next connection, a *Conn, of a client that may have one more.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		addr, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // else all are one client
		if client := Client(addr.Addr()); l.enter(client) {
			return &Conn{Conn: conn, Client: client, leave: sync.OnceFunc(func() { l.leave(client) })}, nil
		}
		_ = conn.Close() // it was not used
	}
}

func (l *Listener) enter(client netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[client] >= l.most {
		return false
	}
	l.conns[client]++
	return true
}

func (l *Listener) leave(client netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[client]--; l.conns[client] == 0 {
		delete(l.conns, client)
	}
}

// Conn is a connection that counts against its client until it is closed or trusted.
type Conn struct {
	net.Conn
	Client netip.Prefix

	leave func()
}

// Trust has it count no longer: it is known whose it is.
func (c *Conn) Trust() { c.leave() }

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.leave()
	return c.Conn.Close()
}
