package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/privacy/hider"
	"github.com/segd/segd/pipeline/internal/message"
	"github.com/segd/segd/tracker"
)

// report is what is known after a frame. The bus, the page, zones, metrics, the status and checkpoints have the camera's
// objects from it.
type report struct {
	*item               // with its masks
	taken     time.Time // when the frame was
	published time.Time // when its masks were made
	result    *tracker.Result
	table     objects.Table
	events    []*segdv1.Event // not told yet
	marked    bool            // people marked something that this is the first to heed
}

// track labels the scene and publishes the masks: what subscribers get must not
// wait for another stage.
func (s *stages) track(ctx context.Context, it *item) error {
	// Held until the masks are out: after a command no older masks may follow.
	s.c.turn <- struct{}{}
	defer func() { <-s.c.turn }()
	s.letGoExpired(time.Now())
	r := &report{item: it, taken: taken(it.frame)}
	tell := func() {
		s.c.emit(r.taken, r.events...)
		r.events = nil
	}
	defer tell() // where it fails: objects may have ended before
	if err := s.label(ctx, r); err != nil {
		return err
	}
	s.conclude(r)
	tell()
	s.publish(r)
	s.captureDue(r)
	return nil
}

// maxTransit is the longest a frame is believed to travel from a camera here.
const maxTransit = 2 * time.Second

// taken is when f was captured, by the clock here. A camera's own clock counts only as
// far as it can be true: one that runs ahead or minutes behind says nothing, and then the
// time of arrival has to do.
func taken(f *ingest.Frame) time.Time {
	if transit := f.Received.Sub(f.Captured); f.Clock == ingest.ClockSenderReport && transit >= 0 && transit <= maxTransit {
		return f.Received.Add(-transit)
	}
	return f.Received
}

// label decides what the detections lead to, and steps the tracker: with the frame's annotation first if it has one,
// or with what begins by itself, and without when that is refused.
func (s *stages) label(ctx context.Context, r *report) error {
	kept := r.frame.Keep()
	defer kept.Release()
	r.events = s.resize(r.item)
	d := s.decide(r)
	marks := d.Annotation
	var err error
	if r.note != nil {
		marks = r.note.Annotation
		err = s.c.newest.table().Admit(marks)
	}
	step := func(a *annotation.Annotation) {
		r.result, err = s.step.Step(ctx, r.scene, &picture{kept, &s.earlier, r.pts}, a, d.Extents)
	}
	if err == nil {
		step(marks)
	}
	if marks == nil || !errors.Is(err, annotation.ErrInvalid) {
		return err
	}
	if r.note != nil {
		r.events = append(r.events, s.c.reject(r.note, fmt.Errorf("%w: %w", ErrAnnotate, err)))
		r.note = nil
	} else {
		s.c.lookFailed(fmt.Errorf("pipeline: what was detected in frame %d: %w", r.seq, err))
		var ids []uint32
		for _, o := range marks.Objects {
			ids = append(ids, o.ID)
		}
		r.events = append(r.events, s.c.edit(s.c.newest.sequence(), s.c.marker.Refuse(s.c.newest.table(), "it cannot be marked again", ids...)...)...)
	}
	step(nil)
	return err
}

// decide says what the frame's detections lead to, and edits the objects accordingly.
func (s *stages) decide(r *report) marking.Decision {
	c, table := s.c, s.c.newest.table()
	s.decided = r.scene
	d := c.marker.Decide(table, &marking.Frame{
		Time: r.pts, Width: r.frame.Width, Height: r.frame.Height,
		Found: r.scene.Found, Looked: r.scene.Looked, Thumbnail: &r.scene.Thumbnail, Part: s.part, Shows: s.shows,
		// What is looked for by what it looked like before is not to be taken for something new.
		Marked: r.note != nil || table.Awaited(),
	})
	if len(d.Edits) > 0 {
		r.events = append(r.events, c.edit(c.newest.sequence(), d.Edits...)...)
	}
	for _, e := range d.Edits {
		if rest, is := e.(objects.Rest); is && rest.Dormant {
			s.step.Remove(rest.ID)
		}
	}
	for _, f := range r.scene.Found {
		if slices.Contains(c.cfg.Detect.Classes, f.Class) && f.Score >= c.cfg.Detect.Score {
			c.cfg.Meter.Detected(f.Class)
		}
	}
	if d.Refused > 0 {
		c.cfg.Meter.Unmarked(d.Refused)
		c.log.Debug("detected, but there are too many objects", keyCount, d.Refused)
	}
	return d
}

// conclude completes r by what the tracker made of the frame: the objects, the masks and the events. Commands and
// readers find the objects as they are in r from then on.
func (s *stages) conclude(r *report) {
	c := s.c
	s.edits = s.edits[:0]
	if r.note != nil {
		s.edits = append(s.edits, objects.Annotate{By: r.note.Annotation, Seq: r.seq, Time: r.pts})
	}
	s.observed = objects.Observe{Result: r.result, Time: r.pts, Taken: r.taken, May: c.mayTell}
	var told []objects.Event
	c.ration.at(r.pts)
	r.table, told = c.newest.table().Apply(append(s.edits, &s.observed)...)
	if r.marked = r.note != nil; r.marked {
		r.table, _ = r.table.Apply(c.marker.Bind(r.table, r.note.Annotation, &r.scene.Thumbnail)...)
	}
	plan := s.step.Plan(features.Plan{}, c.marker.Candidates(r.table)...)
	s.plan.Store(&plan)
	r.masks = message.Masks(r.frame, r.pts, r.scene, r.result, r.table)
	r.masks.Site, r.masks.Camera, r.masks.Epoch, r.masks.Lease = c.cfg.Site, c.cfg.Name, c.epoch.Load(), c.cfg.Lease.Token()
	if s.hider != nil {
		s.hide(r)
	}
	s.recycle(r.item)
	r.published = time.Now()
	message.SetTime(r.masks.PublishTime, r.published)
	if c.memory.Use() {
		r.events = append(r.events, c.acceptance(r.seq, ""))
	}
	c.newest.keep(r.item, r.table)
	c.remember(r.marked)
	r.events = append(r.events, c.resolve(r)...) // a client that is told that it was accepted finds its objects
	r.events = append(r.events, c.heed(told, r.seq)...)
	r.events = append(r.events, c.zones.observe(c, r.item, r.result, r.table)...)
}

// hide says what the frame's picture does not show.
func (s *stages) hide(r *report) {
	r.cover = s.hider.Step(&hider.Frame{Time: r.pts, Result: r.result, Table: r.table, Found: r.scene.Found, Looked: r.scene.Looked})
	if r.cover.Whole && s.shown {
		s.c.log.Warn("all of the picture is hidden until the detector has looked at all of it again", keySeq, r.seq)
	}
	s.shown = !r.cover.Whole
}

// publish tells the meter and the bus of r.
func (s *stages) publish(r *report) {
	c := s.c
	c.cfg.Meter.Solved(r.result.Solve)
	if !c.cfg.Lease.Valid() { // another box may publish by now; people here still see it
		c.stats.with(func(n *Snapshot) { n.Dropped, n.Unleased = n.Dropped+1, n.Unleased+1 })
		return
	}
	if err := c.cfg.Publisher.PublishMask(r.masks); err != nil {
		// The bus is away, the stage is sound: people at the page still see it.
		c.publishFailed()
		c.stats.with(func(n *Snapshot) { n.Failed++ })
		c.log.Debug("masks not published", keySeq, r.seq, keyError, err)
		return
	}
	latency := r.published.Sub(r.taken)
	c.stats.published(r.published, latency)
	c.cfg.Meter.Latency(latency)
	if c.cfg.Slow > 0 && latency >= c.cfg.Slow {
		s.slow.add(c.log, r.item, r.result.Solve, latency, r.published)
	}
}
