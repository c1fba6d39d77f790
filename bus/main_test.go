package bus

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

func TestMain(m *testing.M) {
	if os.Getenv(envServer) != "" { // the child of serverProcess
		os.Exit(serveNATS())
	}
	if os.Getenv(envHold) != "" { // the child of TestLeftovers
		os.Exit(holdBus())
	}
	goleak.VerifyTestMain(m)
}

const patience = waitfor.Limit

// open opens a Bus that the test's end closes.
func open(t *testing.T, cfg Config) *Bus {
	t.Helper()
	b, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close(), "Close")
	})
	return b
}

// closeNow closes b while its server is still there.
func closeNow(t *testing.T, b *Bus) {
	t.Helper()
	assert.NoError(t, b.Close(), "Close")
}

// natsServer starts a server as other people run it. port may be
// server.RANDOM_PORT.
func natsServer(t *testing.T, opts server.Options) (stop func()) {
	t.Helper()
	opts.Host, opts.NoSigs, opts.NoLog = "127.0.0.1", true, true
	if opts.JetStream && opts.StoreDir == "" {
		opts.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(&opts)
	require.NoError(t, err)
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("nats-server does not start")
	}
	stop = sync.OnceFunc(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	t.Cleanup(stop)
	return stop
}

// freePort returns a port of the loopback interface that is free now.
func freePort(t *testing.T) int {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.Addr(t))
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

func urlOf(port int) string { return "nats://127.0.0.1:" + strconv.Itoa(port) }

// watch runs Watch in the background until the test ends, and returns when it
// is subscribed.
func watch(t *testing.T, url, target string, h Handlers, access ...Access) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	h.Ready = func() { close(ready) }
	go func() { done <- Watch(ctx, url, target, h, access...) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("Watch: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != context.Canceled { //nolint:errorlint // exactly that one is promised
			t.Errorf("Watch returns %v, want %v", err, context.Canceled)
		}
	})
}

// receive returns the next value of c.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	return waitfor.Next(t, "something to arrive", c)
}

// eventually waits for a condition that another process's doing brings about.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	waitfor.True(t, what, f)
}

// connect is a plain NATS client.
func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// logTo returns a logger that sends each line's message to c.
func logTo(c chan<- string) *slog.Logger { return slog.New(chanHandler{c}) }

type chanHandler struct{ c chan<- string }

func (h chanHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h chanHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h chanHandler) WithGroup(string) slog.Handler            { return h }
func (h chanHandler) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	select {
	case h.c <- line:
	default:
	}
	return nil
}

func maskFrame(camera string, sequence uint64) *segdv1.MaskFrame {
	return &segdv1.MaskFrame{
		Camera: camera, Sequence: sequence, PtsNs: 40_000_000, Width: 4, Height: 3,
		CaptureClock: segdv1.CaptureClock_CAPTURE_CLOCK_ARRIVAL,
		Objects: []*segdv1.Object{{
			Id: 1, Label: "person", State: segdv1.State_STATE_VISIBLE,
			Box: &segdv1.Box{X: 2, Y: 1, Width: 1, Height: 1}, Area: 1, Score: 0.5, Counts: "714",
		}},
	}
}
