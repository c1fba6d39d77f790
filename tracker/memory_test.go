package tracker

import (
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/recall"
)

// mixed is a share of the way from one colour to another.
func mixed(a, b [3]uint8, share float64) [3]uint8 {
	var c [3]uint8
	for k := range c {
		c[k] = uint8(float64(a[k]) + share*(float64(b[k])-float64(a[k])))
	}
	return c
}

// An object that changed its colour since it was annotated, went out of sight, and
// comes back somewhere else is known by what it looked like last.
func TestComesBackAsItWasLastSeen(t *testing.T) {
	const fade, hide, stay = 30, 20, 5
	tr := newTracker(t, Config{})
	for i := range uint64(fade + hide + stay) {
		var discs []disc
		switch {
		case i < fade:
			discs = []disc{{40 + 2*float64(i), 60, 22, mixed(red, blue, float64(i)/fade)}}
		case i >= fade+hide:
			discs = []disc{{50, 40, 22, blue}}
		}
		s, truth := film(t, i, discs...)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		o := step(t, tr, s, a).Objects[0]
		if n := len(tr.recall.Remembered()); n > memory {
			t.Fatalf("frame %d: %d frames remembered; want at most %d", i, n, memory)
		}
		switch {
		case len(discs) == 0 && o.Area > 0:
			t.Fatalf("frame %d: %d pixels of an object that is not there", i, o.Area)
		case i < fade, i >= fade+hide+2:
			if j := iou(o.Mask, truth[0]); j < 0.8 {
				t.Fatalf("frame %d: %s, IoU %.2f; want at least 0.8", i, o.State, j)
			}
		}
	}
}

// What slides before an object and looks like nothing seen before is not the object.
func TestWhatIsNewIsNotTheObject(t *testing.T) {
	tr := newTracker(t, Config{})
	for i := range uint64(30) {
		discs := []disc{{80, 60, 20, red}}
		if i >= 5 {
			discs = append(discs, disc{-60 + 35*min(4, float64(i)-4), 60, 38, blue})
		}
		if i >= 20 {
			discs = discs[:1]
		}
		s, truth := film(t, i, discs...)
		var a *annotation.Annotation
		if i == 0 {
			var err error
			if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		}
		o := step(t, tr, s, a).Objects[0]
		switch {
		case i >= 8 && i < 20: // covered
			if o.Area > 0 {
				t.Fatalf("frame %d: %s with %d pixels behind the blue disc; want none", i, o.State, o.Area)
			}
		case i < 5 || i > 21:
			if j := iou(o.Mask, truth[0]); j < 0.85 {
				t.Fatalf("frame %d: %s, IoU %.2f in the open; want at least 0.85", i, o.State, j)
			}
		}
	}
}

// Correcting one object leaves the memory of another, which is out of sight meanwhile,
// as it is; but what the corrected one looked like is not believed any more.
func TestCorrectionForgetsTheCorrectedAlone(t *testing.T) {
	const fade, correct, back, end = 30, 36, 44, 50
	x := func(i uint64) float64 { return 40 + 2*float64(min(i, fade)) }
	for _, tt := range []struct {
		name    string
		objects []annotation.Object
		ago     uint64
	}{
		{name: "a stroke on it", objects: []annotation.Object{{ID: 1, Scribbles: stroke(5, annotation.Point{30, 24})}}},
		{name: "strokes on the background"},
		{name: "strokes on the background of an earlier frame", ago: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTracker(t, Config{})
			for i := range uint64(end) {
				discs := []disc{{30, 24, 14, [3]uint8{40, 200, 220}}, {x(i), 85, 20, mixed(red, blue, float64(min(i, fade))/fade)}}
				if i > fade && i < back {
					discs = discs[:1]
				} else if i >= back {
					discs[1].x = 60
				}
				s, truth := film(t, i, discs...)
				var a *annotation.Annotation
				switch i {
				case 0:
					a = empty()
					a.Mask = slices.Clone(truth[0])
					for p, b := range truth[1] {
						a.Mask[p] += 2 * b
					}
					a.Objects = []annotation.Object{{ID: 1}, {ID: 2}}
				case correct:
					a = empty()
					a.Objects = tt.objects
					frame := i - tt.ago
					a.Frame = &frame
					a.Background = stroke(5, annotation.Point{30, 30}, annotation.Point{30, 33})
				}
				res := step(t, tr, s, a)
				if i == correct && tt.ago == 0 {
					for _, s := range tr.recall.Remembered() {
						if s.Knows(1) || !s.Knows(2) {
							t.Fatalf("frame %d is remembered to show the corrected object: %t, the other: %t; want only the other", s.Seq, s.Knows(1), s.Knows(2))
						}
					}
				}
				o := res.Objects[1]
				if hidden := i > fade && i < back; hidden && o.Area > 0 {
					t.Fatalf("frame %d: %d pixels of an object that is not there", i, o.Area)
				} else if i < fade || i > back+2 {
					if j := iou(o.Mask, truth[1]); j < 0.8 {
						t.Fatalf("frame %d: %s, IoU %.2f; want at least 0.8", i, o.State, j)
					}
				}
			}
		})
	}
}

// More objects than mostAnchors, each annotated on a frame of its own, which is all
// that shows what it looks like: each is found when it comes back, by its looks. The
// classifier, which may refuse what is found, has no say here.
func TestEveryObjectKeepsAnAnnotatedFrame(t *testing.T) {
	const stay = 4
	colours := [][3]uint8{
		{0, 0, 255}, {255, 0, 0}, {0, 255, 255}, {255, 0, 255}, {255, 255, 0},
		{0, 255, 0}, {0, 0, 110}, {110, 0, 0}, {0, 128, 255}, {255, 255, 255},
	}
	tr := newTracker(t, Config{Mode: Affinity})
	for i := range uint64(2 * stay * len(colours)) {
		k := int(i/stay) % len(colours)
		s, truth := film(t, i, disc{30 + 25*float64(k%5), 35 + 50*float64(k/5), 14, colours[k]})
		again, first, last := i >= uint64(stay*len(colours)), i%stay == 0, i%stay == stay-1
		var a *annotation.Annotation
		if !again && first {
			a = byMask(t, truth[0], uint32(k+1))
		}
		o := step(t, tr, s, a).Objects[k]
		if !again || !last {
			continue
		}
		if j := iou(o.Mask, truth[0]); j < 0.3 { // so soon it may lack its outer superpixels
			t.Errorf("object %d is back: %s, IoU %.2f; want at least 0.3", k+1, o.State, j)
		}
	}
	if n := len(tr.frames.anchors); n != len(colours) {
		t.Errorf("%d annotated frames kept; want %d, one an object", n, len(colours))
	}
}

func TestDropAnchors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		defined [][]int32 // by annotated frame, the oldest first
		want    []uint64
	}{
		{"as many as may be", [][]int32{{1}, {}, {}}, []uint64{0, 1, 2}},
		{"the oldest correction goes", [][]int32{{1}, {}, {}, {}}, []uint64{0, 2, 3}},
		{"the oldest of those that define the same goes", [][]int32{{1}, {1}, {1}, {1}}, []uint64{1, 2, 3}},
		{"what another defines, too", [][]int32{{1}, {2}, {3, 1}, {1, 4}}, []uint64{1, 2, 3}},
		{"more than may be", [][]int32{{1}, {2}, {3}, {4}}, []uint64{0, 1, 2, 3}},
		{"the newest stays", [][]int32{{1}, {2}, {3}, {}}, []uint64{0, 1, 2, 3}},
		{"what was too many goes later", [][]int32{{1}, {}, {}, {2}, {}}, []uint64{0, 3, 4}},
		{"a detector's stay", [][]int32{{-2}, {1}, {}, {}, {-2}, {}}, []uint64{0, 1, 3, 4, 5}},
		{"a detector's do not count", [][]int32{{1}, {-2}, {}, {-2}, {}}, []uint64{0, 1, 2, 3, 4}},
	} {
		var w frames
		for k, labels := range tt.defined {
			f := &frame{Sighting: &recall.Sighting{}}
			f.automatic = len(labels) > 0 && labels[0] < 0
			f.Picture, f.Marks.Defined = &picture.Picture{Seq: uint64(k)}, labels
			w.anchors = append(w.anchors, f)
		}
		w.dropAnchors(3, false)
		var got []uint64
		for _, f := range w.anchors {
			got = append(got, f.Seq)
		}
		if !slices.Equal(got, tt.want) || len(w.free) != len(tt.defined)-len(tt.want) {
			t.Errorf("%s: %d are left, %d recycled; want %d", tt.name, got, len(w.free), tt.want)
		}
	}
}

// However often a detector marks objects, the latest of the frames is kept, whatever those before it alone
// define, and later ones do not look it up; what people marked stays.
func TestDetectorsAnchors(t *testing.T) {
	tr := newTracker(t, Config{})
	last := 0
	for i := range uint64(12) {
		at := disc{40 + 3*float64(i), 60, 22, red}
		fixed := disc{30, 25, 16, [3]byte{40, 220, 220}}
		s, truth := film(t, i, at, disc{120, 30, 18, blue}, fixed)
		of := map[uint32][]uint8{1: truth[1], 300: truth[0], 301: truth[2]}
		var a *annotation.Annotation
		switch {
		case i == 0:
			var err error
			if a, err = annotation.FromMask(truth[1], testWidth, testHeight, 1, ""); err != nil {
				t.Fatal(err)
			}
		case i%2 == 0:
			a = &annotation.Annotation{Width: testWidth, Height: testHeight, Automatic: true, Objects: []annotation.Object{
				{ID: 300, Label: "disc", Box: []float64{at.x - at.r, at.y - at.r, at.x + at.r, at.y + at.r}},
			}}
			if i == 2 {
				a.Objects = append(a.Objects, annotation.Object{
					ID: 301, Label: "disc", Box: []float64{fixed.x - fixed.r, fixed.y - fixed.r, fixed.x + fixed.r, fixed.y + fixed.r},
				})
			}
		}
		res := step(t, tr, s, a)
		for _, source := range tr.frames.sources(i + 1) {
			if !source.Latest && source.Reference != &tr.frames.anchors[0].Reference {
				t.Fatalf("frame %d is followed by one that looks up what a detector annotated", i)
			}
		}
		if a != nil && a.Automatic {
			if res.Solve.Iterations > tr.cfg.MaxIter {
				t.Fatalf("frame %d: %d iterations; want at most %d, as of any frame", i, res.Solve.Iterations, tr.cfg.MaxIter)
			}
			last = len(tr.frames.anchors)
			if n := len(tr.frames.recent); n > solvedFrames {
				t.Fatalf("frame %d: %d frames in the window; want at most %d", i, n, solvedFrames)
			}
			if last > 2 || tr.frames.anchors[0].Seq != 0 {
				t.Fatalf("frame %d: %d annotated frames are kept, the first of them %d; want that of frame 0 and at most one", i, last, tr.frames.anchors[0].Seq)
			}
		}
		for _, o := range res.Objects {
			if j := iou(o.Mask, of[o.ID]); j < 0.8 {
				t.Errorf("frame %d: object %d has an IoU of %.2f; want at least 0.8", i, o.ID, j)
			}
		}
	}
	if last != 2 {
		t.Errorf("%d annotated frames are kept in the end; want 2", last)
	}
}
