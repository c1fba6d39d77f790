package eval

import (
	"context"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// StageMS is where a frame's time goes, in milliseconds of wall time. Network runs
// on another core while superpixels grow, so it is a part of Features; the others
// add up to a frame's time.
type StageMS struct {
	Network    float64 `json:"network"`    // the feature model alone
	Features   float64 `json:"features"`   // superpixels, the model beside them, pooling
	Projection float64 `json:"projection"` // standardised and reduced features, and the frame's graph
	Affinity   float64 `json:"affinity"`
	Solve      float64 `json:"solve"`
	Mask       float64 `json:"mask"`
}

func (s *StageMS) parts() [6]*float64 {
	return [...]*float64{&s.Network, &s.Features, &s.Projection, &s.Affinity, &s.Solve, &s.Mask}
}

// add adds share·t.
func (s *StageMS) add(t StageMS, share float64) {
	other := t.parts()
	for i, v := range s.parts() {
		*v += share * *other[i]
	}
}

// total is a frame's time.
func (s StageMS) total() float64 {
	return s.Features + s.Projection + s.Affinity + s.Solve + s.Mask
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timedModel measures a model. Whoever reads spent has seen Extract return.
type timedModel struct {
	features.Model
	spent time.Duration
}

func (m *timedModel) Features(dst []features.Map, bgr []byte, width, height, shrink int) ([]features.Map, error) {
	start := time.Now()
	defer func() { m.spent += time.Since(start) }()
	return m.Model.Features(dst, bgr, width, height, shrink)
}

// follower is what a camera has: features and a tracker.
type follower struct {
	model     *timedModel
	extractor *features.Extractor
	tracker   *tracker.Tracker
	scene     features.Scene
}

func newFollower(model features.Model, f features.Config, t tracker.Config) (*follower, error) {
	w := &follower{}
	if model != nil {
		w.model = &timedModel{Model: model}
		model = w.model
	}
	var err error
	if w.extractor, err = features.New(f, model); err != nil {
		return nil, err
	}
	w.tracker, err = tracker.New(t)
	return w, err
}

// step labels a picture and says what it took.
func (w *follower) step(ctx context.Context, seq int, p *picture, ann *annotation.Annotation) (*tracker.Result, StageMS, error) {
	var took StageMS
	start := time.Now()
	if w.model != nil {
		w.model.spent = 0
	}
	if err := w.extractor.Extract(&w.scene, p.bgr, p.width, p.height); err != nil {
		return nil, took, err
	}
	if w.tracker.Searching() {
		if err := w.extractor.Coarsen(&w.scene, p.bgr); err != nil {
			return nil, took, err
		}
	}
	took.Features = inMS(time.Since(start))
	if w.model != nil {
		took.Network = inMS(w.model.spent)
	}
	w.scene.Seq = uint64(seq)
	start = time.Now()
	res, err := w.tracker.Step(ctx, &w.scene, ann)
	if err != nil {
		return nil, took, err
	}
	all := time.Since(start)
	took.Affinity, took.Solve, took.Mask = inMS(res.Solve.AffinityTime), inMS(res.Solve.SolveTime), inMS(res.Solve.MaskTime)
	took.Projection = inMS(all - res.Solve.AffinityTime - res.Solve.SolveTime - res.Solve.MaskTime)
	return res, took, nil
}

// following is what one run over a clip gives, frame by frame.
type following struct {
	j, f    []float64
	excess  []float64 // change since the frame before, beyond the truth's
	area    []int     // pixels of the mask
	truth   []int     // pixels of the undisturbed truth
	stageMS StageMS   // mean
}

// follow runs the tracker over a clip as over a camera: the first frame's truth is
// the annotation. d may disturb every frame; the truth is then what is left to be
// seen.
func follow(ctx context.Context, opt *DavisOptions, c *davisClip, d disturbance, frame func(int, DavisFrame) error, tick func()) (*following, error) {
	w, err := newFollower(opt.Model, opt.Features, opt.Tracker)
	if err != nil {
		return nil, err
	}
	out := &following{}
	var bits []uint8
	var lastMask, lastTruth mask.RLE
	for i := range c.images {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		read := c.read
		if i == 0 {
			read = func(int) (*picture, error) { return c.first() }
		}
		p, err := read(i)
		if err != nil {
			return nil, err
		}
		out.truth = append(out.truth, mask.Encode(p.truth, p.width, p.height).Area())
		var ann *annotation.Annotation
		if i == 0 {
			if ann, err = annotation.FromMask(p.truth, p.width, p.height, 1, c.name); err != nil {
				return nil, err
			}
		}
		if d != nil {
			d.apply(i, p)
		}
		res, took, err := w.step(ctx, i, p, ann)
		if err != nil {
			return nil, err
		}
		got, truth := res.Objects[0].Mask, mask.Encode(p.truth, p.width, p.height)
		bits = got.Decode(bits)
		j := mask.IoU(got, truth)
		out.j = append(out.j, j)
		out.f = append(out.f, BoundaryF(bits, p.truth, p.width, p.height))
		out.area = append(out.area, got.Area())
		out.stageMS.add(took, 1/float64(len(c.images)))
		if i == 0 {
			lastMask, lastTruth = got, truth
		}
		out.excess = append(out.excess, mask.IoU(lastTruth, truth)-mask.IoU(lastMask, got))
		lastMask, lastTruth = got, truth
		if frame != nil {
			if err := frame(i, DavisFrame{Image: p.image(), Truth: truth, Result: res, J: j}); err != nil {
				return nil, err
			}
		}
		tick()
	}
	return out, nil
}
