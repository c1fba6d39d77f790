// Package pending holds annotations on their way to their frames: each waits for the frame that it names, or for the
// next one when it names none or one that has passed.
//
// In go requests, from any goroutine, and the numbers of the frames as they come, from one; out comes for each frame the
// request that it is to take along. A request is answered exactly once, by its holder then.
package pending

import (
	"fmt"
	"slices"
	"sync"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
)

const (
	// Max bounds the annotations that wait, and so the pinned frames in a mailbox.
	Max = 8
	// maxAhead is how many frames ahead of the next one an annotation may name: more than
	// come while its sender waits for the answer.
	maxAhead = 1000
	// maxPassed bounds the damaged frames that an annotation lets pass before it takes
	// one of them: as long as a camera may take to its next key frame.
	maxPassed = 250
)

// Request is an annotation on its way to its frame.
type Request struct {
	Annotation *annotation.Annotation
	// Configured is an annotation of the configuration: it is not lost with a frame.
	Configured bool

	done    chan Answer // capacity 1; answered exactly once
	passed  int         // damaged frames that it did not take
	left    bool        // the sender does not wait any more
	counted *uint64     // the frame that it names, if it is configured, as the source counts
}

// Answer is what became of an annotation.
type Answer struct {
	Annotated *segdv1.Annotated
	Err       error
}

// New returns a request of a client, and Configured one of the configuration.
func New(a *annotation.Annotation) *Request {
	return &Request{Annotation: a, done: make(chan Answer, 1)}
}

// Configured is New of an annotation of the configuration.
func Configured(a *annotation.Annotation) *Request {
	r := New(a)
	r.Configured, r.counted = true, a.Frame
	return r
}

// Done has the answer.
func (r *Request) Done() <-chan Answer { return r.done }

// Accept answers r with what its annotation came to.
func (r *Request) Accept(a *segdv1.Annotated) { r.done <- Answer{Annotated: a} }

// Reject answers r with err, and returns what there is to be told of it: who no longer waits has to know by that
// which annotation it was.
func (r *Request) Reject(err error) (told error) {
	r.done <- Answer{Err: err}
	if r.left {
		return fmt.Errorf("annotation of frame %d: %w", *r.Annotation.Frame, err)
	}
	return err
}

// Queue holds the requests that wait for a frame.
type Queue struct {
	mu      sync.Mutex
	pending []*Request
	next    uint64 // sequence number of the next frame from the source
	ended   bool   // no frame will come any more
}

// Add has r wait. The error wraps api.ErrBusy or api.ErrDown.
func (q *Queue) Add(r *Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	want := r.Annotation.Frame
	switch {
	case q.ended:
		return fmt.Errorf("%w: it has ended", api.ErrDown)
	case len(q.pending) >= Max:
		return fmt.Errorf("%w: %d annotations wait for their frame already", api.ErrBusy, Max)
	case want != nil && *want >= q.next && slices.ContainsFunc(q.pending, func(p *Request) bool {
		return p.Annotation.Frame != nil && *p.Annotation.Frame == *want
	}):
		return fmt.Errorf("%w: another annotation waits for frame %d", api.ErrBusy, *want)
	}
	q.pending = append(q.pending, r)
	return nil
}

// Near refuses a frame that is farther ahead than anybody would wait for, with an *annotation.Fault.
func (q *Queue) Near(frame *uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if frame == nil || *frame < q.next+maxAhead {
		return nil
	}
	return annotation.Faultf("frame",
		"%d is far ahead, the next is %d; want one below %d, or none for the next", *frame, q.next, q.next+maxAhead)
}

// Rebase makes the frame that the configured annotation names, counted from the source's
// first, that of a source which begins with frame base.
func (q *Queue) Rebase(base uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.pending {
		if r.counted != nil {
			a := *r.Annotation
			frame := *r.counted + base
			a.Frame, r.Annotation = &frame, &a
		}
	}
}

// DropConfigured takes the configured annotation back.
func (q *Queue) DropConfigured() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = slices.DeleteFunc(q.pending, func(r *Request) bool { return r.Configured })
}

// Claim returns the request for frame seq, which has just come, or nil. One that
// names the frame goes before one that takes the next. The stepper looks up a
// frame that has passed when it steps to the next. An annotated frame is kept as
// long as its objects, so one that is not whole is passed over unless it is named.
func (q *Queue) Claim(seq uint64, whole bool) *Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next = seq + 1
	found := -1
	for i, r := range q.pending {
		if f := r.Annotation.Frame; f != nil && *f == seq {
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
	if !whole && r.Annotation.Frame == nil && r.passed < maxPassed {
		r.passed++
		return nil
	}
	q.pending = slices.Delete(q.pending, found, found+1)
	return r
}

// Withdraw takes r back; false means that its frame has come.
func (q *Queue) Withdraw(r *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.pending, r)
	if i < 0 {
		return false
	}
	q.pending = slices.Delete(q.pending, i, i+1)
	return true
}

// Ahead is how many frames will have come when r's has, 0 if it names none or one that
// has passed.
func (q *Queue) Ahead(r *Request) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f := r.Annotation.Frame; f != nil && *f >= q.next {
		return *f - q.next + 1
	}
	return 0
}

// Leave lets r wait alone for the frame to come that it names; false means that it names
// none, or that its frame has come.
func (q *Queue) Leave(r *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.pending, r) {
		return false // its holder may read left
	}
	f := r.Annotation.Frame
	r.left = f != nil && *f >= q.next
	return r.left
}

// End refuses all that comes and returns what waits.
func (q *Queue) End() []*Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	pending := q.pending
	q.pending, q.ended = nil, true
	return pending
}
