package bus

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// acks counts the masks that a stream was to keep and did not acknowledge. They are
// sent once all the same: the next mask is worth more than an old one again.
//
// What is pending is bounded: by the reconnect buffer without a connection, and by
// what is sent in ackTimeout with one.
type acks struct {
	conn   *nats.Conn
	losses *losses
	prefix string // of the subjects on which the answers come

	mu         sync.Mutex
	next       uint64
	connection int // how many were lost before this one
	pending    map[uint64]sentMask
}

// sentMask is when a mask went out, and in which connection.
type sentMask struct {
	at         time.Time
	connection int
}

func newAcks(conn *nats.Conn, l *losses) (*acks, error) {
	a := &acks{conn: conn, losses: l, prefix: conn.NewInbox() + ".", pending: map[uint64]sentMask{}}
	_, err := conn.Subscribe(a.prefix+"*", a.answered)
	return a, err
}

// expect returns the number of a mask that is about to be sent and the subject for
// its answer.
func (a *acks) expect() (n uint64, reply string) {
	connected := a.conn.IsConnected()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	sent := sentMask{at: time.Now(), connection: a.connection}
	if !connected {
		sent.connection++ // it waits for the next one
	}
	a.pending[a.next] = sent
	return a.next, a.prefix + strconv.FormatUint(a.next, 10)
}

// forget takes back an expect whose mask was not sent.
func (a *acks) forget(n uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, n)
}

func (a *acks) answered(msg *nats.Msg) {
	n, err := strconv.ParseUint(strings.TrimPrefix(msg.Subject, a.prefix), 10, 64)
	if err != nil {
		return
	}
	var answer struct {
		Stream string
		Error  json.RawMessage
	}
	a.mu.Lock()
	_, expected := a.pending[n]
	delete(a.pending, n)
	a.mu.Unlock()
	// Without a stream the server answers with nothing.
	if expected && (json.Unmarshal(msg.Data, &answer) != nil || answer.Stream == "" || answer.Error != nil) {
		a.losses.add(KindMask, Unconfirmed, 1)
	}
}

// connected gives those that waited for a connection their time.
func (a *acks) connected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n, sent := range a.pending {
		sent.at = time.Now()
		a.pending[n] = sent
	}
}

// disconnected gives up those of the connection that was lost.
func (a *acks) disconnected() (lost uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connection++
	return a.drop(func(sent sentMask) bool { return sent.connection < a.connection })
}

// expire gives up those that were not answered in time.
func (a *acks) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(sent sentMask) bool { return time.Since(sent.at) > ackTimeout })
}

// drop needs mu.
func (a *acks) drop(which func(sentMask) bool) (n uint64) {
	for i, sent := range a.pending {
		if which(sent) {
			delete(a.pending, i)
			n++
		}
	}
	a.losses.add(KindMask, Unconfirmed, n)
	return n
}
