package limit

import (
	"cmp"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// ConnsOf is how many connections a listener may have where it would like to have most: a fifth of the files that the process
// may have open, so that no listener takes those of others, of cameras and of the store.
func ConnsOf(most int) int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return most
	}
	return int(min(uint64(most), max(1, files.Cur/5)))
}

// Clients counts what each Client has at once. Its methods may be called from any goroutine.
type Clients struct {
	most int

	mu  sync.Mutex
	has map[netip.Prefix]int
}

// NewClients lets each Client have so many.
func NewClients(most int) *Clients { return &Clients{most: most, has: map[netip.Prefix]int{}} }

// Enter counts one more of a client, unless it has as many as it may. If it returns true, Leave must be called.
func (c *Clients) Enter(client netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.has[client] >= c.most {
		return false
	}
	c.has[client]++
	return true
}

// Leave counts one less.
func (c *Clients) Leave(client netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.has[client]--; c.has[client] == 0 {
		delete(c.has, client)
	}
}

// Conns says how many connections may be made to an address. Those that are too many are closed at once.
type Conns struct {
	// Setting is the configuration's for the address.
	Setting string
	// All are those of all clients together. Where ConnsOf has less, all limits shrink alike.
	All int
	// Strangers are those of each client of which it is not known yet whose they are, and Trusted the others; 0: as many as All.
	Strangers, Trusted int
	// Proxy tells whether many clients come from an address, which then counts as none. Nil: none does.
	Proxy func(netip.Addr) bool
	// Logger takes that some were refused, once a minute at most. Nil discards.
	Logger *slog.Logger
}

// Listener takes no more connections than it may. All that Accept returns are *Conn.
type Listener struct {
	net.Listener
	cfg                Conns
	all                int
	strangers, trusted *Clients

	taken   atomic.Int64
	refused atomic.Uint64
	say     rate.Sometimes
}

// Listen returns l with such limits.
func Listen(l net.Listener, cfg Conns) *Listener {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Proxy == nil {
		cfg.Proxy = func(netip.Addr) bool { return false }
	}
	all := ConnsOf(cfg.All)
	if all < cfg.All {
		cfg.Logger.Info("few files may be open (ulimit -n), and so there are fewer connections", "setting", cfg.Setting, "limit", all, "else", cfg.All)
	}
	ofClient := func(most int) *Clients { return NewClients(max(1, cmp.Or(most, cfg.All)*all/cfg.All)) }
	return &Listener{
		Listener: l, cfg: cfg, all: all, strangers: ofClient(cfg.Strangers), trusted: ofClient(cfg.Trusted),
		say: rate.Sometimes{First: 1, Interval: time.Minute},
	}
}

// Refused is how many connections were closed because there were too many.
func (l *Listener) Refused() uint64 { return l.refused.Load() }

// Accept returns the next connection that there may be.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // else all are one client
		c, why := l.take(conn, peer.Addr())
		if c != nil {
			return c, nil
		}
		l.refuse(conn, why)
	}
}

// take counts a connection, or says why it is too many.
func (l *Listener) take(conn net.Conn, peer netip.Addr) (c *Conn, why string) {
	c = &Conn{Conn: conn, Client: Client(peer), Proxy: l.cfg.Proxy(peer.Unmap()), l: l}
	if l.taken.Add(1) > int64(l.all) {
		l.taken.Add(-1)
		return nil, "there are as many as there may be"
	}
	if !c.Proxy {
		if !l.strangers.Enter(c.Client) {
			l.taken.Add(-1)
			return nil, "the client has as many as it may"
		}
		c.in = l.strangers
	}
	return c, ""
}

func (l *Listener) refuse(conn net.Conn, why string) {
	n := l.refused.Add(1)
	l.say.Do(func() {
		l.cfg.Logger.Warn("a connection is refused", "setting", l.cfg.Setting, "client", conn.RemoteAddr().String(), "why", why,
			"limit", l.all, "of_a_client", l.strangers.most, "refused", n)
	})
	_ = conn.Close() // it was not used
}

// Conn is a connection that counts until it is closed.
type Conn struct {
	net.Conn
	Client netip.Prefix
	Proxy  bool // many clients come by it

	l    *Listener
	mu   sync.Mutex // guards what follows
	in   *Clients   // where it counts; nil: of a proxy, or nowhere any more
	left bool
}

// Of is the Conn that conn is, or goes through; nil: none.
func Of(conn net.Conn) *Conn {
	for {
		switch c := conn.(type) {
		case *Conn:
			return c
		case interface{ NetConn() net.Conn }: // TLS
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// Trust has it count with those of which it is known whose they are, unless the client has as many of these as it may.
func (c *Conn) Trust() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.in != c.l.strangers {
		return true
	}
	if !c.l.trusted.Enter(c.Client) {
		return false
	}
	c.in.Leave(c.Client)
	c.in = c.l.trusted
	return true
}

// Leave has it count no more: what came by it is limited elsewhere.
func (c *Conn) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return
	}
	if c.left = true; c.in != nil {
		c.in.Leave(c.Client)
		c.in = nil
	}
	c.l.taken.Add(-1)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.Leave()
	return c.Conn.Close()
}
