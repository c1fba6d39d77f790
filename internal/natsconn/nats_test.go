package natsconn

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/net/nettest"

	"github.com/segd/segd/internal/netfault"
	"github.com/segd/segd/internal/waitfor"
)

const patience = waitfor.Limit

func startNATS(t testing.TB, options server.Options) *server.Server {
	t.Helper()
	options.Host, options.Port, options.NoLog, options.NoSigs = "127.0.0.1", -1, true, true
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not listen")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

func connect(t testing.TB, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	options = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}, options...)
	nc, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	t.Cleanup(func() {
		nc.Close()
		<-closed
	})
	return nc
}

func listen(t testing.TB, nc *nats.Conn, cfg Config) net.Listener {
	t.Helper()
	l, err := Listen(nc, "segd.test.conn", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil { // the server knows of it
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dialTest(t testing.TB, nc *nats.Conn, cfg Config) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := Dial(ctx, nc, "segd.test.conn", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func acceptTest(t testing.TB, l net.Listener) net.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// pair returns two ends of a connection, the listener's first.
func pair(t testing.TB, here, there *nats.Conn, cfg Config) (near, far net.Conn) {
	t.Helper()
	l := listen(t, here, cfg)
	far = dialTest(t, there, cfg)
	return acceptTest(t, l), far
}

func TestConn(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	l := listen(t, here, Config{})
	for _, first := range []string{"listener", "dialler"} {
		t.Run(first, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				c1, err = Dial(t.Context(), there, l.Addr().String(), Config{})
				if err != nil {
					return nil, nil, nil, err
				}
				c2, err = l.Accept()
				if err != nil {
					return nil, nil, nil, err
				}
				stop = func() { c1.Close(); c2.Close() }
				if first == "listener" {
					c1, c2 = c2, c1
				}
				return c1, c2, stop, nil
			})
		})
	}
}

func TestAddr(t *testing.T) {
	s := startNATS(t, server.Options{})
	near, far := pair(t, connect(t, s.ClientURL()), connect(t, s.ClientURL(), nats.CustomInboxPrefix("_INBOX_box")), Config{})
	if got := near.LocalAddr(); got.Network() != "nats" || got.String() != "segd.test.conn" || far.RemoteAddr() != got {
		t.Errorf("the listener's address is %v, and for the dialler %v", got, far.RemoteAddr())
	}
	got := near.RemoteAddr().String()
	if got != far.LocalAddr().String() || !strings.HasPrefix(got, "_INBOX_box.") || !strings.HasSuffix(got, ".natsconn") {
		t.Errorf("the dialler's address is %v, and for the listener %v", far.LocalAddr(), got)
	}
}

// A small limit of payloads is kept.
func TestMaxPayload(t *testing.T) {
	s := startNATS(t, server.Options{MaxPayload: 2000})
	near, far := pair(t, connect(t, s.ClientURL()), connect(t, s.ClientURL()), Config{})
	want := bytes.Repeat([]byte("0123456789"), 10_000)
	go func() {
		far.Write(want)
		far.Close()
	}()
	if got, err := io.ReadAll(near); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v; want %d", len(got), err, len(want))
	}
	tiny := startNATS(t, server.Options{MaxPayload: 1000})
	if _, err := Dial(t.Context(), connect(t, tiny.ClientURL()), "nobody", Config{}); err == nil || !strings.Contains(err.Error(), "1000 bytes") {
		t.Errorf("a server of tiny payloads: %v", err)
	}
}

// Each of these fails at once and says why.
func TestDialFails(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	_, err := Dial(ctx, there, "segd.test.conn", Config{})
	if !errors.Is(err, nats.ErrNoResponders) || !strings.Contains(err.Error(), "segd.test.conn") {
		t.Errorf("nobody listens: %v", err)
	}
	for _, tc := range []struct{ name, answer, want string }{
		{"full", `{"refused": "x", "full": true}`, ErrFull.Error()},
		{"a reason", `{"refused": "no\nlonger"}`, "refused: no?longer"},
		{"another version", `{"version": 2}`, "version 2; want 1"},
		{"no JSON", `no`, "invalid character"},
		{"an inbox with a wildcard", `{"version": 1, "window": 5000, "inbox": ">.natsconn.x"}`, "inbox"},
		{"a small window", `{"version": 1, "window": 50, "inbox": "a.natsconn.x"}`, "50 bytes"},
		{"too long", strings.Repeat(" ", maxHello+1), "4097 bytes"},
	} {
		sub, err := here.Subscribe("segd.test.answers", func(m *nats.Msg) { m.Respond([]byte(tc.answer)) })
		if err != nil {
			t.Fatal(err)
		}
		here.Flush()
		if _, err := Dial(ctx, there, "segd.test.answers", Config{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
		sub.Unsubscribe()
	}

	silent, err := here.SubscribeSync("segd.test.silent")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Unsubscribe()
	here.Flush()
	if _, err := Dial(ctx, there, "segd.test.silent", Config{KeepAlive: time.Millisecond, Silence: 20 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no answer: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := Dial(ended, there, "segd.test.silent", Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := Dial(ctx, there, "x", Config{Window: 1, Connections: -1, KeepAlive: -1, Silence: -2}); err == nil || strings.Count(err.Error(), "natsconn:") != 4 {
		t.Errorf("a configuration with four faults: %v", err)
	}
	if _, err := Listen(here, "x", Config{Window: 1}); err == nil {
		t.Error("a listener with a fault was made")
	}
	if n := there.NumSubscriptions(); n > 1 { // that of requests
		t.Errorf("%d subscriptions are left", n)
	}
}

// The limit counts those that nobody has accepted, and a place is free again after Close.
func TestConnectionLimit(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	l := listen(t, here, Config{Connections: 2})
	first := dialTest(t, there, Config{})
	dialTest(t, there, Config{})
	refused := func() {
		t.Helper()
		if _, err := Dial(t.Context(), there, l.Addr().String(), Config{}); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), ErrFull.Error()) {
			t.Fatalf("one more: %v", err)
		}
	}
	refused()
	accepted := acceptTest(t, l)
	refused()
	first.Close()
	if _, err := accepted.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
	refused() // it is still held here
	accepted.Close()
	dialTest(t, there, Config{})
	refused()
}

func TestListenerClose(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	l := listen(t, here, Config{})
	kept := dialTest(t, there, Config{})
	near := acceptTest(t, l)
	waiting := dialTest(t, there, Config{})
	var accepting sync.WaitGroup
	defer accepting.Wait()
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if _, err := waiting.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("one that was not accepted: %v", err)
	}
	go near.Write([]byte("x"))
	if _, err := kept.Read(make([]byte, 1)); err != nil {
		t.Errorf("one that was accepted: %v", err)
	}
	here.Flush()
	if _, err := Dial(t.Context(), there, l.Addr().String(), Config{}); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("Dial: %v", err)
	}

	// Accept that waits, by Close and by the end of the NATS connection.
	again := connect(t, s.ClientURL())
	for _, tc := range []struct {
		want error
		end  func(net.Listener)
	}{
		{net.ErrClosed, func(l net.Listener) { l.Close() }},
		{nats.ErrConnectionClosed, func(net.Listener) { again.Close() }},
	} {
		l := listen(t, again, Config{})
		accepting.Go(func() {
			if _, err := l.Accept(); !errors.Is(err, tc.want) {
				t.Errorf("Accept: %v; want %v", err, tc.want)
			}
		})
		time.Sleep(5 * time.Millisecond)
		tc.end(l)
		accepting.Wait()
	}
}

// Errors are those that net.Conn's users look for.
func TestErrors(t *testing.T) {
	s := startNATS(t, server.Options{})
	near, far := pair(t, connect(t, s.ClientURL()), connect(t, s.ClientURL()), Config{})
	far.SetReadDeadline(time.Now().Add(-1))
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
	near.Write([]byte("end"))
	near.Close()
	far.SetReadDeadline(time.Time{})
	if got, err := io.ReadAll(far); string(got) != "end" || err != nil {
		t.Errorf("what came before the peer closed: %q, %v", got, err)
	}
	if _, err := far.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the peer has closed: %v", err)
	}
	far.Close()
	for _, err := range []error{
		func() error { _, err := far.Read(nil); return err }(),
		func() error { _, err := far.Write(nil); return err }(),
		far.SetDeadline(time.Now()),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if err := far.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// A peer whose NATS connection ends is gone: the side itself knows at once, the other
// after the silence.
func TestPeerVanishes(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL(), nats.NoReconnect())
	l := listen(t, here, Config{KeepAlive: 20 * time.Millisecond, Silence: 2 * time.Second})
	far := dialTest(t, there, Config{KeepAlive: 20 * time.Millisecond, Silence: time.Hour})
	near := acceptTest(t, l)
	for _, c := range []net.Conn{near, far} { // they know one another
		go c.Write([]byte("x"))
	}
	for _, c := range []net.Conn{near, far} {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	there.Close()
	for name, c := range map[string]net.Conn{"its own": far, "the other": near} {
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s end: Read: %v", name, err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s end: Write: %v", name, err)
		}
	}
}

// content is a stream that depends on its place everywhere.
func content(seed uint64) io.Reader {
	key := sha256.Sum256(fmt.Append(nil, seed))
	return rand.NewChaCha8(key)
}

// Connections to NATS break under load, on either side: what was read is the beginning of
// what was written, and then comes a reset.
func TestCut(t *testing.T) {
	s := startNATS(t, server.Options{})
	address := strings.TrimPrefix(s.ClientURL(), "nats://")
	for _, side := range []string{"reader", "writer"} {
		t.Run(side, func(t *testing.T) {
			p, err := netfault.New(address)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			urls := map[string]string{"reader": s.ClientURL(), "writer": s.ClientURL()}
			urls[side] = "nats://" + p.Addr()
			l := listen(t, connect(t, urls["reader"]), Config{KeepAlive: 100 * time.Millisecond})
			defer l.Close()
			there := connect(t, urls["writer"])
			for round := range uint64(6) {
				var far net.Conn
				for start := time.Now(); far == nil; {
					far, err = Dial(t.Context(), there, l.Addr().String(), Config{KeepAlive: 100 * time.Millisecond})
					if err != nil && time.Since(start) > patience {
						t.Fatal(err)
					}
				}
				near := acceptTest(t, l)
				var work sync.WaitGroup
				var written int64
				var failed error
				work.Go(func() { written, failed = io.Copy(far, content(round)) })
				cut := time.AfterFunc(time.Duration(5+3*round)*time.Millisecond, p.Cut)
				_ = near.SetReadDeadline(time.Now().Add(patience))
				want, got, b := content(round), int64(0), make([]byte, 10_000)
				for err = nil; err == nil; {
					var n int
					n, err = near.Read(b)
					right := make([]byte, n)
					io.ReadFull(want, right)
					if !bytes.Equal(b[:n], right) {
						t.Fatalf("wrong bytes after %d", got)
					}
					got += int64(n)
				}
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("Read: %v", err)
				}
				work.Wait()
				if !errors.Is(failed, syscall.ECONNRESET) || written < got {
					t.Errorf("Write: %d bytes, %v; %d were read", written, failed, got)
				}
				near.Close()
				far.Close()
				cut.Stop()
			}
		})
	}
}

// A network that hangs holds up neither deadlines nor, for long, Close.
func TestFrozen(t *testing.T) {
	s := startNATS(t, server.Options{})
	p, err := netfault.New(strings.TrimPrefix(s.ClientURL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, far := pair(t, connect(t, s.ClientURL()), connect(t, "nats://"+p.Addr()), Config{Window: 16 << 20})
	p.Freeze(true)
	_ = far.SetDeadline(time.Now().Add(100 * time.Millisecond))
	start := time.Now()
	if n, err := io.Copy(far, content(0)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write: %d bytes, %v", n, err)
	}
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read: %v", err)
	}
	far.Close()
	if took := time.Since(start); took > closeWait+2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// What comes faster than it is taken waits in the NATS client, and there it has a bound too;
// and nothing is left there of a connection that is closed.
func TestWaiting(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	near, far := pair(t, here, there, Config{Window: minWindow})
	c, inbox := near.(*conn), far.(*conn).link.(*natsLink).peer
	link := c.link.(*natsLink)
	c.mu.Lock() // nothing is taken now
	for _, size := range []int{10, 2000} {
		for range 1000 {
			there.Publish(inbox, make([]byte, size))
		}
	}
	there.Flush()
	here.Flush()
	messages, size, err := link.sub.Pending()
	c.mu.Unlock()
	if err != nil || messages < 2 || messages > 100 || size > 2*minWindow {
		t.Errorf("%d messages of %d bytes wait, %v", messages, size, err)
	}
	near.SetReadDeadline(time.Now().Add(patience))
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read: %v", err)
	}
	near.Close()
	if _, open := <-link.lost; open || link.sub.IsValid() {
		t.Error("after Close it still listens")
	}
}

// A listener, and a connection, stand what anybody sends.
func TestGarbage(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	l := listen(t, here, Config{})
	random := rand.New(rand.NewPCG(1, 2))
	garbage := func() []byte {
		b := make([]byte, random.IntN(2000))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	for range 100 {
		there.Publish("segd.test.conn", garbage())
		there.PublishRequest("segd.test.conn", "nobody", garbage())
		if _, err := there.Request("segd.test.conn", garbage(), patience); err != nil {
			t.Fatal(err)
		}
	}
	answers := []string{
		strings.Repeat("[", 1<<19),
		`{"version": 1, "window": 5000, "inbox": "segd.v1.here.gate.annotation"}`,
		`{"version": 1, "window": 5000, "inbox": "x x.natsconn.x"}`,
		`{"version": 1, "window": 5000, "inbox": "x.natsconn.>"}`,
		`{"version": 1, "window": -5000, "inbox": "x.natsconn.x"}`,
		`{"version": 1e99}`, `[]`, `null`, ``,
	}
	for _, text := range answers {
		m, err := there.Request("segd.test.conn", []byte(text), patience)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseHello(m.Data); !errors.Is(err, errRefused) {
			t.Errorf("%.50s: %s", text, m.Data)
		}
	}
	// Those who know the inbox.
	for range 20 {
		m, err := there.Request("segd.test.conn", hello{Window: minWindow, Inbox: newInbox(there)}.marshal(), patience)
		if err != nil {
			t.Fatal(err)
		}
		peer, err := parseHello(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		near := acceptTest(t, l)
		inbox := peer.Inbox
		there.Publish(inbox, garbage())
		there.Publish(inbox, make([]byte, 1<<20)) // more than may wait
		for n := range uint64(1000) {
			there.Publish(inbox, header(nil, kindPing, n))
			there.Publish(inbox, garbage())
		}
		near.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadAll(near); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		near.Close()
	}
	far := dialTest(t, there, Config{})
	near := acceptTest(t, l)
	go near.Write([]byte("hello"))
	b := make([]byte, 5)
	if _, err := io.ReadFull(far, b); err != nil || string(b) != "hello" {
		t.Errorf("afterwards: %q, %v", b, err)
	}
}

// Whoever asks and is gone holds a place only until the first ping is missed.
func TestDiallerGone(t *testing.T) {
	s := startNATS(t, server.Options{})
	here, there := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	l := listen(t, here, Config{KeepAlive: 50 * time.Millisecond, Silence: time.Hour})
	if _, err := there.Request("segd.test.conn", hello{Window: minWindow, Inbox: newInbox(there)}.marshal(), patience); err != nil {
		t.Fatal(err)
	}
	near := acceptTest(t, l)
	near.SetReadDeadline(time.Now().Add(patience))
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// remote serves handler at a subject, and returns the URL of a reverse proxy to it.
func remote(t testing.TB, handler http.Handler) (address string) {
	t.Helper()
	s := startNATS(t, server.Options{})
	l := listen(t, connect(t, s.ClientURL()), Config{})
	there := connect(t, s.ClientURL())
	quiet := log.New(io.Discard, "", 0)
	srv := &http.Server{Handler: handler, ErrorLog: quiet}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return Dial(ctx, there, l.Addr().String(), Config{})
	}}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "box"}) },
		Transport: transport, ErrorLog: quiet,
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() {
		front.Close()
		transport.CloseIdleConnections()
		srv.Close()
		serving.Wait()
	})
	return front.URL
}

// HTTP through a reverse proxy: large bodies both ways, events as they come, a WebSocket.
func TestHTTP(t *testing.T) {
	next := make(chan struct{})
	gone := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		_, _ = body.WriteTo(w)
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		defer close(gone)
		for n := 0; ; n++ {
			fmt.Fprintf(w, "data: %d\n\n", n)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	})
	address := remote(t, mux)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()

	t.Run("bodies", func(t *testing.T) {
		var work sync.WaitGroup
		defer work.Wait()
		for i := range uint64(8) {
			work.Go(func() {
				const size = 3 << 20
				sum := sha256.New()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, address+"/echo", io.TeeReader(io.LimitReader(content(i), size), sum))
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				back := sha256.New()
				if n, err := io.Copy(back, resp.Body); err != nil || n != size || !bytes.Equal(back.Sum(nil), sum.Sum(nil)) {
					t.Errorf("%d bytes came back, %v; want the %d sent", n, err, size)
				}
			})
		}
	})
	t.Run("events", func(t *testing.T) {
		ctx, leave := context.WithCancel(ctx)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, address+"/events", http.NoBody)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for n := range 3 { // the next is not made before this one has come
			for lines.Scan() && lines.Text() == "" {
			}
			if want := fmt.Sprintf("data: %d", n); lines.Text() != want {
				t.Fatalf("got %q, %v; want %q", lines.Text(), lines.Err(), want)
			}
			if n < 2 {
				next <- struct{}{}
			}
		}
		leave()
		select {
		case <-gone: // the handler sees that its client has gone
		case <-time.After(patience):
			t.Error("the handler goes on")
		}
	})
	t.Run("websocket", func(t *testing.T) {
		c, _, err := websocket.Dial(ctx, address+"/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		for _, size := range []int{1, 100_000, 300_000} {
			want := make([]byte, size)
			io.ReadFull(content(uint64(size)), want)
			if err := c.Write(ctx, websocket.MessageBinary, want); err != nil {
				t.Fatal(err)
			}
			if _, got, err := c.Read(ctx); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes came back, %v; want the %d sent", len(got), err, size)
			}
		}
		if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	})
}

// pipes are what the benchmarks compare: listeners, and how to dial them.
func pipes(b *testing.B) map[string]func() (net.Listener, func(context.Context) (net.Conn, error)) {
	return map[string]func() (net.Listener, func(context.Context) (net.Conn, error)){
		"nats": func() (net.Listener, func(context.Context) (net.Conn, error)) {
			s := startNATS(b, server.Options{})
			l := listen(b, connect(b, s.ClientURL()), Config{})
			there := connect(b, s.ClientURL())
			return l, func(ctx context.Context) (net.Conn, error) {
				return Dial(ctx, there, l.Addr().String(), Config{})
			}
		},
		"tcp": func() (net.Listener, func(context.Context) (net.Conn, error)) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { l.Close() })
			return l, func(ctx context.Context) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "tcp", l.Addr().String())
			}
		},
	}
}

func BenchmarkThroughput(b *testing.B) {
	for name, pipe := range pipes(b) {
		b.Run(name, func(b *testing.B) {
			l, dial := pipe()
			far, err := dial(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer far.Close()
			near := acceptTest(b, l)
			var reading sync.WaitGroup
			defer reading.Wait()
			piece := make([]byte, 64<<10)
			b.SetBytes(int64(len(piece)))
			total := int64(0)
			reading.Go(func() { total, _ = io.Copy(io.Discard, struct{ io.Reader }{near}) })
			sent := int64(0)
			for b.Loop() {
				n, err := far.Write(piece)
				if err != nil {
					b.Fatal(err)
				}
				sent += int64(n)
			}
			far.Close()
			reading.Wait()
			if total != sent {
				b.Errorf("%d bytes came of %d", total, sent)
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	for name, pipe := range pipes(b) {
		b.Run(name, func(b *testing.B) {
			l, dial := pipe()
			srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })}
			var serving sync.WaitGroup
			serving.Go(func() { _ = srv.Serve(l) })
			transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
			client := &http.Client{Transport: transport}
			for b.Loop() {
				resp, err := client.Get("http://box/")
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			transport.CloseIdleConnections()
			srv.Close()
			serving.Wait()
		})
	}
}
