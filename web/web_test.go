package web

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/outbox"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/objects/privacy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testToken = "0123456789abcdef-test"
	patience  = waitfor.Limit

	bigMessage  = 32 << 20
	slowTimeout = 2 * time.Second // far above what encoding a frame takes on a busy machine
)

// serve starts a server on a free port of loopback for cameras, and ends it
// with the test.
func serve(t *testing.T, cfg Config, cameras ...string) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(cfg)
	require.NoError(t, err)
	s.Cameras(cameras)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return s, h
}

func dial(t *testing.T, base, path string, header http.Header) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, base+path, &websocket.DialOptions{HTTPHeader: header})
	require.NoError(t, err)
	conn.SetReadLimit(2 * bigMessage)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func testFrame(camera string, seq uint64, width, height int) (*segdv1.MaskFrame, []byte) {
	mf := &segdv1.MaskFrame{
		Camera: camera, Sequence: seq, Width: int32(width), Height: int32(height),
		CaptureTime: timestamppb.New(time.UnixMilli(1700000000123)),
		Objects: []*segdv1.Object{{
			Id: 1, Label: "walker", State: segdv1.State_STATE_VISIBLE, Area: 42, Score: 0.75, Counts: "52203",
		}},
	}
	bgr := make([]byte, 3*width*height)
	for i := range bgr {
		bgr[i] = byte(i * 7)
	}
	return mf, bgr
}

// handAll gives p to all viewers of c.
func handAll(c *camera, p *packet) {
	for _, viewers := range c.due(time.Now(), 1, privacy.NewPicture(nil, nil, nil)) {
		c.hand(p, viewers)
	}
}

// unsent is how many viewers have a frame in their mailbox.
func (c *camera) unsent() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.viewers {
		v.mu.Lock()
		if v.frame != nil {
			n++
		}
		v.mu.Unlock()
	}
	return n
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	waitfor.True(t, what, ok)
}

// liveFrame is a binary live message taken apart.
type liveFrame struct {
	dropped uint64
	sent    float64
	mask    segdv1.MaskFrame
	jpeg    []byte
}

func readFrame(t *testing.T, conn *websocket.Conn) *liveFrame {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kind, data, err := conn.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, websocket.MessageBinary, kind, "message %q, want a binary one", data)
	n := binary.BigEndian.Uint32(data)
	var header struct {
		Dropped uint64
		Sent    float64
		Frame   json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data[4:4+n], &header))
	f := &liveFrame{dropped: header.Dropped, sent: header.Sent, jpeg: data[4+n:]}
	require.NoError(t, protojson.Unmarshal(header.Frame, &f.mask))
	return f
}

func get(t *testing.T, rawURL string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	require.NoError(t, err)
	req.Header = header.Clone()
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func TestNew(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want string // in the error; empty: none
	}{
		{"zero value", Config{}, ""},
		{"loopback names", Config{Addr: "localhost:0"}, ""},
		{"IPv6 loopback", Config{Addr: "[::1]:0"}, ""},
		{"loopback of an interface", Config{Addr: "[::1%lo]:0"}, ""},
		{"all of 127/8", Config{Addr: "127.3.2.1:0"}, ""},
		{"off loopback without token", Config{Addr: "0.0.0.0:8080"}, "no token"},
		{"every address without token", Config{Addr: ":8080"}, "no token"},
		{"a name is not known to be loopback", Config{Addr: "myhost:8080"}, "no token"},
		{"off loopback with token", Config{Addr: ":8080", Token: testToken}, ""},
		{"short token", Config{Token: "short"}, "at least 16"},
		{"short publish token", Config{PublishToken: "short"}, "the publish token has 5 characters"},
		{"viewer token alone", Config{ViewerToken: testToken}, "beside a token only"},
		{"viewer token is the token", Config{Token: testToken, ViewerToken: testToken}, "one of its own"},
		{"viewer token lets publish", Config{Token: testToken, PublishToken: testToken + "p", ViewerToken: testToken + "p"}, "one of its own"},
		{"short viewer token", Config{Token: testToken, ViewerToken: "short"}, "the viewer token has 5 characters"},
		{"token with a space", Config{Token: "0123456789 abcdef"}, "character 11"},
		{"no port", Config{Addr: "127.0.0.1"}, "accepts host:port"},
		{"bad port", Config{Addr: "127.0.0.1:http"}, "port from 0 to 65535"},
		{"viewers", Config{MaxViewers: -1}, "accepts 1 to 10000"},
		{"quality", Config{JPEGQuality: 101}, "accepts 1 to 100"},
		{"write timeout", Config{WriteTimeout: -1}, "positive duration"},
		{"several at once", Config{MaxViewers: -1, JPEGQuality: 101}, "JPEG quality"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(tc.cfg)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestHandlers(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "segd_up 1") })
	_, open := serve(t, Config{Metrics: metrics, Version: "v9"}, "north", "yard")
	_, stuck := serve(t, Config{Token: testToken, Alive: func() error { return errors.New("camera north is up and stands still") }})
	_, bare := serve(t, Config{Ready: func() error { return errors.New("camera north is not up yet") }})
	_, locked := serve(t, Config{
		Metrics: metrics, Token: testToken, Ready: func() error { return errors.New("camera north is not up yet") },
	}, "north")

	for _, tc := range []struct {
		name, base, path string
		header           http.Header
		status           int
		body             string
	}{
		{"page", open.URL, "/", nil, 200, "<!doctype html>"},
		{"module", open.URL, "/assets/rle.js", nil, 200, "export function decode"},
		{"no such asset", open.URL, "/assets/server.go", nil, 404, "no such file"},
		{"asset outside", open.URL, "/assets/..%2fserver.go", nil, 404, "no such file"},
		{"nothing there", open.URL, "/nothing", nil, 404, ""},
		{"live", open.URL, "/livez", nil, 200, "ok"},
		{"ready", open.URL, "/readyz", nil, 200, "ok"},
		{"not ready", bare.URL, "/readyz", nil, 503, "camera north is not up yet"},
		{"metrics", open.URL, "/metrics", nil, 200, "segd_up 1"},
		{"no metrics given", bare.URL, "/metrics", nil, 404, ""},
		{"cameras", open.URL, "/api/v1/cameras", nil, 200, fmt.Sprintf(`{"version":"v9","access":"operator","cores":%d,"cameras":[{"name":"north","viewers":0,"status":null,"zones":[],"lines":[]},{"name":"yard",`, runtime.GOMAXPROCS(0))},
		{"no cameras", bare.URL, "/api/v1/cameras", nil, 200, `"cameras":[]`},
		{"unknown camera", open.URL, "/api/v1/cameras/south/live", nil, 404, `no camera \"south\"`},
		{"bad window", open.URL, "/api/v1/cameras/north/live?window=99", nil, 400, "1 to 16"},
		{"no such option", open.URL, "/api/v1/cameras/north/live?widht=160", nil, 400, "accepts window, width, fps, pictures"},
		{"no such pictures", open.URL, "/api/v1/cameras/north/live?pictures=none", nil, 400, "accepts streamed"},
		{"not a WebSocket", open.URL, "/api/v1/cameras/north/live", nil, 426, ""},

		{"foreign name", open.URL, "/", http.Header{"Host": {"evil.example"}}, 421, "loopback"},
		{"foreign name for the API", open.URL, "/api/v1/cameras", http.Header{"Host": {"evil.example:8080"}}, 421, "loopback"},
		{"localhost", open.URL, "/livez", http.Header{"Host": {"localhost:8080"}}, 200, "ok"},

		{"page without token", locked.URL, "/", nil, 303, ""},
		{"page with wrong token", locked.URL, "/?token=wrong", nil, 303, ""},
		{"page with bearer", locked.URL, "/", bearer(testToken), 200, "<!doctype html>"},
		{"sign-in page", locked.URL, "/login", nil, 200, `name="token"`},
		{"API without token", locked.URL, "/api/v1/cameras", nil, 401, "Bearer TOKEN"},
		{"API with wrong token", locked.URL, "/api/v1/cameras", bearer(testToken + "x"), 401, ""},
		{"API with part of the token", locked.URL, "/api/v1/cameras", bearer(testToken[:16]), 401, ""},
		{"API with token", locked.URL, "/api/v1/cameras", bearer(testToken), 200, "north"},
		{"API with the token as cookie", locked.URL, "/api/v1/cameras", http.Header{"Cookie": {cookieName + "=" + testToken}}, 401, ""},
		{"API with the session", locked.URL, "/api/v1/cameras", http.Header{"Cookie": {cookieName + "=" + sessionOf(testToken)}}, 200, "north"},
		{"live connection without token", locked.URL, "/api/v1/cameras/north/live", nil, 401, ""},
		{"metrics without token", locked.URL, "/metrics", nil, 401, ""},
		{"metrics with token", locked.URL, "/metrics", bearer(testToken), 200, "segd_up 1"},
		{"live needs no token", locked.URL, "/livez", nil, 200, "ok"},
		{"stuck, with token", stuck.URL, "/livez", bearer(testToken), 503, "not alive: camera north is up"},
		{"stuck, for strangers", stuck.URL, "/livez", nil, 503, "not alive\n"},
		{"ready tells strangers no reason", locked.URL, "/readyz", nil, 503, "not ready\n"},
		{"any name with a token", locked.URL, "/livez", http.Header{"Host": {"box.example"}}, 200, "ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := get(t, tc.base+tc.path, tc.header)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.body) {
				t.Errorf("%d %q, want %d with %q", resp.StatusCode, body, tc.status, tc.body)
			}
			for name, want := range securityHeaders {
				got := resp.Header.Get(name)
				if name == "Cache-Control" && strings.HasPrefix(tc.path, "/assets/") || tc.path == "/" || tc.path == "/login" {
					continue // those are cached and asked for again
				}
				assert.Equal(t, want, got, "header %s is", name)
			}
			if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
				t.Errorf("content security policy %q", csp)
			}
		})
	}
}

func TestSignIn(t *testing.T) {
	_, h := serve(t, Config{Token: testToken}, "north")

	resp, _ := get(t, h.URL+"/?token="+testToken, nil)
	if resp.StatusCode != 303 || resp.Header.Get("Location") != "/" {
		t.Fatalf("link with token: %d to %q, want 303 to /", resp.StatusCode, resp.Header.Get("Location"))
	}
	cookie := resp.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || strings.Contains(cookie.Value, testToken) {
		t.Errorf("cookie %v, want one out of reach of scripts and other sites, without the token", cookie)
	}
	if resp, _ := get(t, h.URL+"/api/v1/cameras", http.Header{"Cookie": {cookie.String()}}); resp.StatusCode != 200 {
		t.Errorf("with the cookie: %d, want 200", resp.StatusCode)
	}

	post := func(token, origin string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+"/login",
			strings.NewReader(url.Values{"token": {token}}.Encode()))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", origin)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		require.NoError(t, err)
		_ = resp.Body.Close()
		return resp
	}
	if resp := post(testToken, h.URL); resp.Header.Get("Location") != "/" || len(resp.Cookies()) != 1 {
		t.Errorf("right token: to %q with cookies %v, want / with one", resp.Header.Get("Location"), resp.Cookies())
	}
	if resp := post("wrong", h.URL); resp.Header.Get("Location") != "/login#failed" || len(resp.Cookies()) != 0 {
		t.Errorf("wrong token: to %q with cookies %v, want /login#failed with none", resp.Header.Get("Location"), resp.Cookies())
	}
	if resp := post(testToken, "https://evil.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("form of another site: %d, want 403", resp.StatusCode)
	}
}

// Every module that the page loads must be served, with the type browsers ask
// for, and revalidated: after an upgrade no old one may stay.
func TestAssets(t *testing.T) {
	_, h := serve(t, Config{})
	assets, err := loadAssets()
	require.NoError(t, err)
	for name, a := range assets {
		resp, body := get(t, h.URL+"/assets/"+name, nil)
		if resp.StatusCode != 200 || body != string(a.body) {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		if strings.HasSuffix(name, ".js") && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
			t.Errorf("%s has type %q", name, resp.Header.Get("Content-Type"))
		}
		again, _ := get(t, h.URL+"/assets/"+name, http.Header{"If-None-Match": {resp.Header.Get("ETag")}})
		assert.Equal(t, http.StatusNotModified, again.StatusCode, "%s asked for again", name)
		for _, inline := range []string{"<style", " style=", " onclick=", "http://", "https://"} {
			if strings.HasSuffix(name, ".html") && strings.Contains(body, inline) {
				t.Errorf("%s holds %q, which the content security policy refuses", name, inline)
			}
		}
	}
}

func TestLiveRoundTrip(t *testing.T) {
	s, h := serve(t, Config{}, "north", "yard")
	if s.Watched("north") {
		t.Error("watched before anybody came")
	}
	s.Status(&segdv1.Status{Camera: "north", Up: false, Error: "connection refused"})
	conn := dial(t, h.URL, "/api/v1/cameras/north/live", nil)

	// The last status comes at once, without waiting for the next second.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kind, data, err := conn.Read(ctx)
	if err != nil || kind != websocket.MessageText {
		t.Fatalf("first message: %v %v, want a status", kind, err)
	}
	var text struct {
		Status struct {
			Camera, Error string
			Up            *bool
		}
	}
	require.NoError(t, json.Unmarshal(data, &text))
	if text.Status.Error != "connection refused" || text.Status.Up == nil || *text.Status.Up {
		t.Errorf("status %s, want up false and its reason", data)
	}
	if !s.Watched("north") || s.Watched("yard") || s.Watched("nowhere") {
		t.Errorf("watched: north %v, yard %v; want only north", s.Watched("north"), s.Watched("yard"))
	}

	mf, bgr := testFrame("north", 7, 161, 91)
	s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
	f := readFrame(t, conn)
	if f.mask.GetSequence() != 7 || f.mask.GetObjects()[0].GetCounts() != "52203" || f.dropped != 0 {
		t.Errorf("header %v, dropped %d", &f.mask, f.dropped)
	}
	if age := time.Since(time.UnixMilli(int64(f.sent))); age < 0 || age > patience {
		t.Errorf("sent %v ago", age)
	}
	img, err := jpeg.Decode(bytes.NewReader(f.jpeg))
	require.NoError(t, err)
	if size := img.Bounds().Size(); size.X != 161 || size.Y != 91 {
		t.Errorf("picture of %v, want 161×91", size)
	}

	_, body := get(t, h.URL+"/api/v1/cameras", nil)
	assert.Contains(t, body, `{"name":"north","width":161,"height":91,"viewers":1,"status":{`, "cameras")
	_ = conn.Close(websocket.StatusNormalClosure, "")
	waitFor(t, "the camera to be unwatched", func() bool { return !s.Watched("north") })
}

// A viewer is told of the events of its camera, in order.
func TestLiveEvents(t *testing.T) {
	s, h := serve(t, Config{}, "north", "yard")
	s.Event(&segdv1.Event{Camera: "north", Message: "before anybody came"})
	conn := dial(t, h.URL, "/api/v1/cameras/north/live", nil)
	waitFor(t, "the viewer", func() bool { return s.Watched("north") })
	s.Event(&segdv1.Event{Camera: "yard", Message: "elsewhere"})
	s.Event(&segdv1.Event{Camera: "nowhere", Message: "nowhere"})
	for k := range 3 {
		s.Event(&segdv1.Event{Camera: "north", Kind: segdv1.EventKind_EVENT_KIND_OBJECT_NOT_FOLLOWED, ObjectId: uint32(k + 1), Message: "no mask"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for k := range 3 {
		kind, data, err := conn.Read(ctx)
		if want := fmt.Sprintf(`"objectId":%d,`, k+1); err != nil || kind != websocket.MessageText || !strings.HasPrefix(string(data), `{"event":{"`) ||
			!strings.Contains(strings.ReplaceAll(string(data), " ", ""), want) || !strings.Contains(string(data), "EVENT_KIND_OBJECT_NOT_FOLLOWED") {
			t.Errorf("event %d: %v %s %v", k, kind, data, err)
		}
	}
}

// One that does not read loses the oldest.
func TestEventsOfSlowViewer(t *testing.T) {
	v := &viewer{wake: make(chan struct{}, 1), events: outbox.New[[]byte](maxEvents, 0, nil)}
	for k := range maxEvents + 5 {
		v.event([]byte{byte(k)})
	}
	_, events, _, _ := v.take()
	if len(events) != maxEvents || events[0][0] != 5 || events[maxEvents-1][0] != maxEvents+4 {
		t.Errorf("kept %v", events)
	}
	_, events, _, _ = v.take()
	assert.Equal(t, 0, len(events), "sent again: %v", events)
}

// A viewer that acknowledges nothing gets its window and then, when it does,
// the newest frame with the count of what it missed.
func TestWindow(t *testing.T) {
	s, h := serve(t, Config{}, "north")
	conn := dial(t, h.URL, "/api/v1/cameras/north/live?window=2", nil)
	waitFor(t, "the viewer", func() bool { return s.Watched("north") })
	for seq := range uint64(2) {
		mf, bgr := testFrame("north", seq, 32, 16)
		s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
		if got := readFrame(t, conn); got.mask.GetSequence() != seq {
			t.Fatalf("frame %d, want %d", got.mask.GetSequence(), seq)
		}
	}
	for seq := uint64(2); seq < 12; seq++ {
		mf, bgr := testFrame("north", seq, 32, 16)
		s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
	}
	require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte("ack")))
	f := readFrame(t, conn)
	if f.mask.GetSequence() != 11 || f.dropped != 9 {
		t.Errorf("frame %d with %d dropped, want the newest, 11, with 9 dropped", f.mask.GetSequence(), f.dropped)
	}
}

// One viewer reads nothing at all: Publish must not wait for it, and the other
// must get what it would get alone.
func TestSlowViewer(t *testing.T) {
	s, h := serve(t, Config{WriteTimeout: slowTimeout}, "north")
	dial(t, h.URL, "/api/v1/cameras/north/live", nil) // never read
	fast := dial(t, h.URL, "/api/v1/cameras/north/live", nil)
	waitFor(t, "both viewers", func() bool { return s.list()[0].info().Viewers == 2 })

	// More than both ends' socket buffers hold, so that the one is stuck at once.
	handAll(s.camera("north"), &packet{header: []byte("{}"), jpeg: make([]byte, bigMessage)})
	readFrame(t, fast)
	slowest := time.Duration(0)
	seq := uint64(0)
	waitFor(t, "the write deadline to end the slow viewer", func() bool {
		mf, bgr := testFrame("north", seq, 64, 48)
		start := time.Now()
		s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
		slowest = max(slowest, time.Since(start))
		if got := readFrame(t, fast); got.mask.GetSequence() != seq || got.dropped != 0 {
			t.Fatalf("the fast viewer got frame %d with %d dropped, want %d and 0", got.mask.GetSequence(), got.dropped, seq)
		}
		seq++
		return s.list()[0].info().Viewers == 1
	})
	if slowest >= slowTimeout { // what it would have waited for
		t.Errorf("the slowest Publish took %v", slowest)
	}
}

func TestOrigin(t *testing.T) {
	_, h := serve(t, Config{}, "north")
	for origin, want := range map[string]int{
		"":                       http.StatusSwitchingProtocols, // not a browser
		h.URL:                    http.StatusSwitchingProtocols,
		"https://evil.example":   http.StatusForbidden,
		"http://127.0.0.1:1":     http.StatusForbidden, // another program on this machine
		"null":                   http.StatusForbidden,
		h.URL + ".evil.example/": http.StatusForbidden,
	} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		conn, resp, err := websocket.Dial(ctx, h.URL+"/api/v1/cameras/north/live", &websocket.DialOptions{HTTPHeader: header})
		cancel()
		if err == nil {
			_ = conn.CloseNow()
		}
		if resp == nil || resp.StatusCode != want {
			t.Errorf("origin %q: %v, %v; want %d", origin, resp, err, want)
		}
	}
}

func TestCameras(t *testing.T) {
	s, h := serve(t, Config{}, "north", "yard")
	north := dial(t, h.URL, "/api/v1/cameras/north/live", nil)
	yard := dial(t, h.URL, "/api/v1/cameras/yard/live", nil)
	waitFor(t, "both", func() bool { return s.Watched("north") && s.Watched("yard") })
	s.Cameras([]string{"gate", "yard", "yard"})

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := north.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("viewer of the removed camera: %v, want it told", err)
	}
	mf, bgr := testFrame("yard", 3, 16, 16)
	s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
	if f := readFrame(t, yard); f.mask.GetSequence() != 3 {
		t.Errorf("viewer of the kept camera got frame %d, want 3", f.mask.GetSequence())
	}
	var names []string
	for _, c := range s.list() {
		names = append(names, c.name)
	}
	assert.Equal(t, "gate yard", strings.Join(names, " "), "cameras")
}

// What cannot be shown must be told and must not stop the next frame.
func TestPublishFaults(t *testing.T) {
	s, h := serve(t, Config{}, "north")
	conn := dial(t, h.URL, "/api/v1/cameras/north/live", nil)
	waitFor(t, "the viewer", func() bool { return s.Watched("north") })
	good, bgr := testFrame("north", 5, 16, 16)
	s.Publish(good, privacy.NewPicture(bgr[:10], nil, nil))
	s.Publish(&segdv1.MaskFrame{Camera: "north", Objects: []*segdv1.Object{{Label: "\xff"}}}, privacy.NewPicture(nil, nil, nil))
	s.Publish(&segdv1.MaskFrame{Camera: "nowhere"}, privacy.NewPicture(nil, nil, nil))
	s.Status(&segdv1.Status{Camera: "north", Error: "\xff"})
	s.Publish(good, privacy.NewPicture(bgr, nil, nil))
	if f := readFrame(t, conn); f.mask.GetSequence() != 5 {
		t.Errorf("frame %d, want 5", f.mask.GetSequence())
	}
}

// Run must end in time with a viewer that reads nothing and one that does, and
// leave no goroutine (TestMain).
func TestRunShutdown(t *testing.T) {
	s, err := New(Config{Addr: "127.0.0.1:0", WriteTimeout: 2 * patience}) // which is not what ends it
	require.NoError(t, err)
	s.Cameras([]string{"north"})
	require.NoError(t, s.Listen())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	base := strings.TrimSuffix(s.URL(), "/")
	dial(t, base, "/api/v1/cameras/north/live", nil) // never read
	reader := dial(t, base, "/api/v1/cameras/north/live", nil)
	waitFor(t, "both viewers", func() bool { return s.list()[0].info().Viewers == 2 })
	farewell := make(chan error, 1)
	go func() {
		for {
			if _, _, err := reader.Read(t.Context()); err != nil {
				farewell <- err
				return
			}
		}
	}()
	handAll(s.camera("north"), &packet{header: []byte("{}"), jpeg: make([]byte, bigMessage)}) // the first gets stuck
	waitFor(t, "both to be written to", func() bool { return s.camera("north").unsent() == 0 })
	cancel()
	if err := waitfor.Next(t, "Run to end", done); err != nil {
		t.Errorf("Run: %v, want nil at the end of its context", err)
	}
	if err := <-farewell; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the reading viewer ended with %v, want to be told", err)
	}
	assert.ErrorIs(t, s.Listen(), ErrClosed, "Listen afterwards")
}

func TestListenErrors(t *testing.T) {
	first, err := New(Config{Addr: "127.0.0.1:0"})
	require.NoError(t, err)
	defer first.Close()
	require.NoError(t, first.Listen())
	taken := strings.TrimSuffix(strings.TrimPrefix(first.URL(), "http://"), "/")
	second, err := New(Config{Addr: taken})
	require.NoError(t, err)
	err = second.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "web: "+taken+" is already in use:") ||
		!strings.Contains(err.Error(), "accepts: another http.addr") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line with address, reason and what is accepted", err)
	}
}
