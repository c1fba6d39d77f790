package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxBucket bounds the bucket: 10,000 cameras and their boxes take a few megabytes.
	maxBucket = 64 << 20
	// askTimeout bounds one request to the bucket.
	askTimeout = 2 * time.Second
	// watchAgain is the pause before a watch that failed is made anew.
	watchAgain = 200 * time.Millisecond
)

// Bucket is the name of the key-value bucket of a site's fleet.
func Bucket(site string) string { return "segd_" + site + "_fleet" }

// errConflict says that a key has another revision than was thought.
var errConflict = errors.New("fleet: another box was first")

// store is the bucket. Its keys have no time to live: that would go by the clock of a
// server, and a clock that is set an hour ahead would end every box's session.
type store struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	bucket   string
	replicas int
	kv       jetstream.KeyValue // nil until open
}

func newStore(conn *nats.Conn, site string, replicas int) (*store, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &store{conn: conn, js: js, bucket: Bucket(site), replicas: max(1, replicas)}, nil
}

// open finds the bucket, or makes it. It may be called again after an error.
func (s *store) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	kv, err := s.js.KeyValue(ctx, s.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		// Not by CreateKeyValue, which asks for the whole account's state besides.
		_, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "KV_" + s.bucket, Subjects: []string{"$KV." + s.bucket + ".>"},
			Description: "segd: which box runs which camera",
			Storage:     jetstream.FileStorage, Discard: jetstream.DiscardNew, Replicas: s.replicas,
			MaxMsgsPerSubject: 1, MaxMsgSize: maxRecord, MaxBytes: maxBucket,
			AllowRollup: true, AllowDirect: true, DenyDelete: true,
		})
		if err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			kv, err = s.js.KeyValue(ctx, s.bucket)
		}
	}
	if err != nil {
		return fmt.Errorf("fleet: bucket %s: %w", s.bucket, err)
	}
	s.kv = kv
	return nil
}

// set makes a key's value what it is told if its newest revision is still that, 0 for a key
// that was never there, and returns the next one. An error that is no errConflict leaves
// open whether it was done.
func (s *store) set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	next, err := s.kv.Update(ctx, key, value, revision)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return 0, errConflict
	}
	return next, err
}

// put sets a key whatever it is.
func (s *store) put(ctx context.Context, key string, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err := s.kv.Put(ctx, key, value)
	return err
}

// purge removes a key and leaves a mark of it, if its revision is still that.
func (s *store) purge(ctx context.Context, key string, revision uint64) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return s.kv.Purge(ctx, key, jetstream.LastRevision(revision))
}

// change is what a key has become.
type change struct {
	key      string
	value    []byte // empty: it was deleted
	revision uint64
}

// get returns a key as the leader has it by now or had it shortly before.
func (s *store) get(ctx context.Context, key string) (change, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	entry, err := s.kv.Get(ctx, key)
	if err != nil {
		return change{}, err
	}
	return change{key, entry.Value(), entry.Revision()}, nil
}

// watchedKeys are all but those that boxes renew: to tell every box of them all costs as much as
// the square of the boxes.
var watchedKeys = []string{boxKey + "*", cameraKey + ">", orderKey + "*", planKey}

// life returns what a box renews and its revision, 0 if it was never there.
func (s *store) life(ctx context.Context, box string) (life, uint64, error) {
	c, err := s.get(ctx, lifeKey+box)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return life{}, 0, nil
	case err != nil:
		return life{}, 0, err
	}
	l, err := decode[life](c.value)
	if err != nil {
		l = life{Over: true} // of no box that is known
	}
	return l, c.revision, nil
}

// watch hands over all of watchedKeys, then says synced, and then hands over what changes, until ctx
// ends; after each failure and each new connection all of it again.
func (s *store) watch(ctx context.Context, changed func(change), synced func()) {
	for ctx.Err() == nil {
		s.watchOnce(ctx, changed, synced)
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

func (s *store) watchOnce(ctx context.Context, changed func(change), synced func()) {
	if !s.conn.IsConnected() {
		return
	}
	connection := s.conn.Stats().Reconnects
	w, err := s.kv.WatchFiltered(ctx, slices.Clone(watchedKeys)) // it writes to them
	if err != nil {
		return
	}
	defer func() { _ = w.Stop() }()
	tick := time.NewTicker(watchAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.conn.Stats().Reconnects != connection {
				return // the server may have forgotten whom it told
			}
		case entry, ok := <-w.Updates():
			switch {
			case !ok:
				return
			case entry == nil:
				synced()
			case entry.Operation() == jetstream.KeyValuePut:
				changed(change{entry.Key(), entry.Value(), entry.Revision()})
			default:
				changed(change{entry.Key(), nil, entry.Revision()})
			}
		}
	}
}
