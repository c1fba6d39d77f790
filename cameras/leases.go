package cameras

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
)

// here is cfg with the cameras only that this segd is to run: all of them without a fleet.
func (m *Manager[C]) here(cfg *config.Config) *config.Config {
	if !m.shared {
		return cfg
	}
	mine := *cfg
	mine.Cameras = slices.DeleteFunc(slices.Clone(cfg.Cameras), func(c config.Camera) bool { return m.leases[c.Name] == nil })
	return &mine
}

// anew are the cameras among those of cfg that are to be built anew because they come with another lease.
func (m *Manager[C]) anew(cfg *config.Config) (names []string) {
	for _, cam := range cfg.Cameras {
		if token, ok := m.tokens[cam.Name]; ok && token != m.leases[cam.Name].Token {
			names = append(names, cam.Name)
		}
	}
	return names
}

// Assign has this box of a fleet run the cameras of these leases and no others, and returns why some do not run. A
// camera whose lease has another token than before is built anew.
func (m *Manager[C]) Assign(ctx context.Context, all []*fleet.Lease) (faults map[string]error) {
	faults = map[string]error{}
	if m.takeTurn(ctx) != nil {
		return faults // segd ends, and so have its cameras
	}
	defer m.turn.Release(1)
	leases := make(map[string]*fleet.Lease, len(all))
	for _, l := range all {
		leases[l.Camera] = l
	}
	m.leases = maps.Clone(leases)
	err := m.become(ctx, m.known.Load())
	if err != nil && len(leases) > 1 { // one of them may keep the others from running
		m.leases = map[string]*fleet.Lease{}
		for _, cam := range m.ran.Cameras {
			if l := leases[cam.Name]; l != nil {
				m.leases[cam.Name] = l
			}
		}
		for _, camera := range slices.Sorted(maps.Keys(leases)) {
			m.leases[camera] = leases[camera]
			if err := m.become(ctx, m.known.Load()); err != nil {
				faults[camera] = err
				delete(m.leases, camera)
			}
		}
	}
	for camera := range leases {
		runs := slices.Contains(names(m.ran.Cameras), camera)
		if faults[camera] == nil && !runs {
			faults[camera] = errors.Join(errors.New("it cannot be built"), err)
		}
	}
	return faults
}
