package mot

import (
	"errors"
	"image"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// streetDetector finds red and blue; it counts the frames that it is shown from first on.
type streetDetector struct {
	first, every int
	looks        int
	also         []features.Detection // in every frame
	err          error
}

func (d *streetDetector) Detect(dst []features.Detection, _ []byte, _, _ int, _ float64) ([]features.Detection, error) {
	n := d.first + d.every*d.looks
	d.looks++
	dst = append(dst[:0], d.also...)
	for _, of := range []func(int) (int, bool){red, blue} {
		if left, there := of(n); there {
			box := image.Rect(left, top, left+wide, top+tall).Intersect(image.Rect(0, 0, width, height))
			dst = append(dst, features.Detection{Box: box, Class: "person", Score: 0.8})
		}
	}
	return dst, d.err
}

// persons begin by themselves.
var persons = marking.Config{Classes: []string{"person"}}

// Two that a detector finds have masks from their second frame on, and one number each.
func TestRunAutomatic(t *testing.T) {
	const frames = 20
	opt := streetOptions(t, frames)
	parked := features.Detection{Box: image.Rect(0, 0, 20, 20), Class: "car", Score: 0.9}
	d := &streetDetector{first: 1, every: 1, also: []features.Detection{parked}}
	report, err := RunAutomatic(t.Context(), opt, Automatic{Detector: d, Every: 1, Marking: persons})
	require.NoError(t, err)
	if d.looks != frames || len(report.Detected) < frames {
		t.Errorf("%d looks, %d detections; want %d, and more", d.looks, len(report.Detected), frames)
	}
	for _, f := range report.Detected {
		if f.Box == boxOf(parked.Box) {
			t.Fatalf("frame %d: the car is among the persons that plain ByteTrack is given", f.Frame)
		}
	}
	if f := report.Figures; f.MOTA == nil || *f.MOTA < 0.8 || *f.IDF1 < 0.8 || f.IDSwitches > 0 {
		t.Errorf("figures %+v of %+v; want nearly all to be found", f, report.Boxes)
	}
	if d := cmp.Diff(report.Figures, report.ByExtent); d != "" || report.Counted != "extent" {
		t.Errorf("%s by %s; want those of extents", d, report.Counted)
	}
	if report.Milliseconds <= 0 {
		t.Error("no time was taken")
	}
	ids := map[int]bool{}
	for _, b := range report.Boxes {
		ids[b.ID] = true
	}
	assert.Len(t, ids, 2, "ids %v; want two", ids)
	if !slices.IsSortedFunc(report.Boxes, func(a, b Found) int { return a.Frame - b.Frame }) || report.Boxes[0].Frame != 2 {
		t.Error("boxes are not those of frame 2 on, in order")
	}
}

// Whatever labels the frames, what the detector finds later has masks, too.
func TestRunAutomaticModes(t *testing.T) {
	for mode := tracker.Joint; mode <= tracker.Cold; mode++ {
		opt := streetOptions(t, 20)
		opt.Tracker.Mode = mode
		report, err := RunAutomatic(t.Context(), opt, Automatic{Detector: &streetDetector{first: 1, every: 1}, Every: 1, Marking: persons})
		require.NoError(t, err, "%s", mode)
		ids := map[int]bool{}
		for _, b := range report.Boxes {
			ids[b.ID] = true
		}
		if len(ids) < 2 {
			t.Errorf("%s: ids %v; want both", mode, ids)
		}
	}
}

func TestRunAutomaticFaults(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name   string
		change func(*Options, *Automatic)
		want   string
	}{
		{"frames", func(o *Options, _ *Automatic) { o.First, o.Last = 9, 3 }, "frames 9 to 3"},
		{"every", func(_ *Options, a *Automatic) { a.Every = 0 }, "every 0 frames"},
		{"objects", func(_ *Options, a *Automatic) { a.Marking.MaxObjects = -1 }, "-1 objects"},
		{"detector", func(_ *Options, a *Automatic) { a.Detector = &streetDetector{err: boom} }, "frame 1: boom"},
		{"video", func(o *Options, _ *Automatic) { o.Last = 40 }, "ends with frame 6; want 40"},
	} {
		opt, auto := streetOptions(t, 6), Automatic{Detector: &streetDetector{first: 1, every: 5}, Every: 5}
		tt.change(&opt, &auto)
		_, err := RunAutomatic(t.Context(), opt, auto)
		assert.ErrorContains(t, err, tt.want, "%s", tt.name)
	}
}
