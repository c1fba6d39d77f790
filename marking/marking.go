package marking

import (
	"cmp"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker"
)

// FirstID is the id of the first object that is marked; they are not used again.
const FirstID = annotation.MaxID + 1

// Config tunes a Marker. The zero value takes every default.
type Config struct {
	// MaxObjects is how many objects that were marked here there are at most; 0 means
	// DefaultMaxObjects.
	MaxObjects int
	// Keep is for how many frames of the camera an object may be out of sight; 0 means DefaultKeep.
	Keep uint64
	// Reidentify is how much something new has to look like an object that was out of sight for long to
	// be that again, 0 to 1 of Bhattacharyya's coefficient of their colours from top to bottom: fewer are
	// taken for somebody else the higher it is, and fewer are known again. 0 means DefaultReidentify, 1
	// that nothing is.
	Reidentify float64
	// Begin tells whether a new object may begin with a detection in a picture of that size; nil means
	// always.
	Begin func(d features.Detection, width, height int) bool
}

// Defaults of Config.
const (
	DefaultMaxObjects = 30
	DefaultKeep       = 300
	DefaultReidentify = 0.75
)

const (
	// A detection may be of an object with a box of at least this IoU with it: SORT's.
	leastIoU = 0.3
	// One that is of no object is nothing new where an object's box covers more than this share of it.
	coveredShare = 0.5
	// Two detections of a class, of which more than this share of one is in the other, are of one thing.
	nestedShare = 0.7
	// In so many looks an object has to be detected before it is waited for: one that is not detected again
	// and is out of sight before that is gone.
	confirmed = 3
	// An object in sight that was not detected in more looks in a row than this is none.
	maxUndetected = 2

	// What an object's speed is: a running mean, with this weight of the newest, of frames at most so
	// many apart. It goes on for as many at most.
	speedRate    = 0.2
	speedFrames  = 3
	maxPredicted = 20
)

// object is one that the tracker follows, or that rests.
type object struct {
	id         uint32
	own        bool   // marked here
	kept       bool   // by people, though it is own
	class      string // if so
	label      string // what it is called
	state      tracker.State
	box        image.Rectangle // of its last mask
	seen       uint64          // the frame of that
	speed      [2]float64      // pixels a frame
	undetected int             // looks in a row
	detected   int             // looks in all

	resting bool                // lost, and the tracker does not follow it
	awaited bool                // it rests since a restart alone: it is where it is expected
	looks   features.Appearance // by its detections
	place   place
}

// A Marker marks what is detected in the frames of one camera. It belongs to one goroutine.
type Marker struct {
	cfg     Config
	nextID  uint32
	objects []object
	removed []removed
	still   []still
	last    uint64 // the frame that was observed last
}

// New returns a Marker that knows no objects.
func New(cfg Config) (*Marker, error) {
	if cfg.MaxObjects < 0 {
		return nil, fmt.Errorf("marking: %d objects; want 1 or more, or 0 for %d", cfg.MaxObjects, DefaultMaxObjects)
	}
	if cfg.MaxObjects == 0 {
		cfg.MaxObjects = DefaultMaxObjects
	}
	if !(cfg.Reidentify >= 0 && cfg.Reidentify <= 1) {
		return nil, fmt.Errorf("marking: reidentify %v; want 0 to 1", cfg.Reidentify)
	}
	if cfg.Reidentify == 0 {
		cfg.Reidentify = DefaultReidentify
	}
	if cfg.Keep == 0 {
		cfg.Keep = DefaultKeep
	}
	return &Marker{cfg: cfg, nextID: FirstID}, nil
}

// Observe takes what the tracker knows after a frame, and adds to it the objects that rest, which are
// lost. What else is not in it is not followed any more.
func (m *Marker) Observe(res *tracker.Result) {
	for _, r := range res.Objects {
		at := m.find(r.ID)
		if at < 0 {
			at = len(m.objects)
			m.objects = append(m.objects, object{id: r.ID})
		}
		o := &m.objects[at]
		o.label, o.resting = r.Label, false
		if o.state = r.State; r.State == tracker.Visible && !r.Box.Empty() {
			o.move(r.Box, res.Seq, m.last)
		}
	}
	m.last = res.Seq
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool {
		return !o.resting && !slices.ContainsFunc(res.Objects, func(r tracker.Object) bool { return r.ID == o.id })
	})
	for _, o := range m.objects {
		if o.resting {
			res.Objects = append(res.Objects, tracker.Object{ID: o.id, Label: o.label, State: tracker.Lost})
		}
	}
}

// move notes where o is in frame seq. last is the frame that was observed before: frames between are
// those that were dropped, and say nothing against what was seen in both.
func (o *object) move(box image.Rectangle, seq, last uint64) {
	n := seq - o.seen
	dropped := o.seen == last && n > speedFrames && n <= maxPredicted
	if !o.box.Empty() && n > 0 && (n <= speedFrames || dropped) {
		rate := speedRate
		if dropped {
			rate = 1 - math.Pow(1-speedRate, float64(n))
		}
		way := box.Min.Add(box.Max).Sub(o.box.Min).Sub(o.box.Max) // of the centre, twice
		o.speed[0] += rate * (float64(way.X)/float64(2*n) - o.speed[0])
		o.speed[1] += rate * (float64(way.Y)/float64(2*n) - o.speed[1])
	}
	o.box, o.seen = box, seq
}

// expected is where o is likely to be in frame seq.
func (o *object) expected(seq uint64) image.Rectangle {
	n := float64(min(seq-o.seen, maxPredicted))
	return o.box.Add(image.Pt(int(n*o.speed[0]), int(n*o.speed[1])))
}

// A Decision is what a look leads to.
type Decision struct {
	// Annotation marks objects in the frame that was looked at; nil if there is nothing to be marked.
	Annotation *annotation.Annotation
	// Gone are the ids of objects that are none any more, which the tracker is to forget.
	Gone []uint32
	// Rest are the ids of lost objects that the tracker is to forget, but that may come back: they are
	// marked again then.
	Rest []uint32
	// Refused is how many detections would have become objects, had there not been too many:
	// Config.MaxObjects of them, or annotation.MaxFollowed with those of people.
	Refused int
}

// A Look is what a detector found in a frame.
type Look struct {
	Seq           uint64 // of the frame, which comes after those that were observed
	Width, Height int    // of its picture
	Found         []features.Detection
	Thumbnail     *features.Thumbnail // of the picture
	// Extra is whether the look comes before its time, to find what is new: what is in sight is not marked
	// again, and what is not detected does not count as gone.
	Extra bool
}

// Decide says what l leads to.
func (m *Marker) Decide(l *Look) Decision {
	ann := &annotation.Annotation{Width: l.Width, Height: l.Height, Automatic: true}
	mark := func(o *object, d features.Detection, label string) {
		ann.Objects = append(ann.Objects, annotation.Object{
			ID: o.id, Label: label,
			Box: []float64{float64(d.Box.Min.X), float64(d.Box.Min.Y), float64(d.Box.Max.X), float64(d.Box.Max.Y)},
		})
	}
	looks := l.appearances()
	of := m.assign(l)
	m.recognise(l, of, looks)
	detected := make([]bool, len(m.objects))
	var given []uint32
	back := 0 // of those that rest
	for i, at := range of {
		if at < 0 {
			continue
		}
		detected[at] = true
		switch o := &m.objects[at]; {
		case !o.own && !o.resting:
		case m.isNothing(o, l, l.Found[i]):
			given = append(given, o.id)
		default:
			if o.resting {
				back++
			}
			o.learn(looks[i])
			if !l.Extra || o.state != tracker.Visible {
				mark(o, l.Found[i], o.name())
			}
		}
	}
	decision := m.bury(l, detected, given)
	unwanted := m.unwanted(l, of)
	m.watchStill(l)
	taken := slices.Clone(unwanted) // what is of something
	for i, at := range of {
		taken[i] = taken[i] || at >= 0
	}
	for i, d := range l.Found {
		switch {
		case of[i] >= 0 || unwanted[i] || m.isStill(l, d) || m.covered(l.Seq, d.Box) || l.twice(i, taken):
		case m.cfg.Begin != nil && !m.cfg.Begin(d, l.Width, l.Height):
		case m.own()+back >= m.cfg.MaxObjects || m.Len()+back >= annotation.MaxFollowed:
			decision.Refused++
		default:
			o := object{id: m.nextID, own: true, class: d.Class, box: d.Box, seen: l.Seq, detected: 1, place: l.placeOf(d)}
			o.learn(looks[i])
			m.nextID++
			m.objects = append(m.objects, o)
			taken[i] = true
			mark(&o, d, d.Class)
		}
	}
	if len(ann.Objects) > 0 {
		decision.Annotation = ann
	}
	return decision
}

// name is what o is to be called in an annotation: the tracker knows it unless o rests.
func (o *object) name() string {
	if o.resting {
		return o.label
	}
	return ""
}

// assign says of which object each detection is, −1 if of none: greedily, the largest overlap first.
func (m *Marker) assign(l *Look) (of []int) {
	type pair struct {
		detection, object int
		iou               float64
	}
	var pairs []pair
	for i, d := range l.Found {
		for k := range m.objects {
			o := &m.objects[k]
			if o.resting && !o.awaited {
				continue
			}
			if v := features.IoU(d.Box, o.expected(l.Seq)); v >= leastIoU && (!o.own || o.class == d.Class) {
				pairs = append(pairs, pair{i, k, v})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.iou, a.iou) })
	of = slices.Repeat([]int{-1}, len(l.Found))
	taken := make([]bool, len(m.objects))
	for _, p := range pairs {
		if of[p.detection] < 0 && !taken[p.object] {
			of[p.detection], taken[p.object] = p.object, true
		}
	}
	return of
}

// bury forgets the objects marked here that are gone, with those that were given up, and lays those to rest
// that the tracker has lost. An extra look does not count those that are not detected.
func (m *Marker) bury(l *Look, detected []bool, given []uint32) (d Decision) {
	d.Gone = given
	resting := 0
	for k := range detected {
		o := &m.objects[k]
		o.awaited = false
		switch {
		case detected[k]:
			o.undetected = 0
			o.detected++
		case o.state == tracker.Visible && !l.Extra:
			o.undetected++
		}
		if detected[k] || !o.own || o.kept {
			continue
		}
		doubtful := !l.Extra && o.state != tracker.Visible && o.detected < confirmed
		switch {
		case o.undetected > maxUndetected || l.Seq-o.seen > m.cfg.Keep || doubtful:
			d.Gone = append(d.Gone, o.id)
		case o.resting:
			resting++
		case o.state == tracker.Lost:
			o.resting = true
			resting++
			d.Rest = append(d.Rest, o.id)
		}
	}
	for ; resting > m.cfg.MaxObjects; resting-- {
		oldest := m.oldestResting(d.Gone, detected)
		d.Gone = append(d.Gone, oldest)
		d.Rest = slices.DeleteFunc(d.Rest, func(id uint32) bool { return id == oldest })
	}
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool { return slices.Contains(d.Gone, o.id) })
	return d
}

// covered tells whether there is an object in sight in most of a box.
func (m *Marker) covered(seq uint64, box image.Rectangle) bool {
	return slices.ContainsFunc(m.objects, func(o object) bool {
		return o.state == tracker.Visible && area(o.expected(seq).Intersect(box)) > coveredShare*area(box)
	})
}

// twice tells whether what was detected i-th is of the same thing as another detection that is taken: it
// lies in that one, or it lies round it and the detector is less sure of it.
func (l *Look) twice(i int, taken []bool) bool {
	d := l.Found[i]
	for k, other := range l.Found {
		if !taken[k] || k == i || other.Class != d.Class {
			continue
		}
		both := area(d.Box.Intersect(other.Box))
		if both > nestedShare*area(d.Box) || both > nestedShare*area(other.Box) && d.Score <= other.Score {
			return true
		}
	}
	return false
}

// own counts the objects that were marked here, that nobody keeps and that do not rest.
func (m *Marker) own() (n int) {
	for _, o := range m.objects {
		if o.own && !o.kept && !o.resting {
			n++
		}
	}
	return n
}

func area(r image.Rectangle) float64 { return float64(r.Dx()) * float64(r.Dy()) }
