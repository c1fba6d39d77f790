package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/ingest/codec"
)

// captureEvery is how often a capture device is asked for a picture.
const captureEvery = 3 * time.Millisecond

// parseV4L2 reads v4l2:PATH?size=WxH&fps=N&format=NAME.
func (s *Source) parseV4L2(rest string) error {
	const accepted = "v4l2:/dev/video0, and after a ? any of size=1280x720, fps=30 and format=mjpeg, joined by &, are accepted"
	path, query, _ := strings.Cut(localPath(rest), "?")
	if !filepath.IsAbs(path) {
		return fmt.Errorf("url %q: %q is not the path of a device; %s", s.cfg.URL, path, accepted)
	}
	s.path = filepath.Clean(path)
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("url %q: %w; %s", s.cfg.URL, err, accepted)
	}
	var faults []error
	number := func(key, text string) int {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			faults = append(faults, fmt.Errorf("url %q: %s=%q; %s", s.cfg.URL, key, values.Get(key), accepted))
		}
		return n
	}
	for key, all := range values {
		switch {
		case len(all) != 1:
			faults = append(faults, fmt.Errorf("url %q: %s is there %d times; %s", s.cfg.URL, key, len(all), accepted))
		case key == "size":
			width, height, _ := strings.Cut(all[0], "x")
			s.capture.Width, s.capture.Height = number(key, width), number(key, height)
		case key == "fps":
			s.capture.FPS = number(key, all[0])
		case key == "format":
			s.capture.Format = all[0]
		default:
			faults = append(faults, fmt.Errorf("url %q: unknown %q; %s", s.cfg.URL, key, accepted))
		}
	}
	if len(faults) == 0 {
		if err := codec.CheckCapture(s.capture); err != nil {
			faults = append(faults, fmt.Errorf("url %q: %w", s.cfg.URL, err))
		}
	}
	return errors.Join(faults...)
}

// dialV4L2 opens a capture device and begins to read it.
func (s *Source) dialV4L2(ctx context.Context) (*connection, error) {
	dev, err := codec.OpenCapture(s.path, s.capture)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if n := dev.Size(); n > queueBytes {
		dev.Close()
		return nil, fmt.Errorf("ingest: %s: raw pictures of up to %d bytes, at most %d are taken; ask for a smaller size, or for format=mjpeg", s.Name(), n, queueBytes)
	}
	c := s.newConnection(newReceiver(&track{id: dev.ID()}))
	c.decoder = dev.DecoderMaker(s.cfg.Decode)
	c.begin(ctx, func(ctx context.Context) error {
		defer dev.Close()
		return readCapture(ctx, dev, c.recv)
	})
	return c, nil
}

// readCapture queues pictures until there are none any more, or ctx ends.
func readCapture(ctx context.Context, dev *codec.Capture, r *receiver) error {
	// Of the other codecs it is not known which pictures are needed.
	disposable := dev.ID() == codec.Raw || dev.ID() == codec.MJPEG
	tick := time.NewTicker(captureEvery)
	defer tick.Stop()
	var zero int64
	began, last := time.Time{}, int64(-1)
	for {
		data, pts, err := dev.Read()
		switch {
		case err == nil:
			now := time.Now()
			if began.IsZero() {
				began, zero = now, pts
			}
			at := now.Sub(began)
			if pts != codec.NoPTS && zero != codec.NoPTS {
				at = time.Duration(pts - zero)
			}
			last = max(last+1, int64(at*ticksPerSecond/time.Second))
			r.queue(unit{data: data, ticks: last, received: now, disposable: disposable})
			continue // there may be another
		case !errors.Is(err, codec.ErrNothingYet):
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
