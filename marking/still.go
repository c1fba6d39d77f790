package marking

import (
	"image"
	"math"
	"slices"

	"github.com/segd/segd/features"
)

const (
	// Nothing has changed between two pictures of a place that correlate by this much. In the demo's clip
	// a post that is taken for a person does by 0.995 from second to second, half of the persons by less
	// than 0.2 and 99 of 100 by less than 0.95.
	unchanged = 0.97
	// What has not changed for so many looks in a row, and was not detected with a score of certain or more
	// in any, is nothing.
	stillLooks = 5
	certain    = 0.6
	// A detection with a box of at least this IoU with that of what is nothing is of that.
	stillIoU = 0.5

	maxStill     = 100 // the oldest go first
	changedLooks = 30  // in a row, after which a place is forgotten
)

// place is where something was detected, and what it looked like.
type place struct {
	box     image.Rectangle
	picture patch
	looks   int // since then, in which nothing had changed
}

// still is a place where a detector, which is not sure, sees something that is nothing: a poster, a tripod.
type still struct {
	class string
	place
	changed int // looks in a row in which it looked otherwise
}

// patch is the brightness of a box's cells, row by row.
type patch []float32

func patchOf(t *features.Thumbnail, box image.Rectangle) (p patch) {
	cells := t.In(box)
	for y := cells.Min.Y; y < cells.Max.Y; y++ {
		for x := cells.Min.X; x < cells.Max.X; x++ {
			p = append(p, float32(t.Lab[3*(y*t.Width+x)]))
		}
	}
	return p
}

// correlation is Pearson's, of two patches of one box: another light leaves it 1. It is 0 where there is
// nothing to be seen.
func (p patch) correlation(q patch) float64 {
	if len(p) != len(q) {
		return 0
	}
	var sp, sq, pp, qq, pq float64
	for i, v := range p {
		a, b := float64(v), float64(q[i])
		sp, sq, pp, qq, pq = sp+a, sq+b, pp+a*a, qq+b*b, pq+a*b
	}
	n := float64(max(1, len(p)))
	variance := (pp - sp*sp/n) * (qq - sq*sq/n)
	if variance <= 0 {
		return 0
	}
	return (pq - sp*sq/n) / math.Sqrt(variance)
}

// placeOf is where d is, nowhere if the detector is sure of it, or the look comes before its time.
func (l *Look) placeOf(d features.Detection) place {
	if l.Extra || d.Score >= certain {
		return place{}
	}
	return place{box: d.Box, picture: patchOf(l.Thumbnail, d.Box)}
}

// isNothing tells whether o, which is detected, is where it was, unchanged, for long: then no other begins
// there while that is so.
func (m *Marker) isNothing(o *object, l *Look, d features.Detection) bool {
	at := &o.place
	switch {
	case l.Extra:
		return false
	case d.Score >= certain || o.kept || at.picture == nil || patchOf(l.Thumbnail, at.box).correlation(at.picture) < unchanged:
		*at = l.placeOf(d)
		return false
	}
	if at.looks++; at.looks < stillLooks {
		return false
	}
	if len(m.still) == maxStill {
		m.still = slices.Delete(m.still, 0, 1)
	}
	m.still = append(m.still, still{class: o.class, place: *at})
	return true
}

// isStill tells whether a detection is of something that is nothing.
func (m *Marker) isStill(l *Look, d features.Detection) bool {
	return d.Score < certain && slices.ContainsFunc(m.still, func(s still) bool {
		return s.class == d.Class && features.IoU(s.box, d.Box) >= stillIoU
	})
}

// watchStill forgets the places that have looked otherwise for long.
func (m *Marker) watchStill(l *Look) {
	for k := range m.still {
		s := &m.still[k]
		if s.changed++; patchOf(l.Thumbnail, s.box).correlation(s.picture) >= unchanged {
			s.changed = 0
		}
	}
	m.still = slices.DeleteFunc(m.still, func(s still) bool { return s.changed >= changedLooks })
}
