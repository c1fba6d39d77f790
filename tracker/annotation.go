package tracker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
)

// Limits on what an annotation may hold; beyond them it is refused.
const (
	maxAnnotationBytes = 16 << 20
	maxAnnotationSide  = 16384
	maxObjects         = 255 // ids fit a mask PNG's pixel
	maxStrokePoints    = 10000
	minPolygonPoints   = 3
	maxPaint           = 64 // frame areas that all of it together may sweep
)

// A Point is a position in pixels, x to the right and y down, the centre of the
// top-left pixel at (0.5, 0.5).
type Point [2]float64

// UnmarshalJSON reads [x, y] and nothing else; encoding/json by itself would fill
// up a point that lacks a number and shorten one that has too many.
func (p *Point) UnmarshalJSON(data []byte) error {
	var v []float64
	if err := json.Unmarshal(data, &v); err != nil || len(v) != len(p) {
		return fault("", "point %.40s; want [x, y], two numbers", data)
	}
	copy(p[:], v)
	return nil
}

// Stroke is a line drawn with a round brush.
type Stroke struct {
	Width  float64 `json:"width"`  // brush diameter in pixels, > 0
	Points []Point `json:"points"` // at least one
}

// ObjectSpec names an object and says where it is: by strokes, by its outline, by
// a box around it, or by an outline or a box with strokes that correct it.
type ObjectSpec struct {
	ID        uint32   `json:"id"` // 1…255, unique
	Label     string   `json:"label"`
	Scribbles []Stroke `json:"scribbles,omitempty"`

	// Polygon is the object's outline, closed by itself, 3 points at least. Pixels
	// inside by the even-odd rule are the object, all others are not. Where two
	// outlines overlap, the later object is.
	Polygon []Point `json:"polygon,omitempty"`

	// Box is left, top, right and bottom of a box that holds all of the object:
	// what is outside is not the object, what is inside may be. Not together with
	// Polygon.
	Box []float64 `json:"box,omitempty"`
}

// Annotation is what a person marked on one frame: strokes, outlines and boxes of
// objects and strokes on the background, or a mask. Strokes overrule outlines,
// boxes and the mask where they meet. Coordinates are pixels of a Width×Height
// picture, which must be the camera's frame size.
//
// An object that is not known yet, or out of sight, begins with what is said of
// it. An outline, a box or a mask of a known object replaces what it was taken
// for on that frame. Strokes alone correct it: the rest of it stays as it was
// labelled. Strokes on the background correct all objects, so then Objects may be
// empty or name known objects without saying more.
type Annotation struct {
	Frame      *uint64      `json:"frame,omitempty"` // sequence number; nil means the newest frame
	Width      int          `json:"width"`
	Height     int          `json:"height"`
	Objects    []ObjectSpec `json:"objects"`
	Background []Stroke     `json:"background,omitempty"`

	// Mask holds an object id for every pixel, row-major, 0 where none of
	// Objects is; nil for an annotation without a mask.
	Mask []uint8 `json:"-"`
}

// ParseAnnotation reads an annotation from JSON (the fields above), or from a
// grey or palette PNG whose pixel values are object ids.
func ParseAnnotation(r io.Reader) (*Annotation, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxAnnotationBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnnotation, err)
	}
	if len(data) > maxAnnotationBytes {
		return nil, fault("", "larger than the %d MiB accepted", maxAnnotationBytes>>20)
	}
	if bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
		return parseMask(data)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	a := &Annotation{}
	if err := dec.Decode(a); errors.Is(err, ErrAnnotation) { // a point's
		return nil, err
	} else if err != nil {
		return nil, fault("", "line %d: %v", line(data, err, dec), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fault("", "something follows the JSON object; want one object")
	}
	// encoding/json takes null for 0 and for a member that is left out. It is looked
	// for only now that the JSON is known to have no more levels than an annotation.
	if bytes.Contains(data, []byte("null")) {
		if at, found := findNull(json.NewDecoder(bytes.NewReader(data)), ""); found {
			return nil, fault(at, "null; want a value, or the member left out if it is optional")
		}
	}
	if err := a.validate(); err != nil {
		return nil, err
	}
	return a, nil
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
		return nil, fault("", "mask PNG: %v", err)
	}
	if head.Width > maxAnnotationSide || head.Height > maxAnnotationSide {
		return nil, fault("", "mask PNG is %d×%d; at most %d a side is accepted", head.Width, head.Height, maxAnnotationSide)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fault("", "mask PNG: %v", err)
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
		return nil, fault("", "mask PNG has colour model %s; want 8-bit grey or palette, pixel value = object id", modelName(img.ColorModel()))
	}
	var seen [256]bool
	for _, id := range a.Mask {
		seen[id] = true
	}
	for id := 1; id < len(seen); id++ {
		if seen[id] {
			a.Objects = append(a.Objects, ObjectSpec{ID: uint32(id), Label: fmt.Sprintf("object %d", id)})
		}
	}
	return a, a.validate()
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
		return nil, fault("", "mask of %d pixels for %d×%d", len(bits), width, height)
	}
	a := &Annotation{Width: width, Height: height, Mask: make([]uint8, len(bits)), Objects: []ObjectSpec{{ID: id, Label: label}}}
	for i, b := range bits {
		if b != 0 {
			a.Mask[i] = uint8(id)
		}
	}
	return a, a.validate()
}

// validate names every fault it finds.
func (a *Annotation) validate() error {
	var faults []error
	add := func(field, format string, args ...any) { faults = append(faults, fault(field, format, args...)) }
	if a.Width < 1 || a.Height < 1 || a.Width > maxAnnotationSide || a.Height > maxAnnotationSide {
		add("width", "%d×%d with the height; want the frame's size, 1…%d a side", a.Width, a.Height, maxAnnotationSide)
		return errors.Join(faults...)
	}
	if len(a.Objects) == 0 && (len(a.Background) == 0 || a.Mask != nil) {
		add("objects", "none; want at least one object, or strokes on the background")
	}
	if len(a.Objects) > maxObjects {
		add("objects", "%d; want at most %d", len(a.Objects), maxObjects)
	}
	seen := map[uint32]bool{}
	for i, o := range a.Objects {
		at := fmt.Sprintf("objects[%d]", i)
		if o.ID < 1 || o.ID > maxObjects {
			add(at+".id", "%d; want 1…%d", o.ID, maxObjects)
		}
		if seen[o.ID] {
			add(at+".id", "%d is used twice", o.ID)
		}
		seen[o.ID] = true
		if !a.says(i) && len(a.Background) == 0 {
			add(at+".scribbles", "none; want at least one stroke, a polygon or a box, or strokes on the background")
		}
		if err := checkLabel(at+".label", o.Label); err != nil {
			faults = append(faults, err)
		}
		faults = append(faults, a.checkExtent(at, o)...)
		faults = append(faults, a.checkStrokes(at+".scribbles", o.Scribbles)...)
	}
	faults = append(faults, a.checkStrokes("background", a.Background)...)
	if paint := a.paint(); len(faults) == 0 && paint > maxPaint {
		add("", "strokes, polygons and boxes (%d-fold) would paint %.0f times the frame; want at most %d", boxWork, paint, maxPaint)
	}
	return errors.Join(faults...)
}

// says tells whether the annotation marks anything of object k.
func (a *Annotation) says(k int) bool { return a.hasExtent(k) || len(a.Objects[k].Scribbles) > 0 }

// hasExtent tells whether the annotation bounds object k: what is outside its
// mask, polygon or box is not the object.
func (a *Annotation) hasExtent(k int) bool {
	return a.Mask != nil || a.Objects[k].Polygon != nil || a.Objects[k].Box != nil
}

// checkExtent names the faults of the object's polygon and box.
func (a *Annotation) checkExtent(at string, o ObjectSpec) []error {
	var faults []error
	add := func(field, format string, args ...any) { faults = append(faults, fault(at+field, format, args...)) }
	if a.Mask != nil && (o.Polygon != nil || o.Box != nil) {
		add("", "a polygon or box beside a mask; want one of them")
	}
	if o.Polygon != nil && o.Box != nil {
		add("", "polygon and box; want one of them")
	}
	if n := len(o.Polygon); o.Polygon != nil && (n < minPolygonPoints || n > maxStrokePoints) {
		add(".polygon", "%d points; want %d…%d", n, minPolygonPoints, maxStrokePoints)
	}
	for k, p := range o.Polygon {
		if !a.within(p) {
			add(fmt.Sprintf(".polygon[%d]", k), "(%g, %g) is outside the %d×%d frame", p[0], p[1], a.Width, a.Height)
			break
		}
	}
	switch b := o.Box; {
	case b == nil:
	case len(b) != 4:
		add(".box", "%d numbers; want 4: [x0, y0, x1, y1]", len(b))
	case !a.within(Point{b[0], b[1]}) || !a.within(Point{b[2], b[3]}):
		add(".box", "%g is not inside the %d×%d frame", b, a.Width, a.Height)
	case b[2]-b[0] < 1 || b[3]-b[1] < 1:
		add(".box", "%g is %g×%g; want [x0, y0, x1, y1] with x1 and y1 at least 1 more than x0 and y0", b, b[2]-b[0], b[3]-b[1])
	}
	return faults
}

// within tells whether p is in the picture; NaN is not.
func (a *Annotation) within(p Point) bool {
	return p[0] >= 0 && p[1] >= 0 && p[0] <= float64(a.Width) && p[1] <= float64(a.Height)
}

// boxWork is what searching a box costs against painting it.
const boxWork = 8

// paint is the area of all boxes around segments of strokes and outlines, of
// outlines and of boxes to be searched over the frame's: the work they make.
func (a *Annotation) paint() float64 {
	area := 0.0
	add := func(strokes []Stroke) {
		for _, s := range strokes {
			for i, p := range s.Points {
				q := s.Points[max(0, i-1)]
				area += (s.Width + math.Abs(p[0]-q[0])) * (s.Width + math.Abs(p[1]-q[1]))
			}
		}
	}
	add(a.Background)
	for _, o := range a.Objects {
		add(o.Scribbles)
		if n := len(o.Polygon); n > 0 {
			low, high := o.Polygon[0], o.Polygon[0]
			for _, p := range o.Polygon {
				low = Point{math.Min(low[0], p[0]), math.Min(low[1], p[1])}
				high = Point{math.Max(high[0], p[0]), math.Max(high[1], p[1])}
			}
			area += (high[0] - low[0]) * (high[1] - low[1])
			add([]Stroke{{Width: 1, Points: o.Polygon}})
		}
		if b := o.Box; len(b) == 4 {
			area += boxWork * (b[2] - b[0]) * (b[3] - b[1])
		}
	}
	return area / float64(a.Width*a.Height)
}

func (a *Annotation) checkStrokes(at string, strokes []Stroke) []error {
	var faults []error
	for i, s := range strokes {
		where := fmt.Sprintf("%s[%d]", at, i)
		// Negated so that NaN is refused too.
		if !(s.Width > 0 && s.Width <= float64(max(a.Width, a.Height))) {
			faults = append(faults, fault(where+".width", "%g; want a brush of more than 0 and at most %d pixels", s.Width, max(a.Width, a.Height)))
		}
		if len(s.Points) == 0 || len(s.Points) > maxStrokePoints {
			faults = append(faults, fault(where+".points", "%d; want 1…%d", len(s.Points), maxStrokePoints))
		}
		for k, p := range s.Points {
			if !a.within(p) {
				faults = append(faults, fault(fmt.Sprintf("%s.points[%d]", where, k), "(%g, %g) is outside the %d×%d frame", p[0], p[1], a.Width, a.Height))
				break
			}
		}
	}
	return faults
}

// What a pixel was marked as. Marks ≥ 0 are indices: 0 the background, 1+k the
// annotation's object k.
const (
	unmarked = -1
	notAny   = -2 // outside the masks, polygons and boxes of the annotation
)

// raster draws the annotation: one mark a pixel, row-major. What a box holds is
// unmarked.
func (a *Annotation) raster() []int16 {
	marks := make([]int16, a.Width*a.Height)
	base := int16(unmarked)
	for k := range a.Objects {
		if a.hasExtent(k) {
			base = notAny
		}
	}
	for i := range marks {
		marks[i] = base
	}
	if a.Mask != nil {
		var index [256]int16
		for i := range index {
			index[i] = notAny
		}
		for k, o := range a.Objects {
			index[o.ID] = int16(k + 1)
		}
		for i, id := range a.Mask {
			marks[i] = index[id]
		}
	}
	for k := range a.Objects {
		a.inside(k, func(p int) { marks[p] = unmarked })
	}
	for k, o := range a.Objects {
		if o.Polygon != nil {
			a.inside(k, func(p int) { marks[p] = int16(k + 1) })
		}
	}
	for _, s := range a.Background {
		a.stroke(marks, s, 0)
	}
	for k, o := range a.Objects {
		for _, s := range o.Scribbles {
			a.stroke(marks, s, int16(k+1))
		}
	}
	return marks
}

// inside calls visit with every pixel whose centre is in object k's box or, by the
// even-odd rule, in its polygon.
func (a *Annotation) inside(k int, visit func(p int)) {
	o := a.Objects[k]
	outline := o.Polygon
	if b := o.Box; b != nil {
		outline = []Point{{b[0], b[1]}, {b[2], b[1]}, {b[2], b[3]}, {b[0], b[3]}}
	}
	if len(outline) == 0 {
		return
	}
	top, bottom := outline[0][1], outline[0][1]
	for _, p := range outline {
		top, bottom = math.Min(top, p[1]), math.Max(bottom, p[1])
	}
	first := max(0, int(top))
	crossings := make([][]float64, max(0, min(a.Height, int(bottom)+1)-first))
	last := outline[len(outline)-1]
	for _, p := range outline {
		up, down := last, p
		if up[1] > down[1] {
			up, down = down, up
		}
		// Rows whose centre is in [up, down).
		for y := max(first, int(math.Ceil(up[1]-0.5))); y < a.Height && float64(y)+0.5 < down[1]; y++ {
			x := up[0] + (float64(y)+0.5-up[1])*(down[0]-up[0])/(down[1]-up[1])
			crossings[y-first] = append(crossings[y-first], x)
		}
		last = p
	}
	for r, xs := range crossings {
		slices.Sort(xs)
		for i := 0; i+1 < len(xs); i += 2 {
			for x := max(0, int(math.Ceil(xs[i]-0.5))); x < a.Width && float64(x)+0.5 < xs[i+1]; x++ {
				visit((first+r)*a.Width + x)
			}
		}
	}
}

// stroke paints every pixel whose centre is within half the width of the line.
func (a *Annotation) stroke(marks []int16, s Stroke, mark int16) {
	radius := math.Max(s.Width/2, 0.75) // a hairline still hits a pixel
	last := s.Points[0]
	for _, p := range s.Points {
		x0, x1 := math.Min(last[0], p[0])-radius, math.Max(last[0], p[0])+radius
		y0, y1 := math.Min(last[1], p[1])-radius, math.Max(last[1], p[1])+radius
		for y := max(0, int(y0)); y < a.Height && float64(y) <= y1; y++ {
			for x := max(0, int(x0)); x < a.Width && float64(x) <= x1; x++ {
				if distance(Point{float64(x) + 0.5, float64(y) + 0.5}, last, p) <= radius {
					marks[y*a.Width+x] = mark
				}
			}
		}
		last = p
	}
}

// distance is that of p from the segment a–b.
func distance(p, a, b Point) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = math.Min(1, math.Max(0, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/l))
	}
	return math.Hypot(p[0]-a[0]-t*dx, p[1]-a[1]-t*dy)
}
