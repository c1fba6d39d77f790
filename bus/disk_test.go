package bus

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

const envDisk = "SEGD_TEST_DISK"

// smallDisk returns where a disk of 8 MiB is mounted. It is a real one, that of
// the test's own copy in a mount namespace: in the parent ok is false, and the test
// has been run when smallDisk returns.
func smallDisk(t *testing.T) (dir string, ok bool) {
	t.Helper()
	if dir := os.Getenv(envDisk); dir != "" {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
			t.Fatalf("mount a small disk: %v; want the right to (root, or user namespaces)", err)
		}
		return dir, true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), envDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("with a small disk: %v\n%s", err, out)
	}
	return "", false
}

// fill leaves no room on the disk at dir, until free is called.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	require.NoError(t, err)
	for _, size := range []int{64 << 10, 1} { // to the last byte
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	require.NoError(t, f.Close())
	return func() {
		assert.NoError(t, os.Remove(path))
	}
}

// listener counts what comes on a subject, by Nats-Msg-Id.
type listener struct {
	mu   sync.Mutex
	seen map[string]int
}

func hear(t *testing.T, url, subject string) *listener {
	t.Helper()
	l := &listener{seen: map[string]int{}}
	nc := connect(t, url)
	if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen[m.Header.Get(nats.MsgIdHdr)]++
	}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, nc.Flush())
	return l
}

func (l *listener) count() (messages, twice int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.seen {
		messages++
		if n > 1 {
			twice++
		}
	}
	return messages, twice
}

func publishEvents(t *testing.T, b *Bus, first, n int) {
	t.Helper()
	for i := range n {
		e := &segdv1.Event{Camera: "gate", Sequence: uint64(first + i), Message: strings.Repeat("x", 1000)}
		require.NoError(t, b.PublishEvent(e))
	}
}

// consume takes and acknowledges n events, the first of which has that sequence.
func consume(t *testing.T, c jetstream.Consumer, first, n int) {
	t.Helper()
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(patience))
	require.NoError(t, err)
	next := first
	for msg := range batch.Messages() {
		var e segdv1.Event
		require.NoError(t, Unmarshal(msg.Headers().Get("Content-Type"), msg.Data(), &e))
		if e.Sequence != uint64(next) || msg.Subject() != "segd.v1.home.gate.event" {
			t.Fatalf("event %d on %s, want %d", e.Sequence, msg.Subject(), next)
		}
		require.NoError(t, msg.DoubleAck(t.Context()))
		next++
	}
	if next != first+n || batch.Error() != nil {
		t.Fatalf("events up to %d, want %d: %v", next, first+n, batch.Error())
	}
}

// A disk that is full for a while costs nothing: every event goes out live once and
// at once, Err tells, and once there is room again each is stored once and in order,
// masks too.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 16 s: a disk that fills")
	}
	dir, ok := smallDisk(t)
	if !ok {
		return
	}
	store := filepath.Join(dir, "nats")
	cfg := Config{Embedded: Embedded{StoreDir: store}, Masks: Retention{MaxAge: time.Hour}, Events: Retention{MaxBytes: 4 << 20}}
	b := open(t, cfg)
	live := hear(t, b.URL(), "segd.v1.*.*.event")
	publishEvents(t, b, 0, 10)
	eventually(t, "the first are stored", func() bool { return b.Stats().EventsStored == 10 })
	js, err := jetstream.New(connect(t, b.URL()))
	require.NoError(t, err)
	consumer, err := js.CreateConsumer(t.Context(), StreamName("home", KindEvent), jetstream.ConsumerConfig{
		Durable: "billing", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "segd.v1.home.gate.event",
	})
	require.NoError(t, err)
	consume(t, consumer, 0, 5)

	free := fill(t, dir)
	publishEvents(t, b, 10, 100)
	eventually(t, "those of the full disk are live", func() bool { n, _ := live.count(); return n == 110 })
	for i := range 200 { // the masks' stream fills up, too
		require.NoError(t, b.PublishMask(maskFrame("gate", uint64(i))))
	}
	eventually(t, "Err tells that events wait", func() bool {
		err := b.Err()
		return errors.Is(err, ErrNotStored) && strings.Contains(err.Error(), "no space left on device")
	})
	publishEvents(t, b, 110, 40)
	eventually(t, "later ones are live", func() bool { n, _ := live.count(); return n == 150 })
	eventually(t, "the age of the oldest is told", func() bool { return b.Stats().EventsOldest > 6*time.Second })
	if s := b.Stats(); s.EventsWaiting == 0 || s.EventsStored+uint64(s.EventsWaiting) != 150 {
		t.Errorf("%d wait and %d are stored, want 150 in all", s.EventsWaiting, s.EventsStored)
	}

	free()
	eventually(t, "all are stored", func() bool { return b.Stats().EventsStored == 150 })
	publishEvents(t, b, 150, 10)
	eventually(t, "new ones are stored", func() bool { return b.Stats().EventsStored == 160 })
	eventually(t, "Err is content", func() bool { return b.Err() == nil })
	require.NoError(t, b.PublishMask(maskFrame("gate", 1000)))
	consume(t, consumer, 5, 155) // goes on where it was
	eventually(t, "masks are kept again", func() bool {
		m, err := js.Stream(t.Context(), StreamName("home", KindMask))
		if err != nil {
			return false
		}
		last, err := m.GetLastMsgForSubject(t.Context(), "segd.v1.home.gate.mask")
		return err == nil && strings.HasSuffix(last.Header.Get(nats.MsgIdHdr), ".1000")
	})
	if n, twice := live.count(); n != 160 || twice != 0 {
		t.Errorf("%d events came live, %d of them more than once; want 160, each once", n, twice)
	}
	closeNow(t, b)

	b = open(t, cfg) // what the disk has
	stored := storedEvents(t, b.URL(), "home")
	assert.Len(t, stored, 160, "events are stored")
	for i, e := range stored {
		if e.Sequence != uint64(i) {
			t.Fatalf("event %d is in place %d", e.Sequence, i)
		}
	}
}

// What a full disk keeps from being stored until the end is sent live, counted and
// told.
func TestCloseWithFullDisk(t *testing.T) {
	dir, ok := smallDisk(t)
	if !ok {
		return
	}
	b, err := Open(t.Context(), Config{Embedded: Embedded{StoreDir: filepath.Join(dir, "nats")}, DrainTimeout: time.Second})
	require.NoError(t, err)
	live := hear(t, b.URL(), "segd.v1.*.*.event")
	fill(t, dir)
	publishEvents(t, b, 0, 79)
	err = b.Close()
	left := b.Stats().EventsWaiting
	want := fmt.Sprintf("%d events are not stored", left)
	if left == 0 || !errors.Is(err, ErrNotStored) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Close = %v with %d left, want %q and why", err, left, want)
	}
	assert.Equal(t, uint64(left), b.Stats().Lost[KindEvent][Unconfirmed], "events are counted as lost, %d are left", left)
	if n, twice := live.count(); n != 79 || twice != 0 {
		t.Errorf("%d events came live, %d of them more than once; want 79, each once", n, twice)
	}
}

// So many events wait for a full disk that there is no room for more: those still go
// out live, and are counted as not kept.
func TestFullDiskAndQueue(t *testing.T) {
	dir, ok := smallDisk(t)
	if !ok {
		return
	}
	b, err := Open(t.Context(), Config{Embedded: Embedded{StoreDir: filepath.Join(dir, "nats")}, DrainTimeout: time.Millisecond})
	require.NoError(t, err)
	live := hear(t, b.URL(), "segd.v1.*.*.event")
	fill(t, dir)
	refused := 0
	for n := 1; refused < 3; n++ {
		err := b.PublishEvent(&segdv1.Event{Camera: "gate", Message: strings.Repeat("x", 1<<20)})
		if errors.Is(err, ErrFull) {
			refused++
		} else if err != nil || n > maxEventBytes>>20 {
			t.Fatalf("event %d: %v", n, err)
		}
		eventually(t, "it is live", func() bool { all, twice := live.count(); return all == n && twice == 0 })
	}
	if lost := b.Stats().Lost[KindEvent][BufferFull]; lost != uint64(refused) {
		t.Errorf("%d events are counted as lost, want %d", lost, refused)
	}
	assert.Error(t, b.Close(), "Close says nothing of what is not stored")
}

// The disk of a server elsewhere is full until that server is started anew: the same,
// but for the repair.
func TestFullDiskElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: a disk that fills")
	}
	dir, ok := smallDisk(t)
	if !ok {
		return
	}
	options := server.Options{
		Port: freePort(t), JetStream: true, StoreDir: filepath.Join(dir, "nats"), JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 30,
	}
	stop := natsServer(t, options)
	b := open(t, Config{External: External{URL: urlOf(options.Port)}})
	eventually(t, "connected", b.Connected)
	publishEvents(t, b, 0, 10)
	eventually(t, "the first are stored", func() bool { return b.Stats().EventsStored == 10 })
	live := hear(t, b.URL(), "segd.v1.*.*.event")
	free := fill(t, dir)
	publishEvents(t, b, 10, 100)
	eventually(t, "Err tells that events wait", func() bool { return errors.Is(b.Err(), ErrNotStored) })
	if n, twice := live.count(); n != 100 || twice != 0 {
		t.Errorf("%d events came live, %d of them more than once; want 100, each once", n, twice)
	}
	free()
	stop()
	stop = natsServer(t, options)
	eventually(t, "all are stored", func() bool { return b.Stats().EventsStored == 110 })
	_, twice := live.count()
	assert.Equal(t, 0, twice, "events came more than once")
	for i, e := range storedEvents(t, b.URL(), "home") {
		if e.Sequence != uint64(i) {
			t.Fatalf("event %d is in place %d", e.Sequence, i)
		}
	}
	if err := b.Err(); err != nil {
		t.Errorf("Err = %v, want none", err)
	}
	closeNow(t, b)
	stop()
}

// A stream that is there is given the subject that events go to when it did not store
// them, and keeps the rest; one with other subjects is left alone.
func TestStreamGetsStoreSubject(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true})
	js, err := jetstream.New(connect(t, urlOf(port)))
	require.NoError(t, err)
	for site, subjects := range map[string][]string{"here": {"segd.v1.here.*.event"}, "there": {"segd.v1.there.>"}} {
		before, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: StreamName(site, KindEvent), Subjects: subjects, MaxMsgs: 7, MaxAge: time.Hour, Description: "mine",
		})
		require.NoError(t, err)
		want := before.CachedInfo().Config
		if site == "here" {
			want = withStoreSubject(want, subjects[0])
		}
		b := open(t, Config{Site: site, External: External{URL: urlOf(port)}})
		publishEvents(t, b, 0, 1)
		eventually(t, "stored", func() bool { return b.Stats().EventsStored == 1 })
		after, err := js.Stream(t.Context(), want.Name)
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(want, after.CachedInfo().Config), "%s (-want +got)", site)
		closeNow(t, b)
	}
}

// SyncAlways reaches JetStream, also when it is opened anew.
func TestSyncAlways(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: JetStream opened anew")
	}
	for _, always := range []bool{false, true} {
		b := open(t, Config{Embedded: Embedded{StoreDir: t.TempDir(), SyncAlways: always}})
		for _, when := range []string{"opened", "opened anew"} {
			if got := b.server.server.JetStreamConfig(); got.SyncAlways != always || got.SyncInterval != 2*time.Minute {
				t.Errorf("%s with %v: JetStream syncs always: %v, every %v", when, always, got.SyncAlways, got.SyncInterval)
			}
			publishEvents(t, b, 0, 1)
			eventually(t, "stored", func() bool { return b.Stats().EventsWaiting == 0 })
			if when == "opened" {
				require.NoError(t, b.server.reopen())
			}
		}
		assert.Equal(t, 2, len(storedEvents(t, b.URL(), "home")), "events are stored")
		closeNow(t, b)
	}
}

// What is published while segd waits for a stream that does not answer goes out live
// then, and not when the waiting is over.
func TestLiveWhileStreamIsSilent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: a stream that does not answer")
	}
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true})
	nc := connect(t, urlOf(port))
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: StreamName("home", KindEvent), Subjects: []string{"segd.v1.home.*.event"}, NoAck: true,
	}); err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), Config{External: External{URL: urlOf(port)}, DrainTimeout: time.Millisecond})
	require.NoError(t, err)
	eventually(t, "connected", b.Connected)
	live, again := make(chan time.Time, 8), make(chan time.Time, 8)
	for subject, c := range map[string]chan time.Time{"segd.v1.home.gate.event": live, "segd.v1.home.gate.event.store": again} {
		if _, err := nc.Subscribe(subject, func(*nats.Msg) { c <- time.Now() }); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, nc.Flush())
	publishEvents(t, b, 0, 1)
	receive(t, live)
	first := receive(t, again) // now it waits for the answer to that
	var last time.Time
	for i := range 2 { // one when the answer becomes slow, one after that
		publishEvents(t, b, 1+i, 1)
		last = receive(t, live)
	}
	if next := receive(t, again); last.Sub(first) > next.Sub(last) {
		t.Errorf("the last event was live %v after the wait began and %v before the next try", last.Sub(first), next.Sub(last))
	}
	assert.Error(t, b.Close(), "Close says nothing of what is not stored")
}

// A server that ends leaves no stream behind that is just being made: its goroutines would go on, which TestMain finds.
func TestStopWhileStreamsAreMade(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s: 20 servers")
	}
	for range 20 {
		b, err := Open(t.Context(), Config{})
		require.NoError(t, err)
		for n := range 20 {
			name := fmt.Sprintf("S%d", n)
			if err := b.conn.PublishRequest("$JS.API.STREAM.CREATE."+name, nats.NewInbox(), fmt.Appendf(nil, `{"name": %q, "subjects": ["made.%s"]}`, name, name)); err != nil {
				t.Fatal(err)
			}
		}
		require.NoError(t, b.conn.Flush())
		closeNow(t, b)
	}
}
