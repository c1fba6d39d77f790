package tracker

import (
	"image"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// bands is a scene of grey bricks and somebody in a box, who is red, green and blue from top to
// bottom; nobody if the box is empty.
func bands(seq uint64, box image.Rectangle) *features.Scene {
	s := scenetest.Squares(seq, 40, 30, func(x, y int) [3]float64 {
		if image.Pt(x, y).In(box) {
			k := (y - box.Min.Y) * 3 / box.Dy()
			return [3][3]float64{{50, 60, 40}, {60, -50, 40}, {40, 10, -60}}[k]
		}
		brick := uint32(x/7)*2654435761 ^ uint32(y/7)*40503*97
		return [3]float64{50 + 40*float64(brick>>7%64)/64, 0, 0}
	})
	return s
}

// guard is where somebody stands, and marked says so.
var guard = image.Rect(102, 60, 138, 120)

func marked(box image.Rectangle) *annotation.Annotation {
	return &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{{
		ID: 1, Label: "guard", Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)},
	}}}
}

// watched is what a tracker knows that has followed somebody who moves by way a frame, from the frame on in which
// they were marked to frame seq, when they are at box; and that tracker.
func watched(t testing.TB, way image.Point) (tr *Tracker, box image.Rectangle, seq uint64) {
	t.Helper()
	tr, box = newTracker(t, Config{}), guard
	for ; seq < 10; seq++ {
		step(t, tr, bands(seq, image.Rectangle{}), nil)
	}
	step(t, tr, bands(seq, box), marked(box))
	for range 12 {
		seq++
		box = box.Add(way)
		if o := step(t, tr, bands(seq, box), nil).Objects[0]; o.State != Visible {
			t.Fatalf("frame %d: %v", seq, o.State)
		}
	}
	return tr, box, seq
}

// recalled is another tracker, which was shown what was seen of them first and last.
func recalled(t testing.TB, last image.Rectangle, seq uint64) *Tracker {
	t.Helper()
	tr := newTracker(t, Config{})
	for _, box := range []image.Rectangle{guard, last} {
		if err := tr.Recall(t.Context(), bands(seq+1, box), marked(box)); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// overlap is how much of both boxes is in both.
func overlap(a, b image.Rectangle) float64 {
	return features.IoU(a, b)
}

// An object that was in sight is so again in the first frame, where it is by then; also where frames were missed.
func TestResume(t *testing.T) {
	for _, tt := range []struct {
		name   string
		way    image.Point
		missed uint64
	}{
		{"at once", image.Point{}, 0},
		{"it moves", image.Pt(-2, 0), 0},
		{"frames later", image.Pt(-2, 0), 8},
		{"many frames later, it stands", image.Point{}, 31},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, last, seq := watched(t, tt.way)
			state := before.State()
			tr := recalled(t, last, seq)
			if err := tr.Resume(state); err != nil {
				t.Fatal(err)
			}
			if again := tr.State(); !proto.Equal(again.Objects[0], state.Objects[0]) {
				t.Errorf("kept again it is another state")
			}
			for n := range uint64(5) {
				at := seq + 1 + tt.missed + n
				box := guard.Add(tt.way.Mul(int(at - 10)))
				o := step(t, tr, bands(at, box), nil).Objects[0]
				if o.State != Visible || overlap(o.Box, box) < 0.8 {
					t.Fatalf("frame %d: %v in %v; want it in sight in %v", at, o.State, o.Box, box)
				}
			}
		})
	}
}

// An object with a track is in sight in the first frame where that has it by then, however far it went.
func TestResumeTracked(t *testing.T) {
	before, last, seq := watched(t, image.Point{})
	tr := recalled(t, last, seq)
	if err := tr.Resume(before.State()); err != nil {
		t.Fatal(err)
	}
	box := guard.Add(image.Pt(-84, 30))
	res, err := tr.Step(t.Context(), bands(seq+30, box), nil, nil, []Extent{{ID: 1, Box: box, Detected: box}})
	if err != nil {
		t.Fatal(err)
	}
	if o := res.Objects[0]; o.State != Visible || overlap(o.Box, box) < 0.8 {
		t.Errorf("%v in %v; want it in sight in %v", o.State, o.Box, box)
	}
}

// A faulty state is refused, and nothing of it taken.
func TestResumeFaults(t *testing.T) {
	before, last, seq := watched(t, image.Point{})
	good := before.State()
	tr := recalled(t, last, seq)
	was := tr.State()
	of := func(change func(*checkpointv1.TrackedObject)) func(*checkpointv1.Tracker) {
		return func(s *checkpointv1.Tracker) { change(s.Objects[0]) }
	}
	for name, spoil := range map[string]func(*checkpointv1.Tracker){
		"another size":         func(s *checkpointv1.Tracker) { s.Width++ },
		"no life":              of(func(o *checkpointv1.TrackedObject) { o.Life = nil }),
		"no box":               of(func(o *checkpointv1.TrackedObject) { o.Box = nil }),
		"zoom 3":               of(func(o *checkpointv1.TrackedObject) { o.Life.Zoom = 3 }),
		"zoom 64":              of(func(o *checkpointv1.TrackedObject) { o.Life.Zoom = 64 }),
		"no such state":        of(func(o *checkpointv1.TrackedObject) { o.Life.State = 3 }),
		"an area of no number": of(func(o *checkpointv1.TrackedObject) { o.Life.Area = math.NaN() }),
		"a negative area":      of(func(o *checkpointv1.TrackedObject) { o.Life.Area = -1 }),
		"detected for ever":    of(func(o *checkpointv1.TrackedObject) { o.Life.Required = 1 << 20 }),
		"too many": func(s *checkpointv1.Tracker) {
			for range annotation.MaxFollowed {
				s.Objects = append(s.Objects, s.Objects[0])
			}
		},
	} {
		s := proto.CloneOf(good)
		spoil(s)
		if err := tr.Resume(s); err == nil {
			t.Errorf("%s: no error", name)
		}
		if !proto.Equal(tr.State(), was) {
			t.Fatalf("%s: something of it was taken", name)
		}
	}
	if err := newTracker(t, Config{}).Resume(good); err == nil {
		t.Error("a tracker that recalls nothing takes it")
	}
	if err := tr.Resume(good); err != nil {
		t.Error(err)
	}
}

// numbers calls visit for every number in m, a list's first, with what sets it.
func numbers(m protoreflect.Message, at string, visit func(at string, kind protoreflect.Kind, set func(protoreflect.Value))) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := at + "." + string(f.Name())
		switch {
		case f.IsList() && m.Get(f).List().Len() == 0:
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			numbers(m.Mutable(f).List().Get(0).Message(), name, visit)
		case f.IsList():
			visit(name, f.Kind(), func(v protoreflect.Value) { m.Mutable(f).List().Set(0, v) })
		case f.Kind() == protoreflect.MessageKind && m.Has(f):
			numbers(m.Mutable(f).Message(), name, visit)
		case f.Kind() != protoreflect.MessageKind:
			visit(name, f.Kind(), func(v protoreflect.Value) { m.Set(f, v) })
		}
	}
}

// Whatever number stands in a state, what follows does not panic.
func TestResumeAnyNumber(t *testing.T) {
	values := map[protoreflect.Kind][]protoreflect.Value{
		protoreflect.Int32Kind:  {protoreflect.ValueOfInt32(-1), protoreflect.ValueOfInt32(math.MaxInt32), protoreflect.ValueOfInt32(1 << 30)},
		protoreflect.Uint32Kind: {protoreflect.ValueOfUint32(math.MaxUint32)},
		protoreflect.Uint64Kind: {protoreflect.ValueOfUint64(math.MaxUint64)},
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 0.5, 4096, 1e9} {
		values[protoreflect.DoubleKind] = append(values[protoreflect.DoubleKind], protoreflect.ValueOfFloat64(v))
		values[protoreflect.FloatKind] = append(values[protoreflect.FloatKind], protoreflect.ValueOfFloat32(float32(v)))
	}
	before, last, seq := watched(t, image.Pt(-2, 0))
	good := before.State()
	tried, taken := 0, 0
	tr := recalled(t, last, seq)
	var names []string
	numbers(proto.CloneOf(good).ProtoReflect(), "tracker", func(at string, kind protoreflect.Kind, _ func(protoreflect.Value)) {
		if kind != protoreflect.BytesKind {
			names = append(names, at)
		}
	})
	if len(names) < 10 {
		t.Fatalf("%d numbers: %v", len(names), names)
	}
	for _, name := range names {
		for k := 0; ; k++ {
			s := proto.CloneOf(good)
			more := false
			numbers(s.ProtoReflect(), "tracker", func(at string, kind protoreflect.Kind, set func(protoreflect.Value)) {
				if at == name && k < len(values[kind]) {
					set(values[kind][k])
					more = true
				}
			})
			if !more {
				break
			}
			tried++
			if tr.Resume(s) != nil {
				continue
			}
			taken++
			step(t, tr, bands(seq+1, last), nil)
			_ = tr.State()
			tr = recalled(t, last, seq)
		}
	}
	if taken == 0 || taken == tried {
		t.Errorf("%d of %d were taken", taken, tried)
	}
}

// A zoom is one that pictures of that size are looked at with.
func TestResumeZoom(t *testing.T) {
	for zoom, sound := range map[int32]bool{-1: false, 0: true, 1: true, 2: true, 3: false, 4: true, 64: false} {
		tr := newTracker(t, Config{})
		tr.size = image.Pt(7680, 4320)
		err := tr.Resume(&checkpointv1.Tracker{Width: 7680, Height: 4320, Objects: []*checkpointv1.TrackedObject{
			{Id: 1, Life: &checkpointv1.Life{Zoom: zoom}, Box: []int32{0, 0, 10, 10}},
		}})
		if (err == nil) != sound {
			t.Errorf("zoom %d: %v", zoom, err)
		}
	}
}

// Where what a detector marked is all that is known, it is looked up until there are frames that say more: also who
// was hidden is found where he is.
func TestResumeAutomatic(t *testing.T) {
	before, last, seq := watched(t, image.Point{})
	for range 3 {
		seq++
		if o := step(t, before, bands(seq, image.Rectangle{}), nil).Objects[0]; o.State == Visible {
			t.Fatalf("frame %d: he is in sight; want him hidden", seq)
		}
	}
	tr, ann := newTracker(t, Config{}), marked(last)
	ann.Automatic = true
	if err := tr.Recall(t.Context(), bands(seq+1, last), ann); err != nil {
		t.Fatal(err)
	}
	if err := tr.Resume(before.State()); err != nil {
		t.Fatal(err)
	}
	var o Object
	for range 10 {
		seq++
		o = step(t, tr, bands(seq, last), nil).Objects[0]
	}
	if o.State != Visible || overlap(o.Box, last) < 0.8 {
		t.Errorf("%v in %v; want him in sight in %v", o.State, o.Box, last)
	}
}
