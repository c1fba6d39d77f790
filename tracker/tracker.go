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

// Traced is how many iterations' Lagrangians a Solve tells: as many as Config.MaxIter
// grants by default.
const Traced = 5

// Solve tells how the frame's DC-ADMM went; zero when nothing was solved.
type Solve struct {
	Iterations int
	Start      float64 // objective at the warm start; +Inf if an annotation rules its labels out
	Lagrangian float64
	Descent    float64 // relative fall from Start to Lagrangian; 0 from +Inf
	Primal     float64
	Dual       float64
	Violations int // iterations that raised the Lagrangian
	Guaranteed int // iterations that could not, see package solver
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
	anchors    []*frame // annotated frames
	recent     []*frame // latest frames, newest last; may share frames with anchors
	memory     []*frame // earlier frames in which objects were seen without doubt
	free       []*frame
	past       history
	search     search
	forgotten  []uint32 // since the last result

	ws       solver.Workspace
	kernel   kernel.Linear
	window   mrf.Potts // over all frames of the window
	newest   mrf.Potts // over the newest frame
	state    solver.State
	unary    []float64
	omega    []float64
	blocks   []*kernel.Block
	frames   []*frame
	edges    []mrf.Edge
	links    []link
	mass     []float64 // of one frame's votes, n
	held     []float64 // what of it is trusted, n
	near     []bool    // n: whether a superpixel of the newest frame can be an object at all
	may      []bool    // n×L: which label it can be
	moved    []bool    // n: whether it can be one that is elsewhere than in an annotated frame
	refs     []reference
	pixels   []uint8 // label of every pixel
	bits     []uint8
	outlines outliner
	weight   []float64 // classifier, L×(d+1)
	alpha    []float64
	scores   []float64 // of one superpixel
	before   []int32   // labels of the newest frame without what an annotation says
}

// New returns a tracker without objects.
func New(cfg Config) (*Tracker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Tracker{cfg: cfg}, nil
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
	if t.past.differs(s) || len(t.recent) > 0 && (t.recent[0].width != s.Width || t.recent[0].height != s.Height) {
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
	var defined []bool
	if ann != nil {
		var err error
		if defined, err = t.accept(ann, s, t.inSight); err != nil {
			return nil, err
		}
	}
	if len(t.objects) == 0 {
		t.past.keep(s, nil, t.cfg.History)
		res.Forgotten, t.forgotten = t.forgotten, nil
		return res, nil
	}
	f := t.load(s)
	start := time.Now()
	t.expect(f)
	res.Solve.AffinityTime = time.Since(start)
	if err := t.label(ctx, f, ann, defined, res); err != nil {
		return nil, err
	}
	t.past.keep(s, f, t.cfg.History)
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
		t.propagate(f)
	}
}

// label decides f, whose probabilities q are known, makes it the newest frame of
// the window and describes it in res. A frame that cannot be decided is released.
func (t *Tracker) label(ctx context.Context, f *frame, ann *annotation.Annotation, defined []bool, res *Result) error {
	start := time.Now()
	if err := t.choose(ctx, f, ann, defined, &res.Solve); err != nil {
		t.release(f)
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
func (t *Tracker) choose(ctx context.Context, f *frame, ann *annotation.Annotation, defined []bool, out *Solve) error {
	if ann != nil {
		if err := t.mark(ctx, f, ann, defined); err != nil {
			return err
		}
		if !slices.Contains(defined, true) {
			t.distrust() // what they say of the object is wrong
		}
	} else if len(t.recent) == t.cfg.Window {
		t.evict()
	}
	// A correction leaves the classifier what it has learnt. One that is only ever
	// estimated on annotated frames has no other time to heed it.
	anew := slices.Contains(defined, true) || ann != nil && t.cfg.Mode == Frozen
	if err := t.solve(ctx, f, anew, out); err != nil {
		return err
	}
	if ann != nil {
		t.noteCorrected(f)
	}
	return nil
}

// forget drops all that was learnt: the camera changed its picture size, so no
// position or annotation holds any more.
func (t *Tracker) forget() {
	for _, f := range t.recent {
		if !slices.Contains(t.anchors, f) {
			t.release(f)
		}
	}
	for _, f := range append(t.anchors, t.memory...) {
		t.release(f)
	}
	t.recent, t.anchors, t.memory, t.projection = nil, nil, nil, nil
	t.objects, t.weight = nil, nil
	t.search.around = nil
	t.past.clear()
}

func (t *Tracker) acquire() *frame {
	if n := len(t.free); n > 0 {
		f := t.free[n-1]
		t.free = t.free[:n-1]
		return f
	}
	return &frame{}
}

// load returns s as a frame.
func (t *Tracker) load(s *features.Scene) *frame {
	f := t.acquire()
	f.load(s, t.projection, t.labels(), t.cfg.Smooth)
	t.search.load(f, s, t.projection)
	return f
}

func (t *Tracker) release(f *frame) { t.free = append(t.free, f) }

// accept checks the annotation against the scene and makes room for its objects.
// It returns which of them begin with it or are replaced; the others are
// corrected. inSight tells which labels the scene shows.
func (t *Tracker) accept(a *annotation.Annotation, s *features.Scene, inSight func(label int32) bool) (defined []bool, err error) {
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
	defined = make([]bool, len(a.Objects))
	for k, o := range a.Objects {
		fresh := object{id: o.ID, label: o.Label}
		i := t.find(o.ID)
		if i < 0 {
			t.objects = append(t.objects, fresh)
			defined[k] = true
			continue
		}
		if fresh.label == "" {
			fresh.label = t.objects[i].label
		}
		// Strokes on an object in sight correct it. What else is said of a known
		// object replaces what was seen of it: its size and whether it is there.
		defined[k] = a.HasExtent(k) || len(o.Scribbles) > 0 && !inSight(int32(i+1))
		if defined[k] {
			t.objects[i] = fresh
		} else {
			t.objects[i].label = fresh.label
		}
	}
	if t.labels() != before {
		for _, f := range t.all() {
			f.widen(before, t.labels())
		}
	}
	return defined, nil
}

func (t *Tracker) inSight(label int32) bool { return t.objects[label-1].state == Visible }

func (t *Tracker) find(id uint32) int {
	return slices.IndexFunc(t.objects, func(o object) bool { return o.id == id })
}

// kept lists every frame of the window once: annotated ones, then the latest.
func (t *Tracker) kept() []*frame {
	t.frames = append(t.frames[:0], t.anchors...)
	for _, f := range t.recent {
		if !slices.Contains(t.anchors, f) {
			t.frames = append(t.frames, f)
		}
	}
	return t.frames
}

// widen makes room for more labels and keeps what is known of the old ones.
func (f *frame) widen(from, to int) {
	for _, m := range f.perLabel() {
		wide := make([]float64, f.n*to)
		for i := range f.n {
			copy(wide[i*to:], (*m)[i*from:(i+1)*from])
		}
		*m = wide
	}
}

// propagate sets f's label probabilities q from the frames it can look up: the
// latest, and the annotated ones. Frames that saw all objects speak first, because
// the others leave open what they did not see. An object is near where it was in the
// latest frames, or where it is looked for: what is like it where an annotated frame had
// it long ago is something else, unless it has jumped there.
func (t *Tracker) propagate(f *frame) {
	labels, side := t.labels(), float64(max(f.width, f.height))
	t.near, t.may = grow(t.near, f.n), grow(t.may, f.n*labels)
	for i := range t.may {
		t.may[i] = i%labels == 0
	}
	for i := range t.near {
		t.near[i] = len(t.anchors) == 0 // on the first annotated frame nothing is known at all
	}
	refs := t.references()
	for _, r := range refs {
		reach(f, r.frame, labels, r.radius*side, func(i int32, c int) {
			t.near[i] = true
			if r.latest {
				t.may[int(i)*labels+c] = true
			}
		})
	}
	t.seek(f)
	d, k := t.unitDim(), t.cfg.Links
	t.mass, t.held = grow(t.mass, f.n), grow(t.held, f.n)
	ask := func(all bool) {
		for _, r := range refs {
			if r.frame.sawAll(labels) == all {
				t.links = neighbours(t.links, f, r.frame, t.near, d, k, r.radius*side)
				if slices.Contains(t.anchors, r.frame) {
					t.followed(f, r.frame, k, r.radius*side)
				}
				vote(f.q, t.mass, t.held, t.may, t.links, k, r.frame, labels, t.cfg.Temperature, r.weight)
			}
		}
	}
	for again := true; again; again = t.jumped(f) {
		clear(f.q)
		clear(t.mass)
		clear(t.held)
		ask(true)
		ask(false)
	}
	t.fillOpen(f, refs)
	normaliseRows(f.q, t.near, labels)
	t.callBack(f)
	for i := range f.n {
		f.y[i] = argmax(f.q[i*labels : (i+1)*labels])
	}
}

// guess is what propagate would leave if f had no frame to look up: every label as
// likely as any other, and y what the last classifier says.
func (t *Tracker) guess(f *frame) {
	labels := t.labels()
	known := min(labels, len(t.weight)/(t.projection.Dim()+1))
	t.scores = grow(t.scores, labels)
	for i := range f.n {
		for l := range labels {
			f.q[i*labels+l] = 1 / float64(labels)
		}
		if known > 0 {
			t.score(t.scores[:known], f, i)
			f.y[i] = argmax(t.scores[:known])
		}
	}
}

// reference is a frame to look up.
type reference struct {
	frame          *frame
	radius, weight float64
	latest         bool
}

func (t *Tracker) references() []reference {
	refs := t.refs[:0]
	for _, f := range slices.Backward(t.recent[max(0, len(t.recent)-t.cfg.Refs):]) {
		refs = append(refs, reference{f, t.cfg.Radius, 1, true})
	}
	for _, f := range t.anchors {
		if !slices.ContainsFunc(refs, func(r reference) bool { return r.frame == f }) {
			refs = append(refs, reference{f, t.cfg.AnchorRadius, t.cfg.AnchorWeight, false})
		}
	}
	t.refs = refs
	return refs
}

func (f *frame) sawAll(labels int) bool {
	for c := range labels {
		if !f.saw(c) {
			return false
		}
	}
	return true
}

func argmax(row []float64) int32 {
	best := 0
	for c, v := range row {
		if v > row[best] {
			best = c
		}
	}
	return int32(best)
}

// slide moves the window on: f is the newest frame. An annotated frame stays as an
// anchor and starts the window anew, because the frames before it were labelled
// without what it says.
func (t *Tracker) slide(f *frame, annotated bool) {
	if annotated {
		for len(t.recent) > 0 {
			t.evict()
		}
		if len(t.anchors) == t.cfg.Anchors {
			// The first anchor defines the features; the second oldest goes.
			at := min(1, len(t.anchors)-1)
			t.release(t.anchors[at])
			t.anchors = slices.Delete(t.anchors, at, at+1)
		}
		t.anchors = append(t.anchors, f)
	}
	t.recent = append(t.recent, f)
}

// evict drops the oldest of the latest frames from the window.
func (t *Tracker) evict() {
	old := t.recent[0]
	t.recent = slices.Delete(t.recent, 0, 1)
	if !slices.Contains(t.anchors, old) {
		t.remember(old)
	}
}
