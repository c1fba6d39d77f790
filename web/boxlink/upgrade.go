package boxlink

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

const (
	// Path is where a page takes connections of other boxes.
	Path = "/fleet/connection"
	// Protocol is what they are upgraded to.
	Protocol = "segd-box"
	// maxRefusal is how much of an answer without an upgrade is told.
	maxRefusal = 256
	// maxHead is how much may come before the upgrade.
	maxHead = limit.MaxHeader
)

// connect opens a connection to the page at that URL, and has it upgraded. By HTTPS any certificate will do: what goes
// through the connection sees itself to whom it speaks with.
func connect(ctx context.Context, page string) (_ net.Conn, err error) {
	at, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	at = at.JoinPath(Path)
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if at.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: at.Hostname(), InsecureSkipVerify: true})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if stop(); err != nil {
			_ = conn.Close()
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", Protocol)
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	head := &io.LimitedReader{R: conn, N: maxHead}
	in := bufio.NewReader(head)
	resp, err := http.ReadResponse(in, r)
	if err != nil {
		if head.N == 0 {
			err = fmt.Errorf("%s answers with more than %s before the upgrade; want the page of a box", at, limit.Text(maxHead))
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusSwitchingProtocols || !strings.EqualFold(resp.Header.Get("Upgrade"), Protocol) {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		return nil, fmt.Errorf("%s answers %s %q; want the page of a box", at, resp.Status, text)
	}
	if in.Buffered() > 0 {
		return nil, fmt.Errorf("%s speaks before it is asked", at)
	}
	return conn, nil
}

// upgraded are the connections that this box's page was asked to upgrade.
type upgraded struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newUpgraded() *upgraded {
	return &upgraded{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// take upgrades the connection of a request.
func (u *upgraded) take(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), Protocol) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", Protocol)
		api.WriteProblem(w, http.StatusUpgradeRequired, "this is for other boxes of the fleet; accepts the header Upgrade: "+Protocol)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		api.WriteProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+Protocol+"\r\n\r\n"); err != nil || buffered.Reader.Buffered() > 0 {
		_ = conn.Close()
		return
	}
	select {
	case u.conns <- conn:
	case <-u.closed:
		_ = conn.Close()
	}
}

// Accept returns the next connection.
func (u *upgraded) Accept() (net.Conn, error) {
	select {
	case conn := <-u.conns:
		return conn, nil
	case <-u.closed:
		return nil, net.ErrClosed
	}
}

// Close has no more taken.
func (u *upgraded) Close() error {
	u.once.Do(func() { close(u.closed) })
	return nil
}

// Addr is the page's, which only that knows.
func (u *upgraded) Addr() net.Addr { return &net.TCPAddr{} }
