package pipeline

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/tracker"
)

// maxEvents bounds the events that wait for the bus. Only a bus that has stood
// still for minutes lets so many gather.
const maxEvents = 1024

// eventQueue lets callbacks that must not block tell of events.
type eventQueue struct {
	mu     sync.Mutex
	filled chan struct{} // capacity 1, made by the first user
	events []*segdv1.Event
	closed bool
}

func (q *eventQueue) signal() chan struct{} {
	if q.filled == nil {
		q.filled = make(chan struct{}, 1)
	}
	return q.filled
}

// put returns false when the queue is closed or full.
func (q *eventQueue) put(ev *segdv1.Event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.events) == maxEvents {
		return false
	}
	q.events = append(q.events, ev)
	q.wake()
	return true
}

func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *eventQueue) wake() {
	select {
	case q.signal() <- struct{}{}:
	default:
	}
}

// deliver hands events over, in order, until the queue is closed and empty.
func (q *eventQueue) deliver(to func(*segdv1.Event)) {
	for {
		q.mu.Lock()
		events, closed, filled := q.events, q.closed, q.signal()
		q.events = nil
		q.mu.Unlock()
		for _, ev := range events {
			to(ev)
		}
		if closed {
			return // nothing can have come since: closed was read with the events
		}
		<-filled
	}
}

// emit tells of what happens now.
func (c *Camera) emit(ev *segdv1.Event) { c.emitAt(time.Now(), ev) }

// emitSeen tells of what is seen on the frame in hand, which happened when that was taken, or is asked for between
// two frames, which happens now. It is called in the camera's turn.
func (c *Camera) emitSeen(ev *segdv1.Event) {
	if c.taken.IsZero() {
		c.emit(ev)
	} else {
		c.emitAt(c.taken, ev)
	}
}

// emitAt completes ev, which happened then, and queues it for the bus.
func (c *Camera) emitAt(then time.Time, ev *segdv1.Event) {
	ev.Site, ev.Camera, ev.Time, ev.Epoch = c.cfg.Site, c.cfg.Name, timestamppb.New(then), c.epoch.Load()
	ev.Lease, ev.Extent = c.cfg.Lease.Token(), c.newest.extent(ev.ObjectId)
	if !c.events.put(ev) {
		c.log.Warn("event lost, the bus does not take it", keyEvent, ev.Kind.String(), keyMessage, ev.Message)
	}
}

func (c *Camera) publishEvent(ev *segdv1.Event) {
	c.cfg.Viewer.Event(ev)
	if err := c.cfg.Publisher.PublishEvent(ev); err != nil {
		c.publishFailed()
		c.log.Warn("event not published", keyEvent, ev.Kind.String(), keyError, err)
	}
}

// resolve answers the annotation of it, if it has one that is unanswered: with err, or
// with what it.masks shows.
func (c *Camera) resolve(it *item, err error) {
	r := it.note
	if r == nil {
		return
	}
	it.note = nil
	if err != nil {
		c.reject(r, err)
		return
	}
	out := c.annotated(r.annotation, it.masks)
	doubt := ""
	if r.configured && !c.cfg.AnnotationFits {
		doubt = unfitted
		c.log.Warn("annotation of the configuration: "+doubt, keySeq, out.Sequence)
	}
	c.accepted(out.Sequence, doubt)
	for _, w := range out.Warnings {
		i := slices.IndexFunc(out.Objects, func(o *segdv1.Object) bool { return o.Id == w.ObjectId })
		c.notFollowed(w.ObjectId, out.Objects[i].Label, out.MasksSequence, w.Message)
	}
	r.answer(out, nil)
}

// unfitted is what to know of an annotation that was put on a live frame as it came.
const unfitted = "it has no picture that it was made on: whether its objects are where it says nobody knows; " +
	"mark them on the live picture, or give the file a picture"

func (c *Camera) accepted(seq uint64, doubt string) {
	c.log.Info("annotation accepted", keySeq, seq)
	c.emitSeen(&segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED, Sequence: seq, Message: doubt})
}

// reject answers r with err. Who no longer waits has to know by the event which one it was.
func (c *Camera) reject(r *request, err error) {
	told := err
	if r.left {
		told = fmt.Errorf("annotation of frame %d: %w", *r.annotation.Frame, err)
	}
	c.rejected(told)
	r.answer(nil, err)
}

func (c *Camera) rejected(err error) {
	c.log.Warn("annotation rejected", keyError, err)
	c.emit(&segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_ANNOTATION_REJECTED, Message: err.Error()})
}

// forget tells that the objects are lost, because the stages end that knew them. Those to
// come may find them again.
func (st *states) forget(c *Camera) {
	for id, o := range *st {
		if o.state != tracker.Lost {
			c.emit(&segdv1.Event{
				Kind: segdv1.EventKind_EVENT_KIND_OBJECT_LOST, ObjectId: id, ObjectLabel: o.label, Message: "the camera's stages ended",
			})
		}
		o.state, o.watched = tracker.Lost, false
		(*st)[id] = o
	}
	c.memory.mu.Lock()
	c.memory.lost = *st
	c.memory.mu.Unlock()
	*st = nil
	c.newest.setObjects(nil)
	c.stats.with(func(s *Snapshot) {
		for i := range s.Objects {
			o := &s.Objects[i]
			o.State, o.Area = tracker.Lost, 0
			c.cfg.Meter.Object(tracker.Object{ID: o.ID, Label: o.Label, State: tracker.Lost})
		}
	})
}

// removed tells that o is in no frame after seq. The reason is for those who did not
// ask for it.
func (st *states) removed(c *Camera, o *segdv1.Object, seq uint64, reason string) {
	_, known := (*st)[o.Id]
	delete(*st, o.Id)
	c.cfg.Meter.RemoveObject(o.Id)
	c.zones.forget(c, o.Id, o.Label, seq)
	if o.Automatic && !known {
		return // it never had a mask: nobody was told of it
	}
	c.emitSeen(&segdv1.Event{
		Kind: segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED, ObjectId: o.Id, ObjectLabel: o.Label, Sequence: seq, Message: reason,
	})
}

// resized tells of the objects that the stepper forgot with res, the first result of
// another picture size than the frames before. The newest frame is still one of those.
func (st *states) resized(c *Camera, res *tracker.Result) {
	seq, objects := c.newest.list()
	width, height := c.newest.size()
	change := fmt.Sprintf("the picture size changed from %d×%d to %d×%d", width, height, res.Width, res.Height)
	c.log.Warn("objects forgotten, "+change, keyObjects, res.Forgotten, keySeq, res.Seq)
	for _, o := range objects {
		if slices.Contains(res.Forgotten, o.Id) {
			st.removed(c, o, seq, change)
		}
	}
	for id, o := range *st { // of stages before
		if slices.Contains(res.Forgotten, id) {
			st.removed(c, &segdv1.Object{Id: id, Label: o.label}, seq, change)
		}
	}
	c.stats.with(func(n *Snapshot) {
		n.Objects = slices.DeleteFunc(n.Objects, func(o ObjectSnapshot) bool { return slices.Contains(res.Forgotten, o.ID) })
	})
}

// states remembers the objects' states and labels from frame to frame.
type states map[uint32]seen

type seen struct {
	state tracker.State
	label string

	watched  bool          // it was marked less than watchFor ago and had a mask ever since
	markedIn uint64        // the first frame that heeded the mark
	markedAt time.Duration // that frame's stream time
}

// observe tells of every change.
func (st *states) observe(c *Camera, res *tracker.Result) {
	if *st == nil {
		*st = states{}
	}
	for _, o := range res.Objects {
		c.cfg.Meter.Object(o)
		before, known := (*st)[o.ID]
		if known && before.label != o.Label {
			c.renamed(o.ID, before.label, o.Label, res.Seq)
			before.label = o.Label
			(*st)[o.ID] = before
		}
		// What was lost when the stages were built anew stays so until it is found.
		if known && (before.state == o.State || before.state == tracker.Lost && o.State == tracker.Occluded) ||
			!known && o.State != tracker.Visible {
			continue
		}
		before.state, before.label = o.State, o.Label
		(*st)[o.ID] = before
		ev := &segdv1.Event{Kind: change(known, o.State), ObjectId: o.ID, ObjectLabel: o.Label, Sequence: res.Seq}
		if class, automatic := c.marker.Class(o.ID); automatic && !known {
			ev.Message = fmt.Sprintf("detected as %q", class)
		}
		c.emitSeen(ev)
	}
}

func (c *Camera) renamed(id uint32, from, to string, seq uint64) {
	c.emitSeen(&segdv1.Event{
		Kind: segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED, ObjectId: id, ObjectLabel: to, Sequence: seq,
		Message: fmt.Sprintf("it was %q", from),
	})
}

func change(known bool, now tracker.State) segdv1.EventKind {
	switch {
	case !known:
		return segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED
	case now == tracker.Visible:
		return segdv1.EventKind_EVENT_KIND_OBJECT_BACK
	case now == tracker.Occluded:
		return segdv1.EventKind_EVENT_KIND_OBJECT_OCCLUDED
	default:
		return segdv1.EventKind_EVENT_KIND_OBJECT_LOST
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
