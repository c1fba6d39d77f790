package ingest

import "time"

// timeline turns the times of one connection after another into one stream time
// that starts at 0 and always rises. Its zero value is ready.
type timeline struct {
	started bool
	pending bool          // the next frame begins a new run of media times
	base    time.Duration // stream time minus media time of this run
	last    time.Duration // stream time of the newest frame
	seen    time.Time     // when it was received
}

const (
	// minStep parts two frames whose times say they are not apart.
	minStep = time.Millisecond
	// maxDrift is how far media time may run ahead of or behind the wall clock from
	// one frame to the next before it is taken for a jump of the camera's clock.
	maxDrift = 10 * time.Second
	// maxReorder is how far a frame's time may lie before its predecessor's and
	// still be taken for disorder rather than a jump.
	maxReorder = time.Second
)

// restart says that media times begin anew with the next frame: a new
// connection, or the start of the next loop.
func (t *timeline) restart() { t.pending = true }

// next returns the stream time of a frame whose media time is media and which
// was received at now. After a restart or a jump the step from the last frame
// is the time that passed meanwhile.
func (t *timeline) next(media time.Duration, now time.Time) time.Duration {
	gap := max(now.Sub(t.seen), minStep)
	switch {
	case !t.started:
		t.started = true
		t.base = -media
		t.last = -minStep
	case t.pending:
		t.base = t.last + gap - media
	default:
		if d := t.base + media - t.last; d < -maxReorder || d > gap+maxDrift {
			t.base = t.last + gap - media
		}
	}
	t.pending = false
	t.seen = now
	t.last = max(t.base+media, t.last+minStep)
	return t.last
}

// nextStored is next for a file, where a restart is the loop's: the step over it
// is the one given.
func (t *timeline) nextStored(media, step time.Duration) time.Duration {
	switch {
	case !t.started:
		t.started = true
		t.base = -media
		t.last = -minStep
	case t.pending:
		t.base = t.last + step - media
	}
	t.pending = false
	t.last = max(t.base+media, t.last+minStep)
	return t.last
}
