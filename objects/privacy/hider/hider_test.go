package hider

import (
	"image"
	"testing"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/tracker"
)

const (
	testWidth, testHeight = 320, 240
	every                 = 200 * time.Millisecond
	interval              = 100 * time.Millisecond
)

var (
	everything    = image.Rect(0, 0, testWidth, testHeight)
	blurred, grey = privacy.Config{Blur: []string{"person"}}, privacy.Config{Fill: []string{"person"}}
)

// rectangle is the mask of one in the frames of the tests.
func rectangle(r image.Rectangle) mask.RLE {
	bits := make([]uint8, testWidth*testHeight)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			bits[y*testWidth+x] = 1
		}
	}
	return mask.Encode(bits, testWidth, testHeight)
}

// scene is what a test knows of a frame.
type scene struct {
	objects  []objects.Object
	results  []tracker.Object
	found    []features.Detection
	unlooked bool
}

// person is a visible object in a box.
func person(id uint32, box image.Rectangle) (objects.Object, tracker.Object) {
	m := rectangle(box)
	return objects.Object{ID: id, Class: "person", Label: "person", Owner: objects.Detector},
		tracker.Object{ID: id, State: tracker.Visible, Mask: m, Area: m.Area(), Box: box, Extent: box.Inset(-4)}
}

// walker is a Hider and the frames that it is shown.
type walker struct {
	*Hider
	frames int
}

func newWalker(c privacy.Config) *walker {
	c.Every = every
	w := &walker{Hider: New(c)}
	w.show(scene{})
	w.show(scene{})
	return w
}

// show shows a frame and returns what is hidden in it.
func (w *walker) show(s scene) *privacy.Cover {
	f := &Frame{
		Time: time.Duration(w.frames) * interval, Result: &tracker.Result{Width: testWidth, Height: testHeight, Objects: s.results},
		Table: objects.Restore(s.objects, 0), Found: s.found,
	}
	if !s.unlooked {
		f.Looked = []image.Rectangle{everything}
	}
	w.frames++
	return w.Step(f)
}

// hides tells whether all of a box is hidden, and misses whether none is.
func hides(c *privacy.Cover, box image.Rectangle) (all, none bool) {
	bits := make([]uint8, testWidth*testHeight)
	c.Bits(bits)
	n := 0
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			n += int(bits[y*testWidth+x])
		}
	}
	return n == box.Dx()*box.Dy(), n == 0
}

func wantHidden(t *testing.T, what string, c *privacy.Cover, box image.Rectangle, hidden bool) {
	t.Helper()
	if all, none := hides(c, box); c.Whole || hidden && !all || !hidden && !none {
		t.Errorf("%s: whole %v, hidden all %v, none %v; want %v", what, c.Whole, all, none, hidden)
	}
}

var here, there = image.Rect(40, 60, 70, 140), image.Rect(220, 60, 250, 140)

// What is to be hidden is, however it was marked and whatever it is called, and nothing else.
func TestWho(t *testing.T) {
	kept := blurred
	kept.ExceptKept = true
	for _, tt := range []struct {
		name   string
		cfg    privacy.Config
		object objects.Object
		hidden bool
	}{
		{"a person", blurred, objects.Object{Class: "person", Label: "person", Owner: objects.Detector}, true},
		{"a person to be filled", grey, objects.Object{Class: "person", Label: "person", Owner: objects.Detector}, true},
		{"a renamed person", blurred, objects.Object{Class: "person", Label: "Ann", Owner: objects.Detector}, true},
		{"a kept person", blurred, objects.Object{Class: "person", Label: "person", Owner: objects.Kept}, true},
		{"marked by people", blurred, objects.Object{Label: "person"}, true},
		{"marked by people, called otherwise", blurred, objects.Object{Label: "parcel"}, false},
		{"a car", blurred, objects.Object{Class: "car", Label: "car", Owner: objects.Detector}, false},
		{"except kept: a person", kept, objects.Object{Class: "person", Label: "person", Owner: objects.Detector}, true},
		{"except kept: a kept one", kept, objects.Object{Class: "person", Label: "person", Owner: objects.Kept}, false},
		{"except kept: marked by people", kept, objects.Object{Label: "person"}, false},
	} {
		_, r := person(7, here)
		tt.object.ID = 7
		w := newWalker(tt.cfg)
		c := w.show(scene{objects: []objects.Object{tt.object}, results: []tracker.Object{r}})
		wantHidden(t, tt.name, c, here, tt.hidden)
		wantHidden(t, tt.name+", elsewhere", c, there, false)
		if tt.hidden && c.Parts[0].Fill != (len(tt.cfg.Fill) > 0) {
			t.Errorf("%s: fill %v", tt.name, c.Parts[0].Fill)
		}
		// The detection of a person who is shown is theirs; one that is no object's is hidden.
		detected := features.Detection{Box: here, Class: "person", Score: 0.2}
		c = w.show(scene{objects: []objects.Object{tt.object}, results: []tracker.Object{r}, found: []features.Detection{detected}})
		wantHidden(t, tt.name+", detected", c, here, tt.hidden || !tt.cfg.ExceptKept)
	}
}

// Who is in the place of an object that is shown, or of another who is hidden by a mask, is hidden by the detection.
func TestWhoIsBehind(t *testing.T) {
	kept := blurred
	kept.ExceptKept, kept.Blur = true, []string{"person", "car"}
	_, r := person(7, here)
	car := features.Detection{Box: here, Class: "car", Score: 0.5}
	rider := features.Detection{Box: here, Class: "person", Score: 0.5}
	for name, tt := range map[string]struct {
		object objects.Object
		found  []features.Detection
		hidden bool
	}{
		"the rider of a kept bicycle":                     {objects.Object{ID: 7, Class: "bicycle", Owner: objects.Kept}, []features.Detection{rider}, true},
		"a kept person":                                   {objects.Object{ID: 7, Class: "person", Owner: objects.Kept}, []features.Detection{rider}, false},
		"somebody before a kept person":                   {objects.Object{ID: 7, Class: "person", Owner: objects.Kept}, []features.Detection{rider, rider}, true},
		"a car before one that people marked as a person": {objects.Object{ID: 7, Label: "person"}, []features.Detection{car}, true},
		"who was marked by people as a person":            {objects.Object{ID: 7, Label: "person"}, []features.Detection{rider}, false},
		"somebody before a door that people marked":       {objects.Object{ID: 7, Label: "door"}, []features.Detection{rider}, true},
	} {
		w := newWalker(kept)
		w.show(scene{objects: []objects.Object{tt.object}, results: []tracker.Object{r}})
		c := w.show(scene{objects: []objects.Object{tt.object}, results: []tracker.Object{r}, found: tt.found})
		wantHidden(t, name, c, here, tt.hidden)
	}
}

// All is hidden before all was looked at, when that is too long ago, in pictures of another size, and where nothing
// detects.
func TestWhole(t *testing.T) {
	c := blurred
	c.Every = every
	w := &walker{Hider: New(c)}
	for i, want := range []struct{ unlooked, whole bool }{
		{true, true}, {true, true}, {false, true}, {true, false},
		{true, false}, {true, false}, {true, false}, {true, false}, {true, false}, // 600 ms after
		{true, true}, {false, true}, {false, false},
	} {
		if got := w.show(scene{unlooked: want.unlooked}); got.Whole != want.whole {
			t.Errorf("frame %d: whole %v", i, got.Whole)
		} else if all, none := hides(got, everything); all != want.whole || none == want.whole {
			t.Errorf("frame %d: all %v, none %v is hidden", i, all, none)
		}
	}
	other := &Frame{Time: time.Hour, Result: &tracker.Result{Width: 200, Height: 100}, Looked: []image.Rectangle{everything}}
	if !w.Step(other).Whole {
		t.Error("a picture of another size is shown")
	}
	blind := New(blurred)
	for i := range 3 {
		if !blind.Step(&Frame{Time: time.Duration(i), Result: &tracker.Result{Width: testWidth, Height: testHeight}, Looked: []image.Rectangle{everything}}).Whole {
			t.Error("a picture is shown though nothing is detected")
		}
	}
}

// More places than may be remembered hide all.
func TestTooMany(t *testing.T) {
	w := newWalker(blurred)
	var s scene
	for k := range maxPlaces + 1 {
		s.found = append(s.found, features.Detection{Box: image.Rect(k, 0, k+1, 1), Class: "person"})
	}
	if !w.show(s).Whole {
		t.Error("not all is hidden")
	}
}

// Who goes behind something is hidden where it is expected, and who is lost where it was, for a while.
func TestOutOfSight(t *testing.T) {
	w := newWalker(blurred)
	o, r := person(7, here)
	wantHidden(t, "seen", w.show(scene{objects: []objects.Object{o}, results: []tracker.Object{r}}), here, true)

	r = tracker.Object{ID: 7, State: tracker.Occluded, Extent: there}
	c := w.show(scene{objects: []objects.Object{o}, results: []tracker.Object{r}})
	wantHidden(t, "hidden, where it is expected", c, there, true)
	wantHidden(t, "hidden, where it was", c, here, false)

	o.Dormant = true
	last := w.frames - 1
	for w.frames <= last+int(objectFor/interval) {
		wantHidden(t, "lost", w.show(scene{objects: []objects.Object{o}}), there, true)
	}
	wantHidden(t, "long lost", w.show(scene{objects: []objects.Object{o}}), there, false)

	// One that is no more is hidden as one that is lost.
	o, r = person(8, here)
	w.show(scene{objects: []objects.Object{o}, results: []tracker.Object{r}})
	wantHidden(t, "removed", w.show(scene{}), here, true)
}

// What was detected and is no object is hidden for a second, and then until its place is looked at, which grows meanwhile.
func TestDetected(t *testing.T) {
	w := newWalker(blurred)
	s := scene{found: []features.Detection{{Box: here, Class: "person", Score: 0.2}, {Box: there, Class: "car", Score: 0.9}}}
	c := w.show(s)
	wantHidden(t, "detected", c, here, true)
	wantHidden(t, "another class", c, there, false)
	beside := image.Rect(here.Max.X, here.Min.Y, here.Max.X+25, here.Max.Y)
	wantHidden(t, "beside", c, beside, false)
	for range 4 {
		c = w.show(scene{unlooked: true})
	}
	wantHidden(t, "not looked at for 400 ms", c, beside.Union(here), true)
	c = w.show(scene{})
	wantHidden(t, "looked at, and not detected", c, here, true)
	wantHidden(t, "looked at, beside", c, beside, false)
	for w.frames < 2+int(sightFor/interval)+1 {
		wantHidden(t, "not detected for less than a second", w.show(scene{}), here, true)
	}
	wantHidden(t, "a second", w.show(scene{}), here, false)

	// One that moves leaves nothing behind.
	for k := range 5 {
		c = w.show(scene{found: []features.Detection{{Box: here.Add(image.Pt(8*k, 0)), Class: "person"}}})
	}
	if len(c.Parts) != 1 {
		t.Errorf("%d places of one thing that moves", len(c.Parts))
	}
}

// The margin is a part of the longer side.
func TestMargin(t *testing.T) {
	for _, margin := range []float64{0, 0.1, 1} {
		cfg := grey
		cfg.Margin = margin
		o, r := person(7, here)
		c := newWalker(cfg).show(scene{objects: []objects.Object{o}, results: []tracker.Object{r}})
		side := float64(r.Extent.Dy())
		wantHidden(t, "margin", c, here.Inset(-int(margin*side)).Intersect(everything), true)
		wantHidden(t, "beyond it", c, image.Rect(here.Max.X+int(margin*side)+8, 0, testWidth, testHeight), false)
	}
}

// What is known of many frames does not grow.
func TestHiderAllocations(t *testing.T) {
	w := newWalker(blurred)
	o, r := person(7, here)
	f := &Frame{
		Result: &tracker.Result{Width: testWidth, Height: testHeight, Objects: []tracker.Object{r}},
		Table:  objects.Restore([]objects.Object{o}, 0), Looked: []image.Rectangle{everything},
		Found: []features.Detection{{Box: here, Class: "person"}, {Box: there, Class: "person"}},
	}
	at := time.Second
	step := func() {
		f.Time, at = at, at+interval
		w.Step(f)
	}
	step()
	if got := testing.AllocsPerRun(50, step); got > 4 { // the Cover and its parts
		t.Errorf("%v allocations a frame", got)
	}
}
