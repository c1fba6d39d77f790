package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/segd/segd/ingest/codec"
)

// Ahead is a source that runs before anybody wants its frames: it has dialled and waited for a key frame by then,
// and the first frame it hands out is the next one that comes. Close must follow.
type Ahead struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the source has ended
	err    error         // how; to be read then
	flows  chan struct{} // closed at the first frame, by flow
	flow   func()

	mu       sync.Mutex // guards what follows, and is held while observer and sink are called
	observer Observer
	sink     func(*Frame)
	// What an Observer has missed that comes later.
	up           bool
	decoder      func(o *Observer) // tells it; nil: nothing was decoded
	deinterlaced bool
}

// OpenAhead is Open of a source that runs at once. cfg's Observer is not told anything: that of Attach is.
func OpenAhead(cfg Config) (*Ahead, error) {
	a := &Ahead{done: make(chan struct{}), flows: make(chan struct{}), observer: Observer{}.complete()}
	a.flow = sync.OnceFunc(func() { close(a.flows) })
	cfg.Observer = a.observe()
	cfg.FirstDial = 0
	source, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	go func() {
		defer close(a.done)
		a.err = source.Run(ctx, a.take)
	}()
	return a, nil
}

func (a *Ahead) take(f *Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flow()
	if a.sink == nil {
		f.Release()
		return
	}
	a.sink(f)
}

// Wait waits for the first frame; the error is that of ctx, or how the source has ended.
func (a *Ahead) Wait(ctx context.Context) error {
	select {
	case <-a.flows:
		return nil
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Attach has o told what happens from now on, and how things stand.
func (a *Ahead) Attach(o Observer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.observer = o.complete()
	if a.decoder != nil {
		a.decoder(&a.observer)
	}
	if a.deinterlaced {
		a.observer.Deinterlaced(true)
	}
	if a.up {
		a.observer.Up(false)
	}
}

// Run hands frames to sink, from the next on, until ctx ends or the source does. It may be called once, and closes a.
func (a *Ahead) Run(ctx context.Context, sink func(*Frame)) error {
	a.mu.Lock()
	a.sink = sink
	a.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-a.done:
	}
	a.Close()
	return a.err
}

// Close ends the source and waits for that.
func (a *Ahead) Close() {
	a.cancel()
	<-a.done
}

// observe is what the source tells, which goes on to who is attached.
func (a *Ahead) observe() Observer {
	tell := func(f func(o *Observer)) {
		a.mu.Lock()
		defer a.mu.Unlock()
		f(&a.observer)
	}
	return Observer{
		Up:     func(again bool) { tell(func(o *Observer) { a.up = true; o.Up(again) }) },
		Down:   func(err error) { tell(func(o *Observer) { a.up = false; o.Down(err) }) },
		Retry:  func(err error, pause time.Duration) { tell(func(o *Observer) { o.Retry(err, pause) }) },
		Missed: func(why Miss, n int) { tell(func(o *Observer) { o.Missed(why, n) }) },
		Behind: func() (behind bool) {
			tell(func(o *Observer) { behind = o.Behind() })
			return behind
		},
		ClockOffset: func(d time.Duration) { tell(func(o *Observer) { o.ClockOffset(d) }) },
		Packets: func(came, late, lost int, jitter time.Duration) {
			tell(func(o *Observer) { o.Packets(came, late, lost, jitter) })
		},
		Held: func(d time.Duration) { tell(func(o *Observer) { o.Held(d) }) },
		Decoder: func(id codec.ID, on codec.Device, fallback error) {
			told := func(o *Observer) { o.Decoder(id, on, fallback) }
			tell(func(o *Observer) { a.decoder = told; told(o) })
		},
		Deinterlaced: func(now bool) { tell(func(o *Observer) { a.deinterlaced = now; o.Deinterlaced(now) }) },
		Unit:         func(u Unit) { tell(func(o *Observer) { o.Unit(u) }) },
	}
}
