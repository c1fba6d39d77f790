package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/segd/segd/internal/outbox"
	"github.com/segd/segd/internal/pause"
)

const (
	// Events wait for a server up to these; at one a second a camera that is
	// hours of ten cameras.
	maxEvents     = 50_000
	maxEventBytes = 16 << 20

	// eventBatch is how many events are on the way to JetStream at a time.
	eventBatch = 64
	ackTimeout = 5 * time.Second
	// ackSlow is how long events go out live only with those before them.
	ackSlow = 250 * time.Millisecond
	// The pause after JetStream failed; it doubles from the one to the other.
	minRetry, maxRetry = 250 * time.Millisecond, 15 * time.Second
	// storeLate is how long an event may wait for JetStream before Err tells.
	storeLate = 10 * time.Second
	// relook is how often a server that keeps no events is asked again.
	relook = time.Minute
)

// ErrFull is in the chain of PublishEvent's error when too many events wait for
// the server already.
var ErrFull = errors.New("bus: too many events wait for the server")

// ErrNotStored is in the chain of Err's error when there is a connection and JetStream
// does not store what it should.
var ErrNotStored = errors.New("bus: JetStream does not store")

var errNoAnswer = errors.New("no answer yet")

var errDenied = errors.New("the server permits no requests to $JS.API.STREAM.>")

// errSubjectOverlap is JetStream's code for a stream whose subjects another one
// has.
const errSubjectOverlap jetstream.ErrorCode = 10065

// keeping is what is known of the server's streams.
type keeping int

const (
	unknown keeping = iota
	kept            // a stream takes the events
	perhaps         // we may not look, but one may be there
	live            // there is none
)

// events sends events in order, and again until JetStream has stored them. A
// server without JetStream gets them once, live only.
//
// One message takes an event to its subscribers and into the stream, as long as the
// stream answers. What it did not store goes there again by a subject of the
// stream's own (storeSubject), so that subscribers get it once; and what comes after
// that goes out live at once and waits for the stream behind it.
//
// An event that may have gone down with a connection is sent anew, and so is one for
// a stream that has no such subject: the stream knows it by its Nats-Msg-Id, a live
// subscriber may see it twice.
type events struct {
	conn *nats.Conn
	js   jetstream.JetStream
	cfg  Config
	log  *slog.Logger

	wake   chan struct{} // holds one: look again
	cancel context.CancelFunc
	joined sync.WaitGroup

	mu      sync.Mutex
	queue   outbox.Queue[waiting]
	sent    int // of them, from the oldest on, went out live over this connection
	live    int // of those, the server is known to have
	stored  uint64
	trouble error // why the last attempt to store failed; nil if it did not
	hurry   bool  // no pause: what kept us from storing may have changed
	closing bool
	denied  bool          // the server's permissions leave streams to others
	looked  bool          // it is known whether events are kept, or was
	asking  func()        // ends prepare's question; nil outside of it
	empty   chan struct{} // closed once closing and the queue is empty

	// Of the goroutine in run only.
	keeping    keeping
	everKept   bool
	asked      time.Time // when keeping was found out
	reconnects uint64    // during which connection
	joint      bool      // the stream takes events on their own subject only
	said       string    // what was logged last, to say it once
}

// waiting is an event that is not stored.
type waiting struct {
	msg   *nats.Msg
	since time.Time
}

func newEvents(cfg Config) *events {
	return &events{
		cfg: cfg, log: cfg.Logger, wake: make(chan struct{}, 1), empty: make(chan struct{}),
		queue: outbox.New(maxEvents, maxEventBytes, func(w waiting) int { return len(w.msg.Data) }),
	}
}

// use takes the connection to send over. A server in this process has its streams
// when use returns.
func (e *events) use(ctx context.Context, conn *nats.Conn) (err error) {
	e.conn = conn
	// Its publisher ends with the connection. CleanupPublisher would leave a goroutine
	// of it waiting for ever where that has not run yet (nats.go 1.55).
	if e.js, err = jetstream.New(conn, jetstream.WithPublishAsyncTimeout(ackTimeout)); err != nil {
		return fmt.Errorf("bus: JetStream: %w", err)
	}
	if e.cfg.URL == "" {
		err = e.prepare(ctx)
	}
	return err
}

// start begins to send, until finish.
func (e *events) start() {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.joined.Go(func() { e.run(ctx) })
}

// put queues msg, which is the queue's from then on.
func (e *events) put(msg *nats.Msg) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := waiting{msg, time.Now()}
	switch {
	case e.closing:
		return ErrClosed
	case !e.queue.Fits(w):
		if e.sent > 0 && e.sent == e.queue.Len() && e.conn.IsConnected() {
			_ = e.conn.PublishMsg(msg) // it is its turn to go out live; that it is not kept is said either way
		}
		return fmt.Errorf("%w: %d of them, %d bytes", ErrFull, e.queue.Len(), e.queue.Bytes())
	}
	e.queue.Put(w)
	e.look()
	return nil
}

// look has the queue and the connection looked at; it does not block.
func (e *events) look() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// again has it looked at without a pause.
func (e *events) again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hurry = true
	e.look()
}

// hurried tells whether there was another call since the last time.
func (e *events) hurried() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	hurry := e.hurry
	e.hurry = false
	return hurry
}

// state tells how many events wait, and the oldest how long, how many are stored, and
// why the oldest is not.
func (e *events) state() (waiting int, oldest time.Duration, stored uint64, trouble error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w, _, ok := e.queue.Oldest(); ok {
		oldest = time.Since(w.since)
	}
	return e.queue.Len(), oldest, e.stored, e.trouble
}

// deny notes an error by which the server's permissions keep us from streams.
func (e *events) deny(err error) {
	if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"$JS.API.`) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.denied = true
		if e.asking != nil {
			e.asking() // there will be no answer
		}
	}
}

func (e *events) run(ctx context.Context) {
	wait, retry := relook, pause.Growing(minRetry, maxRetry)
	var next time.Time // when to try to store again
	for e.wait(ctx, wait) {
		if left, hurry := time.Until(next), e.hurried(); left > 0 && !hurry {
			_, _ = e.goLive() // what fails goes out with the next attempt
			wait = left
			continue
		}
		err := e.attend(ctx)
		e.mu.Lock()
		e.trouble = err
		e.mu.Unlock()
		if err == nil {
			wait, next = relook, time.Time{}
			retry.Reset()
			if e.keeping == kept {
				e.said = ""
			}
			continue
		}
		if ctx.Err() == nil && e.conn.IsConnected() {
			e.say("events wait, trying on", err)
			_, _ = e.goLive()
		}
		wait = retry.NextBackOff()
		next = time.Now().Add(wait)
	}
}

// wait returns false when ctx has ended.
func (e *events) wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-e.wake:
	case <-timer.C:
	}
	return true
}

// say logs a warning unless it is the one that was logged last.
func (e *events) say(message string, err error) {
	if line := message + err.Error(); line != e.said {
		e.said = line
		e.log.Warn(message, "err", err)
	}
}

// attend sends what is queued. The error says why some of it could not be; without
// a connection there is none, since the next one has it looked at again.
func (e *events) attend(ctx context.Context) error {
	if !e.conn.IsConnected() {
		return nil
	}
	if n := e.conn.Stats().Reconnects; n != e.reconnects {
		e.keeping, e.reconnects = unknown, n
		e.mu.Lock()
		e.sent = e.live // the rest may have gone down with the connection
		e.mu.Unlock()
	}
	if e.keeping == unknown || (e.keeping == live && time.Since(e.asked) >= relook) {
		if err := e.prepare(ctx); err != nil {
			return err
		}
	}
	for {
		if e.keeping == live {
			n, err := e.goLive()
			e.done(n, false)
			if n == 0 || err != nil {
				return err
			}
			continue
		}
		batch, again := e.oldest()
		if len(batch) == 0 {
			return nil
		}
		n, err := e.store(ctx, batch, again)
		e.done(n, true)
		if err == nil {
			continue
		}
		if e.keeping == perhaps && e.conn.IsConnected() {
			// They went out live, and no stream is there to say it has them.
			e.keeping, e.asked = live, time.Now()
			e.say("events are not kept, only sent live", err)
			continue
		}
		e.keeping = unknown
		return err
	}
}

// prepare makes the streams and finds out whether events are kept. Its error
// leaves that unknown.
func (e *events) prepare(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.mu.Lock()
	e.denied, e.asking = false, cancel
	e.mu.Unlock()
	apart, err := createStreams(ctx, e.js, e.cfg)
	e.mu.Lock()
	denied := e.denied
	e.asking = nil
	e.mu.Unlock()
	var api *jetstream.APIError
	isAPI := errors.As(err, &api)
	e.asked = time.Now()
	switch {
	case err == nil:
		e.keeping, e.everKept, e.joint = kept, true, !apart
	case denied, isAPI && api.ErrorCode == errSubjectOverlap:
		e.keeping, e.joint = perhaps, true // another's stream may take them
		if denied {
			err = errDenied
		}
		e.say("streams are not ours to make, events go to whatever stream there is", err)
	case !e.everKept && errors.Is(err, nats.ErrNoResponders), // no JetStream there
		isAPI && (api.Code != http.StatusServiceUnavailable || api.ErrorCode == jetstream.JSErrCodeJetStreamNotEnabledForAccount):
		e.keeping = live
		e.say("events are not kept, only sent live", err)
	default: // JetStream is on its way, as after a restart
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looked = true
	return nil
}

// prepared tells whether the streams of events and masks have got what room they need.
func (e *events) prepared() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.looked
}

// oldest returns the events to store next, and whether they went out live before.
func (e *events) oldest() (batch []waiting, again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := cmp.Or(e.sent, e.queue.Len())
	return e.queue.All()[:min(n, eventBatch)], e.sent > 0
}

// store sends batch to the stream, if not again to the subscribers too, and returns
// how many of it, from the first on, are stored.
func (e *events) store(ctx context.Context, batch []waiting, again bool) (n int, err error) {
	acks := make([]jetstream.PubAckFuture, 0, len(batch))
	for _, w := range batch {
		msg := *w.msg // nats.go writes to it
		if again && !e.joint {
			msg.Subject = storeSubject(msg.Subject)
		}
		ack, err := e.js.PublishMsgAsync(&msg, jetstream.WithRetryAttempts(0))
		if err != nil {
			return 0, err // those before it are sent again and known by their id
		}
		acks = append(acks, ack)
		if !again {
			e.mu.Lock()
			e.sent++
			e.mu.Unlock()
		}
	}
	slow := time.NewTimer(ackSlow)
	defer slow.Stop()
	var wake <-chan struct{} // nil until it is slow
	for n < len(acks) {
		select {
		case <-acks[n].Ok():
			n++
		case err := <-acks[n].Err():
			return n, err
		case <-ctx.Done():
			return n, ctx.Err()
		case <-slow.C:
			_, _ = e.goLive()
			wake = e.wake
		case <-wake:
			_, _ = e.goLive()
		}
	}
	return n, nil
}

// goLive sends those that wait to the subscribers, each once, and returns how many
// the server is known to have. A stream that takes events on their own subject only
// would have subscribers get them twice, so there they stay behind those before them;
// and without a connection nats.go would keep them, to be sent once more by us.
func (e *events) goLive() (n int, err error) {
	e.mu.Lock()
	if (!e.joint || e.keeping == live) && e.conn.IsConnected() {
		for ; e.sent < e.queue.Len() && err == nil; e.sent++ {
			err = e.conn.PublishMsg(e.queue.All()[e.sent].msg)
		}
	}
	sent, n := e.sent, e.live
	e.mu.Unlock()
	if sent == n || err != nil {
		return n, err
	}
	if err := e.conn.FlushTimeout(ackTimeout); err != nil {
		return n, err
	}
	if e.conn.Stats().Reconnects != e.reconnects {
		return n, nil // they may have gone down with the connection before
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live = sent
	return sent, nil
}

// done takes the n oldest off the queue.
func (e *events) done(n int, stored bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue.Drop(n)
	e.sent, e.live = max(e.sent-n, 0), max(e.live-n, 0)
	if stored {
		e.stored += uint64(n)
	}
	e.signal()
}

// signal tells finish; it needs mu.
func (e *events) signal() {
	if e.closing && e.queue.Len() == 0 && e.empty != nil {
		close(e.empty)
		e.empty = nil
	}
}

// finish takes no more events, gives those that wait up to limit, if there is a
// connection, and returns how many are left.
func (e *events) finish(limit time.Duration) (left int) {
	e.mu.Lock()
	e.closing = true
	empty := e.empty
	e.signal()
	e.mu.Unlock()
	if e.conn.IsConnected() {
		e.again()
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-empty:
		case <-timer.C:
		}
	}
	if e.cancel != nil { // use succeeded
		e.cancel()
		e.joined.Wait()
	}
	left, _, _, _ = e.state()
	return left
}
