package checkpoint

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/internal/memtest"
	"github.com/segd/segd/internal/wirelimit"
	"github.com/segd/segd/pipeline/checkpoint/checkpointv1"
)

// picture is an annotation with its picture.
func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 16, 8)), nil))
	a := &annotation.Annotation{Width: 16, Height: 8, Picture: b.Bytes(), Objects: []annotation.Object{{ID: 1, Box: []float64{1, 1, 9, 7}}}}
	data, err := annotation.Marshal(a)
	require.NoError(t, err)
	return data
}

// small is a checkpoint with a little of everything.
func small(t testing.TB) *checkpointv1.Checkpoint {
	return &checkpointv1.Checkpoint{
		Camera: "gate", Time: &timestamppb.Timestamp{Seconds: 1_700_000_000}, Epoch: 7, Sequence: 90, PtsNs: 9e9, Fps: 9.5,
		Marked: [][]byte{picture(t)}, Last: picture(t), Objects: []*checkpointv1.Object{{Id: 1, Label: "guard", State: 1}},
		Tracker: &checkpointv1.Tracker{Width: 16, Height: 8, Objects: []*checkpointv1.TrackedObject{{Id: 1, Life: &checkpointv1.Life{Area: 48}, Box: []int32{1, 1, 9, 7}}}},
		Marker:  &checkpointv1.Marker{NextId: 256}, Zones: &checkpointv1.Zones{Layout: []byte("{}")}, Configured: []byte{1, 2, 3},
	}
}

func TestRoundTrip(t *testing.T) {
	c := small(t)
	data, err := pack(c)
	require.NoError(t, err)
	got, err := unpack(data)
	require.NoError(t, err)
	if got.Version != Version || !proto.Equal(got, c) {
		t.Errorf("read back as %v; want %v", got, c)
	}
	scenes, err := Scenes([][]byte{got.Marked[0], got.Last})
	if err != nil || len(scenes) != 2 {
		t.Fatalf("%d pictures, %v", len(scenes), err)
	}
	if a := scenes[1]; len(a.Picture) == 0 || len(a.Objects) != 1 || a.Objects[0].ID != 1 {
		t.Errorf("a picture of %d bytes, marked %+v", len(a.Picture), a.Objects)
	}
}

// What a checkpoint of before knows of templates and of the background is left alone.
func TestTemplatesAreIgnored(t *testing.T) {
	c := small(t)
	field := func(n protowire.Number) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), []byte{8, 1, 42, 4, 0, 0, 0, 0})
	}
	c.Tracker.ProtoReflect().SetUnknown(field(4))
	c.Tracker.Objects[0].ProtoReflect().SetUnknown(field(3))
	data, err := pack(c)
	require.NoError(t, err)
	got, err := unpack(data)
	if err != nil || len(got.Tracker.Objects) != 1 || got.Tracker.Objects[0].Life.GetArea() != 48 {
		t.Errorf("%v, %v", got, err)
	}
}

// Wherever a byte is another, or the end is missing, that is found out, or nothing has changed.
func TestDamage(t *testing.T) {
	c := small(t)
	data, err := pack(c)
	require.NoError(t, err)
	try := func(what string, at int, data []byte) {
		switch got, err := unpack(data); {
		case err == nil && !proto.Equal(got, c):
			t.Errorf("%s at %d: read as %v", what, at, got)
		case err != nil && !errors.Is(err, ErrDamaged):
			t.Errorf("%s at %d: %v; want it to wrap ErrDamaged", what, at, err)
		}
	}
	for i := range data {
		for _, flip := range []byte{1, 0x80, 0xff} {
			other := bytes.Clone(data)
			other[i] ^= flip
			try("a flipped byte", i, other)
		}
		if _, err := unpack(data[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d of %d bytes: %v; want it damaged", i, len(data), err)
		}
	}
}

// packed is c compressed without a look at it.
func packed(t testing.TB, plain []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(plain, nil)
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		field  string
		change func(*checkpointv1.Checkpoint)
	}{
		{"version", func(c *checkpointv1.Checkpoint) { c.Version = 0 }},
		{"camera", func(c *checkpointv1.Checkpoint) { c.Camera = "" }},
		{"time", func(c *checkpointv1.Checkpoint) { c.Time = nil }},
		{"time", func(c *checkpointv1.Checkpoint) { c.Time.Nanos = -1 }},
		{"fps", func(c *checkpointv1.Checkpoint) { c.Fps = math.NaN() }},
		{"fps", func(c *checkpointv1.Checkpoint) { c.Fps = -1 }},
		{"fps", func(c *checkpointv1.Checkpoint) { c.Fps = math.Inf(1) }},
		{"sequence", func(c *checkpointv1.Checkpoint) { c.Sequence = math.MaxUint64 }},
		{"sequence", func(c *checkpointv1.Checkpoint) { c.Epoch = math.MaxUint64 }},
		{"pts_ns", func(c *checkpointv1.Checkpoint) { c.PtsNs = -1 }},
		{"pts_ns", func(c *checkpointv1.Checkpoint) { c.PtsNs = math.MaxInt64 }},
	} {
		c := small(t)
		c.Version = Version
		tt.change(c)
		plain, err := proto.Marshal(c)
		require.NoError(t, err)
		if _, err := unpack(packed(t, plain)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), ": "+tt.field+": ") {
			t.Errorf("a faulty %s: %v", tt.field, err)
		}
	}
}

// Of a version to come the pictures and the objects are taken, which mean the same in all.
func TestAnotherVersion(t *testing.T) {
	c := small(t)
	c.Version = Version + 1
	plain, err := proto.Marshal(c)
	require.NoError(t, err)
	got, err := unpack(packed(t, plain))
	require.NoError(t, err)
	c.Tracker, c.Marker, c.Zones = nil, nil, nil
	if !proto.Equal(got, c) {
		t.Errorf("read as %v; want %v", got, c)
	}
}

func TestLimits(t *testing.T) {
	bomb := packed(t, make([]byte, maxUnpacked+1))
	if len(bomb) > 1<<16 {
		t.Fatalf("%d bytes; want a small one that holds much", len(bomb))
	}
	if _, err := unpack(bomb); !errors.Is(err, ErrDamaged) || !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		t.Errorf("%d bytes of %d: %v", len(bomb), maxUnpacked+1, err)
	}
	_, err := unpack(make([]byte, MaxBytes+1))
	assert.ErrorIs(t, err, ErrDamaged, "%d bytes", MaxBytes+1)
	for name, change := range map[string]func(*checkpointv1.Checkpoint){
		"bytes":    func(c *checkpointv1.Checkpoint) { c.Last = make([]byte, maxUnpacked) },
		"pictures": func(c *checkpointv1.Checkpoint) { c.Marked = make([][]byte, maxScenes+1) },
	} {
		c := small(t)
		change(c)
		_, err := pack(c)
		assert.Error(t, err, "more %s were written than are read", name)
	}
}

// mostTaken is what it may take to decode a checkpoint that has so many bytes unpacked, in bytes of memory: these,
// once more as what they mean, and the values that limits accept.
func mostTaken(unpacked int) uint64 { return uint64(16<<20 + 2*unpacked) }

// What is small in the store and large in memory is refused before it is large, in whichever field it is, at once and
// in parts that are merged.
func TestBombs(t *testing.T) {
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	fill := func(part []byte) []byte { return bytes.Repeat(part, 20_000_000/len(part)) }
	if _, err := pack(small(t)); err != nil { // what is made once
		t.Fatal(err)
	}
	for name, plain := range map[string][]byte{
		"objects":                     fill(field(10, nil)), // 52 00
		"marked pictures":             fill(field(8, nil)),
		"tracked objects":             field(11, fill(field(3, nil))),
		"tracked objects that merge":  fill(field(11, field(3, nil))),
		"tracked objects with a life": field(11, fill(field(3, append(field(2, nil), field(3, nil)...)))),
		"a box":                       field(11, field(3, field(4, fill([]byte{1})))),
		"a box number by number":      field(11, field(3, fill([]byte{0x20, 1}))),
		"marked objects":              field(12, fill(field(2, nil))),
		"zones":                       field(13, fill(field(3, nil))),
		"zones of a track":            field(13, field(5, fill(field(6, nil)))),
	} {
		t.Run(name, func(t *testing.T) {
			plain = append([]byte{0x08, Version}, plain...)
			data := packed(t, plain)
			var err error
			n := memtest.Allocated(func() { _, err = unpack(data) })
			if !errors.Is(err, ErrDamaged) || !errors.Is(err, wirelimit.ErrMany) {
				t.Errorf("error is %v; want too many values", err)
			}
			if most := mostTaken(len(plain)); n > most {
				t.Errorf("%d kB took %d MiB of memory; want at most %d", len(data)>>10, n>>20, most>>20)
			}
		})
	}
}

// Every field that can have many values has a limit.
func TestLimitsAreWhole(t *testing.T) {
	assert.NoError(t, limits.Check((&checkpointv1.Checkpoint{}).ProtoReflect().Descriptor()))
}

func TestSceneFaults(t *testing.T) {
	whole := picture(t)
	for name, data := range map[string][]byte{
		"nothing":          nil,
		"no annotation":    []byte("{}"),
		"no picture":       []byte(`{"width": 16, "height": 8, "objects": [{"id": 1, "label": "", "box": [1, 1, 9, 7]}]}`),
		"another size":     bytes.Replace(whole, []byte(`"width":16`), []byte(`"width":15`), 1),
		"half of it":       whole[:len(whole)/2],
		"a broken picture": bytes.Replace(whole, []byte(`"picture":"`), []byte(`"picture":"AAAA`), 1),
	} {
		_, err := Scenes([][]byte{whole, data})
		assert.ErrorIs(t, err, ErrDamaged, "%s", name)
	}
}

// Pictures that are small as JPEG and large as pixels are refused before one of them is decoded.
func TestManyPixels(t *testing.T) {
	large := image.NewGray(image.Rect(0, 0, 16, 8))
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, large, nil))
	// Its size in the head alone: 8192×8192.
	head := b.Bytes()
	at := bytes.Index(head, []byte{0xff, 0xc0}) + 5
	copy(head[at:], []byte{0x20, 0, 0x20, 0})
	data, err := annotation.Marshal(&annotation.Annotation{Width: 8192, Height: 8192, Picture: head, Objects: []annotation.Object{{ID: 1, Box: []float64{1, 1, 9, 7}}}})
	require.NoError(t, err)
	n := memtest.Allocated(func() { _, err = Scenes(slices.Repeat([][]byte{data}, maxScenes)) })
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the first 9 of 300 pictures have more pixels") {
		t.Errorf("error is %v", err)
	}
	if n > 1<<20 {
		t.Errorf("it took %d kB of memory", n>>10)
	}
}

// FuzzDecode reads whatever it is given, packed or not, without a panic and without much memory.
func FuzzDecode(f *testing.F) {
	data, err := pack(small(f))
	require.NoError(f, err)
	f.Add(data)
	plain, err := proto.Marshal(small(f))
	require.NoError(f, err)
	f.Add(plain)
	f.Fuzz(func(t *testing.T, data []byte) {
		for unpacked, data := range map[int][]byte{maxUnpacked: data, len(data): packed(t, data)} {
			var c *checkpointv1.Checkpoint
			var err error
			if n := memtest.Allocated(func() { c, err = unpack(data) }); n > mostTaken(unpacked) {
				t.Fatalf("%d bytes took %d MiB of memory; want at most %d", len(data), n>>20, mostTaken(unpacked)>>20)
			}
			if err != nil {
				require.ErrorIs(t, err, ErrDamaged)
				continue
			}
			for _, data := range append(c.Marked, c.Last) {
				scenes, _ := Scenes([][]byte{data})
				for _, a := range scenes {
					if bgr, err := a.BGR(); err != nil || len(bgr) != 3*a.Width*a.Height {
						t.Fatalf("a picture of %d bytes, %d×%d, %v", len(bgr), a.Width, a.Height, err)
					}
				}
			}
			again, err := pack(c)
			require.NoError(t, err)
			if _, err := unpack(again); err != nil {
				t.Fatalf("written again: %v", err)
			}
			whole, err := Decode(data)
			require.NoError(t, err)
			if _, err := Encode(whole); err != nil {
				t.Fatal(err)
			}
		}
	})
}
