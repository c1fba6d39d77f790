package dataset

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/segd/segd/annotation"
)

// shape is one of CVAT's: its kind and what it says of itself, as text.
type shape struct {
	kind   string
	says   map[string]string
	object string // the attribute with segd's number
}

func (s *search) readCVAT() error {
	in := s.source()
	dec := xml.NewDecoder(in)
	var encoding error
	dec.CharsetReader = func(label string, input io.Reader) (io.Reader, error) {
		r, err := charset.NewReaderLabel(label, input)
		if err != nil {
			encoding = fmt.Errorf("encoding %.100q; accepted: UTF-8, ISO-8859-1 and what else browsers read", label)
		}
		return r, err
	}
	var (
		depth, line, n int
		on             *Marked // the picture, where it is one that is looked for
		mark           *shape
		object         bool // whether the text is segd's number
	)
	for {
		in.next()
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case encoding != nil:
			return encoding
		case err != nil && !errors.As(err, new(*xml.SyntaxError)) && s.ctx.Err() == nil:
			line, _ := dec.InputPos()
			return fmt.Errorf("line %d: %w", line, err)
		case err != nil:
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			at, _ := dec.InputPos()
			switch {
			case depth > maxDepth:
				return fmt.Errorf("line %d: more than %d elements inside one another; accepted: as many", at, maxDepth)
			case t.Name.Local == "track":
				return fmt.Errorf("line %d: a track; accepted: pictures, as of the export \"CVAT for images 1.1\"", at)
			case depth == 2 && t.Name.Local == "image":
				line, n = at, 0
				says := attributes(t)
				width, _ := strconv.Atoi(says["width"])
				height, _ := strconv.Atoi(says["height"])
				on = s.named(says["name"], width, height)
			case depth == 3 && on != nil:
				n++
				mark = &shape{kind: t.Name.Local, says: attributes(t)}
			case depth == 4 && mark != nil && t.Name.Local == "attribute":
				object = attributes(t)["name"] == attrObject
			}
		case xml.CharData:
			if object && len(mark.object)+len(t) < 100 { // no number is as long
				mark.object += string(t)
			}
		case xml.EndElement:
			depth--
			object = false
			switch {
			case depth == 1:
				on = nil
			case depth == 2 && mark != nil:
				where := func() string { return fmt.Sprintf("image of line %d, shape %d, a %.100s", line, n, mark.kind) }
				if err := s.mark(on, where, mark.mark); err != nil {
					return err
				}
				mark = nil
			}
		}
	}
}

func attributes(t xml.StartElement) map[string]string {
	says := make(map[string]string, len(t.Attr))
	for _, a := range t.Attr {
		says[a.Name.Local] = a.Value
	}
	return says
}

// mark gives o what the shape marks in a picture of that size.
func (s *shape) mark(o *layer, width, height int) (err error) {
	o.Label, o.ID = s.says["label"], objectID(s.object)
	if z := s.says["z_order"]; z != "" {
		if o.z, err = strconv.Atoi(z); err != nil || o.z != int(int32(o.z)) {
			return fmt.Errorf("z_order: %.20q; accepted: a whole number", z)
		}
	}
	all := func(names ...string) string {
		values := make([]string, len(names))
		for i, name := range names {
			values[i] = s.says[name]
		}
		return strings.Join(values, ",")
	}
	switch s.kind {
	case "mask":
		box, err := numbers("left, top, width and height", all("left", "top", "width", "height"), strconv.Atoi)
		if err != nil {
			return err
		}
		left, top, w, h := box[0], box[1], box[2], box[3]
		if left < 0 || top < 0 || w < 1 || h < 1 || w > width || h > height || left > width-w || top > height-h {
			return fmt.Errorf("%d×%d at (%d,%d); accepted: inside the picture of %d×%d", w, h, left, top, width, height)
		}
		runs, err := numbers("rle", s.says["rle"], strconv.Atoi)
		if err == nil {
			err = checkRuns(len(runs))
		}
		if err != nil {
			return err
		}
		bits, at := make([]uint8, w*h), 0
		for i, run := range runs {
			if run < 0 || run > len(bits)-at {
				return fmt.Errorf("rle: run %d is %d; accepted: 0 to %d, the pixels that are left", i+1, run, len(bits)-at)
			}
			for range run {
				bits[at] = uint8(i % 2)
				at++
			}
		}
		o.Polygon = annotation.Outline(bits, w, h)
		for i := range o.Polygon {
			o.Polygon[i][0] += float64(left)
			o.Polygon[i][1] += float64(top)
		}
		return nil
	case "polygon":
		values, err := numbers("points", strings.ReplaceAll(s.says["points"], ";", ","), float)
		if err == nil {
			o.Polygon, err = points(values, width, height)
		}
		return err
	case "box":
		if s.says["rotation"] != "" {
			return errors.New("it is turned; accepted: an upright box, a polygon or a mask")
		}
		box, err := numbers("xtl, ytl, xbr and ybr", all("xtl", "ytl", "xbr", "ybr"), float)
		if err == nil {
			o.Box = boxWithin(box, width, height)
		}
		return err
	}
	return errors.New("accepted: mask, polygon and box")
}

func checkRuns(n int) error {
	if n > maxRuns {
		return fmt.Errorf("%d run lengths; accepted: at most %d", n, maxRuns)
	}
	return nil
}

func float(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, strconv.ErrRange
	}
	return v, err
}

// numbers reads what has commas between.
func numbers[T any](what, text string, parse func(string) (T, error)) (list []T, err error) {
	for part := range strings.SplitSeq(text, ",") {
		v, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%s: %.20q; accepted: numbers", what, part)
		}
		list = append(list, v)
	}
	return list, nil
}
