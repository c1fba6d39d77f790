package bus

import (
	"errors"
	"math"
	"mime"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/memtest"
	"github.com/segd/segd/mask"
)

func TestUnmarshal(t *testing.T) {
	want := maskFrame("demo", 7)
	want.Site = "home"
	binary, err := marshal(nil, want, false)
	require.NoError(t, err)
	text, err := marshal(nil, want, true)
	require.NoError(t, err)
	// What a later segd may add: a field of a number and a name not known here.
	newerBinary := append(append([]byte{}, binary...), 0xf8, 0x3f, 1)
	newerText := strings.Replace(string(text), "{", `{"laterField": 1, `, 1)

	tests := []struct {
		name, contentType, data, err string
	}{
		{"protobuf", "application/x-protobuf; message=segd.v1.MaskFrame", string(binary), ""},
		{"protobuf, no message", "application/x-protobuf", string(binary), ""},
		{"no type", "", string(binary), ""},
		{"JSON", "application/json", string(text), ""},
		{"JSON with charset", "application/json; charset=utf-8", string(text), ""},
		{"newer protobuf", "", string(newerBinary), ""},
		{"newer JSON", "application/json", newerText, ""},
		{"other message", "application/x-protobuf; message=segd.v1.Event", string(binary), "it is a segd.v1.Event, want a segd.v1.MaskFrame"},
		{"other type", "text/plain", "hi", `"text/plain", want application/x-protobuf or application/json`},
		{"bad type", "a b;;", "hi", "Content-Type"},
		{"truncated protobuf", "", string(binary[:len(binary)-1]), "bytes of segd.v1.MaskFrame"},
		{"not protobuf", "", "\xff\xff\xff\xff", "4 bytes of segd.v1.MaskFrame"},
		{"truncated JSON", "application/json", string(text[:len(text)-1]), "bytes of segd.v1.MaskFrame"},
		{"JSON said to be protobuf", "", string(text), "bytes of segd.v1.MaskFrame"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got segdv1.MaskFrame
			err := Unmarshal(tt.contentType, []byte(tt.data), &got)
			if tt.err != "" {
				if !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("Unmarshal = %v, want an ErrMessage with %q", err, tt.err)
				}
				return
			}
			require.NoError(t, err)
			got.ProtoReflect().SetUnknown(nil)
			if !proto.Equal(want, &got) {
				t.Errorf("got %v, want %v", &got, want)
			}
		})
	}
}

// Zeros are written out: who reads JSON by hand need not know that they may be
// missing.
func TestJSONHasZeros(t *testing.T) {
	text, err := marshal(nil, &segdv1.Status{Camera: "demo"}, true)
	require.NoError(t, err)
	for _, name := range []string{`"up"`, `"fpsIn"`, `"framesIn"`, `"latencyP95Seconds"`, `"objects"`} {
		assert.Contains(t, string(text), name)
	}
}

func FuzzUnmarshal(f *testing.F) {
	masks := maskFrame("demo", 7)
	masks.Site = "home"
	for _, m := range []proto.Message{
		masks, &segdv1.Event{Site: "home", Camera: "demo", Kind: segdv1.EventKind_EVENT_KIND_CAMERA_UP}, &segdv1.Status{Site: "home", Camera: "demo", FpsIn: 10},
	} {
		for _, json := range []bool{false, true} {
			data, err := marshal(nil, m, json)
			require.NoError(f, err)
			f.Add(contentType(m, json), data)
		}
	}
	f.Add("text/plain", []byte("hi"))
	f.Fuzz(func(t *testing.T, contentType string, data []byte) {
		for _, m := range []proto.Message{new(segdv1.MaskFrame), new(segdv1.Event), new(segdv1.Status)} {
			var err error
			n := memtest.Allocated(func() { err = Unmarshal(contentType, data, m) })
			// As many objects and regions as there may be, and what they say, in a few forms on the way.
			if n > uint64(1<<20+32*len(data)) {
				t.Fatalf("%d bytes took %d of memory", len(data), n)
			}
			if err != nil {
				if !errors.Is(err, ErrMessage) {
					t.Fatalf("error %v does not wrap ErrMessage", err)
				}
				if !errors.Is(err, ErrObjects) {
					continue
				}
			}
			if m, ok := m.(*segdv1.MaskFrame); ok {
				usable(t, m)
			}
			again, err := marshal(nil, m, false)
			require.NoError(t, err, "decoded %q, and it cannot be encoded again", data)
			back := m.ProtoReflect().New().Interface()
			require.NoError(t, Unmarshal("", again, back))
		}
	})
}

// usable does with m what its readers do.
func usable(t *testing.T, m *segdv1.MaskFrame) {
	t.Helper()
	if name := m.Site + m.Camera; strings.ContainsAny(name, "/.\x1b\n") || len(m.Objects) > maxObjects {
		t.Errorf("%q with %d objects", name, len(m.Objects))
	}
	for _, o := range m.Objects {
		rle, err := mask.Parse(o.Counts, int(m.Width), int(m.Height))
		require.NoError(t, err)
		if n := len(rle.Decode(nil)); n > maxPixels {
			t.Errorf("a mask of %d pixels", n)
		}
	}
}

// What segd would not send is refused, with the field and what would do.
func TestUnmarshalHostile(t *testing.T) {
	many := func(n int) (objects []*segdv1.ObjectStatus) {
		for i := range n {
			objects = append(objects, &segdv1.ObjectStatus{Id: uint32(i + 1)})
		}
		return objects
	}
	zones := func(n int) []*segdv1.ZoneStatus { return slices.Repeat([]*segdv1.ZoneStatus{{Name: "yard"}}, n) }
	frame := func(change func(*segdv1.MaskFrame)) *segdv1.MaskFrame {
		m := maskFrame("gate", 7)
		m.Site = "home"
		change(m)
		return m
	}
	region := func(x, y, width, height, zoom int32) func(*segdv1.MaskFrame) {
		return func(m *segdv1.MaskFrame) {
			box := &segdv1.Box{X: x, Y: y, Width: width, Height: height}
			m.RegionsOfInterest = append(m.RegionsOfInterest, &segdv1.Region{Box: box, Zoom: zoom})
		}
	}
	list := func(x, y, width, height int32) *segdv1.ObjectList {
		extent := &segdv1.Box{X: x, Y: y, Width: width, Height: height}
		return &segdv1.ObjectList{Site: "home", Camera: "gate", Objects: []*segdv1.Object{{Id: 1, Extent: extent}}}
	}
	for _, tt := range []struct {
		name string
		m    proto.Message
		err  string // "": accepted
	}{
		{"a camera that climbs", frame(func(m *segdv1.MaskFrame) { m.Camera = "../x" }), `camera: bus: bad name "../x"`},
		{"no camera", frame(func(m *segdv1.MaskFrame) { m.Camera = "" }), "camera: bus: bad name"},
		{"a site with an escape", frame(func(m *segdv1.MaskFrame) { m.Site = "\x1b[2J" }), `site: bus: bad name "\x1b[2J"`},
		{"wide", frame(func(m *segdv1.MaskFrame) { m.Width = 2_000_000_000 }), "width and height: 2000000000×3"},
		{"large", frame(func(m *segdv1.MaskFrame) { m.Width, m.Height = 8192, 8192 }), "width and height: 8192×8192"},
		{"the largest", frame(func(m *segdv1.MaskFrame) { m.Width, m.Height, m.Objects = 8192, 4608, nil }), ""},
		{"no size", frame(func(m *segdv1.MaskFrame) { m.Width, m.Objects = 0, nil }), "width and height: 0×3"},
		{"negative", frame(func(m *segdv1.MaskFrame) { m.Width, m.Height = -4, -3 }), "width and height: -4×-3"},
		{"too short a mask", frame(func(m *segdv1.MaskFrame) { m.Objects[0].Counts = "7" }), "objects[0].counts: mask: not a COCO run-length string"},
		{"no mask", frame(func(m *segdv1.MaskFrame) { m.Objects[0].Counts = "" }), "objects[0].counts"},
		{"object 0", frame(func(m *segdv1.MaskFrame) { m.Objects[0].Id = 0 }), "objects[0].id: 0 after 0"},
		{"an object that segd marked", frame(func(m *segdv1.MaskFrame) { m.Objects[0].Id = 4_000_000_000 }), ""},
		{"an object twice", frame(func(m *segdv1.MaskFrame) { m.Objects = append(m.Objects, m.Objects[0]) }), "objects[1].id: 1 after 1"},
		{"wide pixels", frame(func(m *segdv1.MaskFrame) { m.PixelAspect = 8.0 / 3 }), ""},
		{"pixels of a line", frame(func(m *segdv1.MaskFrame) { m.PixelAspect = 257 }), "pixel_aspect: 257, want 1/256 to 256"},
		{"pixels that are mirrored", frame(func(m *segdv1.MaskFrame) { m.PixelAspect = -1 }), "pixel_aspect: -1"},
		{"pixels that are none", frame(func(m *segdv1.MaskFrame) { m.PixelAspect = math.NaN() }), "pixel_aspect: NaN"},
		{"a region", frame(region(0, 0, 4, 3, 1)), ""},
		{"regions that overlap", frame(func(m *segdv1.MaskFrame) { region(1, 1, 3, 2, 16)(m); region(0, 0, 4, 3, 1)(m) }), ""},
		{"a region to the right of the picture", frame(region(1, 0, 4, 3, 1)), "regions_of_interest[0].box: 4×3 at 1,0, want a part of the picture's 4×3"},
		{"a region above it", frame(region(0, -1, 4, 3, 1)), "regions_of_interest[0].box: 4×3 at 0,-1"},
		{"an empty region", frame(region(0, 0, 4, 0, 1)), "regions_of_interest[0].box: 4×0 at 0,0"},
		{"a region that goes round", frame(region(1, 0, math.MaxInt32, 3, 1)), "regions_of_interest[0].box: 2147483647×3 at 1,0"},
		{"a region without a box", frame(func(m *segdv1.MaskFrame) { m.RegionsOfInterest = []*segdv1.Region{{Zoom: 1}} }), "regions_of_interest[0].box: 0×0 at 0,0"},
		{"a region without a zoom", frame(func(m *segdv1.MaskFrame) { region(0, 0, 4, 3, 1)(m); region(0, 0, 4, 3, 0)(m) }), "regions_of_interest[1].zoom: 0, want 1 or more"},
		{"a list of what has left the picture", list(-8192, -8192, 24576, 24576), ""},
		{"a list of what is far outside", list(16384, 0, 1, 1), "objects[0].extent: 1×1 at 16384,0, want a part of what is from -8192,-8192 to 16384,16384"},
		{"a reply with an empty extent", &segdv1.Annotated{Site: "home", Camera: "gate", Objects: []*segdv1.Object{{Id: 1, Extent: &segdv1.Box{}}}}, "objects[0].extent: 0×0"},
		{"an event with an extent", &segdv1.Event{Site: "home", Camera: "gate", Extent: &segdv1.Box{X: -3, Width: 5, Height: 9}}, ""},
		{"an event with one that goes round", &segdv1.Event{Site: "home", Camera: "gate", Extent: &segdv1.Box{X: 1, Width: math.MaxInt32, Height: 9}}, "extent: 2147483647×9 at 1,0"},
		{"an event with a box", &segdv1.Event{Site: "home", Camera: "gate", Box: &segdv1.Box{X: 1, Y: 1, Width: 3, Height: 2}, Width: 4, Height: 3}, ""},
		{"an event with one outside of its picture", &segdv1.Event{Site: "home", Camera: "gate", Box: &segdv1.Box{X: 2, Y: 1, Width: 3, Height: 2}, Width: 4, Height: 3}, "box: 3×2 at 2,1, want a part of the picture's 4×3"},
		{"an event with one of no picture", &segdv1.Event{Site: "home", Camera: "gate", Box: &segdv1.Box{X: -1, Width: 3, Height: 2}}, "box: 3×2 at -1,0"},
		{"an event of too large a picture", &segdv1.Event{Site: "home", Camera: "gate", Width: 8192, Height: 8192}, "width and height: 8192×8192"},
		{"an event", &segdv1.Event{Site: "home", Camera: "a/b"}, `camera: bus: bad name "a/b"`},
		{"a status", &segdv1.Status{Site: "home", Camera: "a b"}, `camera: bus: bad name "a b"`},
		{"a status of as many objects as there may be", &segdv1.Status{Site: "home", Camera: "gate", Objects: many(255)}, ""},
		{"a status of more", &segdv1.Status{Site: "home", Camera: "gate", Objects: many(256)}, "segd.v1.Status.objects: too many values; want at most 255"},
		{"an event in a zone", &segdv1.Event{Site: "home", Camera: "gate", Zone: "yard", Line: "street"}, ""},
		{"a zone with an escape", &segdv1.Event{Site: "home", Camera: "gate", Zone: "\x1b[2J"}, `zone: bus: bad name "\x1b[2J"`},
		{"a line that climbs", &segdv1.Event{Site: "home", Camera: "gate", Line: "../x"}, `line: bus: bad name "../x"`},
		{"a status of as many zones as there may be", &segdv1.Status{Site: "home", Camera: "gate", Zones: zones(32)}, ""},
		{"a status of more zones", &segdv1.Status{Site: "home", Camera: "gate", Zones: zones(33)}, "segd.v1.Status.zones: too many values; want at most 32"},
		{"a status of a line without name", &segdv1.Status{Site: "home", Camera: "gate", Lines: []*segdv1.LineStatus{{}}}, "lines[0].name: bus: bad name"},
		{"a list", &segdv1.ObjectList{Site: "home", Camera: "gate", Objects: []*segdv1.Object{{Id: 2}, {Id: 1}}}, "objects[1].id: 1 after 2"},
		{"a reply", &segdv1.Annotated{Site: "home", Camera: "gate", Objects: []*segdv1.Object{{}}}, "objects[0].id: 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := proto.Marshal(tt.m)
			require.NoError(t, err)
			err = Unmarshal("", data, tt.m.ProtoReflect().New().Interface())
			if tt.err == "" && err != nil || tt.err != "" && (!errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("Unmarshal = %v, want %q", err, tt.err)
			}
		})
	}
}

// A faulty object costs the frame's others nothing: they are there, and the error tells of it. A frame that is
// faulty itself is refused whole.
func TestUnmarshalLeavesObjectsOut(t *testing.T) {
	frame := func(change func(*segdv1.MaskFrame)) *segdv1.MaskFrame {
		m := maskFrame("gate", 7)
		m.Site = "home"
		for id := uint32(2); id <= 4; id++ {
			o := proto.Clone(m.Objects[0]).(*segdv1.Object)
			o.Id = id
			m.Objects = append(m.Objects, o)
		}
		change(m)
		return m
	}
	for _, tt := range []struct {
		name string
		m    *segdv1.MaskFrame
		left []uint32
		err  string
	}{
		{"no mask, as of what rested in earlier versions", frame(func(m *segdv1.MaskFrame) { m.Objects[3].Counts = "" }), []uint32{1, 2, 3}, "frame 7 of gate: objects are left out, 1 that segd would not send: objects[3].counts"},
		{"two of them", frame(func(m *segdv1.MaskFrame) { m.Objects[1].Counts, m.Objects[3].Counts = "", "" }), []uint32{1, 3}, "2 that segd would not send: objects[1].counts"},
		{"a mask of another size", frame(func(m *segdv1.MaskFrame) { m.Objects[0].Counts = "=" }), []uint32{2, 3, 4}, "objects[0].counts"},
		{"no number", frame(func(m *segdv1.MaskFrame) { m.Objects[0].Id = 0 }), []uint32{2, 3, 4}, "objects[0].id: 0 after 0"},
		{"a number twice", frame(func(m *segdv1.MaskFrame) { m.Objects[2].Id = 2 }), []uint32{1, 2, 4}, "objects[2].id: 2 after 2"},
		{"all", frame(func(m *segdv1.MaskFrame) { m.Width, m.Height = 5, 5 }), nil, "4 that segd would not send"},
		{"extents outside of 4×3", frame(func(m *segdv1.MaskFrame) {
			for i, e := range []*segdv1.Box{{X: -5, Width: 9, Height: 1}, {X: -4, Y: -3, Width: 12, Height: 9}, {Y: 6, Width: 1, Height: 1}, {X: 7, Y: -3, Width: 1, Height: 1}} {
				m.Objects[i].Extent = e
			}
		}), []uint32{2, 4}, "2 that segd would not send: objects[0].extent: 9×1 at -5,0, want a part of what is from -4,-3 to 8,6"},
		{"empty extents", frame(func(m *segdv1.MaskFrame) {
			for i, e := range []*segdv1.Box{nil, {}, {Width: 1}, {Width: 1, Height: -1}} {
				m.Objects[i].Extent = e
			}
		}), []uint32{1}, "3 that segd would not send: objects[1].extent: 0×0 at 0,0"},
	} {
		for _, json := range []bool{false, true} {
			data, err := marshal(nil, tt.m, json)
			require.NoError(t, err)
			var got segdv1.MaskFrame
			err = Unmarshal(contentType(tt.m, json), data, &got)
			if !errors.Is(err, ErrObjects) || !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v; want an ErrObjects with %q", tt.name, err, tt.err)
			}
			var left []uint32
			for _, o := range got.Objects {
				left = append(left, o.Id)
			}
			if !slices.Equal(left, tt.left) {
				t.Errorf("%s: objects %v are left; want %v", tt.name, left, tt.left)
			}
			usable(t, &got)
		}
	}
	m := frame(func(m *segdv1.MaskFrame) { m.Camera, m.Objects[0].Counts = "../x", "" })
	data, err := marshal(nil, m, false)
	require.NoError(t, err)
	if err := Unmarshal("", data, new(segdv1.MaskFrame)); errors.Is(err, ErrObjects) || !errors.Is(err, ErrMessage) {
		t.Errorf("a frame of no camera: %v; want an ErrMessage that is no ErrObjects", err)
	}
}

// What is small on the wire and large in memory is refused before it is large.
func TestUnmarshalBombs(t *testing.T) {
	const many = 3_000_000
	for name, tt := range map[string]struct {
		contentType string
		data        string
		m           proto.Message
		field       string
	}{
		"objects":          {TypeProtobuf, strings.Repeat("\x52\x00", many), new(segdv1.MaskFrame), "segd.v1.MaskFrame.objects"},
		"regions":          {TypeProtobuf, strings.Repeat("\x5a\x00", many), new(segdv1.MaskFrame), "segd.v1.MaskFrame.regions_of_interest"},
		"warnings":         {TypeProtobuf, strings.Repeat("\x32\x00", many), new(segdv1.Annotated), "segd.v1.Annotated.warnings"},
		"zones":            {TypeProtobuf, strings.Repeat("\xba\x01\x00", many), new(segdv1.Status), "segd.v1.Status.zones"},
		"what was missed":  {TypeProtobuf, strings.Repeat("\x92\x01\x00", many), new(segdv1.Status), "segd.v1.Status.missed"},
		"objects, as JSON": {TypeJSON, `{"objects": [` + strings.Repeat("{},", many) + `{}]}`, new(segdv1.MaskFrame), "segd.v1.MaskFrame.objects"},
		"regions by their other name, as JSON": {
			TypeJSON, `{"regions_of_interest": [` + strings.Repeat("{},", many) + `{}]}`, new(segdv1.MaskFrame), "segd.v1.MaskFrame.regions_of_interest",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(tt.data)
			var err error
			n := memtest.Allocated(func() { err = Unmarshal(tt.contentType, data, tt.m) })
			if !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), tt.field+": too many values; want at most ") {
				t.Errorf("Unmarshal = %.200v, want too many of %s", err, tt.field)
			}
			if n > 1<<20 {
				t.Errorf("%d MiB took %d MiB of memory; want less than one", len(data)>>20, n>>20)
			}
		})
	}
}

// Every field that can have many values has a limit.
func TestLimitsAreWhole(t *testing.T) {
	var messages []protoreflect.MessageDescriptor
	for i := range segdv1.File_bus_segdv1_segd_proto.Messages().Len() {
		messages = append(messages, segdv1.File_bus_segdv1_segd_proto.Messages().Get(i))
	}
	assert.NoError(t, limits.Check(messages...))
}

// The header is what package mime makes of the name, and does not take its allocations for every
// frame.
func TestContentType(t *testing.T) {
	for _, m := range []proto.Message{&segdv1.MaskFrame{}, &segdv1.Status{}, &segdv1.Event{}} {
		want := mime.FormatMediaType(TypeProtobuf, map[string]string{"message": messageName(m)})
		assert.Equal(t, want, contentType(m, false), "%T", m)
		if n := testing.AllocsPerRun(100, func() { contentType(m, false) }); n > 0 {
			t.Errorf("%T: %v allocations", m, n)
		}
	}
}

// A draft is addressed in its own memory, and has an id only if it is given one.
func TestDraft(t *testing.T) {
	d := drafts.Get().(*draft)
	d.address("a", TypeJSON, "1")
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { d.address("a", TypeJSON, "1") }), "allocations")
	if got := d.Header; got.Get(headerContentType) != TypeJSON || got.Get(nats.MsgIdHdr) != "1" || len(got) != 2 {
		t.Errorf("%v", got)
	}
	d.Reply = "c"
	if d.address("b", TypeProtobuf, ""); d.Subject != "b" || d.Reply != "" || d.Header.Get(headerContentType) != TypeProtobuf || len(d.Header) != 1 {
		t.Errorf("%+v", d.Msg)
	}
}
