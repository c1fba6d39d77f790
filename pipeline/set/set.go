// Package set runs cameras side by side, and changes which ones while they run.
//
// In go the names of the cameras that there are to be, and how to build those that are new; each runs from then on until
// it ends by itself, a change removes or replaces it, or the set ends. What a camera is, a Set does not know. What
// befalls one does not reach another.
//
// Set.Run blocks, and when its context ends it returns once all cameras have ended. Every other method may be called
// from any goroutine.
package set

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/segd/segd/pipeline/internal/guard"
)

var (
	// ErrUnknown is wrapped when a camera is asked for that is not in the set.
	ErrUnknown = errors.New("unknown camera")
	// ErrEnded is wrapped when a set is changed whose Run has returned.
	ErrEnded = errors.New("the set of cameras has ended")
)

// The causes that a camera's context ends with when Change ends it.
var (
	ErrRemoved  = errors.New("the camera was removed or paused")
	ErrReplaced = errors.New("the camera's configuration has changed")
)

// Camera is what is in a set; *pipeline.Camera is one.
type Camera interface {
	Name() string
	// Run blocks until ctx ends, or the camera does by itself.
	Run(ctx context.Context) error
}

// Set is the cameras of one process. They may be changed while it runs.
type Set[C Camera] struct {
	changes sync.Mutex // held by Change: one after another

	mu       sync.Mutex   // guards what follows
	members  []*member[C] // in the order of the set
	run      func(*member[C])
	wake     chan struct{} // holds one: look whether all have ended
	changing bool
	stays    bool
	ended    bool
}

// member is one camera's life in the set.
type member[C Camera] struct {
	camera C
	cancel context.CancelCauseFunc // nil until it runs
	gone   chan struct{}           // closed when it has run
	err    error                   // of its Run; to be read when it is gone
}

// New returns a set without cameras.
func New[C Camera]() *Set[C] { return &Set[C]{wake: make(chan struct{}, 1)} }

// index is the place of the camera of that name, or -1. It needs mu.
func (s *Set[C]) index(name string) int {
	return slices.IndexFunc(s.members, func(m *member[C]) bool { return m.camera.Name() == name })
}

// Run runs the cameras side by side and returns once all have ended: when ctx
// does, or every camera has by itself. A set without cameras waits for some. It may be called once.
func (s *Set[C]) Run(ctx context.Context) error {
	var running sync.WaitGroup
	s.mu.Lock()
	if s.run != nil || s.ended {
		s.mu.Unlock()
		return errors.New("pipeline: Run of a set was called twice")
	}
	s.run = func(m *member[C]) {
		ctx, cancel := context.WithCancelCause(ctx)
		m.cancel = cancel
		running.Go(func() {
			defer cancel(nil)
			m.err = guard.Call(func() error { return m.camera.Run(ctx) })
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

// Stay has Run go on until its context ends, though every camera has ended: others may come.
func (s *Set[C]) Stay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stays = true
}

// look has Run look whether all have ended.
func (s *Set[C]) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// over tells whether there are cameras, all have ended, and none is about to come.
func (s *Set[C]) over() bool {
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
// A camera that cannot be built is left out, and the error says so. A name that is neither there nor in
// build is an error before anything is done, as is the end of the set.
func (s *Set[C]) Change(names []string, build map[string]func() (C, error)) error {
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
		if one := build[name]; one != nil {
			c, err := one()
			faults = append(faults, err)
			s.put(name, c, err == nil)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.members, func(a, b *member[C]) int {
		return slices.Index(names, a.camera.Name()) - slices.Index(names, b.camera.Name())
	})
	return errors.Join(faults...)
}

// begin tells the cameras to end that have to, takes those out that are not to come again, and
// returns those that run.
func (s *Set[C]) begin(names []string, build map[string]func() (C, error)) (ending []*member[C], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, fmt.Errorf("pipeline: %w", ErrEnded)
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
	s.members = slices.DeleteFunc(slices.Clone(s.members), func(m *member[C]) bool {
		name := m.camera.Name()
		stays := slices.Contains(names, name)
		if stays && build[name] == nil {
			return false
		}
		if m.cancel != nil {
			why := ErrRemoved
			if stays {
				why = ErrReplaced
			}
			m.cancel(why)
			ending = append(ending, m)
		}
		return !stays
	})
	return ending, nil
}

// put has c, unless it could not be built, take the place of the camera of that name, and runs it if the set does.
func (s *Set[C]) put(name string, c C, built bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(name)
	if !built {
		if i >= 0 {
			s.members = slices.Delete(s.members, i, i+1)
		}
		return
	}
	m := &member[C]{camera: c, gone: make(chan struct{})}
	if i < 0 {
		s.members = append(s.members, m)
	} else {
		s.members[i] = m
	}
	if s.run != nil {
		s.run(m)
	}
}

// Camera returns the camera of that name; the error wraps ErrUnknown and
// names those there are.
func (s *Set[C]) Camera(name string) (c C, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(name); i >= 0 {
		return s.members[i].camera, nil
	}
	return c, s.unknown(name)
}

// unknown is the error about a camera that is not there. It needs mu.
func (s *Set[C]) unknown(name string) error {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.camera.Name()
	}
	return fmt.Errorf("pipeline: %w %q; there is %q", ErrUnknown, name, names)
}

// Cameras are all, in the order of the set.
func (s *Set[C]) Cameras() []C {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]C, len(s.members))
	for i, m := range s.members {
		all[i] = m.camera
	}
	return all
}
