package pipeline

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/tracker"
)

// maxPreviews bounds the previews of a camera that are made at once: two people
// draw, and the live picture needs the processor too.
const maxPreviews = 2

func (c *Camera) setStages(s *stages) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.stages = s
}

// atTurn calls do with the camera's stages between two frames.
func (c *Camera) atTurn(ctx context.Context, do func(*stages) error) error {
	return c.inTurn(ctx, func() error {
		if c.stages == nil {
			return fmt.Errorf("pipeline: camera %s: %w: %s", c.cfg.Name, ErrDown, c.stats.down())
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

// known returns the place of an object among those there are, or an error that
// wraps ErrUnknownObject and names them.
func (c *Camera) known(objects []*segdv1.Object, id uint32) (int, error) {
	i := slices.IndexFunc(objects, func(o *segdv1.Object) bool { return o.Id == id })
	if i >= 0 {
		return i, nil
	}
	ids := make([]uint32, len(objects))
	for k, o := range objects {
		ids[k] = o.Id
	}
	return 0, fmt.Errorf("pipeline: camera %s: %w %d; there is %d", c.cfg.Name, ErrUnknownObject, id, ids)
}

// Clear removes an object, or all of them when id is 0: no frame published after it
// returns has them. It waits for the frame in hand, and no longer than ctx. Errors
// wrap ErrUnknownObject, ErrDown or what ended ctx.
func (c *Camera) Clear(ctx context.Context, id uint32) error {
	return c.atTurn(ctx, func(s *stages) error {
		seq, objects := c.newest.list()
		gone := objects
		if id != 0 {
			i, err := c.known(objects, id)
			if err != nil {
				return err
			}
			gone = objects[i : i+1]
		}
		for _, o := range gone {
			c.marker.Remove(o.Id)
			c.log.Info("object removed", keyObject, o.Id)
		}
		s.remove(gone, seq, "")
		c.capture(s, true)
		return nil
	})
}

// remove removes objects of frame seq. The reason is for those who did not ask for it.
func (s *stages) remove(gone []*segdv1.Object, seq uint64, reason string) {
	if len(gone) == 0 {
		return
	}
	c := s.c
	for _, o := range gone {
		s.step.Remove(o.Id)
		delete(s.sought, o.Id)
		c.memory.change(func(known *annotation.Object) bool { return known.ID != o.Id })
		s.objects.removed(c, o, seq, reason)
	}
	s.awaiting.Store(len(s.sought) > 0)
	_, objects := c.newest.list()
	c.newest.setObjects(slices.DeleteFunc(slices.Clone(objects), func(o *segdv1.Object) bool { return slices.Contains(gone, o) }))
	c.stats.with(func(n *Snapshot) {
		n.Objects = slices.DeleteFunc(n.Objects, func(o ObjectSnapshot) bool {
			return slices.ContainsFunc(gone, func(g *segdv1.Object) bool { return g.Id == o.ID })
		})
	})
}

// Keep makes an object that was marked automatically one of people's, which does not end by itself and
// is looked for when stages are built anew, and returns it. One that is people's already stays so. It
// waits as Clear does. Errors wrap ErrUnknownObject, ErrDown or what ended ctx.
func (c *Camera) Keep(ctx context.Context, id uint32) (kept *segdv1.Object, err error) {
	err = c.atTurn(ctx, func(s *stages) error {
		_, objects := c.newest.list()
		i, err := c.known(objects, id)
		if err != nil {
			return err
		}
		kept = objects[i]
		if !kept.Automatic {
			return nil
		}
		c.marker.Keep(id)
		kept = proto.CloneOf(kept)
		kept.Automatic = false
		objects = slices.Clone(objects)
		objects[i] = kept
		c.newest.setObjects(objects)
		c.rememberNow(id)
		c.capture(s, true)
		c.log.Info("object kept", keyObject, id)
		return nil
	})
	return kept, err
}

// Rename gives an object another label and returns it with that. It waits as Clear
// does. Errors wrap ErrUnknownObject, ErrDown, what ended ctx, or a *annotation.Fault
// of the label.
func (c *Camera) Rename(ctx context.Context, id uint32, label string) (renamed *segdv1.Object, err error) {
	err = c.atTurn(ctx, func(s *stages) error {
		seq, objects := c.newest.list()
		i, err := c.known(objects, id)
		if err != nil {
			return err
		}
		if _, err := s.step.Rename(id, label); err != nil {
			return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
		}
		c.marker.Rename(id, label)
		c.memory.change(func(known *annotation.Object) bool {
			if known.ID == id {
				known.Label = label
			}
			return true
		})
		before := objects[i].Label
		renamed = proto.CloneOf(objects[i])
		renamed.Label = label
		objects = slices.Clone(objects)
		objects[i] = renamed
		c.newest.setObjects(objects)
		if before == label {
			return nil
		}
		if o, ok := s.objects[id]; ok {
			o.label = label
			s.objects[id] = o
		}
		c.stats.with(func(n *Snapshot) {
			for k := range n.Objects {
				if n.Objects[k].ID == id {
					n.Objects[k].Label = label
				}
			}
		})
		c.capture(s, true)
		c.log.Info("object renamed", keyObject, id)
		c.renamed(id, before, label, seq)
		return nil
	})
	return renamed, err
}

// Preview returns the masks that a would give on the kept frame it names, or on the
// newest when it names none, and changes nothing. Only copying what it needs holds
// up the frames; the work is done here. Errors wrap annotation.ErrInvalid (and
// annotation.ErrFrame), ErrBusy, ErrDown or what ended ctx.
func (c *Camera) Preview(ctx context.Context, a *annotation.Annotation) (*segdv1.MaskFrame, error) {
	if err := noPicture(a); err != nil {
		return nil, fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
	}
	select {
	case c.previews <- struct{}{}:
		defer func() { <-c.previews }()
	default:
		return nil, fmt.Errorf("pipeline: camera %s: %w: %d previews are being made", c.cfg.Name, ErrBusy, maxPreviews)
	}
	var p *tracker.Preview
	err := c.atTurn(ctx, func(s *stages) (err error) {
		if err := c.admit(a); err != nil {
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
	if err := guard(func() (err error) {
		res, err = p.Run(ctx)
		return err
	}); err != nil {
		return nil, fmt.Errorf("pipeline: camera %s: preview: %w", c.cfg.Name, err)
	}
	_, known := c.newest.list()
	return &segdv1.MaskFrame{
		Site: c.cfg.Site, Camera: c.cfg.Name, Sequence: res.Seq, Epoch: c.epoch.Load(),
		Width: int32(res.Width), Height: int32(res.Height),
		Objects: objects(res, func(id uint32) (class string, automatic bool) {
			if i := slices.IndexFunc(known, func(o *segdv1.Object) bool { return o.Id == id }); i >= 0 {
				return known[i].Class, known[i].Automatic && indexOf(a, id) < 0 // what is corrected is people's
			}
			return "", false
		}),
	}, nil
}
