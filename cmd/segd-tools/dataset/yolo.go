package dataset

import (
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// yolo writes labels/SPLIT/NAME.txt, a line an object: its class, and its polygon as parts of the picture's width
// and height; and data.yaml.
func yolo(s *set) error {
	for _, p := range s.pictures {
		err := s.write("labels/"+p.split+"/"+p.String()+".txt", func(w io.Writer) error {
			for _, o := range p.objects {
				m, err := p.mask(o)
				if err != nil {
					return err
				}
				fmt.Fprint(w, s.class(o))
				for _, at := range polygon(m) {
					fmt.Fprintf(w, " %.7f %.7f", at[0]/float64(m.Width), at[1]/float64(m.Height))
				}
				fmt.Fprintln(w)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	data := struct {
		Train, Val string
		Test       string `yaml:"test,omitempty"`
		Names      []string
	}{"images/train", "images/train", "", s.classes} // a val there must be
	if len(s.of("val")) > 0 {
		data.Val = "images/val"
	}
	if len(s.of("test")) > 0 {
		data.Test = "images/test"
	}
	return s.write("data.yaml", func(w io.Writer) error { return yaml.NewEncoder(w).Encode(data) })
}
