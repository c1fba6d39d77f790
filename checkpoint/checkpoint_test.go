package checkpoint

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/checkpoint/checkpointv1"
)

// picture is an annotation with its picture.
func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 16, 8)), nil); err != nil {
		t.Fatal(err)
	}
	a := &annotation.Annotation{Width: 16, Height: 8, Picture: b.Bytes(), Objects: []annotation.Object{{ID: 1, Box: []float64{1, 1, 9, 7}}}}
	data, err := annotation.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
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
	data, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Version != Version || !proto.Equal(got, c) {
		t.Errorf("read back as %v; want %v", got, c)
	}
	a, bgr, err := Scene(got.Last)
	if err != nil {
		t.Fatal(err)
	}
	if len(bgr) != 3*16*8 || a.Picture != nil || len(a.Objects) != 1 || a.Objects[0].ID != 1 {
		t.Errorf("a picture of %d bytes, marked %+v", len(bgr), a)
	}
}

// Wherever a byte is another, or the end is missing, that is found out, or nothing has changed.
func TestDamage(t *testing.T) {
	c := small(t)
	data, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, at int, data []byte) {
		switch got, err := Decode(data); {
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
		if _, err := Decode(data[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("the first %d of %d bytes: %v; want it damaged", i, len(data), err)
		}
	}
}

// packed is c compressed without a look at it.
func packed(t testing.TB, plain []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
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
		{"marked", func(c *checkpointv1.Checkpoint) { c.Marked = make([][]byte, maxScenes+1) }},
	} {
		c := small(t)
		c.Version = Version
		tt.change(c)
		plain, err := proto.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(packed(t, plain)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), ": "+tt.field+": ") {
			t.Errorf("a faulty %s: %v", tt.field, err)
		}
	}
}

// Of a version to come the pictures and the objects are taken, which mean the same in all.
func TestAnotherVersion(t *testing.T) {
	c := small(t)
	c.Version = Version + 1
	plain, err := proto.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(packed(t, plain))
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := Decode(bomb); !errors.Is(err, ErrDamaged) || !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		t.Errorf("%d bytes of %d: %v", len(bomb), maxUnpacked+1, err)
	}
	if _, err := Decode(make([]byte, MaxBytes+1)); !errors.Is(err, ErrDamaged) {
		t.Errorf("%d bytes: %v", MaxBytes+1, err)
	}
	c := small(t)
	c.Last = make([]byte, maxUnpacked)
	if _, err := Encode(c); err == nil {
		t.Error("more was written than is read")
	}
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
		if _, _, err := Scene(data); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v; want it damaged", name, err)
		}
	}
}

// FuzzDecode reads whatever it is given without a panic, packed or not.
func FuzzDecode(f *testing.F) {
	data, err := Encode(small(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	plain, err := proto.Marshal(small(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, packed(t, data)} {
			c, err := Decode(data)
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("%v; want it damaged", err)
				}
				continue
			}
			for _, scene := range append(c.Marked, c.Last) {
				if a, bgr, err := Scene(scene); err == nil && len(bgr) != 3*a.Width*a.Height {
					t.Fatalf("a picture of %d bytes, %d×%d", len(bgr), a.Width, a.Height)
				}
			}
			again, err := Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(again); err != nil {
				t.Fatalf("written again: %v", err)
			}
		}
	})
}
