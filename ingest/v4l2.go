package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segd/segd/ingest/codec"
)

// captureEvery is how often a capture device is asked for a picture.
const captureEvery = 3 * time.Millisecond

// dialV4L2 opens a capture device and begins to read it.
func (s *Source) dialV4L2(ctx context.Context) (*connection, error) {
	dev, err := codec.OpenCapture(s.url.Path, s.capture)
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
