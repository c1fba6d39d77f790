package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

var (
	// ErrUnknownCamera is wrapped when a camera is asked for that is not in the set.
	ErrUnknownCamera = errors.New("unknown camera")
	// ErrSetEnded is wrapped when a set is changed whose Run has returned.
	ErrSetEnded = errors.New("the set of cameras has ended")
)

// Why a camera is down that Set.Change ended.
var (
	errRemoved  = errors.New("the camera was removed or paused")
	errReplaced = errors.New("the camera's configuration has changed")
)

// Set is the cameras of one process. They may be changed while it runs.
type Set struct {
	changes sync.Mutex // held by Change: one after another

	mu       sync.Mutex // guards what follows
	members  []*member  // in the order of the set
	run      func(*member)
	wake     chan struct{} // holds one: look whether all have ended
	changing bool
	stays    bool
	ended    bool
}

// member is one camera's life in the set.
type member struct {
	*Camera
	cancel context.CancelCauseFunc // nil until it runs
	gone   chan struct{}           // closed when it has run
	err    error                   // of its Run; to be read when it is gone
}

func newMember(cfg Config) (*member, error) {
	c, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &member{Camera: c, gone: make(chan struct{})}, nil
}

// NewSet builds every camera; the error names all that cannot be built.
func NewSet(configs ...Config) (*Set, error) {
	s := &Set{wake: make(chan struct{}, 1)}
	var faults []error
	for _, cfg := range configs {
		if s.index(cfg.Name) >= 0 {
			faults = append(faults, fmt.Errorf("pipeline: two cameras are called %q", cfg.Name))
			continue
		}
		m, err := newMember(cfg)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		s.members = append(s.members, m)
	}
	return s, errors.Join(faults...)
}

// index is the place of the camera of that name, or -1. It needs mu once the set is shared.
func (s *Set) index(name string) int {
	return slices.IndexFunc(s.members, func(m *member) bool { return m.Name() == name })
}

// Run runs the cameras side by side and returns once all have ended: when ctx
// does, or every source has. A set without cameras waits for some. What befalls one
// camera does not reach another. It may be called once.
func (s *Set) Run(ctx context.Context) error {
	var running sync.WaitGroup
	s.mu.Lock()
	if s.run != nil || s.ended {
		s.mu.Unlock()
		return errors.New("pipeline: Run of a set was called twice")
	}
	s.run = func(m *member) {
		ctx, cancel := context.WithCancelCause(ctx)
		m.cancel = cancel
		running.Go(func() {
			defer cancel(nil)
			m.err = guard(func() error { return m.Camera.Run(ctx) })
			close(m.gone)
			s.look()
		})
	}
	for _, m := range s.members {
		s.run(m)
	}
	s.mu.Unlock()

	for ctx.Err() == nil && !s.over() {
		select {
		case <-ctx.Done():
		case <-s.wake:
		}
	}
	s.mu.Lock()
	s.run, s.ended = nil, true
	s.mu.Unlock()
	running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []error
	for _, m := range s.members {
		if m.cancel != nil {
			faults = append(faults, m.err)
		}
	}
	return errors.Join(faults...)
}

// Stay has Run go on until its context ends, though every source has ended: others may come.
func (s *Set) Stay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stays = true
}

// look has Run look whether all have ended.
func (s *Set) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// over tells whether there are cameras, all have ended, and none is about to come.
func (s *Set) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changing || s.stays || len(s.members) == 0 {
		return false
	}
	for _, m := range s.members {
		select {
		case <-m.gone:
		default:
			return false
		}
	}
	return true
}

// Change makes the cameras of the set those of names, in that order. Those that are not named
// are ended, and so are those in build that are there; then those in build are built, in the
// order of names, each after the one it replaces has ended, and run if the set does. The others
// notice nothing of it. While one is replaced, the old one answers for it.
//
// A camera that cannot be built is left out, and the error names it; Config.Check finds most of
// that beforehand. A name that is neither there nor in build is an error before anything is
// done, as is the end of the set.
func (s *Set) Change(names []string, build map[string]func() Config) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	ending, err := s.begin(names, build)
	if err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		s.changing = false
		s.mu.Unlock()
		s.look()
	}()
	var faults []error
	for _, m := range ending {
		<-m.gone
		if m.err != nil {
			faults = append(faults, m.err)
		}
	}
	for _, name := range names {
		if config := build[name]; config != nil {
			m, err := newMember(config())
			faults = append(faults, err)
			s.put(name, m)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.members, func(a, b *member) int {
		return slices.Index(names, a.Name()) - slices.Index(names, b.Name())
	})
	return errors.Join(faults...)
}

// begin tells the cameras to end that have to, takes those out that are not to come again, and
// returns those that run.
func (s *Set) begin(names []string, build map[string]func() Config) (ending []*member, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, fmt.Errorf("pipeline: %w", ErrSetEnded)
	}
	var faults []error
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			faults = append(faults, fmt.Errorf("pipeline: two cameras are called %q", name))
		} else if build[name] == nil && s.index(name) < 0 {
			faults = append(faults, s.unknown(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(build)) {
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Errorf("pipeline: camera %q is to be built and not to be there", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	s.changing = true
	s.members = slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool {
		stays := slices.Contains(names, m.Name())
		if stays && build[m.Name()] == nil {
			return false
		}
		if m.cancel != nil {
			why := errRemoved
			if stays {
				why = errReplaced
			}
			m.cancel(why)
			ending = append(ending, m)
		}
		return !stays
	})
	return ending, nil
}

// put has m, nil if it could not be built, take the place of the camera of that name, and runs it
// if the set does.
func (s *Set) put(name string, m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(name)
	switch {
	case m == nil && i < 0:
		return
	case m == nil:
		s.members = slices.Delete(s.members, i, i+1)
		return
	case i < 0:
		s.members = append(s.members, m)
	default:
		s.members[i] = m
	}
	if s.run != nil {
		s.run(m)
	}
}

// Camera returns the camera of that name; the error wraps ErrUnknownCamera and
// names those there are.
func (s *Set) Camera(name string) (*Camera, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(name); i >= 0 {
		return s.members[i].Camera, nil
	}
	return nil, s.unknown(name)
}

// unknown is the error about a camera that is not there. It needs mu.
func (s *Set) unknown(name string) error {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.Name()
	}
	return fmt.Errorf("pipeline: %w %q; there is %q", ErrUnknownCamera, name, names)
}

// Snapshots tells how each camera does, in the order of the set.
func (s *Set) Snapshots() []Snapshot {
	s.mu.Lock()
	members := slices.Clone(s.members)
	s.mu.Unlock()
	snaps := make([]Snapshot, len(members))
	for i, m := range members {
		snaps[i] = m.Snapshot()
	}
	return snaps
}
