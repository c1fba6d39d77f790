package davis

import (
	"encoding/json"
	"errors"
	"image"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/tracker"
)

// redDetector finds cliptest's square from the n-th picture that it is shown on, in a box whose sides are
// moved out by grow, and a corner of the picture always.
type redDetector struct {
	from, grow int
	calls      int
	err        error
}

func (d *redDetector) Detect(dst []features.Detection, bgr []byte, width, height int, _ float64) ([]features.Detection, error) {
	d.calls++
	dst = append(dst[:0], features.Detection{Box: image.Rect(0, 48, 24, 64), Class: "dog", Score: 0.9})
	var box image.Rectangle
	for p := range width * height {
		if bgr[3*p+2] > 150 && bgr[3*p+1] < 80 {
			box = box.Union(image.Rect(p%width, p/width, p%width+1, p/width+1))
		}
	}
	if d.calls >= d.from && !box.Empty() {
		dst = append(dst, features.Detection{Box: box.Inset(-d.grow), Class: "cat", Score: 0.5},
			features.Detection{Box: box.Inset(5), Class: "cup", Score: 0.6})
	}
	return dst, d.err
}

func detectedOptions(t *testing.T) Options {
	return Options{Root: cliptest.New(t, "square", 9), Features: features.Config{Superpixels: 200}}
}

// An object begins with the box that is best of those that are of it, in the first frame that has one.
func TestMarkedByDetector(t *testing.T) {
	opt := detectedOptions(t)
	opt.Marks = &redDetector{from: 3, grow: 1}
	first := -1
	opt.Frame = func(_ string, i int, f Frame) error {
		if first < 0 {
			first = i
			if f.J < 0.8 || f.J == 1 {
				t.Errorf("J is %v in the first frame; want that of a mask in a box", f.J)
			}
		}
		return nil
	}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	row := r.Sequences[0]
	if m := row.Mark; m == nil || m.Frame != 2 || m.Class != "cat" || m.Score != 0.5 || m.IoU < 0.8 || m.IoU > 0.95 {
		t.Fatalf("begun with %+v; want the cat of frame 2", m)
	}
	if row.Frames != 5 || row.J < 0.85 || r.Marks != "detector" || r.Beside != "" {
		t.Errorf("%+v; want 5 frames, which follow the square", row)
	}
	text, err := json.Marshal(r)
	if want := `"mark":{"frame":2,"class":"cat","score":0.5,"iou":`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

// A sequence in which the object is not detected is skipped, and so is one of which too little is left.
func TestNotDetected(t *testing.T) {
	opt := detectedOptions(t)
	cliptest.Add(t, opt.Root, "zoo", 9)
	// The square of the first sequence is shown nine times in vain.
	opt.Marks = &redDetector{from: 10}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	if len(r.Sequences) != 1 || r.Sequences[0].Name != "zoo" || len(r.Skipped) != 1 || r.Skipped[0].Name != "square" ||
		!strings.Contains(r.Skipped[0].Reason, "none of 9 frames") {
		t.Errorf("%+v, skipped %+v; want square skipped", r.Sequences, r.Skipped)
	}
	opt.Sequences = []string{"zoo"}
	boom := errors.New("boom")
	for want, d := range map[string]Detector{
		"zoo: the detector finds it in none of 9 frames": &redDetector{from: 10},
		"zoo: 2 frames": &redDetector{from: 8},
		"boom":          &redDetector{err: boom},
	} {
		opt.Marks = d
		if _, err := Run(t.Context(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// What is detected beside the object is followed, too, and the object's figures are its own.
func TestBeside(t *testing.T) {
	opt := detectedOptions(t)
	plain, err := Run(t.Context(), opt)
	require.NoError(t, err)
	opt.Model, opt.Beside = &corner{}, []string{"dog"}
	others := 0
	opt.Frame = func(_ string, i int, f Frame) error {
		for _, o := range f.Result.Objects {
			if o.ID != objectID && o.State == tracker.Visible {
				others++
			}
		}
		return nil
	}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	row := r.Sequences[0]
	if others == 0 || row.Others == nil || *row.Others != 1 || r.Beside != "detector" {
		t.Errorf("the other one is in sight in %d frames, %+v; want one beside", others, row)
	}
	if row.J < plain.Sequences[0].J-0.02 {
		t.Errorf("J %v; want %v as without", row.J, plain.Sequences[0].J)
	}
	_, err = RunMosaic(t.Context(), opt)
	assert.ErrorContains(t, err, "Beside")
}

// corner is a model that sees nothing but a dog in the corner of a picture.
type corner struct{}

func (*corner) Features(dst features.Sight, _ []byte, width, height int, v features.View) (features.Sight, error) {
	dst.Maps = append(dst.Maps[:0], features.Map{Channels: 1, Height: 1, Width: 1, StrideX: float64(width), StrideY: float64(height), Data: []float32{0.5}})
	dst.Found = append(dst.Found[:0], features.Detection{Box: image.Rect(0, 48, 24, 64), Class: "dog", Score: 0.9})
	return dst, nil
}
