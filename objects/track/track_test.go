package track

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

const second = time.Second

// at is the box of a person of 40×100 pixels who stands at x, y.
func at(x, y float64) Box { return Box{x - 20, y - 100, x + 20, y} }

func seen(b Box, score float64, looks ...float32) Detection {
	return Detection{Box: b, Class: "person", Score: score, Appearance: looks}
}

var red, blue = []float32{1, 0, 0}, []float32{0, 0, 1}

// play steps through a scene from and to a time.
func play(t *Tracker, from, to time.Duration, rate float64, scene func(s float64) []Detection, each func(s float64, tracks []Track, ended []Ended)) {
	for i := math.Ceil(from.Seconds() * rate); i/rate < to.Seconds(); i++ {
		tracks, ended := t.Step(&Frame{Time: time.Duration(i / rate * float64(second)), Width: 1000, Height: 500, Found: scene(i / rate)})
		if each != nil {
			each(i/rate, tracks, ended)
		}
	}
}

func tracker(t testing.TB, c Config) *Tracker {
	t.Helper()
	k, err := New(c)
	require.NoError(t, err)
	return k
}

// nearest is the track whose box has the most in common with b.
func nearest(tracks []Track, b Box) (best Track) {
	for _, k := range tracks {
		if k.Box.iou(b) > best.Box.iou(b) {
			best = k
		}
	}
	return best
}

func step(t *Tracker, s float64, found ...Detection) []Track {
	tracks, _ := t.Step(&Frame{Time: time.Duration(s * float64(second)), Width: 1000, Height: 500, Found: found})
	return tracks
}

func states(tracks []Track) (s []State) {
	for _, k := range tracks {
		s = append(s, k.State)
	}
	return s
}

// Two walk towards one another, for .8 s they are not detected, and both turn round: their motion says that they
// passed, their looks that they did not.
func TestLooksDecideWhoTurnedRound(t *testing.T) {
	left := func(s float64) Box { return at(300+80*min(s, 4-s), 300) }
	right := func(s float64) Box { return at(660-80*min(s, 4-s), 300) }
	for name, looks := range map[string][2][]float32{"looks": {red, blue}, "no looks": {}} {
		var before, after [2]uint32
		play(tracker(t, Config{}), 0, 4*second, 10, func(s float64) []Detection {
			if math.Abs(s-2) < .39 {
				return nil
			}
			return []Detection{seen(left(s), .8, looks[0]...), seen(right(s), .8, looks[1]...)}
		}, func(s float64, tracks []Track, _ []Ended) {
			ids := [2]uint32{nearest(tracks, left(s)).ID, nearest(tracks, right(s)).ID}
			if s < 1.5 {
				before = ids
			}
			after = ids
		})
		if before != [2]uint32{1, 2} || (after == before) != (name == "looks") {
			t.Errorf("%s: ids are %v, then %v", name, before, after)
		}
	}
}

// Two who walk one behind the other are seen once, and again when each is nearly where the one before was: that the boxes
// overlap says nothing after so long.
func TestAPauseBetweenWalkers(t *testing.T) {
	k := tracker(t, Config{})
	before := step(k, 0, seen(at(300, 200), .8), seen(at(345, 200), .8))
	first, second := nearest(before, at(300, 200)).ID, nearest(before, at(345, 200)).ID
	after := step(k, .6, seen(at(265, 200), .8), seen(at(310, 200), .8))
	if got := nearest(after, at(265, 200)).ID; got != first {
		t.Errorf("who walks ahead is %d now; want %d", got, first)
	}
	if got := nearest(after, at(310, 200)).ID; got != second {
		t.Errorf("who walks behind is %d now; want %d", got, second)
	}
}

func TestHiddenForAMomentKeepsItsID(t *testing.T) {
	k := tracker(t, Config{})
	walk := func(s float64) Box { return at(100+90*s, 300) }
	play(k, 0, 4*second, 10, func(s float64) []Detection {
		if s > 1.95 && s < 2.75 {
			return nil
		}
		return []Detection{seen(walk(s), .8)}
	}, func(s float64, tracks []Track, _ []Ended) {
		if len(tracks) != 1 || tracks[0].ID != 1 {
			t.Fatalf("after %v s there are %+v", s, tracks)
		}
		hidden, want := s > 1.95 && s < 2.75, Seen
		if s > 2.15 && hidden { // it counts as seen for a moment
			want = Predicted
		}
		if k := tracks[0]; s > .5 && k.Box.iou(walk(s)) < .8 || s > 0 && k.State != want || k.Detected >= 0 == hidden {
			t.Errorf("after %v s it is %+v; it is at %v", s, k, walk(s))
		}
	})
}

// What was walking when it was hidden, and stayed, is known again where the camera's turn has taken the place.
func TestLostMovesWithThePicture(t *testing.T) {
	k := tracker(t, Config{})
	var last float64
	play(k, 0, 2*second, 10, func(s float64) []Detection {
		last = 300 + 200*s
		return []Detection{seen(at(last, 300), .9, red...)}
	}, nil)
	play(k, 2*second, 5*second, 10, func(float64) []Detection { return nil }, nil)
	found := []Detection{seen(at(last-500, 300), .9, red...)}
	tracks, _ := k.Step(&Frame{Time: 5 * second, Width: 1000, Height: 500, Shift: [2]float64{-500, 0}, Found: found})
	if len(tracks) != 1 || tracks[0].ID != 1 || tracks[0].Detected != 0 {
		t.Errorf("%+v; want the track that was lost, found", tracks)
	}
}

func TestPredictionEnds(t *testing.T) {
	for _, c := range []Config{{}, {Keep: 3 * second}} {
		k := tracker(t, c)
		var predicted, kept float64
		play(k, 0, 12*second, 10, func(s float64) []Detection {
			if s > 3 {
				return nil
			}
			return []Detection{seen(at(200, 300), .8)}
		}, func(s float64, tracks []Track, ended []Ended) {
			if len(tracks) > 0 && tracks[0].State != Lost {
				predicted = s - 3
			}
			if len(ended) > 0 {
				kept = s - 3
				if want := []Ended{{ID: 1, Reason: Forgotten, Lost: true}}; !cmp.Equal(ended, want) {
					t.Errorf("%+v ended; want %+v", ended, want)
				}
			}
		})
		k.Step(&Frame{Time: 13 * second, Found: []Detection{seen(at(200, 300), .8)}})
		if _, ended := k.Step(&Frame{Time: 43 * second}); len(ended) != 1 || ended[0].Lost {
			t.Errorf("%+v ended after a pause; want one that nothing looked for", ended)
		}
		if p := predictFor.Seconds(); math.Abs(predicted-p) > .11 {
			t.Errorf("predicted for %v s; want %v", predicted, p)
		}
		if p := k.config.Keep.Seconds(); math.Abs(kept-p) > .11 {
			t.Errorf("kept for %v s; want %v", kept, p)
		}
	}
}

// A car that comes near is where its box is from its third frame on, and a prediction of it holds for less than a person's.
func TestCar(t *testing.T) {
	k := tracker(t, Config{})
	car := func(s float64) Box { // 40 m away, at 18 m/s
		scale := 40 / (40 - 18*s)
		x, y := 500-100*scale, 200+80*scale
		return Box{x - 40*scale, y - 30*scale, x + 40*scale, y + 30*scale}
	}
	var lost float64
	play(k, 0, 2*second, 25, func(s float64) []Detection {
		if s > .8 {
			return nil
		}
		return []Detection{{Box: car(s), Class: "car", Score: .8}}
	}, func(s float64, tracks []Track, _ []Ended) {
		require.Len(t, tracks, 1, "after %v s: %+v", s, tracks)
		if iou := tracks[0].Box.iou(car(s)); s > .1 && s < .9 && iou < .75 {
			t.Errorf("after %v s its box has an IoU of %.2f with where it is", s, iou)
		}
		if lost == 0 && tracks[0].State == Lost {
			lost = s - .8
		}
	})
	if want := k.tracks[0].motion.holds().Seconds(); math.Abs(lost-want) > .05 || want > .6 {
		t.Errorf("lost after %v s; want %v", lost, want)
	}
}

// Where the camera turns, tracks move with the picture: also what is not detected meanwhile, and what is lost.
func TestCameraTurns(t *testing.T) {
	for name, hidden := range map[string]float64{"seen": 0, "predicted": .5, "lost": 3} {
		k := tracker(t, Config{})
		for n := range 60 {
			s := float64(n) / 10
			b := at(900-12*float64(n), 300+2*float64(n)) // faster than a person walks
			f := &Frame{Time: time.Duration(s * float64(second)), Width: 1000, Height: 600, Shift: [2]float64{-12, 2}}
			if s < 1 || s >= 1+hidden {
				f.Found = []Detection{seen(b, .8, red...)}
			}
			tracks, _ := k.Step(f)
			if len(tracks) != 1 || tracks[0].ID != 1 || tracks[0].Box.iou(b) < .9 || math.Hypot(tracks[0].Velocity[0], tracks[0].Velocity[1]) > 1 {
				t.Fatalf("%s, after %v s: %+v; want track 1 at %v, standing", name, s, tracks, b)
			}
		}
	}
}

func TestConfirmation(t *testing.T) {
	there := at(200, 300)
	for name, c := range map[string]struct {
		scores []float64 // every 100 ms
		want   [][]State
	}{
		"once":             {[]float64{.8, 0, 0}, [][]State{{Tentative}, nil, nil}},
		"twice":            {[]float64{.8, .8, 0}, [][]State{{Tentative}, {Seen}, {Seen}}},
		"certain at last":  {[]float64{.45, .45, .7}, [][]State{{Tentative}, {Tentative}, {Seen}}},
		"certain at first": {[]float64{.8, .3, .3}, [][]State{{Tentative}, {Seen}, {Seen}}},
		"never certain":    {[]float64{.6, .6, .6}, [][]State{{Tentative}, {Tentative}, {Tentative}}},
		"never sure":       {[]float64{.38, .38, .38}, [][]State{nil, nil, nil}},
		"hardly anything":  {[]float64{.8, .05}, [][]State{{Tentative}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			k := tracker(t, Config{})
			for i, score := range c.scores {
				if got := states(step(k, .1*float64(i), seen(there, score))); !cmp.Equal(got, c.want[i]) {
					t.Errorf("frame %d: %v; want %v", i, got, c.want[i])
				}
			}
		})
	}
}

// An unsure box continues a track: without it, what is unsure for two seconds would be lost.
func TestUnsureContinues(t *testing.T) {
	k := tracker(t, Config{})
	play(k, 0, 4*second, 10, func(s float64) []Detection {
		score := .8
		if s > 1 {
			score = .3
		}
		return []Detection{seen(at(100+90*s, 300), score)}
	}, func(s float64, tracks []Track, _ []Ended) {
		if len(tracks) != 1 || tracks[0].ID != 1 || tracks[0].Detected != 0 {
			t.Errorf("after %v s: %+v", s, tracks)
		}
	})
}

// An unsure box is given to a track whose half it has, and to none that it is only near.
func TestUnsureMustOverlap(t *testing.T) {
	for off, want := range map[float64]int{12: 0, 16: -1} { // IoU .54 and .43
		k := tracker(t, Config{})
		play(k, 0, second, 10, func(float64) []Detection { return []Detection{seen(at(200, 300), .8)} }, nil)
		if got := step(k, 1, seen(at(200+off, 300), .3)); len(got) != 1 || got[0].Detected != want {
			t.Errorf("%v pixels beside it: %+v; want it detected as %d", off, got, want)
		}
	}
}

// A second box on a person whose track has one begins no other, unless it is mostly beside it.
func TestBeginsBeside(t *testing.T) {
	for off, want := range map[float64]int{14: 1, 20: 2} { // IoU .48 and .33
		k := tracker(t, Config{})
		play(k, 0, second, 10, func(float64) []Detection {
			return []Detection{seen(at(200, 300), .8), seen(at(200+off, 300), .7)}
		}, func(s float64, now []Track, _ []Ended) {
			if s > 0 && len(now) != want {
				t.Errorf("%v pixels beside it, after %v s: %+v; want %d", off, s, now, want)
			}
		})
	}
}

// The upper half of what has a track begins no other track if it is a part of that, and does if it is not, or nothing is said of it.
func TestPartOfATrack(t *testing.T) {
	whole, half := Box{200, 200, 240, 320}, Box{200, 200, 240, 248} // IoU .4
	for name, tt := range map[string]struct {
		part func(first, second int) bool
		half Box
		want int
	}{
		"a part":     {func(first, second int) bool { return first == 1 && second == 0 }, half, 1},
		"another":    {func(int, int) bool { return false }, half, 2},
		"not known":  {nil, half, 2},
		"the larger": {func(first, second int) bool { return first == 0 && second == 1 }, Box{180, 200, 280, 500}, 1},
	} {
		k := tracker(t, Config{})
		for n := range 10 {
			found := []Detection{seen(whole, .9)}
			if n > 2 {
				found = append(found, seen(tt.half, .8))
			}
			now, _ := k.Step(&Frame{Time: time.Duration(n) * 100 * time.Millisecond, Width: 1000, Height: 500, Found: found, Part: tt.part})
			if n == 9 && len(now) != tt.want {
				t.Errorf("%s: %+v; want %d", name, now, tt.want)
			}
		}
	}
}

// What is sure once and hardly likely from then on is nothing: a post, a poster. What is sure again is known again.
func TestUnlikely(t *testing.T) {
	for name, c := range map[string]struct {
		score func(s float64) float64
		want  []State // at the end
	}{
		"a post":              {func(s float64) float64 { return first(s, .5, .7, .1) }, nil},
		"a poster":            {func(float64) float64 { return .6 }, []State{Tentative}},
		"a person who stands": {func(s float64) float64 { return first(s, .5, .7, .5) }, []State{Seen}},
		"one hidden by half":  {func(s float64) float64 { return first(s, .5, .7, .25) }, []State{Seen}},
		"one who was hidden":  {func(s float64) float64 { return first(s, 5, first(s, 1, .7, .1), .7) }, []State{Seen}},
	} {
		t.Run(name, func(t *testing.T) {
			k := tracker(t, Config{})
			var last []Track
			play(k, 0, 10*second, 10, func(s float64) []Detection { return []Detection{seen(at(200, 300), c.score(s), red...)} }, func(_ float64, tracks []Track, _ []Ended) {
				last = slices.Clone(tracks)
			})
			if !cmp.Equal(states(last), c.want) || len(last) > 0 && last[0].ID != 1 {
				t.Errorf("tracks %+v; want %v", last, c.want)
			}
		})
	}
}

// first is a before a time, then b.
func first(s, until, a, b float64) float64 {
	if s < until {
		return a
	}
	return b
}

func TestKnownAgain(t *testing.T) {
	for name, c := range map[string]struct {
		where Box
		looks []float32
		id    uint32
	}{
		"who looks like it":          {at(400, 300), red, 1},
		"who does not":               {at(400, 300), blue, 2},
		"who looks like nothing":     {at(400, 300), nil, 2},
		"who is too far away":        {at(900, 300), red, 2},
		"who is of another distance": {Box{390, 250, 410, 300}, red, 2},
	} {
		t.Run(name, func(t *testing.T) {
			k := tracker(t, Config{})
			play(k, 0, second, 10, func(float64) []Detection { return []Detection{seen(at(200, 300), .8, red...)} }, nil)
			play(k, second, 4*second, 10, func(float64) []Detection { return nil }, nil)
			tracks := step(k, 4, seen(c.where, .8, c.looks...))
			if got := nearest(tracks, c.where); got.ID != c.id || (got.State == Seen) != (c.id == 1) || got.Detected != 0 {
				t.Errorf("it is %+v; want %d", got, c.id)
			}
		})
	}
}

// Who is known again is taken from none who looks more like him so that there may be one more: of two who are lost, one
// came back, with a stranger who looks a little like him, and the other looks a little like the one.
func TestKnownAgainIsNotForced(t *testing.T) {
	returned, stranger := at(300, 300), at(420, 300)
	one, other := []float32{1, 0, 0}, []float32{.72, .69397, 0}
	for _, restart := range []bool{false, true} {
		k := tracker(t, Config{})
		play(k, 0, second, 10, func(float64) []Detection {
			return []Detection{seen(at(300, 300), .8, one...), seen(at(200, 300), .8, other...)}
		}, nil)
		if restart {
			s := k.Snapshot()
			k = tracker(t, Config{})
			require.NoError(t, k.Restore(s))
		}
		tracks := step(k, 4, seen(returned, .8, one...), seen(stranger, .8, .75, 0, .66144))
		if got := nearest(tracks, returned); got.ID != 1 || got.State != Seen {
			t.Errorf("restarted %t: who returned is %+v; want 1", restart, got)
		}
		if got := nearest(tracks, stranger); got.ID <= 2 {
			t.Errorf("restarted %t: the stranger is %d", restart, got.ID)
		}
	}
}

// After a pause it is not known quite where a person is, and looks decide, even of what is where one was to be expected.
func TestAPauseLeavesTheLooks(t *testing.T) {
	expected, elsewhere := at(300, 300), at(430, 300)
	other := []float32{.6, 0, .8} // something red about it
	for name, c := range map[string]struct {
		looks [2][]float32 // of what is at both places
		first bool         // whether what is where it was to be expected is it
	}{
		"it and another": {[2][]float32{other, red}, false}, "it where it was to be": {[2][]float32{red, other}, true}, "no looks": {first: true},
	} {
		for _, restart := range []bool{false, true} {
			k := tracker(t, Config{})
			looks := red
			if c.looks[0] == nil {
				looks = nil
			}
			play(k, 0, second, 10, func(s float64) []Detection { return []Detection{seen(at(200+25*s, 300), .8, looks...)} }, nil)
			if restart {
				s := k.Snapshot()
				k = tracker(t, Config{})
				require.NoError(t, k.Restore(s))
			}
			tracks := step(k, 4, seen(expected, .8, c.looks[0]...), seen(elsewhere, .8, c.looks[1]...))
			assert.Equal(t, c.first, nearest(tracks, expected).ID == 1, "%s, restarted %t: %+v", name, restart, tracks)
		}
	}
}

// What the clock does: after a minute no one is known, when it jumps back all are.
func TestClock(t *testing.T) {
	for name, c := range map[string]struct {
		jump time.Duration
		id   uint32
	}{
		"a second": {second, 1}, "a minute": {time.Minute, 2}, "for ever": {math.MaxInt64 - 2*second, 2},
		"back": {-time.Hour, 1}, "back for ever": {math.MinInt64, 1}, "not at all": {-100 * time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := tracker(t, Config{})
			for i := range 20 {
				time := time.Duration(i) * second / 10
				if i >= 10 {
					time += c.jump
				}
				tracks, _ := k.Step(&Frame{Time: time, Width: 1000, Height: 500, Found: []Detection{seen(at(100+float64(i), 300), .8)}})
				require.Equal(t, map[bool]uint32{true: 1, false: c.id}[i < 10], nearest(tracks, at(100+float64(i), 300)).ID, "frame %d: %+v", i, tracks)
			}
		})
	}
}

// A box that is detected weighs by how long ago the one before was, not by how many frames there were in between.
func TestFramesBetweenDetections(t *testing.T) {
	var want Box
	for _, rate := range []int{2, 10, 50} {
		k := tracker(t, Config{})
		var box Box
		for i := range 4*rate + 1 {
			s := float64(i) / float64(rate)
			f := &Frame{Time: time.Duration(s * float64(second)), Width: 1000, Height: 500, Looked: []Box{{}}}
			if 2*i%rate == 0 {
				f.Looked = nil
				f.Found = []Detection{seen(at(300+20*s+20*math.Mod(2*s, 2), 300), .8)}
			}
			tracks, _ := k.Step(f)
			box = tracks[0].Box
		}
		if want == (Box{}) {
			want = box
		}
		if box.iou(want) < .99 {
			t.Errorf("%d frames a second: %v; with 2 %v", rate, box, want)
		}
	}
}

// The tracks of a scene are the same however many frames there are of it.
func TestRate(t *testing.T) {
	scene := func(s float64) []Detection {
		found := []Detection{seen(at(100+90*s, 300), .8, red...), seen(at(800, 450), .55, blue...)}
		if s > 1.95 && s < 2.65 { // hidden
			found = found[1:]
		}
		if s > 3.95 { // it appears
			found = append(found, seen(at(500, 250+30*(s-4)), .7, blue...))
		}
		return found
	}
	var want []Track
	for _, rate := range []float64{10, 5, 25, 50} {
		k := tracker(t, Config{})
		var tracks []Track
		ended := 0
		play(k, 0, 6*second+1, rate, scene, func(_ float64, now []Track, e []Ended) {
			tracks = now
			ended += len(e)
		})
		if ended != 0 || len(tracks) != 3 {
			t.Fatalf("%v a second: %d tracks ended, there are %+v", rate, ended, tracks)
		}
		if want == nil {
			want = append(want, tracks...)
			continue
		}
		for i, k := range tracks {
			w := want[i]
			if k.ID != w.ID || k.State != w.State || k.Box.iou(w.Box) < .95 || math.Hypot(k.Velocity[0]-w.Velocity[0], k.Velocity[1]-w.Velocity[1]) > 5 {
				t.Errorf("%v a second: %+v; with 10 %+v", rate, k, w)
			}
		}
	}
}

func TestWhereNobodyLooks(t *testing.T) {
	for name, c := range map[string]struct {
		looked []Box
		want   State
	}{
		"all":                {nil, Lost},
		"round it":           {[]Box{{0, 0, 50, 50}, {150, 150, 260, 320}}, Lost},
		"at a part of it":    {[]Box{{150, 250, 260, 320}}, Seen},
		"elsewhere":          {[]Box{{500, 0, 1000, 500}}, Seen},
		"nowhere":            {[]Box{{}}, Seen},
		"what is no number":  {[]Box{{math.NaN(), 0, 1000, 500}}, Seen},
		"further than it is": {[]Box{{-1e9, -1e9, 1e9, 1e9}}, Lost},
	} {
		t.Run(name, func(t *testing.T) {
			k := tracker(t, Config{})
			play(k, 0, second, 10, func(float64) []Detection { return []Detection{seen(at(200, 300), .8)} }, nil)
			for i := range 30 {
				tracks, _ := k.Step(&Frame{Time: second + time.Duration(i)*second/10, Width: 1000, Height: 500, Looked: c.looked})
				if i == 29 && !cmp.Equal(states(tracks), []State{c.want}) {
					t.Errorf("%+v; want %v", tracks, c.want)
				}
			}
		})
	}
}

// However long there was no look: one look in vain is one.
func TestOneLookInVain(t *testing.T) {
	k := tracker(t, Config{})
	play(k, 0, second, 10, func(float64) []Detection { return []Detection{seen(at(200, 300), .8)} }, nil)
	for i := range 40 {
		f := Frame{Time: second + time.Duration(i)*second/10, Looked: []Box{{}}}
		if i == 30 {
			f.Looked = nil
		}
		if tracks, _ := k.Step(&f); len(tracks) != 1 || (tracks[0].State == Seen) != (i < 30) || tracks[0].State == Lost {
			t.Fatalf("frame %d: %+v", i, tracks)
		}
	}
}

// A track that is looked for once a second is not lost by one look that does not find it.
func TestRareLooks(t *testing.T) {
	k := tracker(t, Config{})
	for i := range 8 {
		var found []Detection
		if i != 3 {
			found = []Detection{seen(at(200+10*float64(i), 300), .8)}
		}
		tracks := step(k, float64(i), found...)
		if len(tracks) != 1 || tracks[0].ID != 1 || tracks[0].State == Lost {
			t.Errorf("second %d: %+v", i, tracks)
		}
	}
}

func TestLeaves(t *testing.T) {
	k := tracker(t, Config{})
	var gone []Ended
	play(k, 0, 4*second, 10, func(s float64) []Detection {
		b := at(900+100*s, 300)
		if b.X0 > 980 {
			return nil
		}
		b.X1 = min(b.X1, 1000)
		return []Detection{seen(b, .8)}
	}, func(_ float64, _ []Track, ended []Ended) { gone = append(gone, ended...) })
	if want := []Ended{{ID: 1, Reason: Left}}; !cmp.Equal(gone, want) {
		t.Errorf("%+v ended; want %+v", gone, want)
	}
}

// A car that the border of the picture cuts goes on as fast and as long as it was seen to be.
func TestBorderCuts(t *testing.T) {
	k := tracker(t, Config{})
	drive := func(s float64) Box { return Box{200*s - 100, 100, 200*s + 200, 200} }
	play(k, 0, 5*second, 25, func(s float64) []Detection {
		return []Detection{{Box: drive(s).intersect(Box{0, 0, 1000, 500}), Class: "car", Score: .9}}
	}, func(s float64, tracks []Track, _ []Ended) {
		if s < 4.4 {
			return
		}
		if len(tracks) != 1 || tracks[0].ID != 1 || tracks[0].Velocity[0] < 150 || tracks[0].Box.iou(drive(s)) < .9 {
			t.Fatalf("after %v s there are %+v; want one of 200 pixels a second at %v", s, tracks, drive(s))
		}
	})
}

func TestClasses(t *testing.T) {
	k := tracker(t, Config{})
	classes := []string{"car", "truck", "car", "bus"}
	for i, class := range classes {
		tracks := step(k, .1*float64(i), Detection{Box: at(200, 300), Class: class, Score: []float64{.7, .8, .6, .6}[i]})
		if want := []string{"car", "truck", "truck", "truck"}[i]; len(tracks) != 1 || tracks[0].Class != want {
			t.Errorf("frame %d: %+v; want one %s", i, tracks, want)
		}
	}
	tracks := step(k, .4, Detection{Box: at(200, 300), Class: "person", Score: .8})
	if len(tracks) != 2 || tracks[0].Detected != -1 || tracks[1].Class != "person" {
		t.Errorf("a person is %+v", tracks)
	}
}

func TestMost(t *testing.T) {
	k := tracker(t, Config{})
	many := func(n int, y float64) (found []Detection) {
		for i := range n {
			x, y := 12*float64(i%80), y+20*float64(i/80)
			found = append(found, seen(Box{x, y, x + 10, y + 15}, .8-.0001*float64(i)))
		}
		return found
	}
	play(k, 0, second, 10, func(float64) []Detection { return many(mostTracks+10, 200) }, func(_ float64, tracks []Track, _ []Ended) {
		if len(tracks) != mostTracks || tracks[mostTracks-1].ID != mostTracks {
			t.Fatalf("%d tracks", len(tracks))
		}
	})
	play(k, second, 3*second, 10, func(float64) []Detection { return nil }, nil)
	// What is lost makes room.
	tracks, ended := k.Step(&Frame{Time: 3 * second, Found: many(1, 450)})
	if len(tracks) != mostTracks || tracks[mostTracks-1].ID != mostTracks+1 || len(ended) != 1 || ended[0].Reason != Forgotten {
		t.Errorf("%+v, %+v", tracks, ended)
	}
}

func TestSnapshotAndRestore(t *testing.T) {
	scene := func(s float64) []Detection {
		return []Detection{seen(at(100+90*s, 300), .8, red...), seen(at(800-40*s, 450), .7, blue...)}
	}
	k := tracker(t, Config{})
	play(k, 0, 2*second, 10, scene, nil)
	step(k, 2, scene(2)[0], seen(at(500, 250), .6))
	saved := k.Snapshot()
	if len(saved.Tracks) != 2 || saved.Next != 4 || saved.Tracks[1].Unseen != second/10 {
		t.Fatalf("%+v", saved)
	}
	again := tracker(t, Config{})
	step(again, 100, seen(at(50, 300), .9)) // goes
	require.NoError(t, again.Restore(saved))
	assert.Empty(t, cmp.Diff(saved, again.Snapshot(), cmpopts.EquateApprox(0, 1e-9)))
	if tracks := step(again, 2.1, scene(2.1)...); len(tracks) != 2 || tracks[0].ID != 1 || tracks[0].Detected != 0 || tracks[1].ID != 2 || tracks[1].Detected != 1 {
		t.Errorf("%+v", tracks)
	}
	if err := again.Restore(Snapshot{}); err != nil || !cmp.Equal(again.Snapshot(), Snapshot{Next: 1}) {
		t.Errorf("%v: %+v", err, again.Snapshot())
	}
	for name, spoil := range map[string]func(s *Snapshot){
		"box":        func(s *Snapshot) { s.Tracks[0].Box.X1 = math.NaN() },
		"velocity":   func(s *Snapshot) { s.Tracks[0].Velocity[1] = math.Inf(1) },
		"score":      func(s *Snapshot) { s.Tracks[0].Score = 2 },
		"seen":       func(s *Snapshot) { s.Tracks[0].Unseen = -1 },
		"appearance": func(s *Snapshot) { s.Tracks[0].Appearance = []float32{1, 1} },
		"ids":        func(s *Snapshot) { s.Tracks[0].ID = 2 },
		"before 2":   func(s *Snapshot) { s.Next = 2 },
		"tracks":     func(s *Snapshot) { s.Tracks = make([]Saved, 1000) },
	} {
		s := k.Snapshot()
		spoil(&s)
		before := again.Snapshot()
		if err := again.Restore(s); err == nil || !strings.Contains(err.Error(), name) || !cmp.Equal(before, again.Snapshot()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfig(t *testing.T) {
	_, err := New(Config{Confirm: math.Inf(1), Keep: -1, Reidentify: 2})
	for _, want := range []string{"Confirm", "Keep", "Reidentify"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; it says nothing of %s", err, want)
		}
	}
}

// The four filters are the one of eight states that gonum would compute.
func TestFilterIsKalmans(t *testing.T) {
	m := begin(at(200, 300), .6, "car", 800)
	m.x.v, m.y.v = 3, 4
	x := mat.NewVecDense(8, []float64{m.x.x, m.y.x, m.width.x, m.height.x, m.x.v, m.y.v, m.width.v, m.height.v})
	p := mat.NewDense(8, 8, nil)
	for i, v := range []float64{m.x.xx, m.y.xx, m.width.xx, m.height.xx, m.x.vv, m.y.vv, m.width.vv, m.height.vv} {
		p.Set(i, i, v)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		d, l := time.Duration(rng.Int64N(int64(second))), m.box().length()
		s := d.Seconds()
		f, q := mat.NewDense(8, 8, nil), mat.NewDense(8, 8, nil)
		for i := range 8 {
			f.Set(i, i, 1)
		}
		for i, n := range [][2]float64{{driftAt, m.across}, {driftAt, m.across}, {driftSize, m.nearer * slant * l / 800}, {driftSize, m.nearer * slant * l / 800}} {
			a := math.Pow(acceleration*n[1]*l, 2)
			q.Set(i, i, n[0]*n[0]*l*l*s+a*s*s*s/3)
			f.Set(i, i+4, s)
			q.Set(i, i+4, a*s*s/2)
			q.Set(i+4, i, a*s*s/2)
			q.Set(i+4, i+4, a*s)
		}
		var nx mat.VecDense
		nx.MulVec(f, x)
		var np mat.Dense
		np.Product(f, p, f.T())
		np.Add(&np, q)
		m.predict(d)

		b := at(200+20*rng.Float64(), 300+20*rng.Float64())
		l = m.box().length()
		h, r := mat.NewDense(4, 8, nil), mat.NewDense(4, 4, nil)
		chance := rng.Float64()
		for i, off := range []float64{.15 - .14*chance, .15 - .14*chance, .3 - .28*chance, .3 - .28*chance} {
			h.Set(i, i, 1)
			r.Set(i, i, off*l*off*l)
		}
		var sum, gain, inverse, up mat.Dense
		sum.Product(h, &np, h.T())
		sum.Add(&sum, r)
		require.NoError(t, inverse.Inverse(&sum))
		gain.Product(&np, h.T(), &inverse)
		var off mat.VecDense
		off.MulVec(h, &nx)
		off.SubVec(mat.NewVecDense(4, []float64{(b.X0 + b.X1) / 2, (b.Y0 + b.Y1) / 2, b.X1 - b.X0, b.Y1 - b.Y0}), &off)
		var by mat.VecDense
		by.MulVec(&gain, &off)
		x.AddVec(&nx, &by)
		up.Product(&gain, h, &np)
		p.Sub(&np, &up)
		m.update(b, b, second, chance)

		got := []float64{m.x.x, m.y.x, m.width.x, m.height.x, m.x.v, m.y.v, m.x.xx, m.x.xv, m.x.vv, m.y.xv, m.width.v, m.height.vv}
		want := []float64{x.AtVec(0), x.AtVec(1), x.AtVec(2), x.AtVec(3), x.AtVec(4), x.AtVec(5), p.At(0, 0), p.At(0, 4), p.At(4, 4), p.At(1, 5), x.AtVec(6), p.At(7, 7)}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9*(1+math.Abs(want[i])) {
				t.Fatalf("%v; want %v", got, want)
			}
		}
	}
}

// crowd is n persons who walk to and fro.
func crowd(n int) func(s float64) []Detection {
	rng := rand.New(rand.NewPCG(1, 2))
	phase, looks := make([]float64, n), make([][]float32, n)
	for i := range n {
		phase[i] = rng.Float64()
		looks[i] = unitOf(rng, 64)
	}
	found := make([]Detection, n)
	return func(s float64) []Detection {
		for i := range found {
			found[i] = seen(at(500+400*math.Sin(.2*s+7*phase[i]), 100+400*phase[i]), .5+.5*phase[i], looks[i]...)
		}
		return found
	}
}

func unitOf(rng *rand.Rand, n int) []float32 {
	a, sum := make([]float32, n), 0.
	for i := range a {
		a[i] = rng.Float32()
		sum += float64(a[i]) * float64(a[i])
	}
	for i := range a {
		a[i] /= float32(math.Sqrt(sum))
	}
	return a
}

func TestStepAllocatesNothing(t *testing.T) {
	k, scene, s := tracker(t, Config{}), crowd(30), 0.
	f := &Frame{Width: 1000, Height: 500}
	next := func() {
		s += .1
		f.Time, f.Found = time.Duration(s*float64(second)), scene(s)
		k.Step(f)
	}
	for range 600 {
		next()
	}
	if n := testing.AllocsPerRun(100, next); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}

func BenchmarkStep(b *testing.B) {
	for name, n := range map[string]int{"10": 10, "30": 30, "500": 500} {
		b.Run(name, func(b *testing.B) {
			k, scene, s := tracker(b, Config{}), crowd(n), 0.
			for b.Loop() {
				s += .1
				k.Step(&Frame{Time: time.Duration(s * float64(second)), Width: 1000, Height: 500, Found: scene(s)})
			}
		})
	}
}

// Whatever a detector says, tracks are boxes with numbers, bounded, of different ids; and what was saved resumes.
func FuzzStep(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint8(20))
	f.Add(uint64(0), math.Float64bits(math.NaN()), uint8(200))
	f.Fuzz(func(t *testing.T, seed, value uint64, steps uint8) {
		k, rng := tracker(t, Config{}), rand.New(rand.NewPCG(seed, value))
		number := func() float64 {
			switch rng.IntN(20) {
			case 0:
				return math.Float64frombits(rng.Uint64())
			case 1:
				return math.Float64frombits(value)
			}
			return 600 * rng.Float64()
		}
		box := func() Box {
			x, y := number(), number()
			return Box{x, y, x + number()/4, y + number()/4}
		}
		ids, clock := map[uint32]bool{}, time.Duration(0)
		for range steps {
			clock += time.Duration(rng.IntN(2e8))
			if rng.IntN(20) == 0 {
				clock = time.Duration(rng.Uint64())
			}
			frame := Frame{Time: clock, Width: number(), Height: number()}
			for range rng.IntN(60) {
				d := Detection{Box: box(), Class: []string{"person", "car", "bus", ""}[rng.IntN(4)], Score: number() / 600, Appearance: unitOf(rng, rng.IntN(3))}
				if rng.IntN(10) == 0 && len(d.Appearance) > 0 {
					d.Appearance[0] = float32(number())
				}
				frame.Found = append(frame.Found, d)
			}
			for range rng.IntN(3) {
				frame.Looked = append(frame.Looked, box())
			}
			tracks, ended := k.Step(&frame)
			if len(tracks) > mostTracks {
				t.Fatalf("%d tracks", len(tracks))
			}
			now := map[uint32]bool{}
			for _, o := range tracks {
				if !o.Box.valid() || now[o.ID] || o.ID == 0 || o.Detected >= len(frame.Found) || !(o.Score >= 0 && o.Score <= 1) || !(math.Abs(o.Velocity[0]+o.Velocity[1]) < math.Inf(1)) {
					t.Fatalf("%+v", o)
				}
				now[o.ID] = true
			}
			for _, e := range ended {
				if now[e.ID] {
					t.Fatalf("%+v of %+v", ended, tracks)
				}
				now[e.ID] = true
			}
			for id := range ids {
				if !now[id] {
					t.Fatalf("%d went without a word", id)
				}
			}
			for _, e := range ended {
				delete(now, e.ID)
			}
			ids = now
			if rng.IntN(10) == 0 {
				require.NoError(t, k.Restore(k.Snapshot()))
				clear(ids)
			}
		}
	})
}

// What people mark has a track at once: it waits a second for what is detected there and looks like it, is of that class then, and
// keeps its number.
func TestMark(t *testing.T) {
	for _, tt := range []struct {
		name  string
		looks []float32 // of the mark
		after float64   // seconds to the detection, which is red
		box   Box
		want  bool
	}{
		{"soon", red, .3, at(220, 300), true},
		{"it was hidden, and looks like nothing", nil, .3, at(220, 300), true},
		{"it looks different", blue, .3, at(220, 300), false},
		{"too late", red, 1.5, at(220, 300), false},
		{"a part of it", red, .3, Box{205, 240, 225, 300}, false},
	} {
		k := tracker(t, Config{})
		step(k, 0, seen(at(203, 300), .8, red...))
		id := k.Mark(at(200, 300), "", tt.looks)
		if id != 2 || len(k.tracks) != 1 {
			t.Fatalf("%s: it has number %d of %d; want that of the only one, as what was detected there is it", tt.name, id, len(k.tracks))
		}
		for s := .1; s < tt.after-.01; s += .1 {
			if tracks := step(k, s); s < .9 && (len(tracks) != 1 || tracks[0].State != Tentative) {
				t.Errorf("%s: after %v s %+v", tt.name, s, tracks)
			}
		}
		tracks := step(k, tt.after, seen(tt.box, .8, red...))
		got := slices.ContainsFunc(tracks, func(k Track) bool { return k.ID == id && k.Detected == 0 && k.Class == "person" && k.State == Seen })
		if got != tt.want {
			t.Errorf("%s: %+v; want it to be found: %t", tt.name, tracks, tt.want)
		}
	}
	k := tracker(t, Config{})
	for n := range mostTracks {
		if k.Mark(at(60*float64(n), 300), "person", red) == 0 {
			t.Fatalf("%d are too many", n)
		}
	}
	assert.EqualValues(t, 0, k.Mark(at(400, 600), "person", red), "there are more than %d", mostTracks)
}
