package clip

import (
	"context"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
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

// Add adds share·t.
func (s *StageMS) Add(t StageMS, share float64) {
	other := t.parts()
	for i, v := range s.parts() {
		*v += share * *other[i]
	}
}

// Total is a frame's time.
func (s StageMS) Total() float64 {
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

// Follower is what a camera has: features and a tracker.
type Follower struct {
	model     *timedModel
	extractor *features.Extractor
	tracker   *tracker.Tracker
	scene     features.Scene
}

// NewFollower takes a nil model for colours alone.
func NewFollower(model features.Model, f features.Config, t tracker.Config) (*Follower, error) {
	w := &Follower{}
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

// Step labels a picture and says what it took.
func (w *Follower) Step(ctx context.Context, seq int, p *Picture, ann *annotation.Annotation) (*tracker.Result, StageMS, error) {
	var took StageMS
	start := time.Now()
	if w.model != nil {
		w.model.spent = 0
	}
	if err := w.extractor.Extract(&w.scene, p.BGR, p.Width, p.Height); err != nil {
		return nil, took, err
	}
	if w.tracker.Searching() {
		if err := w.extractor.Coarsen(&w.scene, p.BGR); err != nil {
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
