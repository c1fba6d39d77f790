package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/tracker"
)

// A frame is held while a user draws, and marked when all others of its time are
// gone. Two may hold the same; who goes away without a word holds it no longer than
// HoldFor.
func TestHold(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: minutes of frames")
	}
	small := func(b *bench) { b.tracker.History = 200_000 }
	live(t, small, func(t *testing.T, _ *bench, c *Camera) {
		const held = 19
		try := func(seq uint64) error {
			_, err := c.Preview(t.Context(), annotate(ptr(seq), int(seq)))
			return err
		}
		_, err := c.Hold(t.Context(), 9999, "me")
		assert.ErrorIs(t, err, annotation.ErrFrame, "a frame to come")
		for _, holder := range []string{"me", "you"} {
			until, err := c.Hold(t.Context(), held, holder)
			if err != nil || time.Until(until) != HoldFor {
				t.Fatalf("until %v, %v", until, err)
			}
		}
		time.Sleep(time.Minute)
		require.ErrorIs(t, try(held-1), annotation.ErrFrame, "the frame before it is still there")
		a := annotate(ptr(held), held)
		a.Objects[0].ID = 2
		if out, err := c.Annotate(t.Context(), a); err != nil || out.Sequence != held {
			t.Errorf("after a minute: %v, %v", out, err)
		}
		for range 2 { // letting go twice is letting go once
			assert.NoError(t, c.LetGo(t.Context(), held, "me"))
		}
		if err := c.Clear(t.Context(), 0); err != nil { // what follows needs no masks, which take time
			t.Error(err)
		}
		time.Sleep(time.Minute)
		assert.NoError(t, try(held), "one of two let it go")
		_, err = c.Hold(t.Context(), held, "you")
		assert.NoError(t, err, "asked again")
		time.Sleep(HoldFor - time.Second)
		assert.NoError(t, try(held), "before the time was up")
		time.Sleep(2 * time.Second)
		assert.ErrorIs(t, try(held), annotation.ErrFrame, "the time was up")
	})
}

func TestHoldsAreBounded(t *testing.T) {
	live(t, nil, func(t *testing.T, _ *bench, c *Camera) {
		const first = 5 // those before are more than 2 s old
		for i := range uint64(tracker.MaxHeld) {
			_, err := c.Hold(t.Context(), first+i, "me")
			require.NoError(t, err)
		}
		_, err := c.Hold(t.Context(), first+tracker.MaxHeld, "me")
		assert.ErrorIs(t, err, api.ErrBusy, "one frame too many")
		for i := tracker.MaxHeld; i < maxHolds; i++ {
			_, err := c.Hold(t.Context(), first, fmt.Sprint("holder ", i))
			require.NoError(t, err)
		}
		_, err = c.Hold(t.Context(), first, "one more")
		assert.ErrorIs(t, err, api.ErrBusy, "one holder too many")
	})
}
