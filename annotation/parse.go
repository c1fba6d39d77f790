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
// base64), or from a grey or palette PNG whose pixel values are object ids. Errors wrap
// ErrInvalid.
func Parse(r io.Reader) (*Annotation, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return ParseFor(data, 0, 0)
}

// ParseFor is Parse for a camera whose frames have that size; 0×0 when it is not known.
// Data of clients is not trusted: a mask of another size or kind is refused by its
// header, before there is memory for its pixels, and JSON by counting what it holds.
func ParseFor(data []byte, width, height int) (*Annotation, error) {
	if len(data) > maxBytes {
		return nil, Faultf("", "larger than the %d MiB accepted", maxBytes>>20)
	}
	if bytes.HasPrefix(data, []byte(pngMagic)) {
		return parseMask(data, width, height)
	}
	if err := checkCounts(data); err != nil {
		return nil, err
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
		return nil, Faultf("", "line %d: %s", line(data, err, dec), clip(err.Error()))
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
		if err := a.takeMask(read.MaskPNG, width, height); err != nil {
			return nil, err
		}
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return a, nil
}

// checkCounts refuses JSON that would be much larger in memory than it is here: an
// empty object takes three bytes of it, and a hundred as a Go value.
func checkCounts(data []byte) error {
	braces, commas, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			braces++
		case c == ',':
			commas++
		}
	}
	if n := braces - 1; n > maxParts {
		return Faultf("", "%d objects and strokes; want at most %d", n, maxParts)
	}
	if commas > maxValues {
		return Faultf("", "%d numbers and other values; want at most %d", commas, maxValues)
	}
	return nil
}

// clip shortens what quotes the sender at length.
func clip(text string) string {
	const limit = 200
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// takeMask makes the mask that of a PNG, whose ids are those of the objects, or all of them
// if there are none.
func (a *Annotation) takeMask(data []byte, width, height int) error {
	m, err := parseMask(data, width, height)
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
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = kind.Offset
	}
	return 1 + bytes.Count(data[:min(int(at), len(data))], []byte("\n"))
}

func parseMask(data []byte, width, height int) (*Annotation, error) {
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, Faultf("", "mask PNG: %v", err)
	}
	if _, palette := head.ColorModel.(color.Palette); !palette && head.ColorModel != color.GrayModel {
		return nil, wrongModel(head.ColorModel)
	}
	if width > 0 && (head.Width != width || head.Height != height) {
		return nil, Faultf("width", "mask PNG made for %d×%d; the camera's frames are %d×%d", head.Width, head.Height, width, height)
	}
	a := &Annotation{Width: head.Width, Height: head.Height}
	if err := a.checkSize(); err != nil {
		return nil, err
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, Faultf("", "mask PNG: %v", err)
	}
	switch m := img.(type) { // both without space between their rows
	case *image.Gray:
		a.Mask = m.Pix
	case *image.Paletted:
		a.Mask = m.Pix
	default: // grey of which a value is transparent
		return nil, wrongModel(img.ColorModel())
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

func wrongModel(m color.Model) error {
	return Faultf("", "mask PNG has colour model %s; want 8-bit grey or palette, pixel value = object id", modelName(m))
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
