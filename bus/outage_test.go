package bus

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
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

// How long TestOutage keeps the server away at least; `make outage` has 20 s.
var outage = flag.Duration("outage", 0, "how long TestOutage keeps the server away")

const (
	envServer = "SEGD_TEST_NATS_PORT"
	envStore  = "SEGD_TEST_NATS_STORE"
)

// serveNATS is a NATS server as its own process: what serverProcess starts.
func serveNATS() int {
	port, err := strconv.Atoi(os.Getenv(envServer))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: os.Getenv(envStore), MaxPayload: maxPayload, NoLog: true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.Start()
	s.WaitForShutdown()
	return 0
}

// serverProcess starts a NATS server that kill ends as a power cut would.
func serverProcess(t *testing.T, port int, store string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServer+"="+strconv.Itoa(port), envStore+"="+store)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	eventually(t, "the server listens", func() bool {
		nc, err := nats.Connect(urlOf(port))
		if err != nil {
			return false
		}
		nc.Close()
		return true
	})
	return kill
}

// The server dies without a word under load and comes back on its files. Every
// event is stored once and in order; every mask that did not arrive is counted.
func TestOutage(t *testing.T) {
	port, store := freePort(t), t.TempDir()
	kill := serverProcess(t, port, store)
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "here", Masks: Retention{MaxAge: time.Hour, MaxBytes: 1 << 30}})
	eventually(t, "connected", b.Connected)

	// Two cameras' load, 25 masks of 64 KiB a second each, as fast as they come
	// in the short run, and an event with every fourth.
	const masksPerSecond = 50
	pace := func() {}
	if *outage > 0 {
		tick := time.NewTicker(time.Second / masksPerSecond)
		defer tick.Stop()
		pace = func() { <-tick.C }
	}
	label := strings.Repeat("x", 64<<10)
	var masks, failed, events int
	publish := func() {
		pace()
		m := maskFrame("demo", uint64(masks))
		m.Objects[0].Label = label
		masks++
		if err := b.PublishMask(m); err != nil {
			var network net.Error // the connection broke in the middle of it
			switch {
			case errors.Is(err, nats.ErrReconnectBufExceeded):
				failed++
			case !errors.As(err, &network):
				t.Fatal(err)
			}
		}
		if masks%4 == 0 {
			require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo", Sequence: uint64(events)}))
			events++
		}
	}
	for range 60 {
		publish()
	}
	eventually(t, "the first events are stored", func() bool { return b.Stats().EventsStored > 0 })
	// In the middle of it:
	for range 20 {
		publish()
	}
	kill()
	gone := time.Now()
	for time.Since(gone) < *outage || failed < 20 {
		publish()
	}
	away := time.Since(gone)
	waiting := b.Stats().EventsWaiting
	kill = serverProcess(t, port, store)
	back := time.Now()
	eventually(t, "connected again", b.Connected)
	connected := time.Since(back)
	for range 40 {
		publish()
	}
	eventually(t, "all events are stored", func() bool { return b.Stats().EventsWaiting == 0 })
	caughtUp := time.Since(back)

	stored := storedEvents(t, b.URL(), "here")
	if len(stored) != events {
		t.Errorf("%d events are stored, %d were published", len(stored), events)
	}
	for i, e := range stored {
		if e.Sequence != uint64(i) {
			t.Fatalf("event %d is in place %d", e.Sequence, i)
		}
	}
	eventually(t, "every mask is stored or counted", func() bool {
		a := b.acks.Load()
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.pending) == 0
	})
	s := b.Stats()
	lost, uncertain := s.Lost[KindMask][BufferFull], s.Lost[KindMask][Unconfirmed]
	arrived := keptMasks(t, port)
	if int(lost) != failed {
		t.Errorf("%d masks are counted as lost for want of room, %d publishes failed", lost, failed)
	}
	if missing := masks - arrived; missing < failed || missing > failed+int(uncertain) {
		t.Errorf("%d of %d masks were not kept; counted are %d lost and %d uncertain", missing, masks, lost, uncertain)
	}
	t.Logf("away %v; %d events, %d waited, all stored %v after the start of the server (connected after %v); "+
		"%d masks, %d kept, %d lost for want of room, at most %d with the connection",
		away.Round(time.Millisecond), events, waiting, caughtUp.Round(time.Millisecond), connected.Round(time.Millisecond),
		masks, arrived, lost, uncertain)
	closeNow(t, b)
	kill()
}

// keptMasks counts the masks in the stream, and makes sure that none is there
// twice.
func keptMasks(t *testing.T, port int) int {
	t.Helper()
	js, err := jetstream.New(connect(t, urlOf(port)))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), StreamName("here", KindMask))
	require.NoError(t, err)
	info := stream.CachedInfo()
	seen := map[uint64]bool{}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		require.NoError(t, err)
		var m segdv1.MaskFrame
		require.NoError(t, Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &m))
		if seen[m.Sequence] {
			t.Errorf("mask %d is there twice", m.Sequence)
		}
		seen[m.Sequence] = true
	}
	return len(seen)
}

// What is sent twice, as after a lost acknowledgement, is stored once.
func TestIdempotent(t *testing.T) {
	b := open(t, Config{Masks: Retention{MaxAge: time.Hour}})
	js, err := jetstream.New(connect(t, b.URL()))
	require.NoError(t, err)
	e := &segdv1.Event{Camera: "demo"}
	require.NoError(t, errors.Join(b.PublishEvent(e), b.PublishMask(maskFrame("demo", 5)), b.PublishMask(maskFrame("demo", 5))))
	eventually(t, "stored", func() bool { return b.Stats().EventsStored == 1 })
	for kind, subject := range map[Kind]string{KindEvent: "segd.v1.home.demo.event", KindMask: "segd.v1.home.demo.mask"} {
		stream, err := js.Stream(t.Context(), StreamName("home", kind))
		require.NoError(t, err)
		var first *jetstream.RawStreamMsg
		eventually(t, "stored", func() bool { first, err = stream.GetMsg(t.Context(), 1); return err == nil })
		id := first.Header.Get(nats.MsgIdHdr)
		ack, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: first.Header, Data: first.Data})
		if err != nil || id == "" || !ack.Duplicate {
			t.Errorf("%s: %+v, %v of id %q sent again; want it known", kind, ack, err, id)
		}
		info, err := stream.Info(t.Context())
		if err != nil || info.State.Msgs != 1 {
			t.Errorf("%s: %d stored, %v; want 1", kind, info.State.Msgs, err)
		}
	}
}

// A frame's number under one lease is another frame under the next: their ids differ, and so do those of events.
func TestLeaseInMessageIDs(t *testing.T) {
	b := open(t, Config{})
	nc := connect(t, b.URL())
	sub, err := nc.SubscribeSync("segd.v1.home.demo.*")
	if err == nil {
		err = nc.Flush()
	}
	require.NoError(t, err)
	for lease, want := range []string{"", ".lease1.", ".lease2."} {
		m := maskFrame("demo", 5)
		m.Lease = uint64(lease)
		require.NoError(t, errors.Join(b.PublishMask(m), b.PublishEvent(&segdv1.Event{Camera: "demo", Lease: m.Lease})))
		for range 2 {
			msg, err := sub.NextMsg(patience)
			require.NoError(t, err)
			if id := msg.Header.Get(nats.MsgIdHdr); id == "" || strings.Contains(id, "lease") != (lease > 0) || !strings.Contains(id, want) {
				t.Errorf("%s has the id %q; want one with %q", msg.Subject, id, want)
			}
		}
	}
}

// A mask that no stream answers for is counted once its time is over, and one that was just sent is not.
func TestUnansweredMasks(t *testing.T) {
	b := open(t, Config{Masks: Retention{MaxAge: time.Hour}})
	eventually(t, "masks are awaited", func() bool { return b.acks.Load() != nil })
	a := b.acks.Load()
	old, _ := a.expect()
	a.expect()
	a.mu.Lock()
	sent := a.pending[old]
	sent.at = sent.at.Add(-time.Hour)
	a.pending[old] = sent
	a.mu.Unlock()
	eventually(t, "the first one is counted", func() bool { return b.Stats().Lost[KindMask][Unconfirmed] > 0 })
	assert.EqualValues(t, 1, b.Stats().Lost[KindMask][Unconfirmed], "are counted")
}

// The configured limits reach a stream that is there; those that are not
// configured are left to the server's operator.
func TestRetention(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true})
	js, err := jetstream.New(connect(t, urlOf(port)))
	require.NoError(t, err)
	limits := func(cfg Config, kind Kind) jetstream.StreamConfig {
		t.Helper()
		cfg.URL = urlOf(port)
		b := open(t, cfg)
		require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
		eventually(t, "stored", func() bool { return b.Stats().EventsStored == 1 })
		closeNow(t, b)
		stream, err := js.Stream(t.Context(), StreamName("home", kind))
		require.NoError(t, err)
		return stream.CachedInfo().Config
	}
	if got := limits(Config{}, KindEvent); got.MaxAge != eventMaxAge || got.MaxBytes != eventMaxBytes || got.Duplicates != eventDuplicates {
		t.Errorf("defaults: %+v", got)
	}
	_, err = js.Stream(t.Context(), StreamName("home", KindMask))
	assert.ErrorIs(t, err, jetstream.ErrStreamNotFound, "masks are kept though nobody asked")
	if got := limits(Config{Events: Retention{MaxAge: time.Minute}}, KindEvent); got.MaxAge != time.Minute || got.MaxBytes != eventMaxBytes || got.Duplicates != time.Minute {
		t.Errorf("a minute: %+v", got)
	}
	if got := limits(Config{}, KindEvent); got.MaxAge != time.Minute {
		t.Errorf("left alone: %+v", got)
	}
	if got := limits(Config{Masks: Retention{MaxAge: time.Hour, MaxBytes: 1 << 20}}, KindMask); got.MaxAge != time.Hour || got.MaxBytes != 1<<20 {
		t.Errorf("masks: %+v", got)
	}
}

// Events wait in a bounded queue, and what it refuses is counted.
func TestEventQueueIsBounded(t *testing.T) {
	b, err := Open(t.Context(), Config{External: External{URL: urlOf(freePort(t))}})
	require.NoError(t, err)
	large := strings.Repeat("x", 1<<20)
	taken := 0
	for ; ; taken++ {
		err = b.PublishEvent(&segdv1.Event{Camera: "demo", Message: large})
		if err != nil {
			break
		}
		if taken > maxEventBytes>>20 {
			t.Fatal("unbounded")
		}
	}
	if !errors.Is(err, ErrFull) || taken < maxEventBytes>>20-1 {
		t.Errorf("%v after %d MiB, want %v after %d", err, taken, ErrFull, maxEventBytes>>20)
	}
	if s := b.Stats(); s.Lost[KindEvent][BufferFull] != 1 || s.EventsWaiting != taken {
		t.Errorf("%+v, want one lost event and %d that wait", s, taken)
	}
	err = b.Close()
	assert.ErrorContains(t, err, fmt.Sprintf("%d events are not stored", taken), "Close")
}
