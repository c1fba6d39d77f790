package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// maxScenes bounds the pictures that a camera remembers its objects by, as many as the
// tracker keeps annotated frames by default.
const maxScenes = 8

// searchFor is how long, in stream time, objects are looked for that were marked on a picture
// of another time, before it is told that they were not found.
const searchFor = 5 * time.Second

// searchFrames is how many frames are labelled at least before that: a machine that is busy labels one a second, and
// an object that comes back is found in some frames only.
const searchFrames = 25

// scene is a picture and what was marked on it or is shown by it. It does not change.
type scene struct {
	annotation *annotation.Annotation
	bgr        []byte
	json       []byte // of both, once somebody needed it
}

// memory is what a camera knows of its objects whatever becomes of its stages: the pictures
// they were marked on, the last picture of all, and what they are called.
type memory struct {
	mu       sync.Mutex
	marked   []scene // the oldest first
	last     *scene  // what the stages that ended saw last
	lost     states  // the objects that were followed then; all are lost
	unused   bool    // the configured annotation is remembered, but not in use yet
	relapses int     // stages in a row that failed soon after they learnt the objects again

	state  *checkpointv1.Tracker // what the tracker knew besides, lately; nil: nothing
	marker *checkpointv1.Marker  // what the marker of a run before knew; nil once that is taken up
}

// add remembers a picture with objects, and forgets the oldest of too many, but not one that
// alone shows some object.
func (m *memory) add(s scene) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marked = append(m.marked, s)
	for k := 0; k < len(m.marked)-1 && len(m.marked) > maxScenes; {
		if m.alone(k) {
			k++
		} else {
			m.marked = slices.Delete(m.marked, k, k+1)
		}
	}
}

// alone tells whether some object is in no other picture than the k-th.
func (m *memory) alone(k int) bool {
	return slices.ContainsFunc(m.marked[k].annotation.Objects, func(o annotation.Object) bool {
		for i, other := range m.marked {
			if i != k && indexOf(other.annotation, o.ID) >= 0 {
				return false
			}
		}
		return true
	})
}

// misses tells whether masks show an object of people's that is in no picture.
func (m *memory) misses(masks *segdv1.MaskFrame) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(masks.Objects, func(o *segdv1.Object) bool {
		return o.Area > 0 && !o.Automatic && !slices.ContainsFunc(m.marked, func(s scene) bool { return indexOf(s.annotation, o.Id) >= 0 })
	})
}

// change has every picture's objects changed by f, which returns false for one that is to be
// forgotten.
func (m *memory) change(f func(*annotation.Object) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	marked := m.marked[:0]
	for _, s := range m.marked {
		if changed := s.change(f); len(changed.annotation.Objects) > 0 {
			marked = append(marked, changed)
		}
	}
	clear(m.marked[len(marked):])
	m.marked = marked
	if m.last != nil {
		last := m.last.change(f)
		if m.last = &last; len(last.annotation.Objects) == 0 {
			m.last = nil
		}
	}
}

func (s scene) change(f func(*annotation.Object) bool) scene {
	a := *s.annotation
	a.Objects = nil
	var gone []uint32
	for _, o := range s.annotation.Objects {
		if f(&o) {
			a.Objects = append(a.Objects, o)
		} else {
			gone = append(gone, o.ID)
		}
	}
	if len(gone) > 0 && a.Mask != nil {
		a.Mask = slices.Clone(a.Mask)
		for p, id := range a.Mask {
			if id != 0 && slices.Contains(gone, uint32(id)) {
				a.Mask[p] = 0
			}
		}
	}
	if slices.EqualFunc(a.Objects, s.annotation.Objects, func(o, was annotation.Object) bool { return o.ID == was.ID && o.Label == was.Label }) {
		return s
	}
	return scene{&a, s.bgr, nil}
}

// scenes are the pictures that objects were marked on.
func (m *memory) scenes() []scene {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.marked)
}

// encoded notes the JSON of a scene, if it is remembered still.
func (m *memory) encoded(s scene) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.marked, func(of scene) bool { return of.annotation == s.annotation }); i >= 0 {
		m.marked[i].json = s.json
	}
}

// setState notes what the tracker knows.
func (m *memory) setState(s *checkpointv1.Tracker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = s
}

// take returns the pictures that new stages learn the objects from, the oldest first, the
// objects that were followed, and what the tracker knew of them.
func (m *memory) take() ([]scene, states, *checkpointv1.Tracker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	scenes := slices.Clone(m.marked)
	if m.last != nil {
		scenes = append(scenes, *m.last)
	}
	return scenes, m.lost, m.state
}

// clear forgets everything.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marked, m.last, m.lost, m.unused, m.relapses, m.state, m.marker = nil, nil, nil, false, 0, nil, nil
}

// configured remembers the configured annotation with the picture it was made on.
func (m *memory) configured(a *annotation.Annotation, bgr []byte) {
	own := *a
	own.Frame, own.Picture = nil, nil
	own.Objects, own.Mask = slices.Clone(a.Objects), slices.Clone(a.Mask)
	m.add(scene{annotation: &own, bgr: bgr})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unused = true
}

// recovered: stages lived long enough for what they learnt not to be at fault.
func (m *memory) recovered() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.relapses = 0
}

// use tells, once, that the configured annotation has come into use with its picture.
func (m *memory) use() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.unused
	m.unused = false
	return first
}

// shown makes a scene of a picture and the objects that its masks show, those that are marked
// automatically only if all is true; nil if they show none.
func shown(masks *segdv1.MaskFrame, objects []*segdv1.Object, bgr []byte, all bool) *scene {
	width, height := int(masks.Width), int(masks.Height)
	a := &annotation.Annotation{Width: width, Height: height}
	counts := func(o *segdv1.Object) bool { return o.Area > 0 && (all || !o.Automatic) }
	// A mask's pixels do not hold the ids of what is marked automatically, and what counts as a detector's has none.
	outlines := all || slices.ContainsFunc(objects, func(o *segdv1.Object) bool { return o.Id > annotation.MaxID && counts(o) })
	var bits []uint8
	for _, o := range objects {
		if !counts(o) {
			continue
		}
		runs, err := mask.Parse(o.Counts, width, height)
		if err != nil {
			continue // it was made here
		}
		bits = runs.Decode(bits)
		if outlines {
			a.Objects = append(a.Objects, outlined(o, bits, width, height))
			continue
		}
		if a.Mask == nil {
			a.Mask = make([]uint8, width*height)
		}
		for p, b := range bits {
			if b != 0 {
				a.Mask[p] = uint8(o.Id)
			}
		}
		a.Objects = append(a.Objects, annotation.Object{ID: o.Id, Label: o.Label})
	}
	if len(a.Objects) == 0 {
		return nil
	}
	return &scene{annotation: a, bgr: bytes.Clone(bgr)}
}

// outlined is an object of which bits are the mask, among ids that a mask's pixels do not hold.
func outlined(o *segdv1.Object, bits []uint8, width, height int) annotation.Object {
	out := annotation.Object{ID: o.Id, Label: o.Label, Polygon: annotation.Outline(bits, width, height)}
	if b := o.Box; out.Polygon == nil {
		out.Box = []float64{float64(b.X), float64(b.Y), float64(b.X + b.Width), float64(b.Y + b.Height)}
	}
	return out
}

// remember keeps the picture of it, the first that heeds an annotation. What is marked automatically is not
// remembered so: it is found again by what it is.
func (c *Camera) remember(it *item) {
	if s := shown(it.masks, it.masks.Objects, it.frame.Pix, false); s != nil {
		c.memory.add(*s)
	}
}

// rememberNow keeps the newest picture with the objects that are people's, if it shows one of them.
func (c *Camera) rememberNow(id uint32) {
	_, objects := c.newest.list()
	_ = c.Picture(func(masks *segdv1.MaskFrame, bgr []byte) error {
		if s := shown(masks, objects, bgr, false); s != nil && indexOf(s.annotation, id) >= 0 {
			c.memory.add(*s)
		}
		return nil
	})
}

// rememberLast keeps what was published last, of what has not been removed since. It comes
// before forget.
func (c *Camera) rememberLast() {
	_, objects := c.newest.list()
	var last *scene
	_ = c.Picture(func(masks *segdv1.MaskFrame, bgr []byte) error {
		last = shown(masks, objects, bgr, false)
		return nil
	})
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if last != nil { // else it is what stages saw that ended before
		c.memory.last = last
	}
}

// recollect shows the stepper the pictures that the camera's objects are remembered by. next is the number of the
// frame to come. It is called in the camera's turn.
func (s *stages) recollect(ctx context.Context, next uint64) error {
	scenes, lost, state := s.c.memory.take()
	s.sought = make(map[uint32]string)
	before := s.c.memory.takeMarker()
	var followed []uint32
	for _, sc := range scenes {
		if err := ctx.Err(); err != nil {
			return err
		}
		a := *sc.annotation
		s.recalled = image.Pt(a.Width, a.Height)
		seen := &features.Scene{Seq: next}
		if err := s.extract.Extract(seen, sc.bgr, a.Width, a.Height, tracker.PlanFor(features.Plan{}, &a)); err != nil {
			return fmt.Errorf("pipeline: features: what was marked before: %w", err)
		}
		if err := s.step.Recall(ctx, seen, &a); err != nil {
			return fmt.Errorf("pipeline: tracker: what was marked before: %w", err)
		}
		for _, o := range a.Objects {
			if !slices.Contains(followed, o.ID) {
				followed = append(followed, o.ID)
			}
			if !isAutomatic(before, o.ID) {
				s.sought[o.ID] = o.Label
			}
		}
	}
	if state != nil && len(scenes) > 0 {
		if err := s.step.Resume(state); err != nil {
			s.c.refuseCheckpoint(fmt.Errorf("pipeline: tracker: %w; its objects are looked for by what they looked like", err))
		}
	}
	s.c.takeUpMarker(before, followed)
	s.awaiting.Store(len(followed) > 0) // for a frame at least
	s.objects = states{}
	for id, o := range lost {
		if slices.Contains(followed, id) || s.c.marker.Follows(id) {
			s.objects[id] = o
		}
	}
	return nil
}

// maxRelapses is how many stages in a row may fail soon after they learnt the objects again.
const maxRelapses = 2

// relapse counts a failure of stages that learnt the objects again, by which these are
// forgotten in the end: they may be the cause. It is called in the camera's turn.
func (c *Camera) relapse(err error) {
	m := &c.memory
	m.mu.Lock()
	m.relapses++
	enough := m.relapses >= maxRelapses
	m.mu.Unlock()
	if !enough {
		return
	}
	scenes, _, _ := m.take()
	m.clear()
	labels := make(map[uint32]string)
	for _, s := range scenes {
		for _, o := range s.annotation.Objects {
			labels[o.ID] = o.Label
		}
	}
	ids := slices.Sorted(maps.Keys(labels))
	c.log.Error("objects forgotten, the camera fails with them again and again", keyObjects, ids, keyError, err)
	for _, id := range ids {
		c.cfg.Meter.RemoveObject(id)
		c.zones.forget(c, id, labels[id], 0)
		c.emit(&segdv1.Event{
			Kind: segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED, ObjectId: id, ObjectLabel: labels[id],
			Message: fmt.Sprintf("the camera fails with it again and again: %v; mark it again", err),
		})
	}
	c.stats.with(func(n *Snapshot) { n.Objects = nil })
}

// search looks after the objects that new stages learnt, in masks with stream time pts: those
// that are not found for long are told of, once.
func (s *stages) search(masks *segdv1.MaskFrame, pts time.Duration) {
	if len(s.sought) == 0 {
		s.awaiting.Store(false)
		return
	}
	defer func() { s.awaiting.Store(len(s.sought) > 0) }()
	if s.soughtFrom == nil {
		s.soughtFrom, s.soughtSince = &masks.Sequence, pts
	}
	s.soughtIn++
	for _, o := range masks.Objects {
		if _, ok := s.sought[o.Id]; !ok {
			continue
		}
		switch {
		case o.Area > 0:
			delete(s.sought, o.Id)
		case pts-s.soughtSince >= searchFor && s.soughtIn >= searchFrames:
			delete(s.sought, o.Id)
			s.c.notFollowed(o.Id, o.Label, masks.Sequence, fmt.Sprintf("it was not found within %.1f s of frame %d by what it looked like when it was marked; it is looked for still; mark it again if it is there",
				(pts-s.soughtSince).Seconds(), *s.soughtFrom))
		}
	}
}

// refit tells that what the stages learnt is of another picture size than the camera's frames.
func (s *stages) refit(res *tracker.Result) {
	c := s.c
	used := !c.memory.use()
	c.memory.clear()
	s.sought = nil
	s.awaiting.Store(false)
	if used {
		s.objects.resized(c, res)
		return
	}
	c.rejected(fmt.Errorf("%w: %w", ErrAnnotate, annotation.Faultf("picture", "it is %d×%d; the camera's frames are %d×%d",
		s.recalled.X, s.recalled.Y, res.Width, res.Height)))
}
