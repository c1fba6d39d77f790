package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/tracker"
)

// maxScenes bounds the pictures that a camera remembers its objects by, as many as the
// tracker keeps annotated frames by default.
const maxScenes = 8

// scene is a picture and what was marked on it or is shown by it. It does not change. Only what was configured has
// labels, until it is in use: they are the table's.
type scene struct {
	annotation *annotation.Annotation
	bgr        []byte
	json       []byte // of both, once somebody needed it
}

// memory is what a camera knows of its objects whatever becomes of its stages: the pictures
// they were marked on, and the last picture of all.
type memory struct {
	mu       sync.Mutex
	marked   []scene // the oldest first
	last     *scene  // what the stages that ended saw last
	unused   bool    // the configured annotation is remembered, but not in use yet
	failures int     // of stages in a row, soon after they learnt the objects again

	tracker *tracker.Snapshot // what the tracker knew besides, lately; nil: nothing
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

// misses tells whether people's objects are in sight that are in no picture.
func (m *memory) misses(table objects.Table) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(table.All(), func(o objects.Object) bool {
		return o.Area > 0 && !o.Automatic() && !slices.ContainsFunc(m.marked, func(s scene) bool { return indexOf(s.annotation, o.ID) >= 0 })
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

// setTracker notes what the tracker knows.
func (m *memory) setTracker(s *tracker.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tracker = s
}

// snapshot returns the pictures that new stages learn the objects from, the oldest first, and what the tracker knew
// of them besides.
func (m *memory) snapshot() ([]scene, *tracker.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	scenes := slices.Clone(m.marked)
	if m.last != nil {
		scenes = append(scenes, *m.last)
	}
	return scenes, m.tracker
}

// clear forgets everything.
func (m *memory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marked, m.last, m.unused, m.failures, m.tracker = nil, nil, false, 0, nil
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
	m.failures = 0
}

// failed counts a failure of stages that learnt the objects again, and tells whether these are to be forgotten: they
// may be the cause.
func (m *memory) failed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures++
	return m.failures >= maxFailedRecalls
}

// use tells, once, that the configured annotation has come into use with its picture.
func (m *memory) use() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.unused
	m.unused = false
	return first
}

// shown makes a scene of a picture and the objects that its masks show and a table has, those that are automatic only
// if all is true; nil if they show none.
func shown(masks *segdv1.MaskFrame, table objects.Table, bgr []byte, all bool) *scene {
	width, height := int(masks.Width), int(masks.Height)
	a := &annotation.Annotation{Width: width, Height: height}
	if masks.PixelAspect != 1 {
		a.PixelAspect = masks.PixelAspect
	}
	counts := func(m *segdv1.Object) bool {
		o, is := table.Get(m.Id)
		return is && m.Area > 0 && (all || !o.Automatic())
	}
	// A mask's pixels do not hold the ids of what is marked automatically, and what counts as a detector's has none.
	outlines := all || slices.ContainsFunc(masks.Objects, func(m *segdv1.Object) bool { return m.Id > annotation.MaxID && counts(m) })
	var bits []uint8
	for _, m := range masks.Objects {
		if !counts(m) {
			continue
		}
		runs, err := mask.Parse(m.Counts, width, height)
		if err != nil {
			continue // it was made here
		}
		bits = runs.Decode(bits)
		if outlines {
			a.Objects = append(a.Objects, outlined(m, bits, width, height))
			continue
		}
		if a.Mask == nil {
			a.Mask = make([]uint8, width*height)
		}
		for p, b := range bits {
			if b != 0 {
				a.Mask[p] = uint8(m.Id)
			}
		}
		a.Objects = append(a.Objects, annotation.Object{ID: m.Id})
	}
	if len(a.Objects) == 0 {
		return nil
	}
	return &scene{annotation: a, bgr: bytes.Clone(bgr)}
}

// outlined is an object of which bits are the mask, among ids that a mask's pixels do not hold.
func outlined(o *segdv1.Object, bits []uint8, width, height int) annotation.Object {
	out := annotation.Object{ID: o.Id, Polygon: annotation.Outline(bits, width, height)}
	if b := o.Box; out.Polygon == nil {
		out.Box = []float64{float64(b.X), float64(b.Y), float64(b.X + b.Width), float64(b.Y + b.Height)}
	}
	return out
}

// remember keeps the newest picture, if it shows people's objects: always, or if one of them is in no picture yet. What
// is automatic is not remembered so: it is found again by what it is.
func (c *Camera) remember(always bool) {
	if !always && !c.memory.misses(c.newest.table()) {
		return
	}
	if s := c.newestScene(); s != nil {
		c.memory.add(*s)
	}
}

// rememberLast keeps the picture that was published last. It comes before the objects are lost.
func (c *Camera) rememberLast() {
	if last := c.newestScene(); last != nil { // else it is what stages saw that ended before
		c.memory.mu.Lock()
		defer c.memory.mu.Unlock()
		c.memory.last = last
	}
}

// newestScene is the newest picture with people's objects; nil if it shows none.
func (c *Camera) newestScene() (s *scene) {
	_ = c.Picture(func(masks *segdv1.MaskFrame, bgr []byte) error {
		s = shown(masks, c.newest.table(), bgr, false)
		return nil
	})
	return s
}

// recall shows the stepper the pictures that the camera's objects are remembered by. next is the number of the
// frame to come. It is called in the camera's turn.
func (s *stages) recall(ctx context.Context, next uint64) error {
	c := s.c
	scenes, known := c.memory.snapshot()
	var all []annotation.Object
	for _, sc := range scenes {
		if err := ctx.Err(); err != nil {
			return err
		}
		a := *sc.annotation
		s.recalled = image.Pt(a.Width, a.Height)
		seen := &features.Scene{Seq: next}
		if err := s.extract.Extract(seen, sc.bgr, a.Width, a.Height, tracker.PlanFor(features.Plan{PixelAspect: a.PixelAspect}, &a)); err != nil {
			return fmt.Errorf("pipeline: features: what was marked before: %w", err)
		}
		if err := s.step.Recall(ctx, seen, &a); err != nil {
			return fmt.Errorf("pipeline: tracker: what was marked before: %w", err)
		}
		all = append(all, a.Objects...)
	}
	s.size = s.recalled
	if known != nil && len(scenes) > 0 {
		if err := s.step.Restore(known); err != nil {
			c.refuseCheckpoint(fmt.Errorf("pipeline: tracker: %w; its objects are looked for by what they looked like", err))
		}
	}
	c.emit(time.Now(), c.edit(c.newest.sequence(), objects.Recall{Known: all})...)
	// Should these stages fail, what is automatic is found anew.
	c.memory.forgetAutomatic(c.newest.table())
	return nil
}

// maxFailedRecalls is how many stages in a row may fail soon after they learnt the objects again.
const maxFailedRecalls = 2

// forgetAll forgets the objects that the camera fails with again and again. It is called in the camera's turn.
func (c *Camera) forgetAll(err error) {
	c.memory.clear()
	c.log.Error("objects forgotten, the camera fails with them again and again", keyObjects, c.newest.table().IDs(), keyError, err)
	c.emit(time.Now(), c.edit(c.newest.sequence(), objects.RemoveAll{Reason: fmt.Sprintf("the camera fails with it again and again: %v; mark it again", err)})...)
}

// resize forgets the objects if it is the first frame of another size than those before: they are nowhere in it.
func (s *stages) resize(it *item) (events []*segdv1.Event) {
	was, size := s.size, image.Pt(it.frame.Width, it.frame.Height)
	s.size = size
	table := s.c.newest.table()
	if was == size || was == (image.Point{}) || len(table.All()) == 0 {
		return nil
	}
	change := fmt.Sprintf("the picture size changed from %d×%d to %d×%d", was.X, was.Y, size.X, size.Y)
	unused := s.c.memory.use()
	s.c.memory.clear()
	if unused {
		events = append(events, s.c.rejection(fmt.Errorf("%w: %w", ErrAnnotate, annotation.Faultf("picture", "it is %d×%d; the camera's frames are %d×%d",
			was.X, was.Y, size.X, size.Y))))
	} else {
		s.c.log.Warn("objects forgotten, "+change, keyObjects, table.IDs(), keySeq, it.seq)
	}
	return append(events, s.c.edit(s.c.newest.sequence(), objects.RemoveAll{Reason: change})...)
}
