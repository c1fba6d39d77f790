package ingest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// numberedJPEG is numbered's picture as JPEG.
func numberedJPEG(t testing.TB, width, height, n int) []byte {
	t.Helper()
	pix := numbered(width, height, n)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for p := range width * height {
		img.Set(p%width, p/width, color.Gray{pix[3*p]})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serveHTTP starts a web camera that answers by handle, and returns its address.
func serveHTTP(t testing.TB, handle http.HandlerFunc) string {
	t.Helper()
	h := httptest.NewServer(handle)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return "mjpeg+" + h.URL + "/video"
}

// Images over HTTP, as cameras of several makes part them; each connection ends
// after some, and the camera is dialled again.
func TestHTTPCamera(t *testing.T) {
	const frames = 6
	for _, tc := range []struct {
		name, kind, first, head, between string
		length                           bool
	}{
		{"lengths", "multipart/x-mixed-replace; boundary=cam", "--cam\r\n", "Content-Type: image/jpeg\r\n", "\r\n--cam\r\n", true},
		{"no lengths", "multipart/x-mixed-replace; boundary=cam", "--cam\r\n", "Content-Type: image/jpeg\r\n", "\r\n--cam\r\n", false},
		{"dashes said too", `multipart/x-mixed-replace; boundary="--cam"`, "--cam\r\n", "Content-Type: image/jpeg\r\n", "\r\n--cam\r\n", true},
		{"an empty line first", "multipart/x-mixed-replace;boundary=cam", "\r\n--cam\r\n", "Content-type: image/jpeg\r\n", "\r\n--cam\r\n", true},
		{"a first part without boundary", "multipart/x-mixed-replace; boundary=cam", "", "", "\r\n--cam\r\nContent-Type: image/jpeg\r\n", false},
		{"no dashes", "multipart/x-mixed-replace; boundary=cam", "cam\r\n", "Content-Type: image/jpeg\r\n", "\r\ncam\r\n", true},
		{"empty lines first", "multipart/x-mixed-replace; boundary=cam", "\r\n\r\n\r\n\r\n--cam\r\n", "Content-Type: image/jpeg\r\n", "\r\n--cam\r\n", true},
		{"lengths of other images", "multipart/x-mixed-replace; boundary=cam", "--cam\r\n", "Content-Length: 1\r\n", "\r\n--cam\r\n", false},
		{"nothing that parts them", "application/octet-stream", "", "", "", false},
		{"a status line", "multipart/x-mixed-replace; boundary=my boundary;; x", "--my boundary\r\n", "HTTP/1.0 200 OK\r\nContent-Length : 5\r\n", "--my boundary\r\n", false},
		{"no boundary said", "multipart/x-mixed-replace", "--cam\r\n", "Content-Type: image/jpeg\r\n", "\r\n--cam\r\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int32
			url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				connections.Add(1)
				if user, password, _ := r.BasicAuth(); user != "admin" || password != "s3cret" || r.URL.Path != "/video" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("Content-Type", tc.kind)
				fmt.Fprint(w, tc.first)
				for n := range frames {
					data := numberedJPEG(t, 128, 96, n)
					fmt.Fprint(w, tc.head)
					if tc.length {
						fmt.Fprintf(w, "Content-Length: %d\r\n", len(data))
					}
					fmt.Fprint(w, "\r\n")
					w.Write(data)
					fmt.Fprint(w, tc.between)
					http.NewResponseController(w).Flush()
					time.Sleep(5 * time.Millisecond)
				}
			})
			w := start(t, testConfig(strings.Replace(url, "//", "//admin:s3cret@", 1), ""))
			for i, f := range w.take(2 * frames) {
				if f.number != i%frames || f.Width != 128 || f.Height != 96 || f.Clock != ClockArrival || f.Captured != f.Received {
					t.Errorf("frame %d shows picture %d: %+v", i, f.number, f.Frame)
				}
			}
			_ = w.stop()
			if w.events.ups < 2 || w.events.reconnects != w.events.ups-1 || w.events.undecoded != 0 {
				t.Errorf("events: %+v", &w.events)
			}
		})
	}
}

// With lengths an image is there as soon as its last byte is, and does not wait for
// the next one.
func TestHTTPLatency(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=x")
		for n := range 3 {
			data := numberedJPEG(t, 128, 96, n)
			fmt.Fprintf(w, "\r\n--x\r\nContent-Length: %d\r\n\r\n%s", len(data), data)
			http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
	})
	w := start(t, testConfig(url, ""))
	for n := range 3 {
		if f := w.next(); f.number != n {
			t.Errorf("picture %d, want %d", f.number, n)
		}
		next <- struct{}{}
	}
	_ = w.stop()
}

// What can be wrong with such a camera, each said in words.
func TestHTTPFaults(t *testing.T) {
	multipart := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=x")
			fmt.Fprint(w, text)
		}
	}
	for _, tc := range []struct {
		name   string
		handle http.HandlerFunc
		want   error
		words  string
	}{
		{"no credentials", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, ErrUnauthorized, "mjpeg+http://USER:PASSWORD@"},
		{"no such path", http.NotFound, ErrNotFound, `"/video"`},
		{"sent elsewhere", http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound).ServeHTTP, nil, "302"},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, ErrNoVideo, `"text/html`},
		{"one picture", func(w http.ResponseWriter, _ *http.Request) { picture(w, nil) }, ErrNoVideo, "write snapshot+ in place of mjpeg+"},
		{"no boundary", multipart("hello, this is no boundary\r\n"), ErrNoVideo, "hello"},
		{"a line without end", multipart(strings.Repeat("-", 100000)), ErrNoVideo, "no JPEG in 65536 bytes"},
		{"an image without end", multipart("--x\r\n\r\n\xff\xd8\xff\xda\x00\x02" + strings.Repeat("JPEG", maxImage/4+10)), nil, "more than 8388608 bytes"},
		{"a length that is a lie", multipart("--x\r\nContent-Length: 999999999999999999999\r\n\r\nabc\r\n--x--"), nil, ""},
		{"no images", multipart("--x\r\n\r\nabc\r\n--x\r\n\r\ndef\r\n--x--"), ErrNoVideo, `begin with "--x`},
		{"nothing", multipart(""), ErrClosed, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(serveHTTP(t, tc.handle), "")
			cfg.StallTimeout = patience // however slow this machine is
			err := probe(context.Background(), cfg)
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Fatalf("error %q does not say %q", err, tc.words)
			}
			if tc.want != nil {
				mustWrap(t, err, tc.want)
			}
		})
	}
}
