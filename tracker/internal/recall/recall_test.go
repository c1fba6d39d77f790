package recall

import (
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scenetest"
	"github.com/segd/segd/tracker/internal/trackstate"
)

// Votes are those of the k rows that resemble a query most, however rows and queries
// are cut into blocks.
func TestVotesOfTheMostAlike(t *testing.T) {
	const d, k, temperature = 9, propagation.Links, propagation.Temperature
	random := rand.New(rand.NewPCG(8, 1))
	unit := func(n int) []float32 {
		rows := make([]float32, n*d)
		for row := range slices.Chunk(rows, d) {
			length := 0.0
			for i := range row {
				row[i] = float32(random.NormFloat64())
				length += float64(row[i]) * float64(row[i])
			}
			for i := range row {
				row[i] /= float32(math.Sqrt(length))
			}
		}
		return rows
	}
	var r Recall
	for _, n := range []int{0, 1, k, rowBlock, 2*rowBlock + 3} {
		for _, m := range []int{1, queryBlock, queryBlock + 1} {
			rows := unit(n)
			r.queries = unit(m)
			r.vote(rows, d)
			for c, got := range r.votes {
				var all []float64
				for i := range n {
					cosine := 0.0
					for j := range d {
						cosine += float64(r.queries[c*d+j]) * float64(rows[i*d+j])
					}
					all = append(all, math.Exp((cosine-1)/temperature))
				}
				slices.Sort(all)
				want := 0.0
				for _, v := range all[max(0, n-k):] {
					want += v
				}
				if math.Abs(got-want) > 1e-4*(1+want) {
					t.Errorf("%d rows, query %d of %d: votes %v, want %v", n, c, m, got, want)
				}
			}
			if len(r.votes) != m {
				t.Errorf("%d rows: %d votes, want %d", n, len(r.votes), m)
			}
		}
	}
}

// memory is how many sightings are remembered.
const memory = 3

// sight is a scene with a red rectangle, which is the object, on a blue floor, or
// without it.
func sight(t *testing.T, there bool) (*Sighting, *features.Scene, *features.Projection) {
	t.Helper()
	inside := func(i int) bool { x, y := i%cols, i/cols; return x >= 3 && x < 6 && y >= 4 && y < 7 }
	scene := func(there bool) *features.Scene {
		return scenetest.Squares(1, cols, rows, func(x, y int) [3]float64 {
			if there && inside(y/scenetest.Side*cols+x/scenetest.Side) {
				return [3]float64{50, 60, float64(40 + x%5)}
			}
			return [3]float64{float64(40 + (7*x+3*y)%20), 10, float64(-40 - y%5)}
		})
	}
	projection, err := features.FitProjection(scene(true), 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	s := scene(there)
	v := &Sighting{Confident: []bool{false, true}}
	v.Picture, v.Observed = pool.Make(s, projection, 0.25), []bool{true, true}
	for i := range v.N {
		if inside(i) {
			v.Soft = append(v.Soft, 0, 1)
		} else {
			v.Soft = append(v.Soft, 1, 0)
		}
	}
	v.Finish(&propagation.Belief{}, nil, 2)
	return v, s, projection
}

const cols, rows = 12, 10

// An object that is out of sight is detected where it is, not where there is nothing
// like it, and not while it is confirmed.
func TestDetect(t *testing.T) {
	v, s, projection := sight(t, true)
	other, _, _ := sight(t, false)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	hidden := trackstate.Object{State: trackstate.Occluded, Area: 9 * 36, X: 27, Y: 33, Unseen: 30}
	for _, tt := range []struct {
		name  string
		p     *picture.Picture
		o     trackstate.Object
		there bool
	}{
		{"the same picture", v.Picture, hidden, true},
		{"another picture", other.Picture, hidden, false},
		{"a confirmed object", v.Picture, trackstate.Object{Area: 9 * 36, X: 27, Y: 33}, false},
		{"far from where it was", v.Picture, trackstate.Object{State: trackstate.Occluded, Area: 9 * 36, X: 500, Y: 500}, false},
	} {
		// Where nothing is known of smaller views, none are looked at.
		r.scales.Units = r.scales.Units[:0]
		found := propagation.Detection{Probability: []float64{7}}
		r.Detect(tt.p, []propagation.Object{{Object: &tt.o, Detection: &found}}, []*Sighting{v})
		want := tt.p.N
		if tt.o.Confirmed() {
			want = 0
		}
		if len(found.Probability) != want || len(found.Suspect) != want {
			t.Fatalf("%s: %d probabilities; want %d", tt.name, len(found.Probability), want)
		}
		for i, p := range found.Probability {
			if want := tt.there && v.Soft[2*i+1] == 1; want != (p > 0.5) || p < 0 || p >= 1 || p > 0 && p < leastProbability {
				t.Errorf("%s: superpixel %d has %g; want it detected: %t", tt.name, i, p, want)
			}
		}
	}
}

// The background votes once for a superpixel, whichever objects ask, and anew in the next picture.
func TestBackgroundVotesOnce(t *testing.T) {
	v, s, projection := sight(t, true)
	other, _, _ := sight(t, false)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	r.scales.Units = r.scales.Units[:0]
	of := *v // both objects look like the rectangle
	of.Soft, of.Observed = nil, []bool{true, true, true}
	for i := range v.N {
		of.Soft = append(of.Soft, v.Soft[2*i], v.Soft[2*i+1], v.Soft[2*i+1])
	}
	found := make([]propagation.Detection, 2)
	detect := func(p *picture.Picture, first, second trackstate.State) [][]float64 {
		a := trackstate.Object{State: first, Area: 9 * 36, X: 27, Y: 33, Unseen: 30}
		b := trackstate.Object{State: second, Area: 9 * 36, X: 40, Y: 33, Unseen: 30}
		r.Detect(p, []propagation.Object{{Object: &a, Detection: &found[0]}, {Object: &b, Detection: &found[1]}}, []*Sighting{&of})
		return [][]float64{slices.Clone(found[0].Probability), slices.Clone(found[1].Probability)}
	}
	const hidden, seen = trackstate.Occluded, trackstate.Visible
	first, second := detect(v.Picture, hidden, seen)[0], detect(v.Picture, seen, hidden)[1]
	require.NotEmpty(t, r.asked)
	require.NotEqual(t, first, detect(other.Picture, hidden, seen)[0])
	require.Equal(t, [][]float64{first, second}, detect(v.Picture, hidden, hidden))
	require.Empty(t, r.asked, "what the second asks")
}

// What is seen larger is looked for, and may be, in as much of its surroundings only.
func TestReachFollowsTheZoom(t *testing.T) {
	size := image.Pt(1708, 960)
	whole := Reach(&trackstate.Object{Unseen: 3}, size.Div(2))
	if got := Reach(&trackstate.Object{Unseen: 3, Zoom: 2}, size); math.Abs(got-whole) > 1e-9 {
		t.Errorf("at zoom 2 it is looked for within %g pixels; want %g as in half the picture", got, whole)
	}
	v, s, projection := sight(t, true)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	for zoom, there := range map[int]bool{1: true, 16: false} {
		o := trackstate.Object{State: trackstate.Occluded, Area: 9 * 36, X: 27 + 40, Y: 33, Unseen: 10, Zoom: zoom}
		found := propagation.Detection{}
		r.Detect(v.Picture, []propagation.Object{{Object: &o, Detection: &found}}, []*Sighting{v})
		if got := slices.Max(found.Probability) > 0; got != there {
			t.Errorf("at zoom %d it is detected where it is: %t; want %t", zoom, got, there)
		}
	}
}

// What is a small part of what the object should be is not the object, unless that came
// back a moment ago.
func TestDetectTooLittle(t *testing.T) {
	v, s, projection := sight(t, true)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	r.scales.Units = r.scales.Units[:0]
	place := trackstate.Sight{Area: 9 * 36, X: 27, Y: 33}
	var hidden, back trackstate.Object
	hidden.Observe(place, true, 1, 50)
	hidden.Observe(trackstate.Sight{}, false, 1, 50)
	back = hidden
	back.Observe(place, false, 1, 50)
	for _, tt := range []struct {
		name string
		o    *trackstate.Object
		area float64
		want bool
	}{
		{"as large as it was", &hidden, 9 * 36, true},
		{"a tiny part of it", &hidden, 9 * 36 * 30, false},
		{"a tiny part of what is on probation", &back, 9 * 36 * 30, true},
	} {
		tt.o.Area = tt.area
		var found propagation.Detection
		r.Detect(v.Picture, []propagation.Object{{Object: tt.o, Detection: &found}}, []*Sighting{v})
		if got := slices.Max(found.Probability) > 0; got != tt.want {
			t.Errorf("%s: detected %t; want %t", tt.name, got, tt.want)
		}
	}
}

// What is not there at the picture's size, but at half of it, is found there.
func TestDetectRescaled(t *testing.T) {
	v, s, projection := sight(t, true)
	other, _, _ := sight(t, false)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	r.background[1] = r.background[0]
	const small, large = 9 * 36 / 16, 2 * 9 * 36
	for _, tt := range []struct {
		name               string
		size, half         *Sighting // what is seen at the picture's size, and at half of it
		area               float64
		detected, rescaled bool
	}{
		{"as large as it was", v, other, small, true, false},
		{"twice as large", other, v, small, true, true},
		{"at neither size", other, other, large, false, false},
	} {
		r.scales.Units = [][]float32{tt.half.Unit}
		var found propagation.Detection
		o := trackstate.Object{State: trackstate.Occluded, Area: tt.area, X: 27, Y: 33, Unseen: 12}
		r.Detect(tt.size.Picture, []propagation.Object{{Object: &o, Detection: &found}}, []*Sighting{v})
		if most := slices.Max(found.Probability); most >= 0.5 != tt.detected || tt.detected && found.Rescaled != tt.rescaled {
			t.Errorf("%s: probability %.2f, rescaled %t; want a detection %t, rescaled %t", tt.name, most, found.Rescaled, tt.detected, tt.rescaled)
		}
	}
}

// Background is learnt at every size, bounded, without what may have been the object.
func TestLearn(t *testing.T) {
	v, s, projection := sight(t, true)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	d, y := v.UnitDim(), make([]int32, v.N)
	background := v.N - 9
	for size, rows := range r.background {
		if len(rows) != (background+1)/2*d {
			t.Errorf("size %d: %d rows; want every other one of %d", size, len(rows)/d, background)
		}
	}
	if r.sizes() != 2 {
		t.Fatalf("%d sizes; want 2", r.sizes())
	}
	object := propagation.Object{Object: &trackstate.Object{}, Detection: &propagation.Detection{Suspect: make([]bool, v.N)}}
	r.Learn(v.Picture, y, []propagation.Object{object}, 1)
	if len(r.background[0]) != (background+1)/2*d {
		t.Error("learnt while everything was in sight")
	}
	object.State = trackstate.Lost
	for i := range object.Suspect {
		object.Suspect[i] = i != 17
	}
	r.Learn(v.Picture, y, []propagation.Object{object}, 1)
	slot := slices.Index(v.Grid.Order, 17)
	if rows := r.background[0]; len(rows) != ((background+1)/2+1)*d || !slices.Equal(rows[len(rows)-d:], v.UnitAt(slot)) {
		t.Errorf("%d rows; want one more, that of superpixel 17", len(rows)/d)
	}
	object.Suspect = nil // it was confirmed until now
	for range 400 {
		r.Learn(v.Picture, y, []propagation.Object{object}, 1)
	}
	if n := len(r.background[0]) / d; n != maxBackground {
		t.Errorf("%d rows after a long time; want %d", n, maxBackground)
	}
}

// However many frames are dropped, as much of the background is learnt, unless there are fewer frames than that.
func TestDroppedFrames(t *testing.T) {
	const frames = 24
	v, s, projection := sight(t, false)
	for _, elapsed := range []int{1, 2, 3, 4, 8} {
		r := Recall{Memory: memory}
		r.Look(v.Picture, s, projection)
		r.LearnAnew(&v.Reference, 2)
		o := trackstate.Object{State: trackstate.Lost, Unseen: 300}
		object := propagation.Object{Object: &o, Detection: &propagation.Detection{Suspect: make([]bool, v.N)}}
		learnt := 0
		for range frames / elapsed {
			before := len(r.background[0])
			o.Observe(trackstate.Sight{}, false, elapsed, 0)
			if r.Learn(v.Picture, make([]int32, v.N), []propagation.Object{object}, elapsed); len(r.background[0]) > before {
				learnt++
			}
		}
		if want := frames / max(elapsed, learnEvery); learnt != want {
			t.Errorf("every %d: learnt in %d frames; want %d", elapsed, learnt, want)
		}
	}
}

func TestSearchAllocatesNothing(t *testing.T) {
	v, s, projection := sight(t, true)
	r := Recall{Memory: memory}
	o := []propagation.Object{{Object: &trackstate.Object{State: trackstate.Occluded, Area: 300, X: 30, Y: 30}, Detection: &propagation.Detection{}}}
	y, sightings := make([]int32, v.N), []*Sighting{v}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	step := func() {
		r.Look(v.Picture, s, projection)
		r.Detect(v.Picture, o, sightings)
		r.Learn(v.Picture, y, o, 1)
	}
	for range 300 {
		step()
	}
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%g allocations a frame; want none", n)
	}
}

func TestRememberKeepsWhatDiffers(t *testing.T) {
	at := func(angle float32) *Sighting {
		s := &Sighting{Confident: []bool{false, true}, looks: []float32{0, 0, 1 - angle, angle}}
		s.Picture = &picture.Picture{Seq: uint64(100 * angle), Dim: 2}
		return s
	}
	for _, tt := range []struct {
		name      string
		annotated []*Sighting
		want      []uint64 // 10 and 12, 50 and 52 show nearly the same; 95 is the latest
	}{
		{"nothing annotated", nil, []uint64{10, 50, 95}},
		{"annotated as the first", []*Sighting{at(0.11)}, []uint64{50, 90, 95}},
	} {
		r, dropped := Recall{Memory: memory}, 0
		for _, angle := range []float32{0.1, 0.5, 0.12, 0.9, 0.52, 0.95} {
			if r.Remember(at(angle), &propagation.Belief{}, tt.annotated) != nil {
				dropped++
			}
		}
		var got []uint64
		for _, s := range r.Remembered() {
			got = append(got, s.Seq)
		}
		if !slices.Equal(got, tt.want) || dropped != 3 {
			t.Errorf("%s: remembered %v, dropped %d; want %v and 3", tt.name, got, dropped, tt.want)
		}
	}
	var r Recall
	doubtful := at(0.3)
	doubtful.Confident[1] = false
	if r.Remember(doubtful, &propagation.Belief{}, nil) != doubtful {
		t.Error("remembered what shows no object beyond doubt")
	}
}

// Of what something shows that hides an object, a little is often taken for the object, and is not looked for later.
func TestRememberWhatIsSure(t *testing.T) {
	s, _, _ := sight(t, true)
	s.Confident = []bool{false, true}
	var b propagation.Belief
	b.Reset(s.N, 2)
	copy(b.Q, s.Soft)
	sure := 0
	for i := range s.N {
		if s.Soft[2*i+1] == 1 {
			if sure++; sure > 3 {
				b.Q[2*i], b.Q[2*i+1] = 0.4, 0.6
			}
		}
	}
	r := Recall{Memory: memory}
	r.Remember(s, &b, nil)
	if r.gatherLooks(1, 2, s.UnitDim(), nil); sure != 9 || len(r.looks) != 3*s.UnitDim() {
		t.Errorf("%d looks of an object of %d superpixels; want those of the 3 that are sure", len(r.looks)/s.UnitDim(), sure)
	}
	if s.Rows != nil {
		t.Error("what is remembered keeps the rows of a classifier")
	}
}

// A frame remembered from before an object was marked has no looks of it, and keeps
// those of the others when one of them goes.
func TestDropKeepsTheOthersLooks(t *testing.T) {
	s := &Sighting{
		Confident: []bool{false, true, true},
		looks:     []float32{0, 0, 1, 2, 3, 4}, // of the background and two objects
	}
	s.Picture = &picture.Picture{Dim: 2}
	s.Drop(1, 4)
	if !slices.Equal(s.Confident, []bool{false, true}) || !slices.Equal(s.looks, []float32{0, 0, 3, 4}) {
		t.Errorf("confident %v, looks %v; want those of the second object", s.Confident, s.looks)
	}
}

// What is not seen at a size is neither found nor learnt at it.
func TestNotSeenAtASize(t *testing.T) {
	v, s, projection := sight(t, true)
	other, _, _ := sight(t, false)
	r := Recall{Memory: memory}
	r.Look(v.Picture, s, projection)
	r.LearnAnew(&v.Reference, 2)
	s.Patches[0].Coarse = image.Rectangle{}
	r.Look(other.Picture, s, projection)
	if seen := slices.ContainsFunc(r.scales.Units[0], func(v float32) bool { return v != 0 }); seen {
		t.Error("what was not seen smaller has features at another size")
	}
	before := [2]int{len(r.background[0]), len(r.background[1])}
	o := trackstate.Object{State: trackstate.Occluded, Area: 9 * 36 / 16, X: 27, Y: 33, Unseen: 1}
	var found propagation.Detection
	objects := []propagation.Object{{Object: &o, Detection: &found}}
	r.Detect(other.Picture, objects, []*Sighting{v})
	r.Learn(other.Picture, make([]int32, other.N), objects, 1)
	if found.Rescaled || len(r.background[0]) <= before[0] || len(r.background[1]) != before[1] {
		t.Errorf("rescaled %t, %d and %d values of the background, before %v; want those of the picture's size to grow alone",
			found.Rescaled, len(r.background[0]), len(r.background[1]), before)
	}
}
