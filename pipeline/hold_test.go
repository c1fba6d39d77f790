package pipeline

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
		if _, err := c.Hold(t.Context(), 9999, "me"); !errors.Is(err, annotation.ErrFrame) {
			t.Errorf("a frame to come: %v", err)
		}
		for _, holder := range []string{"me", "you"} {
			until, err := c.Hold(t.Context(), held, holder)
			if err != nil || time.Until(until) != HoldFor {
				t.Fatalf("until %v, %v", until, err)
			}
		}
		time.Sleep(time.Minute)
		if err := try(held - 1); !errors.Is(err, annotation.ErrFrame) {
			t.Fatalf("the frame before it is still there: %v", err)
		}
		a := annotate(ptr(held), held)
		a.Objects[0].ID = 2
		if out, err := c.Annotate(t.Context(), a); err != nil || out.Sequence != held {
			t.Errorf("after a minute: %v, %v", out, err)
		}
		for range 2 { // letting go twice is letting go once
			if err := c.LetGo(t.Context(), held, "me"); err != nil {
				t.Error(err)
			}
		}
		if err := c.Clear(t.Context(), 0); err != nil { // what follows needs no masks, which take time
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := try(held); err != nil {
			t.Errorf("one of two let it go: %v", err)
		}
		if _, err := c.Hold(t.Context(), held, "you"); err != nil {
			t.Errorf("asked again: %v", err)
		}
		time.Sleep(HoldFor - time.Second)
		if err := try(held); err != nil {
			t.Errorf("before the time was up: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := try(held); !errors.Is(err, annotation.ErrFrame) {
			t.Errorf("the time was up: %v", err)
		}
	})
}

func TestHoldsAreBounded(t *testing.T) {
	live(t, nil, func(t *testing.T, _ *bench, c *Camera) {
		for i := range uint64(tracker.MaxHeld) {
			if _, err := c.Hold(t.Context(), i, "me"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Hold(t.Context(), tracker.MaxHeld, "me"); !errors.Is(err, api.ErrBusy) {
			t.Errorf("one frame too many: %v", err)
		}
		for i := tracker.MaxHeld; i < maxHolds; i++ {
			if _, err := c.Hold(t.Context(), 0, fmt.Sprint("holder ", i)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Hold(t.Context(), 0, "one more"); !errors.Is(err, api.ErrBusy) {
			t.Errorf("one holder too many: %v", err)
		}
	})
}
