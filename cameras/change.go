package cameras

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
)

// layoutTimeout bounds the wait for a camera's frame in hand, after which its zones change.
const layoutTimeout = 10 * time.Second

// Check finds what the configuration cannot know to be wrong with its cameras: their URLs and
// their annotations, which it returns, by camera.
func Check(ctx context.Context, cfg *config.Config) (map[string]*annotation.Annotation, error) {
	annotations := map[string]*annotation.Annotation{}
	var faults []error
	for i, cam := range cfg.Cameras {
		a, err := checkCamera(ctx, fmt.Sprintf("cameras[%d].", i), cam)
		faults = append(faults, err)
		if a != nil {
			annotations[cam.Name] = a
		}
	}
	return annotations, errors.Join(faults...)
}

// checkCamera is Check of one camera, whose settings are below at.
func checkCamera(ctx context.Context, at string, cam config.Camera) (a *annotation.Annotation, err error) {
	var faults []error
	if cam.Annotation != "" {
		if a, err = ReadAnnotation(ctx, cam.Annotation); err != nil {
			faults = append(faults, &config.SettingError{Path: at + "annotation", Err: fmt.Errorf("camera %s: %w", cam.Name, err)})
		}
	}
	if !cam.Published() {
		if _, err := ingest.Open(Source(cam, nil)); err != nil {
			faults = append(faults, &config.SettingError{Path: at + "url", Err: err})
		}
	}
	return a, errors.Join(faults...)
}

// change is a configuration to come, of which everything has been tried that may fail.
type change[C Camera] struct {
	known        *known
	wanted       *config.Config // with all cameras, those that other boxes of a fleet run too
	before, next *config.Config // with those that this segd runs
	diff         config.Difference
	build        map[string]func() (C, error) // of the cameras that are new or built anew
	moves        []string                     // cameras of which nothing but the zones and lines are others
	abandon      func() error                 // gives back what was taken for it, if it is not applied
}

// prepare makes ready for the cameras of k with these settings, as far as this segd runs them, in place of those that it
// runs. An error leaves everything as it was. The caller has the turn.
func (m *Manager[C]) prepare(settings *config.Config, k *known) (_ *change[C], err error) {
	wanted := *settings
	var marks map[string]*annotation.Annotation
	wanted.Cameras, marks = k.cameras()
	before, next := m.ran, m.here(&wanted)
	c := &change[C]{
		known: k, wanted: &wanted, before: before, next: next, diff: config.Diff(before, next),
		build: map[string]func() (C, error){},
	}
	builds := append(m.anew(next), c.diff.Added...)
	for _, cam := range c.diff.Changed {
		if cam.LayoutOnly() {
			c.moves = append(c.moves, cam.Name)
		} else {
			builds = append(builds, cam.Name)
		}
	}
	undo, err := m.host.Open(next)
	if err != nil {
		return nil, err
	}
	c.abandon = func() error {
		undo()
		for _, name := range c.diff.Added {
			m.host.Removed(name)
		}
		return nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.abandon())
		}
	}()
	var faults []error
	for i, cam := range next.Cameras {
		if !slices.Contains(builds, cam.Name) {
			continue
		}
		with := Build{Settings: next, Nth: len(c.build), Camera: cam, Marks: marks[cam.Name], Lease: m.leases[cam.Name]}
		c.build[cam.Name] = func() (C, error) {
			m.host.Removed(cam.Name) // what the one before it had
			return m.host.Build(with)
		}
		if err := m.host.Check(with); err != nil {
			faults = append(faults, &config.SettingError{Path: fmt.Sprintf("cameras[%d]", i), Err: err})
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	// Last, since others hear of it.
	if err := m.host.Claim(append(names(next.Cameras), c.diff.Removed...)); err != nil {
		return nil, err
	}
	free := c.abandon
	c.abandon = func() error { return errors.Join(free(), m.host.Claim(names(before.Cameras))) }
	return c, nil
}

// going are the cameras that end, those that are built anew too.
func (c *change[C]) going() []config.Camera {
	return slices.DeleteFunc(slices.Clone(c.before.Cameras), func(cam config.Camera) bool {
		return !slices.Contains(c.diff.Removed, cam.Name) && c.build[cam.Name] == nil
	})
}

func names(cameras []config.Camera) []string {
	all := make([]string, len(cameras))
	for i, cam := range cameras {
		all[i] = cam.Name
	}
	return all
}

// apply makes the change. The parts of the host know cameras that come before they begin, and those that
// go until they have ended; the others notice nothing.
func (m *Manager[C]) apply(ctx context.Context, c *change[C]) error {
	m.known.Store(c.known)
	m.host.Tell(c.next.Cameras, c.going(), c.wanted.Cameras)
	faults := []error{m.set.Change(names(c.next.Cameras), c.build)}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), layoutTimeout)
	defer cancel()
	next := *c.next
	next.Cameras = nil
	for _, cam := range c.next.Cameras {
		there, err := m.set.Camera(cam.Name)
		if err != nil {
			continue // it could not be built, though it was tried
		}
		if slices.Contains(c.moves, cam.Name) {
			if _, err := there.SetZones(ctx, cam.Layout()); err != nil {
				faults = append(faults, err)
				i := slices.IndexFunc(c.before.Cameras, func(old config.Camera) bool { return old.Name == cam.Name })
				cam = c.before.Cameras[i]
			}
		}
		next.Cameras = append(next.Cameras, cam)
	}
	m.ran = &next
	now := &next
	if m.shared {
		m.tokens = make(map[string]uint64, len(next.Cameras))
		for _, cam := range next.Cameras {
			m.tokens[cam.Name] = m.leases[cam.Name].Token
		}
		now = c.wanted
	}
	m.host.Tell(next.Cameras, nil, now.Cameras)
	for _, name := range c.diff.Removed {
		m.host.Removed(name)
	}
	faults = append(faults, m.host.Claim(names(next.Cameras)))
	m.current.Store(now)
	m.host.Changed(now)
	return errors.Join(faults...)
}

// become has the cameras of k run with the settings there are. The caller has the turn.
func (m *Manager[C]) become(ctx context.Context, k *known) error {
	c, err := m.prepare(m.current.Load(), k)
	if err != nil {
		return err
	}
	return m.apply(ctx, c)
}
