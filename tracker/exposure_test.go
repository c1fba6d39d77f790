package tracker

import (
	"math"
	"testing"

	"github.com/segd/segd/features"
)

// From the mark on the model is shown what stands still as it was in the frame before, whatever the
// light, and nothing but pictures as they are without objects.
func TestPlansFollowTheLight(t *testing.T) {
	tr := newTracker(t, Config{})
	at := disc{40, 50, 12, red}
	see := func(seq uint64, dimmed float64) *features.Scene {
		t.Helper()
		pix, _ := draw(seq, at)
		for i, v := range pix {
			pix[i] = byte(float64(v) * dimmed)
		}
		plan := tr.Plan(features.Plan{})
		plan.Whole = true
		s := &features.Scene{Seq: seq}
		if err := shotScene(s, pix, plan); err != nil {
			t.Fatal(err)
		}
		return s
	}
	step(t, tr, see(0, 1), nil)
	s := see(1, 0.7)
	if s.Light.Exposure != (features.Exposure{}) {
		t.Errorf("without objects a frame is shown by %+v", s.Light.Exposure)
	}
	_, truth := draw(1, at)
	step(t, tr, s, byMask(t, truth[0], 1)) // the light it is marked in
	for i, dimmed := range []float64{0.7, 0.5, 0.9} {
		s = see(uint64(2+i), dimmed)
		// At 128 by the last digit: gain and gamma make up for each other.
		if got, want := math.Log(s.Light.Exposure.At(128)/128), math.Log(0.7/dimmed); math.Abs(got-want) > 0.15*math.Abs(want)+0.02 {
			t.Errorf("dimmed to %v, where the mark's frame was to 0.7, a frame is shown brighter by %.3f; want %.3f", dimmed, got, want)
		}
		step(t, tr, s, nil)
	}
	tr.Remove(1)
	if s = see(5, 1); s.Light.Exposure != (features.Exposure{}) {
		t.Errorf("once nothing is followed a frame is shown by %+v", s.Light.Exposure)
	}
}
