package whip

import (
	"context"
	"crypto/subtle"
	"errors"
	"sync"

	"github.com/segd/segd/ingest"
)

// Door is where one camera's publishers come in. It is an ingest.Door.
type Door struct {
	camera string
	wake   chan struct{} // holds one token when there may be a publisher to take

	mu      sync.Mutex // guards what follows
	current *session   // from its offer to its end; nil: no publisher
	ready   *session   // current, when its video has begun and it was not taken yet
	ousted  string     // the session that was last replaced, so that it can be told
	closed  bool
}

func newDoor(camera string) *Door {
	return &Door{camera: camera, wake: make(chan struct{}, 1)}
}

// Next waits for a publisher whose video has begun, or for ctx to end.
func (d *Door) Next(ctx context.Context) (ingest.Publisher, error) {
	for {
		d.mu.Lock()
		s := d.ready
		d.ready = nil
		d.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select {
		case <-d.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claim makes s the camera's publisher. With replace, or when it sends nothing any
// more, the one that is there ends for it; otherwise the error is ErrBusy.
func (d *Door) claim(s *session, replace bool) error {
	for {
		d.mu.Lock()
		old := d.current
		switch {
		case d.closed:
			d.mu.Unlock()
			return ErrClosed
		case old == nil:
			d.current = s
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		switch {
		case replace:
			old.Close(ErrReplaced)
		case old.silent():
			old.Close(ErrGone)
		default:
			return ErrBusy
		}
	}
}

// began says that the video of s has begun.
func (d *Door) began(s *session) {
	d.mu.Lock()
	if d.current == s {
		d.ready = s
	}
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// release lets the next publisher in.
func (d *Door) release(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errors.Is(s.why(), ErrReplaced) {
		d.ousted = s.id
	}
	if d.current == s {
		d.current = nil
	}
	if d.ready == s {
		d.ready = nil
	}
}

// find returns the session of that id, if it is the current one, and else whether
// it was replaced by it.
func (d *Door) find(id string) (s *session, replaced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil && subtle.ConstantTimeCompare([]byte(d.current.id), []byte(id)) == 1 {
		return d.current, false
	}
	return nil, subtle.ConstantTimeCompare([]byte(d.ousted), []byte(id)) == 1
}

// close ends the publisher and lets no other in.
func (d *Door) close() {
	d.mu.Lock()
	d.closed = true
	s := d.current
	d.mu.Unlock()
	if s != nil {
		s.Close(ErrClosed)
	}
}
