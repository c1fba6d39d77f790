package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/internal/pause"
)

const (
	// leastDoubt and gapsDoubt: a camera is in doubt when it has shown no picture for
	// so long, and for so many times the longest usual time between two. Networks
	// hiccup for less, and dialling a sound camera once more costs little.
	leastDoubt = 600 * time.Millisecond
	gapsDoubt  = 4
	// firstGap is taken for the time between two pictures before there are any, and
	// gapFades is how much of the longest is left a picture later.
	firstGap = 500 * time.Millisecond
	gapFades = 0.99

	// dialAgain is after how long a dial that nothing answers is joined by another, and
	// that one replaced by the next, while the first goes on for as long as the stall
	// timeout allows: a slow camera answers it, and one that is back answers the newest.
	dialAgain   = 800 * time.Millisecond
	maxAttempts = 2
)

// camera keeps the frames of one camera coming: by one connection, and by others
// beside it while that is in doubt.
type camera struct {
	src   *Source
	sink  func(*Frame)
	link  link
	wait  *backoff.ExponentialBackOff
	quiet repeats

	refused *backoff.ExponentialBackOff // the waits after refusals
	barred  time.Time                   // until when nothing is dialled because of the last; zero: there was none

	shown    *connection // whose pictures are handed out; nil: none
	feed     *feed       // of shown
	upAt     time.Time   // of shown's first picture; zero before
	lastAt   time.Time   // of the newest picture, or when shown began
	gap      time.Duration
	attempts []*attempt // oldest first
	reports  chan *attempt
	running  sync.WaitGroup // what the attempts and closed connections are made of

	dialAt  *time.Timer // when to dial next
	dialDue time.Time   // the same
	watch   *time.Timer // when shown has stalled
}

func newCamera(s *Source, sink func(*Frame)) *camera {
	c := &camera{
		src: s, sink: sink, link: link{src: s}, gap: max(firstGap, s.interval),
		wait:    pause.Growing(s.cfg.minBackoff, s.cfg.maxBackoff),
		refused: pause.Growing(s.cfg.minRefused, s.cfg.maxRefused),
		reports: make(chan *attempt),
		dialAt:  time.NewTimer(s.cfg.FirstDial),
		watch:   time.NewTimer(0),
	}
	c.watch.Stop()
	return c
}

// run delivers frames until ctx ends, and returns its error.
func (c *camera) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		c.dialAt.Stop()
		c.leave()
		cancel()
		c.running.Wait()
	}()
	for {
		var units <-chan unit
		var alive <-chan struct{}
		var ended <-chan error
		if c.shown != nil {
			units, alive, ended = c.shown.recv.units, c.shown.recv.alive, c.shown.ended
		}
		select {
		case u := <-units:
			c.take(u)
		case <-alive:
			c.well()
		case err := <-ended:
			if ctx.Err() != nil { // which is what ended it
				return ctx.Err()
			}
			for more := true; more && c.shown != nil; { // what came before the end
				select {
				case u := <-units:
					c.take(u)
				default:
					more = false
				}
			}
			c.lost(c.src.explain(err))
		case a := <-c.reports:
			c.answered(a)
		case <-c.dialAt.C:
			if c.stoodStill() {
				c.dialIn(leastDoubt)
				continue
			}
			c.dial(ctx)
		case <-c.watch.C:
			c.lost(c.src.explain(c.feed.stalled(time.Since(c.lastAt).Round(time.Millisecond))))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stoodStill tells whether it was this machine, and not the camera, that let the time
// pass in which a picture should have come: it woke late, or there is one waiting.
func (c *camera) stoodStill() bool {
	const late = 100 * time.Millisecond
	return c.shown != nil && (time.Since(c.dialDue) > late || len(c.shown.recv.units) > 0)
}

// dialIn says when to dial next, which is not before a camera that refused may be
// asked again.
func (c *camera) dialIn(d time.Duration) {
	d = max(d, time.Until(c.barred))
	c.dialDue = time.Now().Add(d)
	c.dialAt.Reset(d)
}

// dial begins one more attempt, in place of the newest if there are too many. While
// one is being answered there is no use in another, and a camera that refused the
// password is not asked twice at a time.
func (c *camera) dial(ctx context.Context) {
	if c.src.url.Kind == cameraurl.V4L2 && (c.shown != nil || len(c.attempts) > 0) {
		return // a device is opened once
	}
	c.dialIn(dialAgain)
	if slices.ContainsFunc(c.attempts, func(a *attempt) bool { return a.heard.Load() || !c.barred.IsZero() }) {
		return
	}
	if len(c.attempts) == maxAttempts {
		c.drop(c.attempts[maxAttempts-1])
	}
	a := new(attempt)
	ctx, a.cancel = context.WithCancel(ctx)
	c.attempts = append(c.attempts, a)
	c.running.Go(func() { c.src.try(ctx, a, c.reports) })
}

// drop ends an attempt.
func (c *camera) drop(a *attempt) {
	a.cancel()
	c.attempts = slices.DeleteFunc(c.attempts, func(b *attempt) bool { return a == b })
}

// dropAll ends the attempts; dialling goes on when dialAt says so.
func (c *camera) dropAll() {
	for len(c.attempts) > 0 {
		c.drop(c.attempts[0])
	}
}

// answered takes what became of an attempt: the connection to follow from now on,
// or an error.
func (c *camera) answered(a *attempt) {
	if !slices.Contains(c.attempts, a) { // it was dropped meanwhile
		if a.conn != nil {
			c.abandon(a.conn)
		}
		return
	}
	if a.err != nil {
		c.drop(a)
		if !errors.Is(a.err, context.Canceled) { // by the end of run
			c.failed(a.err)
		}
		return
	}
	c.attempts = slices.DeleteFunc(c.attempts, func(b *attempt) bool { return a == b })
	c.dropAll()
	if c.shown != nil {
		c.lost(c.src.explain(fmt.Errorf("%w; another connection has one", c.feed.stalled(time.Since(c.lastAt).Round(time.Millisecond)))))
	}
	f, err := newFeed(c.src, a.conn, c.sink, c.up)
	if err != nil {
		c.abandon(a.conn)
		c.failed(c.src.explain(err))
		return
	}
	c.src.time.restart()
	c.shown, c.feed = a.conn, f
	c.upAt, c.lastAt, c.gap = time.Time{}, time.Now(), max(c.gap, firstGap, c.src.interval)
	c.watch.Reset(firstFrameFactor * c.src.cfg.StallTimeout)
	c.dialAt.Stop() // until there are pictures, by which to judge
}

// up is called before the first frame of a connection.
func (c *camera) up() {
	c.upAt = time.Now()
	c.barred = time.Time{}
	c.refused.Reset()
	c.link.up()
}

// take decodes a unit of the connection that is followed.
func (c *camera) take(u unit) {
	pictures, err := c.feed.take(u)
	if err != nil {
		c.lost(c.src.explain(err))
		return
	}
	if pictures {
		c.well()
	}
}

// well notes that the connection that is followed has shown a picture now, or said that
// there is no newer one.
func (c *camera) well() {
	now := time.Now()
	c.gap = max(now.Sub(c.lastAt), time.Duration(gapFades*float64(c.gap)))
	c.lastAt = now
	c.dropAll()
	stall := c.src.cfg.StallTimeout
	c.watch.Reset(stall)
	c.dialIn(min(max(leastDoubt, gapsDoubt*c.gap), stall))
}

// lost ends the connection that was followed, because of err, and sees to another.
func (c *camera) lost(err error) {
	c.leave()
	// A connection that lasted longer than the longest wait was a healthy one; one
	// that breaks at once must not be redialled at full speed for ever.
	if !c.upAt.IsZero() && time.Since(c.upAt) >= c.src.cfg.maxBackoff {
		c.wait.Reset()
	}
	d, err := c.pause(err)
	if c.link.down(err) {
		c.quiet = repeats{}
	}
	c.retry(d, err)
}

// failed says why an attempt came to nothing.
func (c *camera) failed(err error) {
	d, err := c.pause(err)
	if c.shown == nil {
		c.link.down(err)
		c.retry(d, err)
		return
	}
	level := slog.LevelDebug
	if errors.Is(err, ErrUnauthorized) {
		level = slog.LevelWarn
	}
	c.src.log.Log(context.Background(), level, "another connection failed too", "error", err)
	c.dialIn(d)
}

// pause returns how long to wait after err, and err with that in it if it is long
// because the camera refuses the password: then what else is under way with the same
// one is ended too.
func (c *camera) pause(err error) (time.Duration, error) {
	d := c.wait.NextBackOff()
	if errors.Is(err, ErrUnauthorized) {
		c.dropAll()
		c.barred = time.Now().Add(c.refused.NextBackOff())
	}
	long := time.Until(c.barred)
	if long <= d {
		return d, err
	}
	return long, fmt.Errorf("%w; next try in %v, or when segd is restarted: many cameras lock an account after a few wrong passwords",
		err, long.Round(time.Second))
}

// retry dials after d, or sooner if an attempt is under way.
func (c *camera) retry(d time.Duration, err error) {
	if len(c.attempts) > 0 {
		d = max(dialAgain, time.Until(c.barred))
	}
	c.src.cfg.Observer.Retry(err, d)
	if n, say := c.quiet.say(err.Error()); say {
		c.src.log.Warn("camera is down", "error", err, "attempts", n, "retry", d.Round(time.Millisecond))
	}
	c.dialIn(d)
}

// leave stops following the connection, if there is one.
func (c *camera) leave() {
	if c.shown == nil {
		return
	}
	c.watch.Stop()
	c.feed.close()
	c.abandon(c.shown)
	c.shown, c.feed = nil, nil
}

// abandon closes a connection without waiting for that.
func (c *camera) abandon(conn *connection) {
	conn.cancel()
	c.running.Go(conn.close)
}
