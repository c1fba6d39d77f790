package history

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// photo is a picture of some bytes that counts its references, the test's included.
type photo struct {
	bytes, refs int
	scene       *features.Scene
}

func photoOf(s *features.Scene) *photo { return &photo{5000, 1, s} }

func (p *photo) Scene(dst *features.Scene, _ features.Plan) error { *dst = *p.scene; return nil }
func (p *photo) Bytes() int                                       { return p.bytes }
func (p *photo) PTS() time.Duration                               { return time.Duration(p.scene.Seq) * 40 * time.Millisecond }
func (p *photo) Retain()                                          { p.refs++ }
func (p *photo) Release()                                         { p.refs-- }

// keep has h keep the i-th of some frames without labels.
func keep(h *History, i uint64, limit int) *photo {
	s := scenetest.Squares(i, 8, 6, nil)
	p := photoOf(s)
	h.Keep(s, p, nil, limit)
	return p
}

func TestRate(t *testing.T) {
	var h History
	for i, want := range []float64{0, 25, 25} {
		if keep(&h, uint64(i), 1<<20); h.Rate() != want {
			t.Errorf("with %d frames: %g a second; want %g", i+1, h.Rate(), want)
		}
	}
	keep(&h, 7, 1<<20) // some were dropped
	if want := 3 / 0.28; math.Abs(h.Rate()-want) > 1e-9 {
		t.Errorf("%g frames a second; want %g", h.Rate(), want)
	}
	keep(&h, 0, 1<<20) // the clock began anew
	if h.Rate() != 0 {
		t.Errorf("%g frames a second with a clock that runs back; want 0", h.Rate())
	}
}

// drawn are labels of s's pixels, other ones in each scene.
func drawn(s *features.Scene) (pixels []uint8) {
	for p, i := range s.Patches[0].Labels {
		pixels = append(pixels, uint8((uint64(i)+uint64(p)/50*s.Seq)%5))
	}
	return pixels
}

// What is kept is bounded, and what was put in comes out; what is not kept is released.
func TestHistoryIsBoundedAndExact(t *testing.T) {
	var h History
	var scenes []*features.Scene
	var photos []*photo
	limit := 0
	for i := range uint64(30) {
		s := scenetest.Squares(i, 12, 9, nil)
		p := photoOf(s)
		scenes, photos = append(scenes, s), append(photos, p)
		h.Keep(s, p, drawn(s), limit)
		if i == 0 {
			h.Clear()
			h.Keep(s, p, drawn(s), 1<<30)
			limit = 8 * h.bytes
			continue
		}
		sum := 0
		for _, e := range h.entries {
			sum += e.size()
		}
		if sum != h.bytes || sum > limit {
			t.Fatalf("after %d frames: %d bytes, counted %d; want at most %d", i+1, sum, h.bytes, limit)
		}
	}
	if n := len(h.entries); n < 5 || n == len(scenes) {
		t.Fatalf("%d frames kept; want some and not all", n)
	}
	first := len(scenes) - len(h.entries)
	for k := range h.entries {
		want := scenes[first+k]
		seq, width, height := h.Frame(k)
		if seq != want.Seq || width != want.Width || height != want.Height || h.Picture(k) != photos[first+k] {
			t.Fatalf("frame %d is not what was kept", want.Seq)
		}
		if got := pixels(h.Labels(k)); !slices.Equal(got, drawn(want)) {
			t.Fatalf("frame %d has other labels", want.Seq)
		}
	}
	for k, p := range photos {
		if want := 1 + min(1, max(0, k-first+1)); p.refs != want {
			t.Errorf("picture %d has %d references; want %d", k, p.refs, want)
		}
	}
	other := scenetest.Squares(1, 9, 12, nil)
	if h.Differs(scenes[0]) || !h.Differs(other) {
		t.Error("Differs does not tell a size from another")
	}
	if h.Clear(); h.Differs(other) {
		t.Error("a size differs from that of nothing")
	}
	for k, p := range photos {
		if p.refs != 1 {
			t.Errorf("cleared: picture %d has %d references; want the test's alone", k, p.refs)
		}
	}
}

func TestFind(t *testing.T) {
	h := at(10, 12, 14)
	h.beyond = 1
	for seq, want := range map[uint64]string{
		9: "no longer kept; accepted: 12 to 15", 11: "no longer kept", 13: "dropped unseen; accepted: 12 or 14 beside it, and others from 12 to 15",
		15: "no longer kept", 16: "16 has not come yet; the newest is 15",
	} {
		if _, err := h.Find(seq, 15); !errors.Is(err, annotation.ErrFrame) || !strings.Contains(err.Error(), want) {
			t.Errorf("frame %d: %v; want %q", seq, err, want)
		}
	}
	for place, seq := range []uint64{10, 12, 14} {
		if got, err := h.Find(seq, 15); got != place || err != nil {
			t.Errorf("frame %d: %d, %v; want %d", seq, got, err, place)
		}
	}
	var none History
	if _, err := none.Find(3, 3); !errors.Is(err, annotation.ErrFrame) || !strings.Contains(err.Error(), "accepted: 3, or no frame") {
		t.Errorf("nothing kept: %v", err)
	}
	if err := none.Hold(3); !errors.Is(err, annotation.ErrFrame) || !strings.Contains(err.Error(), "none has come yet") {
		t.Errorf("nothing to hold: %v", err)
	}
}

// at is a history of frames that take nothing.
func at(seqs ...uint64) *History {
	h := &History{}
	for _, seq := range seqs {
		h.entries = append(h.entries, &entry{seq: seq, picture: photoOf(nil)})
	}
	return h
}

func TestHoldsAreBounded(t *testing.T) {
	const limit = 60_000
	h := &History{}
	var held []uint64
	var photos []*photo
	for i := range uint64(400) {
		photos = append(photos, keep(h, i, limit))
		if i%20 == 10 && len(held) < MaxHeld {
			if err := h.Hold(i - 1); err != nil {
				t.Fatal(err)
			}
			held = append(held, i-1)
		}
		latest, trail := 0, 0
		var last uint64
		for k, e := range h.entries {
			if k > 0 && e.seq <= last {
				t.Fatalf("frame %d: scenes out of order", i)
			}
			last = e.seq
			if k < h.beyond {
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
			if _, err := h.Find(seq, i); err != nil {
				t.Fatalf("frame %d: the held one is gone: %v", i, err)
			}
		}
	}
	if err := h.Hold(399); !errors.Is(err, ErrHeld) {
		t.Errorf("one more than %d: %v", MaxHeld, err)
	}
	if err := h.Hold(held[0]); err != nil {
		t.Errorf("a second hold of the same: %v", err)
	}
	h.LetGo(held[0])
	if _, err := h.Find(held[0], 399); err != nil {
		t.Errorf("let go once of twice held: %v", err)
	}
	for _, seq := range slices.Backward(held) {
		h.LetGo(seq)
	}
	kept := 0
	for _, p := range photos {
		kept += p.refs - 1
	}
	if kept != len(h.entries) {
		t.Errorf("%d pictures are retained for %d frames", kept, len(h.entries))
	}
	if h.beyond != 0 || h.trail != 0 || h.stride != 0 {
		t.Errorf("everything let go: %d frames, %d bytes, stride %d stay", h.beyond, h.trail, h.stride)
	}
	h.LetGo(12345)
	if err := h.Hold(5); !errors.Is(err, annotation.ErrFrame) {
		t.Errorf("a frame that is gone: %v", err)
	}
}

// While a frame is held a trail of those after it stays, ever thinner.
func TestTrailStays(t *testing.T) {
	const held, limit = 30, 150_000
	h := &History{}
	for i := range uint64(held + 1) {
		keep(h, i, limit)
	}
	if err := h.Hold(held); err != nil {
		t.Fatal(err)
	}
	for i := uint64(held + 1); i < 4000; i++ {
		keep(h, i, limit)
		at, err := h.Find(held, i)
		if err != nil {
			t.Fatal(err)
		}
		if h.beyond > 0 && at != 0 {
			t.Fatalf("frame %d: %d are kept from before the held one", i, at)
		}
		last := uint64(held)
		for k := at + 1; k < len(h.entries); k++ {
			seq, _, _ := h.Frame(k)
			if seq-last > h.stride {
				t.Fatalf("frame %d: a picture %d after the one before; want at most %d", i, seq-last, h.stride)
			}
			last = seq
		}
		frames, places := len(h.entries)-at-1, h.Replays(at)
		if len(places) != min(frames, max(maxReplay, min(maxLongReplay, int(i-held)/firstStride))) {
			t.Fatalf("frame %d: %d of %d frames are labelled again", i, len(places), frames)
		}
	}
	if h.stride < 4*firstStride || h.trail > limit {
		t.Errorf("%d apart, %d bytes; want the test to thin them, to at most %d", h.stride, h.trail, limit)
	}
}

// Held frames that take more than the limit stay, however long.
func TestHeldBeyondTheLimit(t *testing.T) {
	h := &History{}
	for i := range uint64(300) {
		keep(h, i, 15_000)
		if i > 0 && i <= 3 {
			if err := h.Hold(i); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h.trail < 15_000 || h.beyond != 3 {
		t.Errorf("%d entries and %d bytes beyond the limit; want the three that are held, which take more than it", h.beyond, h.trail)
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
		h := at(c.seqs...)
		places := h.Replays(0)
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

// Once the limit is reached a frame costs no memory.
func TestKeepAllocatesNothing(t *testing.T) {
	var h History
	s := scenetest.Squares(1, 8, 6, nil)
	p, labels := photoOf(s), drawn(s)
	keep := func() {
		s.Seq++
		h.Keep(s, p, labels, 60_000)
	}
	for range 50 {
		keep()
	}
	if n := testing.AllocsPerRun(50, keep); n != 0 {
		t.Errorf("%g allocations a frame; want none", n)
	}
}
