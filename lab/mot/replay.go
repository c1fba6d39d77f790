package mot

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Replay has only every stride-th of the frames looked at shown, backwards in time if so, at the times that they have. They
// count from 1 then, and the truth's do, too. Backwards all of them are kept in memory.
func (opt *Options) Replay(stride int, backwards bool) error {
	if err := opt.frames(); err != nil {
		return err
	}
	if stride < 1 {
		return fmt.Errorf("mot: every %d frames; want 1 or more", stride)
	}
	var order []int
	for n := opt.First; n <= opt.Last; n += stride {
		order = append(order, n)
	}
	if backwards {
		slices.Reverse(order)
	}
	video, from, to := opt.Video, opt.First, opt.Last
	opt.Video = func(ctx context.Context, show func(*Picture) error) error {
		var kept []*Picture
		n := 0
		err := video(ctx, func(p *Picture) error {
			if n++; n < from || n > to || (n-from)%stride != 0 {
				return ctx.Err()
			}
			if !backwards {
				return show(p)
			}
			c := *p
			c.BGR = slices.Clone(p.BGR)
			if kept = append(kept, &c); len(kept) == len(order) {
				return errEnough
			}
			return ctx.Err()
		})
		if !backwards || !errors.Is(err, errEnough) {
			return err
		}
		end := kept[len(kept)-1].Time
		for _, p := range slices.Backward(kept) {
			p.Time = end - p.Time
			if err := show(p); err != nil {
				return err
			}
		}
		return nil
	}
	opt.Truth = opt.Truth.replayed(order)
	opt.First, opt.Last = 1, len(order)
	return nil
}

// replayed is the truth of some frames, which count from 1 in their order.
func (t *Truth) replayed(order []int) *Truth {
	out := *t
	out.boxes, out.last = map[int]map[int]entry{}, len(order)
	for id, frames := range t.boxes {
		of := map[int]entry{}
		for k, n := range order {
			if e, is := frames[n]; is {
				of[k+1] = e
			}
		}
		if len(of) > 0 {
			out.boxes[id] = of
		}
	}
	return &out
}
