//go:build e2e

package attack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/docs"
)

// connections has one client open as many connections as a table of docs/security.md lets it and twice as many more: saying
// nothing, idle after an answer, and with a viewer's token. It gets no more than it may, and others are answered meanwhile.
func (w *world) connections(s *Stage) {
	rows, err := docs.Table(w.file, "Connections")
	if err != nil {
		w.t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(r docs.Row) bool { return slices.Contains(r.Names, "http.addr") })
	if i < 0 {
		w.t.Fatal("docs/security.md has no limit of http.addr")
	}
	host := strings.TrimPrefix(w.page(), "http://")
	const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for from, try := range map[string]struct{ says, limit string }{
		"127.2.0.1": {"", "without a right token"},
		"127.2.0.2": {livez, "without a right token"},
		"127.2.0.3": {strings.Replace(livez, "\r\n\r\n", "\r\nAuthorization: Bearer "+viewerToken+"\r\n\r\n", 1), "with one"},
	} {
		may, err := strconv.Atoi(rows[i].Cells[try.limit])
		if err != nil {
			w.t.Fatal(err)
		}
		func() {
			var conns []net.Conn
			defer func() {
				for _, c := range conns {
					_ = c.Close()
				}
			}()
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: answerLimit}
			for range 3 * may {
				s.try(1)
				conn, err := dialer.Dial("tcp", host)
				if err != nil {
					s.fault("%s: %v", from, err)
					return
				}
				conns = append(conns, conn)
				_, _ = io.WriteString(conn, try.says) // it may have been closed
			}
			for _, path := range []string{"/livez", "/api/v1/cameras"} {
				s.try(1)
				if status, answer, err := w.ask(w.t.Context(), http.MethodGet, w.page(), operatorToken, path, ""); err != nil || status != http.StatusOK {
					s.fault("beside %d connections of %s, %s: %d %.100q, %v", len(conns), from, path, status, answer, err)
				}
			}
			if err := harness.Wait(w.t.Context(), answerLimit, "connections of "+from+" to be closed", func(context.Context) error {
				open := len(conns)
				for _, c := range conns {
					_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
					if _, err := io.Copy(io.Discard, c); !errors.Is(err, os.ErrDeadlineExceeded) {
						open--
					}
				}
				if open > may {
					return fmt.Errorf("%d are open %s; want %d", open, try.limit, may)
				}
				return nil
			}); err != nil {
				s.fault("%v", err)
			}
		}()
	}
}

// relay is where others reach a box. It carries connections there, or is false and answers with headers without end.
type relay struct {
	net.Listener
	to    string
	false atomic.Bool
	sent  atomic.Int64

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, to: to}
	r.done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.keep(conn)
			r.done.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); r.cut(); r.done.Wait() })
	return r
}

func (r *relay) keep(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, conn)
}

// cut ends all connections.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

func (r *relay) serve(near net.Conn) {
	defer func() { _ = near.Close() }()
	if r.false.Load() {
		_, err := io.WriteString(near, "HTTP/1.1 101 Switching Protocols\r\n")
		line := []byte("A: " + strings.Repeat("b", 60_000) + "\r\n")
		for err == nil && r.sent.Load() < 512<<20 {
			var n int
			n, err = near.Write(line)
			r.sent.Add(int64(n))
		}
		return
	}
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	r.keep(far)
	r.done.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
	_, _ = io.Copy(near, far)
}

// falseBox has what listens at the other box's address answer with headers without end.
func (w *world) falseBox(s *Stage) {
	if w.relay == nil {
		return
	}
	w.relay.false.Store(true)
	w.relay.cut()
	for range 4 {
		s.try(1)
		status, answer, err := w.ask(w.t.Context(), http.MethodGet, w.page(), viewerToken, "/api/v1/cameras/"+yard+"/objects", "")
		if err != nil || status != http.StatusBadGateway {
			s.fault("a false box: %d %.200q, %v; want 502", status, answer, err)
		}
	}
	if n := w.relay.sent.Load(); n > 4*8<<20 { // what the kernel holds
		s.fault("%d bytes of a false box's headers are read", n)
	}
	w.relay.false.Store(false)
}

// alertmanager answers as it is told.
type alertmanager struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(http.ResponseWriter)
}

func newAlertmanager(t *testing.T) *alertmanager {
	a := &alertmanager{}
	a.says(func(w http.ResponseWriter) { _, _ = io.WriteString(w, "[]") })
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		answer := a.answer
		a.mu.Unlock()
		answer(w)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *alertmanager) says(answer func(http.ResponseWriter)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// alerts has the Alertmanager answer with too much, elsewhere, and with alerts that are not segd's.
func (w *world) alerts(s *Stage) {
	var elsewhere atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Store(true) }))
	defer other.Close()
	defer w.alertmanager.says(func(w http.ResponseWriter) { _, _ = io.WriteString(w, "[]") })
	for _, try := range []struct {
		name   string
		answer func(http.ResponseWriter)
		status int
	}{
		{"millions", func(w http.ResponseWriter) {
			out := bufio.NewWriter(w)
			_, _ = out.WriteString("[{}" + strings.Repeat(",{}", 2_790_000) + "]")
			_ = out.Flush()
		}, http.StatusBadGateway},
		{"strange names", func(w http.ResponseWriter) {
			_, _ = fmt.Fprintf(w, `[{"labels":{"alertname":"%s","severity":"critical"}}]`, marker)
		}, http.StatusOK},
		{"elsewhere", func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(http.StatusFound)
		}, http.StatusBadGateway},
	} {
		s.try(1)
		w.alertmanager.says(try.answer)
		var last string
		if err := harness.Wait(w.t.Context(), answerLimit, try.name, func(ctx context.Context) error { // an answer counts for some seconds
			status, answer, err := w.ask(ctx, http.MethodGet, w.page(), viewerToken, "/api/v1/alerts", "")
			if last = string(answer); err == nil && status != try.status {
				err = fmt.Errorf("%d %.200q; want %d", status, answer, try.status)
			}
			return err
		}); err != nil {
			s.fault("%v", err)
		}
		if strings.Contains(last, marker) || try.status == http.StatusOK && !json.Valid([]byte(last)) {
			s.fault("%s: %.200q is shown", try.name, last)
		}
	}
	if elsewhere.Load() {
		s.fault("a redirect was followed")
	}
}
