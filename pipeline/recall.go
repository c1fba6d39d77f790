package pipeline

import (
	"context"
	"fmt"
	"image"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/internal/memory"
	"github.com/segd/segd/tracker"
)

// remember keeps the newest picture, if it shows people's objects: always, or if one of them is in no picture yet. What
// is automatic is not remembered so: it is found again by what it is.
func (c *Camera) remember(always bool) {
	if !always && !c.memory.Misses(c.newest.table()) {
		return
	}
	if a := c.newestScene(); a != nil {
		c.memory.Add(a)
	}
}

// newestScene is the newest picture with people's objects; nil if it shows none.
func (c *Camera) newestScene() *annotation.Annotation {
	f, _, masks := c.newest.retain()
	if f == nil {
		return nil
	}
	defer f.Release()
	a, err := memory.Shown(masks, c.newest.table(), f.Pix, false)
	if err != nil {
		c.log.Warn("picture not remembered: should the camera's stages end, its objects are found by older ones", keySeq, masks.Sequence, keyError, err)
	}
	return a
}

// recall shows the stepper the pictures that the camera's objects are remembered by. next is the number of the
// frame to come. It is called in the camera's turn.
func (s *stages) recall(ctx context.Context, next uint64) error {
	c := s.c
	scenes := c.memory.Scenes()
	var all []annotation.Object
	for _, sc := range scenes {
		if err := ctx.Err(); err != nil {
			return err
		}
		a := *sc
		s.recalled = image.Pt(a.Width, a.Height)
		bgr, err := a.BGR()
		if err != nil {
			return fmt.Errorf("pipeline: what was marked before: %w", err)
		}
		a.Picture = nil
		seen := &features.Scene{Seq: next}
		if err := s.extract.Extract(seen, bgr, a.Width, a.Height, tracker.PlanFor(features.Plan{PixelAspect: a.PixelAspect}, &a)); err != nil {
			return fmt.Errorf("pipeline: features: what was marked before: %w", err)
		}
		if err := s.step.Recall(ctx, seen, &a); err != nil {
			return fmt.Errorf("pipeline: tracker: what was marked before: %w", err)
		}
		all = append(all, a.Objects...)
	}
	s.size = s.recalled
	if c.known != nil && len(scenes) > 0 {
		if err := s.step.Restore(c.known); err != nil {
			c.refuseCheckpoint(fmt.Errorf("pipeline: tracker: %w; its objects are looked for by what they looked like", err))
		}
	}
	c.emit(time.Now(), c.edit(c.newest.sequence(), objects.Recall{Known: all})...)
	// Should these stages fail, what is automatic is found anew.
	c.memory.ForgetAutomatic(c.newest.table())
	return nil
}

// maxFailedRecalls is how many stages in a row may fail soon after they learnt the objects again.
const maxFailedRecalls = 2

// clearMemory forgets what is known of the objects beside the table. It is called in the camera's turn.
func (c *Camera) clearMemory() {
	c.memory.Clear()
	c.known, c.failures = nil, 0
}

// forgetAll forgets the objects that the camera fails with again and again. It is called in the camera's turn.
func (c *Camera) forgetAll(err error) {
	c.clearMemory()
	c.log.Error("objects forgotten, the camera fails with them again and again", keyObjects, c.newest.table().IDs(), keyError, err)
	c.emit(time.Now(), c.edit(c.newest.sequence(), objects.RemoveAll{Reason: fmt.Sprintf("the camera fails with it again and again: %v; mark it again", err)})...)
}

// resize forgets the objects if it is the first frame of another size than those before: they are nowhere in it.
func (s *stages) resize(it *item) (events []*segdv1.Event) {
	was, size := s.size, image.Pt(it.frame.Width, it.frame.Height)
	s.size = size
	table := s.c.newest.table()
	if was == size || was == (image.Point{}) || len(table.All()) == 0 {
		return nil
	}
	change := fmt.Sprintf("the picture size changed from %d×%d to %d×%d", was.X, was.Y, size.X, size.Y)
	unused := s.c.memory.Use()
	s.c.clearMemory()
	if unused {
		events = append(events, s.c.rejection(fmt.Errorf("%w: %w", ErrAnnotate, annotation.Faultf("picture", "it is %d×%d; the camera's frames are %d×%d",
			was.X, was.Y, size.X, size.Y))))
	} else {
		s.c.log.Warn("objects forgotten, "+change, keyObjects, table.IDs(), keySeq, it.seq)
	}
	return append(events, s.c.edit(s.c.newest.sequence(), objects.RemoveAll{Reason: change})...)
}
