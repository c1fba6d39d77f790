package ingest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/ntp"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

// When RTCP sender reports are believed.
const (
	// maxLate is how far apart a report and what it is compared with, a packet that is
	// ahead of it, another report or this machine's clock, may be by their own times and by
	// those of their arrival. What the network holds up for longer comes on a connection
	// that has been given up.
	maxLate = defaultStallTimeout
	// maxDelay is how far a packet may be behind a report: an encoder looks ahead for some
	// seconds, of few pictures a second for tens, or falls behind.
	maxDelay = 30 * time.Second
	// reportError is how far two reports may contradict each other. Many senders name the
	// RTP time of the newest frame, which may be a second old, rather than that of the report.
	reportError = time.Second
	// agreeFor is what has to lie between two reports for their agreement to mean
	// something, and agreeAgain the same after reports have contradicted each other.
	agreeFor   = 4 * reportError
	agreeAgain = 10 * reportError
)

// senderClock ties a camera's RTP time to its wall clock by its RTCP sender
// reports. Reports and packets come from different goroutines over UDP.
//
// gortsplib's own (Client.PacketNTP) drops a report that overtakes the first
// packet of its stream, and the next one comes seconds later; this one keeps it.
type senderClock struct {
	mu     sync.Mutex
	first  report // what newer ones are compared with
	newest report
	usable bool

	doubted atomic.Bool // reports contradicted each other

	// The rest belongs to the goroutine that calls at.
	good  moment        // of the newest packet that was believed
	odd   moment        // and of the one after it, if that was not
	of    time.Time     // when the report came that least is of
	least time.Duration // by which a packet that was believed was behind it
}

// moment is when a packet was sent, by the camera's clock, and when it came; zero: there
// is none.
type moment struct{ sent, at time.Time }

// follows tells whether a packet may have come after another one: it was not sent long
// before it, nor later than it has come since.
func (m moment) follows(before moment) bool {
	d := m.sent.Sub(before.sent)
	return !before.at.IsZero() && d >= -maxDisorder && d <= m.at.Sub(before.at)+maxDisorder
}

// report is a sender report.
type report struct {
	ssrc, rtp uint32
	ntp       time.Time
	at        time.Time // when it came; zero: there is none
}

// handle takes an RTCP packet.
func (c *senderClock) handle(p rtcp.Packet) {
	sr, ok := p.(*rtcp.SenderReport)
	switch {
	case !ok:
	case sr.NTPTime == 0: // it has no wall clock
		c.take(report{})
	default:
		c.take(report{sr.SSRC, sr.RTPTime, ntp.Decode(sr.NTPTime), time.Now()})
	}
}

// take sees whether a report can be believed: the first one if its clock is this
// machine's, any later one if it agrees with the one before it.
func (c *senderClock) take(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := r.at.Sub(c.first.at)
	switch {
	case r.at.IsZero():
		c.first, c.usable = r, false
	case c.first.at.IsZero() || c.first.ssrc != r.ssrc:
		c.first, c.usable = r, !c.doubted.Load() && r.ntp.Sub(r.at).Abs() <= maxLate
	case r.contradicts(c.first):
		c.doubted.Store(true)
		c.first, c.usable = r, false
	case since >= agreeAgain:
		c.first, c.usable = r, true
	case since >= agreeFor && !c.doubted.Load():
		c.usable = true
	}
	c.newest = r
}

// contradicts tells whether two reports are further apart by one of their clocks than by
// another.
func (r report) contradicts(before report) bool {
	came, sent := r.at.Sub(before.at), r.ntp.Sub(before.ntp)
	drift := driftShare * came / 100
	return (sent-r.since(before.rtp)).Abs() > reportError+drift || (sent-came).Abs() > maxLate+drift
}

// since is the RTP time of the report minus another one; RTP time wraps.
func (r report) since(t uint32) time.Duration { return ticksToDuration(int64(int32(r.rtp - t))) }

// at returns the camera's wall clock of an RTP packet that came at now, if it is known. For
// a packet that is far from the reports, or from those that came before and after it, it is
// by the one before.
func (c *senderClock) at(p *rtp.Packet, now time.Time) (time.Time, bool) {
	c.mu.Lock()
	r, usable := c.newest, c.usable
	c.mu.Unlock()
	if !usable || r.ssrc != p.SSRC {
		c.good, c.odd = moment{}, moment{}
		return time.Time{}, false
	}
	if !r.at.Equal(c.of) {
		c.of, c.least = r.at, maxDelay
	}
	m := moment{r.ntp.Add(-r.since(p.Timestamp)), now}
	if late := r.ntp.Add(now.Sub(r.at)).Sub(m.sent); c.believes(m, late) {
		c.good, c.odd, c.least = m, moment{}, min(c.least, late)
	} else {
		c.odd = m
	}
	if c.good.at.IsZero() {
		return time.Time{}, false
	}
	return now.Add(c.good.sent.Sub(c.good.at)), true
}

// believes tells whether a packet that is late after a report can be: it is near the
// report, and the first, or after one that was believed, or as late as the quickest since
// the report; or two that say the same are no accident.
func (c *senderClock) believes(m moment, late time.Duration) bool {
	if late < -maxLate || late > maxDelay {
		return false
	}
	return c.good.at.IsZero() || m.follows(c.good) || (late-c.least).Abs() <= maxDisorder || m.follows(c.odd)
}
