package ingest

import "time"

// timeline turns the times of one connection after another, or of a file, into one
// stream time that starts at 0 and always rises. Its zero value is ready.
type timeline struct {
	clock   string // Config.Clock; "" is auto
	started bool
	pending bool          // the next frame begins a new run of media times
	media   time.Duration // media time of the newest frame
	step    time.Duration // from the one before, as the source has it
	run     time.Duration // media time since the run began, without its cuts
	base    time.Duration // stream time at which the run began
	last    time.Duration // stream time of the newest frame
	seen    time.Time     // when it was received

	drift     drift
	byArrival bool      // media time runs at another speed than the wall clock, which is followed
	speed     float64   // that speed, as it was when this was found
	zero      time.Time // wall clock of stream time 0, if byArrival
}

// minStep parts two frames whose times say they are not apart.
const minStep = time.Millisecond

// Bounds of a step of media time. One beyond them is a cut: the sender's clock was set,
// or the file was put together of several.
const (
	// maxDisorder is how far a camera's frame may lie before its predecessor, or ahead
	// of what the time of its arrival allows, and still be taken for disorder. H.264 and
	// H.265 reorder over 16 pictures at most, of which a camera sends 16 a second or
	// more; what is shorter does no harm, as it does not add up.
	maxDisorder = time.Second

	// few is how many frame times a step of a file may be long: some pictures may be
	// missing.
	few = 3
	// storedPause is what it may be at least. Recordings with a variable frame rate leave
	// out pictures in which nothing moves, for some seconds. It is as long as a camera
	// may be without a picture before it is down.
	storedPause = defaultStallTimeout
	// storedWait is what it may be at most, in a file of rare pictures. Segd is started
	// anew when nothing comes of a source that is up for half a minute.
	storedWait = 20 * time.Second
)

// restart says that media times begin anew with the next frame: a new
// connection, or the start of the next loop.
func (t *timeline) restart() { t.pending = true }

// next returns the stream time of a camera's frame whose media time is media and which
// was received at now. After a restart or a cut the step from the last frame is the
// time that passed meanwhile.
func (t *timeline) next(media time.Duration, now time.Time) time.Duration {
	gap := max(now.Sub(t.seen), minStep)
	if !t.started {
		gap = 0
		t.zero = now
		t.byArrival = t.clock == clockArrival
	}
	if !t.started || t.pending {
		t.drift = drift{}
	}
	t.advance(media, gap, func(d time.Duration) time.Duration {
		return through(d, maxDisorder, gap+t.drift.late()+maxDisorder, gap)
	})
	t.seen = now
	if t.drift.add(now, t.run) && t.clock != clockSender && t.clock != clockArrival {
		t.judge(now)
	}
	pts := t.base + t.run
	if t.byArrival {
		// What is ahead or behind is made up for at half or double speed: a larger step
		// would look like a pause of the camera.
		pts = t.last + min(max(now.Sub(t.zero)-t.last, gap/2), 2*gap)
		t.base = pts - t.run // from there media time would go on
	}
	return t.rise(pts)
}

// judge sees whether media time can be followed to a frame that was received at now.
func (t *timeline) judge(now time.Time) {
	speed, since := t.drift.speed()
	switch {
	case !since.IsZero() && !t.byArrival:
		t.byArrival, t.speed = true, speed
		fell := time.Duration((1 - speed) * float64(now.Sub(since)))
		t.zero = now.Add(-t.base - t.run - fell)
	case t.byArrival && t.drift.steady():
		t.byArrival, t.speed = false, 0
	}
}

// nextStored is next for a file, of which nominal is the usual time from one frame to the
// next: that is the step after a restart, which is the loop's, or a cut.
func (t *timeline) nextStored(media, nominal time.Duration) time.Duration {
	nominal = min(nominal, storedWait)
	t.advance(media, nominal, func(d time.Duration) time.Duration {
		// A file's rate is not always known; two long steps in a row are its pace too.
		pace := max(nominal, min(d, t.step))
		ahead := min(max(few*pace, storedPause), storedWait)
		return through(d, few*nominal, ahead, min(pace, storedWait))
	})
	return t.rise(t.base + t.run)
}

// advance takes the media time of a frame. After a restart the step to it is the given
// one, else what through makes of that of media time.
func (t *timeline) advance(media, restart time.Duration, through func(d time.Duration) time.Duration) {
	d := media - t.media
	switch {
	case !t.started:
		t.started, t.last = true, -minStep
	case t.pending:
		t.base, t.run = t.last+restart, 0
	default:
		t.run += through(d)
		t.step = d
	}
	t.pending = false
	t.media = media
}

// through returns the step d of media time, or instead of a cut another one.
func through(d, back, ahead, instead time.Duration) time.Duration {
	if d < -back || d > ahead {
		return instead
	}
	return d
}

// rise returns the stream time of the newest frame, which pts is if it rises.
func (t *timeline) rise(pts time.Duration) time.Duration {
	t.last = max(pts, t.last+minStep)
	return t.last
}
