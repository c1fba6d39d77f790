package tracker

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/annotation"
)

// follow has a tracker follow a disc that moves and then is gone. least is the worst IoU
// while it is there.
func follow(t *testing.T, cfg Config) (tr *Tracker, least float64) {
	t.Helper()
	tr, least = newTracker(t, cfg), 1
	for i := range uint64(20) {
		discs := []disc{{40 + 3*float64(i), 60, 22, red}}
		if i >= 12 {
			discs = nil
		}
		s, truth := film(t, i, discs...)
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		if o := step(t, tr, s, a).Objects[0]; len(discs) > 0 {
			least = min(least, iou(o.Mask, truth[0]))
		}
	}
	return tr, least
}

// Where 0 is not the default it is taken, and does what it says.
func TestZeroIsTaken(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: a tracker for each setting")
	}
	for _, tt := range []struct {
		name   string
		zero   Config
		absent func(tr *Tracker) bool // whether what the field weighs or counts is not there
	}{
		{"memory", Config{Memory: new(0)}, func(tr *Tracker) bool {
			return len(tr.recall.Remembered()) == 0
		}},
		{"smooth", Config{Smooth: new(0.0)}, func(tr *Tracker) bool {
			for _, e := range tr.frames.recent[0].Edges {
				if e.W > 0 {
					return false
				}
			}
			return true
		}},
		// Nothing but the annotated frame has a weight there.
		{"ambiguous, without affinity", Config{Mode: NoTemporal, Ambiguous: new(0.0)}, func(tr *Tracker) bool { return tr.window.Ambiguous == 0 }},
		{"evidence", Config{Evidence: new(0.0)}, func(tr *Tracker) bool { return tr.window.Evidence == 0 }},
		{"delta", Config{Delta: new(0.0)}, func(tr *Tracker) bool { return tr.window.Delta == 0 }},
		{"ambiguous", Config{Ambiguous: new(0.0)}, func(tr *Tracker) bool { return tr.window.Ambiguous == 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tr, _ := follow(t, Config{}); tt.absent(tr) {
				t.Error("the default is as if it were 0")
			}
			tr, least := follow(t, tt.zero)
			if !tt.absent(tr) {
				t.Error("0 is not taken")
			}
			if least < 0.8 {
				t.Errorf("IoU %.2f; want at least 0.8 all the same", least)
			}
		})
	}
}

func TestFaultsOfConfig(t *testing.T) {
	_, err := New(Config{Memory: new(-1), Smooth: new(-0.5), Evidence: new(math.NaN()), Ambiguous: new(-2.0), Nu: -3, Relax: 2})
	got := strings.Split(err.Error(), "\n")
	slices.Sort(got)
	want := []string{
		"tracker: ambiguous is -2; want ≥ 0", "tracker: evidence is NaN; want ≥ 0", "tracker: memory is -1; want ≥ 0",
		"tracker: nu is -3; want ≥ 0", "tracker: relax is 2; want at least 1 and below 2", "tracker: smooth is -0.5; want ≥ 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults %q; want %q", got, want)
	}
}
