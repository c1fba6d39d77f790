package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/semaphore"

	"github.com/segd/segd/internal/listen"
	"github.com/segd/segd/internal/redact"
)

// DefaultSite is the site of a Config that names none.
const DefaultSite = "home"

// DefaultURL is where NATS servers listen unless told otherwise.
const DefaultURL = nats.DefaultURL

// Config says which NATS server to use and how to speak. The zero value is a
// server of our own on a free port of the loopback interface, speaking protobuf.
type Config struct {
	// Site is the second name in every subject; "" is DefaultSite.
	Site string

	// The server is Embedded, unless External has a URL.
	Embedded
	External

	// Events and Masks are how much of them JetStream keeps. Zero fields are 7 days
	// and 3 GiB of events, 6 as JSON, and 64 MiB in memory; masks and pictures are kept only with a MaxAge, and then 256 MiB
	// of each, of pictures 64 MiB in memory.
	Events, Masks, Pictures Retention

	// Replicas is how many servers of a cluster keep the streams and buckets that are made here;
	// 0 is one.
	Replicas int

	// Duplicates says that another segd may publish the same cameras; else Serve refuses
	// to.
	Duplicates bool
	// KeptOnly says that nothing is published, and only what is kept is asked for: no streams are made at
	// the server at URL.
	KeptOnly bool
	// JSON publishes JSON instead of protobuf.
	JSON bool
	// Version is told to those who ask the micro service; "" is 0.0.0, and so
	// is what is not a semantic version.
	Version string
	// DrainTimeout bounds how long Close waits for the server; 0 is 5 s.
	DrainTimeout time.Duration
	// Panicked and Refused hear of requests that were answered so, from any goroutine;
	// nil is no listener.
	Panicked func()
	Refused  func(Refusal)
	// Logger hears of the connection and of the server's warnings; nil discards.
	Logger *slog.Logger
}

// Embedded is a server inside this process.
type Embedded struct {
	// Host is the address to listen on; "" is 127.0.0.1.
	Host string
	// Port is the port to listen on; 0 picks a free one.
	Port int
	// Token lets its bearer do everything (nats://TOKEN@host:port), and each of Users
	// what its role may. With neither everybody may do everything, which only a
	// loopback Host may have.
	Token string
	Users []User
	// Cert and Key are files, PEM, of the server's certificate; with them clients must
	// use TLS. They are read again when they change.
	Cert, Key string
	// StoreDir is where JetStream keeps the events; "" keeps them in memory
	// until Close.
	StoreDir string
	// SyncAlways has JetStream sync what it stores to disk before it acknowledges it;
	// otherwise it does every two minutes, and a power cut takes what came since.
	SyncAlways bool
}

// External is a server elsewhere.
type External struct {
	// URL is that of one, or of several with commas between: nats://, tls:// or ws://
	// with the user and password or token in it.
	URL string
	// Access is what it wants to see besides.
	Access Access
}

const (
	defaultDrainTimeout = 5 * time.Second

	dialTimeout     = 2 * time.Second
	reconnectWait   = 500 * time.Millisecond
	reconnectJitter = 500 * time.Millisecond
	// reconnectBuffer is about half a minute of one camera's masks.
	reconnectBuffer = 8 << 20
	// A server that is there but takes nothing is treated as gone after these.
	writeTimeout = 5 * time.Second
	pingInterval = 10 * time.Second
	maxPings     = 2

	// confirmEvery bounds how many masks may be lost with a connection.
	confirmEvery = time.Second
	// repeatTrouble is how often an unchanged reason to be disconnected is logged.
	repeatTrouble = time.Minute
)

// ErrNotConnected is in the chain of a publish's error when the external server
// has not been reached yet, and of Err's.
var ErrNotConnected = errors.New("bus: not connected")

// ErrClosed is in the chain of what a Bus returns after Close.
var ErrClosed = errors.New("bus: closed")

// Bus publishes messages and answers commands.
type Bus struct {
	cfg    Config
	conn   *nats.Conn
	closed chan struct{} // closed once conn is and its callbacks have run
	server *embedded     // nil with an external server

	run    string // in the ids of this Bus's messages, and of no other's
	events *events
	claims *claims
	count  atomic.Uint64 // events so far
	losses losses
	flight inFlight             // what is not kept
	unsent unsent               // what waits for a connection
	acks   atomic.Pointer[acks] // of masks that are kept; nil when they are not

	pictures *pictures           // nil: none are kept
	reading  *semaphore.Weighted // held by those who read kept events

	keptDenied atomic.Pointer[error] // the last of denyKept

	confirming  sync.WaitGroup
	stopConfirm context.CancelFunc
	closeOnce   sync.Once
	closeError  error

	serving sync.Mutex // held by Serve, Cameras and Close, before mu
	service *service   // nil until Serve

	mu      sync.Mutex
	closing bool
	trouble error // why there is no connection; nil while there is one
	told    time.Time
}

// Open starts the embedded server and connects to it or, with a URL, connects to
// the server there. When that server cannot be reached now or refuses us, Open
// returns without a connection and the Bus tries on for ever; Err then tells why.
// A URL or a file of Access that can never do is an error. ctx bounds Open only;
// Close ends the Bus.
func Open(ctx context.Context, cfg Config) (*Bus, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	b := &Bus{
		cfg: cfg, closed: make(chan struct{}), run: nuid.Next(), events: newEvents(cfg), reading: semaphore.NewWeighted(keptAtOnce),
	}
	removeLeftovers(cfg.Logger)
	b.claims = newClaims(cfg, b.run)
	var err error
	if cfg.URL == "" {
		err = b.openEmbedded(ctx)
	} else {
		err = b.openExternal(ctx)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// setDefaults fills in what is zero and returns all faults of the rest.
func (cfg *Config) setDefaults() error {
	cfg.Site = cmp.Or(cfg.Site, DefaultSite)
	cfg.Host = cmp.Or(cfg.Host, "127.0.0.1")
	cfg.DrainTimeout = cmp.Or(cfg.DrainTimeout, defaultDrainTimeout)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Panicked == nil {
		cfg.Panicked = func() {}
	}
	if cfg.Refused == nil {
		cfg.Refused = func(Refusal) {}
	}
	var faults []error
	if err := CheckName(cfg.Site); err != nil {
		faults = append(faults, fmt.Errorf("bus: site: %w", err))
	}
	if cfg.DrainTimeout < 0 {
		faults = append(faults, fmt.Errorf("bus: drain timeout %v, want more than 0", cfg.DrainTimeout))
	}
	for _, r := range []Retention{cfg.Events, cfg.Masks, cfg.Pictures} {
		if r.MaxAge < 0 || r.MaxBytes < 0 {
			faults = append(faults, fmt.Errorf("bus: keep %v and %d bytes, want neither below 0", r.MaxAge, r.MaxBytes))
		}
	}
	if cfg.URL != "" {
		return errors.Join(append(faults, checkURL(cfg.URL))...)
	}
	return errors.Join(append(faults, cfg.Embedded.check())...)
}

// check returns all faults.
func (e Embedded) check() error {
	var faults []error
	if e.Port < 0 || e.Port > 65535 {
		faults = append(faults, fmt.Errorf("bus: port %d, want 0 (any) to 65535", e.Port))
	}
	if e.Token == "" && len(e.Users) == 0 && !listen.Loopback(e.Host) {
		faults = append(faults, fmt.Errorf("bus: host %q is not a loopback address and there is no token and are no users; want a token or users, or host 127.0.0.1", e.Host))
	}
	if (e.Cert == "") != (e.Key == "") {
		faults = append(faults, fmt.Errorf("%w: the server's certificate and key belong together; want both or neither", ErrAccess))
	}
	return errors.Join(append(faults, checkUsers(e.Users))...)
}

// checkURL returns an error unless nats.go takes each of the comma-separated
// URLs.
func checkURL(urls string) error {
	for s := range strings.SplitSeq(urls, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		if err != nil {
			// The URL itself is left out of the message: it may hold a password.
			var ue *url.Error
			if errors.As(err, &ue) {
				err = ue.Err
			}
			return fmt.Errorf("bus: NATS URL: %w", err)
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("bus: NATS URL %s: scheme %q, want nats, tls, ws or wss", Redact(s), u.Scheme)
		}
		if u.Hostname() == "" {
			return fmt.Errorf("bus: NATS URL %s has no host, want nats://host:port", Redact(s))
		}
	}
	return nil
}

// Redact returns the URLs without users, passwords, tokens and other secrets.
func Redact(urls string) string {
	parts := strings.Split(urls, ",")
	for i, s := range parts {
		if s = strings.TrimSpace(s); !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		parts[i] = redact.URL(s)
	}
	return strings.Join(parts, ",")
}

func (b *Bus) openEmbedded(ctx context.Context) error {
	if b.cfg.Token == "" && len(b.cfg.Users) > 0 {
		b.cfg.Token = rand.Text() // our own way in
	}
	e, err := startServer(ctx, b.cfg)
	if err != nil {
		return err
	}
	b.server = e
	b.conn, err = nats.Connect("", append(b.options(),
		nats.InProcessServer(e.server), nats.Token(b.cfg.Token))...)
	if err != nil {
		return errors.Join(fmt.Errorf("bus: connect to the embedded NATS server: %w", err), e.stop())
	}
	if err := b.start(ctx); err != nil {
		return errors.Join(err, b.Close())
	}
	b.cfg.Logger.Info("nats server listens", "url", b.URL())
	return nil
}

// start starts what runs beside the connection until Close.
func (b *Bus) start(ctx context.Context) error {
	confirmCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.stopConfirm = cancel
	b.confirming.Go(func() { b.confirm(confirmCtx) })
	b.claims.start(ctx, b.conn)
	if err := b.events.use(ctx, b.conn); err != nil {
		return err
	}
	if !b.cfg.KeptOnly {
		b.events.start()
		if b.cfg.Pictures.MaxAge > 0 {
			b.pictures = newPictures(b.conn, b.events, b.cfg)
		}
	}
	if b.server != nil {
		b.server.tend(b.events.again)
	}
	if b.cfg.Masks.MaxAge > 0 {
		a, err := newAcks(b.conn, &b.losses)
		if err != nil {
			return fmt.Errorf("bus: acknowledgements of masks: %w", err)
		}
		b.acks.Store(a)
	}
	return nil
}

// confirm asks the server now and then whether all has arrived, or notes why there
// is none: nats.go calls no handler when it breaks off in the middle of a greeting, as
// one does that misses our certificate.
func (b *Bus) confirm(ctx context.Context) {
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if b.conn.IsConnected() {
			if a := b.acks.Load(); a != nil {
				a.expire()
			}
			b.flight.confirm(func() error {
				ctx, cancel := context.WithTimeout(ctx, writeTimeout)
				defer cancel()
				return b.conn.FlushWithContext(ctx)
			})
		} else if err := b.conn.LastError(); err != nil {
			b.refused(err)
		}
	}
}

func (b *Bus) openExternal(ctx context.Context) error {
	access, err := b.cfg.Access.options()
	if err != nil {
		return err
	}
	b.conn, err = nats.Connect(b.cfg.URL, append(append(b.options(), access...),
		nats.RetryOnFailedConnect(true), nats.ConnectHandler(b.connected))...)
	if err != nil {
		return fmt.Errorf("bus: connect to NATS server %s: %w", Redact(b.cfg.URL), err)
	}
	if err := b.start(ctx); err != nil {
		return errors.Join(err, b.Close())
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(fmt.Errorf("bus: connect to NATS server %s: %w", Redact(b.cfg.URL), err), b.Close())
	}
	return nil
}

// options are those of any connection of a Bus.
func (b *Bus) options() []nats.Option {
	log := b.cfg.Logger
	return []nats.Option{
		nats.Name("segd " + b.cfg.Site),
		nats.Timeout(dialTimeout),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // a server that refuses us today may be in repair
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(reconnectBuffer),
		nats.FlusherTimeout(writeTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.DrainTimeout(b.cfg.DrainTimeout),
		nats.DisconnectErrHandler(b.disconnected),
		nats.ReconnectHandler(b.connected),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.refused(err) }),
		nats.ErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
			if isRefusal(err) {
				b.refused(err)
				return
			}
			if !b.denyKept(err) {
				b.events.deny(err)
			}
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("nats", "subject", subject, "err", err)
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
}

// handOver sends what is buffered and closes the connection. Without one, what waits
// for it is lost.
func (b *Bus) handOver() error {
	if !b.conn.IsConnected() {
		waiting := b.unsent.waiting(b.conn.Stats().Reconnects)
		b.conn.Close()
		b.giveUp()
		if waiting > 0 {
			return fmt.Errorf("bus: close: no connection to NATS server %s, %d messages are lost", Redact(b.cfg.URL), waiting)
		}
		return nil
	}
	if err := b.conn.FlushTimeout(b.cfg.DrainTimeout); err != nil {
		b.conn.Close()
		return fmt.Errorf("bus: close: %d messages may be lost: %w", b.giveUp(), err)
	}
	// Drain closes too: after it has waited for the subscriptions' last messages.
	if err := b.conn.Drain(); err != nil {
		b.conn.Close()
		return fmt.Errorf("bus: close: %w", err)
	}
	return nil
}

// connected is called by nats.go when there is a connection (again).
func (b *Bus) connected(nc *nats.Conn) {
	b.mu.Lock()
	b.trouble, b.told = nil, time.Time{}
	b.mu.Unlock()
	b.cfg.Logger.Info("nats connected", "url", Redact(nc.ConnectedUrl()))
	if small := smallPayload(nc); small != "" {
		b.cfg.Logger.Warn("the NATS server takes small messages only", "url", Redact(nc.ConnectedUrl()), "reason", small)
	}
	if a := b.acks.Load(); a != nil {
		a.connected()
	}
	b.events.again()
	b.claims.look()
}

// disconnected is called by nats.go when a connection is lost.
func (b *Bus) disconnected(_ *nats.Conn, err error) {
	if err == nil { // we close
		return
	}
	b.mu.Lock()
	b.trouble = err
	b.mu.Unlock()
	b.cfg.Logger.Warn("nats connection lost, trying again", "err", err, "unconfirmed", b.giveUp())
}

// giveUp counts as lost what was sent and is not known to have arrived.
func (b *Bus) giveUp() (lost uint64) {
	lost = b.flight.lost(&b.losses)
	if a := b.acks.Load(); a != nil {
		lost += a.disconnected()
	}
	return lost
}

// refused is called by nats.go for each attempt that failed.
func (b *Bus) refused(err error) {
	b.mu.Lock()
	known := b.trouble != nil && b.trouble.Error() == err.Error() && time.Since(b.told) < repeatTrouble
	b.trouble = err
	if !known {
		b.told = time.Now()
	}
	b.mu.Unlock()
	switch {
	case known:
	case isRefusal(err):
		b.cfg.Logger.Error("nats server refuses us, trying on; want a user, password or token in nats.url, "+
			"or nats.credentials, nats.nkey or nats.tls as the server has them", "url", Redact(b.cfg.URL), "err", err)
	default:
		b.cfg.Logger.Warn("nats server not reached, trying on", "url", Redact(b.cfg.URL), "err", err)
	}
}

// isRefusal tells whether err is the server's word on who we are.
func isRefusal(err error) bool {
	for _, refusal := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired,
	} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// Site returns the site in this Bus's subjects.
func (b *Bus) Site() string { return b.cfg.Site }

// URL returns where clients find the server, without credentials.
func (b *Bus) URL() string {
	if b.server != nil {
		return b.server.server.ClientURL()
	}
	return Redact(b.cfg.URL)
}

// Claim has no other segd of the site publish these cameras until Close. The error wraps ErrTaken if one does.
func (b *Bus) Claim(cameras []string) error { return b.claims.take(cameras) }

// Conn is the connection, for those who speak to others on it. It lives as long as the Bus.
func (b *Bus) Conn() *nats.Conn { return b.conn }

// Connected reports whether there is a connection to the server now.
func (b *Bus) Connected() bool { return b.conn.IsConnected() }

// Err tells what is wrong now: why there is no connection to the server
// (ErrNotConnected), or why JetStream does not store (ErrNotStored): that of the
// embedded server has failed, or an event waits for more than ten seconds.
func (b *Bus) Err() error {
	if b.Connected() {
		return b.notStored()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble == nil {
		return ErrNotConnected
	}
	return fmt.Errorf("%w: %w", ErrNotConnected, b.trouble)
}

func (b *Bus) notStored() error {
	waiting, oldest, _, trouble := b.events.state()
	if b.server != nil {
		if fault := b.server.storeFault(); fault != nil { // which needs no waiting for
			return fmt.Errorf("%w, %d events wait: %w", ErrNotStored, waiting, fault)
		}
	}
	if oldest < storeLate {
		return nil
	}
	if trouble == nil {
		trouble = errNoAnswer
	}
	return fmt.Errorf("%w, %d events wait, the oldest for %v: %w", ErrNotStored, waiting, oldest.Round(time.Second), trouble)
}

// Close refuses new commands, cancels and awaits those in hand, hands what was
// published to the server, closes the connection and stops the embedded server.
// The server gets Config.DrainTimeout to take it all. The error tells what could
// not be handed over. Further calls return the same.
func (b *Bus) Close() error {
	b.closeOnce.Do(func() { b.closeError = b.close() })
	return b.closeError
}

func (b *Bus) isClosing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closing
}

func (b *Bus) close() error {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.serving.Lock()
	s := b.service
	b.service = nil
	b.serving.Unlock()

	b.claims.end()
	var faults []error
	if s != nil {
		faults = append(faults, s.stop())
	}
	b.stopConfirm()
	b.confirming.Wait()
	if left := b.events.finish(b.cfg.DrainTimeout); left > 0 {
		b.losses.add(KindEvent, Unconfirmed, uint64(left))
		err := fmt.Errorf("bus: close: %d events are not stored", left)
		if why := b.Err(); why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
		faults = append(faults, err)
	}
	if b.pictures != nil {
		b.pictures.finish(b.cfg.DrainTimeout)
	}
	faults = append(faults, b.handOver())
	<-b.closed
	if b.server != nil {
		faults = append(faults, b.server.stop())
	}
	return errors.Join(faults...)
}
