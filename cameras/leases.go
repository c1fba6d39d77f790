package cameras

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
	"github.com/segd/segd/pipeline"
)

// here is cfg with the cameras only that this segd is to run: all of them without a fleet.
func (m *Manager) here(cfg *config.Config) *config.Config {
	if !m.shared {
		return cfg
	}
	mine := *cfg
	mine.Cameras = slices.DeleteFunc(slices.Clone(cfg.Cameras), func(c config.Camera) bool { return m.leases[c.Name] == nil })
	return &mine
}

// anew are the cameras among those of cfg that are to be built anew because they come with another lease.
func (m *Manager) anew(cfg *config.Config) (names []string) {
	for _, cam := range cfg.Cameras {
		if token, ok := m.tokens[cam.Name]; ok && token != m.leases[cam.Name].Token() {
			names = append(names, cam.Name)
		}
	}
	return names
}

// Assign has this box of a fleet run the cameras of these leases and no others, and returns why some do not run. A
// camera whose lease has another token than before is built anew.
func (m *Manager) Assign(ctx context.Context, leases map[string]pipeline.Lease) (faults map[string]error) {
	faults = map[string]error{}
	if m.takeTurn(ctx) != nil {
		return faults // segd ends, and so have its cameras
	}
	defer m.turn.Release(1)
	m.leases = maps.Clone(leases)
	err := m.reassign(ctx)
	if err != nil && len(leases) > 1 { // one of them may keep the others from running
		m.leases = map[string]pipeline.Lease{}
		for _, cam := range m.ran.Cameras {
			if l := leases[cam.Name]; l != nil {
				m.leases[cam.Name] = l
			}
		}
		for _, camera := range slices.Sorted(maps.Keys(leases)) {
			m.leases[camera] = leases[camera]
			if err := m.reassign(ctx); err != nil {
				faults[camera] = err
				delete(m.leases, camera)
			}
		}
	}
	for camera := range leases {
		runs := slices.ContainsFunc(m.ran.Cameras, func(c config.Camera) bool { return c.Name == camera })
		if faults[camera] == nil && !runs {
			faults[camera] = errors.Join(errors.New("it cannot be built"), err)
		}
	}
	return faults
}

// reassign has run what m.leases say.
func (m *Manager) reassign(ctx context.Context) error {
	c, err := m.prepare(m.current.Load(), nil)
	if err != nil {
		return err
	}
	return m.apply(ctx, c)
}

// remember notes what is marked in the first frames of cameras, and returns that of all.
func (m *Manager) remember(marks map[string]*annotation.Annotation) map[string]*annotation.Annotation {
	if !m.shared {
		return marks
	}
	maps.Copy(m.marks, marks)
	return m.marks
}

// takeChanges has the cameras that are kept be those of this box, too, as other boxes change them.
func (m *Manager) takeChanges(ctx context.Context) {
	values, err := m.fetchKept(ctx)
	if err != nil || m.takeTurn(ctx) != nil {
		return // it is looked at again with the next change, or connection
	}
	defer m.turn.Release(1)
	m.takeKept(values)
	before := m.current.Load()
	next := *before
	next.Cameras = slices.Clone(m.added.fileCameras())
	also, marks := m.wantedAdded(ctx, func(string) bool { return false })
	next.Cameras = m.ordered(slices.Concat(next.Cameras, also))
	c, err := m.prepare(&next, marks)
	if err == nil {
		err = m.apply(ctx, c)
	}
	if err != nil {
		m.log.Error("the cameras are not those of the fleet", "error", err)
		return
	}
	for _, name := range config.Diff(before, &next).Removed {
		m.forget(ctx, name) // whoever removed it may have been before what this box kept at its end
	}
}
