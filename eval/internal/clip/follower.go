package clip

import (
	"context"
	"slices"
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

// cachedModel measures a model, and keeps what it says of a picture if several are to see
// it. Whoever reads spent has seen Extract return.
type cachedModel struct {
	features.Model
	spent time.Duration
	maps  map[features.View][]features.Map // of the picture; nil: nothing is kept
}

func (m *cachedModel) reset() {
	m.spent = 0
	clear(m.maps)
}

func (m *cachedModel) Features(dst []features.Map, bgr []byte, width, height int, view features.View) ([]features.Map, error) {
	if _, kept := m.maps[view]; !kept {
		start := time.Now()
		defer func() { m.spent += time.Since(start) }()
		maps, err := m.Model.Features(dst, bgr, width, height, view)
		if err != nil || m.maps == nil {
			return maps, err
		}
		maps = slices.Clone(maps[len(dst):])
		for k := range maps { // the model may write over its own
			maps[k].Data = slices.Clone(maps[k].Data)
		}
		m.maps[view] = maps
	}
	return append(dst, m.maps[view]...), nil
}

// View is a camera's frames as trackers see them: the model looks at each once, however
// many follow something in it. One goroutine calls it.
type View struct {
	model     *cachedModel
	extractor *features.Extractor
	scene     features.Scene
	picture   *Picture
	plan      features.Plan
}

// NewView takes a nil model for colours alone.
func NewView(model features.Model, f features.Config) (*View, error) {
	v, err := newView(model, f)
	if v.model != nil {
		v.model.maps = map[features.View][]features.Map{}
	}
	return v, err
}

// newView is NewView for one tracker.
func newView(model features.Model, f features.Config) (*View, error) {
	v := &View{}
	if model != nil {
		v.model = &cachedModel{Model: model}
		model = v.model
	}
	var err error
	v.extractor, err = features.New(f, model)
	return v, err
}

// Look takes a picture, which must stay as it is while For is called.
func (v *View) Look(seq int, p *Picture) {
	if v.model != nil {
		v.model.reset()
	}
	v.scene.Seq, v.picture = uint64(seq), p
}

// For returns the scene as t is to see it, valid until it is called again: as fine as t
// and ann, if it is not nil, want it, and with Coarse if t searches.
func (v *View) For(t *tracker.Tracker, ann *annotation.Annotation) (*features.Scene, error) {
	if v.plan = t.Plan(v.plan); ann != nil {
		v.plan = tracker.PlanFor(v.plan, ann)
	}
	p := v.picture
	if err := v.extractor.Extract(&v.scene, p.BGR, p.Width, p.Height, v.plan); err != nil {
		return nil, err
	}
	if t.Searching() {
		if err := v.extractor.Coarsen(&v.scene, p.BGR); err != nil {
			return nil, err
		}
	}
	return &v.scene, nil
}

// Follower is what a camera has: features and a tracker.
type Follower struct {
	view    *View
	tracker *tracker.Tracker
}

// NewFollower takes a nil model for colours alone.
func NewFollower(model features.Model, f features.Config, t tracker.Config) (*Follower, error) {
	w := &Follower{}
	var err error
	if w.view, err = newView(model, f); err != nil {
		return nil, err
	}
	w.tracker, err = tracker.New(t)
	return w, err
}

// Forget has the tracker forget objects.
func (w *Follower) Forget(ids []uint32) {
	for _, id := range ids {
		w.tracker.Remove(id)
	}
}

// Step labels a picture and says what it took.
func (w *Follower) Step(ctx context.Context, seq int, p *Picture, ann *annotation.Annotation) (*tracker.Result, StageMS, error) {
	var took StageMS
	start := time.Now()
	w.view.Look(seq, p)
	scene, err := w.view.For(w.tracker, ann)
	if err != nil {
		return nil, took, err
	}
	took.Features = inMS(time.Since(start))
	if w.view.model != nil {
		took.Network = inMS(w.view.model.spent)
	}
	start = time.Now()
	res, err := w.tracker.Step(ctx, scene, nil, ann, nil)
	if err != nil {
		return nil, took, err
	}
	all := time.Since(start)
	took.Affinity, took.Solve, took.Mask = inMS(res.Solve.AffinityTime), inMS(res.Solve.SolveTime), inMS(res.Solve.MaskTime)
	took.Projection = inMS(all - res.Solve.AffinityTime - res.Solve.SolveTime - res.Solve.MaskTime)
	return res, took, nil
}
