package cameras

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/web"
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

// added are the cameras that are not the configuration's: they were added while segd ran. They are changed
// with the turn, and read at any time.
type added struct {
	store *cameraStore // nil: they live until segd ends

	mu     sync.Mutex // guards what follows
	file   []config.Camera
	all    map[string]*addedCamera // which are not changed
	unread error                   // why those that are kept are not known; nil once they are
}

// addedCamera is one of them.
type addedCamera struct {
	storedCamera               // Camera is nil if it cannot be read
	cam          config.Camera // complete; its zero value if there is a fault in it
	fault        error         // why it does not run though it is not paused
}

func (a *added) get(name string) *addedCamera {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[name]
}

// put sets what there is of a camera; nil: nothing.
func (a *added) put(name string, c *addedCamera) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c == nil {
		delete(a.all, name)
		return
	}
	a.all[name] = c
}

// blame notes why a camera does not run; nil: it does.
func (a *added) blame(name string, err error) {
	if c := a.get(name); c != nil {
		other := *c
		other.fault = err
		a.put(name, &other)
	}
}

// declared tells whether the configuration has a camera of that name.
func (a *added) declared(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.file, func(c config.Camera) bool { return c.Name == name })
}

func (a *added) setFile(cameras []config.Camera) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.file = cameras
}

func (a *added) fileCameras() []config.Camera {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file
}

func (a *added) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.all))
}

// unreadable tells whether some that are kept cannot be read.
func (a *added) unreadable() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.all {
		if c.Camera == nil {
			return true
		}
	}
	return false
}

// fault is why no camera can be added now; nil: they can.
func (a *added) fault() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unread
}

func (a *added) setUnread(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unread = err
}

// mostAdded is how many cameras may be added.
func (m *Manager) mostAdded() int {
	if m.shared {
		return maxFleet
	}
	return maxAdded
}

// complete is a camera as it was given, with all that it has by default, and what is marked in it. An error
// is config.Faults or has a settingError.
func (m *Manager) complete(ctx context.Context, c storedCamera) (_ *addedCamera, marks *annotation.Annotation, err error) {
	text, err := json.Marshal(c.Camera)
	if err != nil {
		return nil, nil, err
	}
	cam, err := config.ParseCamera(ctx, text, m.base, m.current.Load().Detector)
	if err != nil {
		return nil, nil, err
	}
	if marks, err = checkCamera(ctx, "", cam); err != nil {
		return nil, nil, err
	}
	return &addedCamera{storedCamera: c, cam: cam}, marks, nil
}

// fetchKept reads what is kept of cameras, and notes why it cannot.
func (m *Manager) fetchKept(ctx context.Context) (map[string][]byte, error) {
	if m.added.store == nil {
		return nil, nil
	}
	values, err := m.added.store.fetch(ctx)
	if err != nil {
		m.added.setUnread(err)
	}
	return values, err
}

// takeKept takes over the cameras among what fetchKept returned that are not known yet. The caller has the
// turn.
func (m *Manager) takeKept(values map[string][]byte) {
	a := &m.added
	if a.store == nil {
		return
	}
	a.setUnread(nil)
	all := a.store.openAll(values)
	if m.shared { // other boxes remove cameras too
		for _, name := range a.names() {
			if _, ok := all[name]; !ok {
				a.put(name, nil)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := all[name]
		if there := a.get(name); there != nil && there.Camera != nil && (!m.shared || reflect.DeepEqual(there.storedCamera, one.storedCamera)) {
			continue
		}
		c := &addedCamera{storedCamera: one.storedCamera, fault: one.err}
		c.Name = name
		if most := m.mostAdded(); len(a.names()) >= most && a.get(name) == nil {
			m.log.Error("a kept camera is left out", "camera", name, "error", fmt.Sprintf("more than %d are kept", most))
			continue
		}
		if one.err != nil {
			m.log.Error("a kept camera is left out", "camera", name, "error", one.err)
		}
		a.put(name, c)
		if a.declared(name) {
			m.warnDeclared(name)
		}
	}
}

func (m *Manager) warnDeclared(name string) {
	m.log.Warn("a camera was added and is in the configuration too, which counts", "camera", name)
}

// idle are the added cameras that should run and do not, with what is marked in them. What is wrong with
// others is noted.
func (m *Manager) idle(ctx context.Context) (list []config.Camera, marks map[string]*annotation.Annotation) {
	running := m.current.Load().Cameras
	return m.wantedAdded(ctx, func(name string) bool {
		return slices.ContainsFunc(running, func(r config.Camera) bool { return r.Name == name })
	})
}

// wantedAdded are the added cameras that are to run but for those that except tells of, with what is marked in them.
// What is wrong with others is noted.
func (m *Manager) wantedAdded(ctx context.Context, except func(name string) bool) (list []config.Camera, marks map[string]*annotation.Annotation) {
	marks = map[string]*annotation.Annotation{}
	for _, name := range m.added.names() {
		c := m.added.get(name)
		if c.Camera == nil || c.Paused || m.added.declared(name) || except(name) {
			continue
		}
		whole, a, err := m.complete(ctx, c.storedCamera)
		if err != nil {
			m.leaveOut(name, err)
			continue
		}
		m.added.put(name, whole)
		list = append(list, whole.cam)
		if a != nil {
			marks[name] = a
		}
	}
	return list, marks
}

func (m *Manager) leaveOut(name string, err error) {
	m.log.Error("an added camera is left out", "camera", name, "error", err)
	m.added.blame(name, err)
}

// join has those added cameras run that should and do not: all at once or, where that cannot be, each by
// itself. The caller has the turn.
func (m *Manager) join(ctx context.Context) {
	list, marks := m.idle(ctx)
	if len(list) == 0 {
		return
	}
	m.set.Stay()
	err := m.runToo(ctx, list, marks)
	if err != nil && len(list) > 1 {
		for i := range list {
			if err := m.runToo(ctx, list[i:i+1], marks); err != nil {
				m.leaveOut(list[i].Name, err)
			}
		}
	} else if err != nil {
		m.leaveOut(list[0].Name, err)
	}
}

func (m *Manager) runToo(ctx context.Context, list []config.Camera, marks map[string]*annotation.Annotation) error {
	before := m.current.Load()
	next := *before
	next.Cameras = m.ordered(slices.Concat(before.Cameras, list))
	c, err := m.prepare(&next, marks)
	if err != nil {
		return err
	}
	return m.apply(ctx, c)
}

// ordered are the configuration's cameras as they are, and then the others by name.
func (m *Manager) ordered(cameras []config.Camera) []config.Camera {
	slices.SortStableFunc(cameras, func(a, b config.Camera) int {
		x, y := m.added.declared(a.Name), m.added.declared(b.Name)
		switch {
		case x && y:
			return 0
		case x:
			return -1
		case y:
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return cameras
}

// withAdded are the cameras of a configuration to come, and of the added ones those that run.
func (m *Manager) withAdded(file []config.Camera) []config.Camera {
	list := slices.Clone(file)
	for _, cam := range m.current.Load().Cameras {
		inFile := func(c config.Camera) bool { return c.Name == cam.Name }
		if m.added.get(cam.Name) != nil && !m.added.declared(cam.Name) && !slices.ContainsFunc(file, inFile) {
			list = append(list, cam)
		}
	}
	return list
}

// runs tells whether a camera runs as it is.
func (m *Manager) runs(cam config.Camera) bool {
	return slices.ContainsFunc(m.current.Load().Cameras, func(c config.Camera) bool { return reflect.DeepEqual(c, cam) })
}

// list is what the API lists.
func (m *Manager) list() (list []web.Declared, about web.Adding) {
	a := &m.added
	about.Kept = a.store != nil
	if err := a.fault(); err != nil {
		about.Kept, about.Fault = false, err.Error()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, cam := range a.file {
		list = append(list, web.Declared{Name: cam.Name, URL: cam.ShownURL(), Source: web.SourceFile, Kept: true})
	}
	for _, name := range slices.Sorted(maps.Keys(a.all)) {
		if slices.ContainsFunc(a.file, func(c config.Camera) bool { return c.Name == name }) {
			continue
		}
		c := a.all[name]
		one := web.Declared{Name: name, Source: web.SourceAdded, Paused: c.Paused, Kept: a.store != nil}
		if c.Camera != nil {
			one.URL, one.Given = shownURL(c.Camera), shownSettings(c.Camera)
		}
		if c.fault != nil && !c.Paused {
			one.Fault = plain.OneLine(c.fault)
		}
		list = append(list, one)
	}
	return list, about
}
