package cameras

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/internal/problem"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/web"
)

// Reload has what differs done of the configuration that load returns: all that can be done without a restart, or
// nothing of it if anything is wrong. ctx bounds the wait for the changes before it.
func (m *Manager) Reload(ctx context.Context, load func(context.Context) (*config.Config, error)) (web.Reloaded, error) {
	if err := m.takeTurn(ctx); err != nil {
		return web.Reloaded{}, reloadRefusal(err)
	}
	defer m.turn.Release(1)
	out, err := m.reconfigure(ctx, load)
	if err != nil {
		return out, reloadRefusal(err)
	}
	return out, nil
}

// reconfigure has m do what load returns. The caller has the turn.
func (m *Manager) reconfigure(ctx context.Context, load func(context.Context) (*config.Config, error)) (web.Reloaded, error) {
	wanted, err := load(ctx)
	if err != nil {
		return web.Reloaded{}, err
	}
	annotations, err := Check(ctx, wanted)
	if err != nil {
		return web.Reloaded{}, err
	}
	before := m.current.Load()
	next := m.host.Possible(before, wanted)
	next.Cameras = m.withAdded(wanted.Cameras)
	c, err := m.prepare(next, annotations)
	if err != nil {
		return web.Reloaded{}, err
	}
	diff := config.Diff(before, next)
	out := web.Reloaded{Added: diff.Added, Removed: diff.Removed, Restart: config.Diff(next, wanted).Settings}
	for _, cam := range diff.Changed {
		out.Changed = append(out.Changed, cam.Name)
	}
	m.added.setFile(wanted.Cameras)
	for _, cam := range wanted.Cameras {
		if m.added.get(cam.Name) != nil {
			m.warnDeclared(cam.Name)
		}
	}
	err = m.apply(ctx, c)
	if m.added.unreadable() { // its key may have been mended
		if values, err := m.fetchKept(ctx); err == nil {
			m.takeKept(values)
		}
	}
	m.join(ctx)
	return out, err
}

// reloadRefusal gives the error of a reload the status it answers with, and the settings it is about.
func reloadRefusal(err error) error {
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, bus.ErrTaken):
		status = http.StatusConflict
	case errors.Is(err, pipeline.ErrSetEnded), errors.Is(err, bus.ErrClosed), errors.Is(err, context.Canceled):
		status = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	r := &web.Refusal{Status: status, Detail: plain.OneLine(err)}
	for _, f := range find[config.Fault](err) {
		r.Fields = append(r.Fields, web.Field{Pointer: problem.Pointer(f.Path), Detail: f.Message})
	}
	for _, f := range find[*SettingError](err) {
		r.Fields = append(r.Fields, web.Field{Pointer: problem.Pointer(f.Path), Detail: plain.Error(f)})
	}
	r.Fields = slices.DeleteFunc(r.Fields, func(f web.Field) bool { return f.Pointer == "/" }) // of the file as a whole
	return r
}
