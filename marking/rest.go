package marking

import (
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

const (
	// What a detection shows is taken for what it looks like only where no other one overlaps it by more
	// than this IoU.
	aloneIoU = 0.1
	// How fast what an object looks like follows what is seen of it, a look.
	learnRate = 0.2
	// One that is known again has to look more like that object than like any other by this much.
	beyondDoubt = 0.05
	// How far an object may have come, in longer sides of its box: at once, and a frame.
	reachAtOnce, reachRate = 1, 0.15
)

// appearances are what was found looks like, nil where something else is in the way.
func (l *Look) appearances() []features.Appearance {
	looks := make([]features.Appearance, len(l.Found))
	for i, d := range l.Found {
		alone := true
		for k, other := range l.Found {
			alone = alone && (k == i || features.IoU(d.Box, other.Box) <= aloneIoU)
		}
		if alone {
			looks[i] = l.Thumbnail.Appearance(d.Box)
		}
	}
	return looks
}

// learn takes what o looks like, unless nobody can tell.
func (o *object) learn(looks features.Appearance) {
	if o.looks == nil {
		o.looks = slices.Clone(looks)
	} else {
		o.looks.Learn(looks, learnRate)
	}
}

// recognise gives detections that are of no object to objects out of sight, at rest or not, if they look like
// one beyond doubt and it can have come there.
func (m *Marker) recognise(l *Look, of []int, looks []features.Appearance) {
	room := min(m.cfg.MaxObjects-m.own(), annotation.MaxFollowed-m.Len())
	for i, d := range l.Found {
		if room <= 0 || of[i] >= 0 || looks[i] == nil || m.covered(l.Seq, d.Box) {
			continue
		}
		best, most, second := -1, 0.0, 0.0
		for k := range m.objects {
			o := &m.objects[k]
			if o.class != d.Class || o.state == tracker.Visible || slices.Contains(of, k) {
				continue
			}
			switch v := looks[i].Similarity(o.looks); {
			case v > most:
				best, most, second = k, v, most
			case v > second:
				second = v
			}
		}
		if best >= 0 && most >= m.cfg.Reidentify && m.cfg.Reidentify < 1 && most-second >= beyondDoubt && m.objects[best].reaches(l, d) {
			of[i] = best
			if m.objects[best].resting {
				room--
			}
		}
	}
}

// reaches tells whether o can have come to where d is.
func (o *object) reaches(l *Look, d features.Detection) bool {
	way := d.Box.Min.Add(d.Box.Max).Sub(o.box.Min).Sub(o.box.Max) // of the centre, twice
	reach := reachAtOnce + reachRate*float64(l.Seq-o.seen)
	return math.Hypot(float64(way.X), float64(way.Y))/2 <= reach*float64(max(d.Box.Dx(), d.Box.Dy()))
}

// oldestResting is the id of the object that rests and was seen last before all others of those that are
// neither gone nor detected.
func (m *Marker) oldestResting(gone []uint32, detected []bool) (id uint32) {
	seen := uint64(math.MaxUint64)
	for k, o := range m.objects {
		if o.resting && !detected[k] && o.seen < seen && !slices.Contains(gone, o.id) {
			id, seen = o.id, o.seen
		}
	}
	return id
}
