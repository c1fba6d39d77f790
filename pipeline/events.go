package pipeline

import (
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
)

// maxEvents bounds the events that wait for the bus. Only a bus that has stood
// still for minutes lets so many gather.
const maxEvents = 1024

// eventQueue lets callbacks that must not block tell of events.
type eventQueue struct {
	mu     sync.Mutex
	events chan *segdv1.Event
	closed bool
}

// put returns false when the queue is closed or full.
func (q *eventQueue) put(ev *segdv1.Event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	select {
	case q.events <- ev:
		return true
	default:
		return false
	}
}

func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.events)
}

// complete says when an event happened, and of which picture it is.
func (c *Camera) complete(ev *segdv1.Event, then time.Time) {
	ev.Time = timestamppb.New(then)
	if m, known := c.newest.frame(ev.Sequence); known && ev.ObjectId != 0 {
		ev.CaptureTime, ev.Width, ev.Height = m.CaptureTime, m.Width, m.Height
	}
}

// emit completes events, which happened then unless they are complete, and queues them for the bus.
func (c *Camera) emit(then time.Time, events ...*segdv1.Event) {
	for _, ev := range events {
		if ev.Time == nil {
			c.complete(ev, then)
		}
		ev.Site, ev.Camera, ev.Epoch = c.cfg.Site, c.cfg.Name, c.epoch.Load()
		ev.Lease = c.cfg.Lease.Token()
		if !c.events.put(ev) {
			c.log.Warn("event lost, the bus does not take it", keyEvent, ev.Kind.String(), keyMessage, ev.Message)
		}
	}
}

func (c *Camera) publishEvent(ev *segdv1.Event) {
	c.cfg.Viewer.Event(ev)
	if err := c.cfg.Publisher.PublishEvent(ev); err != nil {
		c.publishFailed()
		c.log.Warn("event not published", keyEvent, ev.Kind.String(), keyError, err)
	}
}

// coalesced logs a fault that may repeat with every frame at most once a second,
// with the count. It is for one goroutine.
type coalesced struct {
	log     *slog.Logger
	message string
	last    time.Time
	count   int
	err     error
}

func (f *coalesced) add(now time.Time, err error) {
	f.count++
	f.err = err
	if now.Sub(f.last) >= time.Second {
		f.last = now
		f.flush()
	}
}

func (f *coalesced) flush() {
	if f.count > 0 {
		f.log.Warn(f.message, keyError, f.err, keyCount, f.count)
		f.count = 0
	}
}
