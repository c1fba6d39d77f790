package fleet

import (
	"cmp"
	"errors"
	"time"
)

// Timing is how fast a fleet notices. All its boxes need the same; zero fields are the
// defaults.
type Timing struct {
	// Beat is the time from one heartbeat to the next. Default an eighth of TTL.
	Beat time.Duration
	// TTL is for how long a box may be silent before what it runs is taken over. Default
	// 2 s.
	TTL time.Duration
	// Renew is how often a box renews its key. Default twice TTL.
	Renew time.Duration
	// Lease is for how long a box that is heard, but cannot renew its key, goes on: longer
	// than NATS takes to elect a leader, up to 9 s. Default eight times TTL.
	Lease time.Duration
}

// DefaultTTL is Timing's.
const DefaultTTL = 2 * time.Second

func (t *Timing) setDefaults() error {
	t.TTL = cmp.Or(t.TTL, DefaultTTL)
	t.Beat = cmp.Or(t.Beat, t.TTL/8)
	t.Renew = cmp.Or(t.Renew, 2*t.TTL)
	t.Lease = cmp.Or(t.Lease, 8*t.TTL)
	if t.Beat <= 0 || t.TTL < 4*t.Beat || t.Renew < t.Beat || t.Lease < t.TTL+t.Renew {
		return errors.New("fleet: timing: want a TTL of 4 beats or more, and a lease of TTL and renewal or more")
	}
	return nil
}

// margin is by how much a box stops earlier than others may take over: how far clocks may
// drift in TTL, and messages be late.
func (t Timing) margin() time.Duration { return t.TTL / 8 }

// deaf is after how long without a heartbeat that comes back a box says nothing to others any more: two beats by
// default, so that these take over little later than if it had died. One that is merely late costs nothing: others
// wait TTL, and the next that comes back ends it.
func (t Timing) deaf() time.Duration { return t.TTL / 4 }
