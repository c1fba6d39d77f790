package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/segd/segd/config"
	"github.com/segd/segd/pipeline"
)

// watchdogLimit is that of the systemd unit, for who asks at /livez elsewhere.
const watchdogLimit = time.Minute

// watchdog judges whether segd works, for systemd and for /livez. It does as long as a
// camera that is up advances, or none is up: a camera that is off, ended or unreachable
// is redialled anyway, and no restart would bring it back. Failing to publish advances
// too: when the NATS server is away, a restart does not help.
type watchdog struct {
	limit time.Duration

	mu       sync.Mutex               // guards what follows
	patience map[string]time.Duration // by camera; how long it may take for a frame
	seen     map[string]advance
}

// advance is how far a camera had come, and when that was first seen.
type advance struct {
	frames uint64
	at     time.Time
}

// newWatchdog is patient for half of limit (0: watchdogLimit), which leaves systemd's own
// half for the pings; a folder that is shown slower than that, for two of its pictures.
func newWatchdog(cameras []config.Camera, limit time.Duration) *watchdog {
	w := &watchdog{limit: cmp.Or(limit, watchdogLimit), seen: map[string]advance{}}
	w.cameras(cameras)
	return w
}

// cameras sets which cameras there are. What was seen of those that are gone is forgotten.
func (w *watchdog) cameras(cameras []config.Camera) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patience = make(map[string]time.Duration, len(cameras))
	for _, c := range cameras {
		if c.Snapshots() { // which is up too while it has no newer picture
			continue
		}
		w.patience[c.Name] = max(w.limit/2, time.Duration(2*float64(time.Second)/c.FPS))
	}
	maps.DeleteFunc(w.seen, func(name string, _ advance) bool { _, there := w.patience[name]; return !there })
}

// check says of each camera that is up how long it stands still, if there are such and
// none of them has come further within its patience. It wants to be asked often: it
// knows what it has seen.
func (w *watchdog) check(now time.Time, snaps []pipeline.Snapshot) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var stuck []error
	advancing := false
	for _, s := range snaps {
		if !s.Up {
			delete(w.seen, s.Camera) // once back, it has all its patience again
			continue
		}
		patience, judged := w.patience[s.Camera]
		if !judged {
			continue
		}
		frames := s.Published + s.Failed + s.Unleased
		if last, ok := w.seen[s.Camera]; !ok || frames != last.frames {
			w.seen[s.Camera] = advance{frames, now}
		}
		still := now.Sub(w.seen[s.Camera].at)
		if still <= patience {
			advancing = true
			continue
		}
		stuck = append(stuck, fmt.Errorf("camera %s is up, and no frame has come out for %v", s.Camera, still.Round(time.Second)))
	}
	if advancing {
		return nil
	}
	return errors.Join(stuck...)
}
