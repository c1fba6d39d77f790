package tracker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
)

const testWidth, testHeight = 160, 120

// disc is a coloured ball on a textured floor.
type disc struct {
	x, y, r float64
	bgr     [3]uint8
}

var (
	red  = [3]uint8{40, 40, 200}
	blue = [3]uint8{200, 80, 40}
)

// film draws the discs, and extracts the scene by colour alone.
func film(t testing.TB, seq uint64, discs ...disc) (*features.Scene, [][]uint8) {
	t.Helper()
	return filmAs(t, features.Config{Superpixels: 300}, seq, discs...)
}

func filmAs(t testing.TB, cfg features.Config, seq uint64, discs ...disc) (*features.Scene, [][]uint8) {
	t.Helper()
	pix, truth := draw(seq, discs...)
	ex, err := features.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &features.Scene{Seq: seq}
	if err := ex.Extract(s, pix, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
		t.Fatal(err)
	}
	return s, truth
}

// draw is a picture with the discs, BGR24, and what of it is each of them.
func draw(seq uint64, discs ...disc) (pix []byte, truth [][]uint8) {
	rng := rand.New(rand.NewPCG(seq, 1)) // sensor noise
	pix = make([]byte, 3*testWidth*testHeight)
	truth = make([][]uint8, len(discs))
	for k := range truth {
		truth[k] = make([]uint8, testWidth*testHeight)
	}
	for p := range testWidth * testHeight {
		x, y := float64(p%testWidth), float64(p/testWidth)
		shade := 90 + 40*math.Sin(x/9)*math.Cos(y/13)
		c := [3]float64{shade, shade + 20, shade}
		for k, d := range discs {
			if math.Hypot(x-d.x, y-d.y) <= d.r {
				c = [3]float64{float64(d.bgr[0]), float64(d.bgr[1]), float64(d.bgr[2])}
				truth[k][p] = 1
			}
		}
		for b, v := range c {
			pix[3*p+b] = uint8(v + 6*rng.Float64())
		}
	}
	return pix, truth
}

func iou(r mask.RLE, truth []uint8) float64 {
	return mask.IoU(r, mask.Encode(truth, testWidth, testHeight))
}

func newTracker(t testing.TB, cfg Config) *Tracker {
	t.Helper()
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// step is Step of a scene that can be annotated later.
func step(t testing.TB, tr *Tracker, s *features.Scene, a *annotation.Annotation) *Result {
	t.Helper()
	p := photoOf(s)
	defer p.Release()
	return stepOf(t, tr, s, p, a)
}

func stepOf(t testing.TB, tr *Tracker, s *features.Scene, p Picture, a *annotation.Annotation) *Result {
	t.Helper()
	res, err := tr.Step(context.Background(), s, p, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestFollowsAMovingDisc(t *testing.T) {
	for _, mode := range []Mode{Joint, Affinity, Fixed, Memoryless, Cold} {
		t.Run(mode.String(), func(t *testing.T) {
			tr := newTracker(t, Config{Mode: mode})
			for i := range uint64(15) {
				s, truth := film(t, i, disc{40 + 4*float64(i), 50, 22, red})
				var a *annotation.Annotation
				if i == 0 {
					var err error
					if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 9, "ball"); err != nil {
						t.Fatal(err)
					}
				}
				res := step(t, tr, s, a)
				o := res.Objects[0]
				if j := iou(o.Mask, truth[0]); j < 0.85 || o.State != Visible || o.ID != 9 {
					t.Fatalf("frame %d: %s %d with IoU %.2f; want visible 9 above 0.85", i, o.State, o.ID, j)
				}
				if o.Area != o.Mask.Area() || o.Box != o.Mask.Box() || o.Score < 0.5 || o.Score > 1 {
					t.Fatalf("frame %d: area %d box %v score %.2f do not describe the mask", i, o.Area, o.Box, o.Score)
				}
				if i > 0 && mode == Joint && res.Solve.Iterations == 0 {
					t.Fatal("the joint mode solved nothing")
				}
			}
		})
	}
}

// A ball that loses its colour, all but a tenth, within a second is followed.
func TestFollowsAFadingDisc(t *testing.T) {
	const frames, faded = 25, 0.9
	floor := [3]uint8{90, 110, 90}
	tr, least := newTracker(t, Config{}), 1.
	for i := range uint64(frames + 5) {
		ball := disc{40 + 3*float64(i), 50, 20, red}
		for b := range ball.bgr {
			ball.bgr[b] = uint8(float64(red[b]) + min(faded, float64(i)/frames)*(float64(floor[b])-float64(red[b])))
		}
		s, truth := film(t, i, ball)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 9, "ball"); err != nil {
				t.Fatal(err)
			}
		}
		least = min(least, iou(step(t, tr, s, a).Objects[0].Mask, truth[0]))
	}
	if least < 0.85 {
		t.Errorf("IoU %.2f at least; want it followed", least)
	}
}

// What Solve tells fits together: the trace leads from the first iteration to the
// last, and the relative descent from the warm start to there.
func TestSolveTrace(t *testing.T) {
	for _, iterations := range []int{1, 5, Traced + 4} {
		tr := newTracker(t, Config{MaxIter: iterations})
		for i := range uint64(6) {
			s, _ := film(t, i, disc{60 + 3*float64(i), 60, 20, red})
			var a *annotation.Annotation
			if i == 0 {
				a = scribbles()
			}
			got := step(t, tr, s, a).Solve
			if want := (got.Start - got.Lagrangian) / math.Abs(got.Start); !(got.Start > 0) || got.Descent != want {
				t.Errorf("frame %d: descent %g from %g; want %g", i, got.Descent, got.Start, want)
			}
			for n := got.Iterations; n <= Traced; n++ {
				if got.Trace[n-1] != got.Lagrangian {
					t.Errorf("frame %d: %g after iteration %d of %d, want the last, %g", i, got.Trace[n-1], n, got.Iterations, got.Lagrangian)
				}
			}
			if i > 0 && got.Iterations > iterations {
				t.Errorf("frame %d: %d iterations, want %d at most", i, got.Iterations, iterations)
			}
			if got.OutOfTime {
				t.Errorf("frame %d ran out of the time it was not given", i)
			}
		}
	}
}

func TestSolveOutOfTime(t *testing.T) {
	tr := newTracker(t, Config{Budget: time.Nanosecond})
	for i := range uint64(2) {
		s, _ := film(t, i, disc{60, 60, 20, red})
		var a *annotation.Annotation
		if i == 0 {
			a = scribbles() // not bounded by the budget
		}
		if got := step(t, tr, s, a).Solve; got.OutOfTime != (i == 1) {
			t.Errorf("frame %d: out of time is %v", i, got.OutOfTime)
		}
	}
}

func scribbles() *annotation.Annotation {
	return byStrokes(annotation.Object{ID: 1, Label: "ball", Scribbles: stroke(5, annotation.Point{70, 60}, annotation.Point{85, 65})}, 5, 10, 10, 150, 110)
}

func TestScribblesGrowToTheObject(t *testing.T) {
	tr := newTracker(t, Config{})
	s, truth := film(t, 0, disc{80, 60, 24, red})
	if j := iou(step(t, tr, s, scribbles()).Objects[0].Mask, truth[0]); j < 0.85 {
		t.Errorf("IoU %.2f on the scribbled frame; want above 0.85", j)
	}
}

// One stroke is enough, where nothing else is marked: what is far from it, or unlike it, is something else. What comes in the
// next frames is what was marked.
func TestOneStroke(t *testing.T) {
	tr := newTracker(t, Config{})
	marked := 0.0
	for i := range uint64(6) {
		s, truth := film(t, i, disc{50 + 2*float64(i), 60, 20, red}, disc{135, 40, 12, red}, disc{120, 95, 15, blue})
		var a *annotation.Annotation
		if i == 0 {
			a = empty()
			a.Objects = []annotation.Object{{ID: 1, Scribbles: stroke(5, annotation.Point{42, 58}, annotation.Point{58, 62})}}
		}
		o := step(t, tr, s, a).Objects[0]
		if j := iou(o.Mask, truth[0]); j < 0.8 || o.Score < 0.6 {
			t.Errorf("frame %d: IoU %.2f with what the stroke is on, %d pixels, score %.2f; want above 0.8 and 0.6", i, j, o.Area, o.Score)
		}
		if i == 0 {
			marked = o.Score
		} else if o.Score > marked { // a guess is no surer for being followed
			t.Errorf("frame %d: score %.3f; it was marked with %.3f", i, o.Score, marked)
		}
	}
}

func TestScribblesStayWithTheirObject(t *testing.T) {
	tr := newTracker(t, Config{})
	s, truth := film(t, 0, disc{80, 60, 24, red}, disc{135, 40, 12, red})
	m := step(t, tr, s, scribbles()).Objects[0].Mask
	for p, b := range m.Decode(nil) {
		if b != 0 && truth[1][p] != 0 {
			t.Fatal("a disc that nobody marked is in the mask")
		}
	}
	if j := iou(m, truth[0]); j < 0.85 {
		t.Errorf("IoU %.2f; want above 0.85", j)
	}
}

func TestTwoObjectsAddedOneByOne(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(10) {
		s, truth := film(t, i, disc{45, 40 + 3*float64(i), 18, red}, disc{115, 80 - 3*float64(i), 18, blue})
		var a *annotation.Annotation
		if k := map[uint64]int{0: 0, 4: 1}; i == 0 || i == 4 {
			var err error
			if a, err = annotation.FromMask(truth[k[i]], testWidth, testHeight, uint32(1+k[i]), ""); err != nil {
				t.Fatal(err)
			}
		}
		res := step(t, tr, s, a)
		want := 1
		if i >= 4 {
			want = 2
		}
		if len(res.Objects) != want {
			t.Fatalf("frame %d: %d objects; want %d", i, len(res.Objects), want)
		}
		for k, o := range res.Objects {
			if j := iou(o.Mask, truth[k]); j < 0.8 || o.ID != uint32(k+1) {
				t.Errorf("frame %d: object %d has IoU %.2f; want above 0.8", i, o.ID, j)
			}
		}
	}
}

// Strangers that look like an object are not it: neither where an annotated frame had it
// long ago, nor when another object is added. And it is not one where such a frame had one.
func TestStrangersAreNotTheObject(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(24) {
		ball, stranger, other := disc{30 + 5*float64(i), 30, 14, red}, disc{130, 45, 14, red}, disc{40, 95, 14, blue}
		ball.x = min(ball.x, 130)
		switch {
		case i >= 14: // it comes from the left
			stranger.x, stranger.y = min(30, 5*float64(i-13)), 30
		case i >= 4:
			stranger.r = -1
		}
		s, truth := film(t, i, ball, stranger, other)
		var a *annotation.Annotation
		switch i {
		case 0:
			a = byMask(t, truth[0], 1)
		case 20:
			a = byStrokes(annotation.Object{ID: 2, Scribbles: stroke(6, annotation.Point{34, 95}, annotation.Point{46, 95})}, 4, 20, 75, 60, 115)
		}
		for k, o := range step(t, tr, s, a).Objects {
			if j := iou(o.Mask, truth[2*k]); j < 0.8 {
				t.Errorf("frame %d: object %d has IoU %.2f; want above 0.8", i, o.ID, j)
			}
		}
	}
}

func TestObjectGoesAndIsLost(t *testing.T) {
	const lostAfter = 5
	for _, every := range []uint64{1, 2} { // dropped frames are counted, too
		tr := newTracker(t, Config{OccludedFrames: lostAfter})
		seen := uint64(0)
		for i := uint64(0); i < 16; i += every {
			d := disc{80, 60, 20, red}
			if i >= 4 {
				d.r = -1
			} else {
				seen = i
			}
			s, truth := film(t, i, d)
			var a *annotation.Annotation
			if i == 0 {
				a = byMask(t, truth[0], 1)
			}
			o := step(t, tr, s, a).Objects[0]
			want := Visible
			if i > seen {
				want = Occluded
			}
			if i > seen+lostAfter {
				want = Lost
			}
			if o.State != want || (o.State != Visible && o.Mask.Area() != 0) {
				t.Fatalf("every %d, frame %d: %s with %d pixels; want %s", every, i, o.State, o.Mask.Area(), want)
			}
		}
	}
}

func TestObjectComesBackElsewhere(t *testing.T) {
	tr := newTracker(t, Config{OccludedFrames: 5})
	for i := range uint64(24) {
		d := disc{50, 60, 20, red}
		switch {
		case i >= 16: // far from where it was seen last
			d.x = 120
		case i >= 4:
			d.r = -1
		}
		s, truth := film(t, i, d)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		o := step(t, tr, s, a).Objects[0]
		if want := i < 4 || i >= 17; want != (o.State == Visible) && i != 16 {
			t.Fatalf("frame %d: %s", i, o.State)
		}
		if j := iou(o.Mask, truth[0]); i >= 17 && j < 0.8 {
			t.Fatalf("frame %d: IoU %.2f after it came back; want above 0.8", i, j)
		}
	}
}

func TestAnnotatingAgainResizes(t *testing.T) {
	tr := newTracker(t, Config{})
	for i, r := range []float64{40, 40, 12, 12} {
		s, truth := film(t, uint64(i), disc{80, 60, r, red})
		var a *annotation.Annotation
		if i%2 == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		o := step(t, tr, s, a).Objects[0]
		if j := iou(o.Mask, truth[0]); o.State != Visible || j < 0.75 {
			t.Fatalf("frame %d: %s with IoU %.2f; want visible above 0.75", i, o.State, j)
		}
	}
}

func TestFaultyAnnotationChangesNothing(t *testing.T) {
	tr := newTracker(t, Config{})
	s, _ := film(t, 0, disc{80, 60, 20, red})
	a := scribbles()
	a.Width = 320
	if _, err := tr.Step(t.Context(), s, nil, a, nil); !errors.Is(err, annotation.ErrInvalid) {
		t.Fatalf("error is %v; want annotation.ErrInvalid for another size", err)
	}
	if res := step(t, tr, s, nil); len(res.Objects) != 0 {
		t.Fatalf("%d objects after a refused annotation; want none", len(res.Objects))
	}
	if res := step(t, tr, s, scribbles()); len(res.Objects) != 1 {
		t.Fatal("the next annotation was not taken")
	}
}

func TestNewPictureSizeForgets(t *testing.T) {
	tr := newTracker(t, Config{})
	s, _ := film(t, 0, disc{80, 60, 20, red})
	if res := step(t, tr, s, scribbles()); len(res.Objects) != 1 {
		t.Errorf("frame 0 has %d objects; want 1", len(res.Objects))
	}
	ex, err := features.New(features.Config{Superpixels: 50}, nil)
	if err != nil {
		t.Fatal(err)
	}
	small := &features.Scene{Seq: 1}
	if err := ex.Extract(small, make([]byte, 3*64*48), 64, 48, features.Plan{Whole: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(t.Context(), small, nil, scribbles(), nil); !errors.Is(err, annotation.ErrInvalid) {
		t.Fatalf("error is %v; want annotation.ErrInvalid for the old size", err)
	}
	if res := step(t, tr, small, nil); len(res.Objects) != 0 || res.Width != 64 {
		t.Fatalf("after a new size: %d objects, width %d; want 0 and 64", len(res.Objects), res.Width)
	}
	s.Seq = 3
	if res := step(t, tr, s, scribbles()); len(res.Objects) != 1 {
		t.Errorf("back at the old size: %d objects; want 1", len(res.Objects))
	}
}

func TestSameInputSameMasks(t *testing.T) {
	run := func() (out []string) {
		tr := newTracker(t, Config{})
		for i := range uint64(6) {
			s, _ := film(t, i, disc{60 + 3*float64(i), 60, 20, red})
			var a *annotation.Annotation
			if i == 0 {
				a = scribbles()
			}
			out = append(out, step(t, tr, s, a).Objects[0].Mask.String())
		}
		return out
	}
	a, b := run(), run()
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("frame %d differs between two runs", i)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []Mode{Joint, Affinity, Fixed, Memoryless, Cold} {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("ParseMode(%q) = %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("both"); err == nil || !strings.Contains(err.Error(), "affinity, fixed, memoryless, cold") {
		t.Error(`"both" was accepted`)
	}
}

// Once the window, the memory and the history are full, a frame costs the memory of its
// result: also while an object is out of sight.
func TestStepAllocatesItsResult(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		tr := newTracker(t, Config{History: 200_000})
		s, truth := film(t, 0, disc{50, 60, 20, red}, disc{115, 60, 20, blue})
		a := byMask(t, truth[0], 1)
		a.Objects[0].Label = "red"
		step(t, tr, s, a)
		s.Seq++
		b := byMask(t, truth[1], 2)
		b.Objects[0].Label = "blue"
		step(t, tr, s, b)
		if hidden {
			s, _ = film(t, 2, disc{50, 60, 20, red})
		}
		p := photoOf(s)
		next := func() {
			s.Seq++
			stepOf(t, tr, s, p, nil)
		}
		for range 60 {
			next()
		}
		const want = 2 + 2 // the Result, its Objects, and their masks
		if n := testing.AllocsPerRun(20, next); n > want {
			t.Errorf("an object out of sight %t: %g allocations a frame; want %d at most", hidden, n, want)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	tr := newTracker(b, Config{})
	s, _ := film(b, 0, disc{80, 60, 24, red})
	step(b, tr, s, scribbles())
	p := photoOf(s)
	b.ReportAllocs()
	for b.Loop() {
		s.Seq++
		stepOf(b, tr, s, p, nil)
	}
}

func ExampleTracker() {
	tr, err := New(Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A 16×16 picture whose left half is red, seen by colour alone.
	pix, bits := make([]byte, 3*16*16), make([]uint8, 16*16)
	for p := range bits {
		if p%16 < 8 {
			pix[3*p+2], bits[p] = 200, 1
		}
	}
	ex, _ := features.New(features.Config{Superpixels: 16}, nil)
	var s features.Scene
	if err := ex.Extract(&s, pix, 16, 16, features.Plan{Whole: true}); err != nil {
		fmt.Println(err)
		return
	}
	ann, _ := annotation.FromMask(bits, 16, 16, 1, "left half")
	for s.Seq = range 3 {
		res, err := tr.Step(context.Background(), &s, nil, ann, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		ann = nil
		o := res.Objects[0]
		fmt.Println(o.ID, o.State, o.Area)
	}
	// Output:
	// 1 visible 128
	// 1 visible 128
	// 1 visible 128
}

// Something that looks like the object and comes up beside it, farther away than it is wide,
// is not it.
func TestOnePlace(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(8) {
		discs := []disc{{60, 50, 5, red}}
		if i >= 3 {
			discs = append(discs, disc{80, 50, 5, red})
		}
		s, truth := filmAs(t, features.Config{Superpixels: 900}, i, discs...)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, "ball"); err != nil {
				t.Fatal(err)
			}
		}
		res := step(t, tr, s, a)
		if j := iou(res.Objects[0].Mask, truth[0]); j < 0.8 {
			t.Errorf("frame %d: IoU %.2f with the object alone", i, j)
		}
	}
}
