package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/netfault"
	"github.com/segd/segd/internal/waitfor"
)

// testTiming is fast, and slow enough for a busy machine.
var testTiming = Timing{TTL: 800 * time.Millisecond}

// startNATS starts a NATS server with JetStream.
func startNATS(t testing.TB) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	if !s.ReadyForConnections(waitLimit) {
		t.Fatal("the NATS server does not listen")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// testBox is a box whose cameras are numbers.
type testBox struct {
	*Member
	t    testing.TB
	name string
	conn *nats.Conn
	end  func()

	mu      sync.Mutex
	leases  map[string]*Lease
	ran     []string // cameras that began
	refuses map[string]error
	stopped chan struct{} // not nil: Run waits for it

	prepared map[string]int
	slow     chan struct{} // not nil: Prepare waits for it

	taken, given, lapsed, fenced atomic.Int32
}

func (b *testBox) Taken(Why, time.Duration) { b.taken.Add(1) }
func (b *testBox) Given(Why)                { b.given.Add(1) }
func (b *testBox) Lapsed()                  { b.lapsed.Add(1) }
func (b *testBox) Fenced()                  { b.fenced.Add(1) }

func (b *testBox) Prepare(ctx context.Context, camera string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.prepared == nil {
		b.prepared = map[string]int{}
	}
	b.prepared[camera]++
	if err := b.refuses[camera]; err != nil {
		return err
	}
	if slow := b.slow; slow != nil {
		b.mu.Unlock()
		defer b.mu.Lock()
		select {
		case <-slow:
		case <-ctx.Done():
		}
	}
	return nil
}

func (b *testBox) Run(_ context.Context, leases []*Lease) map[string]error {
	b.mu.Lock()
	wait := b.stopped
	b.mu.Unlock()
	if wait != nil {
		<-wait
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	next, faults := map[string]*Lease{}, map[string]error{}
	for _, l := range leases {
		if err := b.refuses[l.Camera]; err != nil {
			faults[l.Camera] = err
			continue
		}
		if old := b.leases[l.Camera]; old == nil || old.Token != l.Token {
			b.ran = append(b.ran, l.Camera)
		}
		next[l.Camera] = l
	}
	b.leases = next
	return faults
}

// valid are the tokens of what the box may publish now.
func (b *testBox) valid() map[string]uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]uint64{}
	for camera, l := range b.leases {
		if l.Valid() {
			all[camera] = l.Token
		}
	}
	return all
}

// cameras are so many cameras.
func cameras(n int) []Camera {
	list := make([]Camera, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("c%03d", i)
	}
	return list
}

// join starts a box; with, if not nil, changes its configuration before.
func join(t testing.TB, url, name string, list []Camera, with func(*testBox, *Config)) *testBox {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.PingInterval(200*time.Millisecond), nats.Timeout(300*time.Millisecond))
	require.NoError(t, err)
	b := &testBox{t: t, name: name, conn: conn, refuses: map[string]error{}}
	cfg := Config{
		Conn: conn, Site: "test", Box: name, Host: "host of " + name, Timing: testTiming, Runner: b, Meter: b,
		Capacity: func() float64 { return 1000 },
		Logger:   slog.New(slog.NewTextHandler(testLog{t, name}, nil)),
	}
	if with != nil {
		with(b, &cfg)
	}
	b.Member, err = New(cfg)
	require.NoError(t, err)
	b.Cameras(list)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, b.Member.Run(ctx))
	})
	b.end = sync.OnceFunc(func() { cancel(); running.Wait(); conn.Close() })
	t.Cleanup(b.end)
	return b
}

// testLog writes a log to a test's.
type testLog struct {
	t    testing.TB
	name string
}

func (l testLog) Write(text []byte) (int, error) {
	line := strings.TrimSpace(string(text))
	if i := strings.Index(line, "level="); i > 0 {
		line = line[i:]
	}
	l.t.Logf("%s: %s", l.name, line)
	return len(text), nil
}

// writer calls a function for what is written.
type writer func(text []byte)

func (w writer) Write(text []byte) (int, error) { w(text); return len(text), nil }

const waitLimit = waitfor.Limit

// until waits for what, and fails if it does not come.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	waitfor.True(t, what, is)
}

// spread tells whether boxes run all of n cameras, each once, and by how many each.
func spread(n int, boxes ...*testBox) (counts []int, all bool) {
	seen := map[string]int{}
	for _, b := range boxes {
		v := b.valid()
		counts = append(counts, len(v))
		for camera := range v {
			seen[camera]++
		}
	}
	for _, times := range seen {
		if times != 1 {
			return counts, false
		}
	}
	return counts, len(seen) == n
}

// know waits until boxes know of one another and may publish.
func know(t *testing.T, boxes ...*testBox) {
	t.Helper()
	until(t, "the boxes know of one another", func() bool {
		return !slices.ContainsFunc(boxes, func(b *testBox) bool {
			st := b.Status()
			return !st.Publishing || len(st.Boxes) != len(boxes)
		})
	})
}

// runsAt waits until a box knows that another runs a camera: it hears so a little after that runs it.
func runsAt(t *testing.T, b *testBox, camera, at string) {
	t.Helper()
	until(t, fmt.Sprintf("box %s knows that %s runs camera %s", b.name, at, camera), func() bool {
		box, _ := b.Holder(camera)
		return box == at
	})
}

// two are boxes that have joined before they were told of so many cameras, which they share.
func two(t *testing.T, s *server.Server, n int) (a, b *testBox) {
	t.Helper()
	a, b = join(t, s.ClientURL(), "a", nil, nil), join(t, s.ClientURL(), "b", nil, nil)
	know(t, a, b)
	a.Cameras(cameras(n))
	b.Cameras(cameras(n))
	allRun(t, n, a, b)
	return a, b
}

func allRun(t *testing.T, n int, boxes ...*testBox) {
	t.Helper()
	until(t, fmt.Sprintf("%d cameras run", n), func() bool { _, all := spread(n, boxes...); return all })
}

// eachRuns waits until n cameras run, and each box has one: of a box that was slow to take any at first the plan thinks later.
func eachRuns(t *testing.T, n int, boxes ...*testBox) {
	t.Helper()
	until(t, fmt.Sprintf("%d cameras run, on each box one", n), func() bool {
		counts, all := spread(n, boxes...)
		return all && slices.Min(counts) > 0
	})
}

// Boxes that join share the cameras; one that leaves, and one that falls silent, has its cameras run by others.
func TestFleet(t *testing.T) {
	s := startNATS(t)
	const n = 30
	a, b := two(t, s, n)
	// A box that was slow to take cameras at first is given some by the plan.
	until(t, "the boxes share the cameras", func() bool {
		counts, all := spread(n, a, b)
		return all && min(counts[0], counts[1]) >= n/3
	})
	tokens := a.valid()
	c := join(t, s.ClientURL(), "c", cameras(n), nil)
	until(t, "the third box has its share", func() bool { return len(c.valid()) >= n/3-2 })
	allRun(t, n, a, b, c)
	if moved := n - len(a.valid()) - len(b.valid()); moved > n/3+2 {
		t.Errorf("%d cameras moved to the box that joined", moved)
	}

	b.end()
	allRun(t, n, a, c)
	until(t, "the others know that it has left", func() bool {
		st := a.Status()
		return len(st.Boxes) == 3 && !st.Boxes[1].Alive && st.Boxes[1].By == ""
	})
	for camera, token := range a.valid() {
		if old, ok := tokens[camera]; ok && old > token {
			t.Errorf("camera %s: token %d after %d", camera, token, old)
		}
	}

	began := time.Now()
	c.kill()
	allRun(t, n, a)
	if took := time.Since(began); took < testTiming.TTL-testTiming.TTL/8 {
		t.Errorf("taken over after %v; want no earlier than a TTL after the last heartbeat", took)
	}
	st := a.Status()
	if st.Boxes[2].Alive || st.Boxes[2].By != "a" {
		t.Errorf("the box that fell silent: %+v", st.Boxes[2])
	}
	for _, cam := range st.Cameras {
		if cam.Box != "a" || cam.Fault != "" {
			t.Errorf("%+v", cam)
		}
	}
}

// kill ends the box as SIGKILL would: without a message.
func (b *testBox) kill() {
	b.conn.Close()
	b.end()
}

// faultyLink is a way to s that can be cut.
func faultyLink(t *testing.T, s *server.Server) *netfault.Proxy {
	t.Helper()
	proxy, err := netfault.New(strings.TrimPrefix(s.ClientURL(), "nats://"))
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}

// Whatever happens, two boxes never hold one camera at one time.
func TestNeverTwo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: a faulty network, on real clocks")
	}
	s := startNATS(t)
	proxy := faultyLink(t, s)
	const n = 6
	a := join(t, "nats://"+proxy.Addr(), "a", cameras(n), nil)
	b := join(t, s.ClientURL(), "b", cameras(n), nil)
	allRun(t, n, a, b)

	stop, twice := make(chan struct{}), make(chan string, 1)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			first := a.valid()
			for camera := range b.valid() {
				// Asked again: time has passed since.
				if _, both := first[camera]; both && a.holds(camera) {
					select {
					case twice <- camera:
					default:
					}
				}
			}
		}
	})
	for range 3 {
		proxy.Freeze(true)
		until(t, "the box that is cut off publishes nothing", func() bool { return len(a.valid()) == 0 })
		until(t, "the other has all", func() bool { return len(b.valid()) == n })
		proxy.Thaw()
		until(t, "it is back", func() bool { return len(a.valid()) >= n/2-1 })
		allRun(t, n, a, b)
	}
	close(stop)
	watching.Wait()
	if a.fenced.Load() != 0 || b.fenced.Load() != 3 || a.lapsed.Load() < 3 || b.lapsed.Load() != 0 {
		t.Errorf("the box that was cut off has ended %d sessions, the other %d; want 0 and 3. They lapsed %d and %d times", a.fenced.Load(), b.fenced.Load(), a.lapsed.Load(), b.lapsed.Load())
	}
	select {
	case camera := <-twice:
		t.Errorf("camera %s was held by two boxes at one time", camera)
	default:
	}
}

func (b *testBox) holds(camera string) bool {
	_, ok := b.valid()[camera]
	return ok
}

// A box that reaches others and is not reached by anybody loses its cameras as one does that is dead, and is back when
// it hears again.
func TestDeaf(t *testing.T) {
	s := startNATS(t)
	proxy := faultyLink(t, s)
	const n = 6
	a := join(t, "nats://"+proxy.Addr(), "a", nil, nil)
	b := join(t, s.ClientURL(), "b", nil, nil)
	know(t, a, b)
	a.Cameras(cameras(n))
	b.Cameras(cameras(n))
	eachRuns(t, n, a, b)
	proxy.FreezeWay(netfault.ToClient, true)
	began := time.Now()
	until(t, "the other has all", func() bool { return len(b.valid()) == n })
	if took := time.Since(began); took < testTiming.TTL {
		t.Errorf("taken over after %v", took)
	}
	if len(a.valid()) > 0 {
		t.Error("the box that hears nothing publishes")
	}
	proxy.Thaw()
	until(t, "it is back", func() bool { return len(a.valid()) >= n/2-1 })
	allRun(t, n, a, b)
}

// A box that has just joined, and looks around, takes what it is given all the same.
func TestGivenAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: boxes on real clocks")
	}
	s := startNATS(t)
	slow := func(_ *testBox, cfg *Config) { cfg.Timing = Timing{TTL: 8 * time.Second} }
	a := join(t, s.ClientURL(), "a", cameras(1), slow)
	allRun(t, 1, a)
	b := join(t, s.ClientURL(), "b", cameras(1), slow)
	know(t, a, b)
	runsAt(t, a, "c000", "a")
	require.NoError(t, a.Move(t.Context(), "c000", "b"))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Member.mu.Lock()
	defer b.Member.mu.Unlock()
	if now := b.now(); now >= b.settled {
		t.Errorf("it has the camera after %v, and had looked around after %v", now, b.settled)
	}
}

// A short lapse costs no camera: the box goes on with the same tokens.
func TestLapse(t *testing.T) {
	s := startNATS(t)
	proxy := faultyLink(t, s)
	a := join(t, "nats://"+proxy.Addr(), "a", cameras(4), nil)
	allRun(t, 4, a)
	before := a.valid()
	proxy.Freeze(true)
	until(t, "nothing is published", func() bool { return len(a.valid()) == 0 })
	proxy.Thaw() // there is no box that would have taken them
	until(t, "all is published", func() bool { return len(a.valid()) == 4 })
	if after := a.valid(); !maps.Equal(before, after) {
		t.Errorf("tokens %v, and %v after a lapse", before, after)
	}
}

// Labels, limits, orders and moves.
func TestOrders(t *testing.T) {
	s := startNATS(t)
	const n = 12
	list := cameras(n)
	list[0].Wants = map[string]string{"gpu": "true"}
	list[1].Wants = map[string]string{"near": "gate"}
	a := join(t, s.ClientURL(), "a", list, nil)
	b := join(t, s.ClientURL(), "b", list, func(_ *testBox, cfg *Config) { cfg.Labels = map[string]string{"gpu": "true"} })
	c := join(t, s.ClientURL(), "c", list, func(_ *testBox, cfg *Config) { cfg.Most = 2 })
	until(t, "all run that may", func() bool { _, all := spread(n-1, a, b, c); return all })
	if !b.holds("c000") || len(c.valid()) > 2 {
		t.Errorf("the box with a label has c000: %v; the one that takes two has %d", b.holds("c000"), len(c.valid()))
	}
	if cam := a.Status().Cameras[1]; cam.Box != "" || !strings.Contains(cam.Fault, "gate") {
		t.Errorf("a camera that no box may run: %+v", cam)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()

	// Asked of a box that neither has it nor gets it.
	at := slices.Sorted(maps.Keys(b.valid()))
	camera := at[len(at)-1]
	if camera == "c000" {
		t.Fatal("the second box has one camera only")
	}
	runsAt(t, c, camera, "b")
	assert.NoError(t, c.Move(ctx, camera, "a"))
	until(t, "it runs there", func() bool { return a.holds(camera) })
	for _, cam := range a.Status().Cameras {
		if cam.Name == camera && (cam.From != "b" || cam.Why != WhyMove) {
			t.Errorf("%+v", cam)
		}
	}
	for _, tc := range []struct{ camera, to, want string }{
		{"c000", "a", "gpu"}, {"nosuch", "a", `unknown camera "nosuch"`}, {camera, "nosuch", `"a" "b" "c"`}, {"c001", "b", "near"},
	} {
		assert.ErrorContains(t, a.Move(ctx, tc.camera, tc.to), tc.want, "moving %s to %s", tc.camera, tc.to)
	}

	require.NoError(t, a.Order(ctx, "a", "drain"))
	until(t, "it runs nothing any more", func() bool {
		a.Member.mu.Lock()
		defer a.Member.mu.Unlock()
		return len(a.mine()) == 0
	})
	allBut := func(boxes ...*testBox) func() bool {
		return func() bool { _, all := spread(n-1, boxes...); return all }
	}
	until(t, "the others have what was drained", allBut(b, c))
	assert.ErrorContains(t, b.Move(ctx, "c002", "a"), "drained")
	require.NoError(t, c.Order(ctx, "a", "uncordon"))
	until(t, "it has cameras again", func() bool { return len(a.valid()) > 0 })
	assert.ErrorContains(t, b.Order(ctx, "nosuch", "cordon"), `"a" "b" "c"`)
}

// A camera that was moved by request stays where it was moved to, however uneven that makes the boxes.
func TestMovedStays(t *testing.T) {
	s := startNATS(t)
	const n = 8
	a, b := two(t, s, n)
	until(t, "they are even", func() bool { return len(a.valid()) == n/2 && len(b.valid()) == n/2 })
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for camera := range b.valid() {
		runsAt(t, a, camera, "b")
		require.NoError(t, a.Move(ctx, camera, "a"))
	}
	moved := a.valid()
	until(t, "the plan has evened out what it may", func() bool { return len(b.valid()) == n/2 })
	for camera, token := range a.valid() {
		assert.Equal(t, token, moved[camera], "camera %s, which was moved to a box, has left it", camera)
	}
}

// What one box cannot run another does; what no box is told of ends.
func TestMisfits(t *testing.T) {
	s := startNATS(t)
	const n = 8
	a := join(t, s.ClientURL(), "a", cameras(n), func(b *testBox, _ *Config) {
		for _, c := range cameras(n) {
			b.refuses[c.Name] = fmt.Errorf("no such device")
		}
	})
	b := join(t, s.ClientURL(), "b", cameras(n), nil)
	until(t, "the box that can runs all", func() bool { return len(b.valid()) == n })
	a.Cameras(cameras(n - 1))
	b.Cameras(cameras(n - 1))
	until(t, "the one that was removed ends", func() bool { return len(b.valid()) == n-1 })
	until(t, "and is listed no more", func() bool { return len(b.Status().Cameras) == n-1 })
}

// A box that was killed and starts again under its name has its cameras again, and one whose name another has runs
// nothing.
func TestSameName(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: boxes that start again, on real clocks")
	}
	s := startNATS(t)
	a := join(t, s.ClientURL(), "a", cameras(3), nil)
	allRun(t, 3, a)
	tokens := a.valid()
	a.kill()
	again := join(t, s.ClientURL(), "a", cameras(3), nil)
	allRun(t, 3, again)
	for camera, token := range again.valid() {
		if token <= tokens[camera] {
			t.Errorf("camera %s: token %d after %d", camera, token, tokens[camera])
		}
	}
	var said atomic.Bool
	other := join(t, s.ClientURL(), "a", cameras(3), func(_ *testBox, cfg *Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(writer(func(text []byte) {
			if strings.Contains(string(text), "another box of this name") {
				said.Store(true)
			}
		}), nil))
	})
	time.Sleep(3 * testTiming.TTL)
	if !said.Load() {
		t.Error("nobody is told that two boxes have one name")
	}
	if _, all := spread(3, again); !all || len(other.valid()) > 0 {
		t.Errorf("the first has %v, the second box of its name %v", again.valid(), other.valid())
	}
	again.kill()
	allRun(t, 3, other)
}

// A camera that is handed over goes on until the other box is ready for it, and leaves also if that never is.
func TestPrepare(t *testing.T) {
	s := startNATS(t)
	a := join(t, s.ClientURL(), "a", cameras(1), nil)
	allRun(t, 1, a)
	ready := make(chan struct{})
	b := join(t, s.ClientURL(), "b", cameras(1), func(b *testBox, _ *Config) { b.slow = ready })
	know(t, a, b)
	runsAt(t, b, "c000", "a")
	moved := make(chan error, 1)
	go func() { moved <- b.Move(t.Context(), "c000", "b") }()
	time.Sleep(testTiming.TTL)
	if len(a.valid()) == 0 || len(b.valid()) > 0 {
		t.Error("it left before the other box was ready")
	}
	close(ready)
	assert.NoError(t, <-moved)
	allRun(t, 1, b)
	// Once, and once more each time that the box was silent meanwhile, as on a busy machine; not with every beat.
	if n := b.prepared["c000"]; n == 0 || n >= 8 /* beats in a TTL */ {
		t.Errorf("the box was asked %d times to make ready", n)
	}

	// Who ends gives its cameras to a box that is ready, too, and to one that says it is not.
	b.end()
	allRun(t, 1, a)
	if cam := a.Status().Cameras[0]; cam.Why != WhyLeft || cam.From != "b" || a.prepared["c000"] == 0 {
		t.Errorf("%+v, made ready %d times", cam, a.prepared["c000"])
	}
}

// A camera that is handed over has ended here before another box may run it.
func TestHandOverWaits(t *testing.T) {
	s := startNATS(t)
	a := join(t, s.ClientURL(), "a", cameras(1), nil)
	allRun(t, 1, a)
	b := join(t, s.ClientURL(), "b", cameras(1), nil)
	know(t, a, b)
	runsAt(t, b, "c000", "a")
	ending := make(chan struct{})
	a.mu.Lock()
	a.stopped = ending
	a.mu.Unlock()
	moved := make(chan error, 1)
	go func() { moved <- b.Move(t.Context(), "c000", "b") }()
	time.Sleep(testTiming.TTL)
	if len(b.valid()) > 0 || len(a.valid()) == 0 {
		t.Error("it was taken before it had ended")
	}
	close(ending)
	assert.NoError(t, <-moved)
	allRun(t, 1, b)
	if cam := b.Status().Cameras[0]; cam.From != "a" || cam.Why != WhyMove {
		t.Errorf("%+v", cam)
	}
}

// A camera that is handed over while it is about to begin here is not given up before it has begun and ended.
func TestHandOverWaitsForBegin(t *testing.T) {
	s := startNATS(t)
	begin := make(chan struct{})
	a := join(t, s.ClientURL(), "a", cameras(1), func(b *testBox, _ *Config) { b.stopped = begin })
	until(t, "it has the lease", func() bool { box, _ := a.Holder("c000"); return box == "a" })
	b := join(t, s.ClientURL(), "b", cameras(1), nil)
	until(t, "the second box has joined", func() bool { return len(a.Status().Boxes) == 2 && b.Status().Publishing })
	time.Sleep(testTiming.TTL / 4)
	require.NoError(t, a.handOver("c000", "b", WhyMove))
	time.Sleep(testTiming.TTL)
	if len(b.valid()) > 0 {
		t.Error("it was taken while the first box was about to run it")
	}
	close(begin)
	allRun(t, 1, b)
}

// A rate that a lease has been told stays with the camera, and its token does not change with it.
func TestRates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: boxes on real clocks")
	}
	s := startNATS(t)
	a := join(t, s.ClientURL(), "a", cameras(2), func(_ *testBox, cfg *Config) { cfg.Rate = func(string) float64 { return 25 } })
	allRun(t, 2, a)
	before := a.valid()
	until(t, "the rates are known", func() bool { b := a.Status().Boxes; return len(b) == 1 && b[0].Load == 50 })
	if after := a.valid(); !maps.Equal(before, after) {
		t.Errorf("tokens %v, then %v", before, after)
	}
	a.kill()
	b := join(t, s.ClientURL(), "b", cameras(2), nil)
	allRun(t, 2, b)
	if load := b.Status().Boxes[1].Load; load != 50 {
		t.Errorf("load %v of the box that has them next; want 50", load)
	}
}

// A capacity and rates that are measured a little differently each time are not told again.
func TestSteady(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: boxes on real clocks")
	}
	s := startNATS(t)
	var more atomic.Bool
	about := func(v float64) float64 {
		if more.Load() {
			v *= 1.1
		}
		return v
	}
	a := join(t, s.ClientURL(), "a", cameras(2), func(_ *testBox, cfg *Config) {
		cfg.Capacity = func() float64 { return about(1000) }
		cfg.Rate = func(string) float64 { return about(25) }
	})
	allRun(t, 2, a)
	until(t, "the rates are known", func() bool { return a.Status().Boxes[0].Load == 50 })
	told := func() [3]uint64 {
		a.Member.mu.Lock()
		defer a.Member.mu.Unlock()
		return [3]uint64{a.view.boxes["a"].revision, a.view.leases["c000"].revision, a.view.leases["c001"].revision}
	}
	before := told()
	for i := range 4 {
		more.Store(i%2 == 0)
		a.Member.mu.Lock()
		a.rateAt = 0
		a.tell()
		a.Member.mu.Unlock()
		time.Sleep(testTiming.TTL / 4)
	}
	if after := told(); after != before {
		t.Errorf("the box's revision and its cameras' are %d, and were %d", after, before)
	}
}

// A box that is drained gives a few of its cameras away at a time.
func TestDrainedInTurn(t *testing.T) {
	s := startNATS(t)
	const n = 3 * leavingAtOnce
	a := join(t, s.ClientURL(), "a", cameras(n), nil)
	allRun(t, n, a)
	require.NoError(t, a.Order(t.Context(), "a", "drain"))
	ready := make(chan struct{})
	b := join(t, s.ClientURL(), "b", cameras(n), func(b *testBox, _ *Config) { b.slow = ready })
	asked := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.prepared)
	}
	until(t, "it gives some away", func() bool { return asked() == leavingAtOnce })
	time.Sleep(testTiming.TTL)
	if got := asked(); got != leavingAtOnce {
		t.Errorf("the other box is asked to make ready for %d cameras at once, want %d", got, leavingAtOnce)
	}
	close(ready)
	allRun(t, n, b)
}

// The key of a box that has been over for long is removed.
func TestForgotten(t *testing.T) {
	s := startNATS(t)
	a, b := two(t, s, 2)
	b.end()
	until(t, "it is known to have left", func() bool { return !a.Status().Boxes[1].Alive })
	a.Member.mu.Lock()
	a.view.boxes["b"].since -= forgetAfter
	a.Member.mu.Unlock()
	until(t, "it is listed no more", func() bool { return len(a.Status().Boxes) == 1 })
}

// What a box renews is told to no box but those that watch it.
func TestQuiet(t *testing.T) {
	s := startNATS(t)
	a, b := two(t, s, 4)
	until(t, "they are even", func() bool { return len(a.valid()) == 2 && len(b.valid()) == 2 })
	revision := func() uint64 {
		_, r, err := a.store.life(t.Context(), "b")
		require.NoError(t, err)
		return r
	}
	newest := slices.Max(append(slices.Collect(maps.Values(a.valid())), slices.Collect(maps.Values(b.valid()))...))
	var seen uint64
	until(t, "the box that watches is told of the last lease", func() bool {
		a.Member.mu.Lock()
		defer a.Member.mu.Unlock()
		seen = a.seen
		return seen >= newest
	})
	for range 2 {
		before := revision()
		until(t, "the box has renewed its key", func() bool { return revision() > before })
	}
	until(t, "the box that watches it knows", func() bool {
		a.Member.mu.Lock()
		defer a.Member.mu.Unlock()
		return a.signs["b"].revision > seen
	})
	a.Member.mu.Lock()
	defer a.Member.mu.Unlock()
	if a.seen != seen {
		t.Errorf("told of revision %d while nothing but that has changed since %d", a.seen, seen)
	}
}

// A session that was ended by one who died before all were told is ended by the others.
func TestHalfEnded(t *testing.T) {
	s := startNATS(t)
	a, b, c := join(t, s.ClientURL(), "a", cameras(6), nil), join(t, s.ClientURL(), "b", cameras(6), nil), join(t, s.ClientURL(), "c", cameras(6), nil)
	eachRuns(t, 6, a, b, c)
	b.kill()
	l, revision, err := a.store.life(t.Context(), "b")
	require.NoError(t, err)
	l.Over = true
	_, err = a.store.set(t.Context(), lifeKey+"b", encode(l), revision)
	require.NoError(t, err)
	allRun(t, 6, a, c)
	if by := a.Status().Boxes[1].By; by == "" {
		t.Error("nobody has ended it")
	}
}

// bystander asks the server for nothing, again and again; slowest ends that, and says how long it took at most.
func bystander(t *testing.T, s *server.Server) (slowest func() time.Duration) {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	ctx, stop := context.WithCancel(t.Context())
	most := make(chan time.Duration, 1)
	go func() {
		longest := time.Duration(0)
		for last := time.Now(); ; last = time.Now() {
			assert.NoError(t, conn.FlushTimeout(waitLimit))
			select {
			case <-ctx.Done():
				most <- longest
				return
			case <-time.After(10 * time.Millisecond):
			}
			longest = max(longest, time.Since(last))
		}
	}()
	return func() time.Duration {
		stop()
		return <-most
	}
}

// Boxes that begin together with many cameras share them at once, and are not so busy with it that one is taken for
// dead.
func TestManyCameras(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: 8 boxes with 2000 cameras")
	}
	s := startNATS(t)
	const n, boxes = 2000, 8
	var all []*testBox
	for i := range boxes {
		all = append(all, join(t, s.ClientURL(), fmt.Sprintf("box%d", i), nil, func(_ *testBox, cfg *Config) {
			cfg.Logger = nil
			cfg.Timing = Timing{} // as in a fleet: this is about a load
			cfg.Capacity = func() float64 { return 4 * 10 * n / boxes }
		}))
	}
	know(t, all...)
	slowest := bystander(t, s)
	for _, b := range all {
		b.Cameras(cameras(n))
	}
	allRun(t, n, all...)
	counts, _ := spread(n, all...)
	if least, most := slices.Min(counts), slices.Max(counts); least < n/boxes*3/4 || most > n/boxes*5/4 {
		t.Errorf("the cameras are shared %v", counts)
	}
	waited := slowest()
	for _, b := range all {
		if b.fenced.Load() > 0 || b.lapsed.Load() > 0 {
			fault := t.Errorf
			if waited > DefaultTTL/4 { // it is this machine that cannot do it
				fault = t.Logf
			}
			fault("%s has ended %d sessions and lapsed %d times; somebody who has nothing to do waited %v for the server", b.name, b.fenced.Load(), b.lapsed.Load(), waited)
		}
		b.conn.Close() // as if all lost power: those that are left would take all, one after another
	}
}

// A renewal that no heartbeat tells of, as of a box that is not reached any more, is found while it is silent, and not
// when its session is to be ended: that would cost another TTL.
func TestLastRenewal(t *testing.T) {
	s := startNATS(t)
	a, b := two(t, s, 2)
	l, revision, err := a.store.life(t.Context(), "b")
	require.NoError(t, err)
	b.conn.Close()
	revision, err = a.store.set(t.Context(), lifeKey+"b", encode(l), revision)
	require.NoError(t, err)
	until(t, "the renewal is known", func() bool {
		a.Member.mu.Lock()
		defer a.Member.mu.Unlock()
		s := a.signs["b"]
		return s == nil || s.revision >= revision
	})
	if by := a.Status().Boxes[1].By; by != "" {
		t.Errorf("it was known when box %s had ended the session", by)
	}
	b.end()
	allRun(t, 2, a)
}
