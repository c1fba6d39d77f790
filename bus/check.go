package bus

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/wirelimit"
	"github.com/segd/segd/mask"
)

// A client that may publish on a NATS server can publish anything. These bound what a
// message makes a subscriber allocate.
const (
	maxSide        = 8192           // pixels, as of the pictures that segd decodes
	maxPixels      = 8192 * 4608    // likewise
	maxPixelAspect = 256            // sides of 16:1 that are meant to be seen as 1:16
	maxObjects     = 255            // as a camera follows
	maxParts       = 32             // zones, and lines, of a camera
	maxRegions     = 2 * maxObjects // one round each object, and parts of the picture
	maxMissed      = 64             // reasons; there are 5, and later ones may add some
)

// limits are looked at before a message is decoded.
var limits = wirelimit.Limits{
	"segd.v1.MaskFrame.objects":             maxObjects,
	"segd.v1.MaskFrame.regions_of_interest": maxRegions,
	"segd.v1.ObjectList.objects":            maxObjects,
	"segd.v1.Annotated.objects":             maxObjects,
	"segd.v1.Annotated.warnings":            maxObjects,
	"segd.v1.Status.objects":                maxObjects,
	"segd.v1.Status.missed":                 maxMissed,
	"segd.v1.Status.zones":                  maxParts,
	"segd.v1.Status.lines":                  maxParts,
}

// check returns what of m segd would not send, so that no reader of messages need
// think of it: names that are no token of a subject (and may be part of a path), sizes
// and objects out of bounds, a mask that does not cover its picture. Text for people
// may still hold any character. The objects of a MaskFrame are for leaveOut.
func check(m proto.Message) error {
	switch m := m.(type) {
	case *segdv1.MaskFrame:
		return errors.Join(checkNames(m), checkMasks(m))
	case *segdv1.ObjectList:
		return errors.Join(checkNames(m), checkObjects(m.GetObjects()), checkExtents(m.GetObjects()))
	case *segdv1.Annotated:
		return errors.Join(checkNames(m), checkObjects(m.GetObjects()), checkExtents(m.GetObjects()))
	case *segdv1.Status:
		return errors.Join(checkNames(m), checkObjects(m.GetObjects()), checkParts("zones", m.GetZones()), checkParts("lines", m.GetLines()))
	case *segdv1.Event:
		return errors.Join(checkNames(m), checkPart("zone", m.GetZone()), checkPart("line", m.GetLine()), checkPlace(m))
	}
	return nil
}

// named are the messages that tell of a camera.
type named interface {
	GetSite() string
	GetCamera() string
}

func checkNames(m named) error {
	if err := CheckName(m.GetSite()); err != nil {
		return fmt.Errorf("site: %w", err)
	}
	if err := CheckName(m.GetCamera()); err != nil {
		return fmt.Errorf("camera: %w", err)
	}
	return nil
}

// checkPart holds the name of a zone or a line to be one, or none.
func checkPart(field, name string) error {
	if name == "" {
		return nil
	}
	if err := CheckName(name); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// checkParts holds the names of zones or lines to be such.
func checkParts[P interface{ GetName() string }](field string, parts []P) error {
	for i, p := range parts {
		if err := CheckName(p.GetName()); err != nil {
			return fmt.Errorf("%s[%d].name: %w", field, i, err)
		}
	}
	return nil
}

// checkID holds the number of the i-th object to rise from 1. last is that of the one before.
func checkID(i int, id, last uint32) error {
	if id <= last {
		return fmt.Errorf("objects[%d].id: %d after %d, want rising ones from 1", i, id, last)
	}
	return nil
}

// checkObjects holds the objects' numbers to rise from 1.
func checkObjects[O interface{ GetId() uint32 }](objects []O) error {
	last := uint32(0)
	for i, o := range objects {
		if err := checkID(i, o.GetId(), last); err != nil {
			return err
		}
		last = o.GetId()
	}
	return nil
}

// checkExtents holds the extents of objects in a picture of unknown size.
func checkExtents(objects []*segdv1.Object) error {
	for i, o := range objects {
		if err := checkExtent(o.GetExtent(), maxSide, maxSide); err != nil {
			return fmt.Errorf("objects[%d].%w", i, err)
		}
	}
	return nil
}

// checkExtent holds an extent, if there is one, to reach beyond each side of a picture of that size by as much as
// that is wide or high at most.
func checkExtent(b *segdv1.Box, width, height int) error {
	if b == nil {
		return nil
	}
	if x, y, w, h := int(b.GetX()), int(b.GetY()), int(b.GetWidth()), int(b.GetHeight()); x < -width || y < -height || w < 1 || h < 1 || x+w > 2*width || y+h > 2*height {
		return fmt.Errorf("extent: %d×%d at %d,%d, want a part of what is from %d,%d to %d,%d", w, h, x, y, -width, -height, 2*width, 2*height)
	}
	return nil
}

// checkPlace holds an event's box to be in its picture, if it has both, and its extent near it.
func checkPlace(e *segdv1.Event) error {
	width, height := maxSide, maxSide
	if e.GetWidth() != 0 || e.GetHeight() != 0 {
		width, height = int(e.GetWidth()), int(e.GetHeight())
		if err := checkSize(width, height); err != nil {
			return err
		}
	}
	if b := e.GetBox(); b != nil && !within(b, width, height) {
		return fmt.Errorf("box: %d×%d at %d,%d, want a part of the picture's %d×%d", b.GetWidth(), b.GetHeight(), b.GetX(), b.GetY(), width, height)
	}
	return checkExtent(e.GetExtent(), width, height)
}

// within tells whether b is a part of a picture of that size.
func within(b *segdv1.Box, width, height int) bool {
	x, y, w, h := int(b.GetX()), int(b.GetY()), int(b.GetWidth()), int(b.GetHeight())
	return x >= 0 && y >= 0 && w >= 1 && h >= 1 && x+w <= width && y+h <= height
}

// checkSize holds a picture to be of a size that segd decodes.
func checkSize(width, height int) error {
	if width < 1 || height < 1 || width > maxSide || height > maxSide || width*height > maxPixels {
		return fmt.Errorf("width and height: %d×%d, want 1 to %d a side and at most %d pixels in all", width, height, maxSide, maxPixels)
	}
	return nil
}

// leaveOut takes the objects out of m that segd would not send, and tells how many there were, and of the first.
func leaveOut(m *segdv1.MaskFrame) (faulty int, first error) {
	last := uint32(0)
	i := -1
	m.Objects = slices.DeleteFunc(m.Objects, func(o *segdv1.Object) bool {
		i++
		err := checkID(i, o.GetId(), last)
		if err == nil {
			if _, err = mask.Parse(o.GetCounts(), int(m.GetWidth()), int(m.GetHeight())); err != nil {
				err = fmt.Errorf("objects[%d].counts: %w", i, err)
			} else if err = checkExtent(o.GetExtent(), int(m.GetWidth()), int(m.GetHeight())); err != nil {
				err = fmt.Errorf("objects[%d].%w", i, err)
			}
		}
		if err == nil {
			last = o.GetId()
			return false
		}
		if faulty++; first == nil {
			first = err
		}
		return true
	})
	return faulty, first
}

func checkMasks(m *segdv1.MaskFrame) error {
	width, height := int(m.GetWidth()), int(m.GetHeight())
	if err := checkSize(width, height); err != nil {
		return err
	}
	if a := m.GetPixelAspect(); a != 0 && !(a >= 1.0/maxPixelAspect && a <= maxPixelAspect) {
		return fmt.Errorf("pixel_aspect: %v, want 1/%d to %d, or 0 for unknown", a, maxPixelAspect, maxPixelAspect)
	}
	for i, r := range m.GetRegionsOfInterest() {
		if b := r.GetBox(); !within(b, width, height) {
			return fmt.Errorf("regions_of_interest[%d].box: %d×%d at %d,%d, want a part of the picture's %d×%d",
				i, b.GetWidth(), b.GetHeight(), b.GetX(), b.GetY(), width, height)
		}
		if r.GetZoom() < 1 {
			return fmt.Errorf("regions_of_interest[%d].zoom: %d, want 1 or more", i, r.GetZoom())
		}
	}
	return nil
}
