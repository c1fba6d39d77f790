package cameras

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/segd/segd/api"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/objects/zones"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// still is a camera that shows nothing.
type still struct {
	name  string
	zones zones.Layout
}

func (s *still) Name() string { return s.name }

func (*still) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s *still) SetZones(_ context.Context, l zones.Layout) (zones.Layout, error) {
	s.zones = l
	return l, nil
}

// testHost makes cameras that show nothing, and notes what it is told.
type testHost struct {
	openErr  error
	claimErr func(names []string) error // nil: no segd objects
	unable   string                     // a camera that cannot be built, though everything about it can be tried

	mu      sync.Mutex
	claimed []string
	listed  []string // what Tell said last
	gone    []string // what Tell said was going
	built   []string // in their order, with the token of their leases and how much is marked
	removed []string
	now     *config.Config
}

func (h *testHost) Open(*config.Config) (func(), error) { return func() {}, h.openErr }

func (*testHost) Check(Build) error { return nil }

func (h *testHost) Build(b Build) (*still, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.Camera.Name == h.unable {
		return nil, errors.New("it cannot be built")
	}
	what := b.Camera.Name
	if b.Lease != nil {
		what += fmt.Sprintf(" %d", b.Lease.Token)
	}
	if b.Marks != nil {
		what += " marked"
	}
	h.built = append(h.built, what)
	return &still{b.Camera.Name, b.Camera.Layout()}, nil
}

func (h *testHost) Claim(names []string) error {
	if h.claimErr != nil {
		if err := h.claimErr(names); err != nil {
			return err
		}
	}
	h.claimed = slices.Clone(names)
	return nil
}

func (h *testHost) Tell(here, going, all []config.Camera) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed = names(all)
	h.gone = append(h.gone, names(going)...)
}

func (h *testHost) Changed(now *config.Config) { h.now = now }

func (h *testHost) Removed(name string) { h.removed = append(h.removed, name) }

func (h *testHost) Possible(running, wanted *config.Config) *config.Config {
	next := *running
	next.Cameras, next.Log, next.Privacy = wanted.Cameras, wanted.Log, wanted.Privacy
	return &next
}

// begun returns what was built since it was asked last.
func (h *testHost) begun() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	built := h.built
	h.built = nil
	return built
}

// memory is a Bucket, and the checkpoints beside it.
type memory struct {
	mu      sync.Mutex
	err     error // of all that is asked of it
	values  map[string][]byte
	read    func() // called once what KeptCameras returns is settled; may be nil
	deleted []string
	changes []chan struct{}
}

func (b *memory) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *memory) KeptCameras(context.Context) (map[string][]byte, error) {
	b.mu.Lock()
	values, err, read := maps.Clone(b.values), b.err, b.read
	b.mu.Unlock()
	if read != nil {
		read()
	}
	return values, err
}

func (b *memory) change(do func()) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		do()
		for _, c := range b.changes {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	return b.err
}

func (b *memory) KeepCamera(_ context.Context, camera string, value []byte) error {
	return b.change(func() {
		if b.values == nil {
			b.values = map[string][]byte{}
		}
		b.values[camera] = value
	})
}

func (b *memory) ForgetCamera(_ context.Context, camera string) error {
	return b.change(func() { delete(b.values, camera) })
}

func (b *memory) WatchKeptCameras(ctx context.Context, changed func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	b.changes = append(b.changes, c)
	b.mu.Unlock()
	for {
		changed()
		select {
		case <-ctx.Done():
			return
		case <-c:
		}
	}
}

func (b *memory) Delete(_ context.Context, camera string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deleted = append(b.deleted, camera)
	return nil
}

// running is a Manager whose cameras run.
type running struct {
	*Manager[*still]
	t    *testing.T
	host *testHost
	log  *clitest.Output
	stop func() // ends it; it may be called again
}

// parse is the configuration of that text.
func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("segd.yaml", []byte(text), nil)
	require.NoError(t, err)
	return cfg
}

// set changes a camera, by the name of it or by a patch that has its name.
func (r *running) set(camera string, patch []byte) error {
	name, err := r.Set(r.t.Context(), camera, patch)
	if err == nil && (name == "" || camera != "" && name != camera) {
		r.t.Errorf("%q is called %q", camera, name)
	}
	return err
}

// begin runs a Manager with the cameras of a configuration. kept may be nil.
func begin(t *testing.T, host *testHost, shared bool, text string, kept *memory, key string) *running {
	t.Helper()
	r := &running{t: t, host: host, log: &clitest.Output{}}
	r.Manager = New(Config[*still]{Host: host, Shared: shared, Logger: slog.New(slog.NewTextHandler(r.log, nil))})
	cfg := parse(t, text)
	marks, err := Check(t.Context(), cfg)
	require.NoError(t, err)
	with := Initial{Settings: cfg, Marks: marks, Open: func(int) error { return nil }}
	if kept != nil {
		with.Kept = Kept{Bucket: kept, KeyFile: key, Checkpoints: kept}
	}
	require.NoError(t, r.Start(t.Context(), with))
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = r.Running().Run(ctx) })
	all.Go(func() { r.Follow(ctx) })
	r.stop = func() {
		cancel()
		all.Wait()
		r.Close()
	}
	t.Cleanup(r.stop)
	return r
}

func keyFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "cameras.key")
}

// runs checks which cameras run, and that the others have been told.
func (r *running) runs(want ...string) {
	r.t.Helper()
	var got []string
	for _, c := range r.Running().Cameras() {
		got = append(got, c.Name())
	}
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	for what, got := range map[string][]string{"run": got, "are claimed": r.host.claimed, "are in the settings": names(r.host.now.Cameras), "are listed": r.host.listed} {
		if !slices.Equal(got, want) {
			r.t.Errorf("%q %s, want %q", got, what, want)
		}
	}
}

// declared is what is listed of a camera; its zero value if it is not.
func (r *running) declared(name string) api.Declared {
	all, _ := r.Declared()
	for _, d := range all {
		if d.Name == name {
			return d
		}
	}
	return api.Declared{}
}

func (r *running) add(body string) {
	r.t.Helper()
	if _, err := r.Add(r.t.Context(), []byte(body)); err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
}

// refused checks that err is a Refusal with that status, which says so.
func refused(t *testing.T, err error, status int, says string) {
	t.Helper()
	var r *api.Refusal
	if !errors.As(err, &r) {
		t.Errorf("%v; want it refused with %d", err, status)
		return
	}
	text := r.Type + " " + r.Detail
	for _, f := range r.Fields {
		text += " " + f.Pointer + " " + f.Detail
	}
	if r.Status != status || !strings.Contains(text, says) || strings.Contains(text, "geheim") {
		t.Errorf("%d %s; want %d with %q", r.Status, text, status, says)
	}
}

// reload has it do what a configuration says.
func (r *running) reload(text string) api.Reloaded {
	r.t.Helper()
	out, err := r.Reload(r.t.Context(), func(context.Context) (*config.Config, error) { return parse(r.t, text), nil })
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}
