package mot

import (
	"fmt"

	"github.com/segd/segd/annotation"
)

// Last is the last frame the truth has a box of.
func (t *Truth) Last() int { return t.last }

// Whole returns the persons whose true boxes lie in a picture of that many pixels in a
// frame, in order, those not to be considered there too.
func (t *Truth) Whole(frame, width, height int) []int {
	var ids []int
	for _, id := range t.IDs() {
		if e, ok := t.boxes[id][frame]; ok && (size{width, height}).holds(e.box) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Recording is what a tracker found of persons that were all marked in one frame.
type Recording struct {
	tracks []track
	looked []int // frames
}

// NewRecording begins with persons marked in a frame, of which the truth has their boxes.
// Object k+1 is persons[k].
func NewRecording(t *Truth, frame int, persons ...int) (*Recording, error) {
	r := &Recording{}
	for k, id := range persons {
		if _, ok := t.boxes[id][frame]; !ok {
			return nil, fmt.Errorf("mot: the truth has no person %d in frame %d", id, frame)
		}
		r.tracks = append(r.tracks, track{person: person{id: id, number: uint32(k + 1), mark: frame}, truth: t.boxes[id]})
	}
	return r, nil
}

// Annotation marks the persons on a picture of that many pixels.
func (r *Recording) Annotation(m Mark, width, height int) (*annotation.Annotation, error) {
	a := &annotation.Annotation{Width: width, Height: height}
	for _, t := range r.tracks {
		o, err := m.object(t.person, t.truth[t.mark].box, size{width, height})
		if err != nil {
			return nil, fmt.Errorf("mot: %w", err)
		}
		a.Objects = append(a.Objects, o)
	}
	return a, nil
}

// Look says that a frame was looked at; boxes are where which object is then. Frames come
// in order, those not looked at are not counted.
func (r *Recording) Look(frame int, boxes map[uint32]Box) {
	r.looked = append(r.looked, frame)
	for k := range r.tracks {
		t := &r.tracks[k]
		if b, ok := boxes[t.number]; ok && frame > t.mark {
			t.see(frame, b, 1)
		}
	}
}

// Figures counts what was looked at after the mark, as [Report.Together] does.
func (r *Recording) Figures() Group {
	return group(score(sideBySide(r.tracks, r.looked), followDistance), r.tracks, r.looked, 0)
}
