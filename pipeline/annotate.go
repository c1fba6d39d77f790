package pipeline

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/internal/memory"
	"github.com/segd/segd/pipeline/internal/pending"
)

// ErrAnnotate is wrapped where it is the annotation's own fault; trying again will not help. Other errors of a camera's
// commands wrap those of package api.
var ErrAnnotate = errors.New("annotation refused")

// Annotate applies a to the frame it names, which may be still to come or one that
// the stepper keeps, or to the next frame that comes when it names none, and
// returns what became of it in the next masks, which must not be changed. What was seen
// since an earlier frame is labelled again, so those masks heed it. It blocks until the
// stepper has accepted or refused it, or ctx ends. An annotation of a frame that does not
// come before ctx's deadline stays: it is Pending then, at once where the camera's rate
// tells so before. Errors wrap ErrAnnotate, api.ErrBusy, api.ErrDown or what ended ctx.
// Either way an event says what became of it, and one for each object that it marks and
// that has no mask then or within a second. a must not be changed afterwards.
func (c *Camera) Annotate(ctx context.Context, a *annotation.Annotation) (*segdv1.Annotated, error) {
	r := pending.New(a)
	err := c.notes.Near(a.Frame)
	if err == nil {
		err = noPicture(a)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrAnnotate, err)
	} else {
		err = c.notes.Add(r)
	}
	if err != nil {
		c.emit(time.Now(), c.rejection(err))
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	if c.comesLate(ctx, r) && c.notes.Leave(r) {
		return c.pending(*a.Frame), nil
	}
	select {
	case out := <-r.Done():
		return out.Annotated, out.Err
	case <-ctx.Done():
	}
	// Who gave up takes it along; who waited in vain for a camera that is up does not.
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && c.stats.down() == "" && c.notes.Leave(r) {
		return c.pending(*a.Frame), nil
	}
	if c.notes.Withdraw(r) {
		err := fmt.Errorf("pipeline: no frame came for the annotation: %w", ctx.Err())
		if down := c.stats.down(); down != "" {
			err = fmt.Errorf("%w: %s; %w", api.ErrDown, down, err)
		}
		c.emit(time.Now(), c.rejection(err))
		return nil, err
	}
	// Its frame is in the stages: the answer is near and certain.
	out := <-r.Done()
	return out.Annotated, out.Err
}

// comesLate tells whether r's frame comes after ctx's deadline, at the rate of the last
// seconds.
func (c *Camera) comesLate(ctx context.Context, r *pending.Request) bool {
	deadline, ok := ctx.Deadline()
	if !ok || c.stats.down() != "" {
		return false
	}
	now := time.Now()
	fps := c.stats.snapshot(now).FPSIn
	return fps > 0 && float64(c.notes.Ahead(r))/fps > deadline.Sub(now).Seconds()
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
	return annotation.Faultf("picture",
		"an annotation of a frame has none; want it left out, or the file to be the camera's annotation in the configuration")
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
		return c.notes.Add(pending.Configured(a)) // the first
	}
	_, err = a.BGR()
	if err == nil {
		err = a.Validate()
	}
	if err != nil {
		return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	c.memory.Configure(a)
	return nil
}

// resolve answers the annotation of r, if it has one, with what its masks show, and returns what there is to be told
// of that.
func (c *Camera) resolve(r *report) []*segdv1.Event {
	note := r.note
	if note == nil {
		return nil
	}
	out := c.annotated(note.Annotation, r.masks)
	doubt := ""
	if note.Configured && !c.cfg.AnnotationFits {
		doubt = unfitted
		c.log.Warn("annotation of the configuration: "+doubt, keySeq, out.Sequence)
	}
	events := []*segdv1.Event{c.acceptance(out.Sequence, doubt)}
	var unseen []objects.Event
	for _, w := range out.Warnings {
		o, _ := r.table.Get(w.ObjectId)
		unseen = append(unseen, objects.Event{Kind: objects.NotFollowed, Object: o, Message: w.Message})
	}
	note.Accept(out)
	r.note = nil
	return append(events, c.heed(unseen, r.seq)...)
}

// unfitted is what to know of an annotation that was put on a live frame as it came.
const unfitted = "it has no picture that it was made on: it is not known whether its objects are where it says; " +
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

// reject answers r with err, and returns the event.
func (c *Camera) reject(r *pending.Request, err error) *segdv1.Event {
	return c.rejection(r.Reject(err))
}

// giveUp rejects the annotation of it, which ends with err, if it has one that is unanswered. The configured one is
// kept for the stages to come: its frame is lost by no fault of its own.
func (c *Camera) giveUp(it *item, err error) {
	r := it.note
	if r == nil {
		return
	}
	it.note = nil
	if r.Configured {
		a, failed := memory.WithPicture(*r.Annotation, it.frame.Pix)
		if failed == nil {
			c.memory.Configure(a)
			return
		}
		err = errors.Join(err, failed)
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
		k := slices.IndexFunc(a.Objects, func(of annotation.Object) bool { return of.ID == o.Id })
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
	for _, r := range c.notes.End() {
		c.emit(time.Now(), c.reject(r, fmt.Errorf("%w: %s, before the annotation's frame came", api.ErrDown, c.stats.down())))
	}
}
