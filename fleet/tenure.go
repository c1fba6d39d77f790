package fleet

import (
	"math"
	"time"
)

// instant is a time by this process's monotonic clock, since some moment.
type instant = time.Duration

// never is before any instant.
const never = instant(math.MinInt64 / 2)

// tenure is what a box knows of its own right to what its session holds. It is a pure
// function of what it is told.
//
// Others end a session by compare-and-set on the newest revision of the key that it renews
// that they know, once they have heard nothing from it for TTL. Why nothing is published under
// it by then: what they heard last was sent by the time they heard it, and until is TTL
// less a margin after the newest thing sent that is known to have arrived, because it came
// back. After a lapse the session may have been ended; a renewal that was sent since and
// confirmed says that it was not, and has those fail who know the revision before only. Who
// learns of the new revision has to hear nothing for TTL from then on.
type tenure struct {
	timing   Timing
	revision uint64  // of the key that the box renews, as it was confirmed
	heard    instant // when that was sent which is known to have arrived
	renewed  instant // when the newest renewal was sent that was confirmed
	lapsed   instant // a renewal that was sent since is needed
	ended    bool    // another box has ended the session
}

// begin is a session whose key was made at revision, by what was sent then.
func begin(timing Timing, revision uint64, sent instant) tenure {
	return tenure{timing: timing, revision: revision, heard: sent, renewed: sent, lapsed: never}
}

// until is when it ends if nothing more is heard.
func (t *tenure) until() instant {
	return min(t.heard+t.timing.TTL, t.renewed+t.timing.Lease) - t.timing.margin()
}

// valid tells whether what the session holds may be published now.
func (t *tenure) valid(now instant) bool {
	if now >= t.until() {
		t.lapsed = now
	}
	return !t.ended && t.renewed >= t.lapsed
}

// echoed notes that a heartbeat which was sent then has come back.
func (t *tenure) echoed(sent, now instant) {
	t.valid(now) // notes a lapse before it looks like none
	t.heard = max(t.heard, sent)
}

// confirmed notes that a renewal which was sent then has made that revision.
func (t *tenure) confirmed(sent instant, revision uint64, now instant) {
	t.valid(now)
	t.renewed, t.heard = max(t.renewed, sent), max(t.heard, sent)
	t.revision = max(t.revision, revision)
}

// due tells whether it is time to renew.
func (t *tenure) due(now instant) bool {
	return !t.ended && (!t.valid(now) || now >= t.renewed+t.timing.Renew)
}

// silence is what a box knows of another one's life.
type silence struct {
	session  string
	revision uint64  // of the key that it renews, the newest known
	since    instant // the last sign of life
	beats    int     // heartbeats so far
	asked    instant // when the key was looked at last
}

// sign notes a sign of life.
func (s *silence) sign(now instant) { s.since = max(s.since, now) }

// over tells whether the session may be ended, by who has had a heartbeat of its own come
// back that was sent at echo. Until that moment it would have heard the other's: one that
// was stopped itself, or hears nothing, ends no session.
func (s *silence) over(echo instant, ttl time.Duration) bool { return echo >= s.since+ttl }

// hearing is what a box knows of what it hears.
type hearing struct {
	echo       instant // when the newest heartbeat was sent that has come back
	connection uint64  // by which
	at         instant // when one came back last
}

// echoed notes that a heartbeat which was sent then, by a connection with that number, has
// come back. anew says that what was sent before then may have gone down with another
// connection: the silence of others begins no earlier.
func (h *hearing) echoed(sent instant, connection uint64, now instant) (anew bool) {
	h.at = max(h.at, now)
	anew = connection != h.connection || h.echo == never
	h.echo, h.connection = max(h.echo, sent), connection
	return anew
}
