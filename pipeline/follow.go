package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
)

// watchFor is how long after its mark an object that goes is told of, in stream time:
// what goes later has most likely gone behind something or out of the picture.
const watchFor = time.Second

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

// notFollowed tells that an object has no mask soon after it was marked.
func (c *Camera) notFollowed(id uint32, label string, seq uint64, why string) {
	c.log.Warn("object not followed: "+why, keyObject, id)
	c.emitSeen(&segdv1.Event{
		Kind: segdv1.EventKind_EVENT_KIND_OBJECT_NOT_FOLLOWED, ObjectId: id, ObjectLabel: label, Sequence: seq, Message: why,
	})
}

// watch looks after the objects that were marked, in masks with stream time pts: by a,
// which may be nil, or lately. It comes after observe.
func (st states) watch(c *Camera, masks *segdv1.MaskFrame, pts time.Duration, a *annotation.Annotation) {
	for _, o := range masks.Objects {
		s, known := st[o.Id]
		if !known {
			continue // never seen: who marked it was told so
		}
		marked := false
		if a != nil {
			k := indexOf(a, o.Id)
			marked = k >= 0 && a.HasMarks(k)
		}
		switch {
		case marked:
			s.watched, s.markedIn, s.markedAt = o.Area > 0, masks.Sequence, pts
		case !s.watched:
			continue
		case o.Area == 0:
			s.watched = false
			c.notFollowed(o.Id, o.Label, masks.Sequence, fmt.Sprintf("it has no mask any more, %.1f s after frame %d, the first since it was marked; mark it again, or more of it",
				(pts-s.markedAt).Seconds(), s.markedIn))
		default:
			s.watched = pts-s.markedAt < watchFor
		}
		st[o.Id] = s
	}
}
