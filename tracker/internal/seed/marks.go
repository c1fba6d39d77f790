package seed

import (
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// Marks is what annotations say of one picture's superpixels. Labels of objects are
// from 1 on; the background is 0.
type Marks struct {
	Fixed     []int32 // N: label that was annotated, or annotation.Unmarked, annotation.Outside
	Begun     []int32 // labels that begin with the annotation, or are replaced, but by a box: all their pieces hang together with a mark
	Defined   []int32 // labels that began with an annotation of the picture, or were replaced by one
	Bounded   []int32 // labels that a mask, polygon or box bounds
	Corrected []bool  // N, or empty: whether the superpixel got another label than it had

	outside []bool // N×len(Bounded): whether the superpixel lies outside the bounds
}

// Reset makes m that of n superpixels of which nothing is said.
func (m *Marks) Reset(n int) {
	m.Fixed = scratch.Grow(m.Fixed, n)
	for i := range m.Fixed {
		m.Fixed[i] = annotation.Unmarked
	}
	m.Begun, m.Defined, m.Bounded = m.Begun[:0], m.Defined[:0], m.Bounded[:0]
	m.Corrected, m.outside = m.Corrected[:0], m.outside[:0]
}

// Resume makes m, of which nothing is said, what was said of its picture before, in an earlier
// annotation: from is, for each superpixel, the one of then that it is of, or -1.
func (m *Marks) Resume(old *Marks, from []int32) {
	m.Defined, m.Bounded = append(m.Defined[:0], old.Defined...), append(m.Bounded[:0], old.Bounded...)
	bounds := len(m.Bounded)
	m.outside = scratch.Zero(m.outside, len(from)*bounds)
	if len(old.Corrected) > 0 {
		m.Corrected = scratch.Zero(m.Corrected, len(from))
	}
	for i, o := range from {
		if o < 0 {
			continue
		}
		m.Fixed[i] = old.Fixed[o]
		copy(m.outside[i*bounds:(i+1)*bounds], old.outside[int(o)*bounds:])
		if len(old.Corrected) > 0 {
			m.Corrected[i] = old.Corrected[o]
		}
	}
}

// Clone shares nothing with m.
func (m *Marks) Clone() Marks {
	return Marks{
		Fixed: slices.Clone(m.Fixed), Begun: slices.Clone(m.Begun), Defined: slices.Clone(m.Defined), Bounded: slices.Clone(m.Bounded),
		Corrected: slices.Clone(m.Corrected), outside: slices.Clone(m.outside),
	}
}

// Drop makes a label background and closes the gap it leaves.
func (m *Marks) Drop(label int32) {
	labeling.Drop(m.Fixed, label)
	if k := slices.Index(m.Bounded, label); k >= 0 {
		m.outside = labeling.DropColumn(m.outside, k, len(m.Bounded))
		m.Bounded = slices.Delete(m.Bounded, k, k+1)
	}
	for _, labels := range []*[]int32{&m.Begun, &m.Defined} {
		if k := slices.Index(*labels, label); k >= 0 {
			*labels = slices.Delete(*labels, k, k+1)
		}
		labeling.Drop(*labels, label)
	}
	labeling.Drop(m.Bounded, label)
}

// Any tells whether anything is marked.
func (m *Marks) Any() bool {
	return slices.ContainsFunc(m.Fixed, func(fixed int32) bool { return fixed != annotation.Unmarked })
}

// Free tells whether nothing is said of superpixel i, but for bounds.
func (m *Marks) Free(i int) bool { return m.Fixed[i] == annotation.Unmarked }

// Forbids tells whether the marks rule label l out for superpixel i.
func (m *Marks) Forbids(i, l int) bool {
	switch fixed := m.Fixed[i]; fixed {
	case annotation.Unmarked, annotation.Outside:
		return m.isOutside(i, l)
	default:
		return int(fixed) != l
	}
}

// isOutside tells whether superpixel i lies outside the bounds that an annotation
// gave label l.
func (m *Marks) isOutside(i, l int) bool {
	k := slices.Index(m.Bounded, int32(l))
	return k >= 0 && m.outside[i*len(m.Bounded)+k]
}

// redefine forgets what an earlier annotation said of a label, which is defined now.
func (m *Marks) redefine(label int32) {
	if !slices.Contains(m.Defined, label) {
		m.Defined = append(m.Defined, label)
	}
	for i, fixed := range m.Fixed {
		if fixed == label || fixed == annotation.Outside {
			m.Fixed[i] = annotation.Unmarked
		}
	}
	m.Bounded, m.outside = m.Bounded[:0], m.outside[:0]
}

// KeepEstimate gives y the labels that were estimated together with a new classifier, but
// for the objects that the marks say nothing of: they are where they were
// going to be, however much else is like them.
func (m *Marks) KeepEstimate(y, estimated []int32, q []float64) {
	labels := len(q) / len(y)
	begun := func(l int32) bool { return l == 0 || slices.Contains(m.Begun, l) || slices.Contains(m.Bounded, l) }
	for i, e := range estimated {
		switch decided := y[i]; {
		case begun(decided) && begun(e):
			y[i] = e
		case !begun(decided) && q[i*labels+int(decided)] == 0:
			y[i] = 0
		}
	}
}

// KeepPieces gives the background what was labelled as an annotated object but
// hangs together with none of its marks: who marks an object marks all its
// pieces.
func (m *Marks) KeepPieces(p *picture.Picture, y []int32) {
	kept := make([]bool, p.N)
	var piece []int32
	for i, fixed := range m.Fixed {
		if fixed > 0 && !kept[i] {
			piece = p.Touching.AppendComponent(piece[:0], kept, int32(i), func(j int32) bool { return y[j] == y[i] })
		}
	}
	for i, l := range y {
		if !kept[i] && slices.Contains(m.Begun, l) {
			y[i] = 0
		}
	}
}
