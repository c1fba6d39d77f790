package rtspguard

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pipes is a listener of connections from addresses, after faults.
type pipes struct {
	net.Listener
	from   []string
	faults []error
	others []net.Conn // at the clients
}

// pipe is a connection from an address.
type pipe struct {
	net.Conn
	from string
}

func (p pipe) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(p.from), Port: 1} }

func (p *pipes) Accept() (net.Conn, error) {
	if len(p.faults) > 0 {
		err := p.faults[0]
		p.faults = p.faults[1:]
		return nil, err
	}
	if len(p.from) == 0 {
		return nil, net.ErrClosed
	}
	inner, other := net.Pipe()
	conn := pipe{inner, p.from[0]}
	p.from, p.others = p.from[1:], append(p.others, other)
	return conn, nil
}

// come has clients of addresses come.
func come(t *testing.T, from ...string) (l *Listener, conns []*Conn, others []net.Conn) {
	t.Helper()
	p := &pipes{from: from}
	l = Listen(p)
	for range from {
		conn, err := l.Accept()
		require.NoError(t, err)
		conns = append(conns, conn.(*Conn))
	}
	t.Cleanup(func() {
		for i, c := range conns {
			_, _ = c.Close(), p.others[i].Close()
		}
	})
	return l, conns, p.others
}

const (
	own   = "192.0.2.1"
	other = "192.0.2.2"
)

// What begins like RTSP is passed on, and nothing else, such as the tunnels of gortsplib.
func TestRTSPOnly(t *testing.T) {
	for _, tc := range []struct {
		says   string
		passes bool
	}{
		{"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n", true},
		{"GET_PARAMETER rtsp://127.0.0.1/gate RTSP/1.0\r\nCSeq: 1\r\n\r\n", true},
		{"SETUP rtsp://127.0.0.1/gate RTSP/1.0\r\n", true},
		{"GET / HTTP/1.1\r\n\r\n", false},
		{"POST /gate HTTP/1.1\r\n\r\n", false},
		{"\r\nGET / HTTP/1.1\r\n\r\n", false},
		{"$\x00\x00\x00OPTIONS * RTSP/1.0\r\n", false},
		{"\x16\x03\x01\x02\x00", false},
		{"OP", false},
	} {
		_, conns, others := come(t, own)
		go func() {
			for i := range tc.says { // byte after byte
				if _, err := io.WriteString(others[0], tc.says[i:i+1]); err != nil {
					return
				}
			}
			_ = others[0].Close()
		}()
		got, err := io.ReadAll(conns[0])
		want := ""
		if tc.passes {
			want = tc.says
		}
		if string(got) != want || (err == nil) != tc.passes {
			t.Errorf("%q: got %q, %v", tc.says, got, err)
		}
		_ = conns[0].Close()
	}
}

// A client may send what players do, and not much at once.
func TestFewBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conns, others := come(t, own)
		conns[0].Trust()
		_ = conns[0].SetReadDeadline(time.Time{})
		go func() {
			_, _ = io.WriteString(others[0], "OPTI")
			for range 100 { // a minute and a half of requests
				_, err := io.WriteString(others[0], strings.Repeat("a", perSecond))
				assert.NoError(t, err)
				time.Sleep(time.Second)
			}
			for { // without end
				if _, err := io.WriteString(others[0], strings.Repeat("a", perSecond)); err != nil {
					return
				}
			}
		}()
		n, err := io.Copy(io.Discard, conns[0])
		if most := int64(100*perSecond + burst); !errors.Is(err, errMuch) || n < 100*perSecond || n > most+4 {
			t.Errorf("%d bytes, %v; want %d at most", n, err, most)
		}
		_ = conns[0].Close()
	})
}

// Without a password a connection ends soon, whatever it sends and whatever time gortsplib would give it.
func TestStrangersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conns, others := come(t, own, own)
		conns[1].Trust()
		start := time.Now()
		buf := make([]byte, 100)
		var clients sync.WaitGroup
		for i, c := range conns {
			clients.Go(func() {
				for {
					if _, err := io.WriteString(others[i], "OPTIONS "); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			for range 30 {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
				if _, err := c.Read(buf); err != nil {
					if i == 1 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != strangeFor {
						t.Errorf("connection %d: %v after %v", i, err, time.Since(start))
					}
					break
				}
			}
			_ = c.Close()
		}
		if d := time.Since(start); d < 2*strangeFor {
			t.Errorf("the trusted one ended after %v", d)
		}
		clients.Wait()
	})
}

// However many come without a password, those of one client make room for others.
func TestNewcomers(t *testing.T) {
	from := []string{other}
	for range maxStrange + 20 {
		from = append(from, own)
	}
	l, conns, _ := come(t, from...)
	closed := func(c *Conn) bool { return !errors.Is(c.Conn.SetReadDeadline(time.Time{}), nil) }
	for i, c := range conns {
		if want := i >= 1 && i < 22; closed(c) != want {
			t.Errorf("connection %d of %s: closed %v", i, c.Client, !want)
		}
	}
	for _, c := range conns[30:40] {
		c.Trust()
	}
	assert.Equal(t, maxStrange-10, len(l.strange), "strangers")
	for _, c := range conns {
		_ = c.Close()
	}
	assert.Equal(t, 0, len(l.strange), "strangers are left")
}

// A connection that cannot be taken ends nothing.
func TestAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen(&pipes{from: []string{own}, faults: []error{syscall.EMFILE, syscall.ECONNABORTED}})
		conn, err := l.Accept()
		require.NoError(t, err)
		_ = conn.Close()
		_, err = l.Accept()
		assert.ErrorIs(t, err, net.ErrClosed, "closed")
	})
}
