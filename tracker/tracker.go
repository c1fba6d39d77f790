package tracker

import (
	"context"
	"fmt"
	"image"
	"runtime"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/history"
	"github.com/segd/segd/tracker/internal/outline"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/recall"
	"github.com/segd/segd/tracker/internal/seed"
	"github.com/segd/segd/tracker/internal/trackstate"
	"github.com/segd/segd/tracker/internal/window"
)

// Tracker follows the annotated objects of one camera. It is not safe for
// concurrent use.
type Tracker struct {
	cfg        Config
	projection *features.Projection // fitted to the first annotated scene
	objects    objects

	frames   frames            // of the window
	size     image.Point       // of the pictures
	aspect   float64           // of their pixels: features.Scene.PixelAspect
	turn     int               // of a sweep
	seeking  int               // for how many pictures objects of another time are still looked for
	fresh    int               // for how many pictures everything is looked at
	remade   features.Scene    // in place of one that was planned too early
	elapsed  int               // frames of the camera that the newest came after the one before it
	light    features.Light    // of the newest scene that shows objects
	windows  []image.Rectangle // memory of a planner's tracks
	past     history.History
	affinity propagation.Affinity
	recall   recall.Recall
	seeder   seed.Seeder
	window   window.Window
	outline  outline.Drawer
	pieces   trackstate.Pieces
}

// New returns a tracker without objects.
func New(cfg Config) (*Tracker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return assemble(cfg), nil
}

// assemble is New for a configuration that has its defaults.
func assemble(cfg Config) *Tracker {
	return &Tracker{
		cfg:      cfg,
		affinity: propagation.Affinity{Radius: radius},
		recall:   recall.Recall{Memory: memory},
		seeder:   seed.Seeder{Radius: propagation.AnchorRadius},
		window: window.Window{Config: window.Config{
			Nu: cfg.Nu, Rho: cfg.Rho, MaxIter: cfg.MaxIter, Budget: cfg.Budget,
			FixedLabels: cfg.Mode == Fixed, Memoryless: cfg.Mode == Memoryless, Cold: cfg.Mode == Cold,
		}},
	}
}

// Picture is what a scene of an earlier frame is made of, when a user annotates that frame
// or one before it.
type Picture = history.Picture

// Step labels the scene, which must be newer than the last one, and returns the
// objects' masks in it. ann, if not nil, is what a user marked on this scene or,
// when it names another sequence number, on one of the earlier frames that are
// kept (see Config.History); then that frame and what came after it are labelled
// again first. A faulty annotation is reported as an error wrapping annotation.ErrInvalid
// and changes nothing: call Step again without it. Nothing of s is kept.
//
// p is the picture that s was made of, which the tracker retains as long as the frame is kept,
// Close included; the caller's reference stays the caller's. A frame without one, nil, cannot
// be annotated later.
//
// Where s was planned before the objects were marked that t follows by now, or before frames were
// dropped in which they may have gone far, a scene of p takes its place.
//
// A scene of another size than the last one makes the tracker forget its objects.
//
// extents say of the objects that have a track where they are in s. Ids that t does not know are ignored; of two
// of an id the first counts.
//
// The labels use this and earlier scenes only.
func (t *Tracker) Step(ctx context.Context, s *features.Scene, p Picture, ann *annotation.Annotation, extents []Extent) (*Result, error) {
	if t.past.Differs(s) || t.frames.differ(s) {
		t.past.Clear()
		t.forget()
	}
	t.size, t.aspect = image.Pt(s.Width, s.Height), s.PixelAspect
	t.turn++
	t.seeking, t.fresh = max(0, t.seeking-1), max(0, t.fresh-1)
	if ann != nil && ann.Frame != nil && *ann.Frame != s.Seq {
		if err := t.amend(ctx, s, ann); err != nil {
			return nil, err
		}
		ann = nil
	}
	t.objects.track(extents, t.cfg.OccludedFrames)
	if elapsed := t.frames.elapsed(s.Seq); ann == nil && p != nil && !t.shown(s, elapsed) {
		t.remade.Seq = s.Seq
		if err := p.Scene(&t.remade, t.plan(features.Plan{}, elapsed)); err != nil {
			return nil, fmt.Errorf("tracker: scene of frame %d: %w", s.Seq, err)
		}
		defer t.remade.Release()
		t.remade.Found = append(t.remade.Found[:0], s.Found...) // what a detector says of extents
		s = &t.remade
	}
	marked, err := t.accept(ann, s, t.objects.inSight)
	if err != nil {
		return nil, err
	}
	t.objects.track(extents, t.cfg.OccludedFrames) // those that ann is the first to name
	res := &Result{Seq: s.Seq, Width: s.Width, Height: s.Height}
	var labels []uint8
	if t.objects.labels() > 1 {
		if s.N == 0 {
			return nil, fmt.Errorf("tracker: the scene of frame %d shows nothing of its picture; want it as Plan says", s.Seq)
		}
		f := t.load(s)
		start := time.Now()
		if err := t.objects.computeMaskLogits(s); err != nil {
			return nil, err
		}
		t.expect(f)
		res.Solve.AffinityTime = time.Since(start)
		if err := t.label(ctx, f, ann, marked, res); err != nil {
			return nil, err
		}
		labels = t.outline.Labels()
	}
	if p != nil {
		t.past.Keep(s, p, labels, t.cfg.history(p.Bytes(), t.past.Rate()))
	}
	return res, nil
}

// shown tells whether s, which comes elapsed frames of the camera after the last scene, shows where
// the objects in sight may be, as large as they are to be: one that was planned before a user
// marked them, or before frames were dropped, may not.
func (t *Tracker) shown(s *features.Scene, elapsed int) bool {
	if s.N == 0 && len(t.objects.all) > 0 {
		return false
	}
	for _, o := range t.objects.all {
		picture := image.Rectangle{Max: t.size}
		box, in := o.box, o.State == Visible
		if o.Tracked {
			box, in = o.extent.Intersect(picture), in || !o.detected.Empty()
		} else {
			box = o.ahead(box, elapsed).Intersect(picture)
		}
		if elapsed == 1 { // what it has not left
			middle := box.Min.Add(box.Max).Div(2)
			box = image.Rectangle{Min: middle, Max: middle.Add(image.Pt(1, 1))}
		}
		if in && !box.Empty() && !slices.ContainsFunc(s.Patches, func(p features.Patch) bool {
			return box.In(p.Rectangle) && p.Zoom == o.Zoom
		}) {
			return false
		}
	}
	return true
}

// load returns s as a frame, of which nothing is known.
func (t *Tracker) load(s *features.Scene) *frame {
	p := t.frames.pictures.Make(s, t.projection, smooth)
	t.recall.Look(p, s, t.projection)
	t.elapsed = t.frames.elapsed(s.Seq)
	t.light.Copy(&s.Light)
	return t.frames.load(p, t.objects.labels())
}

// expect says what f is from what was seen before it.
func (t *Tracker) expect(f *frame) {
	t.recall.Detect(f.Picture, t.objects.views(), t.frames.sightings())
	t.affinity.Propagate(&f.Belief, f.Picture, t.elapsed, t.frames.sources(f.Seq), t.objects.views())
	f.Belief.Labels(f.y)
}

// label decides f, of which it is known what to expect, makes it the newest frame of the
// window and describes it in res. A frame that cannot be decided is released.
func (t *Tracker) label(ctx context.Context, f *frame, ann *annotation.Annotation, marked []seed.Object, res *Result) error {
	start := time.Now()
	if err := t.decide(ctx, f, ann, marked, &res.Solve); err != nil {
		t.frames.release(f)
		return fmt.Errorf("tracker: %w", err)
	}
	if ann == nil {
		for k := range t.objects.all {
			t.pieces.KeepTogether(f.Picture, f.y, k+1, &t.objects.all[k].Object)
		}
	}
	res.Solve.SolveTime = time.Since(start)

	start = time.Now()
	t.slide(f, ann)
	t.observe(f, ann != nil, res)
	if err := t.draw(ctx, f, ann, marked, res); err != nil {
		return fmt.Errorf("tracker: %w", err)
	}
	res.Solve.MaskTime = time.Since(start)
	t.learn(f, ann != nil)
	if ann != nil {
		f.KeepMap() // it may be annotated again
	} else {
		f.LoseMap()
	}
	return nil
}

// decide sets f's labels by ann, if that is not nil, and the tracker's mode.
func (t *Tracker) decide(ctx context.Context, f *frame, ann *annotation.Annotation, marked []seed.Object, out *Solve) error {
	if (ann == nil || ann.Automatic) && len(t.frames.recent) == solvedFrames {
		t.evict()
	}
	if ann == nil {
		return t.solve(ctx, f, estimation{learn: t.objects.anyVisible()}, out)
	}
	if err := t.seeder.Apply(ctx, f.Picture, &f.Belief, f.y, &f.Marks, ann, marked); err != nil {
		return err
	}
	f.Believe(&f.Belief) // what is marked stays as it is marked
	// The objects of a recalled frame may be anywhere by now: all that is around them there is to be told from them.
	if f.recalled {
		f.Belief.Near = f.Belief.Near[:0]
	} else {
		t.affinity.Mark(&f.Belief, f.Picture, t.objects.views())
	}
	var defined []int32
	for _, o := range marked {
		if o.Defined {
			defined = append(defined, int32(o.Label))
		}
	}
	for _, label := range t.seeder.Corrected() {
		t.distrust(int(label))
	}
	if len(defined) == 0 {
		t.evictAll() // their labels are wrong
	}
	// A correction leaves the classifier what it has learnt, to say how far it spreads;
	// the next frames learn from it.
	how := estimation{learn: len(defined) > 0, defined: len(defined) > 0}
	if !ann.Automatic || len(t.frames.anchors) == 0 { // else too often for that, and little of it is news
		how.anew = defined
	}
	if err := t.solve(ctx, f, how, out); err != nil {
		return err
	}
	if len(t.frames.anchors) > 0 { // on the first annotated frame nothing was known
		t.seeder.NoteCorrected(&f.Marks, f.y)
	}
	return nil
}

// estimation is what solve does to the classifier, and to what is marked.
type estimation struct {
	learn   bool    // the classifier may change
	anew    []int32 // labels of objects for which it starts anew
	defined bool    // an annotation of the frame defines objects
}

// solve labels f by the tracker's mode.
func (t *Tracker) solve(ctx context.Context, f *frame, how estimation, out *Solve) error {
	labels := t.objects.labels()
	if len(how.anew) > 0 || t.cfg.Mode != Affinity {
		if t.cfg.Cores != nil {
			helpers := t.cfg.Cores.TryAcquire(runtime.GOMAXPROCS(0) - 1)
			defer t.cfg.Cores.Release(helpers)
			t.window.SetWorkers(1 + helpers)
		}
		report, err := t.window.Estimate(ctx, t.frames.rows(f), f.y, labels, how.anew, how.learn)
		if err != nil {
			return err
		}
		out.Report = report
	}
	var estimated []int32
	if how.defined {
		estimated = slices.Clone(f.y)
	}
	if err := t.window.Decide(ctx, &f.Frame, f.y, labels, t.cfg.Mode != Affinity); err != nil {
		return err
	}
	if how.defined {
		f.Marks.KeepEstimate(f.y, estimated, f.Belief.Q)
		f.Marks.KeepPieces(f.Picture, f.y)
		t.seeder.KeepBoxes(f.Picture, f.y)
	}
	return nil
}

// learn keeps what is certainly background in f, which was just labelled.
func (t *Tracker) learn(f *frame, annotated bool) {
	if annotated {
		t.recall.LearnAnew(&f.Reference, t.objects.labels())
	} else {
		t.recall.Learn(f.Picture, f.y, t.objects.views(), t.elapsed)
	}
}

// forget drops all that was learnt but the earlier frames, and the memory that was for it: the
// camera changed its picture size, so no position or annotation holds any more, or nothing is
// followed.
func (t *Tracker) forget() {
	kept := t.past
	*t = *assemble(t.cfg)
	t.past = kept
}

// Close releases the pictures of earlier frames. The tracker must not be used after it.
func (t *Tracker) Close() { t.past.Clear() }
