package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/waitfor"
)

// listening starts a server of its own address, and ends it with the test.
func listening(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	s, err := New(cfg)
	require.NoError(t, err)
	require.NoError(t, s.Listen())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, waitfor.Next(t, "Run to end", done))
	})
	return s
}

// peer is a connection from an address of this machine.
type peer struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

func comeFrom(t *testing.T, s *Server, from string) *peer {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &peer{t, conn, bufio.NewReader(conn)}
}

// ask returns the status of the answer, 0 if there is none, and whether the connection ends with it.
func (p *peer) ask(path string, header ...string) (status int, ends bool) {
	p.Helper()
	if _, err := io.WriteString(p, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+strings.Join(append(header, "", ""), "\r\n")); err != nil {
		return 0, true
	}
	resp, err := http.ReadResponse(p.in, nil)
	if err != nil {
		return 0, true
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		p.Fatal(err)
	}
	return resp.StatusCode, resp.Close
}

const authorization = "Authorization: Bearer " + testToken

// One address does not get all connections: neither with nothing said, nor idle after an answer, nor with a token.
func TestConnectionsOfAClient(t *testing.T) {
	s := listening(t, Config{Token: testToken, MaxViewers: 10})
	for _, path := range []string{"/livez", "/login", "/api/v1/cameras"} { // each is closed with its answer
		for range 2 * strangers {
			if status, ends := comeFrom(t, s, "127.0.0.2").ask(path); status == 0 || !ends {
				t.Fatalf("%s: %d, ends %v", path, status, ends)
			}
		}
	}
	kept, want := 0, trusted(s.cfg)
	for range 2 * want {
		switch status, ends := comeFrom(t, s, "127.0.0.3").ask("/api/v1/cameras", authorization); {
		case status != http.StatusOK:
			t.Fatalf("an operator gets %d", status)
		case !ends:
			kept++
		}
	}
	assert.Equal(t, want, kept, "connections of an operator are kept")
	assert.EqualValues(t, 0, s.Stats().ConnsRefused, "are refused before")
	for range strangers + 1 {
		comeFrom(t, s, "127.0.0.4") // and says nothing
	}
	waitFor(t, "the last of them to be refused", func() bool { return s.Stats().ConnsRefused == 1 })
	if status, ends := comeFrom(t, s, "127.0.0.5").ask("/api/v1/cameras", authorization); status != http.StatusOK || ends {
		t.Errorf("another client gets %d, ends %v", status, ends)
	}
}

// A proxy's connections are those of many; each of its clients has so many requests under way, and others have theirs.
func TestConnectionsByAProxy(t *testing.T) {
	s := listening(t, Config{Token: testToken, MaxViewers: 50, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	const first, second = "X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2"
	const slow = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 20\r\n" + first + "\r\n\r\n"
	for range strangers {
		_, err := io.WriteString(comeFrom(t, s, "127.0.0.2"), slow)
		require.NoError(t, err)
	}
	waitFor(t, "one more of the same client to be refused", func() bool {
		status, _ := comeFrom(t, s, "127.0.0.2").ask("/livez", first)
		return status == http.StatusServiceUnavailable
	})
	if status, ends := comeFrom(t, s, "127.0.0.2").ask("/livez", second); status != http.StatusOK || ends {
		t.Errorf("another client gets %d, and the proxy's connection ends %v", status, ends)
	}
	if status, _ := comeFrom(t, s, "127.0.0.2").ask("/api/v1/cameras", first, authorization); status != http.StatusOK {
		t.Errorf("an operator at the same address gets %d", status)
	}
}
