package tracker

import (
	"testing"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// Superpixels that are nearly squares cannot follow a disc; pixels can.
func TestOutlinesFollowThePixels(t *testing.T) {
	follow := func(pixels bool) float64 {
		tr := newTracker(t, Config{})
		sum := 0.0
		for i := range uint64(6) {
			s, truth := filmAs(t, features.Config{Superpixels: 300, Compactness: 300}, i, disc{40 + 4*float64(i), 50, 22, red})
			if !pixels {
				p := &s.Patches[0]
				for at, k := range p.Labels {
					for c, v := range s.Lab[3*k : 3*k+3] {
						p.Pixels[3*at+c] = int16(v * features.LabUnit)
					}
				}
			}
			var a *annotation.Annotation
			if i == 0 {
				var err error
				if a, err = annotation.FromMask(truth[0], testWidth, testHeight, 1, ""); err != nil {
					t.Fatal(err)
				}
			}
			if o := step(t, tr, s, a).Objects[0]; i > 0 {
				sum += iou(o.Mask, truth[0]) / 5
			}
		}
		return sum
	}
	coarse, fine := follow(false), follow(true)
	if fine < 0.97 || fine <= coarse {
		t.Errorf("mean IoU %.3f with the pixels' colours, %.3f without; want more, and at least 0.97", fine, coarse)
	}
}

// An object in the colours of the floor has the outline that the classifier says by what
// the model saw. Where none is estimated, it has that of superpixels.
func TestOutlinesFollowTheClassifier(t *testing.T) {
	follow := func(mode Mode) float64 {
		tr := newTracker(t, Config{Mode: mode})
		sum := 0.0
		for i := range uint64(6) {
			pix, _ := draw(i)
			_, truth := draw(i, disc{40 + 4*float64(i), 50, 22, red})
			ex, err := features.New(features.Config{Superpixels: 300, Compactness: 300}, seer(truth[0]))
			if err != nil {
				t.Fatal(err)
			}
			s := &features.Scene{Seq: i}
			if err := ex.Extract(s, pix, testWidth, testHeight, features.Plan{Whole: true}); err != nil {
				t.Fatal(err)
			}
			var a *annotation.Annotation
			if i == 0 {
				a = byMask(t, truth[0], 1)
			}
			if o := step(t, tr, s, a).Objects[0]; i > 0 {
				sum += iou(o.Mask, truth[0]) / 5
			}
		}
		return sum
	}
	without, with := follow(Affinity), follow(Joint)
	if with < 0.95 || with < without+0.1 {
		t.Errorf("mean IoU %.3f with the classifier, %.3f without; want .1 more, and at least 0.95", with, without)
	}
}

// seer is a model that sees which pixels are an object's.
type seer []uint8

func (m seer) Features(dst features.Sight, _ []byte, width, height int, _ features.View) (features.Sight, error) {
	seen := features.Map{Channels: 1, Width: width, Height: height, StrideX: 1, StrideY: 1}
	for _, v := range m {
		seen.Data = append(seen.Data, float32(v))
	}
	return features.Sight{Maps: append(dst.Maps[:0], seen)}, nil
}

// A stroke is what a user said; the outline does not take it back.
func TestMarkedPixelsStay(t *testing.T) {
	s, _ := film(t, 0, disc{80, 60, 24, red})
	a := scribbles()
	// Across the disc's border on to the floor.
	a.Objects[0].Scribbles[0].Points = []annotation.Point{{80, 60}, {112, 60}}
	a.Objects[0].Scribbles[0].Width = 3
	bits := step(t, newTracker(t, Config{}), s, a).Objects[0].Mask.Decode(nil)
	for x := 80; x < 112; x++ {
		if bits[60*testWidth+x] == 0 {
			t.Fatalf("pixel (%d, 60) under the stroke is not in the mask", x)
		}
	}
}
