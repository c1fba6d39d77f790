package tracker

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/trackstate"
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
			if err := ex.Extract(s, bgr, w, h, features.Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			if coarse && tr.Searching() {
				if err := ex.Coarsen(s, bgr); err != nil {
					t.Fatal(err)
				}
			}
			var a *annotation.Annotation
			if i == 0 {
				if a, err = annotation.FromMask(truth, w, h, 1, ""); err != nil {
					t.Fatal(err)
				}
			}
			o := step(t, tr, s, a).Objects[0]
			if got := tr.Searching(); i < back && got != (i >= hide) {
				t.Fatalf("frame %d: searching %t, %s", i, got, o.State)
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

// Other sizes are asked for in every frame while an object may be back at once, and
// now and then when it is lost.
func TestSearching(t *testing.T) {
	tr := newTracker(t, Config{OccludedFrames: 4})
	tr.objects.all, tr.elapsed = []object{{id: 1}}, 1
	if tr.Searching() {
		t.Error("searching though all is in sight")
	}
	asked := 0
	for i := range 4 + 9 {
		tr.objects.all[0].Observe(trackstate.Sight{}, false, 1, tr.cfg.OccludedFrames)
		if tr.Searching() {
			asked++
		} else if tr.objects.all[0].State != Lost {
			t.Errorf("not searching %d frames after it was seen, %v", i+1, tr.objects.all[0].State)
		}
	}
	if want := 4 + 9/3; asked != want {
		t.Errorf("asked for other sizes in %d frames, want %d", asked, want)
	}
}
