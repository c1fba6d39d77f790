package metrics

import (
	"image"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

// What is counted of a scene is the share of the picture that it shows, however large that is
// seen and wherever its parts overlap.
func TestMeterOfScenes(t *testing.T) {
	const width, height = 1500, 1081 // of which superpixels are grown on half, with a pixel more
	all := image.Rect(0, 0, width, height)
	left := image.Rect(0, 0, width/2, height)
	for _, tt := range []struct {
		name  string
		plan  features.Plan
		share float64 // of the pixels
	}{
		{"nothing", features.Plan{}, 0},
		{"all", features.Plan{Whole: true}, 1},
		{"a quarter", features.Plan{Crops: []features.Crop{{Rectangle: image.Rect(200, 100, 200+width/2, 100+height/2)}}}, 0.25},
		{"half, zoomed", features.Plan{Crops: []features.Crop{{Rectangle: left, Zoom: 2}}}, 0.5},
		{"half, twice", features.Plan{Crops: []features.Crop{{Rectangle: left, Zoom: 2}, {Rectangle: left, Zoom: 1}}}, 0.5},
		{"half of all zoomed", features.Plan{Whole: true, Crops: []features.Crop{{Rectangle: left, Zoom: 2}}}, 1},
		{"beyond the picture", features.Plan{Crops: []features.Crop{{Rectangle: all.Inset(-100)}}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := features.New(features.Config{Superpixels: 100}, nil)
			require.NoError(t, err)
			scene := &features.Scene{}
			require.NoError(t, e.Extract(scene, make([]byte, 3*width*height), width, height, tt.plan))
			registry := prometheus.NewRegistry()
			New(registry).Camera("gate").Extracted(scene)
			families, err := registry.Gather()
			require.NoError(t, err)
			sums := map[string]float64{}
			for _, f := range families {
				if h := f.GetMetric()[0].GetHistogram(); h.GetSampleCount() == 1 {
					sums[f.GetName()] = h.GetSampleSum()
				}
			}
			if got, ok := sums["segd_frame_roi_ratio"]; !ok || math.Abs(got-tt.share) > 0.003 || got > 1 {
				t.Errorf("share %v (told: %t), want %v", got, ok, tt.share)
			}
			if got, ok := sums["segd_frame_superpixels"]; !ok || got != float64(scene.N) || (got > 0) != (tt.share > 0) {
				t.Errorf("%v superpixels (told: %t), the scene has %d", got, ok, scene.N)
			}
		})
	}
}

// Objects are counted by what labels them, also where no window is solved.
func TestMeterOfSolves(t *testing.T) {
	registry := prometheus.NewRegistry()
	New(registry).Camera("gate").Solved(tracker.Solve{Report: tracker.Report{Unlearnt: 7, Estimated: 2}})
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "segd_labelled_objects_total" {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "by" {
						counts[l.GetValue()] = m.GetCounter().GetValue()
					}
				}
			}
		}
	}
	if len(counts) != 2 || counts["solver"] != 2 || counts["affinity"] != 7 {
		t.Errorf("counted %v; want 2 by the solver and 7 by affinity", counts)
	}
}
