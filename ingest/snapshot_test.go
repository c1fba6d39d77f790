package ingest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveSnapshots starts a camera of single pictures, and returns its address and how many
// connections it had.
func serveSnapshots(t testing.TB, handle http.HandlerFunc) (string, *atomic.Int32) {
	t.Helper()
	connections := new(atomic.Int32)
	h := httptest.NewUnstartedServer(handle)
	h.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	h.Start()
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return "snapshot+" + h.URL + "/snap.jpg", connections
}

// picture answers with a JPEG.
func picture(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "image/jpeg")
	w.Write(data)
}

// A picture an interval, over one connection.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	url, connections := serveSnapshots(t, func(w http.ResponseWriter, _ *http.Request) {
		picture(w, numberedJPEG(t, 128, 96, int(n.Add(1))))
	})
	cfg := testConfig(url, "")
	const interval = 50 * time.Millisecond
	cfg.FPS = float64(time.Second / interval)
	w := start(t, cfg)
	const frames = 6
	all := w.take(frames)
	for i, f := range all {
		if f.number != i+1 || f.Width != 128 || f.Height != 96 || f.Clock != ClockArrival {
			t.Errorf("frame %d shows picture %d: %+v", i, f.number, f.Frame)
		}
	}
	if took := all[frames-1].PTS - all[0].PTS; took < (frames-2)*interval {
		t.Errorf("%d pictures in %v", frames, took)
	}
	_ = w.stop()
	if connections.Load() != 1 || w.events.downs != 0 {
		t.Errorf("%d connections; %+v", connections.Load(), &w.events)
	}
}

// The default is one a second, and a camera that is asked rarely is in no doubt meanwhile.
func TestSnapshotInterval(t *testing.T) {
	for fps, want := range map[float64]time.Duration{0: time.Second, 1.0 / 60: time.Minute} {
		s, err := Open(Config{URL: "snapshot+http://h/x", FPS: fps})
		require.NoError(t, err)
		if s.interval.Round(time.Millisecond) != want || s.cfg.StallTimeout != defaultStallTimeout+s.interval {
			t.Errorf("%v: every %v, stalled after %v", fps, s.interval, s.cfg.StallTimeout)
		}
		c := newCamera(s, func(*Frame) {})
		if doubt := min(gapsDoubt*c.gap, s.cfg.StallTimeout); doubt <= want {
			t.Errorf("%v: in doubt after %v", fps, doubt)
		}
		c.dialAt.Stop()
	}
	for _, fps := range []float64{-1, 1e-9, 1e9} {
		_, err := Open(Config{URL: "snapshot+http://h/x", FPS: fps})
		assert.Error(t, err, "fps %v was accepted", fps)
	}
}

// A camera that has no newer picture is asked by what it said of the last one, makes no
// frame of that, and is neither in doubt nor stalled, however long.
func TestSnapshotNotModified(t *testing.T) {
	for _, header := range []string{"ETag", "Last-Modified"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			var version, same atomic.Int32
			version.Store(1)
			url, connections := serveSnapshots(t, func(w http.ResponseWriter, r *http.Request) {
				v := int(version.Load())
				name, asked := fmt.Sprintf(`"v%d"`, v), r.Header.Get("If-None-Match")
				if header == "Last-Modified" {
					name, asked = time.Unix(1e9+int64(v), 0).UTC().Format(http.TimeFormat), r.Header.Get("If-Modified-Since")
				}
				w.Header().Set(header, name)
				if asked == name {
					same.Add(1)
					w.WriteHeader(http.StatusNotModified)
					return
				}
				picture(w, numberedJPEG(t, 128, 96, v))
			})
			cfg := testConfig(url, "")
			cfg.StallTimeout, cfg.FPS = 500*time.Millisecond, 20
			w := start(t, cfg)
			if f := w.next(); f.number != 1 {
				t.Errorf("picture %d", f.number)
			}
			time.Sleep(4 * cfg.StallTimeout)
			if len(w.frames) > 0 || same.Load() < 5 {
				t.Errorf("%d frames of the same picture, which was asked for %d times", len(w.frames), same.Load())
			}
			version.Store(2)
			if f := w.next(); f.number != 2 {
				t.Errorf("picture %d", f.number)
			}
			_ = w.stop()
			if w.events.downs != 0 || connections.Load() != 1 {
				t.Errorf("down %d times, %v; %d connections", w.events.downs, w.events.lastDown, connections.Load())
			}
		})
	}
}

// A request that fails brings the camera down, and it is asked again by the usual rules.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	url, _ := serveSnapshots(t, func(w http.ResponseWriter, _ *http.Request) {
		if bad.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		picture(w, numberedJPEG(t, 128, 96, 1))
	})
	cfg := testConfig(url, "")
	cfg.FPS = 50
	w := start(t, cfg)
	w.take(3)
	bad.Store(true)
	e := &w.events
	eventually(t, "tries that fail", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.retries) > 3 })
	bad.Store(false)
	eventually(t, "Reconnect", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.reconnects == 1 })
	_ = w.stop()
	if e.downs != 1 || !strings.Contains(e.lastDown.Error(), "answers 503 (Service Unavailable)") {
		t.Errorf("events: %+v, %v", e, e.lastDown)
	}
}

// What can be wrong with such a camera, each said in words.
func TestSnapshotFaults(t *testing.T) {
	jpeg := numberedJPEG(t, 64, 48, 1)
	of := func(kind string, data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			w.Write(data)
		}
	}
	for _, tc := range []struct {
		name   string
		handle http.HandlerFunc
		want   error
		words  string
	}{
		{"a picture", of("image/jpeg", jpeg), nil, ""},
		{"of an unknown type", of("application/octet-stream", jpeg), nil, ""},
		{"of no type, after an empty line", of("", append([]byte("\r\n"), jpeg...)), nil, ""},
		{"no credentials", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, ErrUnauthorized, "snapshot+http://USER:PASSWORD@"},
		{"no such path", http.NotFound, ErrNotFound, `"/snap.jpg"`},
		{"sent elsewhere", http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound).ServeHTTP, ErrRedirected, "302"},
		{"a page", of("text/html", []byte("<html>")), ErrNoVideo, `"text/html"`},
		{"another picture", of("image/png", []byte("\x89PNG")), ErrNoVideo, `"image/png", not a picture in JPEG`},
		{"one after the other", of("multipart/x-mixed-replace; boundary=x", nil), ErrNoVideo, "write mjpeg+ in place of snapshot+"},
		{"called a picture", of("image/jpeg", []byte("<html>")), ErrNoVideo, `no JPEG in 6 bytes, which begin with "<html>"`},
		{"nothing", of("image/jpeg", nil), ErrNoVideo, "no JPEG in 0 bytes"},
		{"too large", of("image/jpeg", append(bytes.Clone(jpeg), make([]byte, maxImage)...)), nil, "more than 8388608 bytes"},
		{"unchanged, unasked", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, nil, "answers 304"},
		{"no end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			picture(w, jpeg)
		}, ErrClosed, ""},
		{"late", func(w http.ResponseWriter, r *http.Request) {
			picture(w, jpeg[:100])
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, ErrStalled, "gives no answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			url, _ := serveSnapshots(t, tc.handle)
			cfg := testConfig(url, "")
			if tc.name != "late" {
				cfg.StallTimeout = patience // however slow this machine is
			}
			err := probe(t.Context(), cfg)
			if tc.words == "" && tc.want == nil {
				assert.NoError(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Fatalf("error %v does not say %q", err, tc.words)
			}
			if tc.want != nil {
				mustWrap(t, err, tc.want)
			}
		})
	}
}
