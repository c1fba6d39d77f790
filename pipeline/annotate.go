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
		c.rejected(err)
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	if err := noPicture(a); err != nil {
		c.rejected(err)
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
		c.rejected(err)
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

// postpone keeps the configured annotation of it, whose frame is lost by no fault of the
// annotation's, for the stages to come.
func (c *Camera) postpone(it *item) {
	if r := it.note; r != nil && r.configured {
		it.note = nil
		c.memory.configured(r.annotation, bytes.Clone(it.frame.Pix))
	}
}

func (c *Camera) queue(r *request) (*request, error) {
	r.done = make(chan outcome, 1)
	if err := c.notes.add(r); err != nil {
		c.rejected(err)
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	return r, nil
}

// refuse ends the waiting of annotations whose frame will not come.
func (c *Camera) refuse() {
	for _, r := range c.notes.end() {
		c.reject(r, fmt.Errorf("%w: %s, before the annotation's frame came", ErrDown, c.stats.down()))
	}
}
