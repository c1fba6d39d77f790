package memory

import (
	"bytes"
	"fmt"
	"image"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/tracker"
)

const width, height = 8, 6

// of is a picture of objects.
func of(ids ...uint32) *annotation.Annotation {
	a := &annotation.Annotation{Width: width, Height: height}
	for _, id := range ids {
		a.Objects = append(a.Objects, annotation.Object{ID: id, Label: fmt.Sprint("object ", id), Box: []float64{1, 1, 4, 4}})
	}
	return a
}

// ids are the objects of each picture.
func ids(scenes []*annotation.Annotation) (all [][]uint32) {
	for _, s := range scenes {
		var of []uint32
		for _, o := range s.Objects {
			of = append(of, o.ID)
		}
		all = append(all, of)
	}
	return all
}

func check(t *testing.T, what string, scenes []*annotation.Annotation, want ...[]uint32) {
	t.Helper()
	if got := ids(scenes); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: %v; want %v", what, got, want)
	}
}

// The oldest of too many pictures is forgotten, but none that alone shows some object.
func TestAdd(t *testing.T) {
	var m Memory
	m.Add(of(7))
	for n := range uint32(maxScenes + 1) {
		m.Add(of(n%2 + 1))
	}
	check(t, "pictures", m.Marked(), []uint32{7}, []uint32{1}, []uint32{2}, []uint32{1}, []uint32{2}, []uint32{1}, []uint32{2}, []uint32{1})
	for n := range uint32(maxScenes + 2) {
		m.Add(of(100 + n))
	}
	assert.Equal(t, maxScenes+5, len(m.Marked()), "pictures")
}

// What is forgotten is in no picture any more; a picture that shows nothing else is forgotten, too. Pictures themselves
// do not change.
func TestForget(t *testing.T) {
	var m Memory
	both := of(1, 2)
	both.Mask = make([]uint8, width*height)
	both.Mask[3], both.Mask[5] = 1, 2
	m.Add(both)
	m.Add(of(1))
	m.Add(of(2))
	m.SetLast(of(2, 1))
	m.Forget([]uint32{1})
	check(t, "without 1", m.Scenes(), []uint32{2}, []uint32{2}, []uint32{2})
	if a := m.Marked()[0]; a.Mask[3] != 0 || a.Mask[5] != 2 || both.Mask[3] != 1 || len(both.Objects) != 2 {
		t.Errorf("%v; want 1 in no pixel, but in the picture as it was", a.Mask)
	}
	m.Forget([]uint32{2})
	check(t, "without any", m.Scenes())
}

// What is automatic is forgotten, and labels are the table's.
func TestForgetAutomatic(t *testing.T) {
	table := objects.Restore([]objects.Object{{ID: 1}, {ID: 256, Owner: objects.Detector}, {ID: 257, Owner: objects.Kept}}, 0)
	var m Memory
	m.Add(of(1, 256, 257))
	m.Add(of(256))
	m.ForgetAutomatic(table)
	check(t, "pictures", m.Marked(), []uint32{1, 257})
	for _, o := range m.Objects() {
		assert.Equal(t, "", o.Label, "object %d is called", o.ID)
	}
	// Of a foreign checkpoint it is not known what is automatic.
	var foreign Memory
	foreign.Add(of(1, 300))
	foreign.SetLast(of(2, 300, 301))
	foreign.forgetUnmarked()
	check(t, "foreign pictures", foreign.Scenes(), []uint32{1, 300}, []uint32{2, 300})
}

// People's objects in sight are missed that are on no picture of a mark.
func TestMisses(t *testing.T) {
	var m Memory
	m.Add(of(1))
	m.SetLast(of(2, 3))
	for want, all := range map[bool][]objects.Object{
		false: {{ID: 1, Area: 9}, {ID: 2}, {ID: 256, Owner: objects.Detector, Area: 9}},
		true:  {{ID: 1, Area: 9}, {ID: 2, Area: 9}},
	} {
		assert.Equal(t, want, m.Misses(objects.Restore(all, 0)), "%v are missed", all)
	}
}

// The configured annotation comes into use once, also where it was adopted.
func TestConfigure(t *testing.T) {
	frame := uint64(4)
	a := of(1)
	a.Frame, a.Picture = &frame, []byte("JPEG")
	var configured, m Memory
	configured.Configure(a)
	m.Add(of(2))
	m.Adopt(&configured)
	check(t, "pictures", m.Marked(), []uint32{2}, []uint32{1})
	if own := m.Marked()[1]; own.Frame != nil || own.Picture == nil || a.Frame == nil {
		t.Errorf("%+v; want it of no frame", own)
	}
	if !m.Use() || m.Use() {
		t.Error("want it to come into use once")
	}
	m.Configure(a)
	if m.Clear(); m.Use() || len(m.Scenes()) != 0 {
		t.Error("what was forgotten comes into use")
	}
}

// What a picture shows is marked by its pixels; by outlines where ids do not fit in these.
func TestShown(t *testing.T) {
	at := func(id uint32, r image.Rectangle) *segdv1.Object {
		bits := make([]uint8, width*height)
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				bits[y*width+x] = 1
			}
		}
		return &segdv1.Object{
			Id: id, Area: int32(r.Dx() * r.Dy()), Counts: mask.Encode(bits, width, height).String(),
			Box: &segdv1.Box{X: int32(r.Min.X), Y: int32(r.Min.Y), Width: int32(r.Dx()), Height: int32(r.Dy())},
		}
	}
	masks := &segdv1.MaskFrame{Width: width, Height: height, PixelAspect: 1.5, Objects: []*segdv1.Object{
		at(1, image.Rect(1, 1, 4, 4)), at(2, image.Rectangle{}), at(3, image.Rect(6, 0, 8, 2)), at(256, image.Rect(5, 2, 8, 5)),
	}}
	table := objects.Restore([]objects.Object{{ID: 1, State: tracker.Visible}, {ID: 2}, {ID: 256, Owner: objects.Detector}}, 0) // 3 was removed
	bgr := bytes.Repeat([]byte{200}, 3*width*height)
	shown := func(table objects.Table, all bool) *annotation.Annotation {
		t.Helper()
		a, err := Shown(masks, table, bgr, all)
		require.NoError(t, err)
		return a
	}

	s := shown(table, false)
	check(t, "people's", []*annotation.Annotation{s}, []uint32{1})
	if a := s; a.Mask[width+1] != 1 || a.Mask[0] != 0 || a.PixelAspect != 1.5 {
		t.Errorf("%+v", a)
	}
	if own, err := s.BGR(); err != nil || len(own) != len(bgr) || own[0] < 195 || own[0] > 205 {
		t.Errorf("%v, %v; want the picture", own, err)
	}
	s = shown(table, true)
	check(t, "all", []*annotation.Annotation{s}, []uint32{1, 256})
	if a := s; a.Mask != nil || a.Objects[0].Polygon == nil && a.Objects[0].Box == nil || a.Objects[1].Polygon == nil && a.Objects[1].Box == nil {
		t.Errorf("%+v; want outlines", a)
	}
	kept, _ := table.Apply(objects.Keep{ID: 256})
	if s = shown(kept, false); s.Mask != nil || len(s.Objects) != 2 {
		t.Errorf("with one that is kept: %+v; want outlines of both", s)
	}
	if s = shown(objects.Table{}, true); s != nil {
		t.Errorf("%+v; want nothing", s)
	}
	if _, err := Shown(masks, table, bgr[1:], true); err == nil {
		t.Error("a picture without its last byte is remembered")
	}
}
