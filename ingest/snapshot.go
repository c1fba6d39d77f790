package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/pause"
)

// pollImages asks for one picture after the other, one an interval, until a request fails or
// ctx ends, and returns why it ended; never nil.
func (s *Source) pollImages(ctx context.Context, r *receiver, web *webClient) error {
	newest := snapshot{web: web}
	began := time.Now()
	for due := began; ; {
		data, err := newest.next(ctx)
		if err != nil {
			return err
		}
		if data == nil {
			r.sayAlive()
		} else {
			r.queueImage(data, began)
		}
		// A camera that is slower than the interval is asked as soon as it has answered.
		if due = due.Add(s.interval); due.Before(time.Now()) {
			due = time.Now()
		}
		if err := pause.For(ctx, time.Until(due)); err != nil {
			return err
		}
	}
}

// snapshot is the newest picture of a camera, as far as it takes to ask for a newer one.
type snapshot struct {
	web            *webClient
	etag, modified string // as the camera said
}

// next returns a picture, nil if there is none but the one that is known. The camera has as
// long to send it as Config has for StallTimeout.
func (p *snapshot) next(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.web.src.cfg.StallTimeout-p.web.src.interval)
	defer cancel()
	known := http.Header{}
	if p.etag != "" {
		known.Set("If-None-Match", p.etag)
	}
	if p.modified != "" {
		known.Set("If-Modified-Since", p.modified)
	}
	resp, err := p.web.get(ctx, known)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotModified {
		_, _ = io.CopyN(io.Discard, resp.Body, maxBetween)
		return nil, nil
	}
	if err := onePicture(resp.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxImage+1))
	switch start := bytes.Index(data, []byte{0xff, markerSOI, 0xff}); {
	case err != nil:
		return nil, err
	case len(data) > maxImage:
		return nil, fmt.Errorf("%w: a picture of more than %d bytes", codec.ErrTooLarge, maxImage)
	case start < 0:
		return nil, fmt.Errorf("%w: no JPEG in %d bytes, which begin with %q", ErrNoVideo, len(data), data[:min(64, len(data))])
	default:
		data = data[start:]
	}
	p.etag, p.modified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	return data, nil
}

// onePicture says what is wrong with the type of an answer that should be a JPEG.
func onePicture(kind string) error {
	name, _, _ := strings.Cut(strings.ToLower(kind), ";")
	switch name = strings.TrimSpace(name); {
	case strings.HasPrefix(name, "multipart/"):
		return fmt.Errorf("%w: the camera sends %q, images one after the other, not one picture; write mjpeg+ in place of snapshot+", ErrNoVideo, kind)
	case name != "" && name != "image/jpeg" && name != "image/jpg" && name != "image/pjpeg" && name != "application/octet-stream":
		return fmt.Errorf("%w: the camera sends %q, not a picture in JPEG (image/jpeg)", ErrNoVideo, kind)
	}
	return nil
}
