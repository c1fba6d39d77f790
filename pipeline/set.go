package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrUnknownCamera is wrapped when a camera is asked for that is not in the set.
var ErrUnknownCamera = errors.New("unknown camera")

// Set is the cameras of one process.
type Set struct{ cameras []*Camera }

// NewSet builds every camera; the error names all that cannot be built.
func NewSet(configs ...Config) (*Set, error) {
	s := new(Set)
	var faults []error
	for _, cfg := range configs {
		if slices.ContainsFunc(s.cameras, func(c *Camera) bool { return c.Name() == cfg.Name }) {
			faults = append(faults, fmt.Errorf("pipeline: two cameras are called %q", cfg.Name))
			continue
		}
		c, err := New(cfg)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		s.cameras = append(s.cameras, c)
	}
	return s, errors.Join(faults...)
}

// Run runs the cameras side by side and returns once all have ended: when ctx
// does, or every source has. What befalls one camera does not reach another.
func (s *Set) Run(ctx context.Context) error {
	errs := make([]error, len(s.cameras))
	var running sync.WaitGroup
	for i, c := range s.cameras {
		running.Go(func() { errs[i] = guard(func() error { return c.Run(ctx) }) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// Camera returns the camera of that name; the error wraps ErrUnknownCamera and
// names those there are.
func (s *Set) Camera(name string) (*Camera, error) {
	names := make([]string, len(s.cameras))
	for i, c := range s.cameras {
		if names[i] = c.Name(); names[i] == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("pipeline: %w %q; there is %q", ErrUnknownCamera, name, names)
}

// Snapshots tells how each camera does, in the order of the set.
func (s *Set) Snapshots() []Snapshot {
	snaps := make([]Snapshot, len(s.cameras))
	for i, c := range s.cameras {
		snaps[i] = c.Snapshot()
	}
	return snaps
}
