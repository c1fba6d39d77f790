package tracker

import (
	"context"
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

func TestPlanForIsFiner(t *testing.T) {
	polygon := annotation.Object{ID: 1, Polygon: []annotation.Point{{10, 20}, {30, 20}, {30, 40}, {10, 40}}}
	box := annotation.Object{ID: 2, Box: []float64{50, 50, 100, 100}}
	stroked := annotation.Object{ID: 3, Scribbles: []annotation.Stroke{{Width: 4, Points: []annotation.Point{{12, 22}, {28, 38}}}}}
	mask := &annotation.Annotation{Width: testWidth, Height: testHeight, Mask: make([]uint8, testWidth*testHeight), Objects: []annotation.Object{{ID: 7}}}
	for y := 60; y < 70; y++ {
		for x := 80; x < 90; x++ {
			mask.Mask[y*testWidth+x] = 7
		}
	}
	of := func(objects ...annotation.Object) *annotation.Annotation {
		return &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: objects}
	}
	for _, tt := range []struct {
		name string
		a    *annotation.Annotation
		want []features.Region
	}{
		{"the finest first", of(box, polygon), []features.Region{
			{Rectangle: image.Rect(8, 18, 32, 42), Spacing: fineLeast}, {Rectangle: image.Rect(45, 45, 105, 105), Spacing: 6},
		}},
		{"mask", mask, []features.Region{{Rectangle: image.Rect(79, 59, 91, 71), Spacing: fineLeast}}},
		{"strokes alone", of(stroked), []features.Region{{Rectangle: image.Rect(8, 18, 32, 42), Spacing: fineLeast}}},
		{"faulty", of(annotation.Object{ID: 1, Box: []float64{3}}), nil},
	} {
		if got := PlanFor(features.Plan{}, tt.a); !slices.Equal(got.Fine, tt.want) || !got.Whole || len(got.Crops) > 0 {
			t.Errorf("%s: %+v; want %v in the whole picture", tt.name, got, tt.want)
		}
	}
}

// What is small is followed by superpixels of its own, and has none once it is lost;
// without them it is not held as well.
func TestSmallObjectsAreSeenFiner(t *testing.T) {
	follow := func(finer bool) (mean float64) {
		tr := newTracker(t, Config{OccludedFrames: 3})
		const frames = 12
		for i := range uint64(frames + 6) {
			ball := disc{40 + 3*float64(i), 50, 4, red}
			if i >= frames {
				ball.r = -1 // it is gone
			}
			pix, truth := draw(i, ball)
			var ann *annotation.Annotation
			plan := tr.Plan(features.Plan{})
			if i == 0 {
				var err error
				if ann, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, "ball"); err != nil {
					t.Fatal(err)
				}
				plan = PlanFor(plan, ann)
			}
			plan.Whole = true
			if at := image.Pt(int(ball.x), 50); finer && i < frames && !at.In(plan.Fine[0].Rectangle) {
				t.Errorf("frame %d: finer in %v, where the ball is not", i, plan.Fine)
			}
			if !finer {
				plan.Fine = nil
			}
			ex, err := features.New(features.Config{Superpixels: 40}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := &features.Scene{Seq: i}
			if err := ex.Extract(s, pix, testWidth, testHeight, plan); err != nil {
				t.Fatal(err)
			}
			res, err := tr.Step(context.Background(), s, nil, ann, nil)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && i < frames {
				mean += iou(res.Objects[0].Mask, truth[0]) / (frames - 1)
			}
		}
		if got := tr.Plan(features.Plan{}).Fine; len(got) > 0 {
			t.Errorf("a lost object is to be seen finer: %v", got)
		}
		return mean
	}
	with, without := follow(true), follow(false)
	if with < 0.8 || without > with-0.1 {
		t.Errorf("IoU %.2f, without superpixels of its own %.2f; want 0.8 at least, and less without", with, without)
	}
}

// Without objects there is nothing to see; then what is round them, and not much more, wherever
// they go.
func TestWindowsFollowTheObjects(t *testing.T) {
	tr := newTracker(t, Config{})
	if p := tr.Plan(features.Plan{}); p.Whole || len(p.Crops)+len(p.Fine) > 0 {
		t.Fatalf("of no objects %+v is to be seen; want nothing", p)
	}
	at := func(i uint64) disc { return disc{30 + 5*float64(i), 40, 9, red} }
	for i := range uint64(20) {
		plan := tr.Plan(features.Plan{})
		_, _, truth := filmShot(t, i, plan, at(i))
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
			plan = PlanFor(plan, a)
		}
		s, p, _ := filmShot(t, i, plan, at(i))
		if i > 0 && i <= freshPictures && !plan.Whole {
			t.Errorf("frame %d: %+v is seen; want all, soon after the mark", i, plan)
		}
		if i > freshPictures {
			ball := image.Rect(int(at(i).x)-9, 31, int(at(i).x)+9, 49)
			if plan.Whole || len(plan.Crops) != 1 || !ball.In(plan.Crops[0].Rectangle) || plan.Crops[0].Dx()*plan.Crops[0].Dy() > testWidth*testHeight/2 {
				t.Errorf("frame %d: %+v is seen; want one window that has the ball in %v", i, plan, ball)
			}
		}
		if j := iou(stepOf(t, tr, s, p, a).Objects[0].Mask, truth[0]); j < 0.9 {
			t.Errorf("frame %d: IoU %.2f", i, j)
		}
		if len(p.plans) > 0 {
			t.Errorf("frame %d: a scene of it was made again", i)
		}
	}
	tr.Remove(1)
	if p := tr.Plan(features.Plan{}); p.Whole || len(p.Crops)+len(p.Fine) > 0 {
		t.Errorf("of an object that was removed %+v is to be seen; want nothing", p)
	}
	s, picture, _ := filmShot(t, 20, features.Plan{})
	stepOf(t, tr, s, picture, nil)
	box := image.Rect(40, 30, 50, 60)
	all := box.Union(box.Add(image.Pt(20, 0)))
	if p := tr.Plan(features.Plan{}, Candidate{Box: box, Ahead: box.Add(image.Pt(20, 0))}); len(p.Crops) != 1 || len(p.Fine) != 1 ||
		!all.In(p.Crops[0].Rectangle) || !all.In(p.Fine[0].Rectangle) {
		t.Errorf("%+v is to be seen; want what is round %v, and finer", p, all)
	}
	if p := tr.Plan(features.Plan{}, Candidate{Box: box, Beside: true}); len(p.Crops) != 1 || len(p.Fine) != 0 || !box.In(p.Crops[0].Rectangle) {
		t.Errorf("%+v is to be seen; want what is round %v, no finer", p, box)
	}
}

// What is lost is looked for where it is expected and in one part of the picture after the other,
// and found where it comes back.
func TestLostObjectsAreSweptFor(t *testing.T) {
	const turns, from, back = sweepParts * sweepParts, 30, 60
	tr := newTracker(t, Config{OccludedFrames: 4})
	covered := make([]bool, testWidth*testHeight)
	found, j := 0, 0.0
	for i := range uint64(back + turns + 10) {
		ball := disc{40, 40, 9, red}
		switch {
		case i >= back:
			ball = disc{130, 90, 9, red}
		case i >= 6:
			ball.r = -1
		}
		plan := tr.Plan(features.Plan{})
		_, _, truth := filmShot(t, i, plan, ball)
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
			plan = PlanFor(plan, a)
		}
		if i >= from && i < from+turns {
			area := 0
			for p := range covered {
				if in := slices.ContainsFunc(plan.Crops, func(c features.Crop) bool { return image.Pt(p%testWidth, p/testWidth).In(c.Rectangle) }); in {
					covered[p] = true
					area++
				}
			}
			if plan.Whole || area > testWidth*testHeight/8 {
				t.Errorf("frame %d: %+v is seen, %d pixels; want a part", i, plan.Crops, area)
			}
		}
		s, p, _ := filmShot(t, i, plan, ball)
		res := stepOf(t, tr, s, p, a)
		if i >= back && found == 0 && res.Objects[0].State == Visible {
			found = int(i)
		}
		j = iou(res.Objects[0].Mask, truth[0])
	}
	if slices.Contains(covered, false) {
		t.Errorf("some of the picture is not seen in %d turns", turns)
	}
	if found == 0 || found >= back+turns || j < 0.8 {
		t.Errorf("found in frame %d, IoU %.2f in the end; want it within a sweep of %d frames from %d on", found, j, turns, back)
	}
}

// What is small in a large picture is seen larger, in the frame it is marked in too, and what is
// large is not.
func TestSmallObjectsAreZoomed(t *testing.T) {
	of := func(w, h int, box ...float64) *annotation.Annotation {
		return &annotation.Annotation{Width: w, Height: h, Objects: []annotation.Object{{ID: 1, Box: box}}}
	}
	for _, tt := range []struct {
		name string
		a    *annotation.Annotation
		zoom int
	}{
		{"a person in 1080p", of(1920, 1080, 900, 500, 940, 600), 2},
		{"a person in 4K", of(3840, 2160, 900, 500, 940, 600), 4},
		{"near in 1080p", of(1920, 1080, 900, 300, 1200, 900), 1},
		{"as large as it can be seen", of(854, 480, 400, 200, 420, 250), 1},
	} {
		p := PlanFor(features.Plan{}, tt.a)
		zoom := 1
		for _, c := range p.Crops {
			zoom = c.Zoom
			if b := tt.a.Objects[0].Box; !image.Rect(int(b[0]), int(b[1]), int(b[2]), int(b[3])).In(c.Rectangle) {
				t.Errorf("%s: %v is seen larger; want the box in it", tt.name, c)
			}
		}
		if zoom != tt.zoom || !p.Whole {
			t.Errorf("%s: %+v; want it at zoom %d in the whole picture", tt.name, p, tt.zoom)
		}
	}
}

// Where frames were dropped an object may have left the window that was planned before, and is
// found all the same.
func TestDroppedFramesNeedLargerWindows(t *testing.T) {
	tr := newTracker(t, Config{})
	at := func(i uint64) disc { return disc{20 + 6*float64(i), 60, 9, red} }
	var plan features.Plan
	for _, i := range []uint64{0, 1, 2, 3, 4, 9, 10} {
		tr.fresh = 0
		var a *annotation.Annotation
		if i == 0 {
			_, truth := draw(i, at(i))
			a = byMask(t, truth[0], 1)
			plan = PlanFor(plan, a)
		}
		s, p, truth := filmShot(t, i, plan, at(i))
		if j := iou(stepOf(t, tr, s, p, a).Objects[0].Mask, truth[0]); j < 0.9 {
			t.Errorf("frame %d: IoU %.2f", i, j)
		}
		if made := len(p.plans); made != 0 && i != 9 || made != 1 && i == 9 {
			t.Errorf("frame %d: %d scenes were made anew", i, made)
		}
		plan = tr.Plan(features.Plan{})
	}
}

// A plan that another caller reads is not written.
func TestPlanForLeavesThePlan(t *testing.T) {
	plan := features.Plan{Crops: []features.Crop{{Rectangle: image.Rect(0, 0, 64, 64), Zoom: 1}}, Fine: make([]features.Region, 1, 9)}
	plan.Fine[0] = features.Region{Rectangle: image.Rect(8, 8, 20, 20), Spacing: 9}
	got := PlanFor(plan, &annotation.Annotation{Width: 200, Height: 150, Objects: []annotation.Object{{ID: 1, Box: []float64{40, 40, 60, 60}}}})
	if len(got.Crops) != 0 || len(got.Fine) != 2 || got.Fine[0].Spacing != 4 {
		t.Errorf("%+v; want the box first, and no window in a whole picture", got)
	}
	if plan.Crops[0].Dx() != 64 || plan.Fine[0].Spacing != 9 || plan.Fine[:2][1].Spacing != 0 {
		t.Errorf("the plan has become %+v", plan)
	}
}

// What a track follows needs less round it than what is not detected, and a small object as many pixels of the network's; what is
// long is seen with fewer.
func TestMargins(t *testing.T) {
	for _, tt := range []struct {
		detected  bool
		box, want image.Rectangle
		scale     float64
	}{
		{true, image.Rect(300, 150, 350, 350), image.Rect(260, 110, 390, 390), 1},
		{false, image.Rect(300, 150, 350, 350), image.Rect(240, 90, 410, 410), 1},
		{true, image.Rect(300, 150, 310, 170), image.Rect(286, 136, 324, 184), 1},
		// 351 of the network's pixels are seen as 263, 518 as 259.
		{true, image.Rect(300, 100, 400, 410), image.Rect(238, 38, 462, 472), 0.75},
		{false, image.Rect(300, 10, 400, 467), image.Rect(163, 0, 537, 480), 0.5},
	} {
		p := planner{size: image.Pt(854, 480)}
		want := features.Crop{Rectangle: tt.want, Zoom: 1, Scale: tt.scale}
		if p.window(p.viewOf(1, tt.box), tt.detected, tt.box); p.Crops[0] != want {
			t.Errorf("round %v, detected %t: %+v; want %+v", tt.box, tt.detected, p.Crops[0], want)
		}
	}
}

// Windows that overlap are of the larger of their scales, and a track that the heads then see too large is looked for as that, too.
func TestOverlappingWindowsShareAScale(t *testing.T) {
	long, short := image.Rect(300, 10, 400, 467), image.Rect(350, 50, 400, 150)
	for _, tt := range []struct {
		name  string
		boxes []image.Rectangle
		scale float64
		large bool
	}{
		{"alone", []image.Rectangle{long}, 0.5, false},
		{"with a short one before it", []image.Rectangle{long, short}, 1, true},
		{"with one elsewhere", []image.Rectangle{long, short.Add(image.Pt(350, 0))}, 0.5, false},
	} {
		p := planner{size: image.Pt(854, 480)}
		for _, b := range tt.boxes {
			p.window(p.viewOf(1, b), true, b)
		}
		p.finish()
		k := slices.IndexFunc(p.Crops, func(c features.Crop) bool { return long.In(c.Rectangle) })
		if k < 0 || p.Crops[k].Scale != tt.scale || p.Large.Empty() == tt.large {
			t.Errorf("%s: %+v; want it at %v, looked for as large: %t", tt.name, p.Plan, tt.scale, tt.large)
		}
	}
}

// What is near the size at which its scale changes keeps that scale, until it is a seventh smaller.
func TestScaleIsSteady(t *testing.T) {
	tr := newTracker(t, Config{})
	tr.size = image.Pt(854, 480)
	o := object{id: 1}
	o.State, o.Area = Visible, 30000
	tr.objects.all = []object{o}
	// 452 pixels are 512 of the network's; from then on it is seen at 0.5.
	for k, tt := range []struct {
		tall  int
		scale float64
	}{{440, 0.75}, {451, 0.75}, {453, 0.5}, {440, 0.5}, {396, 0.5}, {390, 0.75}, {440, 0.75}, {460, 0.5}, {300, 0.75}, {200, 1}, {260, 1}, {460, 0.5}} {
		tr.objects.all[0].box = image.Rect(300, 10, 380, 10+tt.tall)
		if c := tr.Plan(features.Plan{}).Crops; len(c) != 1 || c[0].Scale != tt.scale {
			t.Errorf("%d, %d pixels tall: %+v; want it at %v", k, tt.tall, c, tt.scale)
		}
	}
}

// What is long is seen at its own scale in the picture that it is marked in, and where all of a picture is looked at.
func TestLargeObjectsKeepTheirScale(t *testing.T) {
	p := PlanFor(features.Plan{}, &annotation.Annotation{Width: 854, Height: 480, Objects: []annotation.Object{{ID: 1, Box: []float64{300, 10, 400, 467}}}})
	if len(p.Crops) != 1 || p.Crops[0].Scale != 0.5 || !p.Whole {
		t.Errorf("marked: %+v; want it at half the scale in the whole picture", p)
	}
	var l Looks
	if looked := l.Plan(p, true); len(looked.Crops) != 1 || !looked.Whole {
		t.Errorf("looked at all: %+v; want the object at its scale", looked)
	}
	at := planner{size: image.Pt(854, 480)}
	if half, full := at.price(p.Crops[0]), at.price(features.Crop{Rectangle: p.Crops[0].Rectangle, Zoom: 1}); half > 0.35*full {
		t.Errorf("at half the scale it costs %v, at all of it %v; want a quarter, and the pass", half, full)
	}
}

// All of a picture is looked at in the frame in which that is due, and what is large is looked for in the next.
func TestLooks(t *testing.T) {
	part, all := image.Rect(1, 1, 2, 2), image.Rect(0, 0, 4096, 4096)
	for _, tt := range []struct {
		name                string
		due                 []bool
		wholes, larges, met int
	}{
		{"none", []bool{false, false, false}, 0, 0, 0},
		{"every third", []bool{true, false, false, true, false, false}, 2, 2, 0},
		{"every one", []bool{true, true, true, true}, 4, 2, 2},
	} {
		var l Looks
		wholes, larges, met := 0, 0, 0
		for k, due := range tt.due {
			plan := l.Plan(features.Plan{Large: part}, due)
			large := all.In(plan.Large)
			if !large && plan.Large != part || large && (k == 0 || !tt.due[k-1]) {
				t.Errorf("%s: in frame %d what is large is looked for in %v", tt.name, k, plan.Large)
			}
			if plan.Look {
				wholes++
			}
			if large {
				larges++
			}
			if plan.Look && large {
				met++
			}
		}
		if wholes != tt.wholes || larges != tt.larges || met != tt.met {
			t.Errorf("%s: %d looks, %d for what is large, %d at once; want %d, %d, %d", tt.name, wholes, larges, met, tt.wholes, tt.larges, tt.met)
		}
	}
}

// Windows become one where the network sees no more for it, and most of the picture becomes all of it. Seen smaller, too, is what
// was to be, the first here, and no more.
func TestPlansAreMerged(t *testing.T) {
	for _, tt := range []struct {
		name  string
		boxes []image.Rectangle
		zooms []int
		crops int
		whole bool
	}{
		{"apart", []image.Rectangle{image.Rect(50, 50, 80, 90), image.Rect(600, 300, 640, 380)}, []int{1, 1}, 2, false},
		{"beside each other", []image.Rectangle{image.Rect(50, 50, 80, 90), image.Rect(90, 50, 120, 90)}, []int{1, 1}, 1, false},
		{"of two zooms", []image.Rectangle{image.Rect(50, 50, 80, 90), image.Rect(90, 50, 120, 90)}, []int{1, 2}, 2, false},
		{"most of the picture", []image.Rectangle{
			image.Rect(20, 20, 240, 220), image.Rect(250, 20, 470, 220), image.Rect(480, 20, 700, 220), image.Rect(600, 20, 820, 220),
			image.Rect(20, 240, 240, 460), image.Rect(250, 240, 470, 460), image.Rect(480, 240, 700, 460), image.Rect(600, 300, 640, 380),
		}, []int{1, 1, 1, 1, 1, 1, 1, 2}, 1, true},
		{"of two scales", []image.Rectangle{image.Rect(300, 10, 400, 467), image.Rect(700, 50, 750, 150)}, []int{1, 1}, 2, false},
		{"of two scales, one before the other", []image.Rectangle{image.Rect(300, 10, 400, 467), image.Rect(350, 50, 400, 150)}, []int{1, 1}, 1, false},
	} {
		p := planner{size: image.Pt(854, 480)}
		for k, b := range tt.boxes {
			p.coarse = k == 0
			p.window(p.viewOf(tt.zooms[k], b), false, b)
		}
		smaller := p.Crops[0].Rectangle
		if p.finish(); len(p.Crops) != tt.crops || p.Whole != tt.whole || p.Crops[0].Zoom != slices.Max(tt.zooms) {
			t.Errorf("%s: %+v; want %d windows, the largest zoom first, whole %t", tt.name, p.Plan, tt.crops, tt.whole)
		}
		if !p.Whole {
			p.Coarse = image.Rectangle{}
		}
		for _, c := range p.Crops {
			p.Coarse = p.Coarse.Union(c.Coarse)
		}
		if p.Coarse != smaller {
			t.Errorf("%s: %v is seen smaller; want %v", tt.name, p.Coarse, smaller)
		}
	}
}

// All of the picture is seen where windows cost four fifths of it.
func TestWholeInPlaceOfWindows(t *testing.T) {
	for width, want := range map[int]bool{250: false, 260: true} {
		p := planner{size: image.Pt(854, 480)}
		p.crop(image.Rect(0, 0, width, 480), view{1, 1})
		p.crop(image.Rect(854-width, 0, 854, 480), view{1, 1})
		share := (p.price(p.Crops[0]) + p.price(p.Crops[1])) / p.price(features.Crop{Rectangle: image.Rect(0, 0, 854, 480), Zoom: 1})
		if p.finish(); p.Whole != want || share < 0.75 || share > 0.9 {
			t.Errorf("windows cost %v of the picture: whole %t, want %t", share, p.Whole, want)
		}
	}
}

// A plan for a squeezed picture is that for the picture as it is meant to be seen: what windows cost the network, and
// how large it sees an object. It carries the aspect that the last scene had.
func TestPlanOfSqueezedPictures(t *testing.T) {
	const by = 4
	whole := planner{size: image.Pt(640, 480)}
	squeezed := planner{size: image.Pt(640/by, 480), Plan: features.Plan{PixelAspect: by}}
	for _, r := range []image.Rectangle{image.Rect(160, 120, 480, 360), image.Rect(0, 0, 640, 480), image.Rect(200, 40, 600, 80)} {
		narrow := image.Rect(r.Min.X/by, r.Min.Y, r.Max.X/by, r.Max.Y)
		// Of the context round it, too, there is as much of the shorter side.
		a, b := whole.price(features.Crop{Rectangle: r, Zoom: 1}), squeezed.price(features.Crop{Rectangle: narrow, Zoom: 1})
		if b < 0.6*a || b > 1.4*a {
			t.Errorf("%v costs %v, squeezed %v", r, a, b)
		}
	}
	for width, scale := range map[int]float64{50: 1, 90: 0.75} { // of 160 pixels; 200 and 360 of 640, of which the network sees 227 and 408
		if got := squeezed.viewOf(1, image.Rect(20, 100, 20+width, 200)).scale; got != scale {
			t.Errorf("%d pixels wide: seen at %v; want %v", width, got, scale)
		}
	}
	tr := newTracker(t, Config{})
	pix, truth := draw(0, disc{40, 50, 20, red})
	ann, err := annotation.FromMask(truth[0], testWidth, testHeight, 1, "ball")
	if err != nil {
		t.Fatal(err)
	}
	ex, err := features.New(features.Config{Superpixels: 100}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s features.Scene
	if err := ex.Extract(&s, pix, testWidth, testHeight, features.Plan{Whole: true, PixelAspect: by}); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(t.Context(), &s, nil, ann, nil); err != nil {
		t.Fatal(err)
	}
	if plan := tr.Plan(features.Plan{}); plan.PixelAspect != by {
		t.Errorf("a plan for pixels %v times as wide as high", plan.PixelAspect)
	}
}

// A plan is two lists and the light of the picture, however many objects there are.
func TestPlanAllocs(t *testing.T) {
	tr := newTracker(t, Config{})
	s, truth := film(t, 0, disc{30, 60, 12, red}, disc{80, 60, 12, blue}, disc{130, 60, 12, red})
	step(t, tr, s, byMask(t, truth[0], 1))
	for i, mask := range truth[1:] {
		s.Seq++
		step(t, tr, s, byMask(t, mask, uint32(i+2)))
	}
	tr.fresh = 0
	var plan features.Plan
	if n := testing.AllocsPerRun(20, func() {
		plan = tr.Plan(features.Plan{}, Candidate{Box: image.Rect(1, 1, 9, 9), Ahead: image.Rect(1, 1, 9, 9)})
	}); n > 3 {
		t.Errorf("%v allocations; want 3 at most", n)
	}
	if len(plan.Fine) != 4 {
		t.Errorf("%+v", plan)
	}
}
