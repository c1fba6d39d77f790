package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Limits of the events' stream; the oldest go first.
const (
	eventMaxAge   = 7 * 24 * time.Hour
	eventMaxCount = 100_000
	eventMaxBytes = 64 << 20

	streamTimeout = 5 * time.Second
)

// StreamName returns the name of the JetStream stream that keeps a site's
// events.
func StreamName(site string) string { return "segd_" + site + "_event" }

// createEventStream makes the stream of cfg's site unless it is there: its
// limits may have been changed by whoever runs the server.
func createEventStream(ctx context.Context, nc *nats.Conn, cfg Config) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("bus: JetStream: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	name := StreamName(cfg.Site)
	_, err = js.Stream(ctx, name)
	if err == nil {
		return nil
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("bus: JetStream stream %s: %w", name, err)
	}
	storage := jetstream.FileStorage
	if cfg.URL == "" && cfg.StoreDir == "" {
		storage = jetstream.MemoryStorage
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name:        name,
		Description: "segd: events of the cameras of site " + cfg.Site,
		Subjects:    []string{prefix + "." + cfg.Site + ".*." + string(KindEvent)},
		Storage:     storage,
		MaxAge:      eventMaxAge,
		MaxMsgs:     eventMaxCount,
		MaxBytes:    eventMaxBytes,
		Discard:     jetstream.DiscardOld,
	})
	if err != nil {
		return fmt.Errorf("bus: create JetStream stream %s: %w", name, err)
	}
	return nil
}

// eventStream sees to it that the stream exists on an external server, whenever
// that is reached. Without JetStream there the events are live only, and the log
// says so.
type eventStream struct {
	connected chan struct{} // holds one: there is a connection to look at
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

func newEventStream() *eventStream {
	return &eventStream{connected: make(chan struct{}, 1)}
}

// wake has the stream looked for; it does not block.
func (s *eventStream) wake() {
	select {
	case s.connected <- struct{}{}:
	default:
	}
}

func (s *eventStream) start(nc *nats.Conn, cfg Config) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-s.connected:
			}
			if err := createEventStream(ctx, nc, cfg); err != nil && ctx.Err() == nil {
				cfg.Logger.Warn("events are not kept, only sent live", "err", err)
			}
		}
	})
}

func (s *eventStream) stop() {
	s.cancel()
	s.done.Wait()
}
