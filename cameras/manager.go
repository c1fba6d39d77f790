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
	"github.com/segd/segd/pipeline"
)

// Config is what a Manager is made of. Host and Logger are required.
type Config struct {
	Host Host
	// Base is the folder that relative paths of added cameras start at.
	Base string
	// Shared says that boxes of a fleet share the cameras: this one runs those that Assign names, and the cameras
	// that are kept are as other boxes change them.
	Shared bool
	Logger *slog.Logger
}

// Host is the process that the cameras run in. Its methods are called one after another.
type Host interface {
	// Open opens what cameras of a configuration need and nobody needed before. undo gives that back.
	Open(next *config.Config) (undo func(), err error)
	// Camera is what the n-th camera of those that are built together is made of. lease is nil but in a fleet.
	Camera(n int, cam config.Camera, marks *annotation.Annotation, lease pipeline.Lease) pipeline.Config
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
type Manager struct {
	host   Host
	base   string
	shared bool
	log    *slog.Logger
	set    *pipeline.Set

	current atomic.Pointer[config.Config] // what runs, in a fleet on any box; only apply sets it
	added   added

	turn *semaphore.Weighted // held by who changes what follows
	over bool                // nothing is changed any more
	kept Kept
	ran  *config.Config // with the cameras that this segd runs
	// Of a fleet:
	leases map[string]pipeline.Lease         // by camera
	tokens map[string]uint64                 // of the leases that the cameras were built with
	marks  map[string]*annotation.Annotation // what is marked in the first frames of cameras
}

// New returns a Manager of no cameras. Whoever changes them waits until Start has returned.
func New(cfg Config) *Manager {
	set, _ := pipeline.NewSet() // of no cameras, none of which can be wrong
	m := &Manager{
		host: cfg.Host, base: cfg.Base, shared: cfg.Shared, log: cfg.Logger, set: set, turn: semaphore.NewWeighted(1),
		tokens: map[string]uint64{}, marks: map[string]*annotation.Annotation{},
	}
	m.added.all = map[string]*addedCamera{}
	m.turn.TryAcquire(1)
	return m
}

// Set is the cameras that run, or will once its Run is called.
func (m *Manager) Running() *pipeline.Set { return m.set }

// Settings are those that segd runs with, and all cameras, in a fleet those of other boxes too. They are not changed.
func (m *Manager) Settings() *config.Config { return m.current.Load() }

// takeTurn has the caller be the one that changes cameras; it gives the turn back by m.turn.Release(1).
func (m *Manager) takeTurn(ctx context.Context) error {
	if err := m.turn.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("another change of the cameras is in hand: %w", err)
	}
	if m.over {
		m.turn.Release(1)
		return pipeline.ErrSetEnded
	}
	return nil
}

// Close waits for the change in hand and refuses all others. Whoever calls it has ended the Set.
func (m *Manager) Close() {
	_ = m.turn.Acquire(context.Background(), 1) // which cannot fail
	m.over = true
	m.turn.Release(1)
}

// Start makes the cameras there are by now; nothing is dialled yet.
func (m *Manager) Start(ctx context.Context, with Initial) error {
	defer m.turn.Release(1)
	cfg := with.Settings
	none := *cfg
	none.Cameras = nil
	m.current.Store(&none)
	m.ran = &none
	m.added.setFile(cfg.Cameras)
	if with.Kept.Bucket != nil {
		m.added.store = &cameraStore{Kept: with.Kept}
	}
	if values, err := m.fetchKept(ctx); err == nil {
		m.takeKept(values)
	} else if !errors.Is(err, errNoKeyPath) {
		m.log.Error("the cameras that are kept are not known yet", "error", err)
	}
	also, marks := m.idle(ctx)
	if len(cfg.Cameras)+len(also) == 0 {
		m.log.Info("there are no cameras yet; the page and segd camera add add them")
	}
	if len(cfg.Cameras) == 0 || m.shared { // others may come
		m.set.Stay()
	}
	// Others are given time to object while what all cameras share is opened.
	claimed := make(chan error, 1)
	go func() { claimed <- m.host.Claim(names(m.here(cfg).Cameras)) }()
	err := with.Open(len(cfg.Cameras) + len(also))
	if err = errors.Join(err, <-claimed); err != nil {
		return err
	}
	if len(also) > 0 { // all at once, for one detector for all
		all := *cfg
		all.Cameras = m.ordered(slices.Concat(cfg.Cameras, also))
		maps.Copy(marks, with.Marks)
		if c, err := m.prepare(&all, marks); err == nil {
			m.set.Stay()
			return m.apply(ctx, c)
		}
	}
	c, err := m.prepare(cfg, with.Marks)
	if err != nil {
		return err
	}
	if err := m.apply(ctx, c); err != nil {
		return err
	}
	m.join(ctx)
	return nil
}

// reloadKept is how often the store is asked again that could not be read.
const reloadKept = 5 * time.Second

// Follow has the cameras that are kept run, until ctx ends: in a fleet as other boxes change them, else once the store
// can be read that could not at the start.
func (m *Manager) Follow(ctx context.Context) {
	if m.shared && m.added.store != nil {
		m.added.store.WatchKeptCameras(ctx, func() { m.takeChanges(ctx) })
		return
	}
	tick := time.NewTicker(reloadKept)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if why := m.added.fault(); why == nil || errors.Is(why, errNoKeyPath) {
			continue
		}
		values, err := m.fetchKept(ctx)
		if err != nil {
			continue
		}
		if m.takeTurn(ctx) != nil {
			return
		}
		m.takeKept(values)
		m.log.Info("the cameras that are kept were read", "cameras", m.added.names())
		m.join(ctx)
		m.turn.Release(1)
	}
}
