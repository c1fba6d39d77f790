package bus

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
)

func TestPublishAndWatch(t *testing.T) {
	for _, json := range []bool{false, true} {
		t.Run(fmt.Sprintf("JSON %v", json), func(t *testing.T) {
			b := open(t, Config{Site: "here", JSON: json})
			masks := make(chan *segdv1.MaskFrame, 1)
			events := make(chan *segdv1.Event, 1)
			status := make(chan *segdv1.Status, 1)
			for target, h := range map[string]Handlers{
				"demo":                    {Mask: func(m *segdv1.MaskFrame) { masks <- m }},
				"segd.v1.here.demo.event": {Event: func(m *segdv1.Event) { events <- m }},
				"segd.v1.*.*.status":      {Status: func(m *segdv1.Status) { status <- m }},
			} {
				h.Bad = func(subject string, err error) { t.Errorf("%s: %v", subject, err) }
				watch(t, b.URL(), target, h)
			}

			before := time.Now()
			mf := maskFrame("demo", 1<<60)
			e := &segdv1.Event{Camera: "demo", Kind: segdv1.EventKind_EVENT_KIND_OBJECT_LOST, ObjectId: 1}
			st := &segdv1.Status{Camera: "demo", Up: true, FpsIn: 10}
			require.NoError(t, errors.Join(b.PublishMask(mf), b.PublishEvent(e), b.PublishStatus(st)))
			if got := receive(t, masks); !proto.Equal(got, mf) {
				t.Errorf("got %v, published %v", got, mf)
			}
			if got := receive(t, events); !proto.Equal(got, e) {
				t.Errorf("got %v, published %v", got, e)
			}
			if got := receive(t, status); !proto.Equal(got, st) {
				t.Errorf("got %v, published %v", got, st)
			}
			if mf.Site != "here" || mf.PublishTime.AsTime().Before(before.Truncate(0)) {
				t.Errorf("site %q, publish time %v; want them set", mf.Site, mf.PublishTime.AsTime())
			}
		})
	}
}

func TestContentTypeHeader(t *testing.T) {
	for json, want := range map[bool]string{
		false: "application/x-protobuf; message=segd.v1.MaskFrame",
		true:  "application/json",
	} {
		b := open(t, Config{JSON: json})
		sub, err := connect(t, b.URL()).SubscribeSync("segd.v1.home.demo.mask")
		require.NoError(t, err)
		eventually(t, "subscribed", func() bool { return b.server.server.NumSubscriptions() > 0 })
		var msg *nats.Msg
		eventually(t, "a message", func() bool {
			require.NoError(t, b.PublishMask(maskFrame("demo", 1)))
			msg, err = sub.NextMsg(20 * time.Millisecond)
			return err == nil
		})
		assert.Equal(t, want, msg.Header.Get("Content-Type"), "Content-Type")
	}
}

func TestPublishErrors(t *testing.T) {
	b := open(t, Config{})
	assert.ErrorIs(t, b.PublishMask(maskFrame("a.b", 1)), ErrName, "camera a.b")
	foreign := maskFrame("demo", 1)
	foreign.Site = "elsewhere"
	assert.ErrorContains(t, b.PublishMask(foreign), `site "elsewhere", want "home"`, "foreign site")
	large := maskFrame("demo", 1)
	large.Objects[0].Counts = strings.Repeat("0", maxPayload)
	if err := b.PublishMask(large); !errors.Is(err, nats.ErrMaxPayload) || !strings.Contains(err.Error(), "the server takes 4194304") {
		t.Errorf("large: %v, want ErrMaxPayload", err)
	}
	invalid := maskFrame("demo", 1)
	invalid.Objects[0].Label = "\xff"
	assert.Error(t, b.PublishMask(invalid), "a label that is not UTF-8 was published")
	require.NoError(t, b.Close())
	assert.ErrorIs(t, b.PublishMask(maskFrame("demo", 1)), ErrClosed, "after Close")
	assert.ErrorIs(t, b.Serve(granting()), ErrClosed, "Serve after Close")
}

func TestConfigErrors(t *testing.T) {
	for _, host := range []string{"LOCALHOST", "::1%lo"} {
		assert.NoError(t, (Embedded{Host: host}).check(), "%s, which is this machine", host)
	}
	tests := []struct {
		name string
		cfg  Config
		want []string
	}{
		{"site", Config{Site: "a b"}, []string{`site: bus: bad name "a b"`}},
		{"port", Config{Embedded: Embedded{Port: 70000}}, []string{"port 70000, want 0 (any) to 65535"}},
		{"open to all", Config{Embedded: Embedded{Host: "0.0.0.0"}}, []string{"want a token"}},
		{"all at once", Config{Site: "é", Embedded: Embedded{Port: -1, Host: "::"}, DrainTimeout: -1},
			[]string{"site", "port -1", "want a token", "drain timeout"}},
		{"scheme", Config{External: External{URL: "http://u:secret@h:4222"}}, []string{`http://xxxxx@h:4222: scheme "http", want nats`}},
		{"no host", Config{External: External{URL: "nats://"}}, []string{"has no host"}},
		{"second", Config{External: External{URL: "nats://a, nats://u:secret@b:port"}}, []string{"NATS URL"}},
		{"address", Config{Embedded: Embedded{Host: "203.0.113.1", Token: "secret"}}, []string{"NATS address 203.0.113.1:0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Open(t.Context(), tt.cfg)
			if err == nil {
				t.Fatalf("no error; Close: %v", b.Close())
			}
			for _, want := range tt.want {
				assert.Contains(t, err.Error(), want)
			}
			assert.NotContains(t, err.Error(), "secret", "%q gives the password away", err)
		})
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Open(t.Context(), Config{Embedded: Embedded{Port: port}})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), fmt.Sprintf("127.0.0.1:%d is in use", port)) {
		t.Errorf("Open = %v, want one that names the address and EADDRINUSE", err)
	}
	assert.NotContains(t, err.Error(), "\n", "%q is more than a line", err)
}

func TestStoreDirUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(t.Context(), Config{Embedded: Embedded{StoreDir: file}})
	assert.ErrorContains(t, err, "embedded NATS server", "Open")
}

func TestToken(t *testing.T) {
	b := open(t, Config{Embedded: Embedded{Token: "secret"}})
	err := Watch(t.Context(), b.URL(), "demo", Handlers{})
	assert.ErrorIs(t, err, nats.ErrAuthorization, "without the token")
	withToken := strings.Replace(b.URL(), "://", "://secret@", 1)
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, withToken, "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }})
	require.NoError(t, b.PublishMask(maskFrame("demo", 3)))
	assert.EqualValues(t, 3, receive(t, masks).Sequence, "sequence")

}

func TestCloseHandsOver(t *testing.T) {
	b := open(t, Config{})
	const n = 500
	masks := make(chan *segdv1.MaskFrame, n)
	watch(t, b.URL(), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }})
	for i := range n {
		require.NoError(t, b.PublishMask(maskFrame("demo", uint64(i))))
	}
	require.NoError(t, b.Close())
	for i := range n {
		if got := receive(t, masks).Sequence; got != uint64(i) {
			t.Fatalf("sequence %d, want %d", got, i)
		}
	}
	if _, err := os.Stat(b.server.temp.path); !os.IsNotExist(err) {
		t.Errorf("JetStream's directory %s: %v, want it gone", b.server.temp.path, err)
	}
}

// storedEvents returns the events a stream has kept.
func storedEvents(t *testing.T, url, site string) []*segdv1.Event {
	t.Helper()
	js, err := jetstream.New(connect(t, url))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), StreamName(site, KindEvent))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	require.NoError(t, err)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	var events []*segdv1.Event
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && info.State.Msgs > 0; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		require.NoError(t, err)
		var e segdv1.Event
		require.NoError(t, Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &e))
		events = append(events, &e)
	}
	return events
}

func TestEventsAreKept(t *testing.T) {
	cfg := Config{Site: "here", Embedded: Embedded{StoreDir: t.TempDir()}}
	for run := range 2 { // the second finds what the first left
		b, err := Open(t.Context(), cfg)
		require.NoError(t, err)
		e := &segdv1.Event{Camera: "demo", Kind: segdv1.EventKind_EVENT_KIND_CAMERA_DOWN, Message: fmt.Sprint(run)}
		require.NoError(t, errors.Join(b.PublishEvent(e), b.PublishMask(maskFrame("demo", 1))))
		eventually(t, "the event is stored", func() bool { return len(storedEvents(t, b.URL(), "here")) == run+1 })
		for i, e := range storedEvents(t, b.URL(), "here") {
			if e.Message != fmt.Sprint(i) || e.Camera != "demo" {
				t.Errorf("run %d: event %d is %v", run, i, e)
			}
		}
		require.NoError(t, b.Close())
	}
}

// Nothing goes on after Close, however soon that is after the first event: TestMain looks.
func TestEventThenClose(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: 200 servers")
	}
	for range 200 {
		b := open(t, Config{})
		require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
		closeNow(t, b)
	}
}

func TestExternalServerComesLater(t *testing.T) {
	port := freePort(t)
	b := open(t, Config{External: External{URL: urlOf(port)}})
	if b.Connected() {
		t.Fatal("connected to nothing")
	}
	assert.ErrorIs(t, b.PublishMask(maskFrame("demo", 1)), ErrNotConnected, "before the server")
	require.NoError(t, b.Serve(granting("demo")))
	natsServer(t, server.Options{Port: port, JetStream: true})
	eventually(t, "connected", b.Connected)
	eventually(t, "annotate answers", func() bool {
		_, err := Target{URL: b.URL(), Site: "home", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
		return err == nil
	})
	js, err := jetstream.New(connect(t, b.URL()))
	require.NoError(t, err)
	eventually(t, "the stream exists", func() bool {
		_, err := js.Stream(t.Context(), StreamName("home", KindEvent))
		return err == nil
	})
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
	eventually(t, "the event is stored", func() bool { return len(storedEvents(t, b.URL(), "home")) == 1 })
	closeNow(t, b)
}

func TestExternalServerWithoutJetStream(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port})
	log := make(chan string, 100)
	b := open(t, Config{External: External{URL: urlOf(port)}, Logger: logTo(log)})
	events := make(chan *segdv1.Event, 1)
	watch(t, b.URL(), "segd.v1.home.demo.event", Handlers{Event: func(e *segdv1.Event) { events <- e }})
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo", ObjectId: 5}))
	assert.EqualValues(t, 5, receive(t, events).ObjectId, "object")
	for line := ""; !strings.Contains(line, "events are not kept"); {
		line = receive(t, log)
	}
	closeNow(t, b)
}

func TestExternalServerRestarts(t *testing.T) {
	port := freePort(t)
	stop := natsServer(t, server.Options{Port: port, MaxPayload: maxPayload})
	b := open(t, Config{External: External{URL: urlOf(port)}})
	first := make(chan *segdv1.MaskFrame, 100)
	watch(t, b.URL(), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { first <- m }})
	require.NoError(t, b.PublishMask(maskFrame("demo", 0)))
	receive(t, first)

	stop()
	eventually(t, "the loss is noticed", func() bool { return !b.Connected() })
	large := maskFrame("demo", 1)
	large.Objects[0].Counts = strings.Repeat("0", 1<<20)
	published := 0
	for ; ; published++ {
		err := b.PublishMask(large)
		if errors.Is(err, nats.ErrReconnectBufExceeded) {
			break
		}
		if err != nil || published > 2*reconnectBuffer>>20 {
			t.Fatalf("message %d: %v, want %v at some time", published, err, nats.ErrReconnectBufExceeded)
		}
	}
	if published < reconnectBuffer>>20-1 {
		t.Errorf("only %d MiB were buffered", published)
	}

	natsServer(t, server.Options{Port: port, MaxPayload: maxPayload})
	eventually(t, "connected again", b.Connected)
	// The watcher came back by itself too, before or after the buffered ones.
	eventually(t, "a new message", func() bool {
		require.NoError(t, b.PublishMask(maskFrame("demo", 2)))
		select {
		case m := <-first:
			return m.Sequence == 2
		case <-time.After(20 * time.Millisecond):
			return false
		}
	})
	closeNow(t, b)
}

// With nothing published since the server went away, nothing is lost; what the client
// of NATS itself wants to send does not count.
func TestCloseWithoutServerOrLoss(t *testing.T) {
	port := freePort(t)
	stop := natsServer(t, server.Options{Port: port})
	b, err := Open(t.Context(), Config{External: External{URL: urlOf(port)}})
	require.NoError(t, err)
	err = b.Serve(granting("demo"))
	require.NoError(t, err)
	stop()
	eventually(t, "the loss is noticed", func() bool { return !b.Connected() })
	require.NoError(t, b.conn.PublishRequest("$JS.API.STREAM.INFO.SEGD", b.conn.NewInbox(), nil))
	closeNow(t, b)

	b, err = Open(t.Context(), Config{External: External{URL: urlOf(port)}})
	require.NoError(t, err)
	closeNow(t, b)
}

func TestCloseWithoutServer(t *testing.T) {
	port := freePort(t)
	stop := natsServer(t, server.Options{Port: port})
	b, err := Open(t.Context(), Config{External: External{URL: urlOf(port)}})
	require.NoError(t, err)
	stop()
	eventually(t, "the loss is noticed", func() bool { return !b.Connected() })
	for seq := range uint64(3) {
		require.NoError(t, b.PublishMask(maskFrame("demo", seq)))
	}
	err = b.Close()
	assert.ErrorContains(t, err, " 3 messages are lost", "Close")
	assert.EqualValues(t, 3, b.Stats().Lost[KindMask][Unconfirmed], "masks counted as lost")
	if again := b.Close(); again != err { //nolint:errorlint // the same one is promised
		t.Errorf("Close again = %v, want %v", again, err)
	}
}

// A server that takes connections and then nothing more must not hold Close up.
func TestCloseWithHungServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		fmt.Fprint(c, "INFO {\"server_id\":\"x\",\"max_payload\":1048576,\"headers\":true,\"proto\":1}\r\n")
		buf := make([]byte, 1<<10)
		for pongs := 0; ; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if strings.Contains(string(buf[:n]), "PING") && pongs == 0 {
				pongs++
				fmt.Fprint(c, "PONG\r\n")
			}
		}
	}()
	b, err := Open(t.Context(), Config{External: External{URL: "nats://" + l.Addr().String()}, DrainTimeout: 50 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, b.PublishMask(maskFrame("demo", 1)))
	start := time.Now()
	assert.ErrorContains(t, b.Close(), " 1 messages may be lost", "Close")
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("Close took %v", d)
	}
	require.NoError(t, l.Close())
	<-done
}

func BenchmarkPublishMask(b *testing.B) {
	for _, json := range []bool{false, true} {
		b.Run(fmt.Sprintf("JSON %v", json), func(b *testing.B) {
			bus, err := Open(b.Context(), Config{JSON: json})
			require.NoError(b, err)
			mf := maskFrame("demo", 1)
			mf.Objects[0].Counts = strings.Repeat("N2", 200)
			b.ReportAllocs()
			for b.Loop() {
				if err := bus.PublishMask(mf); err != nil { // nothing else is measured
					b.Fatal(err)
				}
			}
			require.NoError(b, bus.Close())
		})
	}
}
