package offline

import (
	"time"

	"github.com/segd/segd/features"
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
// it. A reader of spent has seen Extract return.
type cachedModel struct {
	features.Model
	spent  time.Duration
	sights map[features.View]features.Sight // of the picture; nil: nothing is kept
}

func (m *cachedModel) reset() {
	m.spent = 0
	clear(m.sights)
}

func (m *cachedModel) Features(dst features.Sight, bgr []byte, width, height int, view features.View) (features.Sight, error) {
	kept, ok := m.sights[view]
	if !ok {
		start := time.Now()
		defer func() { m.spent += time.Since(start) }()
		made, err := m.Model.Features(dst, bgr, width, height, view)
		if err != nil || m.sights == nil {
			return made, err
		}
		m.sights[view] = made.CopyTo(features.Sight{})
		return made, nil
	}
	return kept.CopyTo(dst), nil
}

// MaskLogits implements features.Masker.
func (m *cachedModel) MaskLogits(grid *features.Grid, maps []features.Map, head *features.Map) (bool, error) {
	if masker, ok := m.Model.(features.Masker); ok {
		return masker.MaskLogits(grid, maps, head)
	}
	return false, nil
}

// View is a camera's frames as trackers see them: the model looks at each once, however
// many follow something in it. One goroutine calls it.
type View struct {
	model     *cachedModel
	extractor *features.Extractor
	scene     features.Scene
	picture   *Picture
}

// NewView takes a nil model for colours alone.
func NewView(model features.Model, f features.Config) (*View, error) {
	v, err := newView(model, f)
	if v.model != nil {
		v.model.sights = map[features.View]features.Sight{}
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

// Look takes a picture, which must stay as it is while cameras follow what is in it.
func (v *View) Look(seq int, p *Picture) {
	if v.model != nil {
		v.model.reset()
	}
	v.scene.Seq, v.picture = uint64(seq), p
}

// See returns the picture's scene as a tracker is to see it, valid until it is called again.
func (v *View) See(plan features.Plan) (*features.Scene, error) {
	p := v.picture
	if err := v.extractor.Extract(&v.scene, p.BGR, p.Width, p.Height, plan); err != nil {
		return nil, err
	}
	return &v.scene, nil
}
