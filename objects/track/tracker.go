package track

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/features/coco"
	"github.com/segd/segd/internal/assignment"
)

const (
	// A pair of a track and a detection counts if their boxes have leastIoU, or the one is within reach deviations of
	// where the other is predicted, and if the one is not mostGrown times as high as the other.
	leastIoU  = .2
	reach     = 3.
	mostGrown = 1.6
	// leastAlike is the scalar product of appearances below which two are not the same.
	leastAlike = .5
	// What a pair is worth: 1, so that there are as many as possible, appearance, less the square of deviations that
	// it is off; not IoU, which says nothing where the track may be anywhere near. One that is known again is worth
	// what appearance, less that square, has beyond Config.Reidentify.
	alikeWeight, offWeight = .5, .03
	// unsureIoU is what a detection that is not sure must have in common with the track.
	unsureIoU = .5

	// predictFor is for how long at most a track that is looked for in vain is still said to be somewhere: less for a thing so
	// fast that it may be anywhere before. One look counts for missMost of it at most, however long ago the one before was.
	predictFor = time.Second
	missMost   = 400 * time.Millisecond
	// moment is for how long a track that is not detected counts as seen.
	moment = 250 * time.Millisecond

	// A track whose prediction deviates by more than vague lengths, or that is lost, is given what is within reach and looks alike by
	// Config.Reidentify, if it was ever detected for againAfter.
	vague      = .35
	againAfter = 200 * time.Millisecond

	// markedShare is how much of a box that people marked a detection is as large as, or it is of a part of the thing.
	markedShare = .75

	// sameIoU is what a detection has in common with a track if it does not begin another.
	sameIoU = .4

	// learnOver is how long a detection's score and appearance last in the track's.
	learnOver = 600 * time.Millisecond
)

const (
	// Detections with a score below leastScore do not count. Those from sureScore on, or Config.Confirm, begin tracks, and are given
	// to tracks first.
	leastScore, sureScore = .1, .4
	// mostTracks is how many there are at most, and detections of a frame, the surest.
	mostTracks  = 256
	defaultKeep = 6 * time.Second
	// defaultFocal is the focal length, in pixels, where the size of the picture is not known. Else it is the longer side: the
	// lens sees 53°, as most surveillance cameras' do.
	defaultFocal = 1000.
)

// Defaults of Config.Confirm and Config.Reidentify.
const (
	DefaultConfirm    = .65
	DefaultReidentify = .65
)

// A Tracker follows things from frame to frame. It belongs to one goroutine.
type Tracker struct {
	config      Config
	least, sure float64 // scores: leastScore and sureScore, or less
	next        uint32
	// last is the last frame's time, now the tracker's own, which never goes back.
	begun     bool
	last, now time.Duration
	focal     float64
	picture   Box           // empty: its size is not known
	since     time.Duration // how long the last frame was after the one before
	tracks    []*track
	spare     []*track

	// Of the step.
	pairing assignment.Solver
	found   []found
	rows    []*track
	columns []*found
	values  []float64 // rows×columns
	out     []Track
	ended   []Ended
}

// track is one thing over time.
type track struct {
	id     uint32
	class  string
	group  string
	best   float64 // score of the detection that class is of
	motion motion
	place  Box // its box in this frame: predicted, until it is detected
	// appearance is of unit length, or empty.
	appearance []float32
	score      float64
	// begun and seen are when it was first and last detected, looked when it was last looked for. missed
	// is for how long it was looked for in vain.
	begun, seen, looked, missed time.Duration
	confirmed                   bool
	marked                      bool // people say where it was

	over     bool
	detected int // in the frame's Found, or -1
	last     Box // where it was detected last
}

// found is a detection of the step's that counts.
type found struct {
	*Detection
	appearance []float32 // nil if it is not of unit length
	index      int
	group      string
	taken      bool
}

// New returns a tracker without tracks, or all that is wrong with the configuration.
func New(c Config) (*Tracker, error) {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("track: "+format, args...))
		}
	}
	check(c.Confirm >= 0 && c.Confirm <= 1, "Confirm is %v; it is a score, from 0 to 1", c.Confirm)
	check(c.Keep >= 0, "Keep is %v; it is 0 or more", c.Keep)
	check(c.Reidentify >= 0 && c.Reidentify <= 1, "Reidentify is %v; it is a scalar product, from 0 to 1", c.Reidentify)
	c.Confirm, c.Keep, c.Reidentify = cmp.Or(c.Confirm, DefaultConfirm), cmp.Or(c.Keep, defaultKeep), cmp.Or(c.Reidentify, DefaultReidentify)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &Tracker{config: c, least: min(leastScore, c.Confirm), sure: min(sureScore, c.Confirm), next: 1, focal: defaultFocal}, nil
}

// Step takes the next frame and returns all tracks, in the order of their ids, and those that ended. Both
// slices hold until the next call. A frame that is not later than the one before counts as one of the same time.
func (t *Tracker) Step(f *Frame) (tracks []Track, ended []Ended) {
	t.advance(f.Time)
	if f.Width > 0 && f.Height > 0 {
		t.focal, t.picture = max(f.Width, f.Height), Box{0, 0, f.Width, f.Height}
	}
	t.ended = t.ended[:0]
	for _, k := range t.tracks {
		k.motion.x.x, k.motion.y.x = k.motion.x.x+f.Shift[0], k.motion.y.x+f.Shift[1]
		k.last = k.last.plus(f.Shift)
		k.motion.predict(t.since)
		k.place, k.detected = k.motion.box(), -1
		if t.now-k.seen > t.config.Keep || !k.place.valid() {
			t.end(k, Forgotten)
		}
	}
	t.remove()
	t.take(f.Found)
	t.match()
	t.miss(f)
	t.initiate(f)
	t.sweep(f)
	return t.report(), t.ended
}

// advance sets the clock on, by no more than ends every track.
func (t *Tracker) advance(to time.Duration) {
	t.since = 0
	if t.begun && to > t.last {
		t.since = to - t.last
		if end := t.config.Keep + time.Second; t.since < 0 || t.since > end { // an overflow, or a gap
			t.since = end
		}
	}
	t.begun, t.last, t.now = true, to, t.now+t.since
}

// take keeps of what was found what counts, the surest first.
func (t *Tracker) take(all []Detection) {
	t.found = t.found[:0]
	for i := range all {
		d := &all[i]
		if !d.Box.valid() || !(d.Score >= t.least && d.Score <= 1) {
			continue
		}
		t.found = append(t.found, found{Detection: d, appearance: unit(d.Appearance), index: i, group: coco.Group(d.Class)})
	}
	slices.SortStableFunc(t.found, func(a, b found) int { return cmp.Compare(b.Score, a.Score) })
	t.found = t.found[:min(len(t.found), mostTracks)]
}

// unit returns an appearance if it is of unit length, as far as it matters.
func unit(a []float32) []float32 {
	square := 0.0
	for _, v := range a {
		square += float64(v) * float64(v)
	}
	if !(math.Abs(square-1) < .02) { // or NaN
		return nil
	}
	return a
}

// impossible is what a pair is worth that cannot be one.
var impossible = math.Inf(-1)

// match gives each track the detection that is of it, if there is one.
func (t *Tracker) match() {
	sure := func(d *found) bool { return d.Score >= t.sure }
	unsure := func(d *found) bool { return d.Score < t.sure }
	active := func(k *track) bool {
		return !t.lost(k) && (k.placed() || len(k.appearance) == 0 || !k.known())
	}
	t.pair(active, sure, t.worth, t.detect)
	t.pair(active, unsure, func(k *track, d *found) float64 {
		if k.place.iou(t.whole(k, d)) < unsureIoU {
			return impossible
		}
		return t.worth(k, d)
	}, t.detect)
	t.pair((*track).known, sure, t.again, t.detect)
}

// pair takes of the tracks and detections that are free and of some kind the pairs that are worth most together.
func (t *Tracker) pair(tracks func(*track) bool, detections func(*found) bool, worth func(*track, *found) float64, then func(*track, *found)) {
	t.rows, t.columns, t.values = t.rows[:0], t.columns[:0], t.values[:0]
	for i := range t.found {
		if d := &t.found[i]; !d.taken && detections(d) {
			t.columns = append(t.columns, d)
		}
	}
	for _, k := range t.tracks {
		if k.detected >= 0 || !tracks(k) {
			continue
		}
		row, any := len(t.values), false
		for _, d := range t.columns {
			v := impossible
			if (k.group == d.group || k.class == "") && (!k.marked || k.best > 0 || k.last.shared(d.Box) > markedShare) {
				v = worth(k, d)
			}
			any = any || v != impossible
			t.values = append(t.values, v)
		}
		if !any {
			t.values = t.values[:row]
			continue
		}
		t.rows = append(t.rows, k)
	}
	m := len(t.columns)
	of := t.pairing.Assign(len(t.rows), m, func(i, j int) float64 {
		if v := t.values[i*m+j]; v != impossible {
			return -v
		}
		return 0
	})
	for i, j := range of {
		if j >= 0 && t.values[i*m+j] != impossible {
			t.columns[j].taken = true
			then(t.rows[i], t.columns[j])
		}
	}
}

// worth is what a pair of a track that goes on and a detection is worth.
func (t *Tracker) worth(k *track, d *found) float64 {
	b := t.whole(k, d)
	off := k.off(b, k.place)
	if k.place.iou(b) < leastIoU && off > reach*reach || b.grown(k.place) > mostGrown {
		return impossible
	}
	alike := k.alike(d)
	if alike < leastAlike {
		return impossible
	}
	return 1 + alikeWeight*alike - offWeight*off
}

// whole is a detection's box with what the border of the picture cuts off, if the track's box is longer than what is left.
func (t *Tracker) whole(k *track, d *found) Box {
	b, near := d.Box, offAt(d.Score)*d.Box.length()
	if t.picture.area() == 0 {
		return b
	}
	b.X0, b.X1 = whole(b.X0, b.X1, t.picture.X1, k.place.X1-k.place.X0, near)
	b.Y0, b.Y1 = whole(b.Y0, b.Y1, t.picture.Y1, k.place.Y1-k.place.Y0, near)
	return b
}

// whole is one coordinate's part of a box in a picture from 0 to an end, of what has a length.
func whole(from, to, end, length, near float64) (float64, float64) {
	switch first, last := from <= near, to >= end-near; {
	case first && !last:
		from = min(from, to-length)
	case last && !first:
		to = max(to, from+length)
	}
	return from, to
}

// off is the square of the deviations that a box is off another, where the track may be: its middle across, its foot down.
func (k *track) off(b, from Box) float64 {
	noise := pairOff * k.place.length()
	x, foot := (b.X0+b.X1-from.X0-from.X1)/2, b.Y1-from.Y1
	return x*x/(k.motion.x.xx+noise*noise) + foot*foot/(k.motion.y.xx+noise*noise)
}

// again is what it is worth that a detection is of a track of which it is not known well where it is.
func (t *Tracker) again(k *track, d *found) float64 {
	off := min(k.off(d.Box, k.place), k.off(d.Box, k.last))
	if off > reach*reach || d.Box.grown(k.last) > mostGrown {
		return impossible
	}
	worth := k.alike(d) - offWeight*off - t.config.Reidentify
	if worth < 0 || t.config.Reidentify == 1 {
		return impossible
	}
	return worth
}

// alike is the scalar product of appearances, leastAlike if one is not known.
func (k *track) alike(d *found) (product float64) {
	if len(d.appearance) == 0 || len(d.appearance) != len(k.appearance) {
		return leastAlike
	}
	for i, v := range d.appearance {
		product += float64(v) * float64(k.appearance[i])
	}
	return product
}

// detect says that a detection is of a track.
func (t *Tracker) detect(k *track, d *found) {
	k.motion.update(d.Box, t.whole(k, d), t.now-k.seen, d.Score)
	share := 1 - math.Exp(-min(t.now-k.seen, offFor).Seconds()/learnOver.Seconds())
	k.score += (d.Score - k.score) * share
	if d.Score > k.best {
		k.best, k.class, k.group = d.Score, d.Class, d.group
	}
	if d.Score >= t.sure {
		k.learn(d.appearance, share)
	}
	k.seen, k.looked, k.missed, k.last, k.detected = t.now, t.now, 0, d.Box, d.index
	k.place = k.motion.box()
	k.confirmed = k.confirmed || k.marked || k.best >= t.config.Confirm && k.seen > k.begun
}

// learn moves the track's appearance towards another by a share of the way.
func (k *track) learn(a []float32, share float64) {
	if len(a) == 0 {
		return
	}
	if len(k.appearance) != len(a) {
		k.appearance = append(k.appearance[:0], a...)
		return
	}
	sum := 0.0
	for i, v := range a {
		k.appearance[i] += float32(share) * (v - k.appearance[i])
		sum += float64(k.appearance[i]) * float64(k.appearance[i])
	}
	if sum == 0 {
		return
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range k.appearance {
		k.appearance[i] *= scale
	}
}

// known tells whether it is known well enough what a track looks like to find it again.
func (k *track) known() bool { return k.marked || k.lived() >= againAfter }

// lived is from when on to when a track was detected.
func (k *track) lived() time.Duration { return k.seen - k.begun }

// placed tells whether it is known where a track is, so that what is there is it whatever it looks like.
func (k *track) placed() bool { return k.motion.x.xx <= vague*vague*k.place.length()*k.place.length() }

// lost tells whether it is not known any more where a track is.
func (t *Tracker) lost(k *track) bool {
	switch {
	case k.confirmed:
	case k.marked:
		return k.missed > predictFor
	default:
		return k.missed > 0
	}
	return k.missed > min(predictFor, k.motion.holds(), max(k.lived(), againAfter)) || k.score < t.sure/2
}

// miss counts for how long tracks were looked for in vain.
func (t *Tracker) miss(f *Frame) {
	for _, k := range t.tracks {
		if k.detected < 0 && f.looked(k.place) {
			k.missed += min(t.now-k.looked, missMost)
			k.looked = t.now
		}
	}
}

// looked tells whether the detector saw all of a box that is in the picture.
func (f *Frame) looked(b Box) bool {
	if f.Width > 0 && f.Height > 0 {
		b = b.intersect(Box{0, 0, f.Width, f.Height})
	}
	return len(f.Looked) == 0 || b.area() == 0 || slices.ContainsFunc(f.Looked, func(l Box) bool { return l.intersect(b) == b })
}

// initiate begins tracks of what is sure, of no track, and not the same thing as what has one.
func (t *Tracker) initiate(f *Frame) {
	for i := range t.found {
		d := &t.found[i]
		if d.Score < t.sure {
			return
		}
		if d.taken || slices.ContainsFunc(t.tracks, func(k *track) bool {
			return k.group == d.group && !t.lost(k) && k.place.iou(d.Box) > sameIoU
		}) || t.same(f, d) {
			continue
		}
		k := t.add(d.Box, d.Score, d.Class)
		if k == nil {
			return
		}
		k.best, k.detected = d.Score, d.index
		k.learn(d.appearance, 1)
	}
}

// same tells whether a detection and another that is a track's are of one thing: the one is a part of the other.
func (t *Tracker) same(f *Frame, d *found) bool {
	if f.Part == nil {
		return false
	}
	return slices.ContainsFunc(t.tracks, func(k *track) bool {
		return k.detected >= 0 && k.group == d.group && (f.Part(d.index, k.detected) || f.Part(k.detected, d.index))
	})
}

// Mark begins a track of a thing that people say was in a box in the last frame, and returns its id; 0 if there are too many
// tracks. Its class may be unknown, "". What began there in that frame is it, and ends.
func (t *Tracker) Mark(b Box, class string, appearance []float32) uint32 {
	for _, k := range t.tracks {
		k.over = k.lived() == 0 && k.begun == t.now && !k.marked && k.motion.box().iou(b) > sameIoU
	}
	t.remove()
	k := t.add(b, t.config.Confirm, class)
	if k == nil {
		return 0
	}
	k.marked = true
	k.learn(unit(appearance), 1)
	return k.id
}

// add adds a track that begins now, in the place of the one lost longest if there are too many; nil if none is lost.
func (t *Tracker) add(b Box, chance float64, class string) *track {
	if len(t.tracks) >= mostTracks {
		var longest *track
		for _, k := range t.tracks {
			if t.lost(k) && (longest == nil || k.seen < longest.seen) {
				longest = k
			}
		}
		if longest == nil {
			return nil
		}
		t.end(longest, Forgotten)
		t.remove()
	}
	k := new(track)
	if n := len(t.spare); n > 0 {
		k, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	*k = track{
		id: t.next, class: class, group: coco.Group(class), motion: begin(b, chance, class, t.focal), score: chance, place: b, appearance: k.appearance[:0],
		begun: t.now, seen: t.now, looked: t.now, last: b, detected: -1,
	}
	t.next = max(1, t.next+1) // 0 is none
	t.tracks = append(t.tracks, k)
	return k
}

// end says that a track is no more; remove takes it away.
func (t *Tracker) end(k *track, reason Reason) {
	t.ended = append(t.ended, Ended{ID: k.id, Reason: reason, Lost: t.lost(k)})
	k.over = true
}

func (t *Tracker) remove() {
	t.tracks = slices.DeleteFunc(t.tracks, func(k *track) bool {
		if k.over {
			t.spare = append(t.spare, k)
		}
		return k.over
	})
}

// sweep ends the tracks of what went out of the picture or was hardly seen.
func (t *Tracker) sweep(f *Frame) {
	for _, k := range t.tracks {
		x, y := k.motion.x.x, k.motion.y.x
		switch {
		case f.Width > 0 && f.Height > 0 && k.missed > 0 && !t.lost(k) && (x < 0 || x > f.Width || y < 0 || y > f.Height):
			t.end(k, Left)
		case (!k.confirmed || !k.known()) && t.lost(k):
			t.end(k, Unconfirmed)
		}
	}
	t.remove()
}

// report makes the tracks that a user sees.
func (t *Tracker) report() []Track {
	t.out = t.out[:0]
	for _, k := range t.tracks {
		state := Predicted
		switch {
		case !k.confirmed:
			state = Tentative
		case t.lost(k):
			state = Lost
		case k.missed <= moment:
			state = Seen
		}
		t.out = append(t.out, Track{
			ID: k.id, Class: k.class, Box: k.place, Velocity: k.motion.velocity(), State: state,
			Score: k.score, Detected: k.detected,
		})
	}
	slices.SortFunc(t.out, func(a, b Track) int { return cmp.Compare(a.ID, b.ID) })
	return t.out
}
