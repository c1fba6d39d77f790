package tracker

import (
	"context"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker/internal/belief"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/outline"
	"github.com/segd/segd/tracker/internal/past"
	"github.com/segd/segd/tracker/internal/recall"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/seed"
)

// Result is what the tracker knows after a frame.
type Result struct {
	Seq           uint64
	Width, Height int
	Objects       []Object
	Solve         Solve

	// Forgotten are the ids of the objects that were dropped since the last result
	// because the picture size changed. One may be among Objects, marked anew.
	Forgotten []uint32
}

// Object is one annotated object in one frame.
type Object struct {
	ID    uint32
	Label string
	State State
	Mask  mask.RLE // empty unless visible
	Area  int      // pixels
	Box   image.Rectangle
	Score float64 // mean probability of the label over the mask, 0…1
}

// Traced is how many iterations' Lagrangians a Solve tells.
const Traced = 8

// Solve tells how the frame's DC-ADMM went; zero when nothing was solved.
type Solve struct {
	Iterations int
	Lagrangian float64
	Descent    float64 // relative fall of the Lagrangian over the solve
	Primal     float64
	Dual       float64
	Rho        float64
	Violations int
	Rejected   int // labelings that would have raised the Lagrangian
	Flips      int
	FlipRatio  float64 // flips / (samples × iterations)
	Converged  bool
	OutOfTime  bool // Config.Budget ended it

	// Trace is the Lagrangian after each of the first iterations; where there were
	// fewer, the last one's.
	Trace [Traced]float64

	AffinityTime, SolveTime, MaskTime time.Duration
}

// Tracker follows the annotated objects of one camera. It is not safe for
// concurrent use.
type Tracker struct {
	cfg        Config
	projection *features.Projection
	objects    []object // label l is objects[l−1]; label 0 is the background
	frames     frames
	affinity   belief.Affinity
	recall     recall.Recall
	seeder     seed.Seeder
	past       past.History
	outlines   outline.Drawer
	forgotten  []uint32 // since the last result

	ws      solver.Workspace
	kernel  kernel.Linear
	window  mrf.Potts // over all frames of the window
	newest  mrf.Potts // over the newest frame
	state   solver.State
	unary   []float64
	omega   []float64
	blocks  []*kernel.Block
	edges   []mrf.Edge
	sources []belief.Source
	views   []belief.Object
	weight  []float64 // classifier, L×(d+1)
	alpha   []float64
	scores  []float64 // of one superpixel
}

// New returns a tracker without objects.
func New(cfg Config) (*Tracker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return assemble(cfg), nil
}

func assemble(cfg Config) *Tracker {
	return &Tracker{
		cfg: cfg,
		affinity: belief.Affinity{Config: belief.Config{
			Links: cfg.Links, Radius: cfg.Radius, AnchorRadius: cfg.AnchorRadius,
			Temperature: cfg.Temperature, AnchorWeight: cfg.AnchorWeight, Novel: cfg.Novel,
		}},
		recall: recall.Recall{Config: recall.Config{
			Memory: cfg.Memory, Links: cfg.Links, Temperature: cfg.Temperature, Recall: cfg.Recall,
		}},
		seeder: seed.Seeder{Config: seed.Config{Radius: cfg.AnchorRadius, Temperature: cfg.Temperature}},
	}
}

func (t *Tracker) labels() int { return 1 + len(t.objects) }

// Step labels the scene, which must be newer than the last one, and returns the
// objects' masks in it. ann, if not nil, is what somebody marked on this scene or,
// when it names another sequence number, on one of the earlier scenes that are
// kept (see Config.History); then that scene and what came after it are labelled
// again first. A faulty annotation is reported as an error wrapping annotation.ErrInvalid
// and changes nothing: call Step again without it. Nothing of s is kept.
//
// A scene of another size than the last one makes the tracker forget its objects.
//
// The labels use this and earlier scenes only.
func (t *Tracker) Step(ctx context.Context, s *features.Scene, ann *annotation.Annotation) (*Result, error) {
	if t.past.Differs(s) || t.frames.differ(s) {
		for _, o := range t.objects {
			t.forgotten = append(t.forgotten, o.id)
		}
		t.forget()
	}
	if ann != nil && ann.Frame != nil && *ann.Frame != s.Seq {
		if err := t.amend(ctx, s, ann); err != nil {
			return nil, err
		}
		ann = nil
	}
	res := &Result{Seq: s.Seq, Width: s.Width, Height: s.Height}
	var marked []seed.Object
	if ann != nil {
		var err error
		if marked, err = t.accept(ann, s, t.inSight); err != nil {
			return nil, err
		}
	}
	if len(t.objects) == 0 {
		t.past.Keep(s, nil, t.cfg.History)
		res.Forgotten, t.forgotten = t.forgotten, nil
		return res, nil
	}
	f := t.load(s)
	start := time.Now()
	t.expect(f)
	res.Solve.AffinityTime = time.Since(start)
	if err := t.label(ctx, f, ann, marked, res); err != nil {
		return nil, err
	}
	t.past.Keep(s, f.y, t.cfg.History)
	res.Forgotten, t.forgotten = t.forgotten, nil
	return res, nil
}

// expect sets f's label probabilities from what was seen before it, if the mode has
// any use for them.
func (t *Tracker) expect(f *frame) {
	switch t.cfg.Mode {
	case Frozen:
	case NoTemporal:
		t.guess(f)
	default:
		t.recall.Detect(f.Picture, t.seen(), t.frames.sightings())
		t.affinity.Propagate(&f.belief, f.Picture, t.references(), t.seen())
		f.belief.Labels(f.y)
	}
}

// label decides f, whose probabilities q are known, makes it the newest frame of
// the window and describes it in res. A frame that cannot be decided is released.
func (t *Tracker) label(ctx context.Context, f *frame, ann *annotation.Annotation, marked []seed.Object, res *Result) error {
	start := time.Now()
	if err := t.choose(ctx, f, ann, marked, &res.Solve); err != nil {
		t.frames.release(f)
		return err
	}
	res.Solve.SolveTime = time.Since(start)

	start = time.Now()
	t.slide(f, ann != nil)
	if err := t.describe(ctx, res, f, ann); err != nil {
		return err
	}
	res.Solve.MaskTime = time.Since(start)
	t.learn(f, ann != nil)
	return nil
}

// choose sets f's labels by ann, if that is not nil, and the tracker's mode.
func (t *Tracker) choose(ctx context.Context, f *frame, ann *annotation.Annotation, marked []seed.Object, out *Solve) error {
	if ann != nil {
		if err := t.seeder.Apply(ctx, f.Picture, &f.belief, f.y, &f.marks, ann, marked); err != nil {
			return fmt.Errorf("tracker: %w", err)
		}
		copy(f.Soft, f.belief.Q) // what is marked stays as it is marked
		if !defines(marked) {
			t.distrust() // what they say of the object is wrong
		}
	} else if len(t.frames.recent) == t.cfg.Window {
		t.evict()
	}
	// A correction leaves the classifier what it has learnt. One that is only ever
	// estimated on annotated frames has no other time to heed it.
	anew := defines(marked) || ann != nil && t.cfg.Mode == Frozen
	if err := t.solve(ctx, f, anew, out); err != nil {
		return err
	}
	if ann != nil && len(t.frames.anchors) > 0 { // on the first annotated frame nothing was known
		t.seeder.NoteCorrected(&f.marks, f.y)
	}
	f.Label(f.y, f.marks.Free, t.labels())
	return nil
}

// forget drops all that was learnt: the camera changed its picture size, so no
// position or annotation holds any more.
func (t *Tracker) forget() {
	t.distrust()
	t.frames.forget()
	t.recall.ForgetBackground()
	t.projection = nil
	t.objects, t.weight = nil, nil
	t.past.Clear()
}

// load returns s as a frame.
func (t *Tracker) load(s *features.Scene) *frame {
	f := t.frames.load(t.frames.pictures.Make(s, t.projection, t.cfg.Smooth), t.labels())
	t.recall.Look(f.Picture, s, t.projection)
	return f
}

// accept checks the annotation against the scene and makes room for its objects.
// inSight tells which labels the scene shows.
func (t *Tracker) accept(a *annotation.Annotation, s *features.Scene, inSight func(label int32) bool) (marked []seed.Object, err error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if a.Width != s.Width || a.Height != s.Height {
		return nil, annotation.Faultf("width", "made for %d×%d; the camera's frames are %d×%d", a.Width, a.Height, s.Width, s.Height)
	}
	if len(a.Objects) == 0 && len(t.objects) == 0 {
		return nil, annotation.Faultf("objects", "none, and no object is known that strokes on the background could correct; want at least one")
	}
	for k, o := range a.Objects {
		if t.find(o.ID) < 0 && !a.HasMarks(k) {
			return nil, annotation.Faultf(fmt.Sprintf("objects[%d].scribbles", k), "none, and object %d is not known yet; want at least one stroke, a polygon or a box", o.ID)
		}
	}
	if t.projection == nil {
		p, err := features.FitProjection(s, t.cfg.MaxDim)
		if err != nil {
			return nil, fmt.Errorf("tracker: %w", err)
		}
		t.projection = p
	}
	before := t.labels()
	marked = make([]seed.Object, len(a.Objects))
	for k, o := range a.Objects {
		fresh := object{id: o.ID, label: o.Label}
		i := t.find(o.ID)
		if i < 0 {
			t.objects = append(t.objects, fresh)
			marked[k] = seed.Object{Label: len(t.objects), Defined: true}
			continue
		}
		if fresh.label == "" {
			fresh.label = t.objects[i].label
		}
		// Strokes on an object in sight correct it. What else is said of a known
		// object replaces what was seen of it: its size and whether it is there.
		marked[k] = seed.Object{Label: i + 1, Defined: a.HasExtent(k) || len(o.Scribbles) > 0 && !inSight(int32(i+1))}
		if marked[k].Defined {
			t.objects[i] = fresh
		} else {
			t.objects[i].label = fresh.label
		}
	}
	if t.labels() != before {
		t.widen(before, t.labels())
	}
	return marked, nil
}

// defines tells whether some object begins with an annotation or is replaced.
func defines(marked []seed.Object) bool {
	return slices.ContainsFunc(marked, func(o seed.Object) bool { return o.Defined })
}

func (t *Tracker) inSight(label int32) bool { return t.objects[label-1].State == Visible }

func (t *Tracker) find(id uint32) int {
	return slices.IndexFunc(t.objects, func(o object) bool { return o.id == id })
}

// guess is what propagate would leave if f had no frame to look up: every label as
// likely as any other, and y what the last classifier says.
func (t *Tracker) guess(f *frame) {
	labels := t.labels()
	known := min(labels, len(t.weight)/(t.projection.Dim()+1))
	t.scores = scratch.Grow(t.scores, labels)
	f.belief.Uniform(labels)
	for i := 0; i < f.N && known > 0; i++ {
		t.score(t.scores[:known], f, i)
		f.y[i] = labeling.Argmax(t.scores[:known])
	}
}

// references lists the frames to look up: the latest, and the annotated ones.
func (t *Tracker) references() []belief.Source {
	w := &t.frames
	t.sources = t.sources[:0]
	latest := w.recent[max(0, len(w.recent)-t.cfg.Refs):]
	for _, f := range slices.Backward(latest) {
		t.sources = append(t.sources, belief.Source{Reference: &f.Reference, Latest: true, Annotated: slices.Contains(w.anchors, f)})
	}
	for _, f := range w.anchors {
		if !slices.Contains(latest, f) {
			t.sources = append(t.sources, belief.Source{Reference: &f.Reference, Annotated: true})
		}
	}
	return t.sources
}

// seen is what is known of the objects.
func (t *Tracker) seen() []belief.Object {
	t.views = t.views[:0]
	for k := range t.objects {
		o := &t.objects[k]
		t.views = append(t.views, belief.Object{Object: &o.Object, Detection: &o.Detection})
	}
	return t.views
}

// Searching tells whether the next Step should have a scene with Coarse, because an
// object that is out of sight, or back for a moment only, is then found at other
// sizes, too. For one that is lost it does so now and then.
func (t *Tracker) Searching() bool {
	return t.cfg.Mode.looksUp() && slices.ContainsFunc(t.objects, func(o object) bool { return recall.Wants(&o.Object) })
}

// learn keeps what is certainly background in f, which was just labelled.
func (t *Tracker) learn(f *frame, annotated bool) {
	switch {
	case !t.cfg.Mode.looksUp():
	case annotated:
		t.recall.LearnAnew(&f.Reference, t.labels())
	default:
		t.recall.Learn(f.Picture, f.y, t.seen())
	}
}
