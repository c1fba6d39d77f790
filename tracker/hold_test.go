package tracker

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
)

// Somebody draws for a minute: the frame that was held can still be marked when all
// others of its time are gone, and the object is followed from there to the present.
func TestHeldFrameIsAnnotatedLate(t *testing.T) {
	at := func(i uint64) disc {
		return disc{80 + 50*math.Sin(float64(i)/25), 60 + 20*math.Sin(float64(i)/40), 18, red}
	}
	const held, now = 3, 220
	tr := newTracker(t, Config{History: 800_000})
	for i := range uint64(now + 20) {
		s, truth := film(t, i, at(i))
		if i == now {
			_, then := film(t, held, at(held))
			a := byMask(t, then[0], 1)
			frame := uint64(held)
			a.Frame = &frame
			res := step(t, tr, s, a)
			if j := iou(res.Objects[0].Mask, truth[0]); j < 0.8 {
				t.Errorf("frame %d, annotated on %d: IoU %.2f; want above 0.8", i, held, j)
			}
			tr.LetGo(held)
			continue
		}
		for _, o := range step(t, tr, s, nil).Objects {
			if j := iou(o.Mask, truth[0]); j < 0.8 {
				t.Errorf("frame %d: IoU %.2f; want above 0.8", i, j)
			}
		}
		if i == held+2 {
			if err := tr.Hold(held); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tr.Hold(held); !errors.Is(err, annotation.ErrFrame) {
		t.Errorf("the frame that was let go: %v", err)
	}
}

func TestHoldsAreBounded(t *testing.T) {
	const limit = 400_000
	tr := newTracker(t, Config{History: limit})
	var held []uint64
	for i := range uint64(400) {
		s, _ := film(t, i, disc{40, 60, 20, red})
		step(t, tr, s, nil)
		if i%20 == 10 && len(held) < MaxHeld {
			if err := tr.Hold(i - 1); err != nil {
				t.Fatal(err)
			}
			held = append(held, i-1)
		}
		h := &tr.past
		latest, trail := 0, 0
		var last uint64
		for k, e := range h.entries {
			if k > 0 && e.scene.Seq <= last {
				t.Fatalf("frame %d: scenes out of order", i)
			}
			last = e.scene.Seq
			if k < h.old {
				trail += e.size()
			} else {
				latest += e.size()
			}
		}
		if latest != h.bytes || trail != h.trail || latest > limit {
			t.Fatalf("frame %d: %d bytes and %d beyond; counted %d and %d, want at most %d", i, latest, trail, h.bytes, h.trail, limit)
		}
		if most := max(limit, MaxHeld*h.entries[0].size()*5/4); trail > most {
			t.Fatalf("frame %d: %d bytes beyond the limit; want at most %d", i, trail, most)
		}
		for _, seq := range held {
			if _, err := h.find(seq, i); err != nil {
				t.Fatalf("frame %d: the held one is gone: %v", i, err)
			}
		}
	}
	if err := tr.Hold(399); !errors.Is(err, ErrHeld) {
		t.Errorf("one more than %d: %v", MaxHeld, err)
	}
	if err := tr.Hold(held[0]); err != nil {
		t.Errorf("a second hold of the same: %v", err)
	}
	tr.LetGo(held[0])
	if _, err := tr.past.find(held[0], 399); err != nil {
		t.Errorf("let go once of twice held: %v", err)
	}
	for _, seq := range slices.Backward(held) {
		tr.LetGo(seq)
	}
	if h := &tr.past; h.old != 0 || h.trail != 0 || h.stride != 0 {
		t.Errorf("everything let go: %d scenes, %d bytes, stride %d stay", h.old, h.trail, h.stride)
	}
	tr.LetGo(12345)
	if err := tr.Hold(5); !errors.Is(err, annotation.ErrFrame) {
		t.Errorf("a frame that is gone: %v", err)
	}
}

// What is labelled again comes in order, ends with the newest, and is spread evenly.
func TestReplaysAreEven(t *testing.T) {
	for _, c := range []struct {
		seqs []uint64
		most uint64 // largest step allowed
	}{
		{[]uint64{5, 6}, 1},
		{[]uint64{5}, 0},
		{[]uint64{1, 2, 3, 4, 5}, 1},
		{upTo(1, 70), 9},
		{append([]uint64{0, 9, 18, 27, 36, 45, 54, 63, 72, 81, 90}, upTo(95, 160)...), 2 * firstStride},
		{append([]uint64{0, 72, 144, 216, 288, 360}, upTo(380, 450)...), 72},
	} {
		var h history
		for _, seq := range c.seqs {
			e := &entry{}
			e.scene.Seq = seq
			h.entries = append(h.entries, e)
		}
		places := h.replays(0)
		last := c.seqs[0]
		for k, at := range places {
			seq := c.seqs[at]
			if seq <= last && k > 0 || seq-last > c.most {
				t.Errorf("%v: replays %v step from %d to %d; want at most %d", c.seqs, places, last, seq, c.most)
			}
			last = seq
		}
		if last != c.seqs[len(c.seqs)-1] || len(places) > maxLongReplay {
			t.Errorf("%v: %d replays end with %d", c.seqs, len(places), last)
		}
	}
}

func upTo(from, to uint64) []uint64 {
	var seqs []uint64
	for i := from; i <= to; i++ {
		seqs = append(seqs, i)
	}
	return seqs
}
