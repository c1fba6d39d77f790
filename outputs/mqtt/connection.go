package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/outbox"
	"github.com/segd/segd/internal/pause"
)

// Payloads of the topic that tells whether segd is there.
const (
	online  = "online"
	offline = "offline"
)

// Bounds of what waits or is kept besides the queue of events.
const (
	maxLooks     = 256
	maxCommands  = 16
	maxStrangers = 1000      // cameras that are not known
	maxLearning  = 64        // cameras that are asked for at once
	maxReceived  = 128 << 10 // bytes of a packet; the largest are snapshots
	maxUnread    = 64        // packets that were received and not looked at
	maxOld       = 1 << 20   // bytes of topics that are to be deleted since the broker holds them
)

// times are those that tests shorten.
type times struct {
	sync  time.Duration // how often the cameras are asked for
	quiet time.Duration // for how long the broker holds nothing more that it has not sent
	grace time.Duration // for how long an undeclared camera may still be on its way here
	say   time.Duration // how often a warning that repeats is said
	// minRetry and maxRetry bound the pause before the broker is dialled again; it doubles from the one to the other.
	minRetry, maxRetry time.Duration
	answer             time.Duration // for how long the broker may not answer
	last               time.Duration // for what waits at the end
	keepAlive          uint16        // seconds
}

var defaults = times{
	sync: time.Second, quiet: 2 * time.Second, grace: 10 * time.Second, say: time.Minute, minRetry: time.Second, maxRetry: 30 * time.Second,
	answer: 20 * time.Second, last: 3 * time.Second, keepAlive: 30,
}

const (
	// maxLearn bounds the time for which the broker is listened to for what it holds.
	maxLearn = 30 * time.Second
	// syncShare is the part of the time that asking for the cameras may take.
	syncShare = 20
)

// Publisher publishes to a broker. Make it with New.
type Publisher struct {
	cfg      Config
	broker   *url.URL
	log      *slog.Logger
	times    times
	looks    chan string // cameras whose zones are to be looked at: it takes longer than the pipeline may wait
	commands chan command
	up       chan struct{} // holds one: there is a connection that nothing was asked over
	syncing  sync.Mutex    // held by who takes over what cameras there are

	mu   sync.Mutex // guards what follows
	cond *sync.Cond // of mu: something is to be sent, or p ends

	cameras   map[string]*camera
	nodes     map[string]*camera // by their node in topics of discovery
	strangers map[string]time.Time
	listening map[string]bool // filters that the broker is asked by what it holds
	learntAt  time.Time

	table    map[string]*entry
	dirty    []*entry // of those, the ones that are to be sent
	old      []*entry // likewise, those that are to be deleted since the broker holds them
	oldBytes int      // of their topics, with those on their way
	flying   int      // of those that were, the ones on their way
	initial  int      // of those, the ones that a connection begins with
	status   *entry   // not in the table: it comes after the others
	events   outbox.Queue[message]

	connected bool
	closing   bool
	sending   context.Context // that all is sent in
	cut       func()          // ends what is sent over the connection there is
	stop      func()          // ends sending, once p is closing
	via       link
	maxPacket int   // bytes that the broker has turned out not to take; 0: it has taken all
	dialled   *conn // for the connection to come
	why       error // a connection ended
	stats     Stats
	said      string
	saidAt    time.Time
}

// link is a connection.
type link struct {
	ctx       context.Context // ends with it
	manager   *autopaho.ConnectionManager
	conn      *conn
	maxPacket int // bytes that the broker takes; 0: any number
}

// conn is one to the broker whose writes have an end.
type conn struct {
	net.Conn
	limit  time.Duration
	silent bool // the broker did not answer in time; guarded by the Publisher's mu
}

func (c *conn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// end has the client see that the connection is lost.
func (c *conn) end() {
	if c != nil {
		_ = c.Close()
	}
}

// Run publishes until ctx ends. It may be called once.
func (p *Publisher) Run(ctx context.Context) error {
	p.Sync()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	sendingCtx, stopSending := context.WithCancel(running)
	defer stopSending()
	p.mu.Lock()
	p.sending = sendingCtx
	p.mu.Unlock()
	manager, err := autopaho.NewConnection(running, p.client())
	if err != nil {
		return fmt.Errorf("mqtt: %w", err)
	}
	var helpers, sending sync.WaitGroup
	helpers.Go(func() { p.work(ctx) })
	helpers.Go(func() { p.obey(ctx) })
	helpers.Go(func() { p.ask(ctx) })
	for range senders {
		sending.Go(func() { p.sendRetained(&p.dirty) })
	}
	sending.Go(func() { p.sendRetained(&p.old) })
	sending.Go(func() { p.sendEvents() })

	p.keepSyncing(ctx)
	helpers.Wait()
	p.finish(&sending, stopSending)
	return p.leave(manager)
}

// keepSyncing follows what cameras there are, until ctx ends.
func (p *Publisher) keepSyncing(ctx context.Context) {
	for {
		began := time.Now()
		p.Sync()
		if pause.For(ctx, max(p.times.sync, syncShare*time.Since(began))) != nil {
			return
		}
	}
}

// finish sends what waits, as long as there is the connection and for as long as it may take.
func (p *Publisher) finish(sending *sync.WaitGroup, stop func()) {
	p.mu.Lock()
	p.closing, p.stop = true, stop
	if !p.connected {
		stop()
	}
	p.cond.Broadcast()
	p.mu.Unlock()
	late := time.AfterFunc(p.times.last, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.connected = false
		p.via.conn.end()
		stop()
	})
	defer late.Stop()
	sending.Wait()
}

// leave says goodbye, and logs how many events were not sent.
func (p *Publisher) leave(manager *autopaho.ConnectionManager) error {
	p.mu.Lock()
	left := p.events.Len()
	p.mu.Unlock()
	if left > 0 {
		p.log.Warn("segd ends before the MQTT broker has taken all events", "events", left)
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.times.last)
	defer cancel()
	if manager.Disconnect(ctx) != nil { // the broker takes nothing any more
		p.mu.Lock()
		p.dialled.end()
		p.mu.Unlock()
	}
	<-manager.Done()
	return nil
}

// client is how the library is to connect.
func (p *Publisher) client() autopaho.ClientConfig {
	pauses := pause.Growing(p.times.minRetry, p.times.maxRetry)
	var since time.Time // that there was a connection
	first := true
	return autopaho.ClientConfig{
		ServerUrls: []*url.URL{p.broker}, KeepAlive: p.times.keepAlive, CleanStartOnInitialConnection: true,
		ConnectTimeout: p.times.answer,
		WillMessage:    &paho.WillMessage{Topic: p.status.topic, Payload: []byte(offline), QoS: qos, Retain: true},
		ReconnectBackoff: func(int) time.Duration {
			if first {
				first = false
				return 0
			}
			if !since.IsZero() && time.Since(since) > p.times.maxRetry {
				pauses.Reset()
			}
			since = time.Time{}
			return pauses.NextBackOff()
		},
		// The broker is to tell the others, as it does when the connection is lost.
		DisconnectPacketBuilder: func() *paho.Disconnect {
			return &paho.Disconnect{ReasonCode: packets.DisconnectDisconnectWithWillMessage}
		},
		ConnectPacketBuilder: p.credentials,
		AttemptConnection: func(ctx context.Context, _ autopaho.ClientConfig, to *url.URL) (net.Conn, error) {
			return p.dial(ctx, to)
		},
		OnConnectionUp: func(m *autopaho.ConnectionManager, answer *paho.Connack) {
			since = time.Now()
			p.begin(m, answer)
		},
		OnConnectionDown: p.lost,
		OnConnectError: func(err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.say("no connection to the MQTT broker, trying on", "error", err)
		},
		ClientConfig: paho.ClientConfig{
			ClientID: p.cfg.ClientID, PacketTimeout: p.times.answer,
			OnClientError: func(err error) { p.blame(err) },
			OnServerDisconnect: func(d *paho.Disconnect) {
				reason := ""
				if d.Properties != nil {
					reason = d.Properties.ReasonString
				}
				p.blame(fmt.Errorf("the broker ended it, with reason 0x%02x %s", d.ReasonCode, reason))
			},
			OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
				p.received(r.Packet)
				return true, nil
			}},
		},
	}
}

// credentials are added to the packet that asks for a connection.
func (p *Publisher) credentials(packet *paho.Connect, _ *url.URL) (*paho.Connect, error) {
	password, err := p.cfg.password()
	if err != nil {
		return nil, err
	}
	packet.Username, packet.UsernameFlag = p.cfg.Username, p.cfg.Username != ""
	packet.Password, packet.PasswordFlag = password, password != nil
	most, unread := uint32(maxReceived), uint16(maxUnread)
	packet.Properties = &paho.ConnectProperties{MaximumPacketSize: &most, ReceiveMaximum: &unread}
	return packet, nil
}

// dial opens a connection to the broker.
func (p *Publisher) dial(ctx context.Context, to *url.URL) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.times.answer)
	defer cancel()
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: plain, limit: p.times.answer}
	p.mu.Lock()
	p.dialled = c
	p.mu.Unlock()
	if to.Scheme != schemeTLS {
		return packets.NewThreadSafeConn(&packetLimit{Conn: c}), nil // a packet is several writes
	}
	secured, err := p.cfg.tls(to)
	if err == nil {
		conn := tls.Client(c, secured)
		if err = conn.HandshakeContext(ctx); err == nil {
			return packets.NewThreadSafeConn(&packetLimit{Conn: conn}), nil
		}
	}
	_ = plain.Close()
	return nil, err
}

// begin has all be sent over a new connection.
func (p *Publisher) begin(m *autopaho.ConnectionManager, answer *paho.Connack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing { // what waits was given its time
		return
	}
	p.via = link{manager: m, conn: p.dialled}
	p.via.ctx, p.cut = context.WithCancel(p.sending) //nolint:fatcontext // of this connection alone
	if answer.Properties != nil && answer.Properties.MaximumPacketSize != nil {
		p.via.maxPacket = int(*answer.Properties.MaximumPacketSize)
	}
	p.connected, p.why = true, nil
	p.stats.Connections++
	p.said = ""
	p.log.Info("connected to the MQTT broker", "broker", p.broker.String())
	for _, c := range p.cameras {
		c.learnt = false
	}
	for _, e := range p.table {
		if e.old { // it is learnt anew
			p.unset(e.topic)
		}
	}
	p.old = nil
	p.refresh()
	p.cond.Broadcast()
	select {
	case p.up <- struct{}{}:
	default:
	}
}

// blame notes why a connection ends; the first word counts.
func (p *Publisher) blame(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		p.why = err
	}
}

// lost is called when a connection has ended. The library is to dial again.
func (p *Publisher) lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connected = false
	if p.cut != nil {
		p.cut() // who waits for an answer; the library would have them wait on
	}
	p.cond.Broadcast() // who waits for the last ones
	if p.closing {
		p.stop() // there is no other connection
	} else {
		p.say("the connection to the MQTT broker is lost", "error", p.why)
	}
	return true
}

// link is the connection there is.
func (p *Publisher) link() (link, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.via, p.connected
}

// ask subscribes to commands, and asks the broker what it holds of cameras, until ctx ends.
func (p *Publisher) ask(ctx context.Context) {
	tick := time.NewTicker(p.times.sync)
	defer tick.Stop()
	for {
		began := false
		select {
		case <-ctx.Done():
			return
		case <-p.up:
			began = true
		case <-tick.C:
		}
		via, connected := p.link()
		if !connected {
			continue
		}
		var filters []string
		if began {
			p.takeCommands(ctx, via)
			filters = append(filters, p.cfg.states()) // which every camera has
		}
		p.mu.Lock()
		list := p.unlearnt(maxLearning)
		for _, c := range list {
			filters = append(filters, p.cfg.filters(c.Name)...)
		}
		p.listening = map[string]bool{}
		for _, f := range filters {
			p.listening[f] = true
		}
		p.mu.Unlock()
		if len(filters) > 0 {
			p.listen(ctx, via, filters)
		}
		p.mu.Lock()
		p.listening = nil
		if p.connected && p.via.conn == via.conn { // else the next connection tells
			for _, c := range list {
				c.learnt = true
			}
		}
		p.mu.Unlock()
	}
}

// listen takes in what the broker holds at topics that match. What comes there later is not listened to.
func (p *Publisher) listen(ctx context.Context, via link, filters []string) {
	options := make([]paho.SubscribeOptions, len(filters))
	for i, f := range filters {
		options[i] = paho.SubscribeOptions{Topic: f, QoS: qos}
	}
	if !p.subscribe(ctx, via, options, "what the MQTT broker holds is not known, and what is old stays there") {
		return
	}
	p.mu.Lock()
	p.learntAt = time.Now()
	p.mu.Unlock()
	for end := time.Now().Add(maxLearn); time.Now().Before(end); {
		p.mu.Lock()
		wait := p.times.quiet - time.Since(p.learntAt)
		p.mu.Unlock()
		if wait <= 0 || pause.For(ctx, wait) != nil {
			break
		}
	}
	if _, err := via.manager.Unsubscribe(ctx, &paho.Unsubscribe{Topics: filters}); err != nil {
		p.log.Debug("unsubscribing", "error", err)
	}
}

// subscribe tells whether the broker has taken subscriptions. Text is what it means if it refuses them.
func (p *Publisher) subscribe(ctx context.Context, via link, to []paho.SubscribeOptions, text string) bool {
	answer, err := via.manager.Subscribe(ctx, &paho.Subscribe{Subscriptions: to})
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil: // what waits is still sent
	case answer != nil || errors.Is(err, paho.ErrInvalidArguments):
		p.log.Warn(text, "error", err)
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.abandon(via, err)
	}
	return false
}

// received is what the broker sends.
func (p *Publisher) received(m *paho.Publish) {
	switch {
	case m.Retain && len(m.Payload) > 0:
		p.learn(m.Topic)
	case !m.Retain:
		p.command(m.Topic, m.Payload)
	}
}

// work publishes what is in the zones of cameras, until ctx ends.
func (p *Publisher) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case camera := <-p.looks:
			p.look(camera)
		}
	}
}

// look publishes what is in a camera's zones.
func (p *Publisher) look(camera string) {
	if p.cfg.State == nil {
		return
	}
	var st *segdv1.Status
	var err error
	if st, err = p.cfg.State(camera); err == nil {
		p.Status(st)
	}
}
