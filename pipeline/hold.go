package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/tracker"
)

// HoldFor is how long a frame is held for a client that does not ask again.
const HoldFor = 5 * time.Minute

// maxHolds bounds the holds of a camera's frames, those of one frame by several
// included; how many frames they may be is tracker.MaxHeld.
const maxHolds = 32

// hold is one frame held for one who draws on it.
type hold struct {
	seq    uint64
	holder string
}

// Hold keeps the frame with that sequence number for a client that is going to
// annotate it, and returns until when. Asking again, by the same holder, gives it
// more time; failing stages lose it. It waits as Clear does. Errors wrap
// annotation.ErrFrame when the frame is not kept, api.ErrBusy when too many are held,
// api.ErrDown or what ended ctx.
func (c *Camera) Hold(ctx context.Context, seq uint64, holder string) (until time.Time, err error) {
	err = c.atTurn(ctx, func(s *stages) error {
		now := time.Now()
		s.letGoExpired(now)
		h := hold{seq, holder}
		if _, again := s.holds[h]; !again {
			if len(s.holds) >= maxHolds {
				return fmt.Errorf("pipeline: camera %s: %w: frames are held %d times", c.cfg.Name, api.ErrBusy, maxHolds)
			}
			if err := s.step.Hold(seq); errors.Is(err, tracker.ErrHeld) {
				return fmt.Errorf("pipeline: camera %s: %w: %w", c.cfg.Name, api.ErrBusy, err)
			} else if err != nil {
				return fmt.Errorf("pipeline: camera %s: %w", c.cfg.Name, err)
			}
			c.newest.hold(seq)
		}
		until = now.Add(HoldFor)
		s.holds[h] = until
		return nil
	})
	return until, err
}

// LetGo ends a Hold. One that there is not, any more, is no fault.
func (c *Camera) LetGo(ctx context.Context, seq uint64, holder string) error {
	return c.atTurn(ctx, func(s *stages) error {
		s.letGo(hold{seq, holder})
		return nil
	})
}

func (s *stages) letGo(h hold) {
	if _, ok := s.holds[h]; ok {
		delete(s.holds, h)
		s.step.LetGo(h.seq)
		for other := range s.holds {
			if other.seq == h.seq {
				return
			}
		}
		s.c.newest.letGo(h.seq)
	}
}

// letGoExpired ends the holds of those who went away without a word, and gives back the memory for scenes of held frames once there
// are none.
func (s *stages) letGoExpired(now time.Time) {
	for h, until := range s.holds {
		if now.After(until) {
			s.letGo(h)
		}
	}
	if len(s.holds) == 0 {
		s.earlier.rest(now)
	}
}
