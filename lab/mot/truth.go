package mot

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Truth is where the persons of a video really are.
type Truth struct {
	boxes map[int]map[int]entry // by id and frame
	last  int                   // frame
	least float64               // height in pixels below which boxes do not count
	no    []Box                 // regions where nothing counts
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

// cut leaves of the true boxes what is in the picture, as of those that are found: some truths go on outside of it. What is
// wholly outside is not considered.
func (t *Truth) cut(picture Box) {
	for _, frames := range t.boxes {
		for n, e := range frames {
			if b := e.box.intersect(picture); b != e.box {
				frames[n] = entry{b, e.ignored || b.Width <= 0 || b.Height <= 0}
			}
		}
	}
}

// IgnoreBelow has no one considered in frames in which the true box is less than height pixels tall, as if its flag
// were 0. [Score] then also leaves out found boxes less tall that are on no one's.
func (t *Truth) IgnoreBelow(height float64) {
	t.least = height
	for _, frames := range t.boxes {
		for n, e := range frames {
			e.ignored = e.ignored || e.box.Height < height
			frames[n] = e
		}
	}
}

// IgnoreIn has nothing considered whose middle is in one of some regions: true boxes there are as if their flag were 0, and
// [Score] leaves out found boxes there that are on no one's.
func (t *Truth) IgnoreIn(regions []Box) {
	t.no = append(t.no, regions...)
	for _, frames := range t.boxes {
		for n, e := range frames {
			e.ignored = e.ignored || t.outside(e.box)
			frames[n] = e
		}
	}
}

// outside tells whether a box that is on no one's is left out.
func (t *Truth) outside(b Box) bool {
	x, y := b.Left+b.Width/2, b.Top+b.Height/2
	return b.Height < t.least || slices.ContainsFunc(t.no, func(r Box) bool {
		return x >= r.Left && x < r.Left+r.Width && y >= r.Top && y < r.Top+r.Height
	})
}

// ParseRegions reads regions of a picture: lines of left, top, width and height, in pixels from (0, 0). Name is what
// errors call the file.
func ParseRegions(r io.Reader, name string) ([]Box, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = 4
	var regions []Box
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return regions, nil
		}
		if err != nil {
			return nil, fmt.Errorf("mot: %s: %w; want lines of left,top,width,height", name, err)
		}
		var v [4]float64
		for i, field := range row {
			if v[i], err = strconv.ParseFloat(strings.TrimSpace(field), 64); err != nil || !(math.Abs(v[i]) < 1e6) {
				line, _ := rows.FieldPos(i)
				return nil, fmt.Errorf("mot: %s:%d: field %d is %q; want a number of pixels", name, line, i+1, field)
			}
		}
		regions = append(regions, Box{v[0], v[1], v[2], v[3]})
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
