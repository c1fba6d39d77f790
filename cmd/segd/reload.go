package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync/atomic"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/internal/problem"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/web"
)

// source is where the configuration is read, at the start and again.
type source struct {
	file, base string
	watch      bool // it is read again when it changes
}

func (s source) load(ctx context.Context) (*config.Config, error) {
	cfg, err := config.LoadIn(ctx, s.base, s.file, os.Environ())
	if err != nil {
		return nil, cli.Usage(err)
	}
	return cfg, nil
}

// sum is that of the file as it is now; nil: it cannot be read.
func (s source) sum(ctx context.Context) *[sha256.Size]byte {
	text, err := files.Read(ctx, s.file, files.Config)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(text)
	return &sum
}

// reloader has a running segd do what its configuration says by now: when SIGHUP comes, when the file has
// changed, and when somebody asks.
type reloader struct {
	d       *daemon
	source  source
	hangups <-chan os.Signal
	known   atomic.Pointer[[sha256.Size]byte] // of the file that was read last; nil: none could be
}

// newReloader is that of d, whose configuration was read of a file with that sum.
func newReloader(d *daemon, s source, sum *[sha256.Size]byte, hangups <-chan os.Signal) *reloader {
	r := &reloader{d: d, source: s, hangups: hangups}
	r.known.Store(sum)
	return r
}

// reload reads the configuration and has what differs done: all that can be done now, or nothing of it if
// anything is wrong. Those who ask at once come one after the other; ctx bounds the waiting for that.
func (r *reloader) reload(ctx context.Context, why string) (web.Reloaded, error) {
	d := r.d
	if err := d.takeTurn(ctx); err != nil {
		return web.Reloaded{}, reloadRefusal(err)
	}
	defer func() { <-d.turn }()
	tellSystemd(d.log, sd.SdNotifyReloading+"\n"+sd.SdNotifyMonotonicUsec())
	defer tellSystemd(d.log, sd.SdNotifyReady)

	r.known.Store(r.source.sum(ctx))
	out, err := d.reconfigure(ctx, r.source.load)
	if err != nil {
		d.log.Error("the configuration is not taken over", "why", why, "error", err)
		return out, reloadRefusal(err)
	}
	d.log.Info("the configuration was read again", "why", why, "added", out.Added, "changed", out.Changed, "removed", out.Removed)
	if len(out.Restart) > 0 {
		d.log.Warn("some of the configuration takes a restart", "settings", out.Restart)
	}
	return out, nil
}

// reconfigure has d do what load returns. The caller has its turn.
func (d *daemon) reconfigure(ctx context.Context, load func(context.Context) (*config.Config, error)) (web.Reloaded, error) {
	wanted, err := load(ctx)
	if err != nil {
		return web.Reloaded{}, err
	}
	annotations, err := checkFiles(ctx, wanted)
	if err != nil {
		return web.Reloaded{}, err
	}
	before := d.current.Load()
	next := d.possible(before, wanted)
	next.Cameras = d.withAdded(wanted.Cameras)
	c, err := d.prepare(next, annotations)
	if err != nil {
		return web.Reloaded{}, err
	}
	diff := config.Diff(before, next)
	out := web.Reloaded{Added: diff.Added, Removed: diff.Removed, Restart: config.Diff(next, wanted).Settings}
	for _, cam := range diff.Changed {
		out.Changed = append(out.Changed, cam.Name)
	}
	setLevel(d.level, next.Log)
	d.added.setFile(wanted.Cameras)
	for _, cam := range wanted.Cameras {
		if d.added.get(cam.Name) != nil {
			d.warnDeclared(cam.Name)
		}
	}
	err = d.apply(ctx, c)
	if d.added.unreadable() { // its key may have been mended
		if values, err := d.fetchKept(ctx); err == nil {
			d.takeKept(values)
		}
	}
	d.join(ctx)
	return out, err
}

// possible is as much of wanted as can be had without a restart, with the rest as it is.
func (d *daemon) possible(before, wanted *config.Config) *config.Config {
	next := *before
	next.Cameras, next.Log.Level = wanted.Cameras, wanted.Log.Level
	if d.whip.get() == nil { // but for the token, which the page has
		next.WHIP = wanted.WHIP
		next.WHIP.Token = before.WHIP.Token
	}
	if d.detector == nil {
		next.Detector = wanted.Detector
	}
	return &next
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
	r := &web.Refusal{Status: status, Detail: oneLine(err)}
	for _, f := range find[config.Fault](err) {
		r.Fields = append(r.Fields, web.Field{Pointer: problem.Pointer(f.Path), Detail: f.Message})
	}
	for _, f := range find[*settingError](err) {
		r.Fields = append(r.Fields, web.Field{Pointer: problem.Pointer(f.path), Detail: plain.Error(f)})
	}
	r.Fields = slices.DeleteFunc(r.Fields, func(f web.Field) bool { return f.Pointer == "/" }) // of the file as a whole
	return r
}

// ask is reload for those who are known by how they ask.
func (r *reloader) ask(why string) func(ctx context.Context) (web.Reloaded, error) {
	return func(ctx context.Context) (web.Reloaded, error) { return r.reload(ctx, why) }
}
