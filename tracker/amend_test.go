package tracker

import (
	"errors"
	"image"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
)

// What is small and marked on an earlier frame, in which nothing was followed, is seen finer
// there, and where it was found in those that are labelled again.
func TestEarlierFramesAreSeenFiner(t *testing.T) {
	at := func(i uint64) disc { return disc{40 + 2*float64(i), 50, 4, red} }
	const marked, now, frames = 3, 10, 14
	tr := newTracker(t, Config{})
	var shots []*shot
	for i := range uint64(frames) {
		s, p, truth := filmShot(t, i, tr.Plan(features.Plan{}), at(i))
		shots = append(shots, p)
		var a *annotation.Annotation
		if i == now {
			_, _, then := filmShot(t, marked, features.Plan{Whole: true}, at(marked))
			a = byMask(t, then[0], 1)
			frame := uint64(marked)
			a.Frame = &frame
		}
		res := stepOf(t, tr, s, p, a)
		if i <= now { // that scene was made before anything was marked
			continue
		}
		if j := iou(res.Objects[0].Mask, truth[0]); j < 0.75 {
			t.Errorf("frame %d: IoU %.2f; want above 0.75", i, j)
		}
	}
	for i, p := range shots {
		if i < marked || i > now { // in that one there is more to be seen than was planned
			if len(p.plans) != 0 {
				t.Errorf("frame %d: a scene was made again", i)
			}
			continue
		}
		if len(p.plans) != 1 || !slices.ContainsFunc(p.plans[0].Fine, func(r features.Region) bool {
			return image.Pt(int(at(uint64(i)).x), 50).In(r.Rectangle)
		}) {
			t.Errorf("frame %d: scenes by %v; want one, finer where the object is", i, p.plans)
		}
	}
}

// An object that has moved on is seen finer where it was in the frame that a user marks.
func TestEarlierObjectsAreSeenFiner(t *testing.T) {
	at := func(i uint64) disc { return disc{30 + 6*float64(i), 40, 5, red} }
	const marked, now = 2, 12
	tr := newTracker(t, Config{})
	var earlier *shot
	for i := range uint64(now + 1) {
		plan := tr.Plan(features.Plan{})
		var a *annotation.Annotation
		if i == 0 {
			_, truth := draw(0, at(0))
			a = byMask(t, truth[0], 1)
			plan = PlanFor(features.Plan{}, a)
		}
		s, p, _ := filmShot(t, i, plan, at(i), disc{110, 95, 15, blue})
		if i == marked {
			earlier = p
		}
		if i == now {
			frame := uint64(marked)
			a = empty()
			a.Frame, a.Objects = &frame, []annotation.Object{{ID: 2, Box: []float64{93, 78, 127, 112}}}
			pre, err := tr.Preview(a)
			if err != nil {
				t.Fatal(err)
			}
			defer pre.Close()
			res, err := pre.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, truth := draw(marked, at(marked))
			if j := iou(res.Objects[0].Mask, truth[0]); j < 0.7 {
				t.Errorf("the object that was there already has IoU %.2f in the preview; want above 0.7", j)
			}
		}
		stepOf(t, tr, s, p, a)
	}
	want := image.Pt(int(at(marked).x), 40)
	for k, plan := range earlier.plans {
		if !slices.ContainsFunc(plan.Fine, func(r features.Region) bool { return want.In(r.Rectangle) && r.Dx() < 40 }) {
			t.Errorf("scene %d is finer in %v; want %v in one of them", k, plan.Fine, want)
		}
		if !plan.Still {
			t.Errorf("scene %d is not planned as one of a still picture", k)
		}
	}
	if len(earlier.plans) != 2 {
		t.Errorf("%d scenes were made; want the preview's and the annotation's", len(earlier.plans))
	}
}

// A frame without a picture cannot be annotated later, and one whose picture fails is no fault
// of the annotation's.
func TestFramesWithoutAScene(t *testing.T) {
	tr := newTracker(t, Config{})
	var truth [][]uint8
	for i := range uint64(6) {
		s, then := film(t, i, disc{60, 60, 20, red})
		truth = then
		var p Picture = photoOf(s)
		switch i {
		case 2:
			p = nil
		case 3:
			p = &broken{photoOf(s)}
		}
		stepOf(t, tr, s, p, nil)
	}
	s, _ := film(t, 6, disc{60, 60, 20, red})
	for seq, want := range map[uint64]string{2: "frame: 2 was", 3: "tracker: scene of frame 3: out of order"} {
		a := byMask(t, truth[0], 1)
		a.Frame = &seq
		_, err := tr.Step(t.Context(), s, nil, a, nil)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, annotation.ErrInvalid) != (seq == 2) {
			t.Errorf("frame %d: %v; want %q", seq, err, want)
		}
		if p, err := tr.Preview(a); seq == 2 && !errors.Is(err, annotation.ErrFrame) {
			t.Errorf("a preview of frame 2: %v", err)
		} else if seq == 3 {
			if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a preview of frame 3: %v", err)
			}
			p.Close()
		}
	}
}

// broken is a picture of which no scene can be made.
type broken struct{ *photo }

func (broken) Scene(*features.Scene, features.Plan) error { return errors.New("out of order") }

// Every picture is retained while it is kept and no longer: it goes with the bound, with a hold
// that ends, with another picture size and with the tracker.
func TestPicturesAreReleased(t *testing.T) {
	const most = 10 // frames that are kept
	frame := testWidth * testHeight * 3 / 2
	tr := newTracker(t, Config{History: most * frame})
	var photos []*photo
	show := func(s *features.Scene, a *annotation.Annotation) {
		t.Helper()
		p := photoOf(s)
		photos = append(photos, p)
		stepOf(t, tr, s, p, a)
	}
	retained := func(want string, least, most int) (n int) {
		t.Helper()
		for _, p := range photos {
			n += int(p.left.Load()) - 1
		}
		if n < least || n > most {
			t.Errorf("%s: %d pictures are retained; want %d to %d", want, n, least, most)
		}
		return n
	}
	seq := uint64(0)
	play := func(frames int, mark bool) {
		t.Helper()
		for range frames {
			s, truth := film(t, seq, disc{60, 60, 20, red})
			var a *annotation.Annotation
			if mark {
				a, mark = byMask(t, truth[0], 1), false
			}
			show(s, a)
			seq++
		}
	}
	play(30, true)
	full := retained("full", most-2, most)
	if err := tr.Hold(seq - 1); err != nil {
		t.Fatal(err)
	}
	held := seq - 1
	play(60, false)
	retained("held", full+1, 2*most)
	tr.LetGo(held)
	retained("let go", full, full)

	a := empty()
	a.Background = stroke(4, annotation.Point{5, 5})
	p, err := tr.Preview(a) // and it is not run
	if err != nil {
		t.Fatal(err)
	}
	retained("a preview", full+1, full+1)
	tr.Remove(1)
	retained("removed", full+1, full+1)

	ex, err := features.New(features.Config{Superpixels: 50}, nil)
	if err != nil {
		t.Fatal(err)
	}
	small := &features.Scene{Seq: seq}
	if err := ex.Extract(small, make([]byte, 3*64*48), 64, 48, features.Plan{Whole: true}); err != nil {
		t.Fatal(err)
	}
	show(small, nil)
	retained("another size", 2, 2)
	p.Close()
	tr.Close()
	retained("closed", 0, 0)
}

func TestHistoryOfTheDefault(t *testing.T) {
	for _, tt := range []struct {
		history, frame int
		rate           float64
		want           int
	}{
		{0, 600_000, 25, 50 * 600_000},
		{0, 600_000, 10, 20 * 600_000},
		{0, 600_000, 1, 8 * 600_000},
		{0, 600_000, 0, 8 * 600_000},
		{0, 3_100_000, 25, 96 << 20},
		{0, 100 << 20, 1, 96 << 20},
		{5_000_000, 3_400_000, 25, 5_000_000},
	} {
		c, err := Config{History: tt.history}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.history(tt.frame, tt.rate); got != tt.want {
			t.Errorf("History %d, %g frames of %d bytes a second: %d; want %d", tt.history, tt.rate, tt.frame, got, tt.want)
		}
	}
}

// Those of 2 s are kept.
func TestHistoryOfASpan(t *testing.T) {
	tr := newTracker(t, Config{})
	const frames = 80 // at 25 a second
	for seq := range uint64(frames) {
		s, _ := film(t, seq, disc{60, 60, 20, red})
		stepOf(t, tr, s, photoOf(s), nil)
	}
	if err := tr.Hold(frames - 50); err != nil {
		t.Error(err)
	}
	if err := tr.Hold(frames - 51); !errors.Is(err, annotation.ErrFrame) {
		t.Errorf("a frame of more than 2 s ago: %v; want %v", err, annotation.ErrFrame)
	}
}

// A stroke on an object corrects it where the earlier frame showed it, and defines it anew where
// it was out of sight then, whatever it is now.
func TestStrokesOnAnEarlierFrame(t *testing.T) {
	const until, now = 6, 12
	for _, tt := range []struct {
		name    string
		visible func(i uint64) bool
		marked  uint64
		defines bool
	}{
		{"gone since", func(i uint64) bool { return i < until }, 4, false},
		{"back since", func(i uint64) bool { return i < 3 || i >= until }, 5, true},
	} {
		tr := newTracker(t, Config{})
		for i := range uint64(now + 1) {
			ball := disc{60, 60, 18, red}
			if !tt.visible(i) {
				ball.r = -1
			}
			s, truth := film(t, i, ball)
			var a *annotation.Annotation
			switch i {
			case 0:
				a = byMask(t, truth[0], 1)
			case now:
				a = empty()
				a.Frame, a.Objects = &tt.marked, []annotation.Object{{ID: 1, Scribbles: stroke(6, annotation.Point{56, 60}, annotation.Point{64, 60})}}
			}
			step(t, tr, s, a)
		}
		anchors := tr.frames.anchors
		if last := anchors[len(anchors)-1]; last.Seq != tt.marked || slices.Contains(last.Marks.Defined, 1) != tt.defines {
			t.Errorf("%s: frame %d defines labels %d; want frame %d to define the object: %t", tt.name, last.Seq, last.Marks.Defined, tt.marked, tt.defines)
		}
	}
}

// What was marked on an earlier frame still holds when it is marked again, though its scene is
// another one by then, with superpixels elsewhere.
func TestMarkedAgainInAnotherScene(t *testing.T) {
	tr := newTracker(t, Config{})
	parts := []disc{{60, 60, 18, red}, {90, 60, 14, blue}, {30, 100, 9, [3]uint8{40, 200, 220}}}
	frame := uint64(4)
	var m mask.RLE
	var truth [][]uint8
	for i := range uint64(12) {
		var s *features.Scene
		var p *shot
		plan := tr.Plan(features.Plan{})
		plan.Whole = plan.Whole || i == 0
		s, p, truth = filmShot(t, i, plan, parts...)
		a := empty()
		a.Frame = &frame
		switch i {
		case 0:
			a = byMask(t, truth[0], 1)
		case 6:
			a.Objects = []annotation.Object{{ID: 1, Scribbles: stroke(8, annotation.Point{84, 60}, annotation.Point{96, 60})}}
		case 8: // finer superpixels where it is, of which others are fewer
			a.Objects = []annotation.Object{{ID: 2, Box: []float64{20, 90, 40, 110}}}
		default:
			a = nil
		}
		m = stepOf(t, tr, s, p, a).Objects[0].Mask
	}
	if j := iou(m, union(truth[:2]...)); j < 0.8 {
		t.Errorf("IoU %.2f with both parts; want above 0.8", j)
	}
	if len(tr.frames.anchors) != 2 {
		t.Errorf("%d annotated frames kept; want 2, since one was annotated twice", len(tr.frames.anchors))
	}
}

func TestOrigins(t *testing.T) {
	old := []int32{
		0, 0, 0, 1, 2, 2, -1, -1,
		0, 0, 0, 1, 2, 2, -1, -1,
	}
	now := []int32{
		0, 0, 1, 1, 1, 2, 3, 4,
		0, 0, 1, 1, 1, 2, 3, -1,
	}
	for marked, want := range map[int32][]int32{
		-1: {0, 0, 2, -1, -1},
		1:  {0, 1, 2, -1, -1}, // it has no superpixel of its own, but must not be lost
	} {
		if got := origins(now, 5, old, 3, func(i int32) bool { return i == marked }); !slices.Equal(got, want) {
			t.Errorf("%d is marked: %d; want %d", marked, got, want)
		}
	}
}
