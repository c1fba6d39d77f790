// Package rtspguard stands before gortsplib's RTSP server, which would take HTTP for a tunnel, wait for ever for who does
// not log in, and stop listening once there are too many open files.
//
// In: a listener. Out: the same, whose connections begin with a request of RTSP, send few bytes, as players do, and have a
// little time until they are trusted ([Conn.Trust]). Others are closed.
package rtspguard

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/segd/segd/internal/limit"
)

const (
	// strangeFor is for how long a connection may be there without being trusted, and maxStrange how many such there are, fewer
	// where few files may be open: for one more, the oldest is closed of the client that has most.
	strangeFor = 10 * time.Second
	maxStrange = 64
	// A client may send so many bytes at once, and a second. A request has a few hundred, a receiver report 100.
	// gortsplib gives a request a minute, so that none grows beyond 76 KiB.
	burst     = 16 << 10
	perSecond = 1 << 10
	// acceptPause is how long no client is let in when there are too many open files.
	acceptPause = 100 * time.Millisecond
)

// methods begin with these four bytes, gortsplib's tunnels with others.
var methods = []string{"ANNO", "DESC", "GET_", "OPTI", "PAUS", "PLAY", "RECO", "REDI", "SETU", "SET_", "TEAR"}

var (
	errNotRTSP = errors.New("rtspguard: that is not RTSP")
	errMuch    = fmt.Errorf("rtspguard: too many bytes; accepted: %d at once and %d a second", burst, perSecond)
)

// Listener is a listener for gortsplib. All that Accept returns are *Conn.
type Listener struct {
	net.Listener
	most int

	mu      sync.Mutex
	strange []*Conn // the oldest first
}

// Listen returns l with a guard.
func Listen(l net.Listener) *Listener {
	return &Listener{Listener: l, most: (limit.ConnsOf(4*maxStrange) + 3) / 4}
}

// Accept returns the next connection. It fails once the listener is closed only.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		switch {
		case err == nil:
			peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String()) // else all are one client
			c := &Conn{Conn: conn, l: l, Client: limit.Client(peer.Addr()), until: time.Now().Add(strangeFor), rate: rate.NewLimiter(perSecond, burst)}
			_ = conn.SetReadDeadline(c.until)
			l.enter(c)
			return c, nil
		case errors.Is(err, net.ErrClosed):
			return nil, err
		}
		time.Sleep(acceptPause)
	}
}

// enter makes room for c.
func (l *Listener) enter(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strange = append(l.strange, c)
	if len(l.strange) <= l.most {
		return
	}
	has, most := map[netip.Prefix]int{}, c.Client
	for _, other := range l.strange {
		if has[other.Client]++; has[other.Client] > has[most] {
			most = other.Client
		}
	}
	at := slices.IndexFunc(l.strange, func(other *Conn) bool { return other.Client == most })
	_ = l.strange[at].Conn.Close() // gortsplib closes it once more
	l.strange = slices.Delete(l.strange, at, at+1)
}

func (l *Listener) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(l.strange, c); at >= 0 {
		l.strange = slices.Delete(l.strange, at, at+1)
	}
}

// Conn is a connection of which gortsplib sees what is RTSP.
type Conn struct {
	net.Conn
	Client netip.Prefix

	l *Listener

	mu    sync.Mutex
	until time.Time // it is closed then; zero: it is trusted

	// The reader's.
	rate  *rate.Limiter
	first []byte // what was looked at
	begun bool
}

// Trust has it stay, by the next deadline that is set: it is known whose it is.
func (c *Conn) Trust() {
	c.l.leave(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}

// SetReadDeadline implements net.Conn. Without trust there is an earlier one.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && (t.IsZero() || t.After(c.until)) {
		t = c.until
	}
	return c.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if !c.begun {
		first := make([]byte, 4)
		if _, err := io.ReadFull(c.Conn, first); err != nil {
			return 0, err
		}
		if !slices.Contains(methods, string(first)) {
			return 0, errNotRTSP
		}
		c.begun, c.first = true, first
	}
	if len(c.first) > 0 {
		n := copy(b, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	if !c.rate.AllowN(time.Now(), n) {
		return 0, errMuch
	}
	return n, err
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.l.leave(c)
	return c.Conn.Close()
}
