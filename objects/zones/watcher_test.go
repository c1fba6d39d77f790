package zones

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/mask"
)

// The tests' pictures are 200×100 and come every 100 ms. Objects are 20 tall, so their margin
// is 2 pixels.
const (
	width, height = 200, 100
	tall          = 20
	step          = 100 * time.Millisecond
)

// at is object 1 with its foot at (x, y), in pixels.
func at(x, y float64) Object { return OfBox(1, x-5, y-tall, 10, tall, width, height) }

var (
	hidden = Object{ID: 1}
	lost   = Object{ID: 1, Lost: true}
)

// text is events such as "enter yard", "leave yard 0.3", "stay yard 1.0", "cross street ab".
func text(events []Event) (all []string) {
	for _, e := range events {
		s := [...]string{"enter", "leave", "stay", "cross"}[e.Kind] + " " + e.Name
		switch e.Kind {
		case Left, Stayed:
			s += fmt.Sprintf(" %.1f", e.For.Seconds())
		case Crossed:
			s += map[bool]string{true: " ab", false: " ba"}[e.AToB]
		case Entered:
		}
		all = append(all, s)
	}
	return all
}

// script is frames of object 1: n times what f gives.
func script(parts ...[]Object) []Object { return slices.Concat(parts...) }
func times(n int, o Object) []Object    { return slices.Repeat([]Object{o}, n) }

// walk is n frames from (x0, y0) to (x1, y1).
func walk(n int, x0, y0, x1, y1 float64) (all []Object) {
	for i := range n {
		p := float64(i) / float64(n-1)
		all = append(all, at(x0+p*(x1-x0), y0+p*(y1-y0)))
	}
	return all
}

func TestWatcher(t *testing.T) {
	gate := Line{Name: "gate", Points: []Point{{0.5, 0.3}, {0.5, 0.7}}} // x = 100, y from 30 to 70
	porch := yard
	porch.Dwell = time.Second
	above, below := at(150, 40), at(150, 60) // the street
	for _, tt := range []struct {
		name   string
		l      Layout
		frames []Object
		want   string
	}{
		{"walks in", Layout{Zones: []Zone{yard}}, walk(41, 180, 80, 20, 80), "enter yard"},
		{"walks past", Layout{Zones: []Zone{yard}}, walk(41, 180, 80, 120, 80), ""},
		{"walks through", Layout{Zones: []Zone{yard}}, walk(41, 20, 20, 180, 100), "enter yard, leave yard 0.6"},
		{"begins inside", Layout{Zones: []Zone{yard}}, times(4, at(20, 80)), "enter yard"},
		{"not for long enough", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 20)), times(3, at(20, 80)), times(4, at(20, 20))), ""},
		{"flickers in", Layout{Zones: []Zone{yard}}, slices.Repeat(script(times(2, at(20, 80)), times(1, at(20, 20))), 9), ""},
		{"a mask without legs now and then", Layout{Zones: []Zone{yard}}, slices.Repeat(script(times(5, at(20, 55)), times(2, at(20, 45))), 9), "enter yard"},
		{"trembles on the border", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 60)), slices.Repeat(script(times(5, at(20, 51)), times(5, at(20, 49))), 9)), "enter yard"},
		{"beyond the margin", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 60)), times(4, at(20, 47.9))), "enter yard, leave yard 0.4"},
		{"hidden inside", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 60)), times(30, hidden), times(4, at(20, 60))), "enter yard"},
		{"hidden at the door", Layout{Zones: []Zone{yard}}, script(times(2, at(20, 60)), times(5, hidden), times(1, at(20, 60))), "enter yard"},
		{"hidden and seen outside", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 60)), times(6, hidden), times(4, at(20, 20))), "enter yard, leave yard 1.0"},
		{"lost", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 60)), times(6, hidden), times(4, lost)), "enter yard, leave yard 0.3"},
		{"lost and back", Layout{Zones: []Zone{yard}}, script(times(4, at(20, 60)), times(4, lost), times(4, at(20, 60))), "enter yard, leave yard 0.3, enter yard"},
		{"lost before it had entered", Layout{Zones: []Zone{yard}}, script(times(2, at(20, 60)), times(4, lost), times(3, at(20, 60))), ""},
		{"stays", Layout{Zones: []Zone{porch}}, times(30, at(20, 60)), "enter yard, stay yard 1.0"},
		{"stays hidden", Layout{Zones: []Zone{porch}}, script(times(4, at(20, 60)), times(9, hidden)), "enter yard, stay yard 1.0"},
		{"does not stay", Layout{Zones: []Zone{porch}}, script(times(9, at(20, 60)), times(9, at(20, 20))), "enter yard, leave yard 0.9"},
		{"stays twice", Layout{Zones: []Zone{porch}}, slices.Repeat(script(times(14, at(20, 60)), times(6, at(20, 20))), 2),
			"enter yard, stay yard 1.0, leave yard 1.4, enter yard, stay yard 1.0, leave yard 1.4"},

		{"crosses down", Layout{Lines: []Line{street}}, walk(21, 150, 20, 150, 80), "cross street ab"},
		{"crosses up", Layout{Lines: []Line{street}}, walk(21, 150, 80, 150, 20), "cross street ba"},
		{"there and back", Layout{Lines: []Line{street}}, script(walk(21, 150, 80, 150, 20), walk(21, 150, 20, 150, 80)), "cross street ba, cross street ab"},
		{"along the line", Layout{Lines: []Line{street}}, script(walk(9, 10, 48.5, 90, 51.5), walk(9, 90, 51.5, 190, 48.5)), ""},
		{"trembles on the line", Layout{Lines: []Line{street}}, script(times(4, above), slices.Repeat(script(times(4, at(150, 49)), times(4, at(150, 51))), 9), times(4, below)), "cross street ab"},
		{"trembles and goes back", Layout{Lines: []Line{street}}, script(times(4, above), slices.Repeat(script(times(4, at(150, 49)), times(4, at(150, 51))), 9), times(4, above)), ""},
		{"begins on the line", Layout{Lines: []Line{street}}, script(times(4, at(150, 49)), times(4, below)), ""},
		{"a mask without legs", Layout{Lines: []Line{street}}, slices.Repeat(script(times(3, below), times(2, above)), 9), ""},
		{"on the line exactly", Layout{Lines: []Line{street}}, script(times(4, above), times(4, at(150, 50)), times(4, below)), "cross street ab"},
		{"hidden, seen on the other side", Layout{Lines: []Line{street}}, script(times(4, above), times(30, hidden), times(4, below)), "cross street ab"},
		{"hidden, seen on the same side", Layout{Lines: []Line{street}}, script(times(4, above), times(30, hidden), times(4, above)), ""},
		{"lost, seen on the other side", Layout{Lines: []Line{street}}, script(times(4, above), times(30, lost), times(4, below)), "cross street ab"},
		{"seen once on the other side", Layout{Lines: []Line{street}}, script(times(4, above), times(3, below)), ""},
		{"in one step", Layout{Lines: []Line{gate}}, script(times(4, at(20, 50)), times(4, at(180, 50))), "cross gate ba"},
		{"beside the line's end", Layout{Lines: []Line{gate}}, walk(21, 20, 80, 180, 80), ""},
		{"round the end and through", Layout{Lines: []Line{gate}}, script(walk(21, 50, 80, 150, 80), walk(9, 150, 80, 150, 50), walk(21, 150, 50, 50, 50)), "cross gate ab"},
		{"through and back round the end", Layout{Lines: []Line{gate}}, script(walk(21, 50, 50, 150, 50), walk(9, 150, 50, 150, 80), walk(21, 150, 80, 50, 80)), "cross gate ba"},
		{"trembles at the end", Layout{Lines: []Line{gate}}, script(times(4, at(90, 71)), slices.Repeat([]Object{at(99, 69.5), at(101, 69.5), at(101, 70.5), at(99, 70.5)}, 9),
			times(1, at(101, 69.5)), times(1, at(101, 70.5)), times(4, at(90, 71))), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := New(tt.l)
			require.NoError(t, err)
			var got []string
			for i, o := range tt.frames {
				got = append(got, text(w.Observe(Frame{time.Duration(i) * step, width, height, []Object{o}}))...)
			}
			assert.Equal(t, tt.want, strings.Join(got, ", "))
			checkCounts(t, w, got)
		})
	}
}

// Another layout leaves what is the same in both as it is, wherever it moves to; what is gone or
// changed is left, and what is new has seen nothing.
func TestChange(t *testing.T) {
	gate := Line{Name: "gate", Points: []Point{{0.5, 0}, {0.5, 1}}}
	share := Zone{Name: "share", Polygon: yard.Polygon, By: ByShare}
	w, err := New(Layout{Zones: []Zone{{Name: "porch", Polygon: yard.Polygon}, yard, share}, Lines: []Line{street, gate}})
	require.NoError(t, err)
	now := time.Duration(0)
	see := func(frames ...Object) (got []string) {
		for _, o := range frames {
			if o.Visible {
				o.Mask = block(int(o.Foot[0]*width)-5, int(o.Foot[1]*height)-tall)
			}
			got = append(got, text(w.Observe(Frame{now, width, height, []Object{o}}))...)
			now += step
		}
		return got
	}
	check := func(got []string, want string) {
		t.Helper()
		assert.Equal(t, want, strings.Join(got, ", "))
	}
	check(see(script(times(4, at(150, 80)), times(10, at(30, 80)))...), "enter porch, enter yard, enter share, cross gate ab")

	if _, err := w.Change(Layout{Lines: []Line{{Name: "street"}}}); err == nil || len(w.Layout().Zones) != 3 {
		t.Errorf("a bad layout: %v, %+v", err, w.Layout())
	}
	other := share
	other.Dwell = time.Second
	turned := Line{Name: "gate", Points: []Point{{0.5, 1}, {0.5, 0}}}
	events, err := w.Change(Layout{Zones: []Zone{other, yard}, Lines: []Line{turned, street, {Name: "new", Points: gate.Points}}})
	require.NoError(t, err)
	check(text(events), "leave porch 0.9, leave share 0.9")
	want := Counts{[]ZoneCount{{Name: "share"}, {"yard", 1, 1, 0}}, []LineCount{{Name: "gate"}, {Name: "street"}, {Name: "new"}}}
	assert.Equal(t, want, w.Counts())
	// It is in the yard since before, and enters the other zone anew.
	check(see(script(times(14, at(30, 80)), times(10, at(150, 80)))...), "enter share, stay share 1.0, leave share 1.4, leave yard 2.4, cross gate ab, cross new ba")

	// The same again changes nothing.
	before := w.Counts()
	if events, err := w.Change(w.Layout()); err != nil || len(events) != 0 || !reflect.DeepEqual(w.Counts(), before) {
		t.Errorf("the same: %v, %v, %+v", err, events, w.Counts())
	}
	// None, for a while.
	_, err = w.Change(Layout{})
	require.NoError(t, err)
	check(see(times(4, at(30, 80))...), "")
	_, err = w.Change(Layout{Lines: []Line{gate}})
	require.NoError(t, err)
	check(see(script(times(4, at(30, 80)), times(4, at(150, 80)))...), "cross gate ba")
}

// checkCounts holds a Watcher's counts against its events.
func checkCounts(t *testing.T, w *Watcher, events []string) {
	t.Helper()
	count := func(prefix string) (n uint64) {
		for _, e := range events {
			if strings.HasPrefix(e+" ", prefix+" ") {
				n++
			}
		}
		return n
	}
	c := w.Counts()
	for _, z := range c.Zones {
		entered, left := count("enter "+z.Name), count("leave "+z.Name)
		if want := (ZoneCount{z.Name, int(entered - left), entered, count("stay " + z.Name)}); z != want {
			t.Errorf("%+v; want %+v", z, want)
		}
	}
	for _, l := range c.Lines {
		if want := (LineCount{l.Name, count("cross " + l.Name + " ab"), count("cross " + l.Name + " ba")}); l != want {
			t.Errorf("%+v; want %+v", l, want)
		}
	}
}

// block is a mask of pixels x to x+10, y to y+20.
func block(x, y int) mask.RLE {
	bits := make([]uint8, width*height)
	for v := y; v < y+20; v++ {
		for u := x; u < x+10; u++ {
			bits[v*width+u] = 1
		}
	}
	return mask.Encode(bits, width, height)
}

// By share an object is in a zone as far as its pixels are; below four fifths of the share it
// has left. The foot says otherwise in most of these frames.
func TestByShare(t *testing.T) {
	z := yard
	z.By, z.Share = ByShare, 0.5
	w, err := New(Layout{Zones: []Zone{z}})
	require.NoError(t, err)
	var got []string
	frame := 0
	for _, y := range []int{35, 39, 40, 39, 38, 37, 39, 38, 37} { // 0.25, 0.45, 0.5, 0.45, 0.4, 0.35, …
		for range 4 {
			for _, e := range text(w.Observe(Frame{time.Duration(frame) * step, width, height, []Object{OfMask(1, block(20, y), false)}})) {
				got = append(got, fmt.Sprintf("%s at %d", e, y))
			}
			frame++
		}
	}
	assert.Equal(t, []string{"enter yard at 40", "leave yard 1.2 at 37"}, got)
	// A smaller picture of the same, and a box, which has no pixels.
	small := mask.Encode(slices.Repeat([]uint8{1}, 100*50), 100, 50)
	w.Observe(Frame{10 * time.Second, 100, 50, []Object{OfMask(1, small, false), at(20, 80)}})
}

// A zone is where it is in pictures of every size.
func TestAnotherSize(t *testing.T) {
	z := yard
	z.By = ByShare
	w, err := New(Layout{Zones: []Zone{yard, {Name: "share", Polygon: z.Polygon, By: ByShare}}})
	require.NoError(t, err)
	now := time.Duration(0)
	var got []string
	for _, size := range []int{1, 2} {
		bits := make([]uint8, 60*size*40*size)
		for y := 25 * size; y < 35*size; y++ {
			for x := 10 * size; x < 20*size; x++ {
				bits[y*60*size+x] = 1
			}
		}
		m := mask.Encode(bits, 60*size, 40*size)
		for range 9 {
			got = append(got, text(w.Observe(Frame{now, 60 * size, 40 * size, []Object{OfMask(1, m, false)}}))...)
			now += step
		}
	}
	assert.Equal(t, []string{"enter yard", "enter share"}, got)
}

// Several objects, in several zones: each is told of, and who is gone is forgotten.
func TestObjectsComeAndGo(t *testing.T) {
	w, err := New(Layout{[]Zone{yard, {Name: "all", Polygon: []Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}}, []Line{street}})
	require.NoError(t, err)
	now := time.Duration(0)
	var events []Event
	observe := func(n int, ids ...uint32) {
		for range n {
			f := Frame{Time: now, Width: width, Height: height}
			for _, id := range ids {
				o := at(20, 80)
				o.ID = id
				f.Objects = append(f.Objects, o)
			}
			events = append(events, w.Observe(f)...)
			now += step
		}
	}
	expect := func(want string) {
		t.Helper()
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprint(e.Object, " ", text([]Event{e})[0]))
		}
		assert.Equal(t, want, strings.Join(got, ", "))
		events = nil
	}
	observe(4, 7, 3)
	expect("7 enter yard, 7 enter all, 3 enter yard, 3 enter all")
	observe(1, 5, 3)
	expect("7 leave yard 0.3, 7 leave all 0.3")
	events = append(events, w.Forget(3)...)
	events = append(events, w.Forget(3)...)
	expect("3 leave yard 0.4, 3 leave all 0.4")
	observe(3, 3, 5) // another 3
	expect("5 enter yard, 5 enter all")
	observe(1, 3)
	expect("3 enter yard, 3 enter all, 5 leave yard 0.3, 5 leave all 0.3")
	assert.Len(t, w.tracks, 1, "objects are remembered")
	if c := w.Counts(); c.Zones[0] != (ZoneCount{"yard", 1, 4, 0}) {
		t.Errorf("%+v", c)
	}
}

// An object of the same number that came after another was forgotten crosses nothing by being
// elsewhere.
func TestForgetIsAnother(t *testing.T) {
	w, err := New(Layout{Lines: []Line{street}})
	require.NoError(t, err)
	for i, o := range script(times(4, at(150, 20)), times(4, at(150, 80))) {
		if i == 4 {
			w.Forget(1)
		}
		if got := w.Observe(Frame{time.Duration(i) * step, width, height, []Object{o}}); len(got) > 0 {
			t.Errorf("%q", text(got))
		}
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	z := yard
	z.By = ByShare
	w, err := New(Layout{[]Zone{z, {Name: "star", Polygon: star, Dwell: time.Second}}, []Line{street}})
	require.NoError(t, err)
	f := Frame{Width: width, Height: height}
	i := 0
	places := [...]mask.RLE{block(20, 20), block(20, 70)}
	do := func() {
		f.Time += step
		i++
		f.Objects = append(f.Objects[:0], OfMask(1, places[i/8%2], false), OfMask(2, places[i/9%2], false))
		w.Observe(f)
	}
	for range 100 {
		do()
	}
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, do), "allocations a frame")
	if w.Counts().Zones[0].Entries < 10 || w.Counts().Lines[0].AToB < 10 {
		t.Errorf("%+v: the objects were to move", w.Counts())
	}
}

// People who walk to and fro, sway and are hidden now and then are counted as those who only walk.
func TestCount(t *testing.T) {
	crowd := func(sway float64, hidden int) (frames []Frame) {
		for i := range 300 {
			f := Frame{Time: time.Duration(i) * step, Width: width, Height: height}
			for id := range 5 {
				o := at(100, 50+40*math.Cos(2*math.Pi*(float64(i)/100+float64(id)/20))+sway*math.Sin(float64(7*i+id)))
				if (i+3*id)%13 < hidden {
					o = Object{}
				}
				o.ID = uint32(id + 1)
				f.Objects = append(f.Objects, o)
			}
			frames = append(frames, f)
		}
		return frames
	}
	// Three rounds each.
	for _, tt := range []struct {
		name   string
		frames []Frame
	}{{"they walk", crowd(0, 0)}, {"they sway", crowd(3, 0)}, {"they are hidden", crowd(0, 4)}, {"both", crowd(3, 4)}} {
		w, err := New(Layout{Lines: []Line{street}})
		require.NoError(t, err)
		for _, f := range tt.frames {
			w.Observe(f)
		}
		if got, want := w.Counts().Lines[0], (LineCount{"street", 15, 15}); got != want {
			t.Errorf("%s: %+v; want %+v", tt.name, got, want)
		}
	}
}
