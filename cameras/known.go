package cameras

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
)

const (
	// maxAdded bounds the cameras that are added. Each is a decoder, a network's share and a tracker, and
	// one machine follows a dozen at most; more are by mistake, and all of them are read at each start.
	maxAdded = 64
	// maxFleet bounds those of a fleet.
	maxFleet = 10_000
	// storeTimeout bounds what is asked of the store.
	storeTimeout = 5 * time.Second
)

// known are the cameras that are to be, whether or not they run. It is not changed: another one takes its place.
type known struct {
	file   []config.Camera
	marks  map[string]*annotation.Annotation // in file, by camera
	added  map[string]*addedCamera           // by name; they count unless file has the name
	kept   bool                              // those that are added outlive segd
	unread error                             // why those that are kept are not known; nil once they are
}

// addedCamera is one that is not the configuration's: it was added while segd ran. It is not changed.
type addedCamera struct {
	storedCamera                        // Camera is nil if it cannot be read
	cam          config.Camera          // complete; its zero value if that was not tried, or there is a fault in it
	marks        *annotation.Annotation // in cam
	fault        error                  // why it does not run though it is not paused
}

// with is k with these cameras in place of those of their names.
func (k known) with(cameras ...*addedCamera) *known {
	added := map[string]*addedCamera{}
	maps.Copy(added, k.added)
	for _, c := range cameras {
		added[c.Name] = c
	}
	k.added = added
	return &k
}

// without is k without an added camera.
func (k known) without(name string) *known {
	next := k.with()
	delete(next.added, name)
	return next
}

// declared tells whether the configuration has a camera of that name.
func (k *known) declared(name string) bool {
	return slices.ContainsFunc(k.file, func(c config.Camera) bool { return c.Name == name })
}

// names are those of the added cameras.
func (k *known) names() []string { return slices.Sorted(maps.Keys(k.added)) }

// cameras are those that are to run, with what is marked in them: the configuration's as they stand there, and then the
// added ones by name.
func (k *known) cameras() (all []config.Camera, marks map[string]*annotation.Annotation) {
	all, marks = slices.Clone(k.file), map[string]*annotation.Annotation{}
	maps.Copy(marks, k.marks)
	for _, name := range k.names() {
		if c := k.added[name]; c.cam.Name != "" && !c.Paused && !k.declared(name) {
			all, marks[name] = append(all, c.cam), c.marks
		}
	}
	return all, marks
}

// mostAdded is how many cameras may be added.
func (m *Manager[C]) mostAdded() int {
	if m.shared {
		return maxFleet
	}
	return maxAdded
}

// complete is a camera as it was given, with all that it has by default. An error is config.Faults or has a
// SettingError.
func (m *Manager[C]) complete(ctx context.Context, c storedCamera) (*addedCamera, error) {
	return m.completeIn(ctx, m.current.Load(), c)
}

// completeIn is complete with the settings of in.
func (m *Manager[C]) completeIn(ctx context.Context, in *config.Config, c storedCamera) (*addedCamera, error) {
	text, err := json.Marshal(c.Camera)
	if err != nil {
		return nil, err
	}
	cam, err := config.ParseCamera(ctx, text, m.base, in)
	if err != nil {
		return nil, err
	}
	marks, err := checkCamera(ctx, "", cam)
	if err != nil {
		return nil, err
	}
	return &addedCamera{storedCamera: c, cam: cam, marks: marks}, nil
}

// fetchKept reads what is kept of cameras.
func (m *Manager[C]) fetchKept(ctx context.Context) (map[string][]byte, error) {
	switch {
	case m.store == nil:
		return nil, nil
	case m.store.KeyFile == "":
		return nil, errNoKeyPath
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return m.store.KeptCameras(ctx)
}

// takeKept is k with the cameras among what fetchKept returned that it does not know yet; in a fleet, whose other boxes
// change cameras too, with those and no others. They are not complete. The caller has the turn.
func (m *Manager[C]) takeKept(k *known, values map[string][]byte) *known {
	if m.store == nil {
		return k
	}
	all := m.store.openAll(values)
	next := k.with()
	next.unread = nil
	if m.shared {
		maps.DeleteFunc(next.added, func(name string, _ *addedCamera) bool { _, ok := all[name]; return !ok })
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, there := all[name], next.added[name]
		if there != nil && there.Camera != nil && (!m.shared || reflect.DeepEqual(there.storedCamera, one.storedCamera)) {
			continue
		}
		if most := m.mostAdded(); there == nil && len(next.added) >= most {
			m.log.Error("a kept camera is left out", "camera", name, "error", fmt.Sprintf("more than %d are kept", most))
			continue
		}
		if one.fault != nil {
			m.log.Error("a kept camera is left out", "camera", name, "error", one.fault)
		}
		next.added[name] = one
		if next.declared(name) {
			m.warnDeclared(name)
		}
	}
	if k.unread == nil && maps.Equal(next.added, k.added) {
		return k
	}
	return next
}

func (m *Manager[C]) warnDeclared(name string) {
	m.log.Warn("a camera was added and is in the configuration too, which counts", "camera", name)
}

// leaveOut is the camera with the reason why it does not run.
func (m *Manager[C]) leaveOut(c storedCamera, why error) *addedCamera {
	m.log.Error("an added camera is left out", "camera", c.Name, "error", why)
	return &addedCamera{storedCamera: c, fault: why}
}

// completed are the added cameras of k that should run and are not complete. What is wrong with others is noted in next.
func (m *Manager[C]) completed(ctx context.Context, k *known) (next *known, whole []*addedCamera) {
	next = k
	for _, name := range k.names() {
		c := k.added[name]
		if c.Camera == nil || c.Paused || c.cam.Name != "" || k.declared(name) {
			continue
		}
		if one, err := m.complete(ctx, c.storedCamera); err != nil {
			next = next.with(m.leaveOut(c.storedCamera, err))
		} else {
			whole = append(whole, one)
		}
	}
	return next, whole
}

// completedAnew has the added cameras of k, which is new, be as the settings of next have them, as far as these say how
// cameras are completed.
func (m *Manager[C]) completedAnew(ctx context.Context, k *known, before, next *config.Config) error {
	if reflect.DeepEqual(before.Privacy, next.Privacy) && before.Detector == next.Detector {
		return nil
	}
	var faults []error
	for _, name := range k.names() {
		c := k.added[name]
		switch {
		case c.cam.Name == "" || k.declared(name):
		case c.Paused: // it is completed when it is to run
			k.added[name] = &addedCamera{storedCamera: c.storedCamera}
		default:
			one, err := m.completeIn(ctx, next, c.storedCamera)
			if err != nil {
				faults = append(faults, fmt.Errorf("camera %s, which was added: %w", name, err))
				continue
			}
			k.added[name] = one
		}
	}
	return errors.Join(faults...)
}

// settle has the cameras of k run, and of whole those that can: all at once or, where that cannot be, each by itself.
// The caller has the turn.
func (m *Manager[C]) settle(ctx context.Context, k *known, whole []*addedCamera) error {
	if len(whole) > 0 {
		m.set.Stay()
	} else if k == m.known.Load() {
		return nil
	}
	err := m.become(ctx, k.with(whole...))
	if !slices.ContainsFunc(whole, func(c *addedCamera) bool { return !m.runs(c.cam) }) {
		return err
	}
	all := err
	err = m.become(ctx, k)
	for _, c := range whole {
		why := all
		if len(whole) > 1 {
			why = m.become(ctx, m.known.Load().with(c))
		}
		if !m.runs(c.cam) {
			m.known.Store(m.known.Load().with(m.leaveOut(c.storedCamera, why)))
		}
	}
	return err
}

// runs tells whether a camera runs as it is.
func (m *Manager[C]) runs(cam config.Camera) bool {
	return slices.ContainsFunc(m.current.Load().Cameras, func(c config.Camera) bool { return c.Name == cam.Name && reflect.DeepEqual(c, cam) })
}
