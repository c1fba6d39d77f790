package daemon

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"sync/atomic"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/semaphore"

	"github.com/segd/segd/api"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/files"
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
// changed, and on request.
type reloader struct {
	d       *daemon
	source  source
	hangups <-chan os.Signal
	known   atomic.Pointer[[sha256.Size]byte] // of the file that was read last; nil: none could be
	turn    *semaphore.Weighted               // held by who reloads
}

// newReloader is that of d, whose configuration was read of a file with that sum.
func newReloader(d *daemon, s source, sum *[sha256.Size]byte, hangups <-chan os.Signal) *reloader {
	r := &reloader{d: d, source: s, hangups: hangups, turn: semaphore.NewWeighted(1)}
	r.known.Store(sum)
	return r
}

// reload reads the configuration and has what differs done: all that can be done now, or nothing of it if
// anything is wrong. Those who ask at once come one after the other; ctx bounds the waiting for that.
func (r *reloader) reload(ctx context.Context, why string) (api.Reloaded, error) {
	log := r.d.log
	if err := r.turn.Acquire(ctx, 1); err != nil {
		return api.Reloaded{}, fmt.Errorf("another reload is in hand: %w", err)
	}
	defer r.turn.Release(1)
	began := false
	out, err := r.d.cameras.Reload(ctx, func(ctx context.Context) (*config.Config, error) {
		began = true
		tellSystemd(log, sd.SdNotifyReloading+"\n"+sd.SdNotifyMonotonicUsec())
		r.known.Store(r.source.sum(ctx))
		return r.source.load(ctx)
	})
	if began {
		r.d.setWebhooks(r.d.cameras.Settings())
		if r.d.mqtt != nil {
			r.d.mqtt.Sync() // the broker's pictures may show what is hidden now
		}
		tellSystemd(log, sd.SdNotifyReady)
	}
	if err != nil {
		log.Error("the configuration is not taken over", "why", why, "error", err)
		return out, err
	}
	log.Info("the configuration was read again", "why", why, "added", out.Added, "changed", out.Changed, "removed", out.Removed)
	if len(out.Restart) > 0 {
		log.Warn("some of the configuration takes a restart", "settings", out.Restart)
	}
	return out, nil
}
