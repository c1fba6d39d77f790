package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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
	eventMaxAge = 7 * 24 * time.Hour
	// eventMaxBytes is what ten cameras send in eventMaxAge whose events are at their limit, one a second (package
	// pipeline): six million of up to 530 bytes as they are stored. As JSON they take twice as much.
	eventMaxBytes = 3 << 30
	// eventLeastBytes is what is kept in memory, and by a server that has no room for more.
	eventLeastBytes = 64 << 20
	// eventCountBefore and eventBytesBefore are the limits of a stream that an earlier segd made.
	eventCountBefore = 100_000
	eventBytesBefore = 64 << 20
	maskMaxBytes     = 256 << 20
	// pictureMaxBytes are 25,000 pictures of the size that persons near a camera have, 10 KB.
	pictureMaxBytes = 256 << 20

	// Within these a message that is sent twice is stored once. A segd sends
	// events again when a connection broke, so it is above any usual outage.
	eventDuplicates = time.Hour
	maskDuplicates  = 2 * time.Minute

	streamTimeout = 5 * time.Second
)

// StreamName returns the name of the JetStream stream that keeps a site's
// messages of a kind: events, and masks and pictures if they are kept.
func StreamName(site string, kind Kind) string { return "segd_" + site + "_" + string(kind) }

// wanted is the stream of a kind as cfg has it; ok is false when there shall be
// none.
func (cfg *Config) wanted(kind Kind) (_ jetstream.StreamConfig, ok bool) {
	s := jetstream.StreamConfig{
		Name:     StreamName(cfg.Site, kind),
		Subjects: []string{prefix + "." + cfg.Site + ".*." + string(kind)},
		Storage:  jetstream.FileStorage,
		Discard:  jetstream.DiscardOld,
		Replicas: max(1, cfg.Replicas),
	}
	if cfg.URL == "" && cfg.StoreDir == "" {
		s.Storage = jetstream.MemoryStorage
	}
	switch kind {
	case KindEvent:
		s.Description = "segd: events of the cameras of site " + cfg.Site
		s.MaxAge, s.MaxBytes = eventMaxAge, eventMaxBytes
		switch {
		case s.Storage == jetstream.MemoryStorage:
			s.MaxBytes = eventLeastBytes
		case cfg.JSON:
			s.MaxBytes *= 2
		}
		s.Duplicates = eventDuplicates
		s = withStoreSubject(s, s.Subjects[0])
		cfg.Events.override(&s)
	case KindPicture:
		s.Description = "segd: pictures of the events of site " + cfg.Site
		s.Subjects[0] += ".*"
		s.MaxBytes = pictureMaxBytes
		if s.Storage == jetstream.MemoryStorage {
			s.MaxBytes = eventLeastBytes
		}
		s.AllowDirect = true
		s.Duplicates = maskDuplicates
		cfg.Pictures.override(&s)
	default:
		s.Description = "segd: masks of the cameras of site " + cfg.Site
		s.MaxBytes = maskMaxBytes
		s.Duplicates = maskDuplicates
		cfg.Masks.override(&s)
	}
	s.Duplicates = min(s.Duplicates, s.MaxAge) // JetStream's rule
	return s, kind == KindEvent || kind == KindMask && cfg.Masks.MaxAge > 0 || kind == KindPicture && cfg.Pictures.MaxAge > 0
}

func (r Retention) override(s *jetstream.StreamConfig) {
	if r.MaxAge > 0 {
		s.MaxAge = r.MaxAge
	}
	if r.MaxBytes > 0 {
		s.MaxBytes = r.MaxBytes
	}
}

// storeSubject is where an event goes that its stream has not stored and its
// subscribers have got. The stream keeps it under the event's own subject.
func storeSubject(subject string) string { return subject + ".store" }

// withStoreSubject returns s as one that takes events by storeSubject, too.
func withStoreSubject(s jetstream.StreamConfig, subject string) jetstream.StreamConfig {
	from := storeSubject(subject)
	s.Subjects = append(slices.Clone(s.Subjects), from)
	s.SubjectTransform = &jetstream.SubjectTransformConfig{
		Source: from, Destination: strings.Replace(subject, "*", "{{wildcard(1)}}", 1),
	}
	return s
}

// createStreams makes the streams that are missing. One that is there keeps its
// limits, which the server's operator may have changed, but for those the
// configuration names. apart tells whether that of events takes them by
// storeSubject.
func createStreams(ctx context.Context, js jetstream.JetStream, cfg Config) (apart bool, err error) {
	for _, kind := range []Kind{KindMask, KindEvent} {
		r := cfg.Events
		if kind == KindMask {
			r = cfg.Masks
		}
		want, ok := cfg.wanted(kind)
		if !ok {
			continue
		}
		least := int64(0)
		if kind == KindEvent && r.MaxBytes == 0 {
			least = eventLeastBytes
		}
		there, err := createStream(ctx, js, want, r, least, cfg.Logger)
		if err != nil {
			return false, fmt.Errorf("bus: JetStream stream %s: %w", want.Name, err)
		}
		if kind == KindEvent {
			apart = there.SubjectTransform != nil && *there.SubjectTransform == *want.SubjectTransform
		}
		if cfg.URL == "" {
			reconcileConsumers(ctx, js, want.Name, cfg)
		}
	}
	return apart, nil
}

// metadataUser is of the consumers that reconcileConsumers makes: whose it is.
const metadataUser = "segd_user"

// reconcileConsumers gives each user who may not make consumers a durable one of stream, of its name, by
// which it gets every message once, and removes those of users that are no more. A user who gets none
// hears what is live, and the log says why.
func reconcileConsumers(ctx context.Context, js jetstream.JetStream, stream string, cfg Config) {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	fault := func(user string, err error) {
		cfg.Logger.Warn("a NATS user has no consumer of a stream", "user", user, "stream", stream, "err", err)
	}
	users := map[string]bool{}
	for _, u := range cfg.Users {
		if u.Role == Admin {
			continue
		}
		users[u.Name] = true
		want := jetstream.ConsumerConfig{
			Durable: u.Name, AckPolicy: jetstream.AckExplicitPolicy,
			Description: "segd: of the user " + u.Name, Metadata: map[string]string{metadataUser: u.Name},
		}
		_, err := js.CreateOrUpdateConsumer(ctx, stream, want)
		var api *jetstream.APIError
		if errors.As(err, &api) { // one of that name is there that cannot become this one
			if err = js.DeleteConsumer(ctx, stream, u.Name); err == nil {
				_, err = js.CreateOrUpdateConsumer(ctx, stream, want)
			}
		}
		if err != nil {
			fault(u.Name, err)
		}
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		fault("", err)
		return
	}
	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		if user := info.Config.Metadata[metadataUser]; user != "" && !users[user] {
			if err := s.DeleteConsumer(ctx, info.Name); err != nil {
				fault(user, err)
			}
		}
	}
	if err := list.Err(); err != nil {
		fault("", err)
	}
}

// JetStream's codes for a stream that is larger than the server, or an account's limit, has room for.
const (
	errNoStorage      jetstream.ErrorCode = 10047
	errAccountStorage jetstream.ErrorCode = 10002
	errStreamTooLarge jetstream.ErrorCode = 10122
	errNoPeers        jetstream.ErrorCode = 10005 // no server of a cluster has it, or there are too few
)

// noRoom tells whether JetStream has no room for a stream of that size.
func noRoom(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains([]jetstream.ErrorCode{errNoStorage, errAccountStorage, errStreamTooLarge, errNoPeers}, api.ErrorCode)
}

// createStream returns the stream as it is then: one of least bytes where there is no room for what is wanted, if least
// is not 0.
func createStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, r Retention, least int64, log *slog.Logger) (there jetstream.StreamConfig, err error) {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(ctx, want)
		if want.MaxBytes > least && least > 0 && noRoom(err) {
			log.Warn("the NATS server has no room for a stream as large as segd wants it", "stream", want.Name, "wanted_mib", want.MaxBytes>>20, "made_mib", least>>20)
			want.MaxBytes = least
			_, err = js.CreateStream(ctx, want)
		}
		if errors.Is(err, jetstream.ErrStreamSubjectTransformNotSupported) {
			return there, nil // made all the same, by a server before 2.10
		}
		return want, err
	}
	if err != nil {
		return there, err
	}
	there = stream.CachedInfo().Config
	changed := there
	if there.MaxMsgs == eventCountBefore && there.MaxBytes == eventBytesBefore {
		better := there
		better.MaxMsgs, better.MaxBytes = -1, want.MaxBytes
		if _, err := js.UpdateStream(ctx, better); err == nil { // else it serves as it is
			changed, there = better, better
		}
	}
	r.override(&changed)
	changed.Duplicates = min(changed.Duplicates, changed.MaxAge)
	if changed.MaxAge != there.MaxAge || changed.MaxBytes != there.MaxBytes {
		if _, err := js.UpdateStream(ctx, changed); err != nil {
			return there, err
		}
	}
	// One that an earlier segd made, or an operator by hand, has the event's subject only.
	// It serves as it is if it cannot be changed.
	if want.SubjectTransform != nil && changed.SubjectTransform == nil && slices.Equal(changed.Subjects, want.Subjects[:1]) {
		better := withStoreSubject(changed, want.Subjects[0])
		if _, err := js.UpdateStream(ctx, better); err == nil {
			return better, nil
		}
	}
	return changed, nil
}
