package limit

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// tried is a listener on which connections are made.
type tried struct {
	*testing.T
	*Listener
	log bytes.Buffer
}

func try(t *testing.T, cfg Conns) *tried {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &tried{T: t}
	cfg.Logger = slog.New(slog.NewTextHandler(&l.log, nil))
	l.Listener = Listen(inner, cfg)
	t.Cleanup(func() { l.Listener.Close() })
	return l
}

func (l *tried) dial(from string) net.Conn {
	l.T.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", l.Addr().String())
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() { _ = conn.Close() })
	return conn
}

// accept has one come from that address, which is taken.
func (l *tried) accept(from string) *Conn {
	l.T.Helper()
	l.dial(from)
	conn, err := l.Accept()
	if err != nil {
		l.T.Fatal(err)
	}
	return conn.(*Conn)
}

// refused has one come from that address too often, and once more when next has made room.
func (l *tried) refused(from string, next func()) *Conn {
	l.T.Helper()
	taken := make(chan net.Conn)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			l.T.Error(err)
		}
		taken <- conn
	}()
	if _, err := io.ReadAll(l.dial(from)); err != nil { // it is closed
		l.T.Fatal(err)
	}
	next()
	l.dial(from)
	return (<-taken).(*Conn)
}

const own, other = "127.0.0.1", "127.0.0.2"

// Of one client so many connections are taken that are neither closed nor trusted, and so many that are trusted, whatever
// others have.
func TestClientsConnections(t *testing.T) {
	l := try(t, Conns{Setting: "http.addr", All: 10, Strangers: 2, Trusted: 2})
	first, second := l.accept(own), l.accept(own)
	client := Client(netip.MustParseAddr(own))
	if first.Client != client {
		t.Errorf("it is of %v, want %v", first.Client, client)
	}
	l.refused(own, func() { _ = first.Close() })
	l.accept(other)
	third := l.refused(own, func() {
		if !second.Trust() || !second.Trust() { //nolint:staticcheck // once and again
			t.Error("it is not trusted")
		}
	})
	if !third.Trust() {
		t.Error("it is not trusted")
	}
	last := l.accept(own)
	if last.Trust() {
		t.Error("want 2 that are trusted")
	}
	l.refused(own, func() { _, _, _ = last.Close(), third.Close(), third.Close() }) // which leaves a trusted one and 2 others, and those of the other
	if n := l.taken.Load(); n != 4 || l.strangers.has[client] != 2 || l.trusted.has[client] != 1 || l.Refused() != 3 {
		t.Errorf("%d are counted, %v and %v by client, %d refused", n, l.strangers.has, l.trusted.has, l.Refused())
	}
	if text := l.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN") || !strings.Contains(text, "setting=http.addr client=127.0.0.1:") {
		t.Errorf("it says\n%s", text)
	}
}

// All clients together have so many, proxies' clients among them, but what has left.
func TestAllConnections(t *testing.T) {
	l := try(t, Conns{All: 3, Strangers: 2, Proxy: func(a netip.Addr) bool { return a.String() == own }})
	var last *Conn
	for range 3 {
		if last = l.accept(own); !last.Proxy || !last.Trust() {
			t.Error("a proxy's connection counts as a client's")
		}
	}
	l.refused(other, last.Leave)
}

// The connection is found behind TLS, too.
func TestOf(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := &Conn{Conn: a}
	if Of(c) != c || Of(tls.Server(tls.Server(c, &tls.Config{}), &tls.Config{})) != c || Of(b) != nil || Of(nil) != nil {
		t.Error("another connection is found")
	}
}

// Where few files may be open, no listener takes most of them.
func TestConnsOf(t *testing.T) {
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1000, Max: was.Max}))
	if few, many := ConnsOf(64), ConnsOf(1024); few != 64 || many != 200 {
		t.Errorf("%d and %d; want 64 and 200", few, many)
	}
}
