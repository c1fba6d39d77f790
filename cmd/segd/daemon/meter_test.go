package daemon

import (
	"image"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline"
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
			if err != nil {
				t.Fatal(err)
			}
			scene := &features.Scene{}
			if err := e.Extract(scene, make([]byte, 3*width*height), width, height, tt.plan); err != nil {
				t.Fatal(err)
			}
			registry := prometheus.NewRegistry()
			meter{metrics.New(registry).Camera("gate")}.Extracted(scene)
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
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

// Each count of a camera is told as what it is, and each in one place.
func TestMeterOfStatus(t *testing.T) {
	snap := pipeline.Snapshot{
		Up: true, Published: 1, Dropped: 5 + 6 + 4, Failed: 3, Unleased: 4, Unseen: 7, Damaged: 8,
		Reconnects: 9, Restarts: 10, PublishFailures: 11,
		DroppedBefore: [pipeline.Stages]uint64{pipeline.StageFeatures: 5, pipeline.StageTrack: 6, pipeline.StageView: 7},
		Missed: [ingest.Misses]uint64{
			ingest.MissLost: 12, ingest.MissUndecodable: 13, ingest.MissDisposable: 14, ingest.MissOverflow: 15, ingest.MissNoKey: 16,
		},
		Objects: []objects.Object{{ID: 1, Label: "Ada", State: tracker.Visible, Area: 17}, {ID: 2, Label: "Bob", State: tracker.Lost, Owner: objects.Detector}, {ID: 3, Dormant: true, Owner: objects.Detector}},
		Zones:   zones.Counts{Zones: []zones.ZoneCount{{Name: "yard", Objects: 18, Entries: 19, Stays: 20}}, Lines: []zones.LineCount{{Name: "gate", AToB: 21, BToA: 22}}},
	}
	want := metrics.Status{
		Up: true, Damaged: 8, Unseen: 7, Reconnects: 9, Restarts: 10, PublishFailures: 11, Automatic: 1,
		Objects: []metrics.Object{{ID: 1, Label: "Ada", State: metrics.Visible, Area: 17}, {ID: 2, Label: "Bob", State: metrics.Lost}, {ID: 3, State: metrics.Visible}},
		Zones:   []metrics.Zone{{Name: "yard", Objects: 18, Entries: 19, Stays: 20}}, Lines: []metrics.Line{{Name: "gate", AToB: 21, BToA: 22}},
	}
	for outcome, n := range map[metrics.Outcome]uint64{
		metrics.Published: 1, metrics.Failed: 3, metrics.Unleased: 4, metrics.DroppedFeatures: 5, metrics.DroppedTracker: 6,
		metrics.NotReceived: 12, metrics.Undecodable: 13, metrics.SkippedDisposable: 14, metrics.SkippedOverflow: 15, metrics.SkippedNoKey: 16,
	} {
		want.Frames[outcome] = n
	}
	if diff := cmp.Diff(want, cameraStatus(snap)); diff != "" {
		t.Error(diff)
	}
}

// Objects are counted by what labels them, also where no window is solved.
func TestMeterOfSolves(t *testing.T) {
	registry := prometheus.NewRegistry()
	meter{metrics.New(registry).Camera("gate")}.Solved(tracker.Solve{Report: tracker.Report{Unlearnt: 7, Estimated: 2}})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
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
