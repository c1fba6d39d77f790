package ingest

import "time"

// link tells a camera's observer whether it is there.
type link struct {
	src   *Source
	state linkState
}

// linkState is what a camera's observer was last told.
type linkState uint8

const (
	linkNew   linkState = iota // nothing yet
	linkNever                  // down, and was never up
	linkUp
	linkLost // down, and was up before
)

// up says that frames flow.
func (l *link) up() {
	again := l.state == linkLost
	l.state = linkUp
	l.src.cfg.Observer.Up(again)
}

// down says why none flow, and tells whether they did before.
func (l *link) down(err error) (was bool) {
	switch l.state {
	case linkNew:
		l.state = linkNever
	case linkUp:
		l.state = linkLost
	default:
		return false
	}
	l.src.cfg.Observer.Down(err)
	return l.state == linkLost
}

// repeats quiets a message that says the same again and again.
type repeats struct {
	last  string
	at    time.Time
	count int
}

// repeatEvery is how often an unchanged reason for being down is logged.
const repeatEvery = time.Minute

// say counts one more attempt and tells whether to speak of it, and how many
// there were since last time.
func (r *repeats) say(msg string) (attempts int, ok bool) {
	r.count++
	if msg == r.last && time.Since(r.at) < repeatEvery {
		return 0, false
	}
	attempts, r.count = r.count, 0
	r.last, r.at = msg, time.Now()
	return attempts, true
}
