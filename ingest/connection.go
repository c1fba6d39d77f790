package ingest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/ingest/codec"
)

// connection is video on its way from a camera that has answered. It goes on until
// it ends by itself or is closed.
type connection struct {
	recv  *receiver
	ended chan error // why it ended; one value
	// decoder makes the decoder of its access units.
	decoder func() (*codec.Decoder, error)

	cancel context.CancelFunc
	joined chan struct{}
}

// newConnection returns a connection; begin must follow.
func (s *Source) newConnection(r *receiver) *connection {
	c := &connection{recv: r, ended: make(chan error, 1), joined: make(chan struct{})}
	c.decoder = func() (*codec.Decoder, error) { return codec.NewDecoderOn(r.track.id, s.cfg.Decode) }
	return c
}

// begin starts the goroutine that reads the network. read returns when the
// connection has ended, or the context that it is given, which is ctx or less.
func (c *connection) begin(ctx context.Context, read func(context.Context) error) {
	ctx, c.cancel = context.WithCancel(ctx)
	go func() {
		defer close(c.joined)
		c.ended <- read(ctx)
	}()
}

// close ends the connection and waits until nothing is left of it.
func (c *connection) close() {
	c.cancel()
	<-c.joined
}

// dial connects to the camera, of whichever kind it is, within the stall timeout.
// heard is set once it has said anything. The connection ends with ctx. The error
// is in words for people.
func (s *Source) dial(ctx context.Context, heard *atomic.Bool) (*connection, error) {
	switch s.url.Kind {
	case cameraurl.MJPEG:
		return s.dialHTTP(ctx, heard, s.readImages), nil
	case cameraurl.Snapshot:
		return s.dialHTTP(ctx, heard, s.pollImages), nil
	case cameraurl.V4L2:
		return s.dialV4L2(ctx)
	default:
		return s.dialRTSP(ctx, heard)
	}
}

// deliver hands out the frames of c until it ends, stalls or ctx ends, closes it, and
// returns why; never nil. It calls onFirst before the first frame.
func (s *Source) deliver(ctx context.Context, c *connection, sink func(*Frame), onFirst func()) error {
	f, err := newFeed(s, c, sink, onFirst)
	if err != nil {
		c.close()
		return err
	}
	defer f.close()
	defer c.close()
	return f.receive(ctx)
}

// watchOnce connects once and delivers frames until the connection ends, the camera
// stalls or ctx ends, and returns why; never nil.
func (s *Source) watchOnce(ctx context.Context, sink func(*Frame)) error {
	c, err := s.dial(ctx, new(atomic.Bool))
	if err != nil {
		return err
	}
	err = s.deliver(ctx, c, sink, func() {})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.explain(err)
}

// attempt is a dial, and then a connection, that has not shown anything yet.
type attempt struct {
	heard  atomic.Bool
	cancel context.CancelFunc
	conn   *connection // with its first unit there
	err    error       // or why there is none
}

// try dials, waits until there is something to decode, and reports that or why not.
// Nothing is left of it if ctx ends before the report is taken.
func (s *Source) try(ctx context.Context, a *attempt, reports chan<- *attempt) {
	a.conn, a.err = s.dial(ctx, &a.heard)
	if a.err == nil {
		a.err = s.await(ctx, a.conn)
	}
	if a.err != nil && a.conn != nil {
		a.conn.close()
		a.conn = nil
	}
	select {
	case reports <- a:
	case <-ctx.Done():
		if a.conn != nil {
			a.conn.close()
		}
	}
}

// await waits for a connection's first unit.
func (s *Source) await(ctx context.Context, c *connection) error {
	limit := firstFrameFactor * s.cfg.StallTimeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.recv.began:
		return nil
	case err := <-c.ended:
		select {
		case <-c.recv.began: // something came first
			c.ended <- err
			return nil
		default:
			return s.explain(err)
		}
	case err := <-c.recv.refused:
		return s.explain(err)
	case <-timer.C:
		return s.explain(c.recv.silence(limit))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silence says that no picture came for d, and what came instead or is waited for.
func (r *receiver) silence(d time.Duration) error {
	err := fmt.Errorf("%w: no picture for %v", ErrStalled, d)
	keyless, refreshing := r.keyless.Load(), r.refreshing.Load()
	select {
	case <-r.began:
		keyless = 0 // there was a key frame since
	default:
	}
	switch why := r.trouble(); {
	case why != nil:
		return fmt.Errorf("%w, the packets that came make none: %w", err, why)
	case keyless > 0:
		return fmt.Errorf("%w, segd waits for a key frame: %d access units came, none of them begins a picture; "+
			"set a shorter I-frame interval in the camera's settings, and intra refresh off if it is on", err, keyless)
	case refreshing > 0 && refreshing <= maxRefresh:
		return fmt.Errorf("%w, the camera renews its pictures piece by piece (intra refresh) and says that they are whole after %d more; "+
			"set a shorter I-frame interval in the camera's settings", err, refreshing)
	}
	return err
}
