package dataset

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"strconv"
	"strings"

	"github.com/segd/segd/mask"
)

// The attributes of an object, beside its class: what it is called in all of the data set, and segd's number.
const (
	attrTrack  = "track_id"
	attrObject = "object_id"
)

// The parts of a file of CVAT's, "CVAT for images 1.1". Numbers are text: what is not there is none, and what is
// wrong can be told.
type (
	cvatFile struct {
		XMLName xml.Name    `xml:"annotations"`
		Version string      `xml:"version"`
		Labels  []cvatLabel `xml:"meta>task>labels>label"`
		Images  []cvatImage `xml:"image"`
	}
	cvatLabel struct {
		Name       string              `xml:"name" json:"name"`
		Attributes []cvatAttributeKind `xml:"attributes>attribute" json:"attributes"`
	}
	cvatAttributeKind struct {
		Name    string   `xml:"name" json:"name"`
		Mutable bool     `xml:"mutable" json:"mutable"`
		Input   string   `xml:"input_type" json:"input_type"`
		Default string   `xml:"default_value" json:"default_value"`
		Values  []string `xml:"values" json:"values"`
	}
	cvatImage struct {
		ID     int         `xml:"id,attr"`
		Name   string      `xml:"name,attr"`
		Subset string      `xml:"subset,attr,omitempty"`
		Width  int         `xml:"width,attr"`
		Height int         `xml:"height,attr"`
		Shapes []cvatShape `xml:",any"`
	}
	cvatShape struct {
		XMLName    xml.Name
		Label      string          `xml:"label,attr"`
		Source     string          `xml:"source,attr,omitempty"`
		Occluded   string          `xml:"occluded,attr,omitempty"`
		RLE        string          `xml:"rle,attr,omitempty"`
		Left       string          `xml:"left,attr,omitempty"`
		Top        string          `xml:"top,attr,omitempty"`
		Width      string          `xml:"width,attr,omitempty"`
		Height     string          `xml:"height,attr,omitempty"`
		ZOrder     string          `xml:"z_order,attr,omitempty"`
		Attributes []cvatAttribute `xml:"attribute"`
	}
	cvatAttribute struct {
		Name  string `xml:"name,attr"`
		Value string `xml:",chardata"`
	}
)

// cvat writes annotations.xml, and labels.json for the task that it is uploaded to.
func cvat(s *set) error {
	f := cvatFile{Version: "1.1"}
	for _, class := range s.classes {
		label := cvatLabel{Name: class}
		for _, name := range []string{attrTrack, attrObject} {
			label.Attributes = append(label.Attributes, cvatAttributeKind{Name: name, Input: "text", Values: []string{""}})
		}
		f.Labels = append(f.Labels, label)
	}
	for i, p := range s.pictures {
		img := cvatImage{ID: i, Name: p.String() + extPicture, Width: int(p.masks.GetWidth()), Height: int(p.masks.GetHeight())}
		if len(s.splits) > 1 {
			img.Subset = p.split
		}
		for _, o := range p.objects {
			m, err := p.mask(o)
			if err != nil {
				return err
			}
			shape := cvatMask(m)
			shape.Label, shape.Source, shape.Occluded, shape.ZOrder = o.class, "auto", "0", "0"
			shape.Attributes = []cvatAttribute{{attrTrack, strconv.Itoa(o.track)}, {attrObject, strconv.Itoa(int(o.GetId()))}}
			img.Shapes = append(img.Shapes, shape)
		}
		f.Images = append(f.Images, img)
	}
	err := s.write("annotations.xml", func(w io.Writer) error {
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		enc := xml.NewEncoder(w)
		enc.Indent("", "  ")
		return enc.Encode(f)
	})
	if err != nil {
		return err
	}
	return s.write("labels.json", func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(f.Labels)
	})
}

// cvatMask is a mask as CVAT has it: the runs of the rows of its box, the first background.
func cvatMask(m mask.RLE) cvatShape {
	box, bits := m.Box(), m.Decode(nil)
	var runs []string
	value, n := uint8(0), 0
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for _, b := range bits[y*m.Width+box.Min.X : y*m.Width+box.Max.X] {
			if b != value {
				runs = append(runs, strconv.Itoa(n))
				value, n = b, 0
			}
			n++
		}
	}
	runs = append(runs, strconv.Itoa(n))
	return cvatShape{
		XMLName: xml.Name{Local: "mask"}, RLE: strings.Join(runs, ", "),
		Left: strconv.Itoa(box.Min.X), Top: strconv.Itoa(box.Min.Y), Width: strconv.Itoa(box.Dx()), Height: strconv.Itoa(box.Dy()),
	}
}
