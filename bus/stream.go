package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Retention bounds what a JetStream stream keeps; the oldest go first.
type Retention struct {
	MaxAge   time.Duration
	MaxBytes int64
}

// Limits of the events' stream unless the configuration has others. There is no
// default for masks: they are kept only when MaxAge is set.
const (
	eventMaxAge   = 7 * 24 * time.Hour
	eventMaxCount = 100_000
	eventMaxBytes = 64 << 20
	maskMaxBytes  = 256 << 20

	// Within these a message that is sent twice is stored once. A segd sends
	// events again when a connection broke, so it is above any usual outage.
	eventDuplicates = time.Hour
	maskDuplicates  = 2 * time.Minute

	streamTimeout = 5 * time.Second
)

// StreamName returns the name of the JetStream stream that keeps a site's
// messages of a kind: events, and masks if they are kept.
func StreamName(site string, kind Kind) string { return "segd_" + site + "_" + string(kind) }

// wanted is the stream of a kind as cfg has it; ok is false when there shall be
// none.
func (cfg *Config) wanted(kind Kind) (_ jetstream.StreamConfig, ok bool) {
	s := jetstream.StreamConfig{
		Name:     StreamName(cfg.Site, kind),
		Subjects: []string{prefix + "." + cfg.Site + ".*." + string(kind)},
		Storage:  jetstream.FileStorage,
		Discard:  jetstream.DiscardOld,
	}
	if cfg.URL == "" && cfg.StoreDir == "" {
		s.Storage = jetstream.MemoryStorage
	}
	if kind == KindEvent {
		s.Description = "segd: events of the cameras of site " + cfg.Site
		s.MaxAge, s.MaxBytes, s.MaxMsgs = eventMaxAge, eventMaxBytes, eventMaxCount
		s.Duplicates = eventDuplicates
		cfg.Events.override(&s)
	} else {
		s.Description = "segd: masks of the cameras of site " + cfg.Site
		s.MaxBytes = maskMaxBytes
		s.Duplicates = maskDuplicates
		cfg.Masks.override(&s)
	}
	s.Duplicates = min(s.Duplicates, s.MaxAge) // JetStream's rule
	return s, kind == KindEvent || cfg.Masks.MaxAge > 0
}

func (r Retention) override(s *jetstream.StreamConfig) {
	if r.MaxAge > 0 {
		s.MaxAge = r.MaxAge
	}
	if r.MaxBytes > 0 {
		s.MaxBytes = r.MaxBytes
	}
}

// createStreams makes the streams that are missing. One that is there keeps its
// limits, which whoever runs the server may have changed, but for those the
// configuration names.
func createStreams(ctx context.Context, js jetstream.JetStream, cfg Config) error {
	for kind, r := range map[Kind]Retention{KindEvent: cfg.Events, KindMask: cfg.Masks} {
		want, ok := cfg.wanted(kind)
		if !ok {
			continue
		}
		if err := createStream(ctx, js, want, r); err != nil {
			return fmt.Errorf("bus: JetStream stream %s: %w", want.Name, err)
		}
	}
	return nil
}

func createStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, r Retention) error {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(ctx, want)
		return err
	}
	if err != nil {
		return err
	}
	there := stream.CachedInfo().Config
	changed := there
	r.override(&changed)
	changed.Duplicates = min(changed.Duplicates, changed.MaxAge)
	if changed.MaxAge == there.MaxAge && changed.MaxBytes == there.MaxBytes {
		return nil
	}
	_, err = js.UpdateStream(ctx, changed)
	return err
}
