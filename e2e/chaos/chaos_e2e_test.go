//go:build e2e

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/netfault"
)

var (
	seed   = flag.Uint64("seed", 1, "which faults, and when")
	length = flag.Duration("for", 15*time.Minute, "how long the faults go on")
	warmUp = flag.Duration("warmup", time.Minute, "how long the crowd is there before the beginning")
	settle = flag.Duration("settle", 3*time.Minute, "how long segd is left alone before it is measured, at the beginning and at the end")
	asJSON = flag.Bool("json", false, "print what came of it as a line of JSON")
)

const (
	cameras = 4
	rate    = 5 // frames a second
	// diskSize is that of the NATS server's disk.
	diskSize = 160 << 20
	// slowed is a camera's network then, in bytes a second.
	slowed = 2000
	// goodEvery is how often an object is marked as it should be done.
	goodEvery = 7 * time.Second

	// markings is how many annotated pictures segd keeps of a camera: when as many were
	// marked it has all that it may hold.
	markings = 8

	// none is the fault of cameras that are looked at once more at the end.
	none Kind = ""

	// What must be afterwards.
	soon   = 2 * time.Second
	growth = 1.05
)

// Report is what came of it.
type Report struct {
	Seed       uint64 `json:"seed"`
	Faults     int    `json:"faults"`
	EventsLost int    `json:"events_lost"`
	RecoveryMS struct {
		P50 float64 `json:"p50"`
		Max float64 `json:"max"`
	} `json:"recovery_ms"`
	RSS        Change `json:"rss_mb"`
	Goroutines Change `json:"goroutines"`
	FDs        Change `json:"fds"`
}

// Change is a figure before and after.
type Change struct {
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
}

// world is a segd with cameras and a NATS server, each of which can be made to fail.
type world struct {
	t       *testing.T
	segd    *harness.Segd
	server  *harness.NATS
	conn    *nats.Conn
	names   []string
	cameras []*harness.Camera
	links   []*netfault.Proxy // to them
	disk    string            // the NATS server's
	health  *health
	// busy has one fault at a time happen to a camera, and to each other thing, if the
	// one before takes longer to end than was planned.
	busy map[string]*sync.Mutex
}

// picture is what a camera shows when nothing ails it.
var picture = harness.Video{Width: 320, Height: 240, Rate: rate}

// others are what one shows that has changed.
var others = []harness.Video{
	{Width: 480, Height: 360, Rate: rate, Encoder: "libx265"},
	{Width: 176, Height: 144, Rate: rate},
	{Width: 320, Height: 240, Rate: rate, Encoder: "mpeg4"},
}

func begin(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, disk: t.TempDir(), health: newHealth(cameras)}
	if err := syscall.Mount("tmpfs", w.disk, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		t.Fatalf("a small disk for the NATS server: %v; it takes root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(w.disk, 0); err != nil {
			t.Errorf("%s: %v", w.disk, err)
		}
	})
	w.server = harness.StartNATSIn(t, w.disk, "max_payload: 8MB")
	relay := harness.StartRelay(t)
	config := fmt.Sprintf("nats: {url: '%s'}\nsuperpixels: 300\nmodel: {short_side: 120}\ncameras:\n", w.server.URL)
	for c := range cameras {
		name := fmt.Sprintf("cam%d", c)
		camera := harness.StartCamera(t, relay, name, picture)
		link, err := netfault.New(relay.Addr())
		require.NoError(t, err)
		t.Cleanup(link.Close)
		w.names, w.cameras, w.links = append(w.names, name), append(w.cameras, camera), append(w.links, link)
		config += fmt.Sprintf("  - {name: %s, url: 'rtsp://%s/%s', transport: tcp, detect: {off: true}}\n", name, link.Addr(), name)
	}
	w.segd = harness.Run(t, config)
	require.NoError(t, w.segd.Published(t.Context(), time.Minute))
	w.conn = harness.Connect(t, w.server.URL, nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	for c, name := range w.names {
		if _, err := w.conn.Subscribe("segd.v1.home."+name+".mask", func(m *nats.Msg) {
			var frame segdv1.MaskFrame
			if err := bustest.Unmarshal(m.Header.Get("Content-Type"), m.Data, &frame); err != nil {
				t.Errorf("%s: %v", m.Subject, err)
				return
			}
			w.health.mask(c, frame.GetPublishTime().AsTime())
		}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// everyone are all cameras.
func everyone() (all []int) {
	for c := range cameras {
		all = append(all, c)
	}
	return all
}

// during does a fault, waits as long as it lasts, and ends it; what it ails meanwhile is
// no fault of segd's.
func (w *world) during(ctx context.Context, f Fault, ails []int, do, undo func() error) error {
	w.health.harm(ails...)
	defer w.health.heal(f.Kind, ails...)
	if err := do(); err != nil {
		return err
	}
	_ = harness.Pause(ctx, f.For) // undone at once when the test ends
	return undo()
}

// happen has a fault happen, and returns when it has ended.
func (w *world) happen(ctx context.Context, f Fault) error {
	busy := w.busy[f.thing()]
	busy.Lock()
	defer busy.Unlock()
	one, all := []int{f.Camera}, everyone()
	camera, link := w.cameras[f.Camera], w.links[f.Camera]
	switch f.Kind {
	case CameraKilled:
		return w.during(ctx, f, one,
			func() error { camera.Kill(); return nil },
			func() error { return camera.Publish(ctx, picture) })
	case CameraStalled:
		return w.during(ctx, f, one,
			func() error { link.Freeze(true); return nil },
			func() error { link.Thaw(); return nil })
	case CameraSlowed:
		return w.during(ctx, f, one,
			func() error { link.Slow(slowed); return nil },
			func() error { link.Slow(0); return nil })
	case CameraChanged:
		change := func(v harness.Video) error {
			w.health.harm(one...)
			defer w.health.heal(f.Kind, one...)
			return camera.Publish(ctx, v)
		}
		return w.during(ctx, f, nil,
			func() error { return change(others[int(f.At)%len(others)]) },
			func() error { return change(picture) })
	case NATSKilled:
		return w.during(ctx, f, all,
			func() error { w.server.Kill(); return nil },
			func() error { return w.server.Start(ctx) })
	case NATSPaused:
		return w.during(ctx, f, all, w.server.Suspend, w.server.Continue)
	case SegdPaused:
		return w.during(ctx, f, all, w.segd.Suspend, w.segd.Continue)
	case DiskFull:
		ballast := filepath.Join(w.disk, "ballast")
		return w.during(ctx, f, nil,
			func() error { return fill(ballast) },
			func() error { return os.Remove(ballast) })
	case ClockStepped:
		before := time.Now()
		by := 5 * time.Minute
		if f.At%2 == 0 {
			by = -by
		}
		return w.during(ctx, f, nil,
			func() error { return w.setClock(before.Add(by)) },
			func() error { return w.setClock(before.Round(0).Add(time.Since(before))) }) // by the monotonic clock
	default:
		return fmt.Errorf("nobody knows how to do %q", f.Kind)
	}
}

// setClock sets the machine's.
func (w *world) setClock(to time.Time) error {
	tv := syscall.NsecToTimeval(to.UnixNano())
	err := syscall.Settimeofday(&tv)
	w.health.step()
	return err
}

// fill writes a file until the disk is full.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for block := make([]byte, 64<<10); len(block) > 0; {
		n, err := file.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:len(block)/2]
		case err != nil:
			return fmt.Errorf("after %d of %d: %w", n, len(block), err)
		}
	}
	return nil
}

// mark marks an object on a camera as it should be done.
func (w *world) mark(ctx context.Context, client *http.Client, camera string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body := `{"width": 320, "height": 240, "objects": [{"id": 1, "label": "thing", "scribbles": [{"width": 20, "points": [[60, 60], [100, 90]]}]}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.segd.Page+"api/v1/cameras/"+camera+"/annotations", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return err
}

// markAll marks an object on every camera, on as many pictures as segd keeps, and tries until
// that is done.
func (w *world) markAll(client *http.Client) {
	w.t.Helper()
	for i := range markings * len(w.names) {
		name := w.names[i%len(w.names)]
		harness.Until(w.t, 30*time.Second, "an object marked on "+name, func(ctx context.Context) error {
			err := w.mark(ctx, client, name)
			if err != nil {
				_ = harness.Pause(ctx, time.Second) // not to spend what segd allows
			}
			return err
		})
	}
}

// measured is what segd holds.
type measured struct{ rss, goroutines, fds float64 }

// measure leaves segd alone for a while, and returns the medians of what it then holds.
func (w *world) measure() measured {
	w.t.Helper()
	const samples = 15
	var rss, goroutines, fds []float64
	if err := harness.Pause(w.t.Context(), *settle); err != nil {
		w.t.Fatal(err)
	}
	for range samples {
		now, err := w.segd.Metrics(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		rss = append(rss, now.Sum("process_resident_memory_bytes")/(1<<20))
		goroutines = append(goroutines, now.Sum("go_goroutines"))
		fds = append(fds, now.Sum("process_open_fds"))
		if err := harness.Pause(w.t.Context(), time.Second); err != nil {
			w.t.Fatal(err)
		}
	}
	return measured{median(rss), median(goroutines), median(fds)}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// lost counts the events that segd made and that are not in the stream. An event's
// Nats-Msg-Id ends in its number; one that is made now comes after all others.
func (w *world) lost(client *http.Client) (lost, stored int) {
	w.t.Helper()
	accepted, err := w.conn.SubscribeSync("segd.v1.home.cam0.event")
	if err != nil {
		w.t.Fatal(err)
	}
	harness.Until(w.t, time.Minute, "an object marked on cam0", func(ctx context.Context) error { return w.mark(ctx, client, "cam0") })
	var last string
	for {
		msg, err := accepted.NextMsg(time.Minute)
		if err != nil {
			w.t.Fatalf("the last event: %v", err)
		}
		var e segdv1.Event
		if err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &e); err != nil {
			w.t.Fatal(err)
		}
		if e.GetKind() == segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED {
			last = msg.Header.Get(nats.MsgIdHdr)
			break
		}
	}
	number := func(id string) (run string, n int) {
		i := strings.LastIndexByte(id, '.')
		if _, err := fmt.Sscan(id[i+1:], &n); err != nil {
			w.t.Fatalf("Nats-Msg-Id %q: %v", id, err)
		}
		return id[:i], n
	}
	run, most := number(last)
	seen := map[int]bool{}
	harness.Until(w.t, time.Minute, "the last event in the stream", func(ctx context.Context) error {
		clear(seen)
		js, err := jetstream.New(w.conn)
		if err != nil {
			return err
		}
		c, err := js.OrderedConsumer(ctx, bus.StreamName("home", bus.KindEvent), jetstream.OrderedConsumerConfig{HeadersOnly: true})
		if err != nil {
			return err
		}
		for {
			msg, err := c.Next(jetstream.FetchMaxWait(2 * time.Second))
			if errors.Is(err, nats.ErrTimeout) {
				break
			}
			if err != nil {
				return err
			}
			if of, n := number(msg.Headers().Get(nats.MsgIdHdr)); of == run {
				seen[n] = true
			}
		}
		if !seen[most] {
			return fmt.Errorf("%d events, and %s is not one of them", len(seen), last)
		}
		return nil
	})
	for n := 1; n <= most; n++ {
		if !seen[n] {
			lost++
		}
	}
	return lost, len(seen)
}

func TestChaos(t *testing.T) {
	plan := Plan(*seed, *length, cameras)
	t.Logf("seed %d: %d faults in %v", *seed, len(plan), *length)
	w := begin(t)
	good := &http.Client{Transport: &http.Transport{DialContext: from(goodFrom).DialContext, DisableKeepAlives: true}}
	// What is looked for is what the faults leave behind, not what clients cost the first time.
	w.markAll(good)
	early := gather(t.Context(), w.segd, w.conn, w.names, *seed)
	t.Cleanup(early.disperse)
	require.NoError(t, harness.Pause(t.Context(), *warmUp))
	early.disperse()
	before := w.measure()

	crowd := gather(t.Context(), w.segd, w.conn, w.names, *seed)
	t.Cleanup(crowd.disperse)
	marked := w.endure(plan, good)
	crowd.disperse()

	// A nats-server whose disk was full stores nothing until it is started again, which
	// docs/nats.md asks its operator to do.
	w.server.End()
	require.NoError(t, w.server.Start(t.Context()))
	report := Report{Seed: *seed, Faults: len(plan)}
	w.health.harm(everyone()...)
	w.health.heal(none, everyone()...)
	assert.NoError(t, harness.Wait(t.Context(), soon, "masks of every camera afterwards", func(context.Context) error {
		if late := w.health.overdue(); len(late) > 0 {
			return fmt.Errorf("none of cameras %v", late)
		}
		return nil
	}))
	w.markAll(good)
	after := w.measure()
	var stored int
	report.EventsLost, stored = w.lost(good)
	recovered, broken := w.health.times()
	delete(recovered, none)
	var all []time.Duration
	for _, k := range slices.Sorted(maps.Keys(recovered)) {
		times := recovered[k]
		t.Logf("%-22s recovered %3d times, half within %v, the latest after %v", k, len(times), times[len(times)/2], times[len(times)-1])
		all = append(all, times...)
	}
	if slices.Sort(all); len(all) > 0 {
		report.RecoveryMS.P50 = float64(all[len(all)/2].Milliseconds())
		report.RecoveryMS.Max = float64(all[len(all)-1].Milliseconds())
	}
	report.RSS = Change{before.rss, after.rss}
	report.Goroutines = Change{before.goroutines, after.goroutines}
	report.FDs = Change{before.fds, after.fds}

	t.Logf("recovered %d times, and %d were cut short by another fault", len(all), broken)
	t.Logf("%d objects marked meanwhile; %d subscribers and %d pages came, %d times in all", marked, slowSubscribers, deafPages, crowd.subscribed.Load()+crowd.watched.Load())
	t.Logf("%d annotations that are none (%d not sent for want of an answer), answered by %v", crowd.sent.Load(), crowd.left.Load(), crowd.answered)
	t.Logf("%d events stored, %d lost", stored, report.EventsLost)
	w.segd.End()
	assert.NoError(t, w.segd.Err(), "segd ended with")
	t.Logf("resident %.1f MiB before, %.1f after; goroutines %v, %v; file descriptors %v, %v", before.rss, after.rss, before.goroutines, after.goroutines, before.fds, after.fds)
	if *asJSON {
		line, err := json.Marshal(report)
		require.NoError(t, err)
		fmt.Println(string(line))
	}

	for _, wrong := range append(early.wrong, crowd.wrong...) {
		t.Error(wrong)
	}
	if report.EventsLost > 0 {
		t.Errorf("%d events were lost", report.EventsLost)
	}
	if after.rss > growth*before.rss {
		t.Errorf("memory grew to %.3f of what it was; want at most %v", after.rss/before.rss, growth)
	}
	if after.goroutines > before.goroutines {
		t.Errorf("%v goroutines, %v before", after.goroutines, before.goroutines)
	}
	if after.fds > before.fds {
		t.Errorf("%v file descriptors, %v before", after.fds, before.fds)
	}
}

// endure has the faults of a plan happen, each when it is due, and objects marked
// meanwhile. It returns how often that was possible.
func (w *world) endure(plan []Fault, good *http.Client) (marked int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), *length)
	defer cancel()
	w.busy = map[string]*sync.Mutex{}
	for _, f := range plan {
		w.busy[f.thing()] = new(sync.Mutex)
	}
	var done sync.WaitGroup
	start := time.Now()
	for _, f := range plan {
		done.Go(func() {
			if harness.Pause(w.t.Context(), f.At-time.Since(start)) != nil {
				return
			}
			if err := w.happen(w.t.Context(), f); err != nil {
				w.t.Errorf("%v, %s, camera %d: %v", f.At, f.Kind, f.Camera, err)
			}
		})
	}
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-w.segd.Exited:
			w.t.Errorf("segd has ended: %v", w.segd.Err())
			cancel()
		default:
		}
		if w.mark(ctx, good, w.names[n%cameras]) == nil {
			marked++
		}
		_ = harness.Pause(ctx, goodEvery)
	}
	done.Wait()
	return marked
}
