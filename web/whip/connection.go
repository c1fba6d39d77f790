package whip

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pion/webrtc/v3"
)

// connection is one with a publisher or with a viewer, from its offer to its end.
type connection struct {
	id, etag string
	ufrag    string // of the offer
	log      *slog.Logger
	pc       *webrtc.PeerConnection
	setUp    func(*webrtc.PeerConnection) error // before the offer is read
	over     func()                             // when nothing is left of it
	late     error                              // why it ends, if it does not begin in time

	end   chan struct{} // closed when it is to end
	gone  chan struct{} // closed when it has ended and nothing is left of it
	began chan struct{} // closed when video comes, or can go

	mu     sync.Mutex // guards what follows
	reason error      // why it ended; nil before
	joined sync.WaitGroup
}

func newConnection(log *slog.Logger) connection {
	return connection{
		id: rand.Text(), etag: `"` + rand.Text() + `"`, log: log,
		end: make(chan struct{}), gone: make(chan struct{}), began: make(chan struct{}),
	}
}

// answer begins the connection for an offer and returns the answer. The error wraps
// errUnfit where the offer is at fault. keep must follow in either case.
func (c *connection) answer(ctx context.Context, api *webrtc.API, o *offer) (_ string, err error) {
	defer func() {
		// It holds its place: it must end in good order even then.
		if p := recover(); p != nil {
			err = unfit("the WebRTC library failed at it: %v", p)
		}
	}()
	c.ufrag = o.ufrag
	pc, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return "", fmt.Errorf("whip: %w", err)
	}
	c.pc = pc
	if err := c.setUp(pc); err != nil {
		return "", fmt.Errorf("whip: %w", err)
	}
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		c.log.Debug("connection", "state", state.String())
		switch state {
		case webrtc.PeerConnectionStateFailed:
			c.fail(ErrGone)
		case webrtc.PeerConnectionStateClosed:
			c.fail(ErrEnded)
		}
	})
	if err := pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: o.text}); err != nil {
		return "", unfit("%w", err)
	}
	answer, err := pc.CreateAnswer(nil)
	if err != nil {
		return "", unfit("%w", err)
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(answer); err != nil {
		return "", unfit("%w", err)
	}
	select {
	case <-gathered:
		return pc.LocalDescription().SDP, nil
	case <-c.end:
		return "", c.why()
	case <-ctx.Done():
		return "", fmt.Errorf("whip: %w", ctx.Err())
	}
}

// keep waits for the end and cleans up after it. It ends the connection itself when
// it does not begin within the limit.
func (c *connection) keep(limit time.Duration) {
	defer close(c.gone)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.began:
	case <-c.end:
	case <-timer.C:
		c.fail(fmt.Errorf("%w within %v of its offer; can it reach whip.addr, over UDP or TCP?", c.late, limit))
	}
	<-c.end
	if c.pc != nil {
		if err := c.pc.GracefulClose(); err != nil {
			c.log.Debug("closing the connection", "error", err)
		}
	}
	c.joined.Wait()
	c.over()
}

// fail says that the connection is to end, and why; the first reason counts.
func (c *connection) fail(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reason == nil {
		c.reason = reason
		close(c.end)
	}
}

func (c *connection) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason
}

// Close ends the connection, if it has not ended, and waits until nothing is left of
// it.
func (c *connection) Close(reason error) {
	c.fail(reason)
	<-c.gone
}
