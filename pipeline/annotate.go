package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
)

// What the errors of a camera's commands wrap.
var (
	// ErrAnnotate: it is the annotation's own fault; trying again will not help.
	ErrAnnotate = errors.New("annotation refused")
	// ErrUnknownObject: the camera has no object with that id.
	ErrUnknownObject = errors.New("unknown object")
	// ErrFrame: no masks are kept of that frame.
	ErrFrame = errors.New("frame not kept")
	// ErrBusy: others ask for the same; trying again may help.
	ErrBusy = errors.New("busy")
	// ErrDown: the camera does not deliver frames, or has ended.
	ErrDown = errors.New("camera down")
)

// maxPending bounds the annotations that wait for their frame, and so the pinned
// frames in a mailbox.
const maxPending = 8

// maxAhead is how many frames ahead of the next one an annotation may name: more than
// come while whoever sent it waits for the answer.
const maxAhead = 1000

// request is an annotation on its way to its frame.
type request struct {
	annotation *annotation.Annotation
	done       chan outcome // capacity 1; answered exactly once
	passed     int          // damaged frames that it did not take
	left       bool         // nobody waits for the answer any more
	configured bool         // it is Config.Annotation: it is not lost with a frame
	counted    *uint64      // the frame that names, as the source counts
}

type outcome struct {
	annotated *segdv1.Annotated
	err       error
}

func (r *request) answer(a *segdv1.Annotated, err error) { r.done <- outcome{a, err} }

// requests holds the annotations that wait for a frame: the one they name, or the
// next one when they name none or one that has passed.
type requests struct {
	mu      sync.Mutex
	pending []*request
	next    uint64 // sequence number of the next frame from the source
	ended   bool   // no frame will come any more
}

func (q *requests) add(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	want := r.annotation.Frame
	switch {
	case q.ended:
		return fmt.Errorf("%w: it has ended", ErrDown)
	case len(q.pending) >= maxPending:
		return fmt.Errorf("%w: %d annotations wait for their frame already", ErrBusy, maxPending)
	case want != nil && *want >= q.next && slices.ContainsFunc(q.pending, func(p *request) bool {
		return p.annotation.Frame != nil && *p.annotation.Frame == *want
	}):
		return fmt.Errorf("%w: another annotation waits for frame %d", ErrBusy, *want)
	}
	q.pending = append(q.pending, r)
	return nil
}

// rebase makes the frame that the configured annotation names, counted from the source's
// first, that of a source which begins with frame base.
func (q *requests) rebase(base uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.pending {
		if r.configured && r.counted != nil {
			a := *r.annotation
			frame := *r.counted + base
			a.Frame, r.annotation = &frame, &a
		}
	}
}

// dropConfigured takes the configured annotation back.
func (q *requests) dropConfigured() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = slices.DeleteFunc(q.pending, func(r *request) bool { return r.configured })
}

// near refuses a frame that is farther ahead than anybody would wait for.
func (q *requests) near(frame *uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if frame == nil || *frame < q.next+maxAhead {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrAnnotate, annotation.Faultf("frame",
		"%d is far ahead, the next is %d; want one below %d, or none for the next", *frame, q.next, q.next+maxAhead))
}

// maxPassed bounds the damaged frames that an annotation lets pass before it takes
// one of them: as long as a camera may take to its next key frame.
const maxPassed = 250

// claim returns the request for frame seq, which has just come, or nil. One that
// names the frame goes before one that takes the next. The stepper looks up a
// frame that has passed when it steps to the next. An annotated frame is kept as
// long as its objects, so one that is not whole is passed over unless it is named.
func (q *requests) claim(seq uint64, whole bool) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = seq + 1
	found := -1
	for i, r := range q.pending {
		if f := r.annotation.Frame; f != nil && *f == seq {
			found = i
			break
		} else if (f == nil || *f < seq) && found < 0 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	r := q.pending[found]
	if !whole && r.annotation.Frame == nil && r.passed < maxPassed {
		r.passed++
		return nil
	}
	q.pending = slices.Delete(q.pending, found, found+1)
	return r
}

// withdraw takes r back; false means that its frame has come.
func (q *requests) withdraw(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.pending, r)
	if i < 0 {
		return false
	}
	q.pending = slices.Delete(q.pending, i, i+1)
	return true
}

// ahead is how many frames will have come when r's has, 0 if it names none or one that
// has passed.
func (q *requests) ahead(r *request) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f := r.annotation.Frame; f != nil && *f >= q.next {
		return *f - q.next + 1
	}
	return 0
}

// leave lets r wait alone for the frame to come that it names; false means that it names
// none, or that its frame has come.
func (q *requests) leave(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.pending, r) {
		return false // whoever has it may read left
	}
	f := r.annotation.Frame
	r.left = f != nil && *f >= q.next
	return r.left
}

// end refuses all that comes and returns what waits.
func (q *requests) end() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	pending := q.pending
	q.pending, q.ended = nil, true
	return pending
}

// Annotate applies a to the frame it names, which may be still to come or one that
// the stepper keeps, or to the next frame that comes when it names none, and
// returns what became of it in the next masks, which must not be changed. What was seen
// since an earlier frame is labelled again, so those masks heed it. It blocks until the
// stepper has accepted or refused it, or ctx ends. An annotation of a frame that does not
// come before ctx's deadline stays: it is Pending then, at once where the camera's rate
// tells so before. Errors wrap ErrAnnotate, ErrBusy, ErrDown or what ended ctx.
// Either way an event says what became of it, and one for each object that it marks and
// that has no mask then or within a second. a must not be changed afterwards.
func (c *Camera) Annotate(ctx context.Context, a *annotation.Annotation) (*segdv1.Annotated, error) {
	if err := c.notes.near(a.Frame); err != nil {
		c.emit(time.Now(), c.rejection(err))
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	if err := noPicture(a); err != nil {
		c.emit(time.Now(), c.rejection(err))
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	r, err := c.queue(&request{annotation: a})
	if err != nil {
		return nil, err
	}
	if c.comesLate(ctx, r) && c.notes.leave(r) {
		return c.pending(*a.Frame), nil
	}
	select {
	case out := <-r.done:
		return out.annotated, out.err
	case <-ctx.Done():
	}
	// Who gave up takes it along; who waited in vain for a camera that is up does not.
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && c.stats.down() == "" && c.notes.leave(r) {
		return c.pending(*a.Frame), nil
	}
	if c.notes.withdraw(r) {
		err := fmt.Errorf("pipeline: no frame came for the annotation: %w", ctx.Err())
		if down := c.stats.down(); down != "" {
			err = fmt.Errorf("%w: %s; %w", ErrDown, down, err)
		}
		c.emit(time.Now(), c.rejection(err))
		return nil, err
	}
	// Its frame is in the stages: the answer is near and certain.
	out := <-r.done
	return out.annotated, out.err
}

// comesLate tells whether r's frame comes after ctx's deadline, at the rate of the last
// seconds.
func (c *Camera) comesLate(ctx context.Context, r *request) bool {
	deadline, ok := ctx.Deadline()
	if !ok || c.stats.down() != "" {
		return false
	}
	now := time.Now()
	fps := c.stats.snapshot(now).FPSIn
	return fps > 0 && float64(c.notes.ahead(r))/fps > deadline.Sub(now).Seconds()
}

// pending is the answer to an annotation that waits for frame seq.
func (c *Camera) pending(seq uint64) *segdv1.Annotated {
	c.log.Info("annotation waits for its frame", keySeq, seq)
	return &segdv1.Annotated{Site: c.cfg.Site, Camera: c.cfg.Name, Sequence: seq, MasksSequence: seq, Pending: true}
}

// noPicture refuses an annotation that was made on another picture than a frame.
func noPicture(a *annotation.Annotation) error {
	if a.Picture == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrAnnotate, annotation.Faultf("picture",
		"an annotation of a frame has none; want it left out, or the file to be the camera's annotation in the configuration"))
}

// configure takes the annotation of the configuration, if there is one.
func (c *Camera) configure(a *annotation.Annotation) error {
	switch {
	case a == nil:
		return nil
	case slices.ContainsFunc(a.Objects, func(o annotation.Object) bool { return o.ID > annotation.MaxID }):
		return fmt.Errorf("pipeline: camera %s: the annotation of the configuration has ids above %d; accepted: 1 to %[2]d", c.cfg.Name, annotation.MaxID)
	}
	text, err := annotation.Marshal(a)
	if err != nil {
		return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	hash := sha256.Sum256(text)
	c.configuredHash = hash[:]
	if a.Picture == nil {
		_, err := c.queue(&request{annotation: a, configured: true, counted: a.Frame})
		return err
	}
	bgr, err := a.BGR()
	if err == nil {
		err = a.Validate()
	}
	if err != nil {
		return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	c.memory.configured(a, bgr)
	return nil
}

func (c *Camera) queue(r *request) (*request, error) {
	r.done = make(chan outcome, 1)
	if err := c.notes.add(r); err != nil {
		c.emit(time.Now(), c.rejection(err))
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	return r, nil
}

// resolve answers the annotation of it, if it has one that is unanswered, with what its masks show, and returns what
// there is to be told of that.
func (c *Camera) resolve(it *item) []*segdv1.Event {
	r := it.note
	if r == nil {
		return nil
	}
	out := c.annotated(r.annotation, it.masks)
	doubt := ""
	if r.configured && !c.cfg.AnnotationFits {
		doubt = unfitted
		c.log.Warn("annotation of the configuration: "+doubt, keySeq, out.Sequence)
	}
	events := []*segdv1.Event{c.acceptance(out.Sequence, doubt)}
	for _, w := range out.Warnings {
		c.log.Warn("object not followed: "+w.Message, keyObject, w.ObjectId)
		o, _ := c.newest.table().Get(w.ObjectId)
		events = append(events, eventOf(segdv1.EventKind_EVENT_KIND_OBJECT_NOT_FOLLOWED, &o, out.MasksSequence, w.Message))
	}
	r.answer(out, nil)
	it.note = nil
	return events
}

// unfitted is what to know of an annotation that was put on a live frame as it came.
const unfitted = "it has no picture that it was made on: whether its objects are where it says nobody knows; " +
	"mark them on the live picture, or give the file a picture"

// acceptance is the event that an annotation was accepted, with what there is to doubt.
func (c *Camera) acceptance(seq uint64, doubt string) *segdv1.Event {
	c.log.Info("annotation accepted", keySeq, seq)
	return &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED, Sequence: seq, Message: doubt}
}

// rejection is the event that an annotation was rejected.
func (c *Camera) rejection(err error) *segdv1.Event {
	c.log.Warn("annotation rejected", keyError, err)
	return &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_ANNOTATION_REJECTED, Message: err.Error()}
}

// reject answers r with err, and returns the event. Who no longer waits has to know by that which one it was.
func (c *Camera) reject(r *request, err error) *segdv1.Event {
	told := err
	if r.left {
		told = fmt.Errorf("annotation of frame %d: %w", *r.annotation.Frame, err)
	}
	r.answer(nil, err)
	return c.rejection(told)
}

// giveUp rejects the annotation of it, which ends with err, if it has one that is unanswered. The configured one is
// kept for the stages to come: its frame is lost by no fault of its own.
func (c *Camera) giveUp(it *item, err error) {
	r := it.note
	if r == nil {
		return
	}
	it.note = nil
	if r.configured {
		c.memory.configured(r.annotation, bytes.Clone(it.frame.Pix))
		return
	}
	c.emit(time.Now(), c.reject(r, err))
}

// annotated tells what became of what a marks, in the first masks that heed it.
func (c *Camera) annotated(a *annotation.Annotation, masks *segdv1.MaskFrame) *segdv1.Annotated {
	out := &segdv1.Annotated{Site: c.cfg.Site, Camera: c.cfg.Name, Sequence: masks.Sequence, MasksSequence: masks.Sequence}
	if a.Frame != nil {
		out.Sequence = *a.Frame // it may have passed
	}
	for _, o := range masks.Objects {
		k := indexOf(a, o.Id)
		if k < 0 {
			continue
		}
		out.Objects = append(out.Objects, o)
		if o.Area == 0 && a.HasMarks(k) {
			out.Warnings = append(out.Warnings, &segdv1.Warning{ObjectId: o.Id, Message: whyEmpty(a, k, out)})
		}
	}
	return out
}

// indexOf is an object's place among those a names, or -1.
func indexOf(a *annotation.Annotation, id uint32) int {
	return slices.IndexFunc(a.Objects, func(o annotation.Object) bool { return o.ID == id })
}

// whyEmpty says why object k of a may have no mask, and what helps.
func whyEmpty(a *annotation.Annotation, k int, out *segdv1.Annotated) string {
	switch {
	case out.Sequence != out.MasksSequence:
		return fmt.Sprintf("it has no mask in frame %d, the first since it was marked on frame %d: it was not found there or has gone since; mark it on a newer frame",
			out.MasksSequence, out.Sequence)
	case a.Objects[k].Box != nil:
		return fmt.Sprintf("it has no mask in frame %d: nothing in its box looks unlike what is around it; mark it with strokes or a polygon", out.Sequence)
	}
	return fmt.Sprintf("it has no mask in frame %d: its marks cover too little of the picture, or others cover them; mark more of it", out.Sequence)
}

// refuse ends the waiting of annotations whose frame will not come.
func (c *Camera) refuse() {
	for _, r := range c.notes.end() {
		c.emit(time.Now(), c.reject(r, fmt.Errorf("%w: %s, before the annotation's frame came", ErrDown, c.stats.down())))
	}
}
