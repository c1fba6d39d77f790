package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/segd/segd/config"
	"github.com/segd/segd/pipeline"
)

// manager tells systemd how segd does (sd_notify(3)). Started by hand, without
// NOTIFY_SOCKET, it tells nobody.
type manager struct {
	log   *slog.Logger
	watch *watchdog
	every time.Duration // between two pings; 0: no watchdog is asked for
}

func newManager(cfg *config.Config, log *slog.Logger) *manager {
	limit, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("no watchdog", "error", err)
	}
	m := &manager{log: log, watch: newWatchdog(cfg.Cameras, limit), every: limit / 4}
	return m
}

func (m *manager) tell(state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		m.log.Warn("systemd does not listen", "state", state, "error", err)
	}
}

// run says that segd is ready, and pings for as long as the cameras advance, until
// ctx ends; then it says that segd stops.
func (m *manager) run(ctx context.Context, set func() []pipeline.Snapshot) {
	m.tell(sd.SdNotifyReady)
	defer m.tell(sd.SdNotifyStopping)
	every := m.every
	if every == 0 {
		every = 10 * time.Second // for systemctl status alone
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	held := false
	for {
		snaps := set()
		m.tell("STATUS=" + statusOf(snaps))
		if m.every > 0 {
			stuck := m.watch.stuck(time.Now(), snaps)
			if stuck && !held {
				m.log.Error("cameras are up and none advances; systemd is not pinged until one does")
			}
			if held = stuck; !stuck {
				m.tell(sd.SdNotifyWatchdog)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// statusOf is the line that systemctl status shows.
func statusOf(snaps []pipeline.Snapshot) string {
	up, fps := 0, 0.0
	for _, s := range snaps {
		if s.Up {
			up++
		}
		fps += s.FPSOut
	}
	return fmt.Sprintf("%d of %d cameras up, %.1f frames/s published", up, len(snaps), fps)
}

// watchdog judges whether segd works. It does as long as a camera that is up
// advances, or none is up: a camera that is off, ended or unreachable is redialled
// anyway, and no restart would bring it back. Failing to publish advances too: when
// the NATS server is away, starting anew helps nobody.
type watchdog struct {
	patience map[string]time.Duration // by camera; how long it may take for a frame
	seen     map[string]advance
}

// advance is how far a camera had come, and when that was first seen.
type advance struct {
	frames uint64
	at     time.Time
}

// newWatchdog is patient for half of limit, which leaves systemd's own half for the
// pings; a folder that is shown slower than that, for two of its pictures.
func newWatchdog(cameras []config.Camera, limit time.Duration) *watchdog {
	w := &watchdog{patience: map[string]time.Duration{}, seen: map[string]advance{}}
	for _, c := range cameras {
		w.patience[c.Name] = max(limit/2, time.Duration(2*float64(time.Second)/c.FPS))
	}
	return w
}

// stuck tells whether cameras are up and none of them has come further within its
// patience.
func (w *watchdog) stuck(now time.Time, snaps []pipeline.Snapshot) bool {
	up, advancing := 0, 0
	for _, s := range snaps {
		if !s.Up {
			delete(w.seen, s.Camera) // once back, it has all its patience again
			continue
		}
		up++
		frames := s.Published + s.Failed
		if last, ok := w.seen[s.Camera]; !ok || frames != last.frames {
			w.seen[s.Camera] = advance{frames, now}
		}
		if now.Sub(w.seen[s.Camera].at) <= w.patience[s.Camera] {
			advancing++
		}
	}
	return up > 0 && advancing == 0
}
