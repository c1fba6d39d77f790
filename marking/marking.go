package marking

import (
	"fmt"
	"image"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/track"
	"github.com/segd/segd/tracker"
)

// FirstID is the id of the first object that is marked; they are not used again.
const FirstID = annotation.MaxID + 1

// Config tunes a Marker. The zero value takes every default.
type Config struct {
	// Classes are those of which objects begin by themselves; none: nothing does, and tracks are for what people mark.
	Classes []string
	// MaxObjects is how many objects that were marked here there are at most; 0 means
	// DefaultMaxObjects.
	MaxObjects int
	// Begin tells whether a new object may begin in a box of a picture of that size; nil means always.
	Begin func(box image.Rectangle, size image.Point) bool
	// Track tunes the tracks.
	Track track.Config
}

// DefaultMaxObjects is Config.MaxObjects' default.
const DefaultMaxObjects = 30

// followed are the classes whose tracks people's objects are bound to, beside Config.Classes: persons and road vehicles.
var followed = []string{"person", "bicycle", "car", "motorcycle", "bus", "truck"}

// motionRate is the weight of a frame in the mean of the camera's motion.
const motionRate = 0.2

// fitIoU is the least IoU of the box of people's object's mask and a track's box for the object to be bound to the
// track: half as much again as that by which a detection counts as right, since a mask that is not of the whole
// thing (a jacket, a rider without the bicycle) must not follow the whole.
const fitIoU = 0.75

// markIoU is as fitIoU for markFor after people marked the object, as that by which a detection counts as right, if
// fitIoU of the mask's box is inside the track's: who comes into the picture may be marked before he is detected, and a track of a part
// is not what was marked.
const (
	markIoU = 0.5
	markFor = 500 * time.Millisecond
)

// object is one that the tracker follows, or that rests.
type object struct {
	id    uint32
	track uint32 // 0: it has none
	own   bool   // marked here
	kept  bool   // by people, though it is own
	class string // of its track, if it was marked here
	label string // what it is called

	visible bool
	box     image.Rectangle // of its last mask
	resting bool            // its track is lost, and the tracker does not follow it
	left    bool            // people's, and its track left the picture
	fresh   bool            // people marked it, at that time
	marked  time.Duration
}

// automatic tells whether o was marked here and is nobody's.
func (o *object) automatic() bool { return o.own && !o.kept }

// A Marker knows the objects of one camera. It belongs to one goroutine.
type Marker struct {
	cfg     Config
	nextID  uint32
	objects []object
	tracks  *track.Tracker
	now     []track.Track   // after the last frame
	about   map[uint32]note // by track
	time    time.Duration   // of the last frame
	size    image.Point     // of the pictures
	camera  features.CameraMotion
	moves   float64              // the camera's motion of late
	found   []features.Detection // in the last frame, of classes that have tracks
}

// note is what is known of a track.
type note struct {
	frames   int  // for how many it has been there
	unwanted bool // nothing begins: people removed its object, or the tracker refused it
	refused  bool // there was no room once
}

// beginFrames is for how many frames a track is there before its object begins: after that what is round the track is
// seen finer, as all masks are made of, where no frame waits for the plan of the one before.
const beginFrames = 1

// New returns a Marker that knows no objects.
func New(cfg Config) (*Marker, error) {
	if cfg.MaxObjects < 0 {
		return nil, fmt.Errorf("marking: %d objects; want 1 or more, or 0 for %d", cfg.MaxObjects, DefaultMaxObjects)
	}
	if cfg.MaxObjects == 0 {
		cfg.MaxObjects = DefaultMaxObjects
	}
	tracks, err := track.New(cfg.Track)
	if err != nil {
		return nil, fmt.Errorf("marking: %w", err)
	}
	return &Marker{cfg: cfg, nextID: FirstID, tracks: tracks, about: map[uint32]note{}}, nil
}

// A Frame is what a network detected in one.
type Frame struct {
	Time          time.Duration // of the stream
	Width, Height int           // of its picture
	Found         []features.Detection
	Looked        []image.Rectangle   // where it looked
	Thumbnail     *features.Thumbnail // of the picture
	// Marked is whether people mark something in the frame: nothing begins by itself then.
	Marked bool
}

// sees tells whether the middle of a box, or what is nearest to it in the picture, was looked at.
func (f *Frame) sees(box image.Rectangle) bool {
	middle := box.Min.Add(box.Max).Div(2)
	middle.X, middle.Y = min(max(middle.X, 0), f.Width-1), min(max(middle.Y, 0), f.Height-1)
	return slices.ContainsFunc(f.Looked, func(r image.Rectangle) bool { return middle.In(r) })
}

// A Decision is what a frame leads to.
type Decision struct {
	// Annotation marks objects in the frame; nil if there is nothing to be marked.
	Annotation *annotation.Annotation
	// Extents are those of the objects that have a track and do not rest, where the frame was looked at.
	Extents []tracker.Extent
	// Gone are objects that are none any more, which the tracker is to forget.
	Gone []Gone
	// Rest are the ids of lost objects that the tracker is to forget, but that may come back: they are
	// marked again then.
	Rest []uint32
	// Refused is how many tracks did not become objects, because there are too many: Config.MaxObjects of
	// them, or annotation.MaxFollowed with those of people. Each is told once.
	Refused int
}

// Gone is an object that ended.
type Gone struct {
	ID     uint32
	Reason string // for people
}

// reasons are why tracks end.
var reasons = map[track.Reason]string{
	track.Unconfirmed: "it was not detected again",
	track.Forgotten:   "it was out of sight for too long",
	track.Left:        "it left the picture",
	track.Merged:      "it is the same as another object",
	track.Still:       "it does not move, and the detector is not sure of it",
}

// Step says what f leads to.
func (m *Marker) Step(f *Frame) (d Decision) {
	if size := image.Pt(f.Width, f.Height); size != m.size {
		m.resize(size)
	}
	m.time = f.Time
	motion, _ := m.camera.Step(f.Thumbnail, nil)
	m.moves += motionRate * (motion - m.moves)
	tracks, ended := m.tracks.Step(m.frame(f))
	m.now = tracks
	for _, e := range ended {
		delete(m.about, e.ID)
		switch o := m.of(e.ID); {
		case o == nil:
		case e.Reason == track.Merged && m.of(e.Into) == nil:
			o.track = e.Into
		case o.automatic():
			d.Gone = append(d.Gone, Gone{o.id, reasons[e.Reason]})
		default:
			o.track, o.left = 0, e.Reason == track.Left
		}
	}
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool {
		return slices.ContainsFunc(d.Gone, func(g Gone) bool { return g.ID == o.id })
	})
	ann := &annotation.Annotation{Width: f.Width, Height: f.Height, Automatic: true}
	for i := range tracks {
		t := &tracks[i]
		n := m.about[t.ID]
		n.frames++
		m.about[t.ID] = n
		o := m.of(t.ID)
		if o == nil || o.automatic() && !o.visible { // an object that has no mask may be somebody's thing
			if people := m.bind(t); people != nil {
				if o != nil {
					d.Gone = append(d.Gone, Gone{o.id, reasons[track.Merged]})
					m.Forget(o.id)
				}
				o = m.of(t.ID)
			}
		}
		switch {
		case o == nil:
			if m.begins(f, t, &d) {
				m.objects = append(m.objects, object{id: m.nextID, own: true, track: t.ID, class: t.Class, label: t.Class})
				m.nextID++
				o = &m.objects[len(m.objects)-1]
				ann.Objects = append(ann.Objects, marked(o, m.box(t)))
			}
		case o.resting && !f.Marked && t.State == track.Seen && m.room():
			o.resting = false
			ann.Objects = append(ann.Objects, marked(o, m.box(t)))
		case o.automatic() && !o.resting && t.State == track.Lost:
			o.resting, o.visible = true, false
			d.Rest = append(d.Rest, o.id)
		}
		// What people marked is followed without a track where that is lost, or the camera moves: tracks know nothing
		// of how it does.
		if o != nil && !o.resting && t.State != track.Lost && f.sees(rounded(t.Box)) && (m.stands() || o.automatic()) {
			e := tracker.Extent{ID: o.id, Box: rounded(t.Box)}
			if t.Detected >= 0 {
				e.Detected = m.found[t.Detected].Box
			}
			d.Extents = append(d.Extents, e)
		}
	}
	for _, o := range m.objects {
		if o.left && m.stands() { // else it would be found in somebody who looks like it
			d.Extents = append(d.Extents, tracker.Extent{ID: o.id})
		}
	}
	if len(ann.Objects) > 0 {
		d.Annotation = ann
	}
	return d
}

// box is that of a track: what was detected in the frame, or where it is expected in it.
func (m *Marker) box(t *track.Track) image.Rectangle {
	if t.Detected >= 0 {
		return m.found[t.Detected].Box
	}
	return rounded(t.Box).Intersect(image.Rectangle{Max: m.size})
}

// frame is f as the tracks see it.
func (m *Marker) frame(f *Frame) *track.Frame {
	out := &track.Frame{Time: f.Time, Width: float64(f.Width), Height: float64(f.Height)}
	for _, r := range f.Looked {
		out.Looked = append(out.Looked, boxOf(r))
	}
	if len(out.Looked) == 0 {
		out.Looked = append(out.Looked, track.Box{}) // nowhere
	}
	m.found = m.found[:0]
	for _, d := range f.Found {
		if !slices.Contains(m.cfg.Classes, d.Class) && !slices.Contains(followed, d.Class) {
			continue
		}
		m.found = append(m.found, d)
		looks := f.Thumbnail.Appearance(d.Box)
		for i, v := range looks { // of length 1: the cosine is Bhattacharyya's coefficient then
			looks[i] = float32(math.Sqrt(float64(v)))
		}
		out.Found = append(out.Found, track.Detection{Box: boxOf(d.Box), Class: d.Class, Score: d.Score, Appearance: looks})
	}
	return out
}

func boxOf(r image.Rectangle) track.Box {
	return track.Box{X0: float64(r.Min.X), Y0: float64(r.Min.Y), X1: float64(r.Max.X), Y1: float64(r.Max.Y)}
}

func rounded(b track.Box) image.Rectangle {
	round := func(v float64) int { return int(math.Round(v)) }
	return image.Rect(round(b.X0), round(b.Y0), round(b.X1), round(b.Y1))
}

// marked is o in an annotation.
func marked(o *object, box image.Rectangle) annotation.Object {
	return annotation.Object{ID: o.id, Label: o.label, Box: []float64{
		float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y),
	}}
}

// resize begins anew with pictures of another size: no box is where it was.
func (m *Marker) resize(size image.Point) {
	if m.size != (image.Point{}) {
		m.forgetTracks()
		m.objects = slices.DeleteFunc(m.objects, func(o object) bool { return o.resting })
		for k := range m.objects {
			m.objects[k].track = 0
		}
	}
	m.size = size
}

// forgetTracks forgets all tracks.
func (m *Marker) forgetTracks() {
	m.tracks, _ = track.New(m.cfg.Track) // it was fine before
	m.now = nil
	clear(m.about)
}

// stands tells whether the camera does.
func (m *Marker) stands() bool { return m.moves < features.StandingMotion }

// of is the object of a track, or nil.
func (m *Marker) of(track uint32) *object {
	if at := slices.IndexFunc(m.objects, func(o object) bool { return o.track == track && track != 0 }); at >= 0 {
		return &m.objects[at]
	}
	return nil
}

// bind gives a track that was detected just now to the object without one, or whose own is lost, whose mask it fits best, or returns nil.
// A track that is not confirmed is given to what was marked a moment ago alone.
func (m *Marker) bind(t *track.Track) (best *object) {
	if t.Detected < 0 || !m.stands() {
		return nil
	}
	most := 0.0
	for k := range m.objects {
		o := &m.objects[k]
		if o.track != 0 && !m.lost(o.track) || o.resting || !o.visible || o.box.Empty() {
			continue
		}
		v := features.IoU(o.box, rounded(t.Box))
		if o.fresh = o.fresh && m.time-o.marked <= markFor; o.fresh {
			v = fitMark(o.box, t)
		} else if t.State != track.Seen || v < fitIoU {
			continue
		}
		if v > most {
			best, most = o, v
		}
	}
	if best != nil {
		best.track, best.left = t.ID, false
	}
	return best
}

// fitMark is the IoU of the box of what people marked a moment ago and a track's, or 0 if they do not fit.
func fitMark(marked image.Rectangle, t *track.Track) float64 {
	box := rounded(t.Box)
	v := features.IoU(marked, box)
	if v < markIoU || float64(area(marked.Intersect(box))) < fitIoU*float64(area(marked)) {
		return 0
	}
	return v
}

// begins tells whether an object begins with a track that has none.
func (m *Marker) begins(f *Frame, t *track.Track, d *Decision) bool {
	n := m.about[t.ID]
	switch {
	case f.Marked || n.frames <= beginFrames || t.State != track.Seen || !m.may(t):
		return false
	case m.room():
		return true
	}
	if !n.refused {
		n.refused = true
		m.about[t.ID] = n
		d.Refused++
	}
	return false
}

// room tells whether there may be one more object that was marked here.
func (m *Marker) room() bool { return m.own() < m.cfg.MaxObjects && m.Len() < annotation.MaxFollowed }

// covered tells whether an object that is followed without a track is in sight in most of a box: the thing is somebody's
// already. People's are while their tracks are not detected, or the camera moves.
func (m *Marker) covered(b track.Box) bool {
	box := rounded(b)
	return slices.ContainsFunc(m.objects, func(o object) bool {
		alone := o.track == 0 || m.lost(o.track)
		if !o.automatic() {
			alone = !m.stands() || !m.detected(o.track)
		}
		return alone && o.visible && 2*area(o.box.Intersect(box)) > area(box)
	})
}

// detected tells whether a track was detected in this frame.
func (m *Marker) detected(id uint32) bool {
	return slices.ContainsFunc(m.now, func(t track.Track) bool { return t.ID == id && t.Detected >= 0 })
}

// lost tells whether nobody knows where a track is.
func (m *Marker) lost(id uint32) bool {
	return slices.ContainsFunc(m.now, func(t track.Track) bool { return t.ID == id && t.State == track.Lost })
}

func area(r image.Rectangle) int { return r.Dx() * r.Dy() }

// Windows are where tracks are that are to be looked at though they have no object: those with which one may begin.
func (m *Marker) Windows() (boxes []image.Rectangle) {
	for i := range m.now {
		t := &m.now[i]
		if o := m.of(t.ID); t.State != track.Lost && (o == nil && m.may(t) || o != nil && o.resting) {
			boxes = append(boxes, rounded(t.Box))
		}
	}
	return boxes
}

// may tells whether an object may begin with a track where it is.
func (m *Marker) may(t *track.Track) bool {
	return !m.about[t.ID].unwanted && slices.Contains(m.cfg.Classes, t.Class) && !m.box(t).Empty() && !m.covered(t.Box) &&
		(m.cfg.Begin == nil || m.cfg.Begin(m.box(t), m.size))
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
		if o.visible = r.State == tracker.Visible && !r.Box.Empty(); o.visible {
			o.box = r.Box
		}
	}
	m.objects = slices.DeleteFunc(m.objects, func(o object) bool {
		gone := !o.resting && !slices.ContainsFunc(res.Objects, func(r tracker.Object) bool { return r.ID == o.id })
		if gone && o.track != 0 {
			m.refuse(o.track) // the tracker refused it
		}
		return gone
	})
	for _, o := range m.objects {
		if o.resting {
			res.Objects = append(res.Objects, tracker.Object{ID: o.id, Label: o.label, State: tracker.Lost})
		}
	}
}

// refuse has nothing begin with a track.
func (m *Marker) refuse(track uint32) {
	if n, ok := m.about[track]; ok {
		n.unwanted = true
		m.about[track] = n
	}
}

// own counts the objects that were marked here, that nobody keeps and that do not rest.
func (m *Marker) own() (n int) {
	for _, o := range m.objects {
		if o.automatic() && !o.resting {
			n++
		}
	}
	return n
}
