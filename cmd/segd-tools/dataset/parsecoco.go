package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"strings"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/mask"
)

// readCOCO reads the pictures, then what is marked on them, which may come first in the file.
func (s *search) readCOCO() error {
	pictures, classes, n := map[int]*Marked{}, map[int]string{}, 0
	ignore := func(dec *json.Decoder) error { return dec.Decode(new(struct{})) } // far faster than token by token
	err := s.lists(map[string]func(*json.Decoder) error{
		"annotations": ignore,
		"images": func(dec *json.Decoder) error {
			var p struct {
				ID            int    `json:"id"`
				File          string `json:"file_name"`
				Width, Height int
			}
			if err := dec.Decode(&p); err != nil {
				return err
			}
			if on := s.named(p.File, p.Width, p.Height); on != nil {
				pictures[p.ID] = on
			}
			if len(pictures) > maxPictures {
				return fmt.Errorf("more than %d pictures of camera %s; accepted: as many, or --picture", maxPictures, s.camera)
			}
			return nil
		},
		"categories": func(dec *json.Decoder) error {
			var c cocoCategory
			if err := dec.Decode(&c); err != nil {
				return err
			}
			// One that is longer than a label may be stays so.
			if classes[c.ID] = c.Name[:min(len(c.Name), 8*annotation.MaxLabel)]; len(classes) > maxClasses {
				return fmt.Errorf("more than %d categories; accepted: as many", maxClasses)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	return s.lists(map[string]func(*json.Decoder) error{
		"images": ignore,
		"annotations": func(dec *json.Decoder) error {
			var a cocoMark
			if err := dec.Decode(&a); err != nil {
				return err
			}
			n++
			on := pictures[a.Image]
			if on == nil {
				return nil
			}
			where := func() string { return fmt.Sprintf("annotation %d of the file, id %d", n, a.ID) }
			return s.mark(on, where, func(o *layer, width, height int) error {
				var attributes map[string]json.RawMessage
				if len(a.Attributes) < 1<<16 { // else it is none of CVAT's
					_ = json.Unmarshal(a.Attributes, &attributes) // others have no object
				}
				o.Label, o.ID = classes[a.Category], objectID(strings.Trim(string(attributes[attrObject]), `"`))
				return s.cocoMark(o, a, width, height)
			})
		},
	})
}

// lists reads the file, which is an object of JSON, entry by entry of its lists that are named.
func (s *search) lists(read map[string]func(*json.Decoder) error) error {
	in := s.source()
	dec := json.NewDecoder(in)
	err := func() error {
		if _, err := dec.Token(); err != nil { // which is a brace
			return err
		}
		for in.next(); dec.More(); in.next() {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			in.next()
			entry := read[fmt.Sprint(key)]
			if entry == nil {
				if err := skip(dec, in); err != nil {
					return err
				}
				continue
			}
			token, err := dec.Token()
			switch {
			case err != nil:
				return err
			case token == nil:
				continue
			case token != json.Delim('['):
				return fmt.Errorf("%s: %.20q; accepted: a list", key, fmt.Sprint(token))
			}
			for in.next(); dec.More(); in.next() {
				if err := entry(dec); err != nil {
					return err
				}
			}
			if _, err := dec.Token(); err != nil { // the bracket
				return err
			}
		}
		_, err := dec.Token() // the brace
		return err
	}()
	if err == nil || s.ctx.Err() != nil {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("unexpected end; accepted: a whole file")
	}
	return fmt.Errorf("line %d: %w", s.line(dec.InputOffset()), err)
}

// skip reads a value that is not looked for.
func skip(dec *json.Decoder, in *source) error {
	for depth := 0; ; in.next() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		if depth > maxDepth {
			return fmt.Errorf("more than %d lists inside one another; accepted: as many", maxDepth)
		}
	}
}

// line is the line of that byte of the text.
func (s *search) line(offset int64) int {
	in := s.source()
	n, piece := 1, make([]byte, 64<<10)
	for offset > 0 {
		in.next()
		got, err := in.Read(piece[:min(int64(len(piece)), offset)])
		n += bytes.Count(piece[:got], []byte("\n"))
		if offset -= int64(got); err != nil {
			break
		}
	}
	return n
}

// cocoMark is an annotation of COCO's.
type cocoMark struct {
	ID           int             `json:"id"`
	Image        int             `json:"image_id"`
	Category     int             `json:"category_id"`
	Segmentation json.RawMessage `json:"segmentation"`
	Box          []float64       `json:"bbox"`
	Attributes   json.RawMessage `json:"attributes"`
}

// cocoMark gives o the place of a segmentation: polygons, run lengths, or none and the box.
func (s *search) cocoMark(o *layer, a cocoMark, width, height int) error {
	var polygons [][]float64
	var rle struct {
		Size   [2]int
		Counts json.RawMessage
	}
	switch {
	case bytes.HasPrefix(a.Segmentation, []byte("{")):
		if err := json.Unmarshal(a.Segmentation, &rle); err != nil {
			return fmt.Errorf("segmentation: %w", err)
		}
		m, err := cocoCounts(rle.Counts, width, height)
		if err != nil || rle.Size != [2]int{height, width} {
			return errors.Join(err, fmt.Errorf("segmentation of %d×%d; accepted: run lengths of the picture's %d×%d", rle.Size[1], rle.Size[0], width, height))
		}
		if err := checkRuns(len(m.Counts)); err != nil {
			return fmt.Errorf("segmentation: %w", err)
		}
		o.Polygon = outline(m)
		return nil
	case len(a.Segmentation) > 0:
		if err := json.Unmarshal(a.Segmentation, &polygons); err != nil {
			return fmt.Errorf("segmentation: %w", err)
		}
	}
	if len(polygons) == 0 && len(a.Box) == 4 {
		o.Box = boxWithin([]float64{a.Box[0], a.Box[1], a.Box[0] + a.Box[2], a.Box[1] + a.Box[3]}, width, height)
		return nil
	}
	var err error
	o.Polygon, err = s.union(polygons, width, height)
	if err != nil {
		return fmt.Errorf("segmentation: %w", err)
	}
	return nil
}

// union is an outline for what is in one or more polygons.
func (s *search) union(polygons [][]float64, width, height int) (joined []annotation.Point, err error) {
	var parts annotation.Annotation // each polygon an object
	var boxes []image.Rectangle
	total, swept, overlap := 0, 0, false
	for _, p := range polygons {
		if total += len(p) / 2; total > annotation.MaxPoints {
			return nil, fmt.Errorf("more than %d points; accepted: as many", annotation.MaxPoints)
		}
		part, err := points(p, width, height)
		if err != nil {
			return nil, err
		}
		if len(part) == 0 {
			continue // outside
		}
		box := boxOf(part)
		for _, b := range boxes {
			overlap = overlap || b.Overlaps(box)
		}
		swept += box.Dx() * box.Dy()
		boxes, parts.Objects = append(boxes, box), append(parts.Objects, annotation.Object{Polygon: part})
	}
	if !overlap {
		for _, o := range parts.Objects {
			if err := s.ctx.Err(); err != nil {
				return nil, err
			}
			joined, _ = join(joined, o.Polygon)
		}
		return joined, nil
	}
	if most := maxSwept * width * height; swept > most {
		return nil, fmt.Errorf("polygons of %d pixels over one another; accepted: at most %d times the picture", swept, maxSwept)
	}
	parts.Width, parts.Height = width, height
	bits := make([]uint8, width*height)
	for k := range parts.Objects {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		parts.Inside(k, func(p int) { bits[p] = 1 })
	}
	return outline(mask.Encode(bits, width, height)), nil
}

// maxSwept is how many times the picture's size polygons that overlap may have together.
const maxSwept = 64

// boxOf holds all of a polygon's pixels.
func boxOf(polygon []annotation.Point) image.Rectangle {
	low, high := polygon[0], polygon[0]
	for _, p := range polygon {
		low = annotation.Point{min(low[0], p[0]), min(low[1], p[1])}
		high = annotation.Point{max(high[0], p[0]), max(high[1], p[1])}
	}
	return image.Rect(int(math.Floor(low[0])), int(math.Floor(low[1])), int(math.Ceil(high[0])), int(math.Ceil(high[1])))
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
