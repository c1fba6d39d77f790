package ingest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segd/segd/ingest/codec"
)

// httpError is an HTTP status that is not 200.
type httpError struct{ code int }

func (e *httpError) Error() string { return "HTTP status " + strconv.Itoa(e.code) }

// dialHTTP begins to read a camera that sends JPEGs over HTTP, one after the
// other, as multipart/x-mixed-replace.
func (s *Source) dialHTTP(ctx context.Context, heard *atomic.Bool) *connection {
	c := s.newConnection(newReceiver(&track{id: codec.MJPEG}))
	c.begin(ctx, func(ctx context.Context) error { return s.readImages(ctx, c.recv, heard) })
	return c
}

// readImages queues images until the connection or ctx ends, and returns why it
// ended; never nil.
func (s *Source) readImages(ctx context.Context, r *receiver, heard *atomic.Bool) error {
	u := *s.url.Network
	u.Scheme = strings.TrimPrefix(u.Scheme, "mjpeg+")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "segd")
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: heardBy(dialTCP, heard), DialTLSContext: heardBy(s.dialTLS, heard),
			ResponseHeaderTimeout: s.cfg.StallTimeout, DisableKeepAlives: true, DisableCompression: true,
		},
		// A camera has no business sending segd to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return redirected(resp.StatusCode, to)
	}
	if resp.StatusCode != http.StatusOK {
		return &httpError{resp.StatusCode}
	}
	kind := resp.Header.Get("Content-Type")
	if m, _, _ := strings.Cut(strings.ToLower(kind), "/"); m == "text" || m == "image" { // a page, or one picture
		return fmt.Errorf("%w: the camera sends %q, not images one after the other (multipart/x-mixed-replace)", ErrNoVideo, kind)
	}
	images := newJPEGs(resp.Body)
	began, last := time.Now(), int64(-1)
	for {
		data, err := images.next()
		if err != nil {
			return err
		}
		now := time.Now()
		last = max(last+1, int64(now.Sub(began)*ticksPerSecond/time.Second))
		r.queue(unit{data: data, ticks: last, received: now, disposable: true})
	}
}
