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
	// Confirm is in how many looks an object has to be detected before it is waited for: one that is not
	// detected again and is out of sight before that is gone. 0 and 1: none is.
	Confirm int
	// Fits is the IoU of a detection and an object's mask's box from which on the object is not marked
	// again: the mask is as it should be. 0: it always is.
	Fits float64
	// Begin tells whether a new object may begin with a detection in a picture of that size; nil means
	// always.
	Begin func(d features.Detection, width, height int) bool
}

// Defaults of Config.
const (
	DefaultMaxObjects = 30
	DefaultKeep       = 300
)

const (
	// A detection may be of an object with a box of at least this IoU with it: SORT's.
	leastIoU = 0.3
	// One that is of no object is nothing new where an object's box covers more than this share of it.
	coveredShare = 0.5
	// An object in sight that was not detected in more looks in a row than this is none.
	maxUndetected = 2

	// What an object's speed is: a running mean, with this weight of the newest, of frames at most so
	// many apart. It goes on for as many at most.
	speedRate    = 0.2
	speedFrames  = 3
	maxPredicted = 20
)

// object is one that the tracker follows.
type object struct {
	id         uint32
	own        bool   // marked here
	kept       bool   // by people, though it is own
	class      string // if so
	state      tracker.State
	box        image.Rectangle // of its last mask
	seen       uint64          // the frame of that
	speed      [2]float64      // pixels a frame
	undetected int             // looks in a row
	detected   int             // looks in all
}

// A Marker marks what is detected in the frames of one camera. It belongs to one goroutine.
type Marker struct {
	cfg     Config
	nextID  uint32
	objects []object
	removed []removed
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
	if cfg.Keep == 0 {
		cfg.Keep = DefaultKeep
	}
	return &Marker{cfg: cfg, nextID: FirstID}, nil
}

// Observe takes what the tracker knows after a frame. What is not in it is not followed any more.
func (m *Marker) Observe(res *tracker.Result) {
	for _, r := range res.Objects {
		at := slices.IndexFunc(m.objects, func(o object) bool { return o.id == r.ID })
		if at < 0 {
			at = len(m.objects)
			m.objects = append(m.objects, object{id: r.ID})
		}
		o := &m.objects[at]
		if o.state = r.State; r.State == tracker.Visible && !r.Box.Empty() {
			o.move(r.Box, res.Seq, m.last)
		}
	}
	m.last = res.Seq
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool {
		return !slices.ContainsFunc(res.Objects, func(r tracker.Object) bool { return r.ID == o.id })
	})
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
	// Gone are the ids of objects that the tracker is to forget.
	Gone []uint32
	// Refused is how many detections would have become objects, had there not been too many:
	// Config.MaxObjects of them, or annotation.MaxFollowed with those of people.
	Refused int
}

// Look decides about what was detected in frame seq of width×height pixels, which comes after those that
// were observed.
func (m *Marker) Look(seq uint64, found []features.Detection, width, height int) Decision {
	return m.look(seq, found, width, height, false)
}

// LookExtra is Look for one that comes before its time, to find what is new: what is in sight is not
// marked again, and what is not detected does not count as gone.
func (m *Marker) LookExtra(seq uint64, found []features.Detection, width, height int) Decision {
	return m.look(seq, found, width, height, true)
}

func (m *Marker) look(seq uint64, found []features.Detection, width, height int, extra bool) Decision {
	ann := &annotation.Annotation{Width: width, Height: height, Automatic: true}
	mark := func(o *object, d features.Detection, label string) {
		ann.Objects = append(ann.Objects, annotation.Object{
			ID: o.id, Label: label,
			Box: []float64{float64(d.Box.Min.X), float64(d.Box.Min.Y), float64(d.Box.Max.X), float64(d.Box.Max.Y)},
		})
	}
	of := m.assign(seq, found)
	detected := make([]bool, len(m.objects))
	for i, at := range of {
		if at < 0 {
			continue
		}
		detected[at] = true
		if o := &m.objects[at]; o.own && !m.fits(o, found[i], seq, extra) {
			mark(o, found[i], "") // it has one, maybe of people's
		}
	}
	decision := Decision{Gone: m.bury(seq, detected, extra)}
	unwanted := m.unwanted(seq, found, of, extra)
	for i, d := range found {
		switch {
		case of[i] >= 0 || unwanted[i] || m.covered(seq, d.Box) || m.cfg.Begin != nil && !m.cfg.Begin(d, width, height):
		case m.own() >= m.cfg.MaxObjects || len(m.objects) >= annotation.MaxFollowed:
			decision.Refused++
		default:
			m.objects = append(m.objects, object{id: m.nextID, own: true, class: d.Class, box: d.Box, seen: seq, detected: 1})
			m.nextID++
			mark(&m.objects[len(m.objects)-1], d, d.Class)
		}
	}
	if len(ann.Objects) > 0 {
		decision.Annotation = ann
	}
	return decision
}

// fits tells whether what was detected of o in frame seq leaves its mask as it is: an extra look does that
// with all that is in sight.
func (m *Marker) fits(o *object, d features.Detection, seq uint64, extra bool) bool {
	if o.state != tracker.Visible || o.seen != m.last {
		return false
	}
	return extra || m.cfg.Fits > 0 && features.IoU(o.expected(seq), d.Box) >= m.cfg.Fits
}

// assign says of which object each detection is, −1 if of none: greedily, the largest overlap first.
func (m *Marker) assign(seq uint64, found []features.Detection) (of []int) {
	type pair struct {
		detection, object int
		iou               float64
	}
	var pairs []pair
	for i, d := range found {
		for k := range m.objects {
			o := &m.objects[k]
			if v := features.IoU(d.Box, o.expected(seq)); v >= leastIoU && (!o.own || o.class == d.Class) {
				pairs = append(pairs, pair{i, k, v})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.iou, a.iou) })
	of = slices.Repeat([]int{-1}, len(found))
	taken := make([]bool, len(m.objects))
	for _, p := range pairs {
		if of[p.detection] < 0 && !taken[p.object] {
			of[p.detection], taken[p.object] = p.object, true
		}
	}
	return of
}

// bury forgets the objects marked here that are gone, and returns their ids. An extra look does not
// count those that are not detected.
func (m *Marker) bury(seq uint64, detected []bool, extra bool) (gone []uint32) {
	for k := range detected {
		o := &m.objects[k]
		switch {
		case detected[k]:
			o.undetected = 0
			o.detected++
		case o.state == tracker.Visible && !extra:
			o.undetected++
		}
		doubtful := !extra && o.state != tracker.Visible && o.detected < m.cfg.Confirm
		if o.own && !o.kept && !detected[k] && (o.undetected > maxUndetected || seq-o.seen > m.cfg.Keep || doubtful) {
			gone = append(gone, o.id)
		}
	}
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool { return slices.Contains(gone, o.id) })
	return gone
}

// covered tells whether there is an object in sight in most of a box.
func (m *Marker) covered(seq uint64, box image.Rectangle) bool {
	return slices.ContainsFunc(m.objects, func(o object) bool {
		return o.state == tracker.Visible && area(o.expected(seq).Intersect(box)) > coveredShare*area(box)
	})
}

// own counts the objects that were marked here and that nobody keeps.
func (m *Marker) own() (n int) {
	for _, o := range m.objects {
		if o.own && !o.kept {
			n++
		}
	}
	return n
}

func area(r image.Rectangle) float64 { return float64(r.Dx()) * float64(r.Dy()) }
