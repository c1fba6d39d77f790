package tracker

import (
	"bytes"
	"image"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// box is what a track says of a disc.
func (d disc) box() image.Rectangle {
	return image.Rect(int(d.x-d.r), int(d.y-d.r), int(d.x+d.r)+1, int(d.y+d.r)+1)
}

// filmed has tr look at the discs in the frame that it plans; extents may be nil.
func filmed(t *testing.T, tr *Tracker, seq uint64, ann *annotation.Annotation, extents []Extent, discs ...disc) (*Result, [][]uint8) {
	t.Helper()
	plan := tr.Plan(features.Plan{})
	if ann != nil {
		plan = PlanFor(plan, ann)
	}
	s, p, truth := filmShot(t, seq, plan, discs...)
	res, err := tr.Step(t.Context(), s, p, ann, extents)
	if err != nil {
		t.Fatal(err)
	}
	return res, truth
}

// An object with a track is in sight where that says so, at once, wherever it is, without probation; its extent is
// told. Without the track it is not found so far away.
func TestTrackDecides(t *testing.T) {
	for _, tracked := range []bool{true, false} {
		tr := newTracker(t, Config{})
		for i := range uint64(30) {
			ball, hidden := disc{30, 40, 12, red}, i >= 10 && i < 20 // as if behind something
			if i >= 20 {
				ball.x, ball.y = 130, 90
			}
			extents := []Extent{{ID: 7, Box: image.Rect(0, 0, 9, 9)}, {ID: 1, Box: ball.box(), Detected: ball.box()}, {ID: 1}}
			if hidden {
				extents[1].Detected = image.Rectangle{}
			}
			if !tracked {
				extents = nil
			}
			var a *annotation.Annotation
			if i == 0 {
				_, truth := draw(i, ball)
				a = byMask(t, truth[0], 1)
			}
			shown := ball
			if hidden {
				shown.r = -1
			}
			res, truth := filmed(t, tr, i, a, extents, shown)
			o := res.Objects[0]
			if !tracked {
				if o.Extent != (image.Rectangle{}) || i == 20 && o.State == Visible {
					t.Errorf("frame %d without a track: %v in %v", i, o.State, o.Extent)
				}
				continue
			}
			if (o.State == Visible) == hidden || (o.Area > 0) == hidden || o.Extent != ball.box() {
				t.Errorf("frame %d: %v with %d pixels in %v; want it hidden: %t, in %v", i, o.State, o.Area, o.Extent, hidden, ball.box())
			}
			if j := iou(o.Mask, truth[0]); !hidden && j < 0.7 {
				t.Errorf("frame %d: IoU %.2f", i, j)
			}
			if tr.Plan(features.Plan{}).Coarsens() {
				t.Errorf("frame %d: other sizes are asked for", i)
			}
		}
		if res, _ := filmed(t, tr, 30, nil, nil); res.Objects[0].Extent != (image.Rectangle{}) {
			t.Error("an extent of an object whose track has ended")
		}
	}
}

// What is nowhere by its extent is lost at once, is not looked for, and has no mask on what looks just like it; without
// the extent that is found.
func TestGone(t *testing.T) {
	tr := newTracker(t, Config{})
	ball := disc{60, 60, 12, red}
	for i := range uint64(40) {
		var a *annotation.Annotation
		if i == 0 {
			_, truth := draw(i, ball)
			a = byMask(t, truth[0], 1)
		}
		var extents []Extent
		gone := i >= 5 && i < 25
		if gone {
			extents = append(extents, Extent{ID: 1})
		}
		res, _ := filmed(t, tr, i, a, extents, ball, disc{20, 100, 8, blue})
		o := res.Objects[0]
		if gone && (o.State != Lost || o.Area > 0 || tr.Plan(features.Plan{}).Coarsens()) {
			t.Errorf("frame %d: %v with %d pixels, looked for %t; want it lost, and not looked for", i, o.State, o.Area, tr.Plan(features.Plan{}).Coarsens())
		}
		if plan := tr.Plan(features.Plan{}); gone && i > freshPictures && (plan.Whole || len(plan.Crops) != 1 || plan.Crops[0].Dx() > windowLeast) {
			t.Errorf("frame %d: %+v is to be seen of what is gone", i, plan.Crops)
		}
		if (i < 5 || i == 39) && o.State != Visible {
			t.Errorf("frame %d: %v; want it visible", i, o.State)
		}
	}
}

// Where a track is expected, but was not detected, says nothing of the pixels: a mask goes where its object does.
func TestExpectedIsNoEvidence(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(16) {
		ball := disc{40 + 4*float64(i), 60, 12, red}
		e := Extent{ID: 1, Box: disc{40, 60, 12, red}.box()} // it stays behind
		if i == 0 {
			e.Detected = e.Box
		}
		var a *annotation.Annotation
		if i == 0 {
			_, truth := draw(i, ball)
			a = byMask(t, truth[0], 1)
		}
		res, truth := filmed(t, tr, i, a, []Extent{e}, ball)
		if j := iou(res.Objects[0].Mask, truth[0]); j < 0.9 {
			t.Errorf("frame %d: IoU %.2f", i, j)
		}
	}
}

// A mask that is of half of what its box is round fills that in the next frame.
func TestMaskGrowsIntoItsBox(t *testing.T) {
	tr := newTracker(t, Config{})
	ball := disc{80, 60, 24, red}
	_, truth := draw(0, ball)
	half := bytes.Clone(truth[0])
	for p := range half {
		if p%testWidth > 76 {
			half[p] = 0
		}
	}
	for i, a := range []*annotation.Annotation{byMask(t, half, 1), nil} {
		res, _ := filmed(t, tr, uint64(i), a, []Extent{{ID: 1, Box: ball.box(), Detected: ball.box()}}, ball)
		if j := iou(res.Objects[0].Mask, truth[0]); (j > 0.9) != (i == 1) {
			t.Errorf("frame %d: IoU %.2f with the whole disc; want above 0.9 in frame 1 alone", i, j)
		}
	}
}

// The track of an object is lost once it has none any more, and not before it had one.
func TestTrackLost(t *testing.T) {
	tr := newTracker(t, Config{})
	ball := disc{30, 40, 12, red}
	_, truth := draw(0, ball)
	for i, tracked := range []bool{false, true, false} {
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		var extents []Extent
		if tracked {
			extents = []Extent{{ID: 1, Box: ball.box(), Detected: ball.box()}}
		}
		filmed(t, tr, uint64(i), a, extents, ball)
		if got := tr.objects.views()[0].TrackLost; got != (i == 2) {
			t.Errorf("frame %d: its track lost: %t", i, got)
		}
	}
}

// What is in sight is estimated in every frame, whatever says where it is.
func TestAllAreEstimated(t *testing.T) {
	tr := newTracker(t, Config{})
	ball := disc{30, 40, 12, red}
	_, truth := draw(0, ball)
	tracked := []Extent{{ID: 1, Box: ball.box(), Detected: ball.box()}}
	predicted := []Extent{{ID: 1, Box: ball.box()}}
	for i, c := range []struct {
		extents           []Extent
		marked, automatic bool
	}{
		{extents: tracked, marked: true},
		{extents: tracked},
		{extents: tracked, marked: true, automatic: true},
		{extents: predicted},
		{},
		{extents: tracked},
		{extents: tracked, marked: true},
	} {
		var a *annotation.Annotation
		if c.marked {
			a = byMask(t, truth[0], 1)
		}
		if c.automatic {
			a = &annotation.Annotation{Width: testWidth, Height: testHeight, Automatic: true, Objects: []annotation.Object{
				{ID: 1, Label: "disc", Box: []float64{ball.x - ball.r, ball.y - ball.r, ball.x + ball.r, ball.y + ball.r}},
			}}
		}
		res, _ := filmed(t, tr, uint64(i), a, c.extents, ball)
		if got := res.Solve; got.Estimated != 1 || got.Iterations == 0 {
			t.Errorf("frame %d: %d estimated in %d iterations; want 1", i, got.Estimated, got.Iterations)
		}
		if res.Objects[0].State != Visible {
			t.Errorf("frame %d: it is %v", i, res.Objects[0].State)
		}
	}
}

// What is looked at is round the extent, also round one of whom nothing is in sight.
func TestWindowsFollowTheTrack(t *testing.T) {
	tr := newTracker(t, Config{})
	ball := disc{30, 40, 9, red}
	_, truth := draw(0, ball)
	for i := range uint64(freshPictures + 2) {
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		filmed(t, tr, i, a, []Extent{{ID: 1, Box: ball.box(), Detected: ball.box()}}, ball)
	}
	at := image.Rect(120, 70, 175, 110)
	filmed(t, tr, freshPictures+2, nil, []Extent{{ID: 1, Box: at}})
	plan := tr.Plan(features.Plan{})
	if plan.Whole || len(plan.Crops) != 1 || !image.Rect(120, 70, testWidth, 110).In(plan.Crops[0].Rectangle) || plan.Crops[0].Min.X < 80 {
		t.Errorf("whole %t, %v; want a window round %v", plan.Whole, plan.Crops, at)
	}
}

// While it is in sight what is looked at is round its mask, too, wherever its track has gone.
func TestWindowsKeepWhatIsSeen(t *testing.T) {
	tr := newTracker(t, Config{})
	ball := disc{30, 40, 9, red}
	_, truth := draw(0, ball)
	for i := range uint64(freshPictures + 2) {
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		filmed(t, tr, i, a, []Extent{{ID: 1, Box: ball.box(), Detected: ball.box()}}, ball)
	}
	filmed(t, tr, freshPictures+2, nil, []Extent{{ID: 1, Box: image.Rect(55, 36, 73, 54)}}, ball)
	plan := tr.Plan(features.Plan{})
	if plan.Whole || len(plan.Crops) == 0 || !ball.box().In(plan.Crops[0].Rectangle) {
		t.Errorf("%+v; want a window that has the ball in %v", plan, ball.box())
	}
}

// Two that are alike, and come by one another, have each a mask in its box before and after.
func TestExtentsTellTwinsApart(t *testing.T) {
	twins := func(i uint64) []disc { return []disc{{50 + float64(i), 50, 14, red}, {110 - float64(i), 58, 14, red}} }
	tr := newTracker(t, Config{})
	for i := range uint64(56) {
		at := twins(i)
		var a *annotation.Annotation
		if i == 0 {
			_, truth := draw(i, at...)
			a = &annotation.Annotation{Width: testWidth, Height: testHeight, Mask: make([]uint8, testWidth*testHeight), Objects: []annotation.Object{{ID: 1}, {ID: 2}}}
			for k := range truth {
				for p, v := range truth[k] {
					if v != 0 {
						a.Mask[p] = uint8(k + 1)
					}
				}
			}
		}
		res, truth := filmed(t, tr, i, a, []Extent{{ID: 1, Box: at[0].box(), Detected: at[0].box()}, {ID: 2, Box: at[1].box(), Detected: at[1].box()}}, at...)
		for k, o := range res.Objects {
			if j := iou(o.Mask, truth[k]); (i < 16 || i > 46) && j < 0.6 {
				t.Errorf("frame %d, object %d: IoU %.2f", i, k+1, j)
			}
		}
	}
}
