package ingest

import (
	"slices"
	"time"
)

// How media time is compared with the wall clock.
const (
	// driftWindow is over which the least lag is taken: what a packet waits on its way
	// is in the lag too, and some packet of each second waits for little.
	driftWindow = time.Second
	// driftWindows is how many are remembered: as many as a clock that is off by
	// driftShare needs to be leastDrift behind or ahead.
	driftWindows = int(leastDrift / (driftShare * driftWindow / 100))
	// driftShare, in percent, is how much faster or slower than the wall clock media time
	// may be. A crystal is off by some hundredths of a percent at most, a film of 24
	// pictures a second that is sent at 25 by four. Senders that count in another unit, or
	// wrongly, are off by far more.
	driftShare = 5
	// leastDrift is how far media time has to have fallen behind or run ahead by that. A
	// network that becomes slow falls behind too, until its buffers are full, and a sender
	// that begins late catches up: both are usually over by then.
	leastDrift = 3 * time.Second
	// leastWindows is how many windows it has to have done so in, steadily: after a
	// moment in which nothing came, what waited comes at once.
	leastWindows = 4
)

// drift compares the media time of one connection with the time of arrival. Its zero
// value is ready.
type drift struct {
	began   time.Time
	opened  time.Time
	newest  time.Duration // the lag of the newest frame
	window  lag           // the least since opened
	windows []lag         // those before, oldest first
}

// lag is by how much media time is behind the wall clock, since the connection began.
type lag struct {
	at time.Time
	by time.Duration
}

// add takes a frame whose media time since the connection began is media, and tells
// whether a window has ended with it.
func (d *drift) add(now time.Time, media time.Duration) bool {
	if d.began.IsZero() {
		d.began = now
	}
	l := lag{now, now.Sub(d.began) - media}
	d.newest = l.by
	switch {
	case d.opened.IsZero():
		d.opened, d.window = now, l
	case now.Sub(d.opened) >= driftWindow:
		if len(d.windows) == driftWindows {
			d.windows = slices.Delete(d.windows, 0, 1)
		}
		d.windows = append(d.windows, d.window)
		d.opened, d.window = now, l
		return true
	case l.by < d.window.by:
		d.window = l
	}
	return false
}

// late is how much later than the quickest the newest frame came.
func (d *drift) late() time.Duration {
	least := d.window.by
	for _, l := range d.windows {
		least = min(least, l.by)
	}
	return d.newest - least
}

// speed returns how fast media time is, as a share of the wall clock, if that is beyond
// driftShare, and since when at least; else the zero time.
func (d *drift) speed() (speed float64, since time.Time) {
	newest := len(d.windows) - 1
	for n := newest; n >= leastWindows; n-- {
		a, b, c := d.windows[newest-n], d.windows[newest-n/2], d.windows[newest]
		all := c.by - a.by
		if all.Abs() < leastDrift || b.off(a) == 0 || b.off(a) != c.off(b) {
			continue
		}
		if all < 0 && slices.ContainsFunc(d.windows[:newest-n], func(l lag) bool { return l.by < c.by+leastDrift }) {
			continue // a network that was slow is quick again
		}
		return 1 - all.Seconds()/c.at.Sub(a.at).Seconds(), a.at
	}
	return 1, time.Time{}
}

// steady tells whether media time was as fast as the wall clock for all the windows.
func (d *drift) steady() bool {
	if len(d.windows) < driftWindows {
		return false
	}
	a, b, c := d.windows[0], d.windows[driftWindows/2], d.windows[driftWindows-1]
	return b.off(a) == 0 && c.off(b) == 0
}

// off tells whether media time since an earlier lag was slower than the wall clock, 1, or
// faster, -1, by more than driftShare.
func (l lag) off(earlier lag) int {
	by, bound := l.by-earlier.by, driftShare*l.at.Sub(earlier.at)/100
	switch {
	case by > bound:
		return 1
	case by < -bound:
		return -1
	}
	return 0
}
