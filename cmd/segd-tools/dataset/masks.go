package dataset

import (
	"encoding/csv"
	"fmt"
	"image"
	"image/png"
	"io"
	"strconv"

	"github.com/segd/segd/outputs/draw"
)

// masks writes masks/SPLIT/NAME.png, a pixel's value its class, from 1, and classes.csv.
func masks(s *set) error {
	if n := len(draw.Palette) - 1; len(s.classes) > n {
		return fmt.Errorf("%d classes; a PNG with a palette holds %d", len(s.classes), n)
	}
	for _, p := range s.pictures {
		img := image.NewPaletted(image.Rect(0, 0, int(p.masks.GetWidth()), int(p.masks.GetHeight())), draw.Palette)
		var bits []uint8
		for _, o := range p.objects {
			m, err := p.mask(o)
			if err != nil {
				return err
			}
			bits = m.Decode(bits)
			for i, b := range bits {
				if b != 0 {
					img.Pix[i] = uint8(s.class(o) + 1)
				}
			}
		}
		if err := s.write("masks/"+p.split+"/"+p.String()+".png", func(w io.Writer) error { return png.Encode(w, img) }); err != nil {
			return err
		}
	}
	return s.write("classes.csv", func(w io.Writer) error {
		lines := [][]string{{"value", "class"}}
		for i, class := range s.classes {
			lines = append(lines, []string{strconv.Itoa(i + 1), class})
		}
		return csv.NewWriter(w).WriteAll(lines)
	})
}
