package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// generations of a camera's checkpoint are kept: the newest, and the one before it.
	generations = 2
	// checkpointBytes is how much of all cameras' is kept.
	checkpointBytes = 256 << 20
	// unfinishedAge is for how long an object may be on its way into the store: older parts of one that
	// is not there are left over.
	unfinishedAge = time.Minute

	generationKey = "generation"
)

// CheckpointBucket is the name of the JetStream object store that keeps a site's checkpoints. What the
// objects in it are is docs/checkpoints.md's.
func CheckpointBucket(site string) string { return "segd_" + site + "_checkpoints" }

// Checkpoints keep what is known of cameras in a JetStream object store: one object for each of a camera's
// generations, CAMERA.0 and CAMERA.1 in turns, whose metadata says which is newer, and CAMERA.short. An object
// that was not written whole is none.
type Checkpoints struct {
	bus *Bus

	mu      sync.Mutex
	store   jetstream.ObjectStore
	newest  map[string]uint64 // by camera: the generation that was kept last
	cleared bool              // what unfinished writes have left is removed
}

// Checkpoints returns the site's, nil where nothing would survive the process: the server inside it
// keeps nothing on disk.
func (b *Bus) Checkpoints() *Checkpoints {
	if b.cfg.URL == "" && b.cfg.StoreDir == "" {
		return nil
	}
	return &Checkpoints{bus: b, newest: map[string]uint64{}}
}

// open returns the store, which is made if there is none.
func (c *Checkpoints) open(ctx context.Context) (_ jetstream.ObjectStore, err error) {
	if !c.bus.conn.IsConnected() {
		return nil, ErrNotConnected
	}
	if c.store == nil {
		site := c.bus.cfg.Site
		c.store, err = c.bus.events.js.ObjectStore(ctx, CheckpointBucket(site))
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			c.store, err = c.bus.events.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
				Bucket: CheckpointBucket(site), Description: "segd: what is known of the cameras of site " + site,
				MaxBytes: checkpointBytes, Storage: jetstream.FileStorage,
			})
		}
		if err != nil {
			c.store = nil
			return nil, err
		}
	}
	if !c.cleared {
		if err := c.clear(ctx); err != nil {
			return nil, err
		}
		c.cleared = true
	}
	return c.store, nil
}

// clear removes what writes have left that never ended.
func (c *Checkpoints) clear(ctx context.Context) error {
	objects, err := c.store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return err
	}
	bucket := CheckpointBucket(c.bus.cfg.Site)
	stream, err := c.bus.events.js.Stream(ctx, "OBJ_"+bucket)
	if err != nil {
		return err
	}
	chunks := "$O." + bucket + ".C."
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(chunks+">"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if slices.ContainsFunc(objects, func(o *jetstream.ObjectInfo) bool { return chunks+o.NUID == subject }) {
			continue
		}
		last, err := stream.GetLastMsgForSubject(ctx, subject)
		if err != nil || time.Since(last.Time) < unfinishedAge {
			continue // it is gone, or somebody writes it
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}

// object is the name of a generation of a camera's.
func object(camera string, generation uint64) string {
	return camera + "." + strconv.FormatUint(generation%generations, 10)
}

func shortObject(camera string) string { return camera + ".short" }

// generationsOf are the generations there are of a camera's checkpoint, the newest first.
func generationsOf(ctx context.Context, store jetstream.ObjectStore, camera string) (all []uint64, err error) {
	for k := range uint64(generations) {
		info, err := store.GetInfo(ctx, object(camera, k))
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound):
			continue
		case err != nil:
			return nil, err
		}
		// What somebody else has put there is as old as can be.
		generation, _ := strconv.ParseUint(info.Metadata[generationKey], 10, 64)
		if generation%generations != k {
			generation = k
		}
		all = append(all, generation)
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// Load returns what is kept of a camera: the newest short one, and the others, the newest first; nil for what
// there is and cannot be read.
func (c *Checkpoints) Load(ctx context.Context, camera string) (short []byte, all [][]byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fail := func(err error) ([]byte, [][]byte, error) {
		return nil, nil, fmt.Errorf("bus: checkpoints of camera %s: %w", camera, err)
	}
	store, err := c.open(ctx)
	if err != nil {
		return fail(err)
	}
	there, err := generationsOf(ctx, store, camera)
	if err != nil {
		return fail(err)
	}
	read := func(name string) ([]byte, error) {
		data, err := store.GetBytes(ctx, name)
		if err != nil && ctx.Err() == nil {
			if !errors.Is(err, jetstream.ErrObjectNotFound) {
				c.bus.cfg.Logger.Warn("a checkpoint cannot be read", "camera", camera, "object", name, "err", err)
			}
			return nil, nil
		}
		return data, err
	}
	for _, generation := range there {
		data, err := read(object(camera, generation))
		if err != nil {
			return fail(err)
		}
		all = append(all, data)
	}
	if short, err = read(shortObject(camera)); err != nil {
		return fail(err)
	}
	if len(there) > 0 {
		c.newest[camera] = there[0]
	}
	return short, all, nil
}

// Save keeps a checkpoint of a camera as its newest, or as its newest short one. The one before stays until it is
// whole, and one that is not short until there is the next but one.
func (c *Checkpoints) Save(ctx context.Context, camera string, data []byte, short bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	fail := func(err error) error { return fmt.Errorf("bus: checkpoint of camera %s: %w", camera, err) }
	store, err := c.open(ctx)
	if err != nil {
		return fail(err)
	}
	if short {
		return c.put(ctx, store, camera, jetstream.ObjectMeta{Name: shortObject(camera)}, data)
	}
	newest, known := c.newest[camera]
	if !known {
		there, err := generationsOf(ctx, store, camera)
		if err != nil {
			return fail(err)
		}
		if len(there) > 0 {
			newest = there[0]
		}
	}
	next := newest + 1
	if err := c.put(ctx, store, camera, jetstream.ObjectMeta{
		Name: object(camera, next), Metadata: map[string]string{generationKey: strconv.FormatUint(next, 10)},
	}, data); err != nil {
		return err
	}
	c.newest[camera] = next
	return nil
}

func (c *Checkpoints) put(ctx context.Context, store jetstream.ObjectStore, camera string, as jetstream.ObjectMeta, data []byte) error {
	_, err := store.Put(ctx, as, bytes.NewReader(data))
	if err == nil {
		return nil
	}
	c.store = nil // it may have been removed; the next one looks
	if strings.Contains(err.Error(), "maximum bytes exceeded") {
		err = fmt.Errorf("%w: its limit is %d MiB; remove what is not needed any more", err, checkpointBytes>>20)
	}
	return fmt.Errorf("bus: checkpoint of camera %s: %w", camera, err)
}
