package scribbles

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/tracker"
)

// Frames of the demo's clip. testdata/strokes.json has strokes on forty things that the first of them shows, one on
// each: what stands there, who walks by, and parts of the ground and of the walls.
const (
	thingsFirst, thingsFrames = 100, 5
	thingsClip                = "/usr/share/doc/opencv-doc/examples/data/vtest.avi"
)

// A stroke on a thing, and nothing else, marks what is around the stroke, and from one frame to the next the mask stays
// around where it was, and as large as it was.
func TestStrokesOnThings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: forty strokes on five frames of a clip")
	}
	b, err := os.ReadFile("testdata/strokes.json")
	require.NoError(t, err)
	var things []struct {
		Name   string             `json:"name"`
		Width  float64            `json:"width"`
		Points []annotation.Point `json:"points"`
	}
	require.NoError(t, json.Unmarshal(b, &things))
	frames := views(t)
	for _, thing := range things {
		t.Run(thing.Name, func(t *testing.T) {
			tr, err := tracker.New(tracker.Config{})
			require.NoError(t, err)
			ann := &annotation.Annotation{Objects: []annotation.Object{{ID: 1, Scribbles: []annotation.Stroke{{Width: thing.Width, Points: thing.Points}}}}}
			ann.Width, ann.Height = 768, 576
			near := reached(ann.Raster(), ann.Width, ann.Height)
			marked := 0
			var plan features.Plan
			for i, v := range frames {
				a := ann
				if plan = tr.Plan(plan); i == 0 {
					plan = tracker.PlanFor(plan, ann)
				} else {
					a = nil
				}
				scene, err := v.See(plan)
				require.NoError(t, err)
				res, err := tr.Step(t.Context(), scene, nil, a, nil)
				require.NoError(t, err)
				o := res.Objects[0]
				if i == 0 {
					marked = o.Area
				}
				left := 0
				bits := o.Mask.Decode(nil)
				for p, in := range bits {
					if in > 0 && !near[p] {
						left++
					}
				}
				if o.Area == 0 || o.Area > 2*marked || left > o.Area/5 {
					t.Errorf("frame %d: %d pixels with a score of %.2f, %d of them away from where it was; %d were marked", i, o.Area, o.Score, left, marked)
				}
				near = around(bits, ann.Width, ann.Height, 24)
			}
		})
	}
}

// views are the frames, of which the model sees each once.
func views(t *testing.T) (all []*offline.View) {
	model, err := dnn.Embedded(dnn.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { model.Close() })
	n, enough := 0, errors.New("enough")
	err = offline.Play(thingsClip, 0, false)(t.Context(), func(p *offline.Picture) error {
		if n++; n <= thingsFirst {
			return nil
		}
		kept := *p
		kept.BGR = slices.Clone(p.BGR)
		v, err := offline.NewView(model, features.Config{})
		if err != nil {
			return err
		}
		v.Look(n, &kept)
		if all = append(all, v); len(all) == thingsFrames {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	return all
}

// reached is what is near the marks of a raster: one and a half times as far as they are long, or a twentieth of the
// picture, and a superpixel.
func reached(marks []int16, width, height int) []bool {
	bits := make([]uint8, len(marks))
	left, top, right, bottom := width, height, 0, 0
	for p, m := range marks {
		if m >= 0 {
			bits[p] = 1
			left, right = min(left, p%width), max(right, p%width)
			top, bottom = min(top, p/width), max(bottom, p/width)
		}
	}
	return around(bits, width, height, 24+max(width/20, 3*(right-left)/2, 3*(bottom-top)/2))
}

// around is what is as near to bits that are set, in each direction.
func around(bits []uint8, width, height, reach int) []bool {
	near, row := make([]bool, len(bits)), make([]bool, len(bits))
	spread := func(dst []bool, set func(p int) bool, first, step, n int) {
		for _, back := range []bool{false, true} {
			for k, last := 0, -reach-1; k < n; k++ {
				p := first + k*step
				if back {
					p = first + (n-1-k)*step
				}
				if set(p) {
					last = k
				}
				dst[p] = dst[p] || k-last <= reach
			}
		}
	}
	for y := range height {
		spread(row, func(p int) bool { return bits[p] > 0 }, y*width, 1, width)
	}
	for x := range width {
		spread(near, func(p int) bool { return row[p] }, x, width, height)
	}
	return near
}
