package ingest

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/headers"
	"github.com/stretchr/testify/assert"
)

// isUDP tells whether req sets up UDP.
func isUDP(req *base.Request) bool {
	return req.Method == base.Setup && !strings.Contains(req.Header["Transport"][0], "TCP")
}

// refuses answers SETUP over UDP by code.
func refuses(code base.StatusCode) func(*base.Request, *base.Response) *base.Response {
	return func(req *base.Request, _ *base.Response) *base.Response {
		if isUDP(req) {
			return status(code)
		}
		return nil
	}
}

// ports answers SETUP over UDP with other ports of the server.
func ports(p *[2]int) func(*base.Request, *base.Response) *base.Response {
	return func(req *base.Request, res *base.Response) *base.Response {
		if isUDP(req) {
			var th headers.Transport
			_ = th.Unmarshal(res.Header["Transport"])
			th.ServerPorts = p
			res.Header["Transport"] = th.Marshal()
		}
		return nil
	}
}

// Whatever a camera does instead of streaming over UDP, auto turns to TCP, says so once and
// stays there.
func TestAutoTurnsToTCP(t *testing.T) {
	playing := func(code base.StatusCode) func(*base.Request, *base.Response) *base.Response {
		var udp atomic.Bool // the newest SETUP was
		return func(req *base.Request, _ *base.Response) *base.Response {
			if req.Method == base.Setup {
				udp.Store(isUDP(req))
			}
			if req.Method == base.Play && udp.Load() {
				return status(code)
			}
			return nil
		}
	}
	for _, tc := range []struct {
		name   string
		answer func(*base.Request, *base.Response) *base.Response
		silent bool
		reason string
	}{
		{"400", refuses(400), false, "answers 400"},
		{"403", refuses(403), false, "403"},
		{"404", refuses(404), false, "404"},
		{"406", refuses(406), false, "answers 406"},
		{"454", refuses(454), false, "answers 454"},
		{"461", refuses(461), false, "461"},
		{"500", refuses(500), false, "answers 500"},
		{"501", refuses(501), false, "answers 501"},
		{"closed", refuses(0), false, "connection closed"},
		{"no ports", ports(nil), false, "server ports"},
		{"ports 0-1", ports(&[2]int{0, 1}), false, "server ports"},
		{"other ports", ports(&[2]int{40000, 40001}), false, "no packet within"},
		{"no Transport", refuses(200), false, "invalid transport header"},
		{"silent", nil, true, "no packet within"},
		{"PLAY refused", playing(455), false, "answers 455"},
		{"closed on PLAY", playing(0), false, "connection closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := serveOdd(t, &oddCamera{answer: tc.answer, silent: tc.silent})
			var log lockedBuffer
			cfg := testConfig(c.url(""), "auto")
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w := start(t, cfg)
			w.take(3)
			e := &w.events
			e.mu.Lock()
			if e.downs != 0 {
				t.Errorf("down for %v", e.lastDown)
			}
			e.mu.Unlock()
			c.cut()
			eventually(t, "Reconnect", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.reconnects == 1 })
			_ = w.stop()
			if n := c.overUDP(); n != 1 {
				t.Errorf("UDP was asked for %d times", n)
			}
			if text := log.String(); strings.Count(text, "transport changed") != 1 || !strings.Contains(text, tc.reason) {
				t.Errorf("the log does not say once why, %q:\n%s", tc.reason, text)
			}
		})
	}
}

// A camera whose SETUP over UDP is never answered has the stall timeout for that, and then
// TCP.
func TestAutoWithoutAnswer(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	c := serveOdd(t, &oddCamera{answer: func(req *base.Request, _ *base.Response) *base.Response {
		if isUDP(req) {
			<-stop
		}
		return nil
	}})
	t.Cleanup(func() { close(stop) })
	assert.NoError(t, probe(t.Context(), testConfig(c.url(""), "auto")))
}

// A camera that refuses TCP too is asked for UDP again, and the error names both reasons and
// nothing that was tried.
func TestAutoWithoutBoth(t *testing.T) {
	t.Parallel()
	tcp := base.StatusCode(461)
	udp := base.StatusCode(500)
	c := serveOdd(t, &oddCamera{})
	c.answer = func(req *base.Request, _ *base.Response) *base.Response {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case isUDP(req) && udp != 200:
			return status(udp)
		case req.Method == base.Setup && !isUDP(req) && tcp != 200:
			return status(tcp)
		}
		return nil
	}
	set := func(u, t base.StatusCode) { c.mu.Lock(); defer c.mu.Unlock(); udp, tcp = u, t }
	err := probe(t.Context(), testConfig(c.url(""), "auto"))
	mustWrap(t, err, ErrTransport)
	for _, want := range []string{"(461), and over UDP: the camera answers 500", "can be tried: multicast"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	assert.NotContains(t, err.Error(), "auto", "error %q advises what is set", err)
	set(500, 200)
	w := start(t, testConfig(c.url(""), "auto"))
	w.take(1)
	set(200, 461) // now it has UDP only
	c.cut()
	e := &w.events
	eventually(t, "Reconnect", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.reconnects == 1 })
	w.take(3)
}

// With a transport that is set nothing else is tried, and the error names the others.
func TestTransportAdvice(t *testing.T) {
	t.Parallel()
	for transport, words := range map[string]string{"udp": "auto, tcp or multicast", "tcp": "auto, udp or multicast", "multicast": "auto, tcp or udp"} {
		for _, code := range []base.StatusCode{461, 454} {
			c := serveOdd(t, &oddCamera{answer: func(req *base.Request, _ *base.Response) *base.Response {
				if req.Method == base.Setup {
					return status(code)
				}
				return nil
			}})
			err := probe(t.Context(), testConfig(c.url(""), transport))
			if err == nil || strings.Contains(err.Error(), "can be tried: "+words) != (code == 461 || transport != "tcp") {
				t.Errorf("%s: error %v", transport, err)
			}
			if n := len(c.asked(base.Setup)); n != 1 {
				t.Errorf("%s: %d SETUP", transport, n)
			}
		}
	}
}

// A wrong password is no fault of UDP, wherever the camera asks for it.
func TestAutoAndRefusals(t *testing.T) {
	t.Parallel()
	for _, method := range []base.Method{base.Describe, base.Setup, base.Play} {
		c := serveOdd(t, &oddCamera{answer: func(req *base.Request, _ *base.Response) *base.Response {
			if req.Method == method {
				return &base.Response{StatusCode: 401, Header: base.Header{"WWW-Authenticate": base.HeaderValue{`Digest realm="x", nonce="` + time.Now().String() + `"`}}}
			}
			return nil
		}})
		err := probe(t.Context(), testConfig(c.url("admin:guess1@"), "auto"))
		mustWrap(t, err, ErrUnauthorized)
		told := 0
		for _, r := range c.asked(method) {
			told += len(r.Header["Authorization"])
		}
		c.mu.Lock()
		connections := c.connections
		c.mu.Unlock()
		if told != 1 || connections != 1 {
			t.Errorf("%s: a wrong password was told %d times on %d connections", method, told, connections)
		}
	}
}
