package cameras

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/pipeline/set"
)

// Reload has what differs done of the configuration that load returns: all that can be done without a restart, or
// nothing of it if anything is wrong. ctx bounds the wait for the changes before it.
func (m *Manager[C]) Reload(ctx context.Context, load func(context.Context) (*config.Config, error)) (out api.Reloaded, err error) {
	defer func() { err = reloadRefusal(err) }()
	if err := m.takeTurn(ctx); err != nil {
		return out, err
	}
	defer m.turn.Release(1)
	wanted, err := load(ctx)
	if err != nil {
		return out, err
	}
	marks, err := Check(ctx, wanted)
	if err != nil {
		return out, err
	}
	before := m.current.Load()
	next := m.known.Load().with()
	next.file, next.marks = wanted.Cameras, marks
	for _, name := range next.names() {
		if next.declared(name) {
			m.warnDeclared(name)
			next.added[name] = &addedCamera{storedCamera: next.added[name].storedCamera, fault: next.added[name].fault}
		}
	}
	settings := m.host.Possible(before, wanted)
	if err := m.completedAnew(ctx, next, before, settings); err != nil {
		return out, err
	}
	c, err := m.prepare(settings, next)
	if err != nil {
		return out, err
	}
	diff := config.Diff(before, c.wanted)
	out = api.Reloaded{Added: diff.Added, Removed: diff.Removed, Restart: config.Diff(c.wanted, wanted).Settings}
	for _, cam := range diff.Changed {
		out.Changed = append(out.Changed, cam.Name)
	}
	err = m.apply(ctx, c)
	if slices.ContainsFunc(slices.Collect(maps.Values(next.added)), func(c *addedCamera) bool { return c.Camera == nil }) {
		if values, err := m.fetchKept(ctx); err == nil { // the key may have been mended
			next = m.takeKept(next, values)
		}
	}
	next, whole := m.completed(ctx, next)
	return out, errors.Join(err, m.settle(ctx, next, whole))
}

// reloadRefusal gives the error of a reload the status it answers with, and the settings it is about.
func reloadRefusal(err error) error {
	if err == nil {
		return nil
	}
	status := api.StatusOf(err, http.StatusUnprocessableEntity,
		api.Status{Is: bus.ErrTaken, Code: http.StatusConflict},
		api.Status{Is: set.ErrEnded, Code: http.StatusServiceUnavailable},
		api.Status{Is: bus.ErrClosed, Code: http.StatusServiceUnavailable},
	)
	r := &api.Refusal{Status: status, Detail: plain.OneLine(err)}
	for _, f := range plain.All[config.Fault](err) {
		r.Fields = append(r.Fields, api.Field{Pointer: api.Pointer(f.Path), Detail: f.Message})
	}
	for _, f := range plain.All[*config.SettingError](err) {
		r.Fields = append(r.Fields, api.Field{Pointer: api.Pointer(f.Path), Detail: plain.Error(f)})
	}
	r.Fields = slices.DeleteFunc(r.Fields, func(f api.Field) bool { return f.Pointer == "/" }) // of the file as a whole
	return r
}
