package dataset

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
)

// Marked is a picture of a recording, and what somebody marked on it elsewhere.
type Marked struct {
	Camera          string
	Epoch, Sequence uint64
	File            string // the picture's, without folders
	Width, Height   int

	shapes func() ([]annotation.Object, error)
}

// Before tells whether c was taken before o, of the same camera.
func (c Marked) Before(o Marked) bool {
	return name{"", c.Epoch, c.Sequence}.compare(name{"", o.Epoch, o.Sequence}) < 0
}

// Parse reads a file of CVAT's ("CVAT for images 1.1", annotations.xml) or COCO's (instances, JSON), and returns
// the pictures in it that have marks and are of a recording, and the names of others.
func Parse(data []byte) (pictures []Marked, others []string, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch text := bytes.TrimLeft(data, " \t\r\n"); {
	case bytes.HasPrefix(text, []byte("<")):
		return parseCVAT(data)
	case bytes.HasPrefix(text, []byte("{")):
		return parseCOCO(data)
	case bytes.HasPrefix(text, []byte("PK")):
		return nil, nil, errors.New("a ZIP archive; accepted: the annotations.xml or instances_….json that it holds")
	}
	return nil, nil, fmt.Errorf("it begins with %.20q; accepted: XML (CVAT for images 1.1) or JSON (COCO)", data)
}

// markedOn is a picture by its file's name.
func markedOn(file string, width, height int, shapes func() ([]annotation.Object, error)) (c Marked, ok bool) {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	n, _, ok := parseName(base)
	return Marked{n.camera, n.epoch, n.sequence, base, width, height, shapes}, ok
}

// Annotation is what is marked as an annotation of the picture's size. Objects keep segd's numbers if no larger
// than most, and are not given another name if they are in known, by these numbers; others get numbers of their own.
func (c Marked) Annotation(most uint32, known map[uint32]bool) (*annotation.Annotation, error) {
	err := codec.CheckSize(c.Width, c.Height) // before there is memory for masks of that
	var objects []annotation.Object
	if err == nil {
		objects, err = c.shapes()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	taken := map[uint32]bool{}
	for i, o := range objects {
		if taken[o.ID] || o.ID > most {
			objects[i].ID = 0
		}
		if taken[objects[i].ID] = true; known[objects[i].ID] {
			objects[i].Label = ""
		}
	}
	next := uint32(1)
	for i := range objects {
		for ; objects[i].ID == 0; next++ {
			if !taken[next] && !known[next] {
				objects[i].ID = next
			}
		}
	}
	a := &annotation.Annotation{Width: c.Width, Height: c.Height, Objects: objects}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return a, nil
}

// objectID is segd's number of an object by an attribute's value; 0: none.
func objectID(value string) uint32 {
	id, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
	return uint32(id)
}

func parseCVAT(data []byte) (pictures []Marked, others []string, err error) {
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		line, _ := dec.InputPos()
		switch start, _ := token.(xml.StartElement); {
		case errors.Is(err, io.EOF):
			return pictures, others, nil
		case err != nil:
			return nil, nil, err
		case start.Name.Local == "track":
			return nil, nil, fmt.Errorf("line %d: a track; accepted: pictures, as of the export \"CVAT for images 1.1\"", line)
		case start.Name.Local == "image":
			var img cvatImage
			if err := dec.DecodeElement(&img, &start); err != nil {
				return nil, nil, err
			}
			c, ok := markedOn(img.Name, img.Width, img.Height, func() ([]annotation.Object, error) { return img.objects(line) })
			if !ok {
				others = append(others, img.Name)
			} else if len(img.Shapes) > 0 {
				pictures = append(pictures, c)
			}
		}
	}
}

// objects are the shapes of an image, which begins at a line.
func (img cvatImage) objects(line int) (objects []annotation.Object, err error) {
	for i, s := range img.Shapes {
		o := annotation.Object{Label: s.Label}
		for _, a := range s.Attributes {
			if a.Name == attrObject {
				o.ID = objectID(a.Value)
			}
		}
		if err := s.mark(&o, img.Width, img.Height); err != nil {
			return nil, fmt.Errorf("image of line %d, shape %d, a %s: %w", line, i+1, s.XMLName.Local, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// mark gives o the place that the shape marks in a picture of that size.
func (s cvatShape) mark(o *annotation.Object, width, height int) (err error) {
	switch s.XMLName.Local {
	case "mask":
		box, err := numbers("left, top, width and height", s.Left+","+s.Top+","+s.Width+","+s.Height, strconv.Atoi)
		if err != nil {
			return err
		}
		left, top, w, h := box[0], box[1], box[2], box[3]
		if left < 0 || top < 0 || w < 1 || h < 1 || w > width || h > height || left > width-w || top > height-h {
			return fmt.Errorf("%d×%d at (%d,%d); accepted: inside the picture of %d×%d", w, h, left, top, width, height)
		}
		runs, err := numbers("rle", s.RLE, strconv.Atoi)
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
		values, err := numbers("points", strings.ReplaceAll(s.Points, ";", ","), float)
		if err == nil {
			o.Polygon, err = points(values)
		}
		return err
	case "box":
		if s.Rotation != "" {
			return errors.New("it is turned; accepted: an upright box, a polygon or a mask")
		}
		o.Box, err = numbers("xtl, ytl, xbr and ybr", s.XTL+","+s.YTL+","+s.XBR+","+s.YBR, float)
		return err
	}
	return errors.New("accepted: mask, polygon and box")
}

func float(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

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

// points pairs numbers, x and y.
func points(values []float64) (list []annotation.Point, err error) {
	if len(values)%2 != 0 {
		return nil, fmt.Errorf("points: %d numbers; accepted: pairs of x and y", len(values))
	}
	for ; len(values) >= 2; values = values[2:] {
		list = append(list, annotation.Point{values[0], values[1]})
	}
	return list, nil
}

func parseCOCO(data []byte) (pictures []Marked, others []string, err error) {
	type annotated struct {
		Image        int                        `json:"image_id"`
		Category     int                        `json:"category_id"`
		Segmentation json.RawMessage            `json:"segmentation"`
		Box          []float64                  `json:"bbox"`
		Attributes   map[string]json.RawMessage `json:"attributes"`
	}
	var f struct {
		Images []struct {
			ID            int    `json:"id"`
			File          string `json:"file_name"`
			Width, Height int
		} `json:"images"`
		Annotations []annotated    `json:"annotations"`
		Categories  []cocoCategory `json:"categories"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		var at int64
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = syntax.Offset
		} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			at = kind.Offset
		}
		return nil, nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte("\n")), err)
	}
	labels, of := map[int]string{}, map[int][]annotated{}
	for _, c := range f.Categories {
		labels[c.ID] = c.Name
	}
	for _, a := range f.Annotations {
		of[a.Image] = append(of[a.Image], a)
	}
	for _, img := range f.Images {
		c, ok := markedOn(img.File, img.Width, img.Height, func() (objects []annotation.Object, err error) {
			for i, a := range of[img.ID] {
				o := annotation.Object{Label: labels[a.Category], ID: objectID(strings.Trim(string(a.Attributes[attrObject]), `"`))}
				if err := cocoMark(&o, a.Segmentation, a.Box, img.Width, img.Height); err != nil {
					return nil, fmt.Errorf("annotation %d of it: %w", i+1, err)
				}
				objects = append(objects, o)
			}
			return objects, nil
		})
		if !ok {
			others = append(others, img.File)
		} else if len(of[img.ID]) > 0 {
			pictures = append(pictures, c)
		}
	}
	return pictures, others, nil
}

// cocoMark gives o the place of a segmentation: polygons, run lengths, or none and the box.
func cocoMark(o *annotation.Object, segmentation json.RawMessage, box []float64, width, height int) error {
	var polygons [][]float64
	var rle struct {
		Size   [2]int
		Counts json.RawMessage
	}
	switch {
	case bytes.HasPrefix(segmentation, []byte("{")):
		if err := json.Unmarshal(segmentation, &rle); err != nil {
			return fmt.Errorf("segmentation: %w", err)
		}
		m, err := cocoCounts(rle.Counts, width, height)
		if err != nil || rle.Size != [2]int{height, width} {
			return errors.Join(err, fmt.Errorf("segmentation of %d×%d; accepted: run lengths of the picture's %d×%d", rle.Size[1], rle.Size[0], width, height))
		}
		o.Polygon = annotation.Outline(m.Decode(nil), width, height)
		return nil
	case len(segmentation) > 0:
		if err := json.Unmarshal(segmentation, &polygons); err != nil {
			return fmt.Errorf("segmentation: %w", err)
		}
	}
	for _, p := range polygons {
		if len(o.Polygon)+len(p)/2 > annotation.MaxPoints {
			return fmt.Errorf("segmentation: more than %d points; accepted: as many", annotation.MaxPoints)
		}
		list, err := points(p)
		if err != nil {
			return fmt.Errorf("segmentation: %w", err)
		}
		o.Polygon, _ = join(o.Polygon, list)
	}
	if len(polygons) == 0 && len(box) == 4 {
		o.Box = []float64{box[0], box[1], box[0] + box[2], box[1] + box[3]}
	}
	return nil
}

// cocoCounts are run lengths, compressed or not.
func cocoCounts(counts json.RawMessage, width, height int) (m mask.RLE, err error) {
	var text string
	if json.Unmarshal(counts, &text) == nil {
		return mask.Parse(text, width, height)
	}
	m = mask.RLE{Width: width, Height: height}
	if err := json.Unmarshal(counts, &m.Counts); err != nil {
		return m, fmt.Errorf("counts: %w", err)
	}
	return mask.Parse(m.String(), width, height) // which says what is wrong with them
}
