package mot

import (
	"bufio"
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
}

// entry is one line of the truth.
type entry struct {
	box     Box
	ignored bool // flagged as one that is not to be considered
}

// Fields of a line. Files of 2015 have three coordinates in the world behind the
// flag, later ones a class and a visibility.
var fields = [...]string{"frame", "id", "left", "top", "width", "height", "flag", "field 8", "field 9", "field 10"}

const minFields = 7

// ParseTruth reads MOTChallenge's ground truth: a line a box, of frame, id, left, top,
// width, height, flag and up to three more numbers, separated by commas. Frames count
// from 1, and the picture's top-left pixel is (1, 1). Flag 0 says that the box is not
// to be considered. Name is what errors call the file.
func ParseTruth(r io.Reader, name string) (*Truth, error) {
	t := &Truth{boxes: map[int]map[int]entry{}}
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		if err := t.add(lines.Text()); err != nil {
			return nil, fmt.Errorf("mot: %s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("mot: %s:%d: %w", name, n+1, err)
	}
	if n == 0 {
		return nil, fmt.Errorf("mot: %s: empty; want lines of %s", name, strings.Join(fields[:minFields], ","))
	}
	return t, nil
}

// add reads a line.
func (t *Truth) add(line string) error {
	parts := strings.Split(line, ",")
	if len(parts) < minFields || len(parts) > len(fields) {
		return fmt.Errorf("%d fields; want %d to %d: %s,…", len(parts), minFields, len(fields), strings.Join(fields[:minFields], ","))
	}
	var whole [2]int
	var v [len(fields)]float64
	for i, part := range parts {
		var err error
		if i < len(whole) {
			if whole[i], err = strconv.Atoi(part); err != nil || whole[i] < 1 {
				return fmt.Errorf("%s is %q; want a whole number from 1 on", fields[i], part)
			}
			continue
		}
		if v[i], err = strconv.ParseFloat(part, 64); err != nil || math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			return fmt.Errorf("%s is %q; want a number", fields[i], part)
		}
		if (fields[i] == "width" || fields[i] == "height") && v[i] <= 0 {
			return fmt.Errorf("%s is %q; want more than 0", fields[i], part)
		}
	}
	n, id := whole[0], whole[1]
	if t.boxes[id] == nil {
		t.boxes[id] = map[int]entry{}
	}
	if _, twice := t.boxes[id][n]; twice {
		return fmt.Errorf("id %d is in frame %d for the second time; want one box of each in a frame", id, n)
	}
	t.boxes[id][n] = entry{Box{v[2] - 1, v[3] - 1, v[4], v[5]}, v[6] == 0}
	t.last = max(t.last, n)
	return nil
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
