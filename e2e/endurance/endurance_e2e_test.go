//go:build e2e

// Package endurance lets a subscriber that reads nothing and a suspended page hang on to
// a running demo for ten minutes, and watches what that costs the others: segd's memory
// must stay flat, and a subscriber that reads must get every mask.
//
// The deaf one asks for each mask many times over, so that what waits for it is more
// than the system's own buffers take; the NATS server then cuts it off and it connects
// again, as clients do. The page is a Chromium whose processes are stopped.
package endurance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

const (
	subject = "segd.v1.home.demo.mask"
	// What is allowed to grow, by 5 %: the median of the last samples over that of
	// those after the warm-up.
	growth = 1.05
	warmUp = 2 * time.Minute
	every  = 5 * time.Second
	sample = 12 // samples in a median
	repeat = 200
)

var length = flag.Duration("for", 10*time.Minute, "how long after the warm-up")

// sampled is what segd's metrics said at a moment.
type sampled struct {
	resident          float64 // bytes
	published         float64 // masks
	pictures, notices float64 // that the page was too slow for
	received          int     // masks the subscriber that reads had got
}

func TestEndurance(t *testing.T) {
	if least := 2 * sample * every; *length < least {
		t.Fatalf("-for %v; want at least %v", *length, least)
	}
	demo := harness.Demo(t, "--by-hand")
	require.NoError(t, demo.Published(t.Context(), harness.DemoLimit))
	masks := &reader{}
	conn := harness.Connect(t, demo.NATS)
	if _, err := conn.Subscribe(subject, masks.take); err != nil {
		t.Fatal(err)
	}
	deaf := &deaf{addr: strings.TrimPrefix(demo.NATS, "nats://")}
	var hanging sync.WaitGroup
	deafCtx, stop := context.WithCancel(t.Context())
	defer hanging.Wait()
	defer stop()
	hanging.Go(func() { deaf.hang(deafCtx) })

	require.NoError(t, suspended(t.Context(), harness.Browser(t), demo.Page))

	t.Logf("a subscriber that reads nothing and a suspended page, for %v after %v", *length, warmUp)
	require.NoError(t, harness.Pause(t.Context(), warmUp))
	var samples []sampled
	for end := time.Now().Add(*length); time.Now().Before(end); {
		m, err := demo.Metrics(t.Context())
		require.NoError(t, err)
		samples = append(samples, sampled{
			resident: m.Sum("process_resident_memory_bytes"), published: m.Sum("segd_frames_total", "outcome", "published"),
			pictures: m.Sum("segd_page_dropped_total", "what", "frame"), notices: m.Sum("segd_page_dropped_total", "what", "notice"),
			received: masks.count(),
		})
		require.NoError(t, harness.Pause(t.Context(), every))
	}
	judge(t, samples, deaf.connections(), masks)
}

// judge says what came of it, and what must not have.
func judge(t *testing.T, samples []sampled, connections int, masks *reader) {
	median := func(part []sampled) float64 {
		var resident []float64
		for _, s := range part {
			resident = append(resident, s.resident)
		}
		slices.Sort(resident)
		return resident[len(resident)/2] / (1 << 20)
	}
	first, last := samples[0], samples[len(samples)-1]
	begin, end := median(samples[:sample]), median(samples[len(samples)-sample:])
	published, received := last.published-first.published, float64(last.received-first.received)
	t.Logf("resident: %.1f MiB at the beginning, %.1f at the end (%.3f of it)", begin, end, end/begin)
	t.Logf("published: %.0f masks, of which the subscriber that reads got %.0f; %d of its neighbours' connections were cut off",
		published, received, max(0, connections-1))
	t.Logf("the page was too slow for %.0f pictures and %.0f notices", last.pictures, last.notices)
	if end > growth*begin {
		t.Errorf("memory grew to %.3f of what it was; want at most %.2f", end/begin, growth)
	}
	// Those on their way as the metrics are read count a moment later.
	if d := published - received; d > 5 || d < -5 {
		t.Errorf("%.0f masks were published and %.0f came", published, received)
	}
	assert.NoError(t, masks.fault())
	if connections == 0 {
		t.Error("the subscriber that reads nothing never got through")
	}
}

// suspended opens the page, sees that it is live, and stops it.
func suspended(ctx context.Context, b *browser.Browser, url string) error {
	p, err := b.Open(ctx, browser.Tab{URL: url, Theme: "light", Width: 1280, Height: 800, Scale: 1})
	if err != nil {
		return err
	}
	for frames := ""; frames == "" || frames == "0"; {
		if err := p.Evaluate(ctx, `document.body?.dataset.frames ?? ""`, &frames); err != nil {
			return err
		}
		if err := harness.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return b.Suspend()
}

// reader is a subscriber that reads.
type reader struct {
	mu   sync.Mutex // guards what follows
	n    int
	last uint64
	err  error
}

func (r *reader) take(msg *nats.Msg) {
	var m segdv1.MaskFrame
	err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &m)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && m.GetSequence() <= r.last {
		err = fmt.Errorf("frame %d came after %d", m.GetSequence(), r.last)
	}
	r.err = errors.Join(r.err, err)
	r.n, r.last = r.n+1, m.GetSequence()
}

func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func (r *reader) fault() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// deaf is a subscriber that reads nothing.
type deaf struct {
	addr string

	mu sync.Mutex // guards what follows
	n  int
}

func (d *deaf) connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// hang connects, and again when it was cut off, until ctx ends.
func (d *deaf) hang(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.once(ctx); err != nil {
			_ = harness.Pause(ctx, time.Second)
		}
	}
}

// once speaks NATS' protocol as far as it takes to subscribe.
func (d *deaf) once(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("CONNECT {\"verbose\":false}\r\n")
	for id := range repeat {
		fmt.Fprintf(&text, "SUB %s %d\r\n", subject, id+1)
	}
	if _, err := conn.Write([]byte(text.String())); err != nil {
		return err
	}
	d.mu.Lock()
	d.n++
	d.mu.Unlock()
	// What has been cut off shows when it is written to.
	for {
		if err := harness.Pause(ctx, time.Second); err != nil {
			return err
		}
		if _, err := conn.Write([]byte("PONG\r\n")); err != nil {
			return err
		}
	}
}
