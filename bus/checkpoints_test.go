package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// sealedData is n bytes that can be told to be whole.
func sealedData(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

func whole(data []byte) bool {
	if len(data) < sha256.Size {
		return false
	}
	n := len(data) - sha256.Size
	return sha256.Sum256(data[:n]) == [sha256.Size]byte(data[n:])
}

func save(t *testing.T, c *Checkpoints, camera string, data []byte, short bool) {
	t.Helper()
	require.NoError(t, c.Save(t.Context(), camera, data, short))
}

// loaded wants a camera's checkpoints to be those, the newest first.
func loaded(t *testing.T, c *Checkpoints, camera string, short []byte, all ...[]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	gotShort, got, err := c.Load(ctx, camera)
	require.NoError(t, err)
	if !bytes.Equal(gotShort, short) || !slices.EqualFunc(got, all, bytes.Equal) || !slices.EqualFunc(got, all, func(a, b []byte) bool { return (a == nil) == (b == nil) }) {
		t.Errorf("%s: short of %d bytes, %d others; want %d, %d", camera, len(gotShort), len(got), len(short), len(all))
	}
}

// parts are the subjects in the checkpoints' stream of which there is something.
func parts(t *testing.T, b *Bus) (stream jetstream.Stream, chunks, metas map[string]uint64) {
	t.Helper()
	stream, err := b.events.js.Stream(t.Context(), checkpointStream(b.cfg.Site))
	require.NoError(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	chunks, metas = map[string]uint64{}, map[string]uint64{}
	for subject, n := range info.State.Subjects {
		if strings.HasPrefix(subject, chunkSubject(b.cfg.Site, "")) {
			chunks[subject] = n
		} else {
			metas[subject] = n
		}
	}
	return stream, chunks, metas
}

// partOf is the subject of an object's parts.
func partOf(t *testing.T, b *Bus, name string) string {
	t.Helper()
	store, err := b.events.js.ObjectStore(t.Context(), CheckpointBucket(b.cfg.Site))
	require.NoError(t, err)
	info, err := store.GetInfo(t.Context(), name)
	require.NoError(t, err)
	return chunkSubject(b.cfg.Site, info.NUID)
}

// What is kept is there after a restart, the newest first; the one before stays, and no other. What is deleted
// has left no mark.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Config{Site: "yard", Embedded: Embedded{StoreDir: dir}})
	c := b.Checkpoints()
	loaded(t, c, "gate", nil)
	if names, err := c.Cameras(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
	large, other := sealedData(1, 300_000), sealedData(2, 10)
	save(t, c, "gate", []byte("first"), false)
	loaded(t, c, "gate", nil, []byte("first"))
	save(t, c, "gate", other, true)
	save(t, c, "gate", large, false)
	save(t, c, "porch", other, false)
	save(t, c, "attic", other, true)
	closeNow(t, b)

	b = open(t, Config{Site: "yard", Embedded: Embedded{StoreDir: dir}})
	c = b.Checkpoints()
	loaded(t, c, "gate", other, large, []byte("first"))
	loaded(t, c, "porch", nil, other)
	loaded(t, c, "attic", other)
	if names, err := c.Cameras(t.Context()); err != nil || !slices.Equal(names, []string{"attic", "gate", "porch"}) {
		t.Errorf("%v, %v", names, err)
	}
	closeNow(t, b)

	b = open(t, Config{Site: "yard", Embedded: Embedded{StoreDir: dir}})
	c = b.Checkpoints()
	save(t, c, "gate", []byte("third"), false) // without a Load before
	loaded(t, c, "gate", other, []byte("third"), large)
	save(t, c, "gate", []byte("fourth"), false)
	save(t, c, "gate", []byte("short"), true)
	loaded(t, c, "gate", []byte("short"), []byte("fourth"), []byte("third"))
	if _, chunks, metas := parts(t, b); len(chunks) != 5 || len(metas) != 5 {
		t.Errorf("%d objects with parts and %d are there, want 5: %v, %v", len(chunks), len(metas), chunks, metas)
	}
	assert.NoError(t, c.DeleteShort(t.Context(), "gate"))
	loaded(t, c, "gate", nil, []byte("fourth"), []byte("third"))
	for _, camera := range []string{"gate", "attic", "cellar"} {
		assert.NoError(t, c.Delete(t.Context(), camera), "%s", camera)
		loaded(t, c, camera, nil)
	}
	loaded(t, c, "porch", nil, other)
	if _, chunks, metas := parts(t, b); len(chunks) != 1 || len(metas) != 1 {
		t.Errorf("after Delete there are %v, %v", chunks, metas)
	}
	save(t, c, "gate", []byte("anew"), false)
	loaded(t, c, "gate", nil, []byte("anew"))
}

// One that is damaged, whichever way, is nil, soon; the other is there, and the next replaces the damaged one.
func TestDamagedCheckpoint(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, b *Bus, subject string){
		"no part is left": func(t *testing.T, b *Bus, subject string) {
			stream, _, _ := parts(t, b)
			require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(subject)))
		},
		"the last part is not there": func(t *testing.T, b *Bus, subject string) {
			stream, _, _ := parts(t, b)
			last, err := stream.GetLastMsgForSubject(t.Context(), subject)
			if err == nil {
				err = stream.DeleteMsg(t.Context(), last.Sequence)
			}
			require.NoError(t, err)
		},
		"a bit of the last part is another": func(t *testing.T, b *Bus, subject string) {
			stream, _, _ := parts(t, b)
			last, err := stream.GetLastMsgForSubject(t.Context(), subject)
			require.NoError(t, err)
			other := bytes.Clone(last.Data)
			other[len(other)/2] ^= 1
			err = stream.DeleteMsg(t.Context(), last.Sequence)
			if err == nil {
				_, err = b.events.js.Publish(t.Context(), subject, other)
			}
			require.NoError(t, err)
		},
		"there is a part more": func(t *testing.T, b *Bus, subject string) {
			_, err := b.events.js.Publish(t.Context(), subject, []byte("x"))
			require.NoError(t, err)
		},
	} {
		for parts, size := range map[string]int{"of one": 1000, "of several": 300_000} {
			t.Run(name+" "+parts, func(t *testing.T) {
				b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
				c := b.Checkpoints()
				first, second := sealedData(1, size), sealedData(2, size)
				save(t, c, "gate", first, false)
				save(t, c, "gate", second, false)
				save(t, c, "gate", first, true)
				damage(t, b, partOf(t, b, "gate.0")) // the second
				begun := time.Now()
				loaded(t, c, "gate", first, nil, first)
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				damage(t, b, partOf(t, b, "gate.short"))
				loaded(t, c, "gate", nil, nil, first)
				third := sealedData(3, 1000)
				c = b.Checkpoints()
				save(t, c, "gate", third, false)
				save(t, c, "gate", second, false)
				save(t, c, "gate", third, true)
				loaded(t, c, "gate", third, second, third)
			})
		}
	}
}

// metaOf is an object's information, as another client might write it.
func metaOf(name, nuid string, size uint64, chunks uint32, data []byte) jetstream.ObjectInfo {
	return jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Metadata: map[string]string{generationKey: "4"}},
		Bucket:     CheckpointBucket("home"), NUID: nuid, Size: size, Chunks: chunks, Digest: digestOf(data),
	}
}

// tell publishes what a client that may write to the store does there.
func tell(t *testing.T, b *Bus, subject string, content any) {
	t.Helper()
	data, ok := content.([]byte)
	if !ok {
		var err error
		data, err = json.Marshal(content)
		require.NoError(t, err)
	}
	_, err := b.events.js.Publish(t.Context(), subject, data)
	require.NoError(t, err)
}

// What another client writes where a checkpoint's information is costs that checkpoint and no other, and the next one
// replaces it.
func TestJunkAsCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s: a server for each kind of junk")
	}
	link := metaOf("gate.0", "ABC", 5, 1, []byte("other"))
	link.Opts = &jetstream.ObjectMetaOptions{Link: &jetstream.ObjectLink{Bucket: link.Bucket, Name: "gate.0"}}
	for name, junk := range map[string]any{
		"no JSON":            []byte("mqtt"),
		"another JSON":       []byte("[1]"),
		"nothing":            []byte{},
		"all parts there":    metaOf("gate.0", ">", 5, 1, []byte("x")),
		"any part there":     metaOf("gate.0", "*", 5, 1, []byte("x")),
		"no part":            metaOf("gate.0", "", 5, 1, []byte("x")),
		"a part elsewhere":   metaOf("gate.0", "A.B", 5, 1, []byte("x")),
		"another's name":     metaOf("porch.0", "ABC", 5, 1, []byte("x")),
		"a link to itself":   link,
		"none of its parts":  metaOf("gate.0", "ABC", 5, 0, []byte("x")),
		"far too large":      metaOf("gate.0", "ABC", 1<<40, 1<<23, []byte("x")),
		"somewhat too large": metaOf("gate.0", "ABC", MaxCheckpoint+1, 1, []byte("x")),
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
			c := b.Checkpoints()
			data, other := sealedData(1, 300_000), sealedData(2, 1000)
			save(t, c, "porch", other, false)
			for range 2 {
				save(t, c, "gate", data, false)
			}
			save(t, c, "gate", data, true)
			tell(t, b, metaSubject("home", "gate.0"), junk)
			begun := time.Now()
			c = b.Checkpoints()
			store, err := c.open(t.Context(), false)
			require.NoError(t, err)
			if info, err := c.info(t.Context(), store, "gate.0"); !errors.Is(err, jetstream.ErrBadObjectMeta) {
				t.Errorf("it is taken for %+v, %v", info, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			short, all, err := c.Load(ctx, "gate")
			require.NoError(t, err)
			slices.SortFunc(all, bytes.Compare) // which of them is newer is not known
			if !bytes.Equal(short, data) || len(all) != 2 || all[0] != nil || !bytes.Equal(all[1], data) {
				t.Errorf("short of %d bytes, others %d and %d; want one that is nil", len(short), len(all[0]), len(all[1]))
			}
			if took := time.Since(begun); took > patience/4 { // half of which is what waiting for the part would take
				t.Errorf("it took %v", took)
			}
			for range 2 {
				save(t, c, "gate", other, false)
			}
			loaded(t, c, "gate", data, other, other)
			loaded(t, c, "porch", nil, other)
			tell(t, b, metaSubject("home", "gate.0"), junk)
			assert.NoError(t, c.Delete(t.Context(), "gate"))
			loaded(t, c, "gate", nil)
			loaded(t, c, "porch", nil, other)
		})
	}
}

// What another client writes into the store that is no object at all is passed over, and removed once it is as old as what
// an unfinished write has left.
func TestJunkInStore(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
	c := b.Checkpoints()
	data := sealedData(1, 300_000)
	save(t, c, "gate", data, false)
	base := "$O." + CheckpointBucket("home")
	junk := []string{base + ".C.mqtt", base + ".C.a.b.c", base + ".M.mqtt", base + ".M.a.b", metaSubject("home", "gate.9"), metaSubject("home", "yard.0")}
	for _, subject := range junk {
		tell(t, b, subject, []byte("mqtt"))
	}
	for _, all := range []string{base + ".C.>", base + ".M.*", "$O.*.C.>"} { // none is to be taken for a wildcard
		require.NoError(t, b.conn.Publish(all, []byte("mqtt")))
	}
	tell(t, b, metaSubject("home", "of.another"), metaOf("of.another", "OTHER", 1, 1, []byte("x")))
	tell(t, b, chunkSubject("home", "OTHER"), []byte("x"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if names, err := c.Cameras(ctx); err != nil || !slices.Contains(names, "gate") {
		t.Errorf("%v, %v", names, err)
	}
	c = b.Checkpoints()
	c.unfinished = 500 * time.Millisecond
	eventually(t, "all of it is removed", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, c.Save(ctx, "gate", []byte("short"), true))
		_, chunks, metas := parts(t, b)
		return !slices.ContainsFunc(junk, func(subject string) bool { return chunks[subject]+metas[subject] > 0 })
	})
	_, chunks, metas := parts(t, b)
	literals := func(of map[string]uint64) (n int) {
		for subject := range of {
			if literal(subject) {
				n++
			}
		}
		return n
	}
	if literals(chunks) != 3 || literals(metas) != 3 {
		t.Errorf("there are %v, %v; want the two of gate and another's", chunks, metas)
	}
	time.Sleep(c.unfinished)
	_, err := c.clear(ctx)
	assert.NoError(t, err)
	loaded(t, c, "gate", []byte("short"), data)
}

// A store that junk fills after the start takes checkpoints again.
func TestJunkFillsStore(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
	_, err := b.events.js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: CheckpointBucket(b.cfg.Site), MaxBytes: 1 << 20})
	require.NoError(t, err)
	c := b.Checkpoints()
	c.unfinished = 100 * time.Millisecond
	data := sealedData(1, 100_000)
	save(t, c, "gate", data, false)
	for i := 0; ; i++ {
		if _, err := b.events.js.Publish(t.Context(), chunkSubject("home", "junk"+strconv.Itoa(i)), data); err != nil {
			break
		}
	}
	eventually(t, "there is room", func() bool { return c.Save(t.Context(), "gate", data, false) == nil })
	loaded(t, c, "gate", nil, data, data)
}

// A server elsewhere may take far less in one message than the one inside segd.
func TestCheckpointInSmallMessages(t *testing.T) {
	const most = 4 << 10
	port := freePort(t)
	natsServer(t, server.Options{Port: port, MaxPayload: most, JetStream: true})
	log := make(chan string, 1000)
	b := open(t, Config{External: External{URL: urlOf(port)}, Logger: logTo(log)})
	eventually(t, "a connection", b.Connected)
	c := b.Checkpoints()
	first, second, short := sealedData(1, 10*most), sealedData(2, most-100), sealedData(3, 3*most)
	save(t, c, "gate", first, false)
	save(t, c, "gate", second, false)
	save(t, c, "gate", short, true)
	loaded(t, c, "gate", short, second, first)
	save(t, c, "gate", short, false)
	loaded(t, c, "gate", short, short, second)
	if err := b.KeepCamera(t.Context(), "gate", make([]byte, most+1)); !errors.Is(err, nats.ErrMaxPayload) || !strings.Contains(err.Error(), "4097 bytes, the server takes 4096") {
		t.Errorf("settings that the server does not take: %v", err)
	}
	const want = "its max_payload is 4096 bytes"
	if small, err := Dial(t.Context(), urlOf(port)); err != nil || !strings.Contains(small, want) {
		t.Errorf("%q, %v; want %s", small, err, want)
	}
	for line := range log {
		if strings.Contains(line, want) {
			break
		}
	}
}

// A server of others may say that a checkpoint is small, and send much.
func TestSizeOfCheckpoint(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
	c := b.Checkpoints()
	first := sealedData(1, 1000)
	for range 2 {
		save(t, c, "gate", first, false)
	}
	chunk := make([]byte, 1<<19)
	for parts := range uint32(3) {
		nuid := "MUCH" + strconv.Itoa(int(parts))
		all := slices.Repeat(chunk, int(parts)+1)
		for range parts + 1 {
			tell(t, b, chunkSubject("home", nuid), chunk)
		}
		tell(t, b, metaSubject("home", "gate.0"), metaOf("gate.0", nuid, 1000, parts+1, all))
		store, err := c.open(t.Context(), false)
		require.NoError(t, err)
		info, err := c.info(t.Context(), store, "gate.0")
		require.NoError(t, err)
		if parts > 0 {
			if data, err := c.readAll(t.Context(), store, info); err != nil || len(data) != 1001 {
				t.Errorf("%d bytes were read of 1000 that are said, %v", len(data), err)
			}
		}
		if data, err := c.read(t.Context(), store, "gate.0"); err == nil || !strings.Contains(err.Error(), "more than the 1000 bytes") {
			t.Errorf("%d bytes where 1000 are said, %v", len(data), err)
		}
	}
	loaded(t, c, "gate", nil, nil, first)
	assert.ErrorContains(t, c.Save(t.Context(), "gate", make([]byte, MaxCheckpoint+1), false), "at most 67108864", "more was kept than is read")
}

// What a write has left that never ended is removed, once it is old enough not to be one in progress, and by
// the same segd if that was too early.
func TestUnfinishedCheckpoint(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
	c := b.Checkpoints()
	data := sealedData(1, 300_000)
	save(t, c, "gate", data, false)
	left := chunkSubject(b.cfg.Site, "LEFT")
	_, err := b.events.js.Publish(t.Context(), left, []byte("of a write that was cut off"))
	require.NoError(t, err)
	isLeft := func() bool {
		_, chunks, _ := parts(t, b)
		return chunks[left] > 0
	}
	c = b.Checkpoints()
	save(t, c, "gate", []byte("short"), true)
	if !isLeft() {
		t.Error("what may be in progress is gone")
	}
	c = b.Checkpoints()
	c.unfinished = 500 * time.Millisecond
	eventually(t, "it is removed", func() bool {
		save(t, c, "gate", []byte("short"), true)
		return !isLeft()
	})
	loaded(t, c, "gate", []byte("short"), data)
	if !c.clearAt.IsZero() {
		t.Error("it looks on for more")
	}
}

// Who waits for the checkpoints of one camera, because the server does not answer, holds up no other camera, and waits
// no longer than it says.
func TestCheckpointTurns(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
	c := b.Checkpoints()
	save(t, c, "gate", []byte("a"), false)
	turn := c.cameras["gate"].turn
	require.NoError(t, turn.Acquire(t.Context(), 1))
	save(t, c, "yard", []byte("b"), false)
	loaded(t, c, "yard", nil, []byte("b"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.Load(ctx, "gate"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Load: %v", err)
	}
	assert.ErrorIs(t, c.Save(ctx, "gate", []byte("c"), false), context.DeadlineExceeded, "Save")
	turn.Release(1)
	loaded(t, c, "gate", nil, []byte("a"))
}

// A store without room says so, and what is in it stays.
func TestCheckpointLimit(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir()}})
	_, err := b.events.js.CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: CheckpointBucket(b.cfg.Site), MaxBytes: 400_000})
	require.NoError(t, err)
	c := b.Checkpoints()
	data, small := sealedData(1, 250_000), sealedData(2, 100)
	save(t, c, "gate", data, false)
	for _, short := range []bool{false, true} {
		if err := c.Save(t.Context(), "gate", data, short); err == nil || !strings.Contains(err.Error(), "camera gate") || !strings.Contains(err.Error(), "the limit of stream OBJ_segd_home_checkpoints is 400000 bytes") {
			t.Errorf("short %v: %v", short, err)
		}
	}
	loaded(t, c, "gate", nil, data)
	if _, chunks, _ := parts(t, b); len(chunks) != 1 {
		t.Errorf("parts that are left: %v", chunks)
	}
	save(t, c, "gate", small, false)
	loaded(t, c, "gate", nil, small, data)
}

// Where nothing would survive there are none; without a connection, or JetStream, the errors say so.
func TestNoCheckpoints(t *testing.T) {
	if c := open(t, Config{}).Checkpoints(); c != nil {
		t.Errorf("%v", c)
	}
	all := func(c *Checkpoints, want func(error) bool) {
		t.Helper()
		_, _, load := c.Load(t.Context(), "gate")
		_, cameras := c.Cameras(t.Context())
		for what, err := range map[string]error{"Load": load, "Cameras": cameras, "Save": c.Save(t.Context(), "gate", []byte("x"), false), "Delete": c.Delete(t.Context(), "gate")} {
			if err == nil || !want(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	port := freePort(t)
	c := open(t, Config{External: External{URL: urlOf(port)}}).Checkpoints()
	all(c, func(err error) bool { return errors.Is(err, ErrNotConnected) })
	natsServer(t, server.Options{Port: port})
	eventually(t, "connected", c.bus.Connected)
	all(c, func(err error) bool { return strings.Contains(err.Error(), "the NATS server has no JetStream") })
	closeNow(t, c.bus)
}

// A disk that is full keeps what there is, and takes checkpoints again once there is room.
func TestCheckpointOnFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: a disk that fills")
	}
	dir, ok := smallDisk(t)
	if !ok {
		return
	}
	b := open(t, Config{Embedded: Embedded{StoreDir: filepath.Join(dir, "nats")}})
	c := b.Checkpoints()
	data, next := sealedData(1, 100_000), sealedData(2, 100_000)
	save(t, c, "gate", data, false)
	free := fill(t, dir)
	eventually(t, "a checkpoint is refused", func() bool { return c.Save(t.Context(), "gate", next, false) != nil })
	eventually(t, "Err tells", func() bool { return errors.Is(b.Err(), ErrNotStored) })
	free()
	eventually(t, "one is taken", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return c.Save(ctx, "gate", next, false) == nil
	})
	eventually(t, "Err is content", func() bool { return b.Err() == nil })
	_, all, err := c.Load(t.Context(), "gate")
	if err != nil || len(all) == 0 || !bytes.Equal(all[0], next) {
		t.Errorf("%d of them, %v", len(all), err)
	}
}

// However the power is cut, segd starts again, each camera has a checkpoint that is whole, and more are kept.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 25 s: a store copied at 60 moments, and a server on each copy")
	}
	const copies = 60 // each at another moment of a write, and others in the next run
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	b := open(t, Config{Embedded: Embedded{StoreDir: live}})
	cameras := []string{"gate", "porch", "attic"}
	c := b.Checkpoints()
	for i, camera := range cameras {
		save(t, c, camera, sealedData(uint64(i), 1000), false)
		save(t, c, camera, sealedData(uint64(i), 100), true)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var saving sync.WaitGroup
	defer saving.Wait()
	defer cancel()
	saved := 0
	saving.Go(func() {
		for i := uint64(1); ctx.Err() == nil; i++ {
			camera := cameras[rand.IntN(len(cameras))]
			switch err := c.Save(ctx, camera, sealedData(i, 1000+rand.IntN(300_000)), i%3 != 0); {
			case err == nil:
				saved++
			case ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded): // that of the client, where a machine is slow
				t.Errorf("save: %v", err)
				return
			}
		}
	})
	at := filepath.Join(dir, "cut")
	for i := range copies {
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
		copyLive(t, live, at)
		checkCut(t, i, at, cameras)
		if t.Failed() {
			t.Logf("after %d copies, %d saved", i, saved)
			return
		}
		require.NoError(t, os.RemoveAll(at))
	}
}

// Whatever a disk has made of a file in the store, segd starts with a line in its log, and keeps checkpoints and
// events again.
func TestDamagedStore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 25 s: a server on each way a file can be damaged")
	}
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	b := open(t, Config{Embedded: Embedded{StoreDir: good}})
	c := b.Checkpoints()
	save(t, c, "gate", sealedData(1, 300_000), false)
	save(t, c, "gate", sealedData(2, 1000), false)
	require.NoError(t, b.KeepCamera(t.Context(), "gate", []byte("value")))
	publishEvents(t, b, 0, 3)
	eventually(t, "events are stored", func() bool { return b.Stats().EventsStored == 3 })
	cut := filepath.Join(dir, "cut") // what is there when it does not end by itself
	copyLive(t, good, cut)
	closeNow(t, b)
	tried := 0
	for _, from := range []string{good, cut} {
		var files []string
		require.NoError(t, filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files = append(files, path)
			}
			return err
		}))
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name := strings.TrimPrefix(file, from)
			flipped := bytes.Clone(text)
			if len(text) > 0 {
				flipped[len(text)/2] ^= 0x55
			}
			for what, now := range map[string][]byte{"empty": {}, "half": text[:len(text)/2], "another byte": flipped, "zeros": make([]byte, len(text)), "gone": nil} {
				copyLive(t, from, bad)
				path := filepath.Join(bad, name)
				if now == nil {
					err = os.Remove(path)
				} else {
					err = os.WriteFile(path, now, 0o600)
				}
				require.NoError(t, err)
				tried++
				log := make(chan string, 100)
				if !t.Run(filepath.Base(from)+name+" "+what, func(t *testing.T) { useStore(t, bad, log) }) {
					for len(log) > 0 {
						t.Log(<-log)
					}
				}
				require.NoError(t, os.RemoveAll(bad))
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d damages were tried", tried)
	}
}

// useStore opens a store and keeps something of each kind in it.
func useStore(t *testing.T, dir string, log chan string) {
	b, err := Open(t.Context(), Config{Embedded: Embedded{StoreDir: dir}, Logger: logTo(log)})
	require.NoError(t, err, "it does not start")
	defer closeNow(t, b)
	c := b.Checkpoints()
	loads, cancel := context.WithTimeout(t.Context(), 20*time.Second) // it waits half of that for a part that is damaged
	short, all, err := c.Load(loads, "gate")
	cancel()
	assert.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, data := range append(all, short) {
		if data != nil && !whole(data) {
			t.Error("one is damaged and was loaded")
		}
	}
	data := []byte("new")
	require.NoError(t, c.Save(ctx, "gate", data, false))
	if _, all, err := c.Load(ctx, "gate"); err != nil || len(all) == 0 || !bytes.Equal(all[0], data) {
		t.Errorf("what was saved is not the newest of %d: %v", len(all), err)
	}
	_, err = b.KeptCameras(ctx)
	assert.NoError(t, err)
	for _, camera := range []string{"gate", "porch"} {
		assert.NoError(t, b.KeepCamera(ctx, camera, data))
	}
	if all, err := b.KeptCameras(ctx); err != nil || !bytes.Equal(all["gate"], data) || !bytes.Equal(all["porch"], data) {
		t.Errorf("kept cameras: %q, %v", all, err)
	}
	publishEvents(t, b, 10, 1)
	eventually(t, "events are stored", func() bool { return b.Stats().EventsStored == 1 })
}

// copyLive copies a folder in which files come, grow and go meanwhile.
func copyLive(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	}))
}

// checkCut opens a copy and uses it.
func checkCut(t *testing.T, i int, dir string, cameras []string) {
	t.Helper()
	log := make(chan string, 100)
	b, err := Open(t.Context(), Config{Embedded: Embedded{StoreDir: dir}, Logger: logTo(log)})
	if err != nil {
		t.Errorf("copy %d does not start: %v", i, err)
		return
	}
	defer closeNow(t, b)
	c := b.Checkpoints()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	fault := func(format string, args ...any) {
		t.Errorf("copy %d: "+format, append([]any{i}, args...)...)
	}
	for _, camera := range cameras {
		short, all, err := c.Load(ctx, camera)
		if err != nil {
			fault("%v", err)
			continue
		}
		if !slices.ContainsFunc(all, whole) {
			fault("camera %s: none of %d checkpoints is whole", camera, len(all))
		}
		for _, data := range append(all, short) {
			if data != nil && !whole(data) {
				fault("camera %s: one is damaged and was loaded", camera)
			}
		}
		data := []byte(camera)
		if err := c.Save(ctx, camera, data, false); err != nil {
			fault("%v", err)
			continue
		}
		if _, all, err := c.Load(ctx, camera); err != nil || !bytes.Equal(all[0], data) {
			fault("camera %s: what was saved is not the newest: %v", camera, err)
		}
	}
	if err := b.PublishEvent(&segdv1.Event{Camera: cameras[0]}); err != nil {
		fault("%v", err)
	}
	eventually(t, "events are stored", func() bool { return b.Stats().EventsStored == 1 })
	if t.Failed() {
		for len(log) > 0 {
			t.Log(<-log)
		}
	}
}

// The rights that docs/nats.md refers to are enough at a server elsewhere.
func TestCheckpointRights(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true, Users: []*server.User{{Username: "segd", Password: "secret", Permissions: composePermissions(t)}}})
	log := make(chan string, 100)
	b := open(t, Config{External: External{URL: "nats://segd:secret@127.0.0.1:" + strconv.Itoa(port)}, Logger: logTo(log)})
	eventually(t, "connected", b.Connected)
	c := b.Checkpoints()
	data, other := sealedData(1, 20<<20), sealedData(2, 10)
	loaded(t, c, "gate", nil)
	save(t, c, "gate", data, false)
	save(t, c, "gate", other, false)
	save(t, c, "gate", other, true)
	save(t, c, "gate", data, true)
	_, err := b.events.js.Publish(t.Context(), chunkSubject(b.cfg.Site, "LEFT"), []byte("x"))
	assert.NoError(t, err)
	c = b.Checkpoints()
	c.unfinished = 0
	save(t, c, "gate", data, true)
	loaded(t, c, "gate", data, other, data)
	if names, err := c.Cameras(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	assert.NoError(t, c.Delete(t.Context(), "gate"))
	if _, chunks, metas := parts(t, b); len(chunks)+len(metas) != 0 {
		t.Errorf("there are %v, %v", chunks, metas)
	}
	closeNow(t, b)
	for len(log) > 0 {
		assert.NotContains(t, <-log, "ermissions")
	}
}
