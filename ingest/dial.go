package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// connectTimeout is how long a host may take to accept a connection. It lets the
// kernel ask twice, at once and after a second; its third try comes two seconds
// later, and a new dial is there sooner.
const connectTimeout = 1500 * time.Millisecond

func dialTCP(ctx context.Context, network, addr string) (net.Conn, error) {
	return (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, network, addr)
}

// dialFunc opens a connection, as net.Dialer.DialContext does.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// heardBy is dial, and heard is set once the other side has said anything.
func heardBy(dial dialFunc, heard *atomic.Bool) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &listeningConn{c, heard}, nil
	}
}

// listeningConn is a connection that notes that something was heard.
type listeningConn struct {
	net.Conn
	heard *atomic.Bool
}

func (c *listeningConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

// errHTTP: RTSP was asked for.
var errHTTP = errors.New("it answers with HTTP")

// notHTTP is dial, and what answers with HTTP is an error: gortsplib would look for RTSP in it.
func notHTTP(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &rtspConn{Conn: c}, nil
	}
}

// rtspConn is a connection that looks at the first bytes.
type rtspConn struct {
	net.Conn
	looked bool
}

func (c *rtspConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.looked && n > 0 {
		c.looked = true
		if bytes.HasPrefix(b[:n], []byte("HTTP/")) || b[0] == '<' { // some send a page without a head
			return 0, errHTTP
		}
	}
	return n, err
}

// dialTLS connects and shakes hands within ctx. Left to gortsplib the handshake
// happens in the first write, where a silent peer would hold it for ever.
func (s *Source) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := dialTCP(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	secured := tls.Client(conn, s.tlsConfig(host))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// tlsConfig says whom to trust: the certificate with the fingerprint, or any that
// this machine's authorities vouch for.
func (s *Source) tlsConfig(host string) *tls.Config {
	if s.pin == nil {
		return &tls.Config{ServerName: host}
	}
	return &tls.Config{
		ServerName:         host,
		InsecureSkipVerify: true, // in favour of what follows
		VerifyConnection: func(state tls.ConnectionState) error {
			got := sha256.Sum256(state.PeerCertificates[0].Raw)
			if !bytes.Equal(got[:], s.pin) {
				return &fingerprintError{got: got[:]}
			}
			return nil
		},
	}
}

// fingerprintError: the camera showed a certificate that is not the one expected.
type fingerprintError struct{ got []byte }

func (e *fingerprintError) Error() string {
	return fmt.Sprintf("the certificate's SHA-256 is %x", e.got)
}

// parseFingerprint returns the bytes of a SHA-256 in hexadecimal, nil of none.
func parseFingerprint(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	pin, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(pin) != sha256.Size {
		return nil, fmt.Errorf("fingerprint %q is not a SHA-256; 64 hexadecimal digits are accepted, with or without colons", text)
	}
	return pin, nil
}
