package cameras

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/set"
)

// Config is what a Manager is made of. Host and Logger are required.
type Config[C Camera] struct {
	Host Host[C]
	// Base is the folder that relative paths of added cameras start at.
	Base string
	// Shared says that boxes of a fleet share the cameras: this one runs those that Assign names, and the cameras
	// that are kept are as other boxes change them.
	Shared bool
	Logger *slog.Logger
}

// A Camera is one that runs; *pipeline.Camera is one.
type Camera interface {
	set.Camera
	// SetZones puts other zones and lines in place of those there are, and returns them with their defaults.
	SetZones(context.Context, zones.Layout) (zones.Layout, error)
}

// Build says what a camera is made of.
type Build struct {
	Settings *config.Config
	Nth      int // of the cameras that are built together
	Camera   config.Camera
	Marks    *annotation.Annotation // in its first frames; nil: none
	Lease    *fleet.Lease           // nil but in a fleet
}

// Host is the process that the cameras run in. Its methods are called one after another.
type Host[C Camera] interface {
	// Open opens what cameras of a configuration need and did not need before. undo gives that back.
	Open(next *config.Config) (undo func(), err error)
	// Check tells why a camera cannot be built, as far as that can be told without building it.
	Check(Build) error
	// Build makes a camera.
	Build(Build) (C, error)
	// Claim tells other segds which cameras this one runs. One that has them may object.
	Claim(names []string) error
	// Tell tells who lists cameras, or waits for them: here are those of this segd, going those of them that are
	// about to end or to be replaced, and all has those of other boxes too.
	Tell(here, going, all []config.Camera)
	// Changed tells of the settings that are heeded from now on, with all cameras.
	Changed(now *config.Config)
	// Removed forgets what was counted of a camera that is gone, or built anew.
	Removed(name string)
	// Possible is as much of wanted as can be had without a restart, with the rest as it runs.
	Possible(running, wanted *config.Config) *config.Config
}

// Initial is what a Manager starts with.
type Initial struct {
	Settings *config.Config                    // with the configuration's cameras
	Marks    map[string]*annotation.Annotation // by camera, as Check returns them
	Kept     Kept
	// Open opens what all cameras share, of which there are so many now.
	Open func(cameras int) error
}

// Manager changes the cameras of a segd, one change after another.
type Manager[C Camera] struct {
	host   Host[C]
	base   string
	shared bool
	log    *slog.Logger
	set    *set.Set[C]

	current atomic.Pointer[config.Config] // what runs, in a fleet on any box; only apply sets it
	known   atomic.Pointer[known]         // set in the turn only

	turn  *semaphore.Weighted // held by who changes what is above, or uses what follows
	over  bool                // nothing is changed any more
	store *cameraStore        // nil: added cameras live until segd ends
	ran   *config.Config      // with the cameras that this segd runs
	// Of a fleet, by camera:
	leases map[string]*fleet.Lease
	tokens map[string]uint64 // of the leases that the cameras were built with
}

// New returns a Manager of no cameras. Changes wait until Start has returned.
func New[C Camera](cfg Config[C]) *Manager[C] {
	m := &Manager[C]{host: cfg.Host, base: cfg.Base, shared: cfg.Shared, log: cfg.Logger, set: set.New[C](), turn: semaphore.NewWeighted(1)}
	m.current.Store(&config.Config{})
	m.known.Store(&known{})
	m.turn.TryAcquire(1)
	return m
}

// Running is the cameras that run, or will once its Run is called.
func (m *Manager[C]) Running() *set.Set[C] { return m.set }

// Settings are those that segd runs with, and all cameras, in a fleet those of other boxes too. They are not changed.
func (m *Manager[C]) Settings() *config.Config { return m.current.Load() }

// Complete tells whether the cameras are known that are kept, as far as any can be.
func (m *Manager[C]) Complete() bool {
	why := m.known.Load().unread
	return why == nil || errors.Is(why, errNoKeyPath)
}

// takeTurn has the caller be the one that changes cameras; it gives the turn back by m.turn.Release(1).
func (m *Manager[C]) takeTurn(ctx context.Context) error {
	if err := m.turn.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("another change of the cameras is in hand: %w", err)
	}
	if m.over {
		m.turn.Release(1)
		return set.ErrEnded
	}
	return nil
}

// Close waits for the change in hand and refuses all others. The Set has ended by then.
func (m *Manager[C]) Close() {
	_ = m.turn.Acquire(context.Background(), 1) // which cannot fail
	m.over = true
	m.turn.Release(1)
}

// Start makes the cameras there are by now; nothing is dialled yet.
func (m *Manager[C]) Start(ctx context.Context, with Initial) error {
	defer m.turn.Release(1)
	none := *with.Settings
	none.Cameras = nil
	m.current.Store(&none)
	m.ran = &none
	if with.Kept.Bucket != nil {
		m.store = &cameraStore{Kept: with.Kept}
	}
	k := &known{file: with.Settings.Cameras, marks: with.Marks, kept: m.store != nil}
	values, err := m.fetchKept(ctx)
	if err == nil {
		k = m.takeKept(k, values)
	} else if k.unread = err; !errors.Is(err, errNoKeyPath) {
		m.log.Error("the cameras that are kept are not known yet", "error", err)
	}
	if len(k.file) == 0 || m.shared { // others may come
		m.set.Stay()
	}
	k, whole := m.completed(ctx, k)
	if len(k.file)+len(whole) == 0 {
		m.log.Info("there are no cameras yet; the page and segd camera add add them")
	}
	// Others are given time to object while what all cameras share is opened.
	claimed := make(chan error, 1)
	go func() { claimed <- m.host.Claim(names(m.here(with.Settings).Cameras)) }()
	err = with.Open(len(k.file) + len(whole))
	if err = errors.Join(err, <-claimed); err != nil {
		return err
	}
	return m.settle(ctx, k, whole)
}

// reloadKept is how often the store is asked again that could not be read.
const reloadKept = 5 * time.Second

// Follow has the cameras that are kept run, until ctx ends: in a fleet as other boxes change them, else once the store
// can be read that could not at the start.
func (m *Manager[C]) Follow(ctx context.Context) {
	switch {
	case m.store == nil:
		return
	case m.shared:
		m.store.WatchKeptCameras(ctx, func() { m.follow(ctx) })
		return
	}
	tick := time.NewTicker(reloadKept)
	defer tick.Stop()
	for !m.Complete() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.follow(ctx)
		}
	}
}

// follow has those cameras run that are kept by now. What cannot be read is looked at again with the next change,
// connection or tick.
func (m *Manager[C]) follow(ctx context.Context) {
	if m.takeTurn(ctx) != nil {
		return
	}
	defer m.turn.Release(1)
	values, err := m.fetchKept(ctx) // in the turn: what is kept changes in others
	if err != nil {
		return
	}
	before := m.known.Load()
	if before.unread != nil {
		m.log.Info("the cameras that are kept were read", "cameras", slices.Sorted(maps.Keys(values)))
	}
	next, whole := m.completed(ctx, m.takeKept(before, values))
	if err := m.settle(ctx, next, whole); err != nil {
		m.log.Error("the cameras are not those that are kept", "error", err)
		return // those that were removed may run on
	}
	for _, name := range before.names() {
		if next.added[name] == nil && !next.declared(name) {
			m.forget(ctx, name) // another box may have removed it before this one kept its last
		}
	}
}
