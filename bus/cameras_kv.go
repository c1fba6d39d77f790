package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/segd/segd/internal/pause"
)

const (
	// maxCameraValue is what JetStream takes of a camera: all zones and lines there may be, encrypted.
	maxCameraValue = 1 << 20
	// maxCameraBytes bounds all of them.
	maxCameraBytes = 32 << 20
	// maxCameraValues is how many are read; more than a fleet keeps, so that an operator hears of the others.
	maxCameraValues = 16384
	// countEvery is how often those who follow them look whether some are gone.
	countEvery = 30 * time.Second
	// keptSilence is how long the server is waited for that sends them: one that cannot read one from its
	// disk says nothing.
	keptSilence = 2 * time.Second
)

// CamerasBucket is the name of the key-value bucket that keeps the cameras of a site which were added while
// its segd ran.
func CamerasBucket(site string) string { return "segd_" + site + "_cameras" }

// camerasStream is the name of the stream that such a bucket is.
func camerasStream(site string) string { return "KV_" + CamerasBucket(site) }

// camerasStream is that stream, as NATS has those of buckets.
func (b *Bus) camerasStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: camerasStream(b.cfg.Site), Subjects: []string{"$KV." + CamerasBucket(b.cfg.Site) + ".>"},
		Description: "segd: cameras of site " + b.cfg.Site + " that were added while it ran, encrypted",
		Storage:     jetstream.FileStorage, Discard: jetstream.DiscardNew, Replicas: max(1, b.cfg.Replicas),
		MaxMsgsPerSubject: 1, MaxMsgSize: maxCameraValue, MaxBytes: maxCameraBytes,
		AllowRollup: true, AllowDirect: true, DenyDelete: true,
	}
}

// denyKept notes that the server does not permit what is asked about kept cameras, and tells whether err
// says that, or that of checkpoints, pictures or consumers: then it does not answer.
func (b *Bus) denyKept(err error) bool {
	switch {
	case !errors.Is(err, nats.ErrPermissionViolation):
		return false
	case strings.Contains(err.Error(), CheckpointBucket(b.cfg.Site)), strings.Contains(err.Error(), StreamName(b.cfg.Site, KindPicture)):
		return true
	case strings.Contains(err.Error(), `"$JS.API.CONSUMER.`) && strings.Contains(err.Error(), StreamName(b.cfg.Site, KindEvent)):
		return true // those of kept events
	case !strings.Contains(err.Error(), CamerasBucket(b.cfg.Site)):
		return false
	}
	b.keptDenied.Store(&err)
	return true
}

// KeptCameras returns what KeepCamera kept, by camera; nil for what is there and cannot be read. The methods
// about kept cameras may be called from any goroutine; their errors wrap ErrNotConnected without a connection.
func (b *Bus) KeptCameras(ctx context.Context) (map[string][]byte, error) {
	kv, err := b.keptCameras(ctx)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, b.keepError(err)
	}
	defer func() { _ = all.Stop() }() // it has all of them by then, or ctx has ended
	values := map[string][]byte{}
	for {
		select {
		case <-ctx.Done():
			return nil, b.keepError(ctx.Err())
		case <-time.After(keptSilence):
			return values, b.addUnread(ctx, values)
		case entry := <-all.Updates():
			if entry == nil { // that was all
				return values, nil
			}
			if values[entry.Key()] = entry.Value(); len(values) > maxCameraValues {
				return nil, b.keepError(fmt.Errorf("more than %d of them", maxCameraValues))
			}
		}
	}
}

// addUnread adds those that are there and did not come.
func (b *Bus) addUnread(ctx context.Context, values map[string][]byte) error {
	stream, err := b.events.js.Stream(ctx, camerasStream(b.cfg.Site))
	if err != nil {
		return b.keepError(err)
	}
	prefix := "$KV." + CamerasBucket(b.cfg.Site) + "."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return b.keepError(err)
	}
	for subject := range info.State.Subjects {
		camera := strings.TrimPrefix(subject, prefix)
		if _, ok := values[camera]; !ok {
			b.cfg.Logger.Error("what is kept of a camera cannot be read: the store is damaged there", "camera", camera)
			values[camera] = nil
		}
	}
	return nil
}

// KeepCamera keeps value for a camera, in place of what there is. It has been stored when it returns.
func (b *Bus) KeepCamera(ctx context.Context, camera string, value []byte) error {
	if len(value) > maxCameraValue {
		return b.keepError(fmt.Errorf("camera %s: %d bytes, want at most %d", camera, len(value), maxCameraValue))
	}
	kv, err := b.keptCameras(ctx)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		// Not by CreateKeyValue, which asks for the whole account's state besides.
		if _, err := b.events.js.CreateStream(ctx, b.camerasStream()); err != nil {
			return b.keepError(err)
		}
		kv, err = b.keptCameras(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := kv.Put(ctx, camera, value); errors.Is(err, nats.ErrMaxPayload) {
		return b.keepError(fmt.Errorf("camera %s: %w", camera, tooLarge(len(value), b.conn.MaxPayload(), err)))
	} else if err != nil {
		return b.keepError(err)
	}
	return nil
}

// WatchKeptCameras calls changed whenever what is kept of cameras may have changed, and once for each connection,
// until ctx ends.
func (b *Bus) WatchKeptCameras(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		b.watchKept(ctx, changed)
		_ = pause.For(ctx, reconnectWait)
	}
}

func (b *Bus) watchKept(ctx context.Context, changed func()) {
	kv, err := b.keptCameras(ctx)
	if err != nil {
		return // there is no bucket before the first camera is kept
	}
	connection := b.conn.Stats().Reconnects
	all, err := kv.WatchAll(ctx, jetstream.MetaOnly())
	if err != nil {
		return
	}
	defer func() { _ = all.Stop() }()
	forgotten := make(chan *nats.Msg, 1) // of a removal the bucket says nothing
	sub, err := b.conn.ChanSubscribe(forgottenSubject(b.cfg.Site), forgotten)
	if err != nil {
		return
	}
	defer func() { _ = sub.Unsubscribe() }() // a connection that is lost has none
	tick, count := time.NewTicker(reconnectWait), time.NewTicker(countEvery)
	defer tick.Stop()
	defer count.Stop()
	known, values := false, uint64(0) // whether all that there was has come, and how many there are
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if b.conn.Stats().Reconnects != connection {
				return
			}
		case <-forgotten:
			changed()
		case <-count.C: // another segd, not heard, may have removed some
			if st, err := kv.Status(ctx); err == nil && st.Values() != values {
				values = st.Values()
				changed()
			}
		case entry, ok := <-all.Updates():
			if !ok {
				return
			}
			if known = known || entry == nil; known {
				changed()
			}
		}
	}
}

// forgottenSubject is where who has removed one tells the boxes of a fleet.
func forgottenSubject(site string) string { return prefix + "." + site + "." + string(kindForgotten) }

// ForgetCamera removes what is kept of a camera, if there is anything, and leaves no mark of it.
func (b *Bus) ForgetCamera(ctx context.Context, camera string) error {
	if _, err := b.keptCameras(ctx); errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	stream, err := b.events.js.Stream(ctx, camerasStream(b.cfg.Site))
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+CamerasBucket(b.cfg.Site)+"."+camera))
	}
	if err != nil {
		return b.keepError(err)
	}
	_ = b.conn.Publish(forgottenSubject(b.cfg.Site), nil) // who does not hear it counts
	return nil
}

// keptCameras is the bucket; the error wraps jetstream.ErrBucketNotFound before the first camera is kept.
func (b *Bus) keptCameras(ctx context.Context) (jetstream.KeyValue, error) {
	if !b.Connected() {
		return nil, fmt.Errorf("bus: kept cameras: %w", b.Err())
	}
	kv, err := b.events.js.KeyValue(ctx, CamerasBucket(b.cfg.Site))
	if err != nil {
		return nil, b.keepError(err)
	}
	return kv, nil
}

func (b *Bus) keepError(err error) error {
	if denied := b.keptDenied.Swap(nil); denied != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", *denied, err)
	}
	return fmt.Errorf("bus: kept cameras, bucket %s: %w", CamerasBucket(b.cfg.Site), withoutJetStream(err))
}
