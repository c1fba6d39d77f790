package davis

import (
	"context"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// following is what one run over a take gives, frame by frame.
type following struct {
	Scores
	excess  []float64 // change since the frame before, beyond the truth's
	false   [][3]int  // pixels of the mask that are not the object, by distance
	seen    []int     // pixels of the truth
	area    []int     // pixels of the mask
	score   []float64
	truth   []int   // pixels of the undisturbed truth
	motion  float64 // of the camera from frame to frame, the median
	others  int     // objects marked beside
	stageMS StageMS // mean
}

// objectID is the followed object's.
const objectID = 1

// follow runs the tracker over a take as over a camera: the first frame's truth, or what was detected
// there, is the annotation. d may disturb every frame; the truth is then what is left to be
// seen.
func follow(ctx context.Context, opt *Options, t *take, d disturbance, frame func(int, Frame) error, tick func()) (*following, error) {
	w, err := offline.NewCamera(opt.Model, opt.Features, opt.Tracker, marking.Config{Classes: opt.Beside}, nil)
	if err != nil {
		return nil, err
	}
	others := map[uint32]bool{}
	out := &following{}
	var bits []uint8
	var camera gauge
	var motions []float64
	var lastMask, lastTruth mask.RLE
	for i := range t.Images {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := t.Read(i)
		if err != nil {
			return nil, err
		}
		out.truth = append(out.truth, mask.Encode(p.Truth, p.Width, p.Height).Area())
		if m, ok := camera.step(p); ok {
			motions = append(motions, m)
		}
		var ann *annotation.Annotation
		if i == 0 {
			if ann, err = t.annotation(p); err != nil {
				return nil, err
			}
		}
		if d != nil {
			d.apply(i, p)
		}
		// Frame 0 is the object's.
		res, err := w.Step(ctx, i, p, ann, len(opt.Beside) > 0 && i%besideEvery == 1)
		if err != nil {
			return nil, err
		}
		for _, o := range res.Objects {
			if o.ID != objectID {
				others[o.ID] = true
			}
		}
		object := res.Objects[slices.IndexFunc(res.Objects, func(o tracker.Object) bool { return o.ID == objectID })]
		got, truth := object.Mask, mask.Encode(p.Truth, p.Width, p.Height)
		bits = got.Decode(bits)
		out.add(bits, p.Truth, p.Width, p.Height, t.reach(p))
		out.false = append(out.false, countFalse(bits, p.Truth, p.Width, p.Height, t.reach(p)))
		out.seen = append(out.seen, truth.Area())
		out.area = append(out.area, got.Area())
		out.score = append(out.score, object.Score)
		out.stageMS.Add(res.Took, 1/float64(len(t.Images)))
		if i == 0 {
			lastMask, lastTruth = got, truth
		}
		out.excess = append(out.excess, mask.IoU(lastTruth, truth)-mask.IoU(lastMask, got))
		lastMask, lastTruth = got, truth
		if frame != nil {
			if err := frame(i, Frame{Image: clip.Image(p), Truth: truth, Result: res.Result, J: out.j[i], Took: res.Took}); err != nil {
				return nil, err
			}
		}
		tick()
	}
	out.motion = stats.Median(motions)
	out.others = len(others)
	return out, nil
}
