package marking

import (
	"cmp"
	"fmt"
	"image"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/tracker"
)

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

// markIoU is as fitIoU for what people have just marked, as that by which a detection counts as right, if fitIoU of what they
// marked is inside the track's: a track of a part is not what was marked.
const markIoU = 0.5

// nearLengths is how near to what people marked, in its lengths, tracks without an object are looked at: two persons who walk
// towards each other at .8 lengths a second each are known for .6 s before they meet.
const nearLengths = 1.

// nearEvery is how often at most that is done: boxes that follow one another within 100 ms say less (package track), and
// frames of 10/s are not all 100 ms apart.
const nearEvery = 90 * time.Millisecond

// A Marker knows the tracks of one camera. It belongs to one goroutine.
type Marker struct {
	cfg     Config
	tracks  *track.Tracker
	now     []track.Track   // after the last frame
	about   map[uint32]note // by track
	time    time.Duration   // of the last frame
	since   time.Duration   // from the frame before to the last one
	beside  time.Duration   // of the last frame after which what is near what people marked is looked at
	size    image.Point     // of the pictures
	cuts    features.CutDetector
	camera  features.CameraMotion
	moves   float64                                  // the camera's motion of late
	found   []features.Detection                     // in the last frame, of classes that have tracks
	seen    track.Frame                              // while the tracks take a frame: that
	looks   [][]float32                              // what each of found looks like
	extents []tracker.Extent                         // of the last decision
	part    func(first, second image.Rectangle) bool // the frame's Part, likewise
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

// mostAhead is for how long a track is believed to go on as it goes, where it is planned what to look at.
const mostAhead = 600 * time.Millisecond

// shownShare is how much of a thing is to be shown where its object begins: boxes are off by some hundredths of their sides.
const shownShare = 0.9

// New returns a Marker that knows no tracks.
func New(cfg Config) (*Marker, error) {
	if cfg.MaxObjects < 0 {
		return nil, fmt.Errorf("marking: %d objects; want 1 or more, or 0 for %d", cfg.MaxObjects, DefaultMaxObjects)
	}
	cfg.MaxObjects = cmp.Or(cfg.MaxObjects, DefaultMaxObjects)
	tracks, err := track.New(cfg.Track)
	if err != nil {
		return nil, fmt.Errorf("marking: %w", err)
	}
	m := &Marker{cfg: cfg, tracks: tracks, about: map[uint32]note{}}
	m.seen.Part = m.isPart
	return m, nil
}

// A Frame is what a network detected in one.
type Frame struct {
	Time          time.Duration // of the stream
	Width, Height int           // of its picture
	Found         []features.Detection
	Looked        []image.Rectangle   // where it looked
	Thumbnail     *features.Thumbnail // of the picture
	// Part tells whether the thing in the first of two boxes is a part of the thing in the second; nil: never.
	Part func(first, second image.Rectangle) bool
	// Shows is the share of a box of which it is seen what each pixel is of; nil: all.
	Shows func(box image.Rectangle) float64
	// Marked is whether people mark something in the frame: nothing begins by itself then.
	Marked bool
}

// sees tells whether the middle of a box, or what is nearest to it in the picture, was looked at.
func (f *Frame) sees(box image.Rectangle) bool {
	middle := box.Min.Add(box.Max).Div(2)
	middle.X, middle.Y = min(max(middle.X, 0), f.Width-1), min(max(middle.Y, 0), f.Height-1)
	return slices.ContainsFunc(f.Looked, middle.In)
}

// A Decision is what a frame leads to.
type Decision struct {
	// Edits are of objects that end, begin, become dormant or no longer are, and are bound to tracks.
	Edits []objects.Edit
	// Annotation marks objects in the frame: those that begin, and those that are no longer dormant; nil if there is
	// nothing to be marked. If the tracker refuses it, Refuse is to be told.
	Annotation *annotation.Annotation
	// Extents are those of the objects that have a track and are not dormant, where the frame was looked at, until the next
	// decision.
	Extents []tracker.Extent
	// Refused is how many tracks did not become objects, because there are too many: Config.MaxObjects of
	// them, or annotation.MaxFollowed with those of people. Each is told once.
	Refused int
}

// reasons are why tracks end.
var reasons = map[track.Reason]string{
	track.Unconfirmed: "it was not detected again",
	track.Forgotten:   "it was out of sight for too long",
	track.Left:        "it left the picture",
}

// view is what a Marker knows, with the objects that there are.
type view struct {
	*Marker
	objects.Table
}

// deciding is a view while a decision is made.
type deciding struct {
	view
	Decision
}

func (d *deciding) edit(e objects.Edit) {
	d.Table, _ = d.Apply(e)
	d.Edits = append(d.Edits, e)
}

// mark has the tracker mark an object by the box of its track.
func (d *deciding) mark(id uint32, box image.Rectangle) {
	o, _ := d.Get(id)
	if d.Annotation == nil {
		d.Annotation = &annotation.Annotation{Width: d.size.X, Height: d.size.Y, Automatic: true}
	}
	d.Annotation.Objects = append(d.Annotation.Objects, annotation.Object{ID: id, Label: o.Label, Box: []float64{
		float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y),
	}})
}

// Decide says what f leads to, where the objects are those of a table.
func (m *Marker) Decide(table objects.Table, f *Frame) Decision {
	d := &deciding{view: view{m, table}}
	d.Extents = m.extents[:0]
	motion, shift, _ := m.camera.Step(f.Thumbnail, nil)
	cut := m.cuts.Step(&m.camera, f.Time)
	if size := image.Pt(f.Width, f.Height); size != m.size {
		if m.size != (image.Point{}) {
			d.begin("the picture size changed")
		}
		m.size = size
	} else if cut {
		d.begin("the scene was cut")
	}
	m.since, m.time = max(0, f.Time-m.time), f.Time
	if since := f.Time - m.beside; since >= nearEvery || since < 0 {
		m.beside = f.Time
	}
	m.moves += motionRate * (motion - m.moves)
	var ended []track.Ended
	m.part = f.Part
	m.now, ended = m.tracks.Step(m.frame(f, shift))
	m.part = nil
	for _, e := range ended {
		d.ended(e)
	}
	maps.DeleteFunc(m.about, func(id uint32, _ note) bool {
		return !slices.ContainsFunc(m.now, func(t track.Track) bool { return t.ID == id })
	})
	for i := range m.now {
		d.decide(f, &m.now[i])
	}
	for _, o := range d.All() {
		if o.Gone { // else it would be found in what looks like it
			d.Extents = append(d.Extents, tracker.Extent{ID: o.ID})
		}
	}
	m.extents = d.Extents
	return d.Decision
}

// ended says what the end of a track leads to.
func (d *deciding) ended(e track.Ended) {
	o, has := d.OfTrack(e.ID)
	if !has {
		return
	}
	if o.Automatic() || o.Dormant { // people may keep one that is dormant, and nothing else tells where it is
		d.edit(objects.Remove{ID: o.ID, Reason: reasons[e.Reason]})
		return
	}
	d.edit(objects.Bind{ID: o.ID, Gone: d.stands() && (e.Reason == track.Left || e.Reason == track.Forgotten && e.Lost && !o.InSight())})
}

// decide says what a track leads to in a frame.
func (d *deciding) decide(f *Frame, t *track.Track) {
	n := d.about[t.ID]
	n.frames++
	d.about[t.ID] = n
	o, has := d.OfTrack(t.ID)
	if !has || o.Automatic() && !o.InSight() { // an object that has no mask may be a user's
		if people, fits := d.fitting(t); fits {
			if has {
				d.edit(objects.Remove{ID: o.ID, Reason: "it is the same as another object"})
			}
			d.edit(objects.Bind{ID: people, Track: t.ID})
			o, has = d.OfTrack(t.ID)
		}
	}
	switch {
	case !has:
		if !d.begins(f, t) {
			return
		}
		d.edit(objects.Begin{Class: t.Class, Track: t.ID})
		o, _ = d.OfTrack(t.ID)
		d.mark(o.ID, d.box(t))
	case o.Dormant && !f.Marked && t.State == track.Seen && d.shown(f, t) && d.room():
		o.Dormant = false
		d.edit(objects.Rest{ID: o.ID, Dormant: false})
		d.mark(o.ID, d.box(t))
	case o.Automatic() && !o.Dormant && t.State == track.Lost:
		o.Dormant = true
		d.edit(objects.Rest{ID: o.ID, Dormant: true})
	}
	// What people marked is followed without a track where that is lost, or the camera moves: they know no
	// zoom.
	if !o.Dormant && t.State != track.Lost && (t.State != track.Tentative || t.Detected >= 0) && f.sees(rounded(t.Box)) && (d.stands() || o.Automatic()) {
		e := tracker.Extent{ID: o.ID, Box: rounded(t.Box)}
		if t.Detected >= 0 {
			e.Detected = d.found[t.Detected].Box
		}
		d.Extents = append(d.Extents, e)
	}
}

// box is that of a track: what was detected in the frame, or where it is expected in it.
func (m *Marker) box(t *track.Track) image.Rectangle {
	if t.Detected >= 0 {
		return m.found[t.Detected].Box
	}
	return rounded(t.Box).Intersect(image.Rectangle{Max: m.size})
}

// frame is f as the tracks see it, in which what stands has shifted, until the next one.
func (m *Marker) frame(f *Frame, shift [2]float64) *track.Frame {
	out := &m.seen
	out.Time, out.Shift, out.Width, out.Height = f.Time, shift, float64(f.Width), float64(f.Height)
	out.Looked, out.Found = out.Looked[:0], out.Found[:0]
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
		k := len(m.found)
		if k == len(m.looks) {
			m.looks = append(m.looks, nil)
		}
		m.looks[k] = looks(m.looks[k], f.Thumbnail, d.Box)
		m.found = append(m.found, d)
		out.Found = append(out.Found, track.Detection{Box: boxOf(d.Box), Class: d.Class, Score: d.Score, Appearance: m.looks[k]})
	}
	return out
}

// isPart tells whether the first of two things in found is a part of the second.
func (m *Marker) isPart(first, second int) bool {
	return m.part != nil && m.part(m.found[first].Box, m.found[second].Box)
}

// looks is what a box of a picture shows, as the tracks compare it, in dst's memory.
func looks(dst []float32, shown *features.Thumbnail, box image.Rectangle) []float32 {
	looks := shown.Appearance(dst, box)
	for i, v := range looks { // of length 1: the cosine is Bhattacharyya's coefficient then
		looks[i] = float32(math.Sqrt(float64(v)))
	}
	return looks
}

func boxOf(r image.Rectangle) track.Box {
	return track.Box{X0: float64(r.Min.X), Y0: float64(r.Min.Y), X1: float64(r.Max.X), Y1: float64(r.Max.Y)}
}

func rounded(b track.Box) image.Rectangle {
	round := func(v float64) int { return int(math.Round(v)) }
	return image.Rect(round(b.X0), round(b.Y0), round(b.X1), round(b.Y1))
}

// begin begins anew with another scene: nothing is where it was.
func (d *deciding) begin(reason string) {
	d.tracks, _ = track.New(d.cfg.Track) // it was fine before
	d.now = nil
	clear(d.about)
	for _, o := range d.All() {
		if o.Automatic() || o.Dormant {
			d.edit(objects.Remove{ID: o.ID, Reason: reason})
			continue
		}
		d.edit(objects.Bind{ID: o.ID, Gone: o.Track != 0 || o.Gone})
		if o.Track == 0 && !o.Gone {
			d.Extents = append(d.Extents, tracker.Extent{ID: o.ID})
		}
	}
}

// stands tells whether the camera does.
func (m *Marker) stands() bool { return m.moves < features.StandingMotion }

// fitting is the object without a track, or whose own is lost, whose mask fits a confirmed track best that was detected just now;
// false if there is none.
func (v *view) fitting(t *track.Track) (best uint32, fits bool) {
	if t.Detected < 0 || t.State != track.Seen || !v.stands() {
		return 0, false
	}
	most := 0.0
	for _, o := range v.All() {
		if o.Track != 0 && !v.lost(o.Track) || !o.InSight() {
			continue
		}
		if iou := features.IoU(o.Box, rounded(t.Box)); iou >= max(fitIoU, most) {
			best, most = o.ID, iou
		}
	}
	return best, most > 0
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

// shown tells whether a track was detected in f, which shows enough of it for a mask. Where frames are computed ahead or dropped, it
// may have left the window that was planned for it.
func (d *deciding) shown(f *Frame, t *track.Track) bool {
	return t.Detected >= 0 && (f.Shows == nil || f.Shows(d.found[t.Detected].Box) >= shownShare)
}

// begins tells whether an object begins with a track that has none.
func (d *deciding) begins(f *Frame, t *track.Track) bool {
	n := d.about[t.ID]
	switch {
	case f.Marked || n.frames <= beginFrames || t.State != track.Seen || !d.shown(f, t) || !d.may(t):
		return false
	case d.room():
		return true
	}
	if !n.refused {
		n.refused = true
		d.about[t.ID] = n
		d.Refused++
	}
	return false
}

// room tells whether there may be one more object that was marked here.
func (v *view) room() bool {
	return v.Automatic() < v.cfg.MaxObjects && v.Len() < annotation.MaxFollowed
}

// covered tells whether an object of people's is in sight in most of a box while its track is not detected, or the camera moves.
func (v *view) covered(b track.Box) bool {
	box := rounded(b)
	return slices.ContainsFunc(v.All(), func(o objects.Object) bool {
		alone := !o.Automatic() && (!v.stands() || !v.detected(o.Track))
		return alone && o.InSight() && 2*area(o.Box.Intersect(box)) > area(box)
	})
}

// detected tells whether a track was detected in this frame.
func (m *Marker) detected(id uint32) bool {
	return slices.ContainsFunc(m.now, func(t track.Track) bool { return t.ID == id && t.Detected >= 0 })
}

// lost tells whether it is not known where a track is.
func (m *Marker) lost(id uint32) bool {
	return slices.ContainsFunc(m.now, func(t track.Track) bool { return t.ID == id && t.State == track.Lost })
}

func area(r image.Rectangle) int { return r.Dx() * r.Dy() }

// Candidates are the tracks that are to be looked at though they have no object, or one that is dormant: one may begin with them, or
// they are near what people marked and would be mistaken for it where they cross it.
func (m *Marker) Candidates(table objects.Table) (all []tracker.Candidate) {
	v := &view{m, table}
	for i := range m.now {
		t := &m.now[i]
		o, has := v.OfTrack(t.ID)
		begins := !has && v.may(t) || has && o.Dormant
		if t.State != track.Lost && (begins || !has && m.beside == m.time && v.near(rounded(t.Box))) {
			all = append(all, tracker.Candidate{Box: rounded(t.Box), Ahead: rounded(m.ahead(t)), Beside: !begins})
		}
	}
	return all
}

// near tells whether a box is near what people marked, and is followed by a track.
func (v *view) near(box image.Rectangle) bool {
	return v.stands() && slices.ContainsFunc(v.All(), func(o objects.Object) bool {
		reach := int(nearLengths * float64(max(o.Box.Dx(), o.Box.Dy())))
		return !o.Automatic() && o.Track != 0 && !o.Box.Empty() && o.Box.Inset(-reach).Overlaps(box)
	})
}

// ahead is where a track may be in the frame that is planned: the next one, or where frames are computed ahead the one after it.
func (m *Marker) ahead(t *track.Track) track.Box {
	s := min(2*m.since, mostAhead).Seconds()
	x, y := s*t.Velocity[0], s*t.Velocity[1]
	return track.Box{X0: t.Box.X0 + x, Y0: t.Box.Y0 + y, X1: t.Box.X1 + x, Y1: t.Box.Y1 + y}
}

// may tells whether an object may begin with a track where it is.
func (v *view) may(t *track.Track) bool {
	return !v.about[t.ID].unwanted && slices.Contains(v.cfg.Classes, t.Class) && !v.box(t).Empty() && !v.covered(t.Box) &&
		(v.cfg.Begin == nil || v.cfg.Begin(v.box(t), v.size))
}

// Bind binds what people have marked in the last frame, which showed that, to the tracks that it fits best there, or has tracks
// begin with it. The objects are as the tracker has them in that frame.
func (m *Marker) Bind(table objects.Table, by *annotation.Annotation, shown *features.Thumbnail) (edits []objects.Edit) {
	d := &deciding{view: view{m, table}}
	var ids []uint32
	var boxes []image.Rectangle
	for k, a := range by.Objects {
		if o, known := d.Get(a.ID); known && by.HasMarks(k) && o.Fresh && o.InSight() && m.stands() {
			ids, boxes = append(ids, o.ID), append(boxes, outlined(a, o.Box))
		}
	}
	unbound := func(id uint32) bool { o, _ := d.Get(id); return o.Track == 0 }
	for i := range m.now {
		t := &m.now[i]
		best, most := uint32(0), 0.0
		for k, id := range ids {
			if iou := fitMark(boxes[k], t); unbound(id) && iou > most {
				best, most = id, iou
			}
		}
		if _, has := d.OfTrack(t.ID); most > 0 && !has && t.Detected >= 0 && m.about[t.ID].frames > 1 {
			d.edit(objects.Bind{ID: best, Track: t.ID})
		}
	}
	for k, id := range ids {
		if !unbound(id) {
			continue
		}
		box, like := boxes[k], looks(nil, shown, boxes[k])
		if slices.ContainsFunc(boxes, func(b image.Rectangle) bool { return b.Max.Y > box.Max.Y && 2*area(b.Intersect(box)) > area(box) }) {
			like = nil // it is behind that
		}
		if t := m.tracks.Mark(boxOf(box), m.classIn(box), like); t != 0 {
			d.edit(objects.Bind{ID: id, Track: t})
		}
	}
	return d.Edits
}

// outlined is the box round what people marked of an object; other if they did not bound it.
func outlined(a annotation.Object, other image.Rectangle) (box image.Rectangle) {
	if b := a.Box; b != nil {
		return rounded(track.Box{X0: b[0], Y0: b[1], X1: b[2], Y1: b[3]})
	}
	for _, p := range a.Polygon {
		box = box.Union(image.Rect(int(p[0]), int(p[1]), int(p[0])+1, int(p[1])+1))
	}
	if box.Empty() {
		return other
	}
	return box
}

// classIn is that of the surest detection that is as good as the box in the last frame; "" if there is none.
func (m *Marker) classIn(box image.Rectangle) (class string) {
	most := 0.0
	for _, d := range m.found {
		if d.Score > most && features.IoU(d.Box, box) >= markIoU {
			most, class = d.Score, d.Class
		}
	}
	return class
}

// Refuse has nothing begin with the tracks of objects that people do not want, or that the tracker does not take, and
// returns what removes these.
func (m *Marker) Refuse(table objects.Table, reason string, ids ...uint32) (edits []objects.Edit) {
	for _, id := range ids {
		o, _ := table.Get(id)
		if n, ok := m.about[o.Track]; ok {
			n.unwanted = true
			m.about[o.Track] = n
		}
		edits = append(edits, objects.Remove{ID: id, Reason: reason})
	}
	return edits
}

// Snapshot is what m knows of its tracks. It shares nothing with m. What people removed may begin again.
func (m *Marker) Snapshot() track.Snapshot { return m.tracks.Snapshot() }

// Restore has m know the tracks of a snapshot. Of a faulty one it takes nothing.
func (m *Marker) Restore(s track.Snapshot) error {
	if err := m.tracks.Restore(s); err != nil {
		return fmt.Errorf("marking: %w", err)
	}
	m.now = nil
	clear(m.about)
	return nil
}
