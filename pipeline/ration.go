package pipeline

import (
	"time"

	"golang.org/x/time/rate"
)

// EventsPerSecond and EventsAtOnce bound the events of what a camera's objects do, by stream time: so many a second for
// ever, and so many at once.
const (
	EventsPerSecond = 1
	EventsAtOnce    = 60
)

// ration is how many events of objects may be told. It is used in the camera's turn only.
type ration struct {
	limiter *rate.Limiter
	now     time.Time // stream time
	over    func()    // is told of each event that is not told when it happened
}

func newRation(over func()) ration {
	return ration{limiter: rate.NewLimiter(EventsPerSecond, EventsAtOnce), over: over}
}

// at says how late it is in the stream.
func (r *ration) at(pts time.Duration) { r.now = time.Unix(0, 0).Add(pts) }

// may takes an event from the ration, if there is one left; first says that it was not asked for this one before.
func (r *ration) may(first bool) bool {
	ok := r.limiter.AllowN(r.now, 1)
	if !ok && first {
		r.over()
	}
	return ok
}

// owe takes an event that has to be told, as what ends something that was told: others wait for longer then.
func (r *ration) owe() { r.limiter.ReserveN(r.now, 1) }

// limited counts an event beyond the limit, and says so now and then.
func (c *Camera) limited() {
	c.cfg.Meter.Limited()
	c.sayLimited.Do(func() {
		c.log.Warn("more happens than events may tell of: what objects do is told later, or not where it has passed by then; masks and status have all of it",
			"most_per_second", EventsPerSecond, "most_at_once", EventsAtOnce)
	})
}
