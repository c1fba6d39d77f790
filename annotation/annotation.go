package annotation

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
)

// MaxPoints bounds a stroke and a polygon.
const MaxPoints = 10000

// Limits on what an annotation may hold besides; beyond them it is refused.
const (
	maxBytes         = 16 << 20
	maxSide          = 16384
	maxPixels        = 1 << 26 // more than cameras have
	maxPixelAspect   = 256     // sides of 16:1 that are meant to be seen as 1:16
	maxObjects       = 255
	minPolygonPoints = 3
	maxPaint         = 64    // frame areas that all of it together may sweep
	maxParts         = 10000 // objects and strokes together
	maxValues        = 400000
	maxFaults        = 100 // that are listed
)

// MaxID is the largest id that people give an object: ids fit a mask PNG's pixel. Larger ones are of
// objects that a detector found; people may correct these, but not by a mask.
const MaxID = 255

// MaxFollowed is how many objects a camera follows at once, by people and by detectors: the tracker's labels
// are bytes.
const MaxFollowed = 255

// A Point is a position in pixels, x to the right and y down, the centre of the
// top-left pixel at (0.5, 0.5).
type Point [2]float64

// UnmarshalJSON reads [x, y] and nothing else; encoding/json by itself would fill
// up a point that lacks a number and shorten one that has too many.
func (p *Point) UnmarshalJSON(data []byte) error {
	var v []float64
	if err := json.Unmarshal(data, &v); err != nil || len(v) != len(p) {
		return Faultf("", "point %.40s; want [x, y], two numbers", data)
	}
	copy(p[:], v)
	return nil
}

// Stroke is a line drawn with a round brush.
type Stroke struct {
	Width  float64 `json:"width"`  // brush diameter in pixels, > 0
	Points []Point `json:"points"` // at least one
}

// Object names an object and says where it is: by strokes, by its outline, by
// a box around it, or by an outline or a box with strokes that correct it.
type Object struct {
	ID        uint32   `json:"id"` // unique; 1…MaxID, or larger of an object that a detector found
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
	Frame      *uint64  `json:"frame,omitempty"` // sequence number; nil means the newest frame
	Width      int      `json:"width"`
	Height     int      `json:"height"`
	Objects    []Object `json:"objects"`
	Background []Stroke `json:"background,omitempty"`

	// Picture is the picture it was made on, a JPEG or PNG of Width×Height. It is for
	// annotations that are kept while the camera's frames go on: where its objects are
	// by then is found by what they look like in it.
	Picture []byte `json:"picture,omitempty"`

	// PixelAspect is how many times as wide as high a pixel of Picture is meant to be seen; 0: 1.
	PixelAspect float64 `json:"pixel_aspect,omitempty"`

	// Automatic is whether a detector made it, and not a person: its objects have boxes alone.
	Automatic bool `json:"-"`

	// Mask holds an object id for every pixel, row-major, 0 where none of
	// Objects is; nil for an annotation without a mask.
	Mask []uint8 `json:"-"`
}

// Validate names every fault it finds, each a *Fault, joined. What [Parse] and
// [FromMask] return is valid.
func (a *Annotation) Validate() error {
	var faults []error
	add := func(field, format string, args ...any) { faults = append(faults, Faultf(field, format, args...)) }
	if err := a.checkSize(); err != nil {
		return errors.Join(err)
	}
	if len(a.Objects) == 0 && (len(a.Background) == 0 || a.Mask != nil) {
		add("objects", "none; want at least one object, or strokes on the background")
	}
	if p := a.PixelAspect; p != 0 && !(p >= 1.0/maxPixelAspect && p <= maxPixelAspect) {
		add("pixel_aspect", "%v; want 1/%d to %d, or 0 for 1", p, maxPixelAspect, maxPixelAspect)
	}
	if len(a.Objects) > maxObjects {
		add("objects", "%d; want at most %d", len(a.Objects), maxObjects)
	}
	seen := map[uint32]bool{}
	for i, o := range a.Objects {
		if len(faults) > maxFaults {
			break
		}
		at := fmt.Sprintf("objects[%d]", i)
		switch {
		case o.ID < 1:
			add(at+".id", "%d; want 1…%d, or the id of an object that a detector found", o.ID, MaxID)
		case o.ID > MaxID && a.Mask != nil:
			add(at+".id", "%d; want 1…%d with a mask, whose pixels hold no more", o.ID, MaxID)
		}
		if seen[o.ID] {
			add(at+".id", "%d is used twice", o.ID)
		}
		seen[o.ID] = true
		if !a.HasMarks(i) && len(a.Background) == 0 {
			add(at+".scribbles", "none; want at least one stroke, a polygon or a box, or strokes on the background")
		}
		if err := CheckLabel(at+".label", o.Label); err != nil {
			faults = append(faults, err)
		}
		faults = append(faults, a.checkExtent(at, o)...)
		faults = append(faults, a.checkStrokes(at+".scribbles", o.Scribbles)...)
	}
	faults = append(faults, a.checkStrokes("background", a.Background)...)
	if a.Automatic && a.Mask != nil {
		add("", "a detector's annotation has a mask; want boxes")
	}
	if a.Picture != nil {
		if err := a.checkPicture(); err != nil {
			faults = append(faults, err)
		}
	}
	if paint := a.paint(); len(faults) == 0 && paint > maxPaint {
		add("", "strokes, polygons and boxes (%d-fold) would paint %.0f times the frame; want at most %d", boxWork, paint, maxPaint)
	}
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults], Faultf("", "%d faults are named; more are not listed", maxFaults))
	}
	return errors.Join(faults...)
}

func (a *Annotation) checkSize() error {
	if a.Width < 1 || a.Height < 1 || a.Width > maxSide || a.Height > maxSide || a.Width*a.Height > maxPixels {
		return Faultf("width", "%d×%d with the height; want the frame's size, 1…%d a side and at most %d pixels", a.Width, a.Height, maxSide, maxPixels)
	}
	return nil
}

// HasMarks tells whether the annotation marks anything of object k.
func (a *Annotation) HasMarks(k int) bool { return a.HasExtent(k) || len(a.Objects[k].Scribbles) > 0 }

// HasExtent tells whether the annotation bounds object k: what is outside its
// mask, polygon or box is not the object.
func (a *Annotation) HasExtent(k int) bool {
	return a.Mask != nil || a.Objects[k].Polygon != nil || a.Objects[k].Box != nil
}

// Stroked is the box of object k's strokes, in pixels.
func (a *Annotation) Stroked(k int) (box image.Rectangle) {
	for _, s := range a.Objects[k].Scribbles {
		r := s.Width / 2
		for _, p := range s.Points {
			box = box.Union(image.Rect(int(p[0]-r), int(p[1]-r), int(math.Ceil(p[0]+r)), int(math.Ceil(p[1]+r))))
		}
	}
	return box.Intersect(image.Rect(0, 0, a.Width, a.Height))
}

func (a *Annotation) checkExtent(at string, o Object) []error {
	var faults []error
	add := func(field, format string, args ...any) { faults = append(faults, Faultf(at+field, format, args...)) }
	if a.Mask != nil && (o.Polygon != nil || o.Box != nil) {
		add("", "a polygon or box beside a mask; want one of them")
	}
	if o.Polygon != nil && o.Box != nil {
		add("", "polygon and box; want one of them")
	}
	if n := len(o.Polygon); o.Polygon != nil && (n < minPolygonPoints || n > MaxPoints) {
		add(".polygon", "%d points; want %d…%d", n, minPolygonPoints, MaxPoints)
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
			faults = append(faults, Faultf(where+".width", "%g; want a brush of more than 0 and at most %d pixels", s.Width, max(a.Width, a.Height)))
		}
		if len(s.Points) == 0 || len(s.Points) > MaxPoints {
			faults = append(faults, Faultf(where+".points", "%d; want 1…%d", len(s.Points), MaxPoints))
		}
		for k, p := range s.Points {
			if !a.within(p) {
				faults = append(faults, Faultf(fmt.Sprintf("%s.points[%d]", where, k), "(%g, %g) is outside the %d×%d frame", p[0], p[1], a.Width, a.Height))
				break
			}
		}
	}
	return faults
}
