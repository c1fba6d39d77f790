package past

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// What is kept is bounded, and what was put in comes out.
func TestHistoryIsBoundedAndExact(t *testing.T) {
	var h History
	var scenes []*features.Scene
	limit := 0
	for i := range uint64(30) {
		s := scenetest.Squares(i, 12, 9, nil)
		scenes = append(scenes, s)
		h.Keep(s, s.Area, []byte{byte(i), 1, 2}, limit)
		if i == 0 {
			h.Clear()
			h.Keep(s, s.Area, []byte{byte(i), 1, 2}, 1<<30)
			limit = 8 * h.bytes
			continue
		}
		sum := 0
		for _, e := range h.entries {
			sum += e.size()
		}
		if sum != h.bytes || sum > limit {
			t.Fatalf("after %d scenes: %d bytes, counted %d; want at most %d", i+1, sum, h.bytes, limit)
		}
	}
	if n := len(h.entries); n < 5 || n == len(scenes) {
		t.Fatalf("%d scenes kept; want some and not all", n)
	}
	for k := range h.entries {
		want, got := scenes[len(scenes)-len(h.entries)+k], h.Scene(k)
		if got.Seq != want.Seq || got.N != want.N || got.D != want.D || got.Width != want.Width || got.Height != want.Height ||
			!slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.X, want.X) || !slices.Equal(got.Maps, want.Maps) ||
			!slices.Equal(got.Centroid, want.Centroid) || !slices.Equal(got.Area, want.Area) || !slices.Equal(got.Edges, want.Edges) ||
			!slices.Equal(h.Labels(k), want.Area) || !slices.Equal(h.Picture(k), []byte{byte(want.Seq), 1, 2}) {
			t.Fatalf("scene %d is not what was kept", want.Seq)
		}
	}
	other := scenetest.Squares(1, 9, 12, nil)
	if h.Differs(scenes[0]) || !h.Differs(other) {
		t.Error("Differs does not tell a size from another")
	}
	if h.Clear(); h.Differs(other) {
		t.Error("a size differs from that of nothing")
	}
}

func TestLabels(t *testing.T) {
	var h History
	s := scenetest.Squares(1, 3, 1, nil)
	h.Keep(s, []int32{1, 2, 0}, nil, 1<<20)
	before := h.bytes
	h.DropLabel(1)
	if got := h.Labels(0); !slices.Equal(got, []int32{0, 1, 0}) {
		t.Errorf("without label 1: %v", got)
	}
	h.Relabel(0, []int32{3, 3, 3})
	if got := h.Labels(0); !slices.Equal(got, []int32{3, 3, 3}) || h.bytes != before {
		t.Errorf("labelled again: %v, %d bytes; want %d", got, h.bytes, before)
	}
	if h.DropLabels(); len(h.Labels(0)) != 0 {
		t.Errorf("without labels: %v", h.Labels(0))
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

// at is a history of empty scenes.
func at(seqs ...uint64) *History {
	h := &History{}
	for _, seq := range seqs {
		e := &entry{}
		e.scene.Seq = seq
		h.entries = append(h.entries, e)
	}
	return h
}

func TestHoldsAreBounded(t *testing.T) {
	const limit = 60_000
	h := &History{}
	var held []uint64
	for i := range uint64(400) {
		h.Keep(scenetest.Squares(i, 8, 6, nil), nil, nil, limit)
		if i%20 == 10 && len(held) < MaxHeld {
			if err := h.Hold(i - 1); err != nil {
				t.Fatal(err)
			}
			held = append(held, i-1)
		}
		latest, trail := 0, 0
		var last uint64
		for k, e := range h.entries {
			if k > 0 && e.scene.Seq <= last {
				t.Fatalf("frame %d: scenes out of order", i)
			}
			last = e.scene.Seq
			if e.bare {
				t.Fatalf("frame %d: %d has stayed without picture or scene", i, last)
			}
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
	if h.beyond != 0 || h.trail != 0 || h.stride != 0 {
		t.Errorf("everything let go: %d scenes, %d bytes, stride %d stay", h.beyond, h.trail, h.stride)
	}
	h.LetGo(12345)
	if err := h.Hold(5); !errors.Is(err, annotation.ErrFrame) {
		t.Errorf("a frame that is gone: %v", err)
	}
}

// While a scene is held the pictures of those after it stay, closer together than the scenes,
// and are no scenes: they can be neither annotated nor labelled again.
func TestPicturesStay(t *testing.T) {
	const held, limit = 30, 150_000
	h := &History{}
	keep := func(i uint64) { h.Keep(scenetest.Squares(i, 8, 6, nil), nil, make([]byte, 100), limit) }
	for i := range uint64(held + 1) {
		keep(i)
	}
	if err := h.Hold(held); err != nil {
		t.Fatal(err)
	}
	most := uint64(0) // least distance of the pictures
	for i := uint64(held + 1); i < 2000; i++ {
		keep(i)
		at, err := h.Find(held, i)
		if err != nil {
			t.Fatal(err)
		}
		if h.beyond > 0 && at != 0 {
			t.Fatalf("frame %d: %d are kept from before the held one", i, at)
		}
		most = max(most, h.stride/firstStride)
		last, lastScene, scenes := uint64(held), uint64(held), 0
		for k := at + 1; k < len(h.entries); k++ {
			s := h.Scene(k)
			if s.Seq-last > most && k < h.beyond {
				t.Fatalf("frame %d: a picture %d after the one before; want at most %d", i, s.Seq-last, most)
			}
			if last = s.Seq; len(h.Picture(k)) != 100 {
				t.Fatalf("frame %d: no picture of %d", i, last)
			}
			if _, err := h.Find(last, i); (err == nil) != (len(s.Labels) > 0) {
				t.Fatalf("frame %d: %d with %d labels: %v", i, last, len(s.Labels), err)
			}
			if len(s.Labels) > 0 {
				if s.Seq-lastScene > h.stride {
					t.Fatalf("frame %d: a scene %d after the one before; want at most %d", i, s.Seq-lastScene, h.stride)
				}
				lastScene = s.Seq
				scenes++
			}
		}
		places := h.Replays(at)
		if len(places) != min(scenes, max(maxReplay, min(maxLongReplay, int(i-held)/firstStride))) {
			t.Fatalf("frame %d: %d of %d scenes are labelled again", i, len(places), scenes)
		}
		for _, k := range places {
			if len(h.Scene(k).Labels) == 0 {
				t.Fatalf("frame %d: a picture is to be labelled again", i)
			}
		}
	}
	if most < 4 || h.trail > limit {
		t.Errorf("pictures %d apart, %d bytes; want the test to thin them, to at most %d", most, h.trail, limit)
	}
}

// Held scenes that take more than the limit stay, however long.
func TestHeldBeyondTheLimit(t *testing.T) {
	h := &History{}
	for i := range uint64(300) {
		h.Keep(scenetest.Squares(i, 8, 6, nil), nil, make([]byte, 100), 15_000)
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

// Once the limit is reached a scene costs no memory.
func TestKeepAllocatesNothing(t *testing.T) {
	var h History
	s := scenetest.Squares(1, 8, 6, nil)
	keep := func() {
		s.Seq++
		h.Keep(s, s.Area, nil, 60_000)
	}
	for range 50 {
		keep()
	}
	if n := testing.AllocsPerRun(50, keep); n != 0 {
		t.Errorf("%g allocations a scene; want none", n)
	}
}
