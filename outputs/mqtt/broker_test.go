package mqtt

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// broker is a real one, in this process.
type broker struct {
	t      *testing.T
	addr   string
	server *mochi.Server
	ln     *endable
	once   sync.Once

	mu   sync.Mutex
	seen []message // in the order in which they came
}

// door lets in whom it should.
type door struct {
	mochi.HookBase
	user, password string
	denied         string // topics that begin with it no client may write
	// How many large messages and how many subscriptions are never answered.
	lostMessages, lostSubscriptions atomic.Int32
	keeps                           atomic.Bool // it does not answer who deletes something
}

func (*door) Provides(b byte) bool {
	return slices.Contains([]byte{mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnPublish, mochi.OnPacketRead}, b)
}

func (d *door) OnPublish(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	if len(pk.Payload) >= large && d.lostMessages.Add(-1) >= 0 || len(pk.Payload) == 0 && d.keeps.Load() {
		return pk, packets.ErrRejectPacket
	}
	return pk, nil
}

func (d *door) OnPacketRead(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	if pk.FixedHeader.Type == packets.Subscribe && d.lostSubscriptions.Add(-1) >= 0 {
		return packets.Packet{ProtocolVersion: pk.ProtocolVersion, FixedHeader: packets.FixedHeader{Type: packets.Pingreq}}, nil
	}
	return pk, nil
}

func (d *door) OnConnectAuthenticate(_ *mochi.Client, pk packets.Packet) bool {
	return string(pk.Connect.Username) == d.user && string(pk.Connect.Password) == d.password
}

func (d *door) OnACLCheck(_ *mochi.Client, topic string, write bool) bool {
	return d.denied == "" || !write || !strings.HasPrefix(topic, d.denied)
}

// options are what tests change about a broker.
type options struct {
	door      *door
	tls       *tls.Config
	maxPacket uint32
}

const listenerID = "t"

func newBroker(t *testing.T, addr string, o options) *broker {
	t.Helper()
	capabilities := mochi.NewDefaultServerCapabilities()
	capabilities.MaximumPacketSize = o.maxPacket
	capabilities.MaximumClientWritesPending = 1 << 15
	b := &broker{t: t, addr: addr}
	b.server = mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Capabilities: capabilities})
	require.NoError(t, b.server.AddHook(cmp.Or(o.door, new(door)), nil))
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	b.ln = &endable{Listener: ln}
	ln = b.ln
	if o.tls != nil {
		ln = tls.NewListener(ln, o.tls)
	}
	require.NoError(t, b.server.AddListener(listeners.NewNet(listenerID, ln)))
	require.NoError(t, b.server.Subscribe("#", 1, func(_ *mochi.Client, _ packets.Subscription, pk packets.Packet) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, message{pk.TopicName, bytes.Clone(pk.Payload)})
	}))
	require.NoError(t, b.server.Serve())
	t.Cleanup(b.close)
	return b
}

// close ends the connections itself. In mochi 2.7.9 Server.Close waits for ever when a client
// leaves between the two read locks of GetByListener, and panics when one comes meanwhile.
func (b *broker) close() {
	b.once.Do(func() {
		b.ln.end()
		b.server.Listeners.Close(listenerID, func(string) {})
		if err := b.server.Close(); err != nil {
			b.t.Error(err)
		}
	})
}

// endable is a listener whose connections can be ended and waited for.
type endable struct {
	net.Listener
	open sync.WaitGroup

	mu    sync.Mutex
	ended bool
	conns []net.Conn
}

func (l *endable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	l.conns = append(l.conns, c)
	l.open.Add(1)
	return &counted{Conn: c, closed: sync.OnceFunc(l.open.Done)}, nil
}

// end takes no more connections, ends each, and returns when the server has closed it too.
func (l *endable) end() {
	_ = l.Close() // no more come; the server closes it once more
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, c := range l.conns {
		_ = c.Close() // the server may have closed it long since
	}
	l.open.Wait()
}

type counted struct {
	net.Conn
	closed func()
}

func (c *counted) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// messages are those of a topic so far.
func (b *broker) messages(topic string) (payloads []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.seen {
		if m.topic == topic {
			payloads = append(payloads, string(m.payload))
		}
	}
	return payloads
}

// order is where the n-th message of a topic came among all; -1: it did not.
func (b *broker) order(topic, payload string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.IndexFunc(b.seen, func(m message) bool { return m.topic == topic && string(m.payload) == payload })
}

// retained is what is kept, by topic.
func (b *broker) retained() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]string{}
	for _, m := range b.seen {
		switch {
		case strings.HasSuffix(m.topic, topicEvent), strings.HasSuffix(m.topic, topicAnswer), strings.HasSuffix(m.topic, "/set"), strings.HasPrefix(m.topic, "$"):
		case len(m.payload) == 0:
			delete(all, m.topic)
		default:
			all[m.topic] = string(m.payload)
		}
	}
	return all
}

// holds waits until a topic holds that payload.
func (b *broker) holds(topic, payload string) {
	b.t.Helper()
	waitfor.True(b.t, topic+" holds "+payload, func() bool {
		now, ok := b.retained()[topic]
		return ok && now == payload
	})
}

// lacks waits until nothing is kept of topics with that in them.
func (b *broker) lacks(part string) {
	b.t.Helper()
	waitfor.True(b.t, "nothing is kept of "+part, func() bool {
		for topic := range b.retained() {
			if strings.Contains(topic, part) {
				return false
			}
		}
		return true
	})
}

func (b *broker) publish(topic, payload string, retain bool) {
	b.t.Helper()
	if err := b.server.Publish(topic, []byte(payload), retain, 1); err != nil {
		b.t.Fatal(err)
	}
}

// flood publishes a message count times with QoS 0, which has no acknowledgements. With QoS 1, mochi 2.7.9 can deadlock: for each
// acknowledgement Inflight.NextImmediate takes a read lock twice, and Inflight.Set waits for the write lock in between.
func (b *broker) flood(topic, payload string, count int) {
	b.t.Helper()
	for range count {
		if err := b.server.Publish(topic, []byte(payload), false, 0); err != nil {
			b.t.Fatal(err)
		}
	}
}

// site is what cameras there are, which tests change.
type site struct {
	mu      sync.Mutex
	cameras []Camera
	unknown bool // not all of them are known
	zones   map[string]int32
	patches []string
	refuse  error // all commands
	picture []byte
}

func (s *site) set(cameras ...Camera) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cameras = cameras
}

func (s *site) list() ([]Camera, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cameras), !s.unknown
}

func (s *site) state(camera string) (*segdv1.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := status(camera)
	for name, n := range s.zones {
		st.Zones = append(st.Zones, &segdv1.ZoneStatus{Name: name, Objects: n})
	}
	return st, nil
}

func (s *site) thumbnail(ev *segdv1.Event) []byte {
	if ev.Thumbnail == "gone" {
		return nil
	}
	return append(bytes.Clone(s.picture), ev.Thumbnail...)
}

func (s *site) change(_ context.Context, camera string, patch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.patches = append(s.patches, camera+" "+string(patch))
	return nil
}

// config is that of a Publisher to the broker at addr, host and port.
func (s *site) config(addr string) Config {
	return Config{
		URL: "mqtt://" + addr, Prefix: "segd", Site: "home", Discovery: "homeassistant",
		Cameras: s.list, State: s.state, Thumbnail: s.thumbnail, Set: s.change,
	}
}

// quick are times that tests can wait for.
var quick = times{
	sync: 10 * time.Millisecond, quiet: 100 * time.Millisecond, grace: 200 * time.Millisecond, minRetry: 10 * time.Millisecond, maxRetry: 50 * time.Millisecond,
	answer: 5 * time.Second, last: time.Minute, keepAlive: 30,
}

// start runs a Publisher until end, or the test, ends it.
func start(t *testing.T, cfg Config, changes ...func(*times)) (p *Publisher, end func()) {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	p, err := New(cfg)
	require.NoError(t, err)
	p.times = quick
	for _, change := range changes {
		change(&p.times)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, p.Run(ctx))
	})
	end = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(end)
	return p, end
}

// run is start at a broker of its own, once all has been published.
func run(t *testing.T, s *site) (*Publisher, *broker) {
	t.Helper()
	b := newBroker(t, freeport.Addr(t), options{})
	p, _ := start(t, s.config(b.addr))
	b.holds("segd/home/status", online)
	return p, b
}
