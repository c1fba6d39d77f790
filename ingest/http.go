package ingest

import (
	"context"
	"fmt"
	"io"
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

// dialHTTP begins to read a camera that sends JPEGs over HTTP: one after the other, as
// multipart/x-mixed-replace, or one a request.
func (s *Source) dialHTTP(ctx context.Context, heard *atomic.Bool, read func(context.Context, *receiver, *webClient) error) *connection {
	c := s.newConnection(newReceiver(&track{id: codec.MJPEG}))
	c.begin(ctx, func(ctx context.Context) error {
		web := s.newWebClient(heard)
		defer web.http.CloseIdleConnections()
		return read(ctx, c.recv, web)
	})
	return c
}

// webClient asks one camera, as its user once the camera wants to know that.
type webClient struct {
	src   *Source
	http  http.Client
	login login
}

func (s *Source) newWebClient(heard *atomic.Bool) *webClient {
	return &webClient{src: s, login: login{user: s.url.Network.User}, http: http.Client{
		Transport: &http.Transport{
			DialContext: heardBy(dialTCP, heard), DialTLSContext: heardBy(s.dialTLS, heard),
			ResponseHeaderTimeout: s.cfg.StallTimeout, DisableCompression: true,
		},
		// A camera has no business sending segd to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get asks for the camera's URL. An answer with the status 200, or 304 where header asked
// for that, is the caller's to close.
func (w *webClient) get(ctx context.Context, header http.Header) (*http.Response, error) {
	u := *w.src.url.Network
	u.User = nil
	_, u.Scheme, _ = strings.Cut(u.Scheme, "+")
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
		if err != nil {
			return nil, err
		}
		req.Header = header.Clone()
		req.Header.Set("User-Agent", "segd")
		if as := w.login.authorization(req.Method, u.RequestURI()); as != "" {
			req.Header.Set("Authorization", as)
		}
		resp, err := w.http.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotModified && len(header) > 0 {
			w.login.again(resp.StatusCode, nil)
			return resp, nil
		}
		_, _ = io.CopyN(io.Discard, resp.Body, maxBetween) // so that the connection can be used again
		_ = resp.Body.Close()
		if again, err := w.refused(resp); !again {
			return nil, err
		}
	}
}

// refused tells whether a request that was answered by resp, which is closed, should be made
// again, and what is wrong if not.
func (w *webClient) refused(resp *http.Response) (again bool, err error) {
	code, challenges := resp.StatusCode, resp.Header.Values("WWW-Authenticate")
	if w.login.user != nil && !w.login.told && (code == http.StatusUnauthorized || code == http.StatusForbidden) {
		if len(challenges) == 0 { // some cameras say no more than that
			code, challenges = http.StatusUnauthorized, []string{"Basic"}
		} else if _, known := strongest(challenges); !known && code == http.StatusUnauthorized {
			return false, fmt.Errorf("%w: %w (%q)", ErrUnauthorized, errOtherLogin, challenges)
		}
	}
	switch to := resp.Header.Get("Location"); {
	case w.login.again(code, challenges):
		return true, nil
	case to != "" && code >= 300 && code < 400:
		return false, redirected(code, to)
	}
	if err := w.login.refusal(code); err != nil {
		return false, err
	}
	return false, &httpError{code}
}

// readImages queues images until the connection or ctx ends, and returns why it
// ended; never nil.
func (s *Source) readImages(ctx context.Context, r *receiver, web *webClient) error {
	resp, err := web.get(ctx, http.Header{})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	kind := resp.Header.Get("Content-Type")
	switch m, _, _ := strings.Cut(strings.ToLower(kind), "/"); m {
	case "text": // a page
		return fmt.Errorf("%w: the camera sends %q, not images one after the other (multipart/x-mixed-replace)", ErrNoVideo, kind)
	case "image":
		return fmt.Errorf("%w: the camera sends %q, which is one picture, not images one after the other (multipart/x-mixed-replace); "+
			"write snapshot+ in place of mjpeg+ to have it asked for one again and again", ErrNoVideo, kind)
	}
	images := newJPEGs(resp.Body)
	began := time.Now()
	for {
		data, err := images.next()
		if err != nil {
			return err
		}
		r.queueImage(data, began)
	}
}

// queueImage queues a JPEG that is there now, of a connection that began at began.
func (r *receiver) queueImage(data []byte, began time.Time) {
	now := time.Now()
	if ticks := int64(now.Sub(began) * ticksPerSecond / time.Second); r.started {
		r.ticks = max(r.ticks+1, ticks)
	} else {
		r.started, r.ticks = true, ticks
	}
	r.queue(unit{data: data, ticks: r.ticks, received: now, disposable: true})
}
