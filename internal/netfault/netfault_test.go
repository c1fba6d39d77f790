package netfault

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segd/segd/internal/waitfor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// Each fault does what it says, and after any of them the proxy closes.
func TestFaults(t *testing.T) {
	const word = "hello"
	const soon, patience = 50 * time.Millisecond, waitfor.Limit
	ask := func(t *testing.T, c net.Conn, wait time.Duration) (string, error) {
		t.Helper()
		if _, err := io.WriteString(c, word); err != nil {
			return "", err
		}
		_ = c.SetReadDeadline(time.Now().Add(wait))
		b := make([]byte, len(word))
		n, err := io.ReadFull(c, b)
		return string(b[:n]), err
	}
	good := func(t *testing.T, c net.Conn) {
		t.Helper()
		if got, err := ask(t, c, patience); got != word || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	silent := func(t *testing.T, c net.Conn) {
		t.Helper()
		if got, err := ask(t, c, soon); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %q, %v; want silence", got, err)
		}
	}
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, p *Proxy, c net.Conn, dial func() net.Conn)
	}{
		{"half open", func(t *testing.T, p *Proxy, c net.Conn, dial func() net.Conn) {
			p.Freeze(false)
			silent(t, c)
			good(t, dial())
			p.Freeze(false)
			silent(t, c)
		}},
		{"all silent, then only the new ones well", func(t *testing.T, p *Proxy, c net.Conn, dial func() net.Conn) {
			p.Freeze(true)
			silent(t, dial())
			p.Mend()
			good(t, dial())
			silent(t, c)
		}},
		{"thawed", func(t *testing.T, p *Proxy, c net.Conn, _ func() net.Conn) {
			p.Freeze(true)
			silent(t, c)
			p.Thaw()
			b := make([]byte, len(word)) // what was held
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.ReadFull(c, b); err != nil || string(b) != word {
				t.Errorf("got %q, %v", b, err)
			}
			good(t, c)
		}},
		{"cut", func(t *testing.T, p *Proxy, c net.Conn, dial func() net.Conn) {
			p.Freeze(false)
			silent(t, c)
			p.Cut()
			if _, err := ask(t, c, patience); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("cut: %v", err)
			}
			good(t, dial())
		}},
		{"corrupt", func(t *testing.T, p *Proxy, c net.Conn, _ func() net.Conn) {
			p.Corrupt()
			if got, err := ask(t, c, patience); got == word || len(got) != len(word) || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}},
		{"slow", func(t *testing.T, p *Proxy, c net.Conn, _ func() net.Conn) {
			const rate = 10
			p.Slow(rate)
			start := time.Now()
			good(t, c)
			if took, least := time.Since(start), time.Second*time.Duration(len(word))/rate; took < least {
				t.Errorf("%d bytes took %v at %d bytes a second; want %v", len(word), took, rate, least)
			}
			p.Slow(0)
			good(t, c)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := New(echo(t))
			require.NoError(t, err)
			var conns []net.Conn
			dial := func() net.Conn {
				c, err := net.Dial("tcp", p.Addr())
				require.NoError(t, err)
				conns = append(conns, c)
				return c
			}
			c := dial()
			good(t, c)
			tc.do(t, p, c, dial)
			p.Close()
			for _, c := range conns {
				c.Close()
			}
		})
	}
}

// What is frozen one way goes the other, also of connections that come later.
func TestFreezeWay(t *testing.T) {
	const patience, soon = waitfor.Limit, 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p, err := New(l.Addr().String())
	require.NoError(t, err)
	defer p.Close()
	pair := func() (client, server net.Conn) {
		t.Helper()
		client, err := net.Dial("tcp", p.Addr())
		require.NoError(t, err)
		server, err = l.Accept()
		require.NoError(t, err)
		return client, server
	}
	passes := func(from, to net.Conn, wait time.Duration) bool {
		t.Helper()
		if _, err := from.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_ = to.SetReadDeadline(time.Now().Add(wait))
		_, err := to.Read(make([]byte, 1))
		return err == nil
	}
	for way, name := range []string{ToServer: "to the server", ToClient: "to the client"} {
		t.Run(name, func(t *testing.T) {
			client, server := pair()
			defer client.Close()
			defer server.Close()
			p.FreezeWay(Way(way), true)
			later, there := pair()
			defer later.Close()
			defer there.Close()
			for _, c := range [][2]net.Conn{{client, server}, {later, there}} {
				near, far := c[0], c[1]
				if Way(way) == ToClient {
					near, far = far, near
				}
				if passes(near, far, soon) {
					t.Error("the frozen way passes")
				}
				if !passes(far, near, patience) {
					t.Error("the other way does not pass")
				}
			}
			p.Thaw()
			near, far := client, server
			if Way(way) == ToClient {
				near, far = far, near
			}
			if !passes(near, far, patience) {
				t.Error("thawed, it does not pass")
			}
		})
	}
}
