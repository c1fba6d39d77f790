package mot

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// layout is one of MOTChallenge's formats of boxes, a line each. They are alike but for
// what the seventh field says, and that detections have no id: theirs is −1.
type layout struct {
	seventh   string
	anonymous bool
}

var (
	truthLayout     = layout{seventh: "flag"}
	resultLayout    = layout{seventh: "score"}
	detectionLayout = layout{seventh: "score", anonymous: true}
)

// Fields of a line. Files of 2015 have three coordinates in the world behind the
// seventh, later ones a class and a visibility.
const minFields, maxFields = 7, 10

// field names one of a line's, from 0.
func (l layout) field(i int) string {
	switch {
	case i < minFields-1:
		return [...]string{"frame", "id", "left", "top", "width", "height"}[i]
	case i == minFields-1:
		return l.seventh
	}
	return fmt.Sprintf("field %d", i+1)
}

// String names the fields that there have to be.
func (l layout) String() string { return "frame,id,left,top,width,height," + l.seventh }

// line is one box.
type line struct {
	frame, id int
	box       Box
	seventh   float64
}

func (l line) twice() error {
	return fmt.Errorf("id %d is in frame %d for the second time; want one box of each in a frame", l.id, l.frame)
}

// read hands every line to add and returns how many there were. Name is what errors call
// the file.
func (l layout) read(r io.Reader, name string, add func(line) error) (n int, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		n++
		v, err := l.parse(lines.Text())
		if err == nil {
			err = add(v)
		}
		if err != nil {
			return n, fmt.Errorf("mot: %s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return n, fmt.Errorf("mot: %s:%d: %w", name, n+1, err)
	}
	return n, nil
}

func (l layout) parse(text string) (line, error) {
	parts := strings.Split(text, ",")
	if len(parts) < minFields || len(parts) > maxFields {
		return line{}, fmt.Errorf("%d fields; want %d to %d: %s,…", len(parts), minFields, maxFields, l)
	}
	frame, err := strconv.Atoi(parts[0])
	if err != nil || frame < 1 {
		return line{}, fmt.Errorf("frame is %q; want a whole number from 1 on", parts[0])
	}
	id, err := strconv.Atoi(parts[1])
	switch {
	case l.anonymous && (err != nil || id != -1):
		return line{}, fmt.Errorf("id is %q; want -1, a detection's", parts[1])
	case !l.anonymous && (err != nil || id < 1):
		return line{}, fmt.Errorf("id is %q; want a whole number from 1 on", parts[1])
	}
	var v [maxFields]float64
	for i, part := range parts {
		if i < 2 {
			continue
		}
		if v[i], err = strconv.ParseFloat(part, 64); err != nil || math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			return line{}, fmt.Errorf("%s is %q; want a number", l.field(i), part)
		}
		if (i == 4 || i == 5) && v[i] <= 0 {
			return line{}, fmt.Errorf("%s is %q; want more than 0", l.field(i), part)
		}
	}
	return line{frame, id, Box{v[2] - 1, v[3] - 1, v[4], v[5]}, v[6]}, nil
}
