package tracker

import (
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/recall"
)

// An object moves on while frames are dropped, and is kept though the next frame shows it
// farther away than it gets in one.
func TestFollowsWhileFramesAreDropped(t *testing.T) {
	for _, every := range []uint64{1, 2} {
		tr := newTracker(t, Config{})
		for i := uint64(0); i < 16; i += every {
			s, truth := film(t, i, disc{20 + 7*float64(i), 50, 8, red})
			var a *annotation.Annotation
			if i == 0 {
				a = byMask(t, truth[0], 1)
			}
			o := step(t, tr, s, a).Objects[0]
			if j := iou(o.Mask, truth[0]); j < 0.8 {
				t.Errorf("every %d, frame %d: %s with IoU %.2f; want above 0.8", every, i, o.State, j)
			}
		}
	}
}

// After a gap, however long, the object is not what looks like it far away.
func TestJumpOfTheNumbers(t *testing.T) {
	for _, gap := range []uint64{1, 2, 10, 1 << 20, math.MaxUint64 - 40} {
		tr := newTracker(t, Config{})
		seq := uint64(0)
		for i := range uint64(12) {
			discs := []disc{{40, 60, 14, red}}
			if seq++; i == 6 {
				seq += gap
			}
			if i >= 6 {
				discs = append(discs, disc{120, 60, 14, red})
			}
			s, truth := film(t, seq, discs...)
			var a *annotation.Annotation
			if i == 0 {
				a = byMask(t, truth[0], 1)
			}
			o := step(t, tr, s, a).Objects[0]
			if j := iou(o.Mask, truth[0]); j < 0.8 || o.State != Visible {
				t.Errorf("gap %d, frame %d: %s with IoU %.2f; want above 0.8", gap, i, o.State, j)
			}
		}
	}
}

// Labelling frames again, after one was annotated, is no more time without an object.
func TestAmendedFramesCountOnce(t *testing.T) {
	const hidden, annotated, now, lostAfter = 4, 6, 12, 10
	tr := newTracker(t, Config{OccludedFrames: lostAfter})
	seen := uint64(0)
	var truths [][][]uint8
	for i := range uint64(now + 5) {
		other := disc{115, 80, 18, blue}
		if i >= hidden {
			other.r = -1
		}
		s, truth := film(t, i, disc{45, 40, 18, red}, other)
		truths = append(truths, truth)
		var a *annotation.Annotation
		switch i {
		case 0, 1:
			a = byMask(t, truth[i], uint32(1+i))
		case now:
			frame := uint64(annotated)
			a = byMask(t, truths[annotated][0], 1)
			a.Frame = &frame
		}
		res := step(t, tr, s, a)
		if i == 0 {
			continue
		}
		got := res.Objects[1].State
		if got == Visible && i < annotated {
			seen = i
		}
		if want := i > seen+lostAfter; got == Visible && i > annotated || want != (got == Lost) {
			t.Errorf("frame %d, last seen in %d: %s; want it lost: %t", i, seen, got, want)
		}
	}
}

func TestElapsed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		recent []uint64
		seq    uint64
		want   int
		pace   []float64 // of the latest, the newest first
	}{
		{"the first", nil, 7, 1, nil},
		{"the next", []uint64{4, 5, 6}, 7, 1, []float64{1, 1, 1}},
		{"two dropped", []uint64{5, 6, 7}, 10, 3, []float64{3, 2, 5. / 3}},
		{"some dropped before", []uint64{0, 1, 9}, 10, 1, []float64{1, 4.5, 10. / 3}},
		{"a jump", []uint64{3}, math.MaxUint64, maxElapsed, []float64{math.MaxUint64}},
		{"not newer", []uint64{9}, 9, 1, []float64{0}},
	} {
		var w frames
		for _, seq := range tt.recent {
			s := &recall.Sighting{Reference: propagation.Reference{Picture: &picture.Picture{Seq: seq}}}
			w.recent = append(w.recent, &frame{Sighting: s})
		}
		if got := w.elapsed(tt.seq); got != tt.want {
			t.Errorf("%s: %d frames; want %d", tt.name, got, tt.want)
		}
		var pace []float64
		for _, s := range w.sources(tt.seq) {
			pace = append(pace, s.Pace)
		}
		if !slices.Equal(pace, tt.pace) {
			t.Errorf("%s: pace %v; want %v", tt.name, pace, tt.pace)
		}
	}
}
