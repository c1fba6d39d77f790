package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/segd/segd/internal/keypair"
	"github.com/segd/segd/internal/limit"
)

const (
	// maxPayload bounds a message through the embedded server: an annotation's
	// PNG fits, and it stays below the 8 MB that nats-server warns about.
	maxPayload = 4 << 20

	// maxPending bounds what waits for one client before it is cut off: two of the
	// largest messages, or minutes of a camera's masks.
	maxPending = 2 * maxPayload

	// streamReserve is what JetStream of the embedded server may take beyond the
	// limits of segd's own streams, for those of others.
	streamReserve = 256 << 20

	// maxConsumers of a stream is far above what segd needs itself, one while it reads a bucket. Each is
	// a goroutine and some files, and what makes them may do so for ever.
	maxConsumers = 256

	// maxConns of clients, and maxSubs of each, bound what clients can have the server remember. segd's own
	// connection has ten subscriptions a camera. Where few files may be open, there are fewer connections (limit.ConnsOf).
	maxConns = 1024
	maxSubs  = 10_000

	// startTimeout is far above the tens of milliseconds the server takes.
	startTimeout = 10 * time.Second
)

// embedded is a NATS server inside this process.
type embedded struct {
	server    *server.Server
	log       *slog.Logger
	jetStream server.JetStreamConfig // to open it anew with
	streams   map[string]bool        // segd's own
	temp      *tempDir               // what JetStream writes to when nothing is to be kept; else nil

	tending     sync.WaitGroup
	stopTending context.CancelFunc // nil until tend
}

// startServer starts a server for cfg, whose defaults are set.
func startServer(ctx context.Context, cfg Config) (_ *embedded, err error) {
	address := net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))
	if err := probeAddress(ctx, address); err != nil {
		return nil, err
	}
	e := &embedded{log: cfg.Logger, streams: map[string]bool{camerasStream(cfg.Site): true}}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.stop())
		}
	}()
	dir := cfg.StoreDir
	if dir == "" {
		if e.temp, err = newTempDir(); err != nil {
			return nil, fmt.Errorf("bus: directory for JetStream: %w", err)
		}
		dir = e.temp.path
	}
	port := cfg.Port
	if port == 0 {
		port = server.RANDOM_PORT
	}
	space := int64(streamReserve)
	for _, kind := range []Kind{KindEvent, KindMask, KindPicture} {
		if s, ok := cfg.wanted(kind); ok {
			space += s.MaxBytes
			e.streams[s.Name] = true
		}
	}
	if cfg.StoreDir != "" {
		space += checkpointBytes
		e.streams[checkpointStream(cfg.Site)] = true
	}
	opts := &server.Options{
		ServerName:             "segd-" + cfg.Site,
		Host:                   cfg.Host,
		Port:                   port,
		Authorization:          cfg.Token,
		NoSigs:                 true, // signals are the program's
		MaxPayload:             maxPayload,
		MaxPending:             maxPending,
		MaxConn:                limit.ConnsOf(maxConns),
		MaxSubs:                maxSubs,
		JetStream:              true,
		StoreDir:               dir,
		SyncAlways:             cfg.SyncAlways,
		JetStreamMaxMemory:     space,
		JetStreamMaxStore:      space,
		DisableJetStreamBanner: true,
	}
	if len(cfg.Users) > 0 {
		if err := addUsers(opts, cfg.Site, cfg.Users); err != nil {
			return nil, err
		}
	}
	if cfg.Cert != "" {
		pair, err := keypair.Open(cfg.Cert, cfg.Key, cfg.Logger)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAccess, err)
		}
		opts.TLS = true
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.Get}
	}
	e.server, err = server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("bus: embedded NATS server: %w", err)
	}
	logger := &serverLogger{log: cfg.Logger}
	e.server.SetLoggerV2(logger, false, false, false)
	e.server.Start()
	if err := logger.fatalError(); err != nil {
		return nil, err
	}
	if !e.server.ReadyForConnections(startTimeout) {
		return nil, fmt.Errorf("bus: embedded NATS server on %s: not ready after %v", address, startTimeout)
	}
	if js := e.server.JetStreamConfig(); js != nil {
		e.jetStream = *js
		e.jetStream.StoreDir = dir // the server's own has a folder more
	}
	if err := e.limitConsumers(len(cfg.Users)); err != nil {
		return nil, fmt.Errorf("bus: JetStream: %w", err)
	}
	return e, nil
}

// limitConsumers has segd's account, the one with JetStream, keep no more than maxConsumers and one
// for each user, of each stream.
func (e *embedded) limitConsumers(users int) error {
	own := e.server.GlobalAccount()
	limits := map[string]server.JetStreamAccountLimits{"": {
		MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxAckPending: -1, // the server's
		MaxConsumers: maxConsumers + users,
	}}
	if own.JetStreamEnabled() { // no user has another account
		return own.UpdateJetStreamLimits(limits)
	}
	return own.EnableJetStream(limits, nil)
}

// probeAddress finds out whether the address can be listened on, because the
// server tells it in its log only.
func probeAddress(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("bus: NATS address %s is in use, perhaps by another segd; "+
			"want a free port, 0 for any, or the URL of that server: %w", address, err)
	case err != nil:
		return fmt.Errorf("bus: NATS address %s: %w", address, err)
	}
	if err := l.Close(); err != nil {
		return fmt.Errorf("bus: NATS address %s: %w", address, err)
	}
	return nil
}

// stop ends the server, waits for it and removes what it should not leave.
func (e *embedded) stop() error {
	if e.stopTending != nil {
		e.stopTending()
		e.tending.Wait()
	}
	if e.server != nil {
		e.answer()
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	if e.temp == nil {
		return nil
	}
	if err := e.temp.remove(); err != nil {
		return fmt.Errorf("bus: remove JetStream's directory: %w", err)
	}
	return nil
}

// answerTimeout bounds how long the server's end waits for its answers: one to a request takes milliseconds.
const answerTimeout = 5 * time.Second

// answer waits until JetStream has answered the requests that are in hand. The server does not end a stream that is
// made while it ends (nats-server 2.15.2, Server.shutdownJetStream).
func (e *embedded) answer() {
	for end := time.Now().Add(answerTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if info, err := e.server.Jsz(nil); err != nil || info.API.Inflight == 0 {
			return
		}
	}
}

// serverLogger passes the server's log on. What the server calls a notice is
// detail to segd.
type serverLogger struct {
	log *slog.Logger

	mu    sync.Mutex
	fatal error // the first
}

func (l *serverLogger) Noticef(format string, v ...any) { l.print(slog.LevelDebug, format, v) }
func (l *serverLogger) Warnf(format string, v ...any)   { l.print(slog.LevelWarn, format, v) }
func (l *serverLogger) Errorf(format string, v ...any)  { l.print(slog.LevelError, format, v) }
func (l *serverLogger) Debugf(format string, v ...any)  { l.print(slog.LevelDebug, format, v) }
func (l *serverLogger) Tracef(format string, v ...any)  { l.print(slog.LevelDebug, format, v) }

// Fatalf keeps what nats-server would end the process with.
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = fmt.Errorf("bus: embedded NATS server: "+format, v...)
	}
}

func (l *serverLogger) fatalError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *serverLogger) print(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "nats server: "+fmt.Sprintf(format, v...))
}
