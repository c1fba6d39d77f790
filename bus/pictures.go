package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/segd/segd/internal/outbox"
	"github.com/segd/segd/internal/pause"
)

const (
	// Pictures wait for JetStream up to these: those of a minute in which one camera has as many events as package pipeline
	// lets it. They are larger than events, and worth less.
	maxPictures     = 64
	maxPictureBytes = 4 << 20

	headerHides = "Segd-Hides"
)

// Picture is a small picture of an object at an event.
type Picture struct {
	Camera string
	Name   string // unique in the camera; as CheckName has it
	JPEG   []byte // as viewers may see it
	Hides  string // tells one way to hide something of the camera's pictures from another; empty: nothing is hidden
}

// pictures keeps pictures in JetStream, one after the other. What it does not take waits, and the oldest go where too many do:
// masks and events wait for none.
type pictures struct {
	conn   *nats.Conn
	events *events
	cfg    Config

	wake   chan struct{} // holds one: there is another
	cancel context.CancelFunc
	joined sync.WaitGroup

	mu         sync.Mutex
	queue      outbox.Queue[*nats.Msg]
	kept, lost uint64
	closing    bool
	failing    bool          // the last attempt to store failed
	empty      chan struct{} // closed once closing and there is nothing to wait for; then nil
}

// newPictures begins to keep pictures, until finish. Their stream is made after that of events, which is not to lack the room.
func newPictures(conn *nats.Conn, events *events, cfg Config) *pictures {
	p := &pictures{
		conn: conn, events: events, cfg: cfg, wake: make(chan struct{}, 1), empty: make(chan struct{}),
		queue: outbox.New(maxPictures, maxPictureBytes, func(m *nats.Msg) int { return len(m.Data) }),
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.joined.Go(func() { p.run(ctx) })
	return p
}

// put queues msg in place of the oldest where there are too many.
func (p *pictures) put(msg *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most := p.conn.MaxPayload(); p.closing || most > 0 && int64(msg.Size()) > most {
		p.lost++
		return
	}
	p.lost += uint64(p.queue.Put(msg))
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pictures) run(ctx context.Context) {
	retry, told, made := pause.Growing(minRetry, maxRetry), "", false
	for {
		err := p.store(ctx, &made)
		p.mu.Lock()
		p.failing = err != nil
		p.signal()
		p.mu.Unlock()
		wake, again := p.wake, (<-chan time.Time)(nil)
		switch {
		case err == nil:
			retry.Reset()
			told = ""
		default:
			if text := err.Error(); text != told && ctx.Err() == nil && !errors.Is(err, ErrNotConnected) && !errors.Is(err, errNoAnswer) {
				told = text
				p.cfg.Logger.Warn("pictures of events are not kept, trying on", "err", err)
			}
			wake, again = nil, time.After(retry.NextBackOff())
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-again:
		}
	}
}

// store has JetStream keep what waits. made tells whether the stream is known to be there.
func (p *pictures) store(ctx context.Context, made *bool) error {
	if !p.conn.IsConnected() {
		return ErrNotConnected
	}
	if !p.events.prepared() {
		return errNoAnswer
	}
	var making error
	if !*made {
		// One that is made by hand serves where the server permits no look at it.
		want, _ := p.cfg.wanted(KindPicture)
		least := int64(0)
		if p.cfg.Pictures.MaxBytes == 0 {
			least = eventLeastBytes
		}
		_, making = createStream(ctx, p.events.js, want, p.cfg.Pictures, least, p.cfg.Logger)
		*made = making == nil
	}
	for {
		p.mu.Lock()
		waiting, at, ok := p.queue.Oldest()
		p.mu.Unlock()
		if !ok {
			return making
		}
		msg := *waiting // nats.go writes to it
		ctx, cancel := context.WithTimeout(ctx, ackTimeout)
		_, err := p.events.js.PublishMsg(ctx, &msg, jetstream.WithRetryAttempts(0))
		cancel()
		var api *jetstream.APIError
		never := errors.As(err, &api) && api.Code == http.StatusBadRequest // the stream takes none such
		if err != nil && !never {
			*made = false
			return errors.Join(making, err)
		}
		p.mu.Lock()
		if p.queue.Done(at) && never {
			p.lost++
		} else if !never {
			p.kept++
			making, *made = nil, true
		}
		p.mu.Unlock()
	}
}

// signal tells finish that there is nothing to wait for; it needs mu.
func (p *pictures) signal() {
	if p.closing && (p.failing || p.queue.Len() == 0) && p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
}

// finish takes no more pictures, and gives those that wait up to limit, unless they are not taken anyway.
func (p *pictures) finish(limit time.Duration) {
	p.mu.Lock()
	p.closing = true
	empty := p.empty
	p.signal()
	p.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
	p.cancel()
	p.joined.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost += uint64(p.queue.Len())
	p.queue.Drop(p.queue.Len())
}

func (p *pictures) state() (kept, lost uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept, p.lost
}

// pictureSubject is that of one picture: the stream finds it by its subject.
func pictureSubject(site, camera, name string) (string, error) {
	subject, err := Subject(site, camera, KindPicture)
	if err == nil {
		err = CheckName(name)
	}
	return subject + "." + name, err
}

// KeepPicture has JetStream keep p, if Config.Pictures says so. It waits for nothing: Stats counts those that are lost. p is
// the bus's from then on.
func (b *Bus) KeepPicture(p Picture) error {
	if b.pictures == nil {
		return nil
	}
	subject, err := pictureSubject(b.cfg.Site, p.Camera, p.Name)
	if err != nil {
		return fmt.Errorf("bus: picture: %w", err)
	}
	msg := &nats.Msg{Subject: subject, Data: p.JPEG, Header: nats.Header{headerContentType: {"image/jpeg"}}}
	if p.Hides != "" {
		msg.Header.Set(headerHides, p.Hides)
	}
	b.pictures.put(msg)
	return nil
}

// Picture returns the picture of a name that JetStream keeps; nil if there is none.
func (b *Bus) Picture(ctx context.Context, camera, name string) (*Picture, error) {
	if b.pictures == nil {
		return nil, nil
	}
	subject, err := pictureSubject(b.cfg.Site, camera, name)
	if err != nil {
		return nil, nil // there is none of such a name
	}
	if !b.conn.IsConnected() {
		return nil, ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	stream, err := b.events.js.Stream(ctx, StreamName(b.cfg.Site, KindPicture))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bus: picture: %w", err)
	}
	msg, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bus: picture: %w", err)
	}
	return &Picture{Camera: camera, Name: name, JPEG: msg.Data, Hides: msg.Header.Get(headerHides)}, nil
}
