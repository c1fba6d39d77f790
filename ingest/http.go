package ingest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segd/segd/ingest/codec"
)

const (
	// maxImage is the largest JPEG taken from a stream of them, as the depacketisers
	// of RTP have it.
	maxImage = 8 << 20
	// maxBoundary bounds the line that parts two images: RFC 2046 has 70 characters.
	maxBoundary = 200
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
	if m, _, _ := mime.ParseMediaType(kind); !strings.HasPrefix(m, "multipart/") {
		return fmt.Errorf("%w: the camera sends %q, not images one after the other (multipart/x-mixed-replace)", ErrNoVideo, kind)
	}
	images, err := splitImages(resp.Body)
	if err != nil {
		return err
	}
	began, last := time.Now(), int64(-1)
	for {
		data, err := nextImage(images)
		if err != nil {
			return err
		}
		now := time.Now()
		last = max(last+1, int64(now.Sub(began)*ticksPerSecond/time.Second))
		r.queue(unit{data: data, ticks: last, received: now, disposable: true})
	}
}

// splitImages finds out what parts two images. It is what the camera sends and not
// what it said: many say it with two dashes too many.
func splitImages(body io.Reader) (*multipart.Reader, error) {
	in := bufio.NewReader(body)
	for range 3 { // an empty line or two may come first
		var line []byte
		for len(line) < maxBoundary && (len(line) == 0 || line[len(line)-1] != '\n') {
			b, err := in.ReadByte()
			if err != nil {
				return nil, err
			}
			line = append(line, b)
		}
		text := strings.TrimRight(string(line), " \t\r\n")
		if text == "" {
			continue
		}
		boundary, ok := strings.CutPrefix(text, "--")
		if !ok || boundary == "" {
			return nil, fmt.Errorf("%w: the stream begins with %q, not with a boundary", ErrNoVideo, text)
		}
		return multipart.NewReader(io.MultiReader(strings.NewReader(text+"\r\n"), in), boundary), nil
	}
	return nil, fmt.Errorf("%w: the stream begins with empty lines", ErrNoVideo)
}

// nextImage returns the next image's bytes. If the camera tells their number they
// are there as soon as the last one is, else when the next image begins.
func nextImage(images *multipart.Reader) ([]byte, error) {
	part, err := images.NextRawPart()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(part.Header.Get("Content-Length")))
	if err == nil && n > 0 && n <= maxImage {
		data := make([]byte, n)
		_, err := io.ReadFull(part, data)
		return data, err
	}
	data, err := io.ReadAll(io.LimitReader(part, maxImage+1))
	if err == nil && len(data) > maxImage {
		err = fmt.Errorf("%w: an image of more than %d bytes", codec.ErrTooLarge, maxImage)
	}
	return data, err
}
