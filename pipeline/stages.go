package pipeline

import (
	"context"
	"errors"
	"fmt"
	"image"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/coalesce"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/privacy/hider"
	"github.com/segd/segd/pipeline/internal/guard"
	"github.com/segd/segd/pipeline/internal/mailbox"
	"github.com/segd/segd/pipeline/internal/pending"
	"github.com/segd/segd/tracker"
)

// maxFailures is how many frames in a row a stage may fail before the stages are
// built anew: one bad frame must not cost the objects, a broken stage must not
// fail for ever.
const maxFailures = 10

// scenesKept is how many scenes are in use at once: one being filled, one
// unread, one being tracked.
const scenesKept = 3

// errStages is the cause by which failed stages stop their source.
var errStages = errors.New("pipeline: a stage failed")

// item is a frame on its way through the stages. Its holder owns one
// reference to the frame, and the scene.
type item struct {
	frame *ingest.Frame
	seq   uint64           // frame.Seq, going on where the stages before a restart ended
	pts   time.Duration    // likewise
	note  *pending.Request // annotation of exactly this frame, or nil
	scene *features.Scene
	masks *segdv1.MaskFrame
	cover *privacy.Cover // what its picture does not show; nil: it shows all
	core  bool           // whether it has one, which goes on with it

	began, ended [Stages]time.Time // its time in each stage
}

// Pinned tells whether it must not be replaced by a newer one.
func (it *item) Pinned() bool { return it.note != nil }

// Cored tells whether it has a core.
func (it *item) Cored() bool { return it.core }

// stages is one life of a camera's stages, from their making to their end.
type stages struct {
	c       *Camera
	source  Source
	extract Extractor
	step    Stepper
	boxes   [Stages]*mailbox.Box[*item]
	scenes  chan *features.Scene // unused ones
	earlier remaker
	holds   map[hold]time.Time // until when
	slow    slowFrames         // of the tracker's goroutine
	hider   *hider.Hider       // likewise; nil: nothing is hidden
	shown   bool               // likewise: the last picture, but for what is hidden
	hidden  []byte             // pixels, of the view's goroutine
	// Of the tracker's goroutine: memory for each frame, and methods of the scene that is decided on, bound once.
	edits    []objects.Edit
	observed objects.Observe
	decided  *features.Scene
	part     func(first, second image.Rectangle) bool
	shows    func(box image.Rectangle) float64
	// Of the goroutine that makes scenes.
	looks    looks
	whole    tracker.Looks
	detector Detector // nil: the model's own heads do it

	recalled image.Point // size of the pictures of what was marked before; zero if there were none
	size     image.Point // of the last frame, or those pictures

	cancel context.CancelCauseFunc // stops the source
	ready  chan struct{}           // closed when that is learnt

	plan atomic.Pointer[features.Plan] // the stepper's, for the next scene

	mu       sync.Mutex
	err      error // the first failure
	failedIn Stage // and where
}

// once builds the stages, runs them and returns why they ended: nil when the
// source did, or ctx.
func (c *Camera) once(ctx context.Context) error {
	s := &stages{c: c, scenes: make(chan *features.Scene, scenesKept), holds: make(map[hold]time.Time), earlier: remaker{make: c.cfg.NewExtractor}, ready: make(chan struct{})}
	defer func() { // after setStages: it is not used any more
		if s.step != nil {
			s.step.Close()
		}
	}()
	if err := guard.Call(s.build); err != nil {
		return err
	}
	began := time.Now()
	sourceCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.cancel = cancel
	defer c.setStages(nil)

	// What was marked before is learnt while the camera is dialled. Frames wait, and commands.
	var running sync.WaitGroup
	c.turn <- struct{}{}
	c.stages = s
	next := c.seqNext
	running.Go(func() {
		defer close(s.ready)
		defer func() { <-c.turn }()
		if err := guard.Call(func() error { return s.recall(ctx, next) }); err != nil && ctx.Err() == nil {
			s.fail(StageTrack, err)
		}
		plan := s.step.Plan(features.Plan{})
		s.plan.Store(&plan)
	})
	finishing := context.WithoutCancel(ctx) // outlives the source's, so that frames in hand are finished
	running.Go(func() { s.run(StageFeatures, s.features) })
	running.Go(func() { s.run(StageTrack, func(it *item) error { return s.track(finishing, it) }) })
	running.Go(func() { s.run(StageView, s.view) })
	c.seqBase, c.ptsBase = c.seqNext, c.ptsNext
	c.notes.Rebase(c.seqBase)
	err := guard.Call(func() error { return s.source.Run(sourceCtx, s.accept) })
	s.boxes[StageFeatures].Close()
	running.Wait()
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if s.err == nil {
		c.capture(s, true)
	}

	switch {
	case s.err != nil:
		err = s.err
	case ctx.Err() != nil || err == nil:
		return nil
	default:
		err = fmt.Errorf("pipeline: source: %w", err)
	}
	c.stages = nil
	events := c.edit(c.newest.sequence(), objects.RemoveAll{Automatic: true, Reason: "the camera's stages ended; what is there is found anew"})
	if last := c.newestScene(); last != nil { // else it is what stages saw that ended before
		c.memory.SetLast(last)
	}
	c.emit(time.Now(), append(events, c.edit(c.newest.sequence(), objects.Lose{Reason: "the camera's stages ended"})...)...)
	switch soon := time.Since(began) < c.cfg.MaxBackoff; {
	case !soon: // what they learnt is not at fault
		c.failures = 0
	case s.err != nil && s.failedIn == StageTrack && s.recalled != image.Point{}:
		if c.failures++; c.failures >= maxFailedRecalls {
			c.forgetAll(err)
		}
	}
	return err
}

func (s *stages) build() (err error) {
	s.edits = make([]objects.Edit, 0, 2) // people's mark, and what is observed
	s.part = func(first, second image.Rectangle) bool { return s.decided.Part(first, second) }
	s.shows = func(box image.Rectangle) float64 { return s.decided.Shows(box) }
	for stage := range s.boxes {
		s.boxes[stage] = mailbox.New(func(it *item) { s.dropped(Stage(stage), it) })
	}
	if s.extract, err = s.c.cfg.NewExtractor(); err != nil {
		return fmt.Errorf("pipeline: features: %w", err)
	}
	if s.c.cfg.NewDetector != nil {
		if s.detector, err = s.c.cfg.NewDetector(); err != nil {
			return fmt.Errorf("pipeline: detector: %w", err)
		}
	}
	if s.c.detects() {
		s.looks.every, s.looks.nth = s.c.cfg.Detect.Every, s.c.nth
	}
	if p := s.c.cfg.Privacy; p.On() {
		p.Every = s.looks.every
		s.hider = hider.New(p)
		if p.Every == 0 {
			s.c.log.Warn("all of the picture is hidden: nothing is detected that could be hidden alone")
		}
	}
	step, err := s.c.cfg.NewStepper()
	if err != nil {
		return fmt.Errorf("pipeline: tracker: %w", err)
	}
	s.step = step
	o := s.c.observer()
	o.Behind = s.boxes[StageFeatures].Unread
	if s.source, err = s.c.cfg.Open(o); err != nil {
		return fmt.Errorf("pipeline: source: %w", err)
	}
	return nil
}

// accept takes a frame from the source. It never waits.
func (s *stages) accept(f *ingest.Frame) {
	c := s.c
	c.catchUp(f)
	it := &item{frame: f, seq: c.seqBase + f.Seq, pts: c.ptsBase + f.PTS}
	c.seqNext, c.ptsNext = it.seq+1, it.pts
	c.stats.frameIn(time.Now())
	if f.Damaged {
		c.stats.with(func(s *Snapshot) { s.Damaged++ })
	}
	it.note = c.notes.Claim(it.seq, !f.Damaged)
	s.boxes[StageFeatures].Put(it)
}

// run is a stage's goroutine.
func (s *stages) run(stage Stage, do func(*item) error) {
	if stage+1 < Stages {
		defer func() { s.boxes[stage+1].Close() }()
	}
	faults := coalesce.Log{Write: s.c.log.With(keyStage, stage.String()).Warn, Message: "frame failed"}
	defer faults.Flush()
	<-s.ready
	failures := 0
	core := false // left of the frame before
	for {
		it, ok := s.next(stage, core)
		core = false
		if !ok {
			return
		}
		it.began[stage] = time.Now()
		err := guard.Call(func() error { return do(it) })
		it.ended[stage] = time.Now()
		// This frame's next stage comes before the frames that wait for a core, and so does the next
		// frame, if it is half computed.
		switch {
		case err == nil && stage == StageFeatures && s.boxes[StageTrack].Awaited():
		case err == nil && stage == StageTrack && s.boxes[StageTrack].Unread():
			core, it.core = true, false
		default:
			s.free(it)
		}
		s.c.cfg.Meter.Took(stage, it.ended[stage].Sub(it.began[stage]))
		if err == nil {
			failures = 0
			s.pass(stage, it)
			continue
		}
		err = fmt.Errorf("pipeline: %s: frame %d: %w", stage, it.seq, err)
		s.failed(stage, it, err)
		failures++
		var p *guard.Panic
		if failures == maxFailures || errors.As(err, &p) {
			s.fail(stage, err)
			return
		}
		faults.Add(1, err)
	}
}

// next waits for a frame and a core for it, which the caller releases. The frame is the
// newest there is by then. Features are not computed of one while another waits to be tracked: that
// would be overtaken, and what was computed of it lost.
//
// core is whether the caller has a core for it already, and so may the frame.
func (s *stages) next(stage Stage, core bool) (it *item, ok bool) {
	since, has, ok := s.boxes[stage].Wait()
	if stage == StageFeatures {
		s.boxes[StageTrack].Drain()
	}
	if ok && !has && !core {
		s.c.cfg.Cores.Acquire(stage == StageTrack, since)
		core = true
	}
	if ok {
		it, ok = s.boxes[stage].Take() // unless others have failed meanwhile
	}
	switch {
	case core && !(ok && !it.core):
		s.c.cfg.Cores.Release(1)
	case core:
		it.core = true
	}
	return it, ok
}

// free gives back the core of it, if it has one.
func (s *stages) free(it *item) {
	if it.core {
		it.core = false
		s.c.cfg.Cores.Release(1)
	}
}

// pass hands it to the next stage.
func (s *stages) pass(stage Stage, it *item) {
	if stage+1 == Stages {
		s.release(it)
		return
	}
	s.boxes[stage+1].Put(it)
}

// fail ends all stages; the first failure is the one that is reported.
func (s *stages) fail(in Stage, err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err, s.failedIn = err, in
	}
	s.mu.Unlock()
	s.cancel(errStages)
	for _, box := range s.boxes {
		box.Abort()
	}
}

// failed and dropped are the two ways a frame ends early.
func (s *stages) failed(stage Stage, it *item, err error) {
	if stage != StageView { // where it is on the bus already
		s.c.stats.with(func(n *Snapshot) { n.Failed++ })
	}
	s.c.giveUp(it, err)
	s.release(it)
}

func (s *stages) dropped(before Stage, it *item) {
	s.c.stats.with(func(n *Snapshot) {
		n.DroppedBefore[before]++
		if before == StageView {
			n.Unseen++
		} else {
			n.Dropped++
		}
	})
	// Only a failure elsewhere makes a mailbox drop a frame with an annotation.
	s.c.giveUp(it, errStages)
	s.release(it)
}

// release gives back what it holds.
func (s *stages) release(it *item) {
	s.free(it)
	s.recycle(it)
	it.frame.Release()
}

func (s *stages) recycle(it *item) {
	if it.scene == nil {
		return
	}
	it.scene.Release()
	select {
	case s.scenes <- it.scene:
	default: // more pinned frames than usual; the garbage collector takes it
	}
	it.scene = nil
}

func (s *stages) features(it *item) error {
	select {
	case it.scene = <-s.scenes:
	default:
		it.scene = new(features.Scene)
	}
	it.scene.Seq = it.seq
	due := s.looks.due(it.frame.Received, it.pts, it.seq)
	// As of the last frame that was labelled, one or two before this one: what has moved
	// out of where it is to be finer is a little coarser, and what comes back is found that
	// much later.
	var plan features.Plan
	if p := s.plan.Load(); p != nil {
		plan = *p
	}
	plan.PixelAspect = it.frame.PixelAspect
	switch {
	case it.note != nil && (it.note.Annotation.Frame == nil || *it.note.Annotation.Frame == it.seq):
		all := tracker.PlanFor(plan, it.note.Annotation)
		s.plan.Store(&all) // what comes until it is labelled shows all, too
		plan = all
	case s.detector == nil:
		plan = s.whole.Plan(plan, due)
	}
	if s.detector != nil {
		plan.Large = image.Rectangle{} // what the model's heads find is not asked for
	}
	if err := s.extract.Extract(it.scene, it.frame.Pix, it.frame.Width, it.frame.Height, plan); err != nil {
		return err
	}
	s.look(it, due)
	s.c.cfg.Meter.Extracted(it.scene)
	return nil
}

func (s *stages) view(it *item) error {
	s.c.cfg.Viewer.Publish(it.masks, privacy.NewPicture(it.frame.Pix, it.cover, &s.hidden))
	return nil
}
