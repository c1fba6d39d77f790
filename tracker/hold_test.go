package tracker

import (
	"errors"
	"math"
	"testing"

	"github.com/segd/segd/annotation"
)

// A user draws for a minute: the frame that was held can still be marked when all
// others of its time are gone, and the object is followed from there to the present.
func TestHeldFrameIsAnnotatedLate(t *testing.T) {
	at := func(i uint64) disc {
		return disc{80 + 50*math.Sin(float64(i)/25), 60 + 20*math.Sin(float64(i)/40), 18, red}
	}
	const held, now = 3, 220
	tr := newTracker(t, Config{History: 800_000})
	for i := range uint64(now + 20) {
		s, truth := film(t, i, at(i))
		if i == now {
			_, then := film(t, held, at(held))
			a := byMask(t, then[0], 1)
			frame := uint64(held)
			a.Frame = &frame
			res := step(t, tr, s, a)
			if j := iou(res.Objects[0].Mask, truth[0]); j < 0.8 {
				t.Errorf("frame %d, annotated on %d: IoU %.2f; want above 0.8", i, held, j)
			}
			tr.LetGo(held)
			continue
		}
		for _, o := range step(t, tr, s, nil).Objects {
			if j := iou(o.Mask, truth[0]); j < 0.8 {
				t.Errorf("frame %d: IoU %.2f; want above 0.8", i, j)
			}
		}
		if i == held+2 {
			if err := tr.Hold(held); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tr.Hold(held); !errors.Is(err, annotation.ErrFrame) {
		t.Errorf("the frame that was let go: %v", err)
	}
}
