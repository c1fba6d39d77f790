package bus

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Reason is why a message was lost.
type Reason string

// The reasons.
const (
	// BufferFull: there was no connection, and no room to wait for one.
	BufferFull Reason = "buffer_full"
	// NotConnected: there has been no connection yet.
	NotConnected Reason = "not_connected"
	// Refused: it can never be sent, for its size or its names.
	Refused Reason = "refused"
	// Unconfirmed: the connection broke before the server was known to have it or,
	// of a mask that is to be kept, to have stored it; it may have arrived all the
	// same; or it waited for a connection when the Bus was closed. Events are sent
	// again until they are stored: they are those that were not when the Bus was
	// closed.
	Unconfirmed Reason = "unconfirmed"
)

var (
	lossKinds   = [...]Kind{KindMask, KindEvent, KindStatus}
	lossReasons = [...]Reason{BufferFull, NotConnected, Refused, Unconfirmed}
)

// Stats is how a Bus does. The counts are since Open.
type Stats struct {
	Connected     bool
	Reconnects    uint64        // connections after the first
	BufferedBytes int           // waiting to be sent
	EventsWaiting int           // not stored yet
	EventsOldest  time.Duration // how long the oldest of these has waited
	EventsStored  uint64        // acknowledged by JetStream
	PicturesKept  uint64        // acknowledged by JetStream
	PicturesLost  uint64        // which it did not take in time, or at all
	Duplicates    int           // other segd that publish a camera of ours, unless it is meant
	// Lost counts messages. Every kind and reason is there.
	Lost map[Kind]map[Reason]uint64
}

// Stats tells how b does.
func (b *Bus) Stats() Stats {
	s := Stats{
		Connected:  b.conn.IsConnected(),
		Reconnects: b.conn.Stats().Reconnects,
		Lost:       make(map[Kind]map[Reason]uint64, len(lossKinds)),
	}
	s.BufferedBytes, _ = b.conn.Buffered() // of a closed connection: nothing
	s.EventsWaiting, s.EventsOldest, s.EventsStored, _ = b.events.state()
	if b.pictures != nil {
		s.PicturesKept, s.PicturesLost = b.pictures.state()
	}
	s.Duplicates = b.claims.others()
	for i, k := range lossKinds {
		s.Lost[k] = make(map[Reason]uint64, len(lossReasons))
		for j, r := range lossReasons {
			s.Lost[k][r] = b.losses[i][j].Load()
		}
	}
	return s
}

// losses counts lost messages by kind and reason.
type losses [len(lossKinds)][len(lossReasons)]atomic.Uint64

func (l *losses) add(kind Kind, reason Reason, n uint64) {
	l[slices.Index(lossKinds[:], kind)][slices.Index(lossReasons[:], reason)].Add(n)
}

// reasonOf returns the reason for which a publish failed.
func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, ErrFull):
		return BufferFull
	case errors.Is(err, ErrNotConnected), errors.Is(err, ErrClosed):
		return NotConnected
	}
	if network := net.Error(nil); errors.As(err, &network) {
		return Unconfirmed // it broke in the middle of the message
	}
	return Refused
}

// inFlight counts what was sent and what of it the server is known to have, per
// kind: a connection that breaks takes the rest along, and NATS does not tell.
type inFlight struct{ sent, confirmed [len(lossKinds)]atomic.Uint64 }

func (f *inFlight) add(kind Kind) { f.sent[slices.Index(lossKinds[:], kind)].Add(1) }

// confirm calls roundTrip, after whose success all that was sent before it is
// known to have arrived.
func (f *inFlight) confirm(roundTrip func() error) {
	var sent [len(lossKinds)]uint64
	for i := range sent {
		sent[i] = f.sent[i].Load()
	}
	if roundTrip() != nil {
		return
	}
	for i := range sent {
		// A loss in the meantime has gone further than this.
		if now := f.confirmed[i].Load(); now < sent[i] {
			f.confirmed[i].CompareAndSwap(now, sent[i])
		}
	}
}

// lost gives up what is not confirmed and counts it.
func (f *inFlight) lost(l *losses) (n uint64) {
	for i, k := range lossKinds {
		sent := f.sent[i].Load()
		before := f.confirmed[i].Swap(sent)
		l.add(k, Unconfirmed, sent-min(before, sent))
		n += sent - min(before, sent)
	}
	return n
}

// unsent counts the masks and statuses that nats.go buffers while there is no
// connection. The buffer holds nats.go's own requests as well, so its size does not
// tell, and the calls by which nats.go tells of a connection come too late to.
type unsent struct {
	mu    sync.Mutex
	after uint64 // reconnections before this outage
	n     uint64
}

// add counts one message of the outage after that many reconnections.
func (u *unsent) add(reconnects uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.after != reconnects {
		u.after, u.n = reconnects, 0
	}
	u.n++
}

// waiting returns how many there are in that outage.
func (u *unsent) waiting(reconnects uint64) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.after != reconnects {
		return 0
	}
	return u.n
}
