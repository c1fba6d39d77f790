//go:build !race

package fleet

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The model: a box, A, that holds what it holds, and another, B, that watches it and may end its session. What both go
// by is the program's (tenure, silence and hearing, the same code). Between them is a NATS server that hands on what
// comes in to each in that order, and connections that break, with what was under way on them lost, or carried out
// late, or carried out and not confirmed. Each may stand still at any moment for as long as it takes. All
// interleavings are tried, for some seconds of time that passes for both.

const (
	tick = time.Second
	// noTick is of what has not happened.
	noTick = -1
)

// horizon is for how many ticks the model goes on: twice TTL. It has six million states; each further second has three
// times as many.
var horizon = flag.Int("horizon", 4, "seconds that the model of leases goes on for")

var modelTiming = Timing{Beat: tick, TTL: 2 * tick, Renew: 2 * tick, Lease: 4 * tick}

// flaw leaves a part of the protocol out, to see that the model finds out.
type flaw int

const (
	sound        flaw = iota
	noLapse           // a box whose heartbeats come back again goes on at once
	noContinuity      // what was lost with a connection counts as silence
	ownClock          // who hears nothing itself takes that for silence
	noRevision        // a session is ended whatever revision the key has by now
	noWitness         // it is ended at the key's newest revision, however long ago a sign of life was
	deafCounts        // a heartbeat that is for the box alone counts for it as one that others hear does
	flaws
)

func (f flaw) String() string {
	return []string{"sound", "no renewal after a lapse", "no continuity", "silence by one's own clock", "fencing without a revision",
		"a new revision is no sign of life", "a heartbeat for itself counts"}[f]
}

// world is one state of all.
type world struct {
	now      int8
	revision int8 // of A's key
	over     bool // A's session is

	a struct {
		heard, renewed, lapsed, revision int8 // of its tenure
		ended, connected, broken         bool
		beatAt                           int8 // the newest heartbeat
		echo                             int8 // one that is on its way back; noTick: none
		asked                            int8 // when the renewal that is under way was sent; noTick: there is none
		wants                            int8 // the revision that the key is to have had for that
		result                           int8 // 0: it is not carried out yet; -1: refused
		lost                             bool // no box hears of it any more
	}
	b struct {
		echo, since, known int8
		anew               bool // no heartbeat has come back by the connection there is
		over               bool // it knows that A's session is
		connected, broken  bool
		beatAt             int8
		queue              [2]int8 // heartbeats on their way to it: of A at tick t as t+1, its own as -(t+1)
		fencing            bool
		fences             int8 // the revision that it thinks the key has
	}
}

func at(t int8) instant {
	if t == noTick {
		return never
	}
	return instant(t) * tick
}

func ticks(i instant) int8 {
	if i < 0 {
		return noTick
	}
	return int8(i / tick)
}

func (w *world) tenure() tenure {
	return tenure{timing: modelTiming, revision: uint64(w.a.revision), heard: at(w.a.heard), renewed: at(w.a.renewed), lapsed: at(w.a.lapsed), ended: w.a.ended}
}

func (w *world) keep(t tenure, f flaw) {
	if f == noLapse {
		t.lapsed = never
	}
	w.a.heard, w.a.renewed, w.a.lapsed, w.a.revision = ticks(t.heard), ticks(t.renewed), ticks(t.lapsed), int8(t.revision)
}

// publishes tells whether A would send a frame now.
func (w world) publishes() bool {
	t := w.tenure()
	return t.valid(at(w.now))
}

func (w *world) sign() {
	s := silence{since: at(w.b.since)}
	s.sign(at(w.now))
	w.b.since = ticks(s.since)
}

// send puts a heartbeat on its way to B. There is room for two: a third has to wait for B to hear one.
func (w *world) send(m int8) bool {
	for i := range w.b.queue {
		if w.b.queue[i] == 0 {
			w.b.queue[i] = m
			return true
		}
	}
	return false
}

// next are the states that may follow w.
func (w world) next(f flaw, visit func(what string, next world)) {
	do := func(what string, change func(n *world) bool) {
		if n := w; change(&n) {
			visit(what, n)
		}
	}
	do("time passes", func(n *world) bool { n.now++; return int(n.now) <= *horizon })
	w.nextOfA(f, do)
	w.nextOfB(f, do)
}

func (w *world) nextOfA(f flaw, do func(what string, change func(n *world) bool)) {
	do("A sends a heartbeat", func(n *world) bool {
		if !n.a.connected || n.a.beatAt == n.now || n.a.echo != noTick {
			return false
		}
		n.a.beatAt, n.a.echo = n.now, n.now
		return !n.b.connected || n.send(n.now+1)
	})
	// What A says to itself alone changes nothing for either, else.
	do("A sends a heartbeat for itself", func(n *world) bool {
		if f != deafCounts || !n.a.connected || n.a.beatAt == n.now || n.a.echo != noTick {
			return false
		}
		n.a.beatAt, n.a.echo = n.now, n.now
		return true
	})
	do("A's heartbeat comes back", func(n *world) bool {
		if n.a.echo == noTick {
			return false
		}
		t := n.tenure()
		t.echoed(at(n.a.echo), at(n.now))
		n.keep(t, f)
		n.a.echo = noTick
		return true
	})
	do("A loses its connection", func(n *world) bool {
		if n.a.broken {
			return false
		}
		n.a.broken, n.a.connected, n.a.echo, n.a.lost = true, false, noTick, n.a.asked != noTick
		return true
	})
	do("A connects", func(n *world) bool { was := n.a.connected; n.a.connected = true; return !was })
	do("A renews", func(n *world) bool {
		t := n.tenure()
		if !n.a.connected || n.a.asked != noTick || !t.due(at(n.now)) {
			return false
		}
		n.keep(t, f)
		n.a.asked, n.a.wants, n.a.result = n.now, n.a.revision, 0
		return true
	})
	do("A's renewal is carried out", func(n *world) bool {
		if n.a.asked == noTick || n.a.result != 0 {
			return false
		}
		if n.a.result = -1; n.a.wants == n.revision {
			n.revision++
			n.a.result = n.revision
		}
		return true
	})
	do("A's renewal is answered", func(n *world) bool {
		if n.a.asked == noTick || n.a.result == 0 || n.a.lost {
			return false
		}
		t := n.tenure()
		switch {
		case n.a.result > 0:
			t.confirmed(at(n.a.asked), uint64(n.a.result), at(n.now))
		case n.over:
			n.a.ended = true
		default:
			t.revision = uint64(n.revision) // it looks
		}
		n.keep(t, f)
		n.a.asked, n.a.wants, n.a.result = noTick, 0, 0
		return true
	})
	do("A gives a renewal up", func(n *world) bool {
		if n.a.asked == noTick || !n.a.lost {
			return false
		}
		n.a.asked, n.a.wants, n.a.result, n.a.lost = noTick, 0, 0, false
		return true
	})
}

func (w *world) nextOfB(f flaw, do func(what string, change func(n *world) bool)) {
	do("B sends a heartbeat", func(n *world) bool {
		if !n.b.connected || n.b.beatAt == n.now {
			return false
		}
		n.b.beatAt = n.now
		return n.send(-n.now - 1)
	})
	do("B hears", func(n *world) bool {
		m := n.b.queue[0]
		n.b.queue = [2]int8{n.b.queue[1]}
		if m > 0 {
			n.sign()
		}
		if m < 0 {
			sent := at(-m - 1)
			h := hearing{echo: at(n.b.echo)}
			var connection uint64
			if n.b.anew {
				connection = 1
			}
			if h.echoed(sent, connection, at(n.now)) && f != noContinuity {
				s := silence{since: at(n.b.since)}
				s.sign(sent)
				n.b.since = ticks(s.since)
			}
			n.b.echo, n.b.anew = ticks(h.echo), false
		}
		return m != 0
	})
	do("B loses its connection", func(n *world) bool {
		if n.b.broken {
			return false
		}
		n.b.broken, n.b.connected, n.b.queue = true, false, [2]int8{}
		return true
	})
	do("B connects", func(n *world) bool {
		was := n.b.connected
		n.b.connected, n.b.anew = true, true
		return !was
	})
	do("B learns of A's key", func(n *world) bool {
		if !n.b.connected || (n.b.known == n.revision && n.b.over == n.over) {
			return false
		}
		if n.b.known, n.b.over = n.revision, n.over; f != noWitness {
			n.sign()
		}
		return true
	})
	do("B ends A's session", func(n *world) bool {
		echo := at(n.b.echo)
		if f == ownClock {
			echo = at(n.now)
		}
		s := silence{since: at(n.b.since)}
		if !n.b.connected || n.b.fencing || n.b.over || !s.over(echo, modelTiming.TTL) {
			return false
		}
		n.b.fencing, n.b.fences = true, n.b.known
		return true
	})
	do("the end of A's session is carried out", func(n *world) bool {
		if !n.b.fencing {
			return false
		}
		n.b.fencing = false
		if (n.b.fences == n.revision || f == noRevision) && !n.over {
			n.revision++
			n.over = true
		}
		return true
	})
}

// explore tries all interleavings and returns how many states there are, whether A's session is ended in any, and how
// the first came about in which A publishes all the same.
func explore(f flaw) (states int, ends bool, trace []string) {
	first := world{revision: 1}
	first.a.lapsed, first.a.revision, first.a.connected, first.a.beatAt, first.a.echo, first.a.asked = noTick, 1, true, noTick, noTick, noTick
	first.b.echo, first.b.known, first.b.connected, first.b.beatAt = noTick, 1, true, noTick
	type step struct {
		from int32
		what string
	}
	seen := map[world]struct{}{first: {}}
	all, came := []world{first}, []step{{}}
	for i := 0; i < len(all); i++ {
		w := all[i]
		ends = ends || w.over
		if w.over && w.publishes() {
			for k := int32(i); k != 0; k = came[k].from {
				trace = append([]string{fmt.Sprintf("%d: %s", all[k].now, came[k].what)}, trace...)
			}
			return len(all), ends, trace
		}
		w.next(f, func(what string, n world) {
			if _, ok := seen[n]; !ok {
				seen[n] = struct{}{}
				all, came = append(all, n), append(came, step{int32(i), what})
			}
		})
	}
	return len(all), ends, nil
}

// A box whose session was ended publishes nothing, so that others may; and each part of the protocol is needed for that.
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 40 s: every state of the protocol's model")
	}
	for f := range flaws {
		t.Run(f.String(), func(t *testing.T) {
			states, ends, trace := explore(f)
			t.Logf("%d states\n%s", states, strings.Join(trace, "\n"))
			switch {
			case f == sound && trace != nil:
				t.Error("it publishes though its session was ended")
			case f == sound && !ends:
				t.Error("the session is never ended: the model says nothing")
			case f != sound && trace == nil:
				t.Error("the model does not find what is wrong")
			}
		})
	}
}
