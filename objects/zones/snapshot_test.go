package zones

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// over is what happens to object 1 in frames, where another Watcher goes on after the first n.
func over(t *testing.T, l Layout, frames []Object, n int, resume bool) (events []string, last *Watcher) {
	t.Helper()
	w, err := New(l)
	require.NoError(t, err)
	for i, o := range frames {
		if i == n {
			s := w.Snapshot()
			if w, err = New(l); resume {
				w, err = Restore(s)
			}
			require.NoError(t, err)
			if diff := cmp.Diff(s, w.Snapshot()); resume && diff != "" {
				t.Fatalf("kept again it is another: %s", diff)
			}
		}
		for _, e := range text(w.Observe(Frame{Time: time.Duration(i) * step, Width: width, Height: height, Objects: []Object{o}})) {
			events = append(events, fmt.Sprintf("%d %s", i, e))
		}
	}
	return events, w
}

// Wherever another Watcher goes on, it tells what one alone would have, at the same time or, where an object was
// about to enter or leave, a little later; and it counts on. One that knows nothing counts again.
func TestRestore(t *testing.T) {
	porch := yard
	porch.Dwell = time.Second
	l := Layout{Zones: []Zone{porch}, Lines: []Line{street}}
	frames := script(walk(21, 20, 20, 20, 80), times(8, at(20, 80)), times(6, hidden), walk(21, 20, 80, 150, 20), times(4, at(150, 20)))
	want, alone := over(t, l, frames, -1, false)
	if len(want) < 4 {
		t.Fatalf("%q; want somebody who crosses, enters, stays and leaves", want)
	}
	kinds := func(events []string) (all []string) {
		for _, e := range events {
			all = append(all, strings.Join(strings.Fields(e)[1:3], " "))
		}
		return all
	}
	again := 0
	for n := range frames {
		got, w := over(t, l, frames, n, true)
		assert.Equal(t, kinds(want), kinds(got), "going on at frame %d: %q; want %q", n, got, want)
		if c := w.Counts(); fmt.Sprint(c) != fmt.Sprint(alone.Counts()) {
			t.Errorf("going on at frame %d: counted %v; want %v", n, c, alone.Counts())
		}
		if got, w := over(t, l, frames, n, false); !slices.Equal(kinds(got), kinds(want)) || fmt.Sprint(w.Counts()) != fmt.Sprint(alone.Counts()) {
			again++
		}
	}
	if again < len(frames)/2 {
		t.Errorf("beginning anew changed what was told at %d of %d frames; want a script where it mostly does", again, len(frames))
	}
}

// The stay of an object that was in the zone before goes on, also over a pause.
func TestRestoredStay(t *testing.T) {
	porch := yard
	porch.Dwell = 3 * time.Second
	w, err := New(Layout{Zones: []Zone{porch}})
	require.NoError(t, err)
	see := func(w *Watcher, at time.Duration, o ...Object) string {
		return strings.Join(text(w.Observe(Frame{Time: at, Width: width, Height: height, Objects: o})), ", ")
	}
	for i := range 5 {
		see(w, time.Duration(i)*step, at(20, 80))
	}
	w, err = Restore(w.Snapshot())
	require.NoError(t, err)
	if n := w.Counts().Zones[0]; n.Objects != 1 || n.Entries != 1 {
		t.Errorf("counted %+v; want one in it, who entered once", n)
	}
	assert.Equal(t, "stay yard 10.0", see(w, 10*time.Second, at(20, 80)), "after a while")
	if got := see(w, 11*time.Second); !strings.HasPrefix(got, "leave yard") || w.Counts().Zones[0].Objects != 0 {
		t.Errorf("without them: %q", got)
	}
}

func TestRestoreFaults(t *testing.T) {
	w, err := New(Layout{Zones: []Zone{yard}, Lines: []Line{street}})
	require.NoError(t, err)
	for i := range 5 {
		w.Observe(Frame{Time: time.Duration(i) * step, Width: width, Height: height, Objects: []Object{at(20, 80), {ID: 2}}})
	}
	_, err = Restore(w.Snapshot())
	require.NoError(t, err)
	for name, spoil := range map[string]func(*Snapshot){
		"a layout of nonsense":     func(s *Snapshot) { s.Layout.Zones = []Zone{{Name: "x"}} },
		"counts of fewer zones":    func(s *Snapshot) { s.Counts.Zones = nil },
		"counts of more lines":     func(s *Snapshot) { s.Counts.Lines = append(s.Counts.Lines, s.Counts.Lines[0]) },
		"a track of fewer zones":   func(s *Snapshot) { s.Tracks[0].Zones = nil },
		"a track of more lines":    func(s *Snapshot) { s.Tracks[1].Lines = append(s.Tracks[1].Lines, s.Tracks[1].Lines[0]) },
		"tracks not by rising id":  func(s *Snapshot) { s.Tracks[0].Object = 2 },
		"a foot that is no number": func(s *Snapshot) { s.Tracks[0].Foot[0] = math.NaN() },
		"a foot at infinity":       func(s *Snapshot) { s.Tracks[0].Foot[1] = math.Inf(-1) },
	} {
		s := w.Snapshot()
		spoil(s)
		if _, err := Restore(s); err == nil || !strings.HasPrefix(err.Error(), "zones: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
