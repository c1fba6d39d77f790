package annotation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strings"
)

// Parse reads an annotation from JSON (the fields of [Annotation], and mask, a PNG in
// base64), or from a grey or
// palette PNG whose pixel values are object ids. Errors wrap ErrInvalid.
func Parse(r io.Reader) (*Annotation, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(data) > maxBytes {
		return nil, Faultf("", "larger than the %d MiB accepted", maxBytes>>20)
	}
	if bytes.HasPrefix(data, []byte(pngMagic)) {
		return parseMask(data)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var read struct {
		Annotation
		MaskPNG []byte `json:"mask"`
	}
	a := &read.Annotation
	if err := dec.Decode(&read); errors.Is(err, ErrInvalid) { // a point's
		return nil, err
	} else if err != nil {
		return nil, Faultf("", "line %d: %v", line(data, err, dec), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, Faultf("", "something follows the JSON object; want one object")
	}
	// encoding/json takes null for 0 and for a member that is left out. It is looked
	// for only now that the JSON is known to have no more levels than an annotation.
	if bytes.Contains(data, []byte("null")) {
		if at, found := findNull(json.NewDecoder(bytes.NewReader(data)), ""); found {
			return nil, Faultf(at, "null; want a value, or the member left out if it is optional")
		}
	}
	if read.MaskPNG != nil {
		if err := a.takeMask(read.MaskPNG); err != nil {
			return nil, err
		}
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return a, nil
}

// takeMask makes the mask that of a PNG, whose ids are those of the objects, or all of them
// if there are none.
func (a *Annotation) takeMask(data []byte) error {
	m, err := parseMask(data)
	switch {
	case err != nil:
		return fmt.Errorf("mask: %w", err)
	case m.Width != a.Width || m.Height != a.Height:
		return Faultf("mask", "it is %d×%d; want the %d×%d that the annotation is made for", m.Width, m.Height, a.Width, a.Height)
	}
	if a.Mask = m.Mask; len(a.Objects) == 0 {
		a.Objects = m.Objects
		return nil
	}
	for _, o := range m.Objects {
		if !slices.ContainsFunc(a.Objects, func(known Object) bool { return known.ID == o.ID }) {
			return Faultf("mask", "it has id %d, which none of the objects has; want the ids of objects, 0 elsewhere", o.ID)
		}
	}
	return nil
}

// findNull returns where in the next value of dec, which is sound, the first null is.
func findNull(dec *json.Decoder, at string) (where string, found bool) {
	token, _ := dec.Token()
	switch token {
	case nil:
		return at, true
	case json.Delim('['):
		for i := 0; dec.More() && !found; i++ {
			where, found = findNull(dec, fmt.Sprintf("%s[%d]", at, i))
		}
	case json.Delim('{'):
		for dec.More() && !found {
			name, _ := dec.Token()
			where, found = findNull(dec, strings.TrimPrefix(fmt.Sprintf("%s.%s", at, name), "."))
		}
	default:
		return "", false
	}
	_, _ = dec.Token() // the closing one
	return where, found
}

// line is the 1-based line of a JSON fault.
func line(data []byte, err error, dec *json.Decoder) int {
	at := dec.InputOffset()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	return 1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n"))
}

func parseMask(data []byte) (*Annotation, error) {
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, Faultf("", "mask PNG: %v", err)
	}
	if head.Width > maxSide || head.Height > maxSide {
		return nil, Faultf("", "mask PNG is %d×%d; at most %d a side is accepted", head.Width, head.Height, maxSide)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, Faultf("", "mask PNG: %v", err)
	}
	a := &Annotation{Width: head.Width, Height: head.Height, Mask: make([]uint8, head.Width*head.Height)}
	switch m := img.(type) {
	case *image.Gray:
		for y := range a.Height {
			copy(a.Mask[y*a.Width:(y+1)*a.Width], m.Pix[y*m.Stride:])
		}
	case *image.Paletted:
		for y := range a.Height {
			copy(a.Mask[y*a.Width:(y+1)*a.Width], m.Pix[y*m.Stride:])
		}
	default:
		return nil, Faultf("", "mask PNG has colour model %s; want 8-bit grey or palette, pixel value = object id", modelName(img.ColorModel()))
	}
	var seen [256]bool
	for _, id := range a.Mask {
		seen[id] = true
	}
	for id := 1; id < len(seen); id++ {
		if seen[id] {
			a.Objects = append(a.Objects, Object{ID: uint32(id), Label: fmt.Sprintf("object %d", id)})
		}
	}
	return a, a.Validate()
}

func modelName(m color.Model) string {
	switch m {
	case color.RGBAModel, color.NRGBAModel:
		return "RGB 8-bit"
	case color.RGBA64Model, color.NRGBA64Model:
		return "RGB 16-bit"
	case color.Gray16Model:
		return "grey 16-bit"
	}
	return "unknown"
}

// FromMask makes an annotation of one object by its mask, row-major, non-zero
// where the object is.
func FromMask(bits []uint8, width, height int, id uint32, label string) (*Annotation, error) {
	if len(bits) != width*height {
		return nil, Faultf("", "mask of %d pixels for %d×%d", len(bits), width, height)
	}
	a := &Annotation{Width: width, Height: height, Mask: make([]uint8, len(bits)), Objects: []Object{{ID: id, Label: label}}}
	for i, b := range bits {
		if b != 0 {
			a.Mask[i] = uint8(id)
		}
	}
	return a, a.Validate()
}
