package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/semaphore"
)

const (
	// generations of a camera's checkpoint are kept: the newest, and the one before it.
	generations = 2
	// checkpointBytes is how much of all cameras' is kept.
	checkpointBytes = 256 << 20
	// unfinishedAge is for how long an object may be on its way into the store: older parts of one that
	// is not there are left over.
	unfinishedAge = time.Minute
	// maxSubjects is how many a NATS server names in one answer.
	maxSubjects = 100_000

	generationKey = "generation"
	shortSuffix   = ".short"
)

// MaxCheckpoint is how large one may be, in bytes: as package checkpoint has them. A server elsewhere may send more.
const MaxCheckpoint = 64 << 20

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
	stream  jetstream.Stream // of store; nil: it has not been looked at
	cameras map[string]*keptCamera
	clearAt time.Time // when what is no checkpoint is to be removed; zero: never
	cleared time.Time // when that was done last
}

// keptCamera is what there is to know of a camera's checkpoints.
type keptCamera struct {
	turn   *semaphore.Weighted // held while they, or what follows, are read or written
	newest uint64              // the generation that was kept last
	known  bool                // newest is
}

// Checkpoints returns the site's, nil where nothing would survive the process: the server inside it
// keeps nothing on disk.
func (b *Bus) Checkpoints() *Checkpoints {
	if b.cfg.URL == "" && b.cfg.StoreDir == "" {
		return nil
	}
	return &Checkpoints{bus: b, unfinished: unfinishedAge, cameras: map[string]*keptCamera{}, clearAt: time.Now()}
}

// errNoStore says that nothing has been kept yet.
var errNoStore = errors.New("nothing is kept")

// inTurn does something with the store while no one else reads or writes a camera's checkpoints. If there is no store it
// is made, or there is nothing to do. what is in the error.
func (c *Checkpoints) inTurn(ctx context.Context, what, camera string, make bool, do func(*keptCamera, jetstream.ObjectStore) error) error {
	c.mu.Lock()
	cam := c.cameras[camera]
	if cam == nil {
		cam = &keptCamera{turn: semaphore.NewWeighted(1)}
		c.cameras[camera] = cam
	}
	c.mu.Unlock()
	err := cam.turn.Acquire(ctx, 1)
	if err == nil {
		defer cam.turn.Release(1)
		var store jetstream.ObjectStore
		if store, err = c.open(ctx, make); errors.Is(err, errNoStore) {
			return nil
		}
		if err == nil {
			err = do(cam, store)
		}
	}
	if err != nil {
		return fmt.Errorf("bus: %s of camera %s: %w", what, camera, err)
	}
	return nil
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

// half leaves time for what comes after.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

// tidy removes what is no checkpoint, when it is time for that; what takes too long it leaves to the next.
func (c *Checkpoints) tidy(ctx context.Context) error {
	c.mu.Lock()
	at := c.clearAt
	due := !at.IsZero() && !time.Now().Before(at)
	if due {
		c.clearAt = time.Time{} // no other goroutine does meanwhile
	}
	c.mu.Unlock()
	if !due {
		return nil
	}
	most, cancel := half(ctx)
	defer cancel()
	again, err := c.clear(most)
	if most.Err() != nil && ctx.Err() == nil {
		err, again = nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.cleared = time.Now(); {
	case err != nil:
		c.clearAt = at
	case again:
		c.clearAt = c.cleared.Add(c.unfinished)
	}
	return err
}

// clearSoon has a full store looked through, once it may have something else to remove than the last time.
func (c *Checkpoints) clearSoon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clearAt.IsZero() {
		c.clearAt = c.cleared.Add(c.unfinished)
	}
}

// clear removes what writes have left that never ended, and what another client has put there that is no object;
// again says that there is more that may be such.
func (c *Checkpoints) clear(ctx context.Context) (again bool, err error) {
	objects, err := c.objects(ctx)
	if err != nil {
		return false, err
	}
	whole := make(map[string]bool, 2*len(objects))
	for subject, nuid := range objects {
		whole[subject], whole[chunkSubject(c.bus.cfg.Site, nuid)] = true, true
	}
	stream, err := c.parts(ctx)
	if err != nil {
		return false, err
	}
	for _, subjects := range []string{metaSubject(c.bus.cfg.Site, ""), chunkSubject(c.bus.cfg.Site, "")} {
		there, all, err := c.subjects(ctx, subjects+">")
		if err != nil {
			return false, err
		}
		again = again || !all
		for _, subject := range there {
			if whole[subject] || !literal(subject) {
				continue
			}
			last, err := stream.GetLastMsgForSubject(ctx, subject)
			if err != nil || time.Since(last.Time) < c.unfinished {
				again = true // it is gone, or another client writes it
				continue
			}
			if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return false, err
			}
			// What it named as its parts is found to belong to no checkpoint the next time.
			again = again || strings.HasPrefix(subject, metaSubject(c.bus.cfg.Site, ""))
		}
	}
	return again, nil
}

// literal tells whether a subject is that of one message, and none that others match.
func literal(subject string) bool {
	return !slices.ContainsFunc(strings.Split(subject, "."), func(token string) bool { return token == "" || token == "*" || token == ">" })
}

// objects are where the objects are told of that there are, and their NUIDs. ObjectStore.List of nats.go 1.55 waits
// for ever where the last thing that is told is none.
func (c *Checkpoints) objects(ctx context.Context) (map[string]string, error) {
	js, err := c.bus.conn.JetStream()
	if err != nil {
		return nil, err
	}
	metas := metaSubject(c.bus.cfg.Site, "")
	sub, err := js.SubscribeSync(metas+">", nats.OrderedConsumer(), nats.BindStream(checkpointStream(c.bus.cfg.Site)), nats.DeliverLastPerSubject(), nats.Context(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // a connection that is lost has none
	left, err := sub.InitialConsumerPending()
	if err != nil {
		return nil, err
	}
	objects := map[string]string{}
	for left > 0 && len(objects) < maxSubjects {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		about, err := msg.Metadata()
		if err != nil {
			return nil, err
		}
		left = about.NumPending
		var info jetstream.ObjectInfo
		if json.Unmarshal(msg.Data, &info) == nil && !info.Deleted && metaSubject(c.bus.cfg.Site, info.Name) == msg.Subject {
			objects[msg.Subject] = info.NUID
		}
	}
	return objects, nil
}

// subjects are those in the store that match one, if all is true, or some of them.
func (c *Checkpoints) subjects(ctx context.Context, matching string) (there []string, all bool, err error) {
	// Stream.Info of nats.go asks for all, however many there are.
	request, err := json.Marshal(map[string]string{"subjects_filter": matching})
	if err != nil {
		return nil, false, err
	}
	msg, err := c.bus.conn.RequestWithContext(ctx, jetstream.DefaultAPIPrefix+"STREAM.INFO."+checkpointStream(c.bus.cfg.Site), request)
	if err != nil {
		return nil, false, err
	}
	var answer struct {
		Error *jetstream.APIError
		Total int
		State struct{ Subjects map[string]uint64 }
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return nil, false, err
	}
	if answer.Error != nil {
		return nil, false, answer.Error
	}
	return slices.Collect(maps.Keys(answer.State.Subjects)), len(answer.State.Subjects) >= answer.Total, nil
}

// chunkSubject is where an object store has the parts of an object.
func chunkSubject(site, nuid string) string { return "$O." + CheckpointBucket(site) + ".C." + nuid }

// metaSubject is where it says what an object is; "": where it says so of all.
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

// chunks counts the parts of the object of that NUID.
func (c *Checkpoints) chunks(ctx context.Context, nuid string) (uint64, error) {
	stream, err := c.parts(ctx)
	if err != nil {
		return 0, err
	}
	subject := chunkSubject(c.bus.cfg.Site, nuid)
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, err
	}
	return info.State.Subjects[subject], nil
}

// info tells of an object. A client that may write to the store can have it say anything: what no checkpoint's says is
// jetstream.ErrBadObjectMeta.
func (c *Checkpoints) info(ctx context.Context, store jetstream.ObjectStore, name string, opts ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	info, err := store.GetInfo(ctx, name, opts...)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) (*jetstream.ObjectInfo, error) {
		return nil, fmt.Errorf("%w: %s", jetstream.ErrBadObjectMeta, fmt.Sprintf(format, args...))
	}
	switch {
	case info.Name != name:
		return bad("name: %.100q; want %q", info.Name, name)
	case !literal(info.NUID) || strings.Contains(info.NUID, "."): // it is part of a subject
		return bad("nuid: %.100q; want one token of a subject", info.NUID)
	case info.Opts != nil && info.Opts.Link != nil:
		return bad("link: of another object; want none")
	case info.Size > MaxCheckpoint:
		return bad("size: %d bytes; want at most %d", info.Size, MaxCheckpoint)
	case info.Chunks == 0 && info.Size > 0:
		return bad("chunks: none of %d bytes; want one or more", info.Size)
	}
	return info, nil
}

// object is the name of a generation of a camera's.
func object(camera string, generation uint64) string {
	return camera + "." + strconv.FormatUint(generation%generations, 10)
}

func shortObject(camera string) string { return camera + shortSuffix }

// generationsOf are the generations there are of a camera's checkpoint, the newest first.
func (c *Checkpoints) generationsOf(ctx context.Context, store jetstream.ObjectStore, camera string) (all []uint64, err error) {
	for k := range uint64(generations) {
		info, err := c.info(ctx, store, object(camera, k))
		// What another client has put there is as old as can be.
		generation := k
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound):
			continue
		case errors.Is(err, jetstream.ErrBadObjectMeta):
		case err != nil:
			return nil, err
		default:
			generation, _ = strconv.ParseUint(info.Metadata[generationKey], 10, 64)
		}
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
	err = c.inTurn(ctx, "checkpoints", camera, false, func(cam *keptCamera, store jetstream.ObjectStore) error {
		there, err := c.generationsOf(ctx, store, camera)
		if err != nil {
			return err
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
			return err
		}
		if len(there) > 0 {
			cam.newest, cam.known = there[0], true
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return short, all, nil
}

// read returns an object. One that lacks parts is an error at once, where GetBytes would wait for them; and
// however long one takes, there is time for the next. Of more than it says no more is read.
func (c *Checkpoints) read(ctx context.Context, store jetstream.ObjectStore, name string) ([]byte, error) {
	ctx, cancel := half(ctx)
	defer cancel()
	info, err := c.info(ctx, store, name)
	if err != nil {
		return nil, err
	}
	var data []byte
	if info.Chunks == 1 {
		data, err = c.readOne(ctx, info)
	} else {
		data, err = c.readAll(ctx, store, info)
	}
	switch {
	case err != nil:
		return nil, err
	case uint64(len(data)) > info.Size:
		return nil, fmt.Errorf("more than the %d bytes that it is said to have", info.Size)
	case info.Digest != digestOf(data):
		return nil, jetstream.ErrDigestMismatch
	}
	return data, nil
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
	return part.Data, nil
}

// readAll returns an object of several parts, and of more than it says to have one byte.
func (c *Checkpoints) readAll(ctx context.Context, store jetstream.ObjectStore, info *jetstream.ObjectInfo) ([]byte, error) {
	n, err := c.chunks(ctx, info.NUID)
	if err != nil {
		return nil, err
	}
	if n != uint64(info.Chunks) {
		return nil, fmt.Errorf("%d of its %d parts are there", n, info.Chunks)
	}
	from, err := store.Get(ctx, info.Name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(io.LimitReader(from, int64(info.Size)+1))
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
	if len(data) > MaxCheckpoint {
		return fmt.Errorf("bus: checkpoint of camera %s: %d bytes; want at most %d", camera, len(data), MaxCheckpoint)
	}
	return c.inTurn(ctx, "checkpoint", camera, true, func(cam *keptCamera, store jetstream.ObjectStore) error {
		if err := c.tidy(ctx); err != nil {
			return err
		}
		if short {
			return c.put(ctx, store, jetstream.ObjectMeta{Name: shortObject(camera)}, data)
		}
		if !cam.known {
			there, err := c.generationsOf(ctx, store, camera)
			if err != nil {
				return err
			}
			if cam.newest = 0; len(there) > 0 {
				cam.newest = there[0]
			}
		}
		next := cam.newest + 1
		if err := c.put(ctx, store, jetstream.ObjectMeta{
			Name: object(camera, next), Metadata: map[string]string{generationKey: strconv.FormatUint(next, 10)},
		}, data); err != nil {
			return err
		}
		cam.newest, cam.known = next, true
		return nil
	})
}

func (c *Checkpoints) put(ctx context.Context, store jetstream.ObjectStore, as jetstream.ObjectMeta, data []byte) error {
	err := c.write(ctx, store, as, data)
	if err == nil {
		return nil
	}
	c.setStore(nil) // it may have been removed; the next one looks
	if strings.Contains(err.Error(), "maximum bytes exceeded") {
		c.clearSoon()
		if stream, e := c.bus.events.js.Stream(ctx, checkpointStream(c.bus.cfg.Site)); e == nil {
			err = fmt.Errorf("%w: the limit of stream %s is %d bytes; accepted: a higher one, or fewer cameras' checkpoints", err, checkpointStream(c.bus.cfg.Site), stream.CachedInfo().Config.MaxBytes)
		}
	}
	return err
}

// chunkSize is that of nats.go's own objects, where the server takes as much in one message.
const chunkSize = 128 << 10

// write puts an object, as ADR-20 has it (Get checks its digest): its chunks, then the message that names them,
// in place of the one there was, and then it takes that one's chunks away. ObjectStore.Put of nats.go 1.55 does the
// same, but leaves a goroutine behind now and then, which waits for the end of its own publisher for ever.
func (c *Checkpoints) write(ctx context.Context, store jetstream.ObjectStore, as jetstream.ObjectMeta, data []byte) error {
	before, err := c.info(ctx, store, as.Name, jetstream.GetObjectInfoShowDeleted())
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) && !errors.Is(err, jetstream.ErrBadObjectMeta) {
		return err
	}
	site := c.bus.cfg.Site
	size := chunkSize
	if most := c.bus.conn.MaxPayload(); most > 0 {
		size = int(min(chunkSize, most))
	}
	as.Opts = &jetstream.ObjectMetaOptions{ChunkSize: uint32(size)}
	info := jetstream.ObjectInfo{
		ObjectMeta: as, Bucket: CheckpointBucket(site), NUID: nuid.Next(), Size: uint64(len(data)), Digest: digestOf(data),
	}
	js, chunks := c.bus.events.js, chunkSubject(site, info.NUID)
	for chunk := range slices.Chunk(data, size) {
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
	return c.inTurn(ctx, "remove checkpoints", camera, false, func(cam *keptCamera, store jetstream.ObjectStore) error {
		cam.known = false
		for _, name := range names {
			info, err := c.info(ctx, store, name, jetstream.GetObjectInfoShowDeleted())
			if errors.Is(err, jetstream.ErrObjectNotFound) {
				continue
			}
			if err == nil || errors.Is(err, jetstream.ErrBadObjectMeta) {
				err = c.purge(metaSubject(c.bus.cfg.Site, name))
			}
			if err == nil && info != nil {
				err = c.purge(chunkSubject(c.bus.cfg.Site, info.NUID))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Cameras returns the names of those that something is kept of.
func (c *Checkpoints) Cameras(ctx context.Context) ([]string, error) {
	fail := func(err error) ([]string, error) { return nil, fmt.Errorf("bus: checkpoints: %w", err) }
	_, err := c.open(ctx, false)
	if errors.Is(err, errNoStore) {
		return nil, nil
	}
	if err != nil {
		return fail(err)
	}
	objects, err := c.objects(ctx)
	if err != nil {
		return fail(err)
	}
	var cameras []string
	for subject := range objects {
		name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, metaSubject(c.bus.cfg.Site, "")))
		if err != nil {
			return fail(err)
		}
		if i := bytes.LastIndexByte(name, '.'); i > 0 && CheckName(string(name[:i])) == nil {
			cameras = append(cameras, string(name[:i]))
		}
	}
	slices.Sort(cameras)
	return slices.Compact(cameras), nil
}

// noJetStream tells whether err is of a server that has none.
func noJetStream(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// withoutJetStream says what an error means where no server answers.
func withoutJetStream(err error) error {
	if noJetStream(err) {
		return fmt.Errorf("the NATS server has no JetStream: %w", err)
	}
	return err
}
