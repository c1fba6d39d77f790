package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/marking"
	"github.com/segd/segd/tracker"
	"github.com/segd/segd/zones"
)

// Detector finds things in pictures; *dnn.Detector is one. It is used by one goroutine of the camera.
type Detector interface {
	// Detect writes what it finds to dst from its beginning, the best scores first.
	Detect(dst []features.Detection, bgr []byte, width, height int) ([]features.Detection, error)
}

// Detect says what a camera marks by itself of what its detector finds.
type Detect struct {
	Classes    []string      // names of the detector's; at least one
	Score      float64       // the least; 0: whatever the detector says
	Every      time.Duration // of stream time, from one look to the next; 0: DefaultEvery
	MaxObjects int           // at most so many; 0: marking.DefaultMaxObjects
	Keep       time.Duration // of stream time, that an object may be out of sight; 0: DefaultKeep
	Reidentify float64       // as of marking.Config; 0: marking.DefaultReidentify
	// Zones are names: an object begins only where its box's foot is in one of these. None: anywhere.
	// Of a zone that is changed the new place counts, and in one that there is not nothing begins.
	Zones []string
}

// Defaults of Detect.
const (
	DefaultEvery = time.Second
	DefaultKeep  = 30 * time.Second
)

const (
	// maxFound bounds what a detector may have found in a frame, whatever it says.
	maxFound = 100
	// maxFoundArea is how many times the picture it may all cover together: more is not taken of an
	// annotation's boxes.
	maxFoundArea = 7
	// earlyPart is which part of Detect.Every may have passed when a picture is looked at early.
	earlyPart = 3
)

// faults are all that is wrong with d.
func (d *Detect) faults(layout zones.Layout) error {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("Config.Detect."+format, args...))
	}
	if len(d.Classes) == 0 {
		bad("Classes: none; want at least one")
	}
	for i, class := range d.Classes {
		if class == "" {
			bad("Classes[%d] is empty; want a class of the detector", i)
		} else if err := annotation.CheckLabel(fmt.Sprintf("Classes[%d]", i), class); err != nil {
			bad("%w; objects are called by it", err)
		}
	}
	if !(d.Score >= 0 && d.Score <= 1) {
		bad("Score: %v; want 0 to 1", d.Score)
	}
	if !(d.Reidentify >= 0 && d.Reidentify <= 1) {
		bad("Reidentify: %v; want 0 to 1", d.Reidentify)
	}
	if d.Every < 0 || d.Keep < 0 {
		bad("Every: %v, Keep: %v; want 0 or more", d.Every, d.Keep)
	}
	if d.MaxObjects < 0 || d.MaxObjects > annotation.MaxFollowed {
		bad("MaxObjects: %d; want 0 to %d", d.MaxObjects, annotation.MaxFollowed)
	}
	for i, name := range d.Zones {
		if !slices.ContainsFunc(layout.Zones, func(z zones.Zone) bool { return z.Name == name }) {
			bad("Zones[%d]: %q is no zone of the camera", i, name)
		}
	}
	return errors.Join(faults...)
}

// automatic is what the camera marks by itself. It outlives the stages, so that no id is used again.
// Whoever has the camera's turn uses it.
type automatic struct {
	marker *marking.Marker          // nil: nothing is marked
	seen   map[uint32]time.Duration // when each automatic object was last in sight, in stream time
	kept   map[uint32]string        // the classes of those that people keep
	// corrected are those of kept that people have marked themselves since.
	corrected map[uint32]bool
	// unremembered are those of kept that no picture shows which is remembered.
	unremembered map[uint32]bool
}

func (a *automatic) begin(c *Camera) (err error) {
	d := &c.cfg.Detect
	if c.cfg.NewDetector == nil {
		return nil
	}
	if err := d.faults(c.cfg.Zones); err != nil {
		return err
	}
	d.Every, d.Keep = cmp.Or(d.Every, DefaultEvery), cmp.Or(d.Keep, DefaultKeep)
	a.seen, a.kept = map[uint32]time.Duration{}, map[uint32]string{}
	a.corrected, a.unremembered = map[uint32]bool{}, map[uint32]bool{}
	a.marker, err = marking.New(marking.Config{
		MaxObjects: d.MaxObjects, Begin: c.mayBegin, Reidentify: d.Reidentify,
		Keep: math.MaxUint64, // frames; time is what counts here
	})
	return err
}

// mayBegin tells whether an object may begin with d in a picture of that size.
func (c *Camera) mayBegin(d features.Detection, width, height int) bool {
	foot := zones.Point{
		float64(d.Box.Min.X+d.Box.Max.X) / 2 / float64(width),
		(float64(d.Box.Max.Y) - 0.5) / float64(height), // in the lowest row, which is in the picture
	}
	of := c.cfg.Detect.Zones
	return len(of) == 0 || slices.ContainsFunc(c.Zones().Zones, func(z zones.Zone) bool {
		return slices.Contains(of, z.Name) && z.Holds(foot)
	})
}

// kind is the class of an object, "" for what people marked, and whether it is marked automatically.
func (a *automatic) kind(id uint32) (class string, automatic bool) {
	if a.marker == nil {
		return "", false
	}
	if class, automatic = a.marker.Class(id); class == "" {
		class = a.kept[id] // the marker does not know it as one of its own after stages were built anew
	}
	return class, automatic
}

// follows tells whether an object is known, which may rest.
func (a *automatic) follows(id uint32) bool { return a.marker != nil && a.marker.Follows(id) }

// keep keeps an object that was marked automatically.
func (a *automatic) keep(id uint32) {
	if class, automatic := a.kind(id); automatic {
		a.kept[id] = class
		delete(a.seen, id)
		a.marker.Keep(id)
	}
}

// reset has the marker know what new stages follow.
func (a *automatic) reset(known []uint32) {
	if a.marker == nil {
		return
	}
	a.marker.Reset(known, a.kept)
	for id := range a.corrected {
		a.marker.Yield(id)
	}
}

// forget forgets an object that is none any more.
func (a *automatic) forget(id uint32) {
	if a.marker != nil {
		delete(a.seen, id)
		delete(a.kept, id)
		delete(a.corrected, id)
		delete(a.unremembered, id)
		a.marker.Forget(id)
	}
}

// shows tells whether masks are the first to show what people keep since it was out of sight.
func (a *automatic) shows(masks *segdv1.MaskFrame) (first bool) {
	if len(a.unremembered) == 0 {
		return false
	}
	for _, o := range masks.Objects {
		if o.Area > 0 && a.unremembered[o.Id] {
			delete(a.unremembered, o.Id)
			first = true
		}
	}
	return first
}

// observe takes what is known after a frame with stream time pts.
func (a *automatic) observe(c *Camera, pts time.Duration, res *tracker.Result) {
	if a.marker == nil {
		return
	}
	a.marker.Observe(res)
	for _, o := range res.Objects {
		if _, automatic := a.marker.Class(o.ID); automatic {
			if _, known := a.seen[o.ID]; !known || o.State == tracker.Visible {
				a.seen[o.ID] = pts
			}
		}
	}
	for _, id := range res.Forgotten {
		if !a.marker.Follows(id) {
			a.forget(id)
		}
	}
	c.cfg.Meter.Automatic(a.marker.Automatic())
}

// outOfSight are the automatic objects that were so for too long by pts.
func (a *automatic) outOfSight(pts, keep time.Duration) (ids []uint32) {
	for id, seen := range a.seen {
		if pts-seen > keep {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// admit refuses an annotation of people that would have more objects followed than there may be, or
// that names what only a detector begins.
func (c *Camera) admit(a *annotation.Annotation) error {
	marker := c.automatic.marker
	fresh := 0
	for k, o := range a.Objects {
		switch {
		case marker != nil && marker.Follows(o.ID):
		case o.ID > annotation.MaxID:
			return annotation.Faultf(fmt.Sprintf("objects[%d].id", k), "%d, and there is no such object; want 1…%d for a new one", o.ID, annotation.MaxID)
		default:
			fresh++
		}
	}
	if marker != nil && fresh > 0 && marker.Len()+fresh > annotation.MaxFollowed {
		return annotation.Faultf("objects", "%d new ones beside %d; a camera follows %d at most: remove some, or lower detect.max_objects",
			fresh, marker.Len(), annotation.MaxFollowed)
	}
	return nil
}

// look is what the detector found in a frame.
type look struct {
	found []features.Detection
	early bool // it came before its time
}

// looks has frames looked at when it is time to. It belongs to the stage of features.
type looks struct {
	detector Detector // nil: never
	every    time.Duration
	last     time.Duration     // stream time of the last look
	any      bool              // there was one
	seq      uint64            // of the frame before
	scenery  scenery           // as it was then
	then     []image.Rectangle // where objects were, and what was found
}

// due tells whether it is time to look at a frame, or, early, whether something moves there that nobody
// knows of.
func (l *looks) due(it *item, known []image.Rectangle) (due, early bool) {
	if l.detector == nil {
		return false, false
	}
	kept := it.seq == l.seq+1
	l.seq = it.seq
	if it.note != nil { // what people say of a frame counts more
		return false, false
	}
	passed := it.pts - l.last
	if !l.any || passed >= l.every || passed < 0 {
		return true, false
	}
	if passed < l.every/earlyPart || !kept { // who cannot keep up has no time for more
		return false, false
	}
	early = l.scenery.differs(it.frame.Pix, it.frame.Width, it.frame.Height, l.then, known)
	return early, early
}

// look has the detector look at the frame of it, if it is time to. What goes wrong costs that look.
func (s *stages) look(it *item) {
	var known []image.Rectangle
	if p := s.known.Load(); p != nil {
		known = *p
	}
	// What is looked for by what it looked like before is not to be taken for something new.
	if s.awaiting.Load() {
		return
	}
	due, early := s.looks.due(it, known)
	if !due {
		return
	}
	l, f := &s.looks, it.frame
	l.last, l.any, l.then = it.pts, true, append(l.then[:0], known...)
	l.scenery.take(f.Pix, f.Width, f.Height)
	start := time.Now()
	var found []features.Detection
	err := guard(func() (err error) {
		found, err = l.detector.Detect(nil, f.Pix, f.Width, f.Height)
		return err
	})
	s.c.cfg.Meter.Looked(time.Since(start))
	if err != nil {
		s.c.lookFailed(fmt.Errorf("pipeline: detector: frame %d: %w", it.seq, err))
		return
	}
	it.look = &look{found: s.c.cfg.Detect.sift(found, f.Width, f.Height), early: early}
	for _, d := range it.look.found {
		s.c.cfg.Meter.Detected(d.Class)
		l.then = append(l.then, d.Box)
	}
}

// lookFailed counts a look that came to nothing.
func (c *Camera) lookFailed(err error) {
	c.cfg.Meter.LookFailed()
	c.lookFaults.mu.Lock()
	defer c.lookFaults.mu.Unlock()
	c.lookFaults.add(time.Now(), err)
}

// lookFaults logs the looks that came to nothing, of any goroutine.
type lookFaults struct {
	mu sync.Mutex
	coalesced
}

// sift leaves what is wanted and makes sense of what a detector says that it found: it may be anybody's.
func (d *Detect) sift(found []features.Detection, width, height int) []features.Detection {
	picture := image.Rect(0, 0, width, height)
	kept, area := found[:0], 0
	for _, f := range found {
		f.Box = f.Box.Intersect(picture)
		if f.Box.Empty() || !(f.Score >= d.Score && f.Score <= 1) || !slices.Contains(d.Classes, f.Class) {
			continue
		}
		if area += f.Box.Dx() * f.Box.Dy(); area > maxFoundArea*width*height || len(kept) == maxFound {
			break
		}
		kept = append(kept, f)
	}
	return kept
}

// boxes are an annotation of what was found, for the plan of the scene that it is marked on.
func (l *look) boxes(width, height int) *annotation.Annotation {
	a := &annotation.Annotation{Width: width, Height: height, Automatic: true}
	for k, f := range l.found {
		a.Objects = append(a.Objects, annotation.Object{ID: uint32(k + 1), Box: []float64{
			float64(f.Box.Min.X), float64(f.Box.Min.Y), float64(f.Box.Max.X), float64(f.Box.Max.Y),
		}})
	}
	return a
}

// unknown tells whether something was found where no object is.
func (l *look) unknown(known []image.Rectangle) bool {
	return slices.ContainsFunc(l.found, func(f features.Detection) bool {
		return !slices.ContainsFunc(known, f.Box.Overlaps)
	})
}

// decide has what was found in it marked: it returns what to mark, nil for nothing, after ending the
// objects that are none any more. It is called in the camera's turn.
func (s *stages) decide(it *item) *annotation.Annotation {
	if it.look == nil || it.note != nil {
		return nil
	}
	c := s.c
	a := &c.automatic
	s.end(a.outOfSight(it.pts, c.cfg.Detect.Keep), fmt.Sprintf("it was out of sight for %v", c.cfg.Detect.Keep))
	d := a.marker.Decide(&marking.Look{
		Seq: it.seq, Width: it.frame.Width, Height: it.frame.Height,
		Found: it.look.found, Thumbnail: &it.scene.Thumbnail, Extra: it.look.early,
	})
	s.end(d.Gone, "it is not detected any more")
	for _, id := range d.Rest {
		s.step.Remove(id)
	}
	if d.Refused > 0 {
		c.cfg.Meter.Unmarked(d.Refused)
		c.log.Debug("detected, but there are too many objects", keyCount, d.Refused)
	}
	return d.Annotation
}

// end ends automatic objects, for a reason.
func (s *stages) end(ids []uint32, reason string) {
	seq, objects := s.c.newest.list()
	var gone []*segdv1.Object
	for _, id := range ids {
		s.c.automatic.forget(id)
		if i := slices.IndexFunc(objects, func(o *segdv1.Object) bool { return o.Id == id }); i >= 0 {
			gone = append(gone, objects[i])
		} else if o, told := s.objects[id]; told { // in a run before
			gone = append(gone, &segdv1.Object{Id: id, Label: o.label, Automatic: true})
		} else {
			s.step.Remove(id)
		}
	}
	s.remove(gone, seq, reason)
}

// endAll ends the automatic objects of stages that end: those to come find what is there anew.
func (s *stages) endAll() {
	if s.c.automatic.marker == nil {
		return
	}
	_, objects := s.c.newest.list()
	var ids []uint32
	for _, o := range objects {
		if o.Automatic {
			ids = append(ids, o.Id)
		}
	}
	s.end(ids, "the camera's stages ended; what is there is found anew")
	clear(s.c.automatic.seen)
	s.c.automatic.marker.Reset(nil, nil)
	s.c.cfg.Meter.Automatic(0)
}

// correct makes the automatic and kept objects people's that they have marked. What they have marked
// is remembered with the frame.
func (a *automatic) correct(by *annotation.Annotation) {
	for k, o := range by.Objects {
		if by.HasMarks(k) && a.marker != nil {
			a.keep(o.ID)
			a.marker.Yield(o.ID)
			if _, kept := a.kept[o.ID]; kept {
				a.corrected[o.ID] = true
			}
		}
	}
}
