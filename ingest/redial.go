package ingest

import (
	"context"
	"math/rand/v2"
	"time"
)

// runCamera connects again and again until ctx ends.
func (s *Source) runCamera(ctx context.Context, sink func(*Frame)) error {
	wait := backoff{min: s.cfg.MinBackoff, max: s.cfg.MaxBackoff}
	link := link{src: s}
	quiet := repeats{every: repeatEvery}
	if !sleep(ctx, s.cfg.FirstDial) {
		return ctx.Err()
	}
	for {
		var upAt time.Time
		err := s.connect(ctx, sink, func() {
			upAt = time.Now()
			link.up()
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if link.down(err) {
			quiet.reset()
		}
		// A connection that lasted longer than the longest wait was a healthy one; one
		// that breaks at once must not be redialled at full speed for ever.
		if !upAt.IsZero() && time.Since(upAt) >= s.cfg.MaxBackoff {
			wait.reset()
		}
		d := wait.next()
		s.cfg.Observer.retry(err, d)
		if n, say := quiet.say(err.Error()); say {
			s.log.Warn("camera is down", "error", err, "attempts", n, "retry", d.Round(time.Millisecond))
		}
		if !sleep(ctx, d) {
			return ctx.Err()
		}
	}
}

// connect is one connection to a camera, of the kind that it is, as session.
func (s *Source) connect(ctx context.Context, sink func(*Frame), onFirst func()) error {
	if s.kind == kindHTTP {
		return s.watchHTTP(ctx, sink, onFirst)
	}
	return s.session(ctx, sink, onFirst)
}

// link tells a camera's observer whether it is there.
type link struct {
	src   *Source
	state linkState
}

// linkState is what a camera's observer was last told.
type linkState uint8

const (
	linkNew   linkState = iota // nothing yet
	linkNever                  // down, and was never up
	linkUp
	linkLost // down, and was up before
)

// up says that frames flow.
func (l *link) up() {
	again := l.state == linkLost
	l.state = linkUp
	l.src.log.Info("camera is up", "url", l.src.Name(), "again", again)
	if again {
		l.src.cfg.Observer.reconnect()
	}
	l.src.cfg.Observer.up()
}

// down says why none flow, and tells whether they did before.
func (l *link) down(err error) (was bool) {
	switch l.state {
	case linkNew:
		l.state = linkNever
	case linkUp:
		l.state = linkLost
	default:
		return false
	}
	l.src.cfg.Observer.down(err)
	return l.state == linkLost
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff gives the waits between attempts: doubling from min to max, each
// shortened by up to a half at random so that cameras behind one switch are not
// all dialled at once.
type backoff struct {
	min, max time.Duration
	cur      time.Duration
}

func (b *backoff) next() time.Duration {
	if b.cur == 0 {
		b.cur = b.min
	}
	d := b.cur
	b.cur = min(2*b.cur, b.max)
	return d - time.Duration(rand.Int64N(int64(d/2)+1))
}

func (b *backoff) reset() { b.cur = 0 }

// repeats quiets a message that says the same again and again.
type repeats struct {
	every time.Duration
	last  string
	at    time.Time
	count int
}

// repeatEvery is how often an unchanged reason for being down is logged.
const repeatEvery = time.Minute

// say counts one more attempt and tells whether to speak of it, and how many
// there were since last time.
func (r *repeats) say(msg string) (attempts int, ok bool) {
	r.count++
	if msg == r.last && time.Since(r.at) < r.every {
		return 0, false
	}
	attempts, r.count = r.count, 0
	r.last, r.at = msg, time.Now()
	return attempts, true
}

func (r *repeats) reset() { *r = repeats{every: r.every} }
