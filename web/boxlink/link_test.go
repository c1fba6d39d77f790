package boxlink

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/waitfor"
)

const secret, token = "secret of the fleet", "token-of-somebody"

// boxes are links, each with a page.
type boxes struct {
	t         *testing.T
	mu        sync.Mutex
	addresses map[string]string
}

// box is one of them.
type box struct {
	*Link
	page     string
	answered atomic.Int32
}

func newBoxes(t *testing.T) *boxes {
	return &boxes{t: t, addresses: map[string]string{}}
}

func (b *boxes) at(name, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addresses[name] = address
}

// start starts a box with a page, and answer for what others hand on to it. Whatever its page is asked, it hands on to
// the box that the first part of the path names.
func (b *boxes) start(name, secret string, serve func(http.Handler) *httptest.Server, answer http.HandlerFunc) *box {
	b.t.Helper()
	own := &box{}
	var err error
	own.Link, err = New(Config{
		Box: name, Secret: []byte(secret), Viewer: "viewer", Commands: 2, Views: 2,
		As: func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") },
		Address: func(box string) (string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if at := b.addresses[box]; at != "" {
				return at, nil
			}
			return "", fmt.Errorf("nobody knows box %s", box)
		},
		Answer: func(w http.ResponseWriter, r *http.Request, as string) {
			own.answered.Add(1)
			w.Header().Set("As", as)
			answer(w, r)
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	page := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == Path {
			own.Connect(w, r)
			return
		}
		to, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		own.To(to).ServeHTTP(w, r)
	}))
	b.t.Cleanup(func() { own.Close(); page.CloseClientConnections(); page.Close() })
	own.page = page.URL
	b.at(name, page.URL)
	return own
}

// do asks the page of a box as an operator or whom the headers tell, and returns the answer.
func (b *boxes) do(method, url, body string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	resp, err := b.try(method, url, body, headers...)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(text)
}

func (b *boxes) try(method, url, body string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer operator")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	return transport.RoundTrip(req)
}

// wire carries connections to an address, and keeps what the asking ends say.
type wire struct {
	listener net.Listener
	to       string
	done     sync.WaitGroup
	flip     atomic.Int64 // the bit of that byte of each connection is turned

	mu   sync.Mutex
	said []*bytes.Buffer // of each connection
	all  bytes.Buffer    // of both ends
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	w := &wire{to: strings.TrimPrefix(to, "http://")}
	w.flip.Store(-1)
	var err error
	w.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.done.Go(func() {
		for {
			near, err := w.listener.Accept()
			if err != nil {
				return
			}
			w.done.Go(func() { w.carry(near) })
		}
	})
	t.Cleanup(func() { w.listener.Close(); w.done.Wait() })
	return w
}

func (w *wire) url() string { return "http://" + w.listener.Addr().String() }

func (w *wire) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer far.Close()
	said := &bytes.Buffer{}
	w.mu.Lock()
	w.said = append(w.said, said)
	w.mu.Unlock()
	pump := func(dst, src net.Conn, note func(p []byte)) {
		defer dst.Close()
		p := make([]byte, 4096)
		for {
			n, err := src.Read(p)
			w.mu.Lock()
			note(p[:n])
			w.all.Write(p[:n])
			w.mu.Unlock()
			if _, writeErr := dst.Write(p[:n]); err != nil || writeErr != nil {
				return
			}
		}
	}
	w.done.Go(func() { pump(near, far, func([]byte) {}) })
	pump(far, near, func(p []byte) {
		if i := int(w.flip.Load()) - said.Len(); i >= 0 && i < len(p) {
			p[i] ^= 1
		}
		said.Write(p)
	})
}

// heard is what the asking end of the newest connection has said.
func (w *wire) heard() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.said[len(w.said)-1].Bytes())
}

func (w *wire) has(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.all.Bytes(), []byte(text))
}

// Whatever the way to a box is, requests, uploads, streams and live connections get there and their ends do, and a client that
// is on the way sees nothing of it.
func TestLink(t *testing.T) {
	for name, serve := range map[string]func(http.Handler) *httptest.Server{"HTTP": httptest.NewServer, "HTTPS": httptest.NewTLSServer} {
		for _, proxied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, behind a proxy %v", name, proxied), func(t *testing.T) {
				b := newBoxes(t)
				s := server{ended: make(chan struct{}, 1), more: make(chan struct{})}
				one := b.start("one", secret, serve, s.answer)
				two := b.start("two", secret, httptest.NewServer, http.NotFound)
				if proxied {
					at, err := url.Parse(one.page)
					require.NoError(t, err)
					proxy := httputil.NewSingleHostReverseProxy(at)
					transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
					proxy.Transport = transport
					front := httptest.NewServer(proxy)
					t.Cleanup(func() { front.Close(); transport.CloseIdleConnections() })
					b.at("one", front.URL)
				}
				var w *wire
				if name == "HTTP" {
					b.mu.Lock()
					w = newWire(t, b.addresses["one"])
					b.mu.Unlock()
					b.at("one", w.url())
				}
				b.uses(two, s)
				if w == nil {
					return
				}
				for _, text := range []string{token, "Segd-Forwarded", "/one/", "operator", "a word"} {
					if w.has(text) {
						t.Errorf("on the way somebody sees %q", text)
					}
				}
				if !w.has(Protocol) {
					t.Error("nothing went by the wire")
				}
			})
		}
	}
}

// server is what box one does.
type server struct{ ended, more chan struct{} }

func (s server) answer(w http.ResponseWriter, r *http.Request) {
	switch _, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); what {
	case "request":
		fmt.Fprintf(w, "%s %s %s from %s, %q %q, %v", r.Method, r.URL, r.Host, r.RemoteAddr, r.Header["Authorization"], r.Header["Cookie"], Handed(r))
	case "upload":
		_, _ = io.Copy(w, r.Body)
	case "stream":
		for range 3 {
			fmt.Fprintln(w, "a word")
			_ = http.NewResponseController(w).Flush()
			<-s.more // once that was seen
		}
	case "live":
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		for {
			kind, data, err := conn.Read(r.Context())
			if err != nil {
				s.ended <- struct{}{}
				return
			}
			_ = conn.Write(r.Context(), kind, append([]byte("echo "), data...))
		}
	case "wait":
		_, _ = io.Copy(io.Discard, r.Body) // net/http sees an end only then
		s.ended <- struct{}{}
		<-r.Context().Done()
		s.ended <- struct{}{}
	}
}

// uses asks box one through another.
func (b *boxes) uses(other *box, s server) {
	t := b.t
	t.Helper()
	_, text := b.do("PUT", other.page+"/one/request?a=b&token="+token, "", "Cookie", token, forwardedAs, "operator", forwardedFor, "192.0.2.1:1")
	if host := strings.TrimPrefix(other.page, "http://"); !strings.HasPrefix(text, "PUT /one/request?a=b "+host+" from 127.0.0.1:") || !strings.HasSuffix(text, ", [] [], true") {
		t.Errorf("asked %q", text)
	}
	resp, _ := b.do("GET", other.page+"/one/request", "", "Authorization", "Bearer viewer")
	assert.Equal(t, "viewer", resp.Header.Get("As"), "handed on as")

	data := make([]byte, 3<<20)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	if _, text := b.do("POST", other.page+"/one/upload", string(data)); text != string(data) {
		t.Errorf("%d bytes came back, not those that were sent", len(text))
	}

	resp, err := b.try("GET", other.page+"/one/stream", "")
	require.NoError(t, err)
	defer resp.Body.Close()
	for in := bufio.NewReader(resp.Body); ; {
		if line, err := in.ReadString('\n'); err != nil {
			break
		} else if line != "a word\n" {
			t.Errorf("streamed %q", line)
		}
		s.more <- struct{}{}
	}

	ctx, cancel := context.WithTimeout(t.Context(), waitfor.Limit)
	defer cancel()
	live, _, err := websocket.Dial(ctx, other.page+"/one/live", nil)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, live.Write(ctx, websocket.MessageText, []byte("a word")))
		if _, data, err := live.Read(ctx); err != nil || string(data) != "echo a word" {
			t.Fatalf("%q %v", data, err)
		}
	}
	_ = live.CloseNow()
	waitfor.Next(t, "the end of a live connection", s.ended)

	cut, cutNow := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(cut, "POST", other.page+"/one/wait", strings.NewReader("a word"))
	require.NoError(t, err)
	over := make(chan error)
	go func() {
		_, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		over <- err
	}()
	waitfor.Next(t, "the request", s.ended)
	cutNow()
	waitfor.Next(t, "its end here", over)
	waitfor.Next(t, "its end there", s.ended)
}

// What is recorded on the way cannot be sent again, at that box or another one, nor changed.
func TestHeardIsOfNoUse(t *testing.T) {
	b := newBoxes(t)
	answer := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") }
	one, three := b.start("one", secret, httptest.NewServer, answer), b.start("three", secret, httptest.NewServer, answer)
	two := b.start("two", secret, httptest.NewServer, answer)
	w := newWire(t, one.page)
	b.at("one", w.url())
	clear := func() (status int, heard []byte) {
		t.Helper()
		resp, _ := b.do("POST", two.page+"/one/clear", "")
		heard = w.heard()
		two.transport.CloseIdleConnections()
		return resp.StatusCode, heard
	}
	status, heard := clear()
	if status != http.StatusOK || one.answered.Load() != 1 {
		t.Fatalf("%d, answered %d times", status, one.answered.Load())
	}
	head, rest, _ := bytes.Cut(heard, []byte("\r\n\r\n"))
	for _, other := range []*box{one, three} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(other.page, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "%s\r\n\r\n", head)
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v %v", resp, err)
		}
		_, err = conn.Write(rest)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, in) // until it hangs up
	}
	for back := range 64 {
		w.flip.Store(int64(len(heard) - 8 - back)) // an asking port has more or fewer digits
		if status, _ := clear(); status != http.StatusBadGateway {
			t.Errorf("with byte %d changed: %d", w.flip.Load(), status)
		}
	}
	if n, m := one.answered.Load(), three.answered.Load(); n != 1 || m != 0 {
		t.Errorf("box one has answered %d times, box three %d; want 1 and 0", n, m)
	}
	w.flip.Store(-1)
	if status, _ := clear(); status != http.StatusOK {
		t.Errorf("at last: %d", status)
	}
}

// Who is no box of the fleet is not answered.
func TestStrangers(t *testing.T) {
	b := newBoxes(t)
	one := b.start("one", secret, httptest.NewServer, func(http.ResponseWriter, *http.Request) {})
	other := b.start("other", "another secret", httptest.NewServer, func(http.ResponseWriter, *http.Request) {})
	if resp, text := b.do("POST", other.page+"/one/clear", ""); resp.StatusCode != http.StatusBadGateway || !strings.Contains(text, ErrStranger.Error()) {
		t.Errorf("%s %s; want 502 %q", resp.Status, text, ErrStranger)
	}
	const request = "POST /one/clear HTTP/1.1\r\nHost: x\r\n" + forwardedAs + ": operator\r\n" + forwardedFor + ": 127.0.0.1:1\r\n\r\n"
	for name, speak := range map[string]func(net.Conn) net.Conn{
		"without TLS": func(conn net.Conn) net.Conn { return conn },
		"without a key": func(conn net.Conn) net.Conn {
			return tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		},
	} {
		conn, err := connect(t.Context(), one.page)
		require.NoError(t, err)
		conn = speak(conn)
		_, _ = io.WriteString(conn, request)
		answer, _ := io.ReadAll(conn)
		if bytes.Contains(answer, []byte("200 OK")) {
			t.Errorf("%s: %q", name, answer)
		}
		conn.Close()
	}
	// What comes before the upgrade is no way in either.
	conn, err := net.Dial("tcp", strings.TrimPrefix(one.page, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s", Path, Protocol, request)
	_, _ = io.Copy(io.Discard, conn)
	if resp, text := b.do("GET", one.page+Path, ""); resp.StatusCode != http.StatusUpgradeRequired || resp.Header.Get("Upgrade") != Protocol {
		t.Errorf("without an upgrade: %s %s", resp.Status, text)
	}
	assert.EqualValues(t, 0, one.answered.Load(), "strangers were answered")
}

// A client that asks for a box that is not reached is told why.
func TestNotReached(t *testing.T) {
	b := newBoxes(t)
	answer := func(http.ResponseWriter, *http.Request) {}
	one, two := b.start("one", secret, httptest.NewServer, answer), b.start("two", secret, httptest.NewServer, answer)
	stranger := b.start("stranger", "another secret", httptest.NewServer, answer)
	nobody := httptest.NewServer(http.NotFoundHandler())
	defer nobody.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var sent atomic.Int64
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n")
		for line := []byte("A: " + strings.Repeat("b", 60_000) + "\r\n"); err == nil && sent.Load() < 64<<20; {
			var n int
			n, err = conn.Write(line)
			sent.Add(int64(n))
		}
	}))
	defer endless.Close()
	for _, tt := range []struct{ name, address, want string }{
		{"not known", "", "nobody knows box three"},
		{"nobody listens", gone.URL, "refused"},
		{"another program", nobody.URL + "/x/", "/x" + Path + " answers 404 Not Found"},
		{"endless headers", endless.URL, Path + " answers with more than 16 KiB before the upgrade"},
		{"another box", two.page, ErrStranger.Error()},
		{"another fleet", stranger.page, ErrStranger.Error()},
		{"no URL", "http://[::", "missing ']'"},
	} {
		b.at("three", tt.address)
		resp, text := b.do("GET", one.page+"/three/request", "")
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(text, "box three, which runs the camera, does not answer: ") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s %s; want 502 %q", tt.name, resp.Status, text, tt.want)
		}
	}

	if n := sent.Load(); n > 32<<20 { // what the kernel holds
		t.Errorf("%d bytes of headers were taken", n)
	}

	// One that says nothing is waited for as long as the client does.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() {
		_, err := connect(ctx, "http://"+silent.Addr().String())
		over <- err
	}()
	conn, err := silent.Accept()
	require.NoError(t, err)
	defer conn.Close()
	cancel()
	assert.Error(t, waitfor.Next(t, "the end", over), "it is connected")
}

// What is handed on is answered or refused there, and not handed on further.
func TestHandedOnOnce(t *testing.T) {
	b := newBoxes(t)
	var two *box
	two = b.start("two", secret, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) { two.To("one").ServeHTTP(w, r) })
	one := b.start("one", secret, httptest.NewServer, func(http.ResponseWriter, *http.Request) { t.Error("it came back") })
	if resp, text := b.do("GET", one.page+"/two/x", ""); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "on its way to box one") {
		t.Errorf("%s %s", resp.Status, text)
	}
}

// Viewers leave room for commands, and commands for viewers; who finds none is told when to come again.
func TestRoom(t *testing.T) {
	b := newBoxes(t)
	began, end := make(chan struct{}), make(chan struct{})
	b.start("one", secret, httptest.NewServer, func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/wait") {
			began <- struct{}{}
			<-end
		}
	})
	two := b.start("two", secret, httptest.NewServer, http.NotFound)
	viewer, live := []string{"Authorization", "Bearer viewer"}, []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	var waiting sync.WaitGroup
	wait := func(headers ...string) {
		waiting.Go(func() {
			if resp, err := b.try("GET", two.page+"/one/wait", "", headers...); err != nil {
				t.Error(err)
			} else {
				resp.Body.Close()
			}
		})
		waitfor.Next(t, "a request", began)
	}
	ask := func(want int, headers ...string) {
		t.Helper()
		resp, text := b.do("GET", two.page+"/one/x", "", headers...)
		if resp.StatusCode != want || want == http.StatusServiceUnavailable && (resp.Header.Get("Retry-After") == "" || !strings.Contains(text, "box one")) {
			t.Errorf("%q: %s %q %s; want %d", headers, resp.Status, resp.Header, text, want)
		}
	}
	wait(viewer...)
	ask(http.StatusOK, viewer...)
	wait(live...)
	ask(http.StatusServiceUnavailable, viewer...)
	ask(http.StatusServiceUnavailable, live...)
	ask(http.StatusOK)
	wait()
	wait()
	ask(http.StatusServiceUnavailable)
	close(end)
	waiting.Wait()
	waitfor.True(t, "room again", func() bool {
		resp, _ := b.do("GET", two.page+"/one/x", "", viewer...)
		return resp.StatusCode == http.StatusOK
	})
	ask(http.StatusOK)
}

// A box that ends lets go of those who ask it.
func TestClose(t *testing.T) {
	b := newBoxes(t)
	began := make(chan struct{})
	one := b.start("one", secret, httptest.NewServer, func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
	})
	two := b.start("two", secret, httptest.NewServer, http.NotFound)
	over := make(chan int)
	go func() {
		resp, err := b.try("GET", two.page+"/one/x", "")
		if err != nil {
			t.Error(err)
			over <- 0
			return
		}
		resp.Body.Close()
		over <- resp.StatusCode
	}()
	waitfor.Next(t, "the request", began)
	one.Close()
	assert.Equal(t, http.StatusBadGateway, waitfor.Next(t, "its end", over))
	if conn, err := connect(t.Context(), one.page); err == nil {
		_, err = conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF, "a connection to a box that has ended")
		conn.Close()
	}
	one.Close() // once more
}

// What is handed on tells who asks, as this box has found, and has no credentials.
func TestHandOn(t *testing.T) {
	in := httptest.NewRequest(http.MethodGet, "http://box.example/api/v1/cameras/gate/live?window=2&token=secret&access_token=secret", http.NoBody)
	for name, value := range map[string]string{
		"Authorization": "Bearer secret", "Proxy-Authorization": "Basic secret", "Cookie": "segd_session=secret",
		forwardedAs: "operator", forwardedFor: "127.0.0.1:1", "Origin": "https://box.example",
	} {
		in.Header.Set(name, value)
	}
	in.RemoteAddr = "192.0.2.7:1234"
	in = in.WithContext(context.WithValue(in.Context(), holderKey{}, holder{"one", "viewer"}))
	out := in.Clone(in.Context())
	handOn(&httputil.ProxyRequest{In: in, Out: out})
	want := http.Header{forwardedAs: {"viewer"}, forwardedFor: {"192.0.2.7:1234"}, "Origin": {"https://box.example"}}
	if len(out.Header) != len(want) {
		t.Errorf("headers %q, want %q", out.Header, want)
	}
	for name := range want {
		if out.Header.Get(name) != want.Get(name) {
			t.Errorf("%s: %q, want %q", name, out.Header[name], want[name])
		}
	}
	if got := out.URL.String(); got != "http://one/api/v1/cameras/gate/live?window=2" || out.Host != "box.example" {
		t.Errorf("%s, host %s", got, out.Host)
	}
}
