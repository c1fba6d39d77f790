package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/internal/guard"
	"github.com/segd/segd/pipeline/internal/message"
	"github.com/segd/segd/tracker"
)

// maxPreviews bounds the previews of a camera that are made at once: two people
// draw, and the live picture needs the processor too.
const maxPreviews = 2

func (c *Camera) setStages(s *stages) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.stages = s
	c.newest.letGoAll()
}

// atTurn calls do with the camera's stages between two frames.
func (c *Camera) atTurn(ctx context.Context, do func(*stages) error) error {
	return c.inTurn(ctx, func() error {
		if c.stages == nil {
			return fmt.Errorf("pipeline: camera %s: %w: %s", c.cfg.Name, api.ErrDown, c.stats.down())
		}
		return do(c.stages)
	})
}

// inTurn calls do between two frames, or while there are none.
func (c *Camera) inTurn(ctx context.Context, do func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("pipeline: camera %s: it is busy with a frame: %w", c.cfg.Name, ctx.Err())
	}
	defer func() { <-c.turn }()
	return do()
}

// atObject calls do between two frames with an object that there is.
func (c *Camera) atObject(ctx context.Context, id uint32, do func(*stages, objects.Object) error) error {
	return c.atTurn(ctx, func(s *stages) error {
		table := c.newest.table()
		if o, is := table.Get(id); is {
			return do(s, o)
		}
		return fmt.Errorf("pipeline: camera %s: %w %d; there is %d", c.cfg.Name, api.ErrUnknownObject, id, table.IDs())
	})
}

// edit edits the objects, and all that is kept of those that are removed, and returns what there is to be told of it,
// as of frame seq. It is called in the camera's turn.
func (c *Camera) edit(seq uint64, edits ...objects.Edit) []*segdv1.Event {
	table, told := c.newest.table().Apply(edits...)
	c.newest.setTable(table)
	return c.heed(told, seq)
}

// heed forgets objects that are removed, and returns what there is to be told, as of frame seq.
func (c *Camera) heed(told []objects.Event, seq uint64) (events []*segdv1.Event) {
	var gone []uint32
	for _, ev := range told {
		switch o := ev.Object; ev.Kind {
		case objects.Removed:
			if c.stages != nil {
				c.stages.step.Remove(o.ID)
			}
			gone = append(gone, o.ID)
			events = append(events, c.zones.forget(c, o, seq)...)
			if ev.Untold {
				continue
			}
			c.ration.owe()
		case objects.NotFollowed:
			c.log.Warn("object not followed: "+ev.Message, keyObject, o.ID)
		}
		told := message.OfObject(ev, seq)
		if !ev.Began.IsZero() {
			c.complete(told, ev.Began)
		}
		events = append(events, told)
	}
	if len(gone) > 0 {
		c.memory.Forget(gone)
	}
	return events
}

// command does edits that a client asks for, and returns the object as it is then.
func (c *Camera) command(s *stages, id uint32, edits ...objects.Edit) *segdv1.Object {
	c.emit(time.Now(), c.edit(c.newest.sequence(), edits...)...)
	c.remember(false)
	c.capture(s, true)
	return c.object(id)
}

// object is an object as Objects has it; nil if there is none.
func (c *Camera) object(id uint32) *segdv1.Object {
	_, all := c.Objects()
	if i := slices.IndexFunc(all, func(o *segdv1.Object) bool { return o.Id == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// Clear removes an object, or all of them when id is 0: no frame published after it
// returns has them. It waits for the frame in hand, and no longer than ctx. Errors
// wrap api.ErrUnknownObject, api.ErrDown or what ended ctx.
func (c *Camera) Clear(ctx context.Context, id uint32) error {
	remove := func(s *stages, ids ...uint32) error {
		c.command(s, 0, c.marker.Refuse(c.newest.table(), "", ids...)...)
		c.log.Info("objects removed", keyObjects, ids)
		return nil
	}
	if id != 0 {
		return c.atObject(ctx, id, func(s *stages, o objects.Object) error { return remove(s, o.ID) })
	}
	return c.atTurn(ctx, func(s *stages) error { return remove(s, c.newest.table().IDs()...) })
}

// Keep makes an object that was marked automatically one of people's, which does not end by itself and
// is looked for when stages are built anew, and returns it. One that is people's already stays so. It
// waits as Clear does. Errors wrap api.ErrUnknownObject, api.ErrDown or what ended ctx.
func (c *Camera) Keep(ctx context.Context, id uint32) (kept *segdv1.Object, err error) {
	err = c.atObject(ctx, id, func(s *stages, o objects.Object) error {
		if !o.Automatic() {
			kept = c.object(id)
			return nil
		}
		kept = c.command(s, id, objects.Keep{ID: id})
		c.log.Info("object kept", keyObject, id)
		return nil
	})
	return kept, err
}

// Rename gives an object another label and returns it with that. It waits as Clear
// does. Errors wrap api.ErrUnknownObject, api.ErrDown, what ended ctx, or a *annotation.Fault
// of the label.
func (c *Camera) Rename(ctx context.Context, id uint32, label string) (renamed *segdv1.Object, err error) {
	rename := objects.Rename{ID: id, Label: label}
	err = c.atObject(ctx, id, func(s *stages, o objects.Object) error {
		if err := rename.Check(); err != nil {
			return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
		}
		if o.Label == label {
			renamed = c.object(id)
			return nil
		}
		renamed = c.command(s, id, rename)
		c.log.Info("object renamed", keyObject, id)
		return nil
	})
	return renamed, err
}

// beginPreview has one of maxPreviews until end is called. The error wraps api.ErrBusy.
func (c *Camera) beginPreview() (end func(), err error) {
	select {
	case c.previews <- struct{}{}:
		return func() { <-c.previews }, nil
	default:
		return nil, fmt.Errorf("pipeline: camera %s: %w: %d previews are being made", c.cfg.Name, api.ErrBusy, maxPreviews)
	}
}

// Preview returns the masks that a would give on the kept frame it names, or on the
// newest when it names none, and changes nothing. Only copying what it needs holds
// up the frames; the work is done here. Errors wrap annotation.ErrInvalid (and
// annotation.ErrFrame), api.ErrBusy, api.ErrDown or what ended ctx.
func (c *Camera) Preview(ctx context.Context, a *annotation.Annotation) (*segdv1.MaskFrame, error) {
	if err := noPicture(a); err != nil {
		return nil, fmt.Errorf("pipeline: camera %s: %w: %w", c.cfg.Name, ErrAnnotate, err)
	}
	end, err := c.beginPreview()
	if err != nil {
		return nil, err
	}
	defer end()
	var p *tracker.Preview
	err = c.atTurn(ctx, func(s *stages) (err error) {
		if err := c.newest.table().Admit(a); err != nil {
			return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
		}
		p, err = s.step.Preview(a)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var res *tracker.Result
	if err := guard.Call(func() (err error) {
		res, err = p.Run(ctx)
		return err
	}); err != nil {
		return nil, fmt.Errorf("pipeline: camera %s: preview: %w", c.cfg.Name, err)
	}
	table, _ := c.newest.table().Apply(objects.Annotate{By: a}, objects.Observe{Result: res})
	return c.previewed(res.Seq, res.Width, res.Height, message.Objects(res, table)), nil
}

// previewed is what is answered about a frame of that size.
func (c *Camera) previewed(seq uint64, width, height int, objects []*segdv1.Object) *segdv1.MaskFrame {
	return &segdv1.MaskFrame{
		Site: c.cfg.Site, Camera: c.cfg.Name, Sequence: seq, Epoch: c.epoch.Load(),
		Width: int32(width), Height: int32(height), Objects: objects,
	}
}

// Things returns what the feature model finds in the kept frame with that number, of any class: the surest first, numbered from 1, with
// their outlines, for a user to choose what to mark. They are no objects of the camera, and nothing is changed. It counts as a preview,
// and its errors are as Preview's.
func (c *Camera) Things(ctx context.Context, seq uint64) (*segdv1.MaskFrame, error) {
	end, err := c.beginPreview()
	if err != nil {
		return nil, err
	}
	defer end()
	var picture tracker.Picture
	err = c.atTurn(ctx, func(s *stages) (err error) {
		if picture, err = s.step.Picture(seq); err != nil {
			return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer picture.Release()
	scene := &features.Scene{Seq: seq}
	defer scene.Release()
	var things []*segdv1.Object
	if err := guard.Call(func() (err error) {
		if err = picture.Scene(scene, features.Plan{Whole: true, Large: features.Everywhere, Still: true}); err == nil {
			things, err = message.Things(scene)
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("pipeline: camera %s: things in frame %d: %w", c.cfg.Name, seq, err)
	}
	return c.previewed(seq, scene.Width, scene.Height, things), nil
}
