package bus

import (
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
)

const (
	// Events wait for a server up to these; at one a second a camera that is
	// hours of ten cameras.
	maxEvents     = 50_000
	maxEventBytes = 16 << 20

	// eventBatch is how many events are on the way to JetStream at a time.
	eventBatch = 64
	ackTimeout = 5 * time.Second
	// The pause after JetStream failed; it doubles from the one to the other.
	minRetry, maxRetry = 250 * time.Millisecond, 15 * time.Second
	// relook is how often a server that keeps no events is asked again.
	relook = time.Minute
)

// ErrFull is in the chain of PublishEvent's error when too many events wait for
// the server already.
var ErrFull = errors.New("bus: too many events wait for the server")

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
// An event whose acknowledgement got lost is sent again, too: the stream knows it
// by its Nats-Msg-Id, a live subscriber sees it twice.
type events struct {
	conn *nats.Conn
	js   jetstream.JetStream
	cfg  Config
	log  *slog.Logger

	wake   chan struct{} // holds one: look again
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	queue   []*nats.Msg // oldest first
	bytes   int
	stored  uint64
	closing bool
	denied  bool          // the server's permissions leave streams to others
	asking  func()        // ends prepare's question; nil outside of it
	empty   chan struct{} // closed once closing and the queue is empty

	// Of the goroutine in run only.
	keeping    keeping
	everKept   bool
	asked      time.Time // when keeping was found out
	reconnects uint64    // during which connection
	said       string    // what was logged last, to say it once
}

func newEvents(cfg Config) *events {
	return &events{cfg: cfg, log: cfg.Logger, wake: make(chan struct{}, 1), empty: make(chan struct{})}
}

// use takes the connection to send over. A server in this process has its streams
// when use returns.
func (e *events) use(ctx context.Context, conn *nats.Conn) (err error) {
	e.conn = conn
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
	e.done.Go(func() { e.run(ctx) })
}

// put queues msg, which is the queue's from then on.
func (e *events) put(msg *nats.Msg) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closing:
		return ErrClosed
	case len(e.queue) >= maxEvents || e.bytes+len(msg.Data) > maxEventBytes:
		return fmt.Errorf("%w: %d of them, %d bytes", ErrFull, len(e.queue), e.bytes)
	}
	e.queue = append(e.queue, msg)
	e.bytes += len(msg.Data)
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

func (e *events) state() (waiting int, stored uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue), e.stored
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
	defer e.js.CleanupPublisher()
	retry := minRetry
	for pause := relook; e.wait(ctx, pause); {
		err := e.attend(ctx)
		if err == nil {
			pause, retry = relook, minRetry
			continue
		}
		if ctx.Err() == nil && e.conn.IsConnected() {
			e.say("events wait, trying on", err)
		}
		pause, retry = retry, min(2*retry, maxRetry)
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
	}
	if e.keeping == unknown || (e.keeping == live && time.Since(e.asked) >= relook) {
		if err := e.prepare(ctx); err != nil {
			return err
		}
	}
	for {
		batch := e.oldest()
		if len(batch) == 0 {
			return nil
		}
		n, err := e.send(ctx, batch)
		e.sent(n, e.keeping != live)
		if err == nil {
			continue
		}
		if e.keeping == perhaps && e.conn.IsConnected() {
			// They went out live, and no stream is there to say it has them.
			e.keeping, e.asked = live, time.Now()
			e.say("events are not kept, only sent live", err)
			e.sent(len(batch)-n, false)
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
	err := createStreams(ctx, e.js, e.cfg)
	e.mu.Lock()
	denied := e.denied
	e.asking = nil
	e.mu.Unlock()
	var api *jetstream.APIError
	isAPI := errors.As(err, &api)
	e.asked = time.Now()
	switch {
	case err == nil:
		e.keeping, e.everKept, e.said = kept, true, ""
	case denied, isAPI && api.ErrorCode == errSubjectOverlap:
		e.keeping = perhaps // another's stream may take them
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
	return nil
}

// oldest returns the events to send next.
func (e *events) oldest() []*nats.Msg {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queue[:min(len(e.queue), eventBatch)]
}

// send sends batch and returns how many of it, from the first on, have arrived.
func (e *events) send(ctx context.Context, batch []*nats.Msg) (n int, err error) {
	if e.keeping == live {
		for _, msg := range batch {
			if err := e.conn.PublishMsg(msg); err != nil {
				return 0, err
			}
		}
		return len(batch), e.conn.FlushTimeout(ackTimeout)
	}
	acks := make([]jetstream.PubAckFuture, 0, len(batch))
	for _, msg := range batch {
		ack, err := e.js.PublishMsgAsync(msg, jetstream.WithRetryAttempts(0))
		if err != nil {
			return 0, err // those before it are sent again and known by their id
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
			n++
		case err := <-ack.Err():
			return n, err
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
	return n, nil
}

// sent takes the n oldest off the queue.
func (e *events) sent(n int, stored bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, msg := range e.queue[:n] {
		e.bytes -= len(msg.Data)
	}
	clear(e.queue[:n]) // for the garbage collector
	e.queue = e.queue[n:]
	if stored {
		e.stored += uint64(n)
	}
	e.signal()
}

// signal tells finish; it needs mu.
func (e *events) signal() {
	if e.closing && len(e.queue) == 0 && e.empty != nil {
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
		e.look()
		timer := time.NewTimer(limit)
		defer timer.Stop()
		select {
		case <-empty:
		case <-timer.C:
		}
	}
	if e.cancel != nil { // use succeeded
		e.cancel()
		e.done.Wait()
	}
	left, _ = e.state()
	return left
}
