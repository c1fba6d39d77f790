// Package memory is what a camera knows of its objects whatever becomes of its stages: the pictures that they were
// marked on, and the newest one that shows them. New stages learn the objects from these.
//
// A Memory may be used by any goroutine.
package memory

import (
	"fmt"
	"slices"
	"sync"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/tracker"
)

// maxScenes bounds the pictures that a camera remembers its objects by, as many as the
// tracker keeps annotated frames by default.
const maxScenes = 8

// quality is that of pictures, 1 to 100.
const quality = 95

// WithPicture is a with a picture of BGR24, as JPEG.
func WithPicture(a annotation.Annotation, bgr []byte) (*annotation.Annotation, error) {
	jpeg, err := codec.NewJPEGEncoder(a.Width, a.Height, a.Width, a.Height, quality)
	if err != nil {
		return nil, fmt.Errorf("pipeline: a picture to remember: %w", err)
	}
	defer jpeg.Close()
	if a.Picture, err = jpeg.Encode(bgr); err != nil {
		return nil, fmt.Errorf("pipeline: a picture to remember: %w", err)
	}
	return &a, nil
}

// Memory has the pictures, each with what was marked on it or is shown by it. Only what was configured has labels, until
// it is in use: they are the table's. The zero Memory has none.
type Memory struct {
	mu     sync.Mutex
	marked []*annotation.Annotation // the oldest first
	last   *annotation.Annotation   // what the stages that ended saw last
	unused bool                     // the configured annotation is remembered, but not in use yet
}

// Add remembers a picture with objects, and forgets the oldest of too many, but not one that
// alone shows some object.
func (m *Memory) Add(s *annotation.Annotation) {
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
func (m *Memory) alone(k int) bool {
	return slices.ContainsFunc(m.marked[k].Objects, func(o annotation.Object) bool {
		return !slices.ContainsFunc(m.marked, func(s *annotation.Annotation) bool { return s != m.marked[k] && shows(s, o.ID) })
	})
}

// shows tells whether an object is in s.
func shows(s *annotation.Annotation, id uint32) bool {
	return slices.ContainsFunc(s.Objects, func(o annotation.Object) bool { return o.ID == id })
}

// Configure remembers the configured annotation with the picture it was made on.
func (m *Memory) Configure(a *annotation.Annotation) {
	own := *a
	own.Frame = nil
	own.Objects, own.Mask = slices.Clone(a.Objects), slices.Clone(a.Mask)
	m.Add(&own)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unused = true
}

// Use tells, once, that the configured annotation has come into use with its picture.
func (m *Memory) Use() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.unused
	m.unused = false
	return first
}

// SetLast remembers what the stages that ended saw last.
func (m *Memory) SetLast(s *annotation.Annotation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = s
}

// Marked are the pictures that objects were marked on, the oldest first.
func (m *Memory) Marked() []*annotation.Annotation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.marked)
}

// Scenes are all pictures, the oldest first.
func (m *Memory) Scenes() []*annotation.Annotation {
	m.mu.Lock()
	defer m.mu.Unlock()
	scenes := slices.Clone(m.marked)
	if m.last != nil {
		scenes = append(scenes, m.last)
	}
	return scenes
}

// Objects are those that pictures show.
func (m *Memory) Objects() (all []annotation.Object) {
	for _, s := range m.Scenes() {
		all = append(all, s.Objects...)
	}
	return all
}

// Misses tells whether people's objects are in sight that are in no picture that something was marked on.
func (m *Memory) Misses(table objects.Table) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(table.All(), func(o objects.Object) bool {
		return o.Area > 0 && !o.Automatic() && !slices.ContainsFunc(m.marked, func(s *annotation.Annotation) bool { return shows(s, o.ID) })
	})
}

// Forget forgets objects.
func (m *Memory) Forget(ids []uint32) {
	m.change(func(o *annotation.Object) bool { return !slices.Contains(ids, o.ID) })
}

// ForgetAutomatic leaves what people marked or keep.
func (m *Memory) ForgetAutomatic(table objects.Table) {
	m.change(func(known *annotation.Object) bool {
		known.Label = "" // it is the table's
		o, _ := table.Get(known.ID)
		return !o.Automatic()
	})
}

// forgetUnmarked leaves what people may have marked, where it is not known what was marked automatically: what has
// an id of theirs, or is in a picture of what they marked or keep.
func (m *Memory) forgetUnmarked() {
	theirs := make(map[uint32]bool)
	for _, s := range m.marked {
		for _, o := range s.Objects {
			theirs[o.ID] = true
		}
	}
	m.change(func(o *annotation.Object) bool { return o.ID <= annotation.MaxID || theirs[o.ID] })
}

// Clear forgets everything.
func (m *Memory) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marked, m.last, m.unused = nil, nil, false
}

// change has every picture's objects changed by f, which returns false for one that is to be
// forgotten.
func (m *Memory) change(f func(*annotation.Object) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var marked []*annotation.Annotation
	for _, s := range m.marked {
		if s = change(s, f); s != nil {
			marked = append(marked, s)
		}
	}
	m.marked = marked
	if m.last != nil {
		m.last = change(m.last, f)
	}
}

// change returns s with its objects changed by f; nil if none is left.
func change(s *annotation.Annotation, f func(*annotation.Object) bool) *annotation.Annotation {
	a := *s
	a.Objects = nil
	var gone []uint32
	for _, o := range s.Objects {
		if f(&o) {
			a.Objects = append(a.Objects, o)
		} else {
			gone = append(gone, o.ID)
		}
	}
	if len(a.Objects) == 0 {
		return nil
	}
	if len(gone) > 0 && a.Mask != nil {
		a.Mask = slices.Clone(a.Mask)
		for p, id := range a.Mask {
			if id != 0 && slices.Contains(gone, uint32(id)) {
				a.Mask[p] = 0
			}
		}
	}
	if slices.EqualFunc(a.Objects, s.Objects, func(o, was annotation.Object) bool { return o.ID == was.ID && o.Label == was.Label }) {
		return s
	}
	return &a
}

// Shown is a picture with the objects that its masks show and a table has, those that are automatic only
// if all is true; nil if they show none.
func Shown(masks *segdv1.MaskFrame, table objects.Table, bgr []byte, all bool) (*annotation.Annotation, error) {
	width, height := int(masks.Width), int(masks.Height)
	a := annotation.Annotation{Width: width, Height: height}
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
		return nil, nil
	}
	return WithPicture(a, bgr)
}

// outlined is an object of which bits are the mask, among ids that a mask's pixels do not hold.
func outlined(o *segdv1.Object, bits []uint8, width, height int) annotation.Object {
	out := annotation.Object{ID: o.Id, Polygon: annotation.Outline(bits, width, height)}
	if b := o.Box; out.Polygon == nil {
		out.Box = []float64{float64(b.X), float64(b.Y), float64(b.X + b.Width), float64(b.Y + b.Height)}
	}
	return out
}

// Restore returns what a checkpoint has of pictures and objects.
func Restore(cp *checkpoint.Checkpoint) (*Memory, error) {
	m := &Memory{}
	pictures := slices.DeleteFunc(append(slices.Clone(cp.Marked), cp.Last), func(data []byte) bool { return len(data) == 0 })
	scenes, err := checkpoint.Scenes(pictures)
	if err != nil {
		return nil, err
	}
	m.marked = scenes
	if len(cp.Last) > 0 {
		n := len(m.marked) - 1
		m.last, m.marked = m.marked[n], m.marked[:n:n]
	}
	// The pictures may be older: of what was removed since, or is dormant by now.
	m.change(func(o *annotation.Object) bool {
		o.Label = "" // it may have been renamed since
		_, is := cp.Objects.Get(o.ID)
		return is && (cp.Tracker == nil || slices.ContainsFunc(cp.Tracker.Objects, func(known tracker.ObjectSnapshot) bool { return known.ID == o.ID }))
	})
	if m.last != nil {
		m.last.Automatic = true // it is not to be looked up in every frame
	}
	if cp.Foreign != 0 {
		m.forgetUnmarked()
	}
	return m, nil
}

// Adopt remembers what other does, too, which is not used any more.
func (m *Memory) Adopt(other *Memory) {
	scenes, unused := other.Marked(), other.Use()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marked, m.unused = append(m.marked, scenes...), unused
}
