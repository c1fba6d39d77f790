package tracker

import (
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
)

// union is the truth of discs taken together.
func union(truth ...[]uint8) []uint8 {
	all := slices.Clone(truth[0])
	for _, t := range truth[1:] {
		for p, b := range t {
			all[p] |= b
		}
	}
	return all
}

// share is how much of the truth the mask covers.
func share(m mask.RLE, truth []uint8) float64 {
	covered, all := 0, 0
	for p, b := range m.Decode(nil) {
		all += int(truth[p])
		covered += int(truth[p] & b)
	}
	return float64(covered) / float64(all)
}

func byMask(t testing.TB, truth []uint8, id uint32) *annotation.Annotation {
	t.Helper()
	a, err := annotation.FromMask(truth, testWidth, testHeight, id, "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func stroke(width float64, points ...annotation.Point) []annotation.Stroke {
	return []annotation.Stroke{{Width: width, Points: points}}
}

// byStrokes is an annotation by an object's strokes, and by one on the background around it.
func byStrokes(o annotation.Object, width, left, top, right, bottom float64) *annotation.Annotation {
	a := empty()
	a.Objects = []annotation.Object{o}
	a.Background = stroke(width, annotation.Point{left, top}, annotation.Point{right, top}, annotation.Point{right, bottom}, annotation.Point{left, bottom}, annotation.Point{left, top})
	return a
}

func empty() *annotation.Annotation {
	return &annotation.Annotation{Width: testWidth, Height: testHeight}
}

func TestBoxFindsTheObjectInIt(t *testing.T) {
	s, truth := film(t, 0, disc{80, 60, 24, red}, disc{130, 30, 12, red})
	a := empty()
	a.Objects = []annotation.Object{{ID: 1, Box: []float64{54, 34, 106, 86}}}
	tr := newTracker(t, Config{})
	o := step(t, tr, s, a).Objects[0]
	if j := iou(o.Mask, truth[0]); j < 0.85 {
		t.Errorf("IoU %.2f with the disc in the box; want above 0.85 (the box has 0.67)", j)
	}
	// A stroke says what the box does not: a dark bar over the disc is not it.
	if got := share(o.Mask, truth[1]); got != 0 {
		t.Errorf("%.2f of the disc outside the box is in the mask", got)
	}
	for i := range uint64(5) {
		s, truth := film(t, 1+i, disc{82 + 2*float64(i), 60, 24, red}, disc{130, 30, 12, red})
		if j := iou(step(t, tr, s, nil).Objects[0].Mask, truth[0]); j < 0.85 {
			t.Errorf("frame %d: IoU %.2f; want above 0.85", 1+i, j)
		}
	}
}

// What the search in a box found stays where the solve would take all of it.
func TestBoxIsNotLost(t *testing.T) {
	pix, _ := draw(0)
	a := empty()
	a.Objects = []annotation.Object{{ID: 1, Box: []float64{60, 40, 84, 76}}}
	ex, err := features.New(features.Config{Superpixels: 300}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &features.Scene{}
	if err := ex.Extract(s, pix, testWidth, testHeight, PlanFor(features.Plan{}, a)); err != nil { // as segd does
		t.Fatal(err)
	}
	o := step(t, newTracker(t, Config{}), s, a).Objects[0]
	if box := image.Rect(60, 40, 84, 76); o.State != Visible || 3*o.Box.Dx()*o.Box.Dy() < box.Dx()*box.Dy() {
		t.Errorf("%s in %v, where nothing is but floor; want at least a third of %v", o.State, o.Box, box)
	}
}

// Two boxes that overlap, of two objects.
func TestTwoBoxes(t *testing.T) {
	s, truth := film(t, 0, disc{55, 60, 22, red}, disc{101, 60, 22, blue})
	a := empty()
	a.Objects = []annotation.Object{{ID: 1, Box: []float64{31, 36, 81, 84}}, {ID: 2, Box: []float64{75, 36, 125, 84}}}
	res := step(t, newTracker(t, Config{}), s, a)
	for k, o := range res.Objects {
		if j := iou(o.Mask, truth[k]); j < 0.8 {
			t.Errorf("object %d: IoU %.2f; want above 0.8", o.ID, j)
		}
	}
}

func TestStrokesOverruleABox(t *testing.T) {
	// Two discs in one box; only the red one is meant.
	s, truth := film(t, 0, disc{60, 60, 20, red}, disc{100, 60, 20, blue})
	a := empty()
	a.Objects = []annotation.Object{{ID: 1, Box: []float64{38, 38, 122, 82}}}
	if m := step(t, newTracker(t, Config{}), s, a).Objects[0].Mask; share(m, truth[0]) < 0.8 || share(m, truth[1]) < 0.8 {
		t.Fatalf("the box alone covers %.2f and %.2f of what is in it; want most of both", share(m, truth[0]), share(m, truth[1]))
	}
	a.Background = stroke(8, annotation.Point{96, 52}, annotation.Point{104, 66})
	m := step(t, newTracker(t, Config{}), s, a).Objects[0].Mask
	if j := iou(m, truth[0]); j < 0.8 {
		t.Errorf("with a stroke on the blue disc the IoU with the red one is %.2f; want above 0.8", j)
	}
}

func TestPolygonIsTheObject(t *testing.T) {
	s, truth := film(t, 0, disc{80, 60, 24, red}, disc{130, 30, 12, red})
	a := empty()
	a.Objects = []annotation.Object{{ID: 1, Polygon: []annotation.Point{
		{104, 60}, {97, 77}, {80, 84}, {63, 77}, {56, 60}, {63, 43}, {80, 36}, {97, 43}}}}
	m := step(t, newTracker(t, Config{}), s, a).Objects[0].Mask
	if j := iou(m, truth[0]); j < 0.85 || share(m, truth[1]) != 0 {
		t.Errorf("IoU %.2f, %.2f of the disc outside; want above 0.85 and none", j, share(m, truth[1]))
	}
	// Strokes overrule it on both sides.
	a.Background = stroke(12, annotation.Point{80, 40}, annotation.Point{80, 48})
	a.Objects[0].Scribbles = stroke(24, annotation.Point{130, 30})
	m = step(t, newTracker(t, Config{}), s, a).Objects[0].Mask
	bits := m.Decode(nil)
	if bits[44*testWidth+80] != 0 || bits[30*testWidth+130] != 1 || bits[65*testWidth+80] != 1 {
		t.Errorf("strokes on the outline's inside, outside and nowhere give %d, %d, %d; want 0, 1, 1",
			bits[44*testWidth+80], bits[30*testWidth+130], bits[65*testWidth+80])
	}
}

// What is far smaller than a superpixel is still annotated.
func TestTinyExtents(t *testing.T) {
	s, _ := film(t, 0, disc{80, 60, 24, red})
	for name, o := range map[string]annotation.Object{
		"polygon": {ID: 1, Polygon: []annotation.Point{{79, 59}, {82, 59}, {82, 62}}},
		"box":     {ID: 1, Box: []float64{79, 59, 81, 61}},
	} {
		a := empty()
		a.Objects = []annotation.Object{o}
		got := step(t, newTracker(t, Config{}), s, a).Objects[0]
		if name == "polygon" && got.Area == 0 {
			t.Errorf("%s: no pixel of it", name)
		}
		if got.Area > testWidth*testHeight/50 {
			t.Errorf("%s: %d pixels", name, got.Area)
		}
	}
}

// A correction takes out or adds what was marked and all that is like it, leaves
// the rest, and lasts.
func TestCorrections(t *testing.T) {
	for _, tt := range []struct {
		name        string
		part        disc // beside the main disc at (60, 60)
		wrong       bool // the annotation of frame 0 has part, which is not the object; else it lacks it
		correction  func(x float64) *annotation.Annotation
		far, listed bool
	}{
		{name: "a separate wrong piece", part: disc{125, 60, 14, red}, wrong: true, correction: func(x float64) *annotation.Annotation {
			a := empty()
			a.Background = stroke(6, annotation.Point{x + 118, 60}, annotation.Point{x + 132, 60})
			return a
		}},
		{name: "a wrong part that hangs on", part: disc{92, 60, 14, blue}, wrong: true, correction: func(x float64) *annotation.Annotation {
			a := empty()
			a.Objects = []annotation.Object{{ID: 1}} // named without a stroke
			a.Background = stroke(6, annotation.Point{x + 86, 60}, annotation.Point{x + 98, 60})
			return a
		}},
		{name: "a missing part", part: disc{92, 60, 14, blue}, correction: func(x float64) *annotation.Annotation {
			a := empty()
			a.Objects = []annotation.Object{{ID: 1, Scribbles: stroke(6, annotation.Point{x + 86, 60}, annotation.Point{x + 98, 60})}}
			return a
		}},
	} {
		for _, mode := range []Mode{Joint, Affinity} {
			for _, ago := range []uint64{0, 3} { // frames between what was marked and the newest
				t.Run(fmt.Sprintf("%s, %s, %d ago", tt.name, mode, ago), func(t *testing.T) {
					tr := newTracker(t, Config{Mode: mode})
					const at = 5
					for i := range uint64(13) {
						x := 1.5 * float64(i)
						main, part := disc{60 + x, 60, 20, red}, tt.part
						part.x += x
						s, truth := film(t, i, main, part)
						var a *annotation.Annotation
						switch {
						case i == 0 && tt.wrong:
							a = byMask(t, union(truth...), 1)
						case i == 0:
							a = byMask(t, truth[0], 1)
						case i == at:
							a = tt.correction(1.5 * float64(i-ago))
							frame := i - ago
							a.Frame = &frame
						}
						m := step(t, tr, s, a).Objects[0].Mask
						has := share(m, truth[1])
						if want := tt.wrong == (i < at); (want && has < 0.6) || (!want && has > 0.15) {
							t.Errorf("frame %d: %.2f of the part is in the mask; want it there: %t", i, has, want)
						}
						if rest := share(m, truth[0]); rest < 0.85 {
							t.Errorf("frame %d: %.2f of the rest is in the mask; want above 0.85", i, rest)
						}
					}
				})
			}
		}
	}
}

// The picture that a user marks was on the page a while ago, and nothing was tracked
// at that time.
func TestFirstAnnotationOfAnEarlierFrame(t *testing.T) {
	for _, ago := range []uint64{1, 4, 25} {
		tr := newTracker(t, Config{})
		const now = 30
		for i := range uint64(now + 6) {
			s, truth := film(t, i, disc{35 + 2*float64(i), 60, 20, red})
			var a *annotation.Annotation
			if i == now {
				_, then := film(t, i-ago, disc{35 + 2*float64(i-ago), 60, 20, red})
				a = byMask(t, then[0], 1)
				frame := i - ago
				a.Frame = &frame
			}
			res := step(t, tr, s, a)
			if i < now {
				continue
			}
			if j := iou(res.Objects[0].Mask, truth[0]); j < 0.8 {
				t.Errorf("marked %d frames ago, frame %d: IoU %.2f; want above 0.8", ago, i, j)
			}
		}
	}
}

// Stroke after stroke on one still picture: each adds to those before.
func TestSameEarlierFrameTwice(t *testing.T) {
	tr := newTracker(t, Config{})
	parts := []disc{{60, 60, 18, red}, {90, 60, 14, blue}, {60, 28, 14, [3]uint8{40, 200, 220}}}
	var m mask.RLE
	var truth [][]uint8
	for i := range uint64(12) {
		var s *features.Scene
		s, truth = film(t, i, parts...)
		var a *annotation.Annotation
		frame := uint64(4)
		switch i {
		case 0:
			a = byMask(t, truth[0], 1)
		case 6:
			a = empty()
			a.Frame, a.Objects = &frame, []annotation.Object{{ID: 1, Scribbles: stroke(8, annotation.Point{84, 60}, annotation.Point{96, 60})}}
		case 8:
			a = empty()
			a.Frame, a.Objects = &frame, []annotation.Object{{ID: 1, Scribbles: stroke(8, annotation.Point{54, 28}, annotation.Point{66, 28})}}
		}
		m = step(t, tr, s, a).Objects[0].Mask
	}
	if j := iou(m, union(truth...)); j < 0.8 {
		t.Errorf("IoU %.2f with all three parts; want above 0.8", j)
	}
	if len(tr.frames.anchors) != 2 {
		t.Errorf("%d annotated frames kept; want 2, since one was annotated twice", len(tr.frames.anchors))
	}
}

func TestFramesThatCannotBeAnnotated(t *testing.T) {
	tr, twin := newTracker(t, Config{History: 400_000}), newTracker(t, Config{History: 400_000})
	for i := uint64(0); i < 60; i += 2 { // every other frame is dropped before
		s, truth := film(t, i, disc{60 + float64(i)/2, 60, 20, red})
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		want := step(t, twin, s, a)
		if i == 50 {
			first, _, _ := tr.past.Frame(0)
			for seq, message := range map[uint64]string{
				0:  fmt.Sprintf("frame: 0 is no longer kept; accepted: %d to 50", first),
				47: fmt.Sprintf("frame: 47 was dropped unseen; accepted: 46 or 48 beside it, and others from %d to 50", first),
				51: "frame: 51 has not come yet; the newest is 50",
			} {
				bad := byMask(t, truth[0], 1)
				bad.Frame = &seq
				if _, err := tr.Step(t.Context(), s, nil, bad, nil); !errors.Is(err, annotation.ErrInvalid) || !strings.Contains(err.Error(), message) {
					t.Errorf("frame %d: %v; want %q", seq, err, message)
				}
			}
			unknown := empty()
			unknown.Objects = []annotation.Object{{ID: 7}}
			unknown.Background = stroke(4, annotation.Point{5, 5})
			if _, err := tr.Step(t.Context(), s, nil, unknown, nil); !errors.Is(err, annotation.ErrInvalid) || !strings.Contains(err.Error(), "object 7 is not known yet") {
				t.Errorf("an unknown object without a mark: %v", err)
			}
		}
		got := step(t, tr, s, a)
		if got.Objects[0].Mask.String() != want.Objects[0].Mask.String() {
			t.Fatalf("frame %d: the mask differs after a refused annotation", i)
		}
	}
	blank := empty()
	blank.Background = stroke(4, annotation.Point{5, 5})
	s, _ := film(t, 0)
	if _, err := newTracker(t, Config{}).Step(t.Context(), s, nil, blank, nil); !errors.Is(err, annotation.ErrInvalid) || !strings.Contains(err.Error(), "no object is known") {
		t.Errorf("background strokes without an object: %v", err)
	}
}

// A new object by strokes does not need the first one to be marked again.
func TestSecondObjectByStrokes(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(10) {
		s, truth := film(t, i, disc{45, 60, 18, red}, disc{115, 60, 18, blue})
		var a *annotation.Annotation
		switch i {
		case 0:
			a = byMask(t, truth[0], 1)
		case 4:
			a = byStrokes(annotation.Object{ID: 2, Label: "blue", Scribbles: stroke(8, annotation.Point{108, 60}, annotation.Point{122, 62})}, 5, 90, 30, 140, 90)
		}
		for k, o := range step(t, tr, s, a).Objects {
			if j := iou(o.Mask, truth[k]); j < 0.8 {
				t.Errorf("frame %d: object %d has IoU %.2f; want above 0.8", i, o.ID, j)
			}
		}
	}
}

func TestRemove(t *testing.T) {
	colours := [][3]uint8{red, blue, {40, 200, 220}}
	for gone := range 3 {
		tr := newTracker(t, Config{})
		for i := range uint64(14) {
			var discs []disc
			for k, c := range colours {
				discs = append(discs, disc{30 + 50*float64(k), 50 + float64(i), 16, c})
			}
			s, truth := film(t, i, discs...)
			var a *annotation.Annotation
			if i == 0 {
				a = &annotation.Annotation{Width: testWidth, Height: testHeight, Mask: make([]uint8, testWidth*testHeight)}
				for k := range truth {
					a.Objects = append(a.Objects, annotation.Object{ID: uint32(k + 1)})
					for p, b := range truth[k] {
						a.Mask[p] += b * uint8(k+1)
					}
				}
			}
			if i == 6 {
				if !tr.Remove(uint32(gone+1)) || tr.Remove(uint32(gone+1)) || tr.Remove(99) {
					t.Fatal("Remove does not tell whether there was the object")
				}
			}
			res := step(t, tr, s, a)
			if want := 3; i >= 6 && len(res.Objects) != 2 || i < 6 && len(res.Objects) != want {
				t.Fatalf("frame %d: %d objects", i, len(res.Objects))
			}
			for _, o := range res.Objects {
				if j := iou(o.Mask, truth[o.ID-1]); j < 0.8 || i >= 6 && o.ID == uint32(gone+1) {
					t.Errorf("object %d removed, frame %d: object %d has IoU %.2f; want above 0.8", gone+1, i, o.ID, j)
				}
			}
		}
	}
}

// After the last object nothing is left, and the next annotation begins anew, on
// an earlier frame too.
func TestRemoveTheLast(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(12) {
		s, truth := film(t, i, disc{60 + 2*float64(i), 60, 20, red})
		var a *annotation.Annotation
		switch i {
		case 0:
			a = byMask(t, truth[0], 1)
		case 4:
			tr.Remove(1)
		case 8:
			_, then := film(t, 3, disc{66, 60, 20, red})
			frame := uint64(3)
			a = byMask(t, then[0], 2)
			a.Frame = &frame
		}
		res := step(t, tr, s, a)
		want := 1
		if i >= 4 && i < 8 {
			want = 0
		}
		if len(res.Objects) != want {
			t.Fatalf("frame %d: %d objects; want %d", i, len(res.Objects), want)
		}
		for _, o := range res.Objects {
			if j := iou(o.Mask, truth[0]); j < 0.8 {
				t.Errorf("frame %d: IoU %.2f; want above 0.8", i, j)
			}
		}
	}
}

// crowd is a scene of a camera's size: 640×480 pixels in 2,000 pieces with 67
// features, as the model in the binary has, and discs on it. The 64 features that
// the model would compute are random waves of colour and place.
func crowd(t testing.TB, count int) (s *features.Scene, ann *annotation.Annotation) {
	t.Helper()
	const width, height, channels, colours = 640, 480, 64, 3
	rng := rand.New(rand.NewPCG(7, 7))
	ann = &annotation.Annotation{Width: width, Height: height, Mask: make([]uint8, width*height)}
	pix := make([]byte, 3*width*height)
	for p := range width * height {
		x, y := p%width, p/width
		shade := 90 + 40*math.Sin(float64(x)/9)*math.Cos(float64(y)/13)
		bgr := [3]float64{shade, shade + 20, shade}
		for k := range count {
			if math.Hypot(float64(x-53-106*(k%6)), float64(y-48-96*(k/6))) <= 28 {
				bgr = [3]float64{float64(8 * k), float64(250 - 8*k), float64(90 * (k % 3))}
				ann.Mask[p] = uint8(k + 1)
			}
		}
		for b, v := range bgr {
			pix[3*p+b] = uint8(v + 5*rng.Float64())
		}
	}
	for k := range count {
		ann.Objects = append(ann.Objects, annotation.Object{ID: uint32(k + 1)})
	}
	ex, err := features.New(features.Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s = &features.Scene{}
	if err := ex.Extract(s, pix, width, height, features.Plan{Whole: true}); err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 0, s.N*(channels+colours))
	waves := make([]float64, channels*(colours+3))
	for i := range waves {
		waves[i] = rng.NormFloat64()
	}
	for i := range s.N {
		lab := s.Lab[i*colours : (i+1)*colours]
		for c := range channels {
			w := waves[c*(colours+3) : (c+1)*(colours+3)]
			v := w[5] + (w[3]*float64(s.Centroid[2*i])+w[4]*float64(s.Centroid[2*i+1]))/200
			for k, colour := range lab {
				v += w[k] * float64(colour) / 20
			}
			x = append(x, float32(math.Sin(v)))
		}
		x = append(x, lab...)
	}
	s.X, s.D, s.Maps = x, channels+colours, []int{channels}
	return s, ann
}

// BenchmarkObjects is what a frame costs with 1, 4, 10 and 30 objects in it, after
// the window has filled.
func BenchmarkObjects(b *testing.B) {
	for _, count := range []int{1, 4, 10, 30} {
		b.Run(fmt.Sprintf("objects=%d", count), func(b *testing.B) {
			s, a := crowd(b, count)
			tr, p := newTracker(b, Config{}), photoOf(s)
			for s.Seq = range 8 {
				stepOf(b, tr, s, p, a)
				a = nil
			}
			b.ReportAllocs()
			var affinity, solve, masks time.Duration
			for b.Loop() {
				s.Seq++
				res := stepOf(b, tr, s, p, nil)
				affinity += res.Solve.AffinityTime
				solve += res.Solve.SolveTime
				masks += res.Solve.MaskTime
			}
			for name, d := range map[string]time.Duration{"affinity": affinity, "solve": solve, "masks": masks} {
				b.ReportMetric(float64(d.Microseconds())/1e3/float64(b.N), name+"-ms/op")
			}
		})
	}
}
