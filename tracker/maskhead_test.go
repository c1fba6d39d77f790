package tracker

import (
	"image"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// knowing is a model without features that tells which of a box is the object.
type knowing struct {
	truth []uint8
	boxes int // asked for
}

func (m *knowing) Features(dst features.Sight, _ []byte, width, height int, _ features.View) (features.Sight, error) {
	one := features.Map{Channels: 1, Width: 1, Height: 1, StrideX: float64(width), StrideY: float64(height), OffsetX: float64(width)/2 - 0.5, OffsetY: float64(height)/2 - 0.5, Data: []float32{1}}
	return features.Sight{Maps: append(dst.Maps[:0], one), MaskFeatures: one}, nil
}

func (m *knowing) MaskLogits(g *features.Grid, _ []features.Map, _ *features.Map) (bool, error) {
	m.boxes++
	g.Cols, g.Rows = 16, 16
	g.Logits = g.Logits[:0]
	for i := range g.Cols * g.Rows {
		x := int(g.X0 + (float64(i%g.Cols)+0.5)/float64(g.Cols)*(g.X1-g.X0))
		y := int(g.Y0 + (float64(i/g.Cols)+0.5)/float64(g.Rows)*(g.Y1-g.Y0))
		logit := float32(-5)
		if image.Pt(x, y).In(image.Rect(0, 0, testWidth, testHeight)) && m.truth[y*testWidth+x] != 0 {
			logit = 5
		}
		g.Logits = append(g.Logits, logit)
	}
	return true, nil
}

// blind is a model of the same features that cannot tell.
type blind struct{ features.Model }

// Of two things in the box of a track the mask head says which one is the object, in every frame, that in which it is marked included:
// it is believed though the object spans less than half of the box.
func TestMaskHeadTells(t *testing.T) {
	balls := []disc{{60, 60, 16, red}, {95, 60, 16, [3]byte{60, 180, 60}}}
	box := balls[0].box().Union(balls[1].box())
	follow := func(m features.Model, know *knowing) (least, last float64) {
		least = 1
		ex, err := features.New(features.Config{Superpixels: 600}, m)
		if err != nil {
			t.Fatal(err)
		}
		tr := newTracker(t, Config{})
		for i := range uint64(4) {
			bgr, truth := draw(i, balls...)
			know.truth = truth[0]
			s := &features.Scene{Seq: i}
			if err := ex.Extract(s, bgr, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			var a *annotation.Annotation
			if i == 0 {
				a = &annotation.Annotation{Width: testWidth, Height: testHeight, Automatic: true, Objects: []annotation.Object{
					{ID: 1, Label: "disc", Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}},
				}}
			}
			asked := know.boxes
			res, err := tr.Step(t.Context(), s, nil, a, []Extent{{ID: 1, Box: box, Detected: box}})
			if err != nil {
				t.Fatal(err)
			}
			last = iou(res.Objects[0].Mask, truth[0])
			least = min(least, last)
			if _, tells := m.(features.Masker); tells == (know.boxes == asked) {
				t.Errorf("frame %d: asked for %d boxes; the model tells: %t", i, know.boxes-asked, tells)
			}
		}
		return least, last
	}
	know := &knowing{}
	if least, _ := follow(know, know); least < 0.9 {
		t.Errorf("IoU %.2f in one frame; want .9 in all", least)
	}
	if _, last := follow(blind{know}, know); last > 0.7 {
		t.Errorf("without a mask head IoU %.2f: the test says nothing", last)
	}
}

// A detector's mask tells so in place of the mask head, also in a scene that is made anew.
func TestDetectorsMaskTells(t *testing.T) {
	balls := []disc{{60, 60, 16, red}, {95, 60, 16, [3]byte{60, 180, 60}}}
	box := balls[0].box().Union(balls[1].box())
	know := &knowing{truth: make([]uint8, testWidth*testHeight)} // that there is nothing
	for _, remade := range []bool{false, true} {
		for name, m := range map[string]features.Model{"with a mask head": know, "without": blind{know}} {
			ex, err := features.New(features.Config{Superpixels: 600}, m)
			if err != nil {
				t.Fatal(err)
			}
			tr := newTracker(t, Config{})
			for i := range uint64(4) {
				bgr, truth := draw(i, balls...)
				mask := &features.Grid{X1: testWidth, Y1: testHeight, Cols: testWidth, Rows: testHeight}
				for _, bit := range truth[0] {
					mask.Logits = append(mask.Logits, 10*float32(bit)-5)
				}
				var a *annotation.Annotation
				if i == 0 {
					a = &annotation.Annotation{Width: testWidth, Height: testHeight, Automatic: true, Objects: []annotation.Object{
						{ID: 1, Label: "disc", Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}},
					}}
				}
				s := &features.Scene{Seq: i}
				if err := ex.Extract(s, bgr, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
					t.Fatal(err)
				}
				picture := photoOf(s)
				if remade && i > 0 {
					s = &features.Scene{Seq: i}
					if err := ex.Extract(s, bgr, testWidth, testHeight, features.Plan{}); err != nil {
						t.Fatal(err)
					}
				}
				s.Found = []features.Detection{{Box: box, Class: "disc", Score: 0.9, Mask: mask}}
				res, err := tr.Step(t.Context(), s, picture, a, []Extent{{ID: 1, Box: box, Detected: box}})
				if err != nil {
					t.Fatal(err)
				}
				if got := iou(res.Objects[0].Mask, truth[0]); got < 0.9 {
					t.Errorf("%s, remade %t, frame %d: IoU %.2f; want .9", name, remade, i, got)
				}
			}
		}
	}
	if know.boxes > 0 {
		t.Errorf("the mask head was asked for %d boxes", know.boxes)
	}
}

// Of an object in two parts, with something else between them, the box that it is marked by is tight. The mask head says what is between.
func TestMaskHeadMarks(t *testing.T) {
	balls := []disc{{50, 60, 14, red}, {110, 60, 14, red}, {80, 60, 13, [3]byte{60, 180, 60}}}
	bgr, truth := draw(0, balls...)
	object := make([]uint8, len(truth[0]))
	for i := range object {
		object[i] = truth[0][i] | truth[1][i]
	}
	box := balls[0].box().Union(balls[1].box())
	know := &knowing{truth: object}
	marked := func(m features.Model) float64 {
		ex, err := features.New(features.Config{Superpixels: 600}, m)
		if err != nil {
			t.Fatal(err)
		}
		var s features.Scene
		if err := ex.Extract(&s, bgr, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		a := &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: []annotation.Object{
			{ID: 1, Label: "two", Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}},
		}}
		return iou(step(t, newTracker(t, Config{}), &s, a).Objects[0].Mask, object)
	}
	with, without := marked(know), marked(blind{know})
	if with < 0.9 || without > with-0.1 {
		t.Errorf("IoU %.2f with a mask head, %.2f without; want .9, and .1 less without", with, without)
	}
}

// Where the object goes on in the same colour as something else, its outline is where the mask head sees it, to a cell and not to a superpixel.
func TestMaskHeadOutlines(t *testing.T) {
	ball := disc{80, 60, 30, red}
	know := &knowing{}
	ex, err := features.New(features.Config{Superpixels: 150}, know)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTracker(t, Config{})
	off, cells := 0, 0
	for i := range uint64(6) {
		const middle = 75
		bgr, truth := draw(i, ball)
		half := truth[0]
		for at := range half {
			if at%testWidth >= middle {
				half[at] = 0
			}
		}
		know.truth = half
		box := image.Rect(50, 30, middle, 90)
		s := &features.Scene{Seq: i}
		if err := ex.Extract(s, bgr, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		var a *annotation.Annotation
		if i == 0 {
			a = &annotation.Annotation{Width: testWidth, Height: testHeight, Automatic: true, Objects: []annotation.Object{{ID: 1, Label: "half", Box: []float64{50, 30, middle, 90}}}}
		}
		res, err := tr.Step(t.Context(), s, nil, a, []Extent{{ID: 1, Box: box, Detected: box}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			continue
		}
		got := res.Objects[0].Mask.Decode(nil)
		for y := 40; y < 80; y++ {
			edge := 0
			for x := range testWidth {
				if got[y*testWidth+x] != 0 {
					edge = x + 1
				}
			}
			off, cells = off+max(edge-middle, middle-edge), cells+1
		}
	}
	if mean := float64(off) / float64(cells); mean > 1.5 {
		t.Errorf("the outline is %.2f pixels off in the mean; want 1.5 at most, of cells of 2", mean)
	}
}

// What people take off an object stays off it, though the mask head has it for a part of the thing; until it is marked by a box anew.
func TestMaskHeadLeavesCorrections(t *testing.T) {
	balls := []disc{{60, 60, 16, red}, {95, 60, 16, [3]byte{60, 180, 60}}}
	box := balls[0].box().Union(balls[1].box())
	know := &knowing{}
	ex, err := features.New(features.Config{Superpixels: 600}, know)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTracker(t, Config{})
	for i := range uint64(9) {
		bgr, truth := draw(i, balls...)
		both := make([]uint8, len(truth[0]))
		for at := range both {
			both[at] = truth[0][at] | truth[1][at]
		}
		know.truth = both
		s := &features.Scene{Seq: i}
		if err := ex.Extract(s, bgr, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
			t.Fatal(err)
		}
		var a *annotation.Annotation
		switch i {
		case 0, 6:
			a = &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: []annotation.Object{
				{ID: 1, Label: "both", Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}},
			}}
		case 2:
			a = &annotation.Annotation{
				Width: testWidth, Height: testHeight, Objects: []annotation.Object{{ID: 1}},
				Background: stroke(20, annotation.Point{90, 60}, annotation.Point{100, 60}),
			}
		}
		asked := know.boxes
		res, err := tr.Step(t.Context(), s, nil, a, []Extent{{ID: 1, Box: box, Detected: box}})
		if err != nil {
			t.Fatal(err)
		}
		want := both
		if i >= 2 && i < 6 {
			want = truth[0]
			if know.boxes > asked {
				t.Errorf("frame %d: the mask head was asked", i)
			}
		}
		if got := iou(res.Objects[0].Mask, want); got < 0.8 {
			t.Errorf("frame %d: IoU %.2f; want .8", i, got)
		}
	}
}
