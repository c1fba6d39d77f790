package tracker

import (
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/layout"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/seed"
)

// whole is what the objects are as wholes, and the workspace of the methods below.
type whole struct {
	layout.Follower

	objects []*layout.Object
	seen    []layout.Seen
}

// layouts are those of the objects.
func (t *Tracker) layouts() []*layout.Object {
	w := &t.whole
	w.objects = w.objects[:0]
	for k := range t.objects.all {
		w.objects = append(w.objects, t.objects.all[k].layout)
	}
	return w.objects
}

// followWhole finds the objects in f's picture as wholes, while the camera stands, and sets
// their evidence.
func (t *Tracker) followWhole(f *frame) {
	w := &t.whole
	if w.Still() {
		w.Find(t.layouts())
	}
	for k := range t.objects.all {
		o := &t.objects.all[k]
		o.Evidence = o.Evidence[:0]
		if w.Awaits(o.layout) { // nothing is it before that says so
			o.Evidence = scratch.Zero(o.Evidence, f.N)
			continue
		}
		if !w.Looked(o.layout) {
			continue
		}
		o.Evidence = scratch.Grow(o.Evidence, f.N)
		w.Evidence(o.Evidence, f.Picture, o.layout)
	}
}

// learnWhole takes what f, which is labelled and drawn, shows of the objects.
// One that ann defines by an outline or a box is as large as that, also where another covers it;
// one that it corrects is as large as its mask.
func (t *Tracker) learnWhole(f *frame, ann *annotation.Annotation, marked []seed.Object) {
	w := &t.whole
	w.seen = w.seen[:0]
	for k := range t.objects.all {
		o := &t.objects.all[k]
		s := layout.Seen{Object: o.layout, InSight: o.State == Visible, Box: o.box, Label: int32(k + 1)}
		if ann != nil && slices.Contains(t.seeder.Corrected(), int32(k+1)) {
			s.Marked = true
		}
		if at := slices.IndexFunc(marked, func(m seed.Object) bool { return m.Label == k+1 && m.Defined }); at >= 0 {
			s.Marked = true
			if b, _ := outlined(ann, at); !b.Empty() {
				s.Box = b
			}
		}
		w.seen = append(w.seen, s)
	}
	w.Learn(w.seen, f.Picture, f.y)
}
