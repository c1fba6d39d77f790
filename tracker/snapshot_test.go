package tracker

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// bands is a scene of grey bricks and a person in a box, who is red, green and blue from top to
// bottom; no one if the box is empty.
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

// guard is where a person stands, and marked says so.
var guard = image.Rect(102, 60, 138, 120)

func marked(box image.Rectangle) *annotation.Annotation {
	return &annotation.Annotation{Width: 240, Height: 180, Objects: []annotation.Object{{
		ID: 1, Label: "guard", Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)},
	}}}
}

// watched is what a tracker knows that has followed a person who moves by way a frame, from the frame on in which
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
func TestRestore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: objects followed before and after")
	}
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
			state := before.Snapshot()
			tr := recalled(t, last, seq)
			if err := tr.Restore(state); err != nil {
				t.Fatal(err)
			}
			if again := tr.Snapshot(); again.Objects[0] != state.Objects[0] {
				t.Errorf("kept again it is another")
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
func TestRestoreTracked(t *testing.T) {
	before, last, seq := watched(t, image.Point{})
	tr := recalled(t, last, seq)
	if err := tr.Restore(before.Snapshot()); err != nil {
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
func TestRestoreFaults(t *testing.T) {
	before, last, seq := watched(t, image.Point{})
	good := before.Snapshot()
	tr := recalled(t, last, seq)
	was := tr.Snapshot()
	for name, spoil := range map[string]func(s *Snapshot, l *LifeSnapshot){
		"another size":         func(s *Snapshot, _ *LifeSnapshot) { s.Size.X++ },
		"zoom 3":               func(_ *Snapshot, l *LifeSnapshot) { l.Zoom = 3 },
		"zoom 64":              func(_ *Snapshot, l *LifeSnapshot) { l.Zoom = 64 },
		"no such state":        func(_ *Snapshot, l *LifeSnapshot) { l.State = 3 },
		"an area of no number": func(_ *Snapshot, l *LifeSnapshot) { l.Area = math.NaN() },
		"a negative area":      func(_ *Snapshot, l *LifeSnapshot) { l.Area = -1 },
		"detected for ever":    func(_ *Snapshot, l *LifeSnapshot) { l.Required = 1 << 20 },
		"too many": func(s *Snapshot, _ *LifeSnapshot) {
			s.Objects = slices.Repeat(s.Objects, annotation.MaxFollowed+1)
		},
	} {
		s := copied(good)
		spoil(s, &s.Objects[0].Life)
		if err := tr.Restore(s); err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(was, tr.Snapshot()); diff != "" {
			t.Fatalf("%s: something of it was taken: %s", name, diff)
		}
	}
	if err := newTracker(t, Config{}).Restore(good); err == nil {
		t.Error("a tracker that recalls nothing takes it")
	}
	if err := tr.Restore(good); err != nil {
		t.Error(err)
	}
}

// Whatever number stands in a snapshot, what follows does not panic.
func TestRestoreAnyNumber(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: every field of a snapshot changed")
	}
	before, last, seq := watched(t, image.Pt(-2, 0))
	good := before.Snapshot()
	tried, taken := 0, 0
	tr := recalled(t, last, seq)
	try := func(change func(*Snapshot)) {
		s := copied(good)
		change(s)
		tried++
		if tr.Restore(s) != nil {
			return
		}
		taken++
		step(t, tr, bands(seq+1, last), nil)
		_ = tr.Snapshot()
		tr = recalled(t, last, seq)
	}
	for _, v := range []int{-1, math.MaxInt32, 1 << 30} {
		for _, of := range []func(*Snapshot) *int{
			func(s *Snapshot) *int { return &s.Size.X },
			func(s *Snapshot) *int { return &s.Objects[0].Box.Min.X },
			func(s *Snapshot) *int { return &s.Objects[0].Box.Max.Y },
			func(s *Snapshot) *int { return &s.Objects[0].Life.Unseen },
			func(s *Snapshot) *int { return &s.Objects[0].Life.Zoom },
			func(s *Snapshot) *int { return &s.Objects[0].Life.Probation },
			func(s *Snapshot) *int { return &s.Objects[0].Life.Hits },
			func(s *Snapshot) *int { return &s.Objects[0].Life.Required },
		} {
			try(func(s *Snapshot) { *of(s) = v })
		}
		try(func(s *Snapshot) { s.Objects[0].Life.State = State(v) })
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 0.5, 4096, 1e9} {
		for _, of := range []func(*LifeSnapshot) *float64{
			func(l *LifeSnapshot) *float64 { return &l.Area }, func(l *LifeSnapshot) *float64 { return &l.X }, func(l *LifeSnapshot) *float64 { return &l.Y },
			func(l *LifeSnapshot) *float64 { return &l.Marked },
		} {
			try(func(s *Snapshot) { *of(&s.Objects[0].Life) = v })
		}
	}
	if taken == 0 || taken == tried {
		t.Errorf("%d of %d were taken", taken, tried)
	}
}

// copied shares nothing with s.
func copied(s *Snapshot) *Snapshot { return &Snapshot{s.Size, slices.Clone(s.Objects)} }

// A zoom is one that pictures of that size are looked at with.
func TestRestoreZoom(t *testing.T) {
	for zoom, sound := range map[int]bool{-1: false, 0: true, 1: true, 2: true, 3: false, 4: true, 64: false} {
		tr := newTracker(t, Config{})
		tr.size = image.Pt(7680, 4320)
		err := tr.Restore(&Snapshot{tr.size, []ObjectSnapshot{{ID: 1, Life: LifeSnapshot{Zoom: zoom}, Box: image.Rect(0, 0, 10, 10)}}})
		if (err == nil) != sound {
			t.Errorf("zoom %d: %v", zoom, err)
		}
	}
}

// Where what a detector marked is all that is known, it is looked up until there are frames that say more: also who
// was hidden is found where he is.
func TestRestoreAutomatic(t *testing.T) {
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
	if err := tr.Restore(before.Snapshot()); err != nil {
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
