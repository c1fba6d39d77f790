package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/segd/segd/pipeline"
)

// manager tells systemd how segd does (sd_notify(3)). Started by hand, without
// NOTIFY_SOCKET, it does nothing.
type manager struct {
	log   *slog.Logger
	watch *watchdog
	every time.Duration // between two pings; 0: no watchdog is asked for
}

func newManager(watch *watchdog, limit time.Duration, log *slog.Logger) *manager {
	return &manager{log: log, watch: watch, every: limit / 4}
}

// systemdLimit is within what systemd wants to be pinged; 0: not at all.
func systemdLimit(log *slog.Logger) time.Duration {
	limit, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("no watchdog", "error", err)
	}
	return limit
}

func (m *manager) tell(state string) { tellSystemd(m.log, state) }

func tellSystemd(log *slog.Logger, state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		log.Warn("systemd does not listen", "state", state, "error", err)
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
			stuck := m.watch.check(time.Now(), snaps)
			if stuck != nil && !held {
				m.log.Error("cameras are up and none advances; systemd is not pinged until one does", "error", stuck)
			}
			if held = stuck != nil; !held {
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
