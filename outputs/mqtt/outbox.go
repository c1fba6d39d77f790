package mqtt

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
)

const (
	// maxEvents and maxEventBytes bound the events and answers that wait for the broker.
	maxEvents     = 1000
	maxEventBytes = 4 << 20
	// senders is how many retained topics are on their way at a time: a broker at the end of a long line
	// acknowledges each after a while only.
	senders = 8

	// maxLosses is how many connections the broker may end over a payload of large bytes or more before it is taken for the
	// reason: there are brokers that end the connection where something is too large for them, and say nothing before.
	maxLosses = 3
	large     = 64 << 10

	qos = 1 // at least once
)

// entry is a topic that is retained.
type entry struct {
	topic   string
	payload []byte // empty: to be deleted at the broker, and then here
	queued  bool   // in dirty
	sending bool
	again   bool // it changed while it was being sent
	dropped bool // it was given up: not to be sent
	old     bool // the broker holds it, it is not published any more, and it is to be deleted
	first   bool // it has not been sent since there is a connection
	losses  int  // connections that the broker ended over this payload, if it is a large one
}

// message is an event or an answer.
type message struct {
	topic   string
	payload []byte
}

// Stats is how a Publisher does. The counts are since New.
type Stats struct {
	Connected   bool
	Connections uint64
	Waiting     int    // messages, with those on their way
	Published   uint64 // messages that the broker has acknowledged
	Overflowed  uint64 // events that were lost since too many waited
	Refused     uint64 // messages that the broker took for too large, or does not permit
	Commands    uint64 // carried out
	Faulty      uint64 // commands that were not
}

// Stats tells how p does.
func (p *Publisher) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Connected, s.Waiting = p.connected, len(p.dirty)+len(p.old)+p.flying+p.events.Len()
	return s
}

// set has a topic hold payload; empty: nothing. It needs mu, as all of the following do but publish.
func (p *Publisher) set(topic string, payload []byte) {
	e := p.table[topic]
	switch {
	case e != nil && bytes.Equal(e.payload, payload):
		return
	case e != nil && e.old && !e.sending: // it goes with those that are not old
		p.unset(topic)
		e = nil
	case e != nil && e.old:
		p.keep(e)
	}
	if e == nil {
		e = &entry{topic: topic}
		p.table[topic] = e
	}
	e.payload, e.losses = payload, 0
	p.enqueue(e)
}

// purge has a topic be deleted that the broker holds, after those that are to be published. Beyond maxOld it is left for
// the next connection.
func (p *Publisher) purge(topic string) {
	if p.table[topic] != nil || p.oldBytes+cost(topic) > maxOld {
		return
	}
	e := &entry{topic: topic, old: true}
	p.table[topic] = e
	p.oldBytes += cost(topic)
	p.enqueue(e)
}

// cost is what an entry takes, in bytes.
func cost(topic string) int { return len(topic) + 200 }

// keep takes e out of those that are old, if it is one.
func (p *Publisher) keep(e *entry) {
	if e.old {
		e.old = false
		p.oldBytes -= cost(e.topic)
	}
}

// enqueue has e be sent.
func (p *Publisher) enqueue(e *entry) {
	switch {
	case e.sending:
		e.again = true
	case !e.queued:
		e.queued = true
		queue := &p.dirty
		if e.old {
			queue = &p.old
		}
		*queue = append(*queue, e)
		p.cond.Broadcast()
	}
}

// unset forgets a topic, which another one may publish from now on.
func (p *Publisher) unset(topic string) {
	if e := p.table[topic]; e != nil {
		e.dropped = true
		p.delete(e)
		p.sentFirst(e)
	}
}

// delete takes e out of the table.
func (p *Publisher) delete(e *entry) {
	p.keep(e)
	delete(p.table, e.topic)
}

// tell queues an event or an answer. When too many wait the oldest goes.
func (p *Publisher) tell(m message) {
	p.stats.Overflowed += uint64(p.events.Put(m))
	p.cond.Broadcast()
}

// refresh has all be sent anew, over a new connection.
func (p *Publisher) refresh() {
	p.initial = 0
	for _, e := range p.table {
		e.first = true
		p.initial++
		p.enqueue(e)
	}
	p.announce()
}

// announce tells that segd is there, once all that a connection begins with has been sent: who waits for it
// is to find nothing that is old.
func (p *Publisher) announce() {
	if p.initial == 0 {
		p.enqueue(p.status)
	}
}

// sendRetained sends what is in a queue of the table's until p ends; several goroutines do.
func (p *Publisher) sendRetained(queue *[]*entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for !(p.connected && len(*queue) > 0) && !p.closing {
			p.cond.Wait()
		}
		if !p.connected || len(*queue) == 0 { // and it ends
			return
		}
		e := (*queue)[0]
		(*queue)[0] = nil
		*queue = (*queue)[1:]
		e.queued = false
		if e.dropped || e == p.status && p.initial > 0 {
			continue
		}
		e.sending, e.again = true, false
		payload, via := e.payload, p.via
		if p.maxPacket > 0 && (via.maxPacket == 0 || p.maxPacket < via.maxPacket) {
			via.maxPacket = p.maxPacket
		}
		p.flying++
		p.mu.Unlock()
		err := publish(via, message{e.topic, payload}, true)
		p.mu.Lock()
		p.flying--
		e.sending = false
		if sent := p.sent(via, e.topic, err); !sent {
			e.again = true
			if !via.conn.silent {
				e.losses++
			}
			if len(payload) >= large && e.losses >= maxLosses {
				p.maxPacket = len(payload)
			}
		} else {
			p.sentFirst(e)
		}
		switch {
		case e.again && !e.dropped:
			p.enqueue(e)
		case len(e.payload) == 0 && p.table[e.topic] == e:
			p.delete(e)
		}
	}
}

// sentFirst notes that e needs to be waited for no more.
func (p *Publisher) sentFirst(e *entry) {
	if e.first {
		e.first = false
		p.initial--
		p.announce()
	}
}

// sendEvents sends events and answers in their order until p ends.
func (p *Publisher) sendEvents() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for !(p.connected && p.events.Len() > 0) && !p.closing {
			p.cond.Wait()
		}
		m, at, waits := p.events.Oldest()
		if !p.connected || !waits {
			return
		}
		via := p.via
		p.mu.Unlock()
		err := publish(via, m, false)
		p.mu.Lock()
		if p.sent(via, m.topic, err) {
			p.events.Done(at)
		}
	}
}

var (
	errTooLarge = errors.New("larger than the broker takes")
	errRefused  = errors.New("the broker refuses it")
)

// publish returns once the broker has acknowledged m.
func publish(via link, m message, retain bool) error {
	const most = 100 // bytes of a packet besides
	if via.maxPacket > 0 && len(m.topic)+len(m.payload)+most > via.maxPacket {
		return errTooLarge
	}
	answer, err := via.manager.Publish(via.ctx, &paho.Publish{QoS: qos, Retain: retain, Topic: m.topic, Payload: m.payload})
	if answer != nil && answer.ReasonCode >= 0x80 {
		return errors.Join(errRefused, err)
	}
	if errors.Is(err, paho.ErrInvalidArguments) {
		return errors.Join(errRefused, err)
	}
	return err
}

// sent notes what became of a message, and tells whether it is done with.
func (p *Publisher) sent(via link, topic string, err error) bool {
	switch {
	case err == nil:
		p.stats.Published++
		return true
	case errors.Is(err, errTooLarge), errors.Is(err, errRefused):
		p.stats.Refused++
		p.say("a message is not published", "topic", topic, "error", err)
		return true
	}
	p.abandon(via, err)
	return false
}

// abandon gives a connection up over which something failed: a broker that does not answer is dialled anew.
func (p *Publisher) abandon(via link, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		via.conn.silent = true
	}
	if p.via.conn == via.conn {
		p.connected = false
		if !errors.Is(err, autopaho.ConnectionDownError) {
			via.conn.end()
		}
	}
}

// say logs a warning, unless it is the one that was logged last or comes too soon after.
func (p *Publisher) say(text string, args ...any) {
	now := time.Now()
	if text == p.said && now.Sub(p.saidAt) < p.times.say {
		return
	}
	p.said, p.saidAt = text, now
	p.log.Warn(text, slices.Concat([]any{"broker", p.broker.String()}, args)...)
}
