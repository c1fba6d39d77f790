package trackstate

import (
	"math"
	"testing"

	"github.com/segd/segd/tracker/internal/picture"
)

// What comes back and has gone again at once is believed ever later; what stays is
// believed at once the next time.
func TestReturnsOnProbation(t *testing.T) {
	var o Object
	step := func(area int, want State) {
		t.Helper()
		if o.Observe(Sight{Area: area}, false, 1, 1000); o.State != want {
			t.Fatalf("%s after an area of %d; want %s", o.State, area, want)
		}
	}
	step(100, Visible)
	step(0, Occluded)
	for _, required := range []int{0, 1, 3, 7, 15, 31, 31} {
		for range required {
			step(50, Occluded)
		}
		step(50, Visible)
		if o.Confirmed() {
			t.Fatal("confirmed though it came back a moment ago")
		}
		step(0, Occluded)
	}
	for range maxRequired {
		step(50, Occluded)
	}
	for range probationFrames {
		step(50, Visible)
	}
	if !o.Confirmed() {
		t.Error("not confirmed though it has been back for long")
	}
	step(0, Occluded)
	step(50, Visible)
}

func TestStates(t *testing.T) {
	const lostAfter = 3
	type frame struct {
		area int
		want State
	}
	for name, frames := range map[string][]frame{
		"lost and back":              {{100, Visible}, {0, Occluded}, {0, Occluded}, {0, Occluded}, {0, Lost}, {0, Lost}, {30, Visible}},
		"a little is enough to stay": {{100, Visible}, {11, Visible}, {8, Occluded}},
		"but not to come back":       {{100, Visible}, {0, Occluded}, {20, Occluded}, {26, Visible}},
		"never there":                {{0, Occluded}, {1, Visible}},
	} {
		var o Object
		for i, f := range frames {
			if o.Observe(Sight{Area: f.area}, false, 1, lostAfter); o.State != f.want {
				t.Errorf("%s: frame %d with %d pixels is %s; want %s", name, i, f.area, o.State, f.want)
			}
		}
	}
}

// Frames that were dropped count.
func TestDroppedFrames(t *testing.T) {
	const lostAfter = 8
	type frame struct {
		area, elapsed int
		want          State
	}
	// It has come back and gone again twice, so it has to be detected for 3 frames.
	doubted := []frame{{100, 1, Visible}, {0, 1, Occluded}, {50, 1, Visible}, {0, 1, Occluded}, {50, 1, Occluded}, {50, 1, Visible}, {0, 1, Occluded}}
	for _, tt := range []struct {
		name      string
		frames    []frame
		confirmed bool
	}{
		{"lost", []frame{{100, 1, Visible}, {0, 4, Occluded}, {0, 4, Occluded}, {0, 1, Lost}}, false},
		{"what was before the first does not count", append(doubted, frame{50, 4, Occluded}, frame{50, 1, Occluded}), false},
		{"detected for 2 frames", append(doubted, frame{50, 1, Occluded}, frame{50, 2, Occluded}), false},
		{"detected for 3 frames", append(doubted, frame{50, 1, Occluded}, frame{50, 2, Occluded}, frame{50, 1, Visible}), false},
		{"detected for 4 frames", append(doubted, frame{50, 1, Occluded}, frame{50, 3, Visible}), false},
		{"on probation", []frame{{100, 1, Visible}, {0, 1, Occluded}, {50, 9, Visible}, {50, probationFrames - 2, Visible}}, false},
		{"confirmed", []frame{{100, 1, Visible}, {0, 1, Occluded}, {50, 9, Visible}, {50, probationFrames - 1, Visible}}, true},
	} {
		var o Object
		for i, f := range tt.frames {
			if o.Observe(Sight{Area: f.area}, false, f.elapsed, lostAfter); o.State != f.want {
				t.Errorf("%s: frame %d is %s; want %s", tt.name, i, o.State, f.want)
			}
		}
		if o.Confirmed() != tt.confirmed {
			t.Errorf("%s: confirmed %t; want %t", tt.name, o.Confirmed(), tt.confirmed)
		}
	}
}

// Frames observed once more are not counted twice.
func TestRewind(t *testing.T) {
	o := Object{State: Lost, Unseen: 60}
	o.Rewind(20)
	o.Observe(Sight{}, false, 1, 50)
	if o.Unseen != 41 || o.State != Occluded {
		t.Errorf("%s, unseen for %d frames; want occluded for 41", o.State, o.Unseen)
	}
	if o.Rewind(100); o.Unseen != 0 {
		t.Errorf("unseen for %d frames; want 0", o.Unseen)
	}
}

func TestConfident(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Sight
		want bool
	}{
		{"as before", Sight{Area: 100, Score: 0.9}, true},
		{"doubtful", Sight{Area: 100, Score: 0.79}, false},
		{"much smaller", Sight{Area: 60, Score: 0.9}, false},
		{"hidden", Sight{}, false},
	} {
		var o Object
		o.Observe(Sight{Area: 100, Score: 1}, true, 1, 5)
		if got := o.Observe(tt.s, false, 1, 5); got != tt.want {
			t.Errorf("%s: %t; want %t", tt.name, got, tt.want)
		}
	}
	o := Object{}
	o.Observe(Sight{Area: 100, Score: 1}, true, 1, 5)
	o.Observe(Sight{}, false, 1, 5)
	if o.Observe(Sight{Area: 100, Score: 1}, false, 1, 5) || o.State != Visible {
		t.Errorf("%s, and confident on probation", o.State)
	}
	// An annotation says how large the object is, but not that of one that is hidden.
	if o.Observe(Sight{Area: 40, Score: 1}, true, 1, 5); o.Area != 40 {
		t.Errorf("annotated with 40 pixels, taken to have %g", o.Area)
	}
	if o.Observe(Sight{Area: 50, Score: 1}, false, 1, 5); o.Area != 41 {
		t.Errorf("50 pixels after 40: taken to have %g; want 41", o.Area)
	}
}

func TestMeasure(t *testing.T) {
	p := &picture.Picture{N: 3, Area: []int32{10, 30, 60}, Centroid: []float32{0, 0, 4, 8, 9, 9}}
	q := []float64{0.2, 0.8, 0.6, 0.4, 1, 0}
	got := Measure(p, []int32{1, 1, 0}, q, 1, 2)
	if got.Area != 40 || math.Abs(got.Score-0.5) > 1e-15 || got.X != 3 || got.Y != 6 {
		t.Errorf("%+v; want 40 pixels, score 0.5, at (3, 6)", got)
	}
	if got := Measure(p, []int32{0, 0, 0}, q, 1, 2); got != (Sight{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// What seemed to be back, and is not in the picture that was looked at next, has not gone again: it
// is believed as soon as it is looked at as often as it has to be.
func TestOverlooked(t *testing.T) {
	back := func(between ...Sight) (o Object) {
		o = Object{State: Occluded, Area: 100, Required: 2}
		for _, s := range append([]Sight{{Area: 100}}, between...) {
			o.Observe(s, false, 1, 50)
		}
		for range 2 {
			o.Observe(Sight{Area: 100}, false, 1, 50)
		}
		return o
	}
	if o := back(); o.State != Visible {
		t.Fatalf("%v after three sights; want it back", o.State)
	}
	overlooked := Sight{Overlooked: true}
	if o := back(overlooked, overlooked); o.State != Visible {
		t.Errorf("%v after three sights, and two pictures that do not show the place; want it back", o.State)
	}
	if o := back(Sight{}); o.State == Visible {
		t.Error("it is back after it was looked for and not there")
	}
}

// An object with a track is in sight as soon as anything of it is, however little, and needs no time to be
// believed; without one it is a matter of its area again.
func TestTracked(t *testing.T) {
	o := Object{Tracked: true}
	for i, f := range []struct {
		area    int
		tracked bool
		want    State
	}{{100, true, Visible}, {1, true, Visible}, {0, true, Occluded}, {1, true, Visible}, {0, true, Occluded}, {1, false, Occluded}, {100, false, Visible}, {1, false, Occluded}, {1, true, Visible}} {
		o.Tracked = f.tracked
		if o.Observe(Sight{Area: f.area}, false, 1, 50); o.State != f.want {
			t.Errorf("step %d: %v; want %v", i, o.State, f.want)
		}
		if f.tracked && (!o.Confirmed() || o.Sought() || o.Detected()) {
			t.Errorf("step %d: it is looked for, though it has a track", i)
		}
	}
}
