package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
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
	shortSuffix   = ".short"
)

// CheckpointBucket is the name of the JetStream object store that keeps a site's checkpoints. What the
// objects in it are is docs/checkpoints.md's.
func CheckpointBucket(site string) string { return "segd_" + site + "_checkpoints" }

// checkpointStream is the name of the stream that it is.
func checkpointStream(site string) string { return "OBJ_" + CheckpointBucket(site) }

// Checkpoints keep what is known of cameras in a JetStream object store: one object for each of a camera's
// generations, CAMERA.0 and CAMERA.1 in turns, whose metadata says which is newer, and CAMERA.short. An object
// that was not written whole is none.
type Checkpoints struct {
	bus *Bus

	unfinished time.Duration // unfinishedAge

	mu      sync.Mutex // held for moments only: a server that is slow to answer about one camera holds up no other
	store   jetstream.ObjectStore
	stream  jetstream.Stream         // of store; nil: it has not been looked at
	turns   map[string]chan struct{} // by camera: held by whoever reads or writes its checkpoints
	newest  map[string]uint64        // by camera: the generation that was kept last
	clearAt time.Time                // when what unfinished writes have left is to be removed; zero: never
}

// Checkpoints returns the site's, nil where nothing would survive the process: the server inside it
// keeps nothing on disk.
func (b *Bus) Checkpoints() *Checkpoints {
	if b.cfg.URL == "" && b.cfg.StoreDir == "" {
		return nil
	}
	return &Checkpoints{bus: b, unfinished: unfinishedAge, turns: map[string]chan struct{}{}, newest: map[string]uint64{}, clearAt: time.Now()}
}

// errNoStore says that nothing has been kept yet.
var errNoStore = errors.New("nothing is kept")

// turn waits until nobody reads or writes a camera's checkpoints; whoever has it gives it back by end.
func (c *Checkpoints) turn(ctx context.Context, camera string) (end func(), err error) {
	c.mu.Lock()
	turn := c.turns[camera]
	if turn == nil {
		turn = make(chan struct{}, 1)
		c.turns[camera] = turn
	}
	c.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open returns the store. If there is none it is made, or the error is errNoStore.
func (c *Checkpoints) open(ctx context.Context, make bool) (jetstream.ObjectStore, error) {
	if !c.bus.conn.IsConnected() {
		return nil, ErrNotConnected
	}
	c.mu.Lock()
	store := c.store
	c.mu.Unlock()
	if store != nil {
		return store, nil
	}
	site := c.bus.cfg.Site
	store, err := c.bus.events.js.ObjectStore(ctx, CheckpointBucket(site))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		if !make {
			return nil, errNoStore
		}
		store, err = c.bus.events.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: CheckpointBucket(site), Description: "segd: what is known of the cameras of site " + site,
			MaxBytes: checkpointBytes, Storage: jetstream.FileStorage, Replicas: max(1, c.bus.cfg.Replicas),
		})
	}
	if err != nil {
		return nil, withoutJetStream(err)
	}
	c.setStore(store)
	return store, nil
}

// setStore notes the store that there is; nil: the next one looks.
func (c *Checkpoints) setStore(store jetstream.ObjectStore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store, c.stream = store, nil
}

// tidy removes what unfinished writes have left, when it is time for that.
func (c *Checkpoints) tidy(ctx context.Context, store jetstream.ObjectStore) error {
	c.mu.Lock()
	at := c.clearAt
	due := !at.IsZero() && !time.Now().Before(at)
	if due {
		c.clearAt = time.Time{} // nobody else does meanwhile
	}
	c.mu.Unlock()
	if !due {
		return nil
	}
	again, err := c.clear(ctx, store)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.clearAt = at
	case again:
		c.clearAt = time.Now().Add(c.unfinished)
	}
	return err
}

// clear removes what writes have left that never ended; again says that there is more that may be such.
func (c *Checkpoints) clear(ctx context.Context, store jetstream.ObjectStore) (again bool, err error) {
	objects, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return false, err
	}
	stream, chunks, err := c.chunks(ctx, ">")
	if err != nil {
		return false, err
	}
	bucket := chunkSubject(c.bus.cfg.Site, "")
	for subject := range chunks {
		if slices.ContainsFunc(objects, func(o *jetstream.ObjectInfo) bool { return bucket+o.NUID == subject }) {
			continue
		}
		last, err := stream.GetLastMsgForSubject(ctx, subject)
		if err != nil || time.Since(last.Time) < c.unfinished {
			again = true // it is gone, or somebody writes it
			continue
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return false, err
		}
	}
	return again, nil
}

// chunkSubject is where an object store has the parts of an object.
func chunkSubject(site, nuid string) string { return "$O." + CheckpointBucket(site) + ".C." + nuid }

// metaSubject is where it says what an object is.
func metaSubject(site, name string) string {
	return "$O." + CheckpointBucket(site) + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// parts is the stream that has the parts of objects, as it was when it was first looked at.
func (c *Checkpoints) parts(ctx context.Context) (jetstream.Stream, error) {
	c.mu.Lock()
	stream := c.stream
	c.mu.Unlock()
	if stream != nil {
		return stream, nil
	}
	stream, err := c.bus.events.js.Stream(ctx, checkpointStream(c.bus.cfg.Site))
	if err == nil {
		c.mu.Lock()
		c.stream = stream
		c.mu.Unlock()
	}
	return stream, err
}

// chunks counts the parts of the object of that NUID, by subject.
func (c *Checkpoints) chunks(ctx context.Context, nuid string) (jetstream.Stream, map[string]uint64, error) {
	stream, err := c.bus.events.js.Stream(ctx, checkpointStream(c.bus.cfg.Site))
	if err != nil {
		return nil, nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(chunkSubject(c.bus.cfg.Site, nuid)))
	if err != nil {
		return nil, nil, err
	}
	return stream, info.State.Subjects, nil
}

// object is the name of a generation of a camera's.
func object(camera string, generation uint64) string {
	return camera + "." + strconv.FormatUint(generation%generations, 10)
}

func shortObject(camera string) string { return camera + shortSuffix }

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
	fail := func(err error) ([]byte, [][]byte, error) {
		return nil, nil, fmt.Errorf("bus: checkpoints of camera %s: %w", camera, err)
	}
	end, err := c.turn(ctx, camera)
	if err != nil {
		return fail(err)
	}
	defer end()
	store, err := c.open(ctx, false)
	if errors.Is(err, errNoStore) {
		return nil, nil, nil
	}
	if err != nil {
		return fail(err)
	}
	there, err := generationsOf(ctx, store, camera)
	if err != nil {
		return fail(err)
	}
	read := func(name string) ([]byte, error) {
		data, err := c.read(ctx, store, name)
		if err != nil && ctx.Err() == nil {
			if !errors.Is(err, jetstream.ErrObjectNotFound) {
				c.bus.cfg.Logger.Warn("a checkpoint cannot be read", "camera", camera, "object", name, "err", err)
			}
			return nil, nil
		}
		return data, err
	}
	// Beside one another: a camera waits for it that others may be waiting for.
	var reading sync.WaitGroup
	all = make([][]byte, len(there))
	faults := make([]error, len(there)+1)
	for i, generation := range there {
		reading.Go(func() { all[i], faults[i] = read(object(camera, generation)) })
	}
	reading.Go(func() { short, faults[len(there)] = read(shortObject(camera)) })
	reading.Wait()
	if err := errors.Join(faults...); err != nil {
		return fail(err)
	}
	if len(there) > 0 {
		c.setNewest(camera, there[0])
	}
	return short, all, nil
}

// setNewest notes the generation of a camera's that was kept last; newestOf is that.
func (c *Checkpoints) setNewest(camera string, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest[camera] = generation
}

func (c *Checkpoints) newestOf(camera string) (generation uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	generation, known = c.newest[camera]
	return generation, known
}

// read returns an object. One that lacks parts is an error at once, where GetBytes would wait for them; and
// however long one takes, there is time for the next.
func (c *Checkpoints) read(ctx context.Context, store jetstream.ObjectStore, name string) ([]byte, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	info, err := store.GetInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Chunks == 1 {
		return c.readOne(ctx, info)
	}
	_, there, err := c.chunks(ctx, info.NUID)
	if err != nil {
		return nil, err
	}
	if n := there[chunkSubject(c.bus.cfg.Site, info.NUID)]; n != uint64(info.Chunks) {
		return nil, fmt.Errorf("%d of its %d parts are there", n, info.Chunks)
	}
	return store.GetBytes(ctx, name)
}

// readOne returns an object of one part. Any server that keeps it answers, while there is no leader too.
func (c *Checkpoints) readOne(ctx context.Context, info *jetstream.ObjectInfo) ([]byte, error) {
	stream, err := c.parts(ctx)
	if err != nil {
		return nil, err
	}
	part, err := stream.GetLastMsgForSubject(ctx, chunkSubject(c.bus.cfg.Site, info.NUID))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, errors.New("0 of its 1 parts are there")
	}
	if err != nil {
		return nil, err
	}
	if info.Digest != digestOf(part.Data) {
		return nil, jetstream.ErrDigestMismatch
	}
	return part.Data, nil
}

// digestOf is what an object's information says of its data.
func digestOf(data []byte) string {
	digest := sha256.New()
	_, _ = digest.Write(data) // it never fails
	return jetstream.GetObjectDigestValue(digest)
}

// Save keeps a checkpoint of a camera as its newest, or as its newest short one. The one before stays until it is
// whole, and one that is not short until there is the next but one.
func (c *Checkpoints) Save(ctx context.Context, camera string, data []byte, short bool) error {
	fail := func(err error) error { return fmt.Errorf("bus: checkpoint of camera %s: %w", camera, err) }
	end, err := c.turn(ctx, camera)
	if err != nil {
		return fail(err)
	}
	defer end()
	store, err := c.open(ctx, true)
	if err != nil {
		return fail(err)
	}
	if err := c.tidy(ctx, store); err != nil {
		return fail(err)
	}
	if short {
		return c.put(ctx, store, camera, jetstream.ObjectMeta{Name: shortObject(camera)}, data)
	}
	newest, known := c.newestOf(camera)
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
	c.setNewest(camera, next)
	return nil
}

func (c *Checkpoints) put(ctx context.Context, store jetstream.ObjectStore, camera string, as jetstream.ObjectMeta, data []byte) error {
	err := c.write(ctx, store, as, data)
	if err == nil {
		return nil
	}
	c.setStore(nil) // it may have been removed; the next one looks
	if strings.Contains(err.Error(), "maximum bytes exceeded") {
		if stream, e := c.bus.events.js.Stream(ctx, checkpointStream(c.bus.cfg.Site)); e == nil {
			err = fmt.Errorf("%w: the limit of stream %s is %d bytes; accepted: a higher one, or fewer cameras' checkpoints", err, checkpointStream(c.bus.cfg.Site), stream.CachedInfo().Config.MaxBytes)
		}
	}
	return fmt.Errorf("bus: checkpoint of camera %s: %w", camera, err)
}

// chunkSize is that of nats.go's own objects.
const chunkSize = 128 << 10

// write puts an object, as ADR-20 has it (Get checks its digest): its chunks, then the message that names them,
// in place of the one there was, and then it takes that one's chunks away. ObjectStore.Put of nats.go 1.55 does the
// same, but leaves a goroutine behind now and then, which waits for the end of its own publisher for ever.
func (c *Checkpoints) write(ctx context.Context, store jetstream.ObjectStore, as jetstream.ObjectMeta, data []byte) error {
	before, err := store.GetInfo(ctx, as.Name, jetstream.GetObjectInfoShowDeleted())
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	site := c.bus.cfg.Site
	as.Opts = &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}
	info := jetstream.ObjectInfo{
		ObjectMeta: as, Bucket: CheckpointBucket(site), NUID: nuid.Next(), Size: uint64(len(data)), Digest: digestOf(data),
	}
	js, chunks := c.bus.events.js, chunkSubject(site, info.NUID)
	for chunk := range slices.Chunk(data, chunkSize) {
		if _, err := js.Publish(ctx, chunks, chunk); err != nil {
			return errors.Join(err, c.purge(chunks))
		}
		info.Chunks++
	}
	text, err := json.Marshal(&info)
	if err != nil {
		return err
	}
	if _, err := js.PublishMsg(ctx, &nats.Msg{
		Subject: metaSubject(site, as.Name), Data: text,
		Header: nats.Header{jetstream.MsgRollup: []string{jetstream.MsgRollupSubject}},
	}); err != nil {
		return errors.Join(err, c.purge(chunks))
	}
	if before != nil && !before.Deleted {
		return c.purge(chunkSubject(site, before.NUID))
	}
	return nil
}

// purge takes the messages of a subject out of the store.
func (c *Checkpoints) purge(subject string) error {
	ctx, cancel := context.WithTimeout(context.Background(), streamTimeout)
	defer cancel()
	stream, err := c.bus.events.js.Stream(ctx, checkpointStream(c.bus.cfg.Site))
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// Delete removes all that is kept of a camera, if there is anything, and leaves no mark of it.
func (c *Checkpoints) Delete(ctx context.Context, camera string) error {
	names := []string{shortObject(camera)}
	for k := range uint64(generations) {
		names = append(names, object(camera, k))
	}
	return c.remove(ctx, camera, names)
}

// DeleteShort removes a camera's short checkpoint.
func (c *Checkpoints) DeleteShort(ctx context.Context, camera string) error {
	return c.remove(ctx, camera, []string{shortObject(camera)})
}

func (c *Checkpoints) remove(ctx context.Context, camera string, names []string) error {
	fail := func(err error) error {
		return fmt.Errorf("bus: remove checkpoints of camera %s: %w", camera, err)
	}
	end, err := c.turn(ctx, camera)
	if err != nil {
		return fail(err)
	}
	defer end()
	store, err := c.open(ctx, false)
	if errors.Is(err, errNoStore) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	stream, err := c.bus.events.js.Stream(ctx, checkpointStream(c.bus.cfg.Site))
	if err != nil {
		return fail(err)
	}
	c.mu.Lock()
	delete(c.newest, camera)
	c.mu.Unlock()
	for _, name := range names {
		info, err := store.GetInfo(ctx, name)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			continue
		}
		if err == nil {
			err = store.Delete(ctx, name)
		}
		if err == nil { // its mark too
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(metaSubject(c.bus.cfg.Site, info.Name)))
		}
		if err != nil {
			return fail(err)
		}
	}
	return nil
}

// Cameras returns the names of those that something is kept of.
func (c *Checkpoints) Cameras(ctx context.Context) ([]string, error) {
	store, err := c.open(ctx, false)
	if errors.Is(err, errNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bus: checkpoints: %w", err)
	}
	objects, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, fmt.Errorf("bus: checkpoints: %w", err)
	}
	var cameras []string
	for _, o := range objects {
		i := strings.LastIndexByte(o.Name, '.')
		if i > 0 && CheckName(o.Name[:i]) == nil {
			cameras = append(cameras, o.Name[:i])
		}
	}
	slices.Sort(cameras)
	return slices.Compact(cameras), nil
}

// withoutJetStream says what an error means that nobody answers.
func withoutJetStream(err error) error {
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("the NATS server has no JetStream: %w", err)
	}
	return err
}
