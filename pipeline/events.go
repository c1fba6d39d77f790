package pipeline

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/pipeline/internal/guard"
)

const (
	// maxEvents bounds the events that wait for the bus. Only a bus that has stood
	// still for minutes lets so many gather.
	maxEvents = 1024
	// maxPictured bounds the frames whose pictures wait for thumbnails.
	maxPictured = 4
)

// notice is an event on its way to the bus or, before that, what its thumbnail is made of.
type notice struct {
	event   *segdv1.Event
	picture *ingest.Frame // one reference; nil: the event is told
	cover   *privacy.Cover
	masks   *segdv1.MaskFrame
	first   bool // of those of its picture
}

// eventQueue lets callbacks that must not block tell of events.
type eventQueue struct {
	notices chan notice

	mu       sync.Mutex // guards what follows
	closed   bool
	pictured int               // frames whose pictures wait
	last     *segdv1.MaskFrame // of the picture that came last
}

// put returns false when the queue is closed or full.
func (q *eventQueue) put(n notice) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n.first = n.picture != nil && n.masks != q.last
	if q.closed || n.first && q.pictured == maxPictured {
		return false
	}
	select {
	case q.notices <- n:
	default:
		return false
	}
	if n.first {
		q.pictured++
		q.last = n.masks
	}
	return true
}

// taken notes that n does not wait any more.
func (q *eventQueue) taken(n notice) {
	if n.first {
		q.mu.Lock()
		q.pictured--
		q.mu.Unlock()
	}
}

func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.notices)
}

// complete says when an event happened, and of which picture it is.
func (c *Camera) complete(ev *segdv1.Event, then time.Time) {
	ev.Time = timestamppb.New(then)
	if m, known := c.newest.frame(ev.Sequence); known && ev.ObjectId != 0 {
		ev.CaptureTime, ev.Width, ev.Height = m.CaptureTime, m.Width, m.Height
		c.picture(ev)
	}
}

// picture has a thumbnail made of the object of ev before ev is told, which may be later, if the newest picture is of it.
func (c *Camera) picture(ev *segdv1.Event) {
	f, cover, masks := c.newest.retain()
	if f == nil {
		return
	}
	seen := masks.Sequence == ev.Sequence && slices.ContainsFunc(masks.Objects, func(o *segdv1.Object) bool { return o.Id == ev.ObjectId && o.Area > 0 })
	if seen && c.events.put(notice{event: ev, picture: f, cover: cover, masks: masks}) {
		return
	}
	f.Release()
	if seen {
		c.cfg.Meter.Thumbnails(0, 0, 1)
	}
}

// tell publishes what was queued, until the queue is closed.
func (c *Camera) tell() {
	var hidden []byte
	var picture *privacy.Picture // of the frame of the last notice that has one
	for n := range c.events.notices {
		if n.picture == nil {
			c.publishEvent(n.event)
			continue
		}
		c.events.taken(n)
		if n.first {
			picture = privacy.NewPicture(n.picture.Pix, n.cover, &hidden)
		}
		// No other goroutine has this field before the event is queued itself.
		path, made, removed := "", 0, 0
		err := guard.Call(func() error {
			path, made, removed = c.cfg.Viewer.Thumbnail(n.masks, picture, n.event.ObjectId)
			return nil
		})
		if err != nil {
			c.log.Error("an event has no thumbnail", keySeq, n.event.Sequence, "error", err)
		}
		n.event.Thumbnail = path
		n.picture.Release()
		leftOut := 0
		if path == "" {
			leftOut = 1
		}
		c.cfg.Meter.Thumbnails(made, removed, leftOut)
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
		if !c.events.put(notice{event: ev}) {
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
