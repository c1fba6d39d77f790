package mot

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// Truth is where the persons of a video really are.
type Truth struct {
	boxes map[int]map[int]entry // by id and frame
	last  int                   // frame
	least float64               // pixels that somebody who counts is tall
}

// entry is one line of the truth.
type entry struct {
	box     Box
	ignored bool // not to be considered
}

// ParseTruth reads MOTChallenge's ground truth: a line a box, of frame, id, left, top,
// width, height, flag and up to three more numbers, separated by commas. Frames count
// from 1, and the picture's top-left pixel is (1, 1). Flag 0 says that the box is not
// to be considered. Name is what errors call the file.
func ParseTruth(r io.Reader, name string) (*Truth, error) {
	t := &Truth{boxes: map[int]map[int]entry{}}
	n, err := truthLayout.read(r, name, t.add)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("mot: %s: empty; want lines of %s", name, truthLayout)
	}
	return t, nil
}

func (t *Truth) add(l line) error {
	if t.boxes[l.id] == nil {
		t.boxes[l.id] = map[int]entry{}
	}
	if _, twice := t.boxes[l.id][l.frame]; twice {
		return l.twice()
	}
	t.boxes[l.id][l.frame] = entry{l.box, l.seventh == 0}
	t.last = max(t.last, l.frame)
	return nil
}

// IgnoreBelow has nobody considered in frames in which the true box is less than height pixels tall, as if its flag
// were 0. [Score] then also leaves out found boxes less tall that are on nobody's.
func (t *Truth) IgnoreBelow(height float64) {
	t.least = height
	for _, frames := range t.boxes {
		for n, e := range frames {
			e.ignored = e.ignored || e.box.Height < height
			frames[n] = e
		}
	}
}

// IDs returns all persons, in order.
func (t *Truth) IDs() []int { return slices.Sorted(maps.Keys(t.boxes)) }

// within tells whether a person has a box to be considered in some of the frames.
func (t *Truth) within(id, first, last int) bool {
	for n, e := range t.boxes[id] {
		if n >= first && n <= last && !e.ignored {
			return true
		}
	}
	return false
}
