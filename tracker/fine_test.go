package tracker

import (
	"context"
	"image"
	"slices"
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

func TestFineFor(t *testing.T) {
	polygon := annotation.Object{ID: 1, Polygon: []annotation.Point{{10, 20}, {30, 20}, {30, 40}, {10, 40}}}
	box := annotation.Object{ID: 2, Box: []float64{50, 50, 140, 110}}
	stroked := annotation.Object{ID: 3, Scribbles: []annotation.Stroke{{Width: 3, Points: []annotation.Point{{5, 5}}}}}
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
			{Rectangle: image.Rect(6, 16, 34, 44), Spacing: fineLeast}, {Rectangle: image.Rect(35, 35, 155, 125), Spacing: 9},
		}},
		{"mask", mask, []features.Region{{Rectangle: image.Rect(78, 58, 92, 72), Spacing: fineLeast}}},
		{"strokes alone", of(stroked), nil},
		{"faulty", of(annotation.Object{ID: 1, Box: []float64{3}}), nil},
	} {
		if got := FineFor(nil, tt.a); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
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
			var regions []features.Region
			if i == 0 {
				var err error
				if ann, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, "ball"); err != nil {
					t.Fatal(err)
				}
				regions = FineFor(regions, ann)
			}
			regions = tr.Fine(regions)
			if at := image.Pt(int(ball.x), 50); finer && i < frames && !at.In(regions[0].Rectangle) {
				t.Errorf("frame %d: finer in %v, where the ball is not", i, regions)
			}
			if !finer {
				regions = nil
			}
			ex, err := features.New(features.Config{Superpixels: 40}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := &features.Scene{Seq: i}
			if err := ex.Extract(s, pix, testWidth, testHeight, features.Plan{Fine: regions}); err != nil {
				t.Fatal(err)
			}
			res, err := tr.Step(context.Background(), s, nil, ann)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 && i < frames {
				mean += iou(res.Objects[0].Mask, truth[0]) / (frames - 1)
			}
		}
		if got := tr.Fine(nil); len(got) > 0 {
			t.Errorf("a lost object is to be seen finer: %v", got)
		}
		return mean
	}
	with, without := follow(true), follow(false)
	if with < 0.8 || without > with-0.1 {
		t.Errorf("IoU %.2f, without superpixels of its own %.2f; want 0.8 at least, and less without", with, without)
	}
}
