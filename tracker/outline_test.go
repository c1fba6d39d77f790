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

// A stroke is what somebody said; the outline does not take it back.
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
