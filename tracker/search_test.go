package tracker

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// checksModel sees the contrast of checks of a few sizes, in cells of 4×4 pixels of
// the image as it is shown: what a network's channels are like.
type checksModel struct{}

func (checksModel) Features(dst features.Sight, bgr []byte, width, height int, v features.View) (features.Sight, error) {
	shrink := int(1 / v.Scale)
	w, h := width/shrink, height/shrink
	grey := make([]float64, w*h)
	for y := range h * shrink {
		for x := range w * shrink {
			grey[y/shrink*w+x/shrink] += float64(bgr[3*(y*width+x)]) / float64(shrink*shrink)
		}
	}
	const cell = 4
	cols, rows := w/cell, h/cell
	m := features.Map{Channels: 3, Width: cols, Height: rows, Data: make([]float32, 3*cols*rows)}
	m.StrideX, m.StrideY = float64(cell*shrink), float64(cell*shrink)
	m.OffsetX, m.OffsetY = m.StrideX/2-0.5, m.StrideY/2-0.5
	for c, lag := range []int{1, 2, 4} {
		for i := range rows {
			for j := range cols {
				sum := 0.0
				for k := range cell * cell {
					x, y := j*cell+k%cell, i*cell+k/cell
					sum += math.Abs(grey[y*w+x] - grey[y*w+min(x+lag, w-1)])
				}
				m.Data[(i*cols+j)*m.Channels+c] = float32(sum / (cell * cell))
			}
		}
	}
	return features.Sight{Maps: append(dst.Maps[:0], m)}, nil
}

// What comes back magnified, in front of a camera that moves, has other features, and is known
// by those it has where the picture is shrunk.
func TestComesBackLarger(t *testing.T) {
	const w, h, hide, back, end = 320, 240, 8, 16, 24
	for _, coarse := range []bool{true, false} {
		ex, err := features.New(features.Config{Superpixels: 400, Compactness: 200}, checksModel{})
		if err != nil {
			t.Fatal(err)
		}
		tr := newTracker(t, Config{})
		last, during := 0.0, 0
		for i := range uint64(end) {
			truth := make([]uint8, w*h)
			bgr := make([]byte, 3*w*h)
			rng := rand.New(rand.NewPCG(i, 1)) // sensor noise
			for p := range truth {
				x, y := p%w, p/w
				v := 120 + 20*math.Sin(float64(x+5*int(i))/7+float64(y)/11) // the camera pans
				size, r := 2, 24.0
				if i >= back {
					size, r = 6, 72
				}
				if (i < hide || i >= back) && math.Hypot(float64(x)-150, float64(y)-120) <= r {
					truth[p] = 1
					v = 60 + 120*float64((x/size+y/size)%2)
				}
				for c := range 3 {
					bgr[3*p+c] = byte(v + 6*rng.Float64())
				}
			}
			s := &features.Scene{Seq: i}
			searching := tr.Plan(features.Plan{}).Coarsens()
			plan := features.Plan{Whole: true}
			if coarse && searching {
				plan.Coarse = features.Everywhere
			}
			if err := ex.Extract(s, bgr, w, h, plan); err != nil {
				t.Fatal(err)
			}
			var a *annotation.Annotation
			if i == 0 {
				if a, err = annotation.FromMask(truth, w, h, 1, ""); err != nil {
					t.Fatal(err)
				}
			}
			o := step(t, tr, s, a).Objects[0]
			if i < back && searching != (i > hide) {
				t.Fatalf("frame %d: searching %t, %s", i, searching, o.State)
			}
			if i >= hide && i < back {
				during += o.Area
			}
			last = iouOf(o.Mask.Decode(nil), truth)
		}
		t.Logf("coarse %t: IoU %.2f at the end, %d false pixels", coarse, last, during)
		if during > 0 {
			t.Errorf("coarse %t: %d pixels of an object that is not there", coarse, during)
		}
		if coarse && last < 0.8 || !coarse && last > 0.2 {
			t.Errorf("coarse %t: IoU %.2f at the end; want at least 0.8 with coarse scenes, and a test that needs them", coarse, last)
		}
	}
}

func iouOf(a, b []uint8) float64 {
	in, un := 0, 0
	for p := range a {
		in += int(a[p] & b[p])
		un += int(a[p] | b[p])
	}
	return float64(in) / float64(max(1, un))
}

// How many are hidden changes nothing about what a frame costs, nor how long they have been; all of where they may be is seen within
// a second of 25 frames, where one is expected in every frame if it is alone, and all at other sizes by and by.
func TestSearchHasAPrice(t *testing.T) {
	const most, frames = 10, 25
	size := image.Pt(854, 480)
	price := func(hidden, unseen int) (mean float64) {
		tr := newTracker(t, Config{})
		tr.size = size
		for k := range hidden {
			o := object{id: uint32(k + 1)}
			o.State, o.Unseen, o.Area, o.X, o.Y = Lost, unseen, 1800, float64(60+80*k), float64(100+30*k)
			tr.objects.all = append(tr.objects.all, o)
		}
		seen := make([]bool, size.X*size.Y)
		coarse := slices.Clone(seen)
		for turn := range coarseEvery * frames {
			tr.turn = turn
			plan := tr.Plan(features.Plan{})
			at := planner{size: size}
			for _, c := range plan.Crops {
				mean += at.price(c) / (coarseEvery * frames)
				for y := c.Min.Y; y < c.Max.Y; y++ {
					for x := c.Min.X; x < c.Max.X; x++ {
						seen[y*size.X+x] = seen[y*size.X+x] || turn < frames
						coarse[y*size.X+x] = coarse[y*size.X+x] || image.Pt(x, y).In(c.Coarse)
					}
				}
			}
			o := &tr.objects.all[turn%hidden]
			if at := image.Pt(int(o.X), int(o.Y)); plan.Whole || !slices.ContainsFunc(plan.Crops, func(c features.Crop) bool { return at.In(c.Rectangle) && at.In(c.Coarse) }) {
				t.Errorf("%d hidden, turn %d: %+v; want what is round %v in it, at other sizes too", hidden, turn, plan, at)
			}
		}
		if unseen > 100 && (slices.Contains(seen, false) || slices.Contains(coarse, false)) {
			t.Errorf("%d hidden for %d frames: some of the picture was not seen in %d frames, or not at other sizes in %d", hidden, unseen, frames, coarseEvery*frames)
		}
		return mean
	}
	one := price(1, 150)
	all := (&planner{size: size}).price(features.Crop{Rectangle: image.Rectangle{Max: size}, Zoom: 1})
	if one > 0.2*all {
		t.Errorf("one costs %.3f of a whole picture; want .2 at most", one/all)
	}
	for _, unseen := range []int{1, 20, 50, 150, 10000} {
		for hidden := range most {
			if got := price(hidden+1, unseen); got > 1.05*one {
				t.Errorf("%d hidden for %d frames cost %.3f of a whole picture, one %.3f; want no more", hidden+1, unseen, got/all, one/all)
			}
		}
	}
}

// A large thing is looked for as it was seen, not as the picture is.
func TestSearchKeepsTheScale(t *testing.T) {
	tr := newTracker(t, Config{})
	tr.size = image.Pt(854, 480)
	o := object{id: 1, box: image.Rect(300, 10, 400, 467)}
	o.State, o.Unseen, o.Area, o.X, o.Y = Occluded, 3, 30000, 350, 240
	tr.objects.all = []object{o}
	for _, c := range tr.Plan(features.Plan{}).Crops {
		if c.Scale != 0.5 {
			t.Errorf("%+v; want a scale of 0.5", c)
		}
	}
}
