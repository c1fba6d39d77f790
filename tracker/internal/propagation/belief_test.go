package propagation

import (
	"cmp"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
	"github.com/segd/segd/tracker/internal/trackstate"
)

const cols, rows = 12, 10

// made are random pictures of one projection.
func made(t *testing.T, count int) (pictures []*picture.Picture) {
	t.Helper()
	projection, err := features.FitProjection(scenetest.Squares(0, cols, rows, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	for seed := range uint64(count) {
		pictures = append(pictures, pool.Make(scenetest.Squares(seed, cols, rows, nil), projection, 0.25))
	}
	return pictures
}

// fine are two pictures with several superpixels in each cell of their grids.
func fine(t *testing.T) (p, ref *picture.Picture) {
	t.Helper()
	const cols, rows = 90, 50
	projection, err := features.FitProjection(scenetest.Squares(0, cols, rows, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	return pool.Make(scenetest.Squares(1, cols, rows, nil), projection, 0.25), pool.Make(scenetest.Squares(2, cols, rows, nil), projection, 0.25)
}

// The matches are those of a look at all pairs, whatever was asked, and where.
func TestNearest(t *testing.T) {
	const k = 4
	p, ref := fine(t)
	r := rand.New(rand.NewPCG(1, 1))
	radii := make([]float64, p.N)
	for i := range radii { // of neighbours, too
		radii[i] = 13 * float64(1+r.IntN(2))
	}
	asked := make([][]bool, 2)
	for at := range asked {
		for range p.N {
			asked[at] = append(asked[at], r.IntN(3) > 0)
		}
	}
	slot := func(p *picture.Picture) []int {
		slots := make([]int, p.N)
		for s, i := range p.Grid.Order {
			slots[i] = s
		}
		return slots
	}
	slotOf, refSlot := slot(p), slot(ref)
	for _, moves := range [][][2]float32{{{0, 0}}, {{9, -4}}, {{2000, 0}}, {{0, 0}, {9, -4}}, {{0, 0}, {100, 0}}, {{0, 0}, {2000, 0}}} {
		got := make([]cosine.Match, p.N*k)
		var places []place
		for at, move := range moves {
			places = append(places, place{asked[at], move[0], move[1]})
		}
		new(search).nearest(got, p, ref, places, k, radii)
		for i := range int32(p.N) {
			var want []cosine.Match
			for j := range int32(ref.N) {
				if slices.ContainsFunc(places, func(l place) bool {
					dx, dy := p.Centroid[2*i]-l.dx-ref.Centroid[2*j], p.Centroid[2*i+1]-l.dy-ref.Centroid[2*j+1]
					return l.asked[i] && float64(dx*dx+dy*dy) <= radii[i]*radii[i]
				}) {
					want = append(want, cosine.Match{To: j, Cosine: cosine.Dot(p.UnitAt(slotOf[i]), ref.UnitAt(refSlot[j]))})
				}
			}
			slices.SortFunc(want, func(a, b cosine.Match) int { return cmp.Compare(b.Cosine, a.Cosine) })
			for len(want) < k {
				want = append(want, cosine.None)
			}
			for c, m := range want[:k] {
				if g := got[int(i)*k+c]; g.To != m.To || math.Abs(float64(g.Cosine-m.Cosine)) > 1e-6 {
					t.Fatalf("moved %v, superpixel %d: %v; want %v", moves, i, got[int(i)*k:int(i+1)*k], want[:k])
				}
			}
		}
	}
}

// What is near to any of a label is what a look at all pairs finds.
func TestSpread(t *testing.T) {
	const radius = 26
	p, ref := fine(t)
	r := rand.New(rand.NewPCG(2, 1))
	s := source(ref, 2)
	clear(s.Soft)
	for range 300 {
		s.Soft[2*(r.IntN(ref.N/2))+1] = 1
	}
	var shown sparse
	list(&shown, s.Soft, 2)
	var all spread
	for range 2 { // the second time in the same memory
		all.reset(p)
		all.add(p, ref, shown.superpixels(1), radius)
		var want []int32
		for i := range int32(p.N) {
			if slices.ContainsFunc(shown.superpixels(1), func(j int32) bool {
				dx, dy := p.Centroid[2*i]-ref.Centroid[2*j], p.Centroid[2*i+1]-ref.Centroid[2*j+1]
				return dx*dx+dy*dy <= radius*radius
			}) {
				want = append(want, i)
			}
		}
		if slices.Sort(all.near); !slices.Equal(all.near, want) {
			t.Fatalf("near are %v; want %v", all.near, want)
		}
	}
}

// Lists have what is not zero, by rows and by columns but the background's.
func TestSparse(t *testing.T) {
	var s sparse
	for _, tt := range []struct {
		labels int
		rows   []float64
		of, is [][]int32 // of superpixels, and of labels from 1 on
	}{
		{3, []float64{1, 0, 0.5, 0, 2, 3, 1, 0, 0, 0, 0, 1}, [][]int32{{2}, {1, 2}, {}, {2}}, [][]int32{{1}, {0, 1, 3}}},
		{1, []float64{1, 0}, [][]int32{{}, {}}, nil},
		{4, []float64{0, 0, 1, 0}, [][]int32{{2}}, [][]int32{{}, {0}, {}}},
	} {
		list(&s, tt.rows, tt.labels)
		for i, want := range tt.of {
			if got := s.of(int32(i)); !slices.Equal(got, want) {
				t.Errorf("%v: superpixel %d has labels %v; want %v", tt.rows, i, got, want)
			}
		}
		for l, want := range tt.is {
			if got := s.superpixels(l + 1); !slices.Equal(got, want) {
				t.Errorf("%v: label %d has superpixels %v; want %v", tt.rows, l+1, got, want)
			}
		}
	}
}

// listed are candidates as votes have them.
func listed(candidate []bool, labels int) *sparse {
	var s sparse
	list(&s, candidate, labels)
	return &s
}

func TestVotes(t *testing.T) {
	all := []bool{true, true, true}
	matches := []cosine.Match{{To: 0, Cosine: 1}, {To: 1, Cosine: 1}, cosine.None}
	for _, tt := range []struct {
		name              string
		r                 Reference
		candidate         []bool
		q, want           []float64
		support, reliable float64
	}{
		{"both are heard", Reference{Soft: []float64{0, 1, 0, 1, 0, 0}, Trust: []float64{1, 1}, Observed: all},
			all, []float64{0, 0, 0}, []float64{2, 2, 0}, 4, 4},
		{"one is doubted", Reference{Soft: []float64{0, 1, 0, 1, 0, 0}, Trust: []float64{0.5, 1}, Observed: all},
			all, []float64{0, 0, 0}, []float64{2, 1, 0}, 4, 3},
		{"not a candidate", Reference{Soft: []float64{0, 1, 0, 1, 0, 0}, Trust: []float64{1, 1}, Observed: all},
			[]bool{true, false, true}, []float64{0, 0, 0}, []float64{2, 0, 0}, 2, 2},
		{"a label it does not know", Reference{Soft: []float64{1, 0, 0, 1, 0, 0}, Trust: []float64{1, 1}, Observed: all[:2]},
			all, []float64{1, 5, 3}, []float64{2, 5, 6}, 4, 4},
		{"corrected", Reference{Soft: []float64{0, 1, 0, 1, 0, 0}, Trust: []float64{1, 1}, Observed: all, Corrected: []bool{true, false}},
			all, []float64{0, 0, 0}, []float64{2, CorrectedWeight, 0}, 2 + CorrectedWeight, 2 + CorrectedWeight},
	} {
		v := votes{q: tt.q, support: make([]float64, 1), reliable: make([]float64, 1), can: listed(tt.candidate, 3), labels: 3}
		v.add(matches, []float64{2, 2, 2}, 3, &tt.r)
		if !slices.Equal(v.q, tt.want) || v.support[0] != tt.support || v.reliable[0] != tt.reliable {
			t.Errorf("%s: votes %v, support %g, reliable %g; want %v, %g, %g", tt.name, v.q, v.support[0], v.reliable[0], tt.want, tt.support, tt.reliable)
		}
	}
}

func TestNormalise(t *testing.T) {
	v := votes{q: []float64{1, 3, 0, 0, 2, 2, 4, 0}, can: listed([]bool{true, true, true, false, true, true, true, false}, 2), labels: 2}
	v.normalise([]bool{true, true, false, true})
	if want := []float64{0.25, 0.75, 0.5, 0.5, 1, 0, 1, 0}; !slices.Equal(v.q, want) {
		t.Errorf("%v; want %v", v.q, want)
	}
}

func TestUncertainty(t *testing.T) {
	for _, tt := range []struct {
		q    []float64
		want float64
	}{{[]float64{1, 0}, 0}, {[]float64{0.5, 0.5}, 1}, {[]float64{0.25, 0.5, 0.25}, 0.75}} {
		if got := Uncertainty(tt.q); got != tt.want {
			t.Errorf("of %v: %g; want %g", tt.q, got, tt.want)
		}
	}
}

// near is the radius of the search: pictures are small here.
const near = 0.08

// source is p with a rectangle that is label 1 of two.
func source(p *picture.Picture, labels int) Source {
	s := Source{Reference: &Reference{Picture: p, Observed: []bool{true, true}}, Latest: true, Annotated: true}
	for i := range p.N {
		row := make([]float64, labels)
		if x, y := i%cols, i/cols; x >= 3 && x < 6 && y >= 4 && y < 7 {
			row[1] = 1
		} else {
			row[0] = 1
		}
		s.Soft, s.Trust = append(s.Soft, row...), append(s.Trust, 1)
	}
	return s
}

// objects are count of them in sight, with nothing detected.
func objects(p *picture.Picture, count int) (all []Object) {
	for range count {
		all = append(all, Object{
			Object:    &trackstate.Object{Area: 9 * 36, X: 27, Y: 33},
			Detection: &Detection{Probability: make([]float64, p.N), Suspect: make([]bool, p.N)},
		})
	}
	return all
}

// The same picture again has the same labels, and none far from where they were.
func TestPropagateTheSame(t *testing.T) {
	ps := made(t, 2)
	p := ps[0]
	a := Affinity{Radius: near}
	var b Belief
	b.Reset(p.N, 2)
	y := make([]int32, p.N)
	for round := range 2 {
		s, o := source(p, 2), objects(p, 1)
		a.Propagate(&b, p, 1, []Source{s}, o)
		b.Labels(y)
		for i, l := range y {
			if want := int32(s.Soft[2*i+1]); l != want || math.Abs(b.Q[2*i]+b.Q[2*i+1]-1) > 1e-12 {
				t.Errorf("round %d, superpixel %d: %v; want label %d", round, i, b.Q[2*i:2*i+2], want)
			}
			if x, y := i%cols, i/cols; x >= 9 && y < 2 && b.Q[2*i+1] != 0 {
				t.Errorf("superpixel %d, far from the object, has %g", i, b.Q[2*i+1])
			}
		}
		o[0].Area = 1e6 // far more than is found: it may be anywhere
		a.Propagate(&b, p, 1, []Source{s}, o)
	}
	s, o := []Source{source(p, 2)}, objects(p, 1)
	if n := testing.AllocsPerRun(10, func() { a.Propagate(&b, p, 1, s, o) }); n != 0 {
		t.Errorf("%g allocations; want none", n)
	}
}

// Nothing is known without a source, and of a label that the reference does
// not know it says nothing.
func TestPropagateTheUnknown(t *testing.T) {
	p := made(t, 1)[0]
	a := Affinity{Radius: near}
	var b Belief
	b.Reset(p.N, 3)
	a.Propagate(&b, p, 1, nil, objects(p, 2))
	for i, v := range b.Q {
		if v != 1.0/3 {
			t.Fatalf("number %d is %g without references; want 1/3", i, v)
		}
	}
	// The second object is in sight only where it was detected.
	o := objects(p, 2)
	o[1].State = trackstate.Lost
	at := 8 * cols
	o[1].Probability[at] = 0.75
	o[1].Rescaled = true
	a.Propagate(&b, p, 1, []Source{source(p, 3)}, o)
	for i := range p.N {
		want := 0.0
		if i == at {
			want = 0.75
		}
		if got := b.Q[3*i+2]; math.Abs(got-want) > 1e-12 {
			t.Errorf("superpixel %d has %g of the second object; want %g", i, got, want)
		}
		if b.Unlearnt[i] != (i == at) || i == at && b.Trust[i] != returnTrust {
			t.Errorf("superpixel %d: unlearnt %t, trust %g", i, b.Unlearnt[i], b.Trust[i])
		}
	}
}

// The classifier may refuse what was detected of an object out of sight, but not add to
// it: of what is less likely than not it has no say.
func TestClassifierAddsNothingToADetection(t *testing.T) {
	p := made(t, 1)[0]
	a := Affinity{Radius: near}
	var b Belief
	for _, state := range []trackstate.State{trackstate.Visible, trackstate.Occluded, trackstate.Lost} {
		o := objects(p, 1)
		o[0].State = state
		o[0].Probability[0], o[0].Probability[1] = 0.75, 0.25
		b.Reset(p.N, 2)
		a.Propagate(&b, p, 1, []Source{source(p, 2)}, o)
		for i, unlearnt := range b.Unlearnt {
			if want := i == 1 && state != trackstate.Visible; unlearnt != want {
				t.Errorf("%s, superpixel %d: unlearnt %t; want %t", state, i, unlearnt, want)
			}
		}
	}
}

// In an annotated frame the most similar ones are sought both where a superpixel is and
// where it was before its object moved.
func TestAnnotatedFramesAreFollowed(t *testing.T) {
	ps := made(t, 2)
	p, s := ps[0], source(ps[1], 2)
	var x, y, n float32
	for i := range s.N {
		if s.Soft[2*i+1] == 1 { // all are equally large
			x, y, n = x+s.Centroid[2*i], y+s.Centroid[2*i+1], n+1
		}
	}
	const dx, dy = 21, 15
	o := objects(p, 1)
	o[0].X, o[0].Y = float64(x/n)+dx, float64(y/n)+dy
	a := Affinity{Radius: near}
	a.support, a.reliable = make([]float64, p.N), make([]float64, p.N)
	a.asked, a.candidate = slices.Repeat([]bool{true}, p.N), slices.Repeat([]bool{true}, 2*p.N)
	a.candidate[2*17+1] = false // superpixel 17 cannot be the object, wherever that was
	a.can = *listed(a.candidate, 2)
	for _, annotated := range []bool{false, true} {
		s.Annotated = annotated
		var b Belief
		b.Reset(p.N, 2)
		a.ask(votes{q: b.Q, support: a.support, reliable: a.reliable, can: &a.can, labels: 2}, p, s, o)
		for i := range p.N {
			best := slices.Repeat([]cosine.Match{cosine.None}, Links)
			for j := range int32(s.N) {
				at := func(dx, dy float32) bool {
					x, y := s.Centroid[2*j]-p.Centroid[2*i]+dx, s.Centroid[2*j+1]-p.Centroid[2*i+1]+dy
					return math.Hypot(float64(x), float64(y)) <= a.Radius*p.Side()
				}
				if at(0, 0) || annotated && i != 17 && at(dx, dy) {
					c := cosine.Dot(p.UnitAt(slices.Index(p.Grid.Order, int32(i))), s.UnitAt(slices.Index(s.Grid.Order, j)))
					if c > best[Links-1].Cosine {
						cosine.Insert(best, cosine.Match{To: j, Cosine: c})
					}
				}
			}
			for k, m := range a.matches[i*Links : (i+1)*Links] {
				if m.To != best[k].To {
					t.Fatalf("annotated %t, superpixel %d: %v; want %v", annotated, i, a.matches[i*Links:(i+1)*Links], best)
				}
			}
		}
	}
}

// Looked up is what a label of the latest frames, or a detection, can be, whether or not any of the frames is annotated; where an
// annotated frame had the object, only when next to nothing was found.
func TestWhatIsAsked(t *testing.T) {
	ps := made(t, 2)
	p := ps[0]
	latest, annotated := source(p, 2), source(ps[1], 2)
	latest.Annotated, annotated.Latest = false, false
	clear(latest.Soft)
	for i := range p.N { // in the last column now, in columns 3 to 5 when it was annotated
		if i%cols == cols-1 {
			latest.Soft[2*i+1] = 1
		} else {
			latest.Soft[2*i] = 1
		}
	}
	o := objects(p, 1)
	o[0].Area = 10 * 36
	o[0].Probability[0] = 0.5
	a := Affinity{Radius: near}
	var b Belief
	for _, tt := range []struct {
		name              string
		sources           []Source
		area              float64
		now, then, nobody bool
	}{
		{"where it is", []Source{latest, annotated}, 10 * 36, true, false, false},
		{"it is gone", []Source{latest, annotated}, 1e6, true, true, false},
		{"nothing is annotated", []Source{latest}, 10 * 36, true, false, false},
		{"there is no source", nil, 10 * 36, true, true, true},
	} {
		o[0].Area = tt.area
		b.Reset(p.N, 2)
		a.Propagate(&b, p, 1, tt.sources, o)
		for _, at := range []struct {
			place string
			i     int
			want  bool
		}{{"in the last column", 5*cols + 11, tt.now}, {"where it was annotated", 5*cols + 4, tt.then}, {"where it never was", 5*cols + 8, tt.nobody}, {"where it was detected", 0, true}} {
			if a.asked[at.i] != at.want {
				t.Errorf("%s: %s asked %t; want %t", tt.name, at.place, a.asked[at.i], at.want)
			}
		}
	}
}

// An object in sight of which next to nothing was found may be anywhere.
func TestRelax(t *testing.T) {
	p := made(t, 1)[0]
	for _, tt := range []struct {
		name  string
		o     trackstate.Object
		found int // superpixels
		want  bool
	}{
		{"found", trackstate.Object{Area: 324}, 9, false},
		{"lost sight of", trackstate.Object{Area: 1e5}, 9, true},
		{"hidden", trackstate.Object{Area: 1e5, State: trackstate.Occluded}, 9, false},
	} {
		var b Belief
		b.Reset(p.N, 2)
		for i := range p.N {
			b.Q[2*i] = 0.5
			if i < tt.found {
				b.Q[2*i+1] = 0.6
			}
		}
		a := Affinity{candidate: make([]bool, 2*p.N), reachable: make([]bool, p.N), asked: make([]bool, p.N)}
		for i := range tt.found {
			a.candidate[2*i+1] = true
		}
		a.can = *listed(a.candidate, 2)
		a.reachable[77] = true
		o := []Object{{Object: &tt.o, Detection: &Detection{}}}
		if got := a.relax(&b, p, o); got != tt.want || a.candidate[2*77+1] != tt.want || a.candidate[2*77] || a.asked[77] != tt.want || a.asked[78] {
			t.Errorf("%s: relaxed %t, asked %t and beyond reach %t; want %t, %[4]t, false", tt.name, got, a.asked[77], a.asked[78], tt.want)
		}
		if a.relax(&b, p, o) {
			t.Errorf("%s: relaxed twice", tt.name)
		}
	}
}

// Votes left open go to what the objects look like; for what is new there is one more,
// which is the background's once all objects are confirmed.
func TestOpenVotes(t *testing.T) {
	novel := 5 * math.Exp((0.5-1)/0.07) // one latest reference
	for _, tt := range []struct {
		name              string
		state             trackstate.State
		asked             bool
		support, reliable float64
		probability       float64
		elapsed           int
		want              []float64
		trust             float64
	}{
		{"all trusted", trackstate.Visible, true, 2, 2, 0, 1, []float64{1 + novel, 1}, 1},
		{"half trusted", trackstate.Visible, true, 2, 1, 0, 1, []float64{1 + novel + 1, 1}, 0.5 + trustRate},
		{"half trusted, 3 frames dropped", trackstate.Visible, true, 2, 1, 0, 4, []float64{1 + novel + 1, 1}, 0.5 + 4*trustRate},
		{"half trusted, by looks", trackstate.Visible, true, 2, 1, 0.75, 1, []float64{1 + novel + 0.25, 1 + 0.75}, 0.5 + trustRate},
		{"out of sight", trackstate.Lost, true, 2, 2, 0.75, 1, []float64{1 + novel/4, 1 + novel*3/4}, 2 / (2 + novel)},
		{"out of reach", trackstate.Visible, false, 2, 2, 0, 1, []float64{1, 1}, 1},
		{"out of reach and sight", trackstate.Lost, false, 2, 2, 0, 1, []float64{1, 1}, 0},
	} {
		a := Affinity{Radius: near, support: []float64{tt.support}, reliable: []float64{tt.reliable}, asked: []bool{tt.asked}}
		b := Belief{Q: []float64{1, 1}, Trust: []float64{1}}
		o := []Object{{Object: &trackstate.Object{State: tt.state}, Detection: &Detection{Probability: []float64{tt.probability}}}}
		a.settleOpen(&b, tt.elapsed, []Source{{Latest: true}}, o)
		for l, want := range tt.want {
			if math.Abs(b.Q[l]-want) > 1e-12 || math.Abs(b.Trust[0]-tt.trust) > 1e-12 {
				t.Errorf("%s: %v, trust %g; want %v, %g", tt.name, b.Q, b.Trust[0], tt.want, tt.trust)
				break
			}
		}
	}
}

// A latest frame is looked up the farther the more frames were dropped since, up to a bound; for an object with a track no
// farther for that, and with an extent as far as goes by it, if that is less than the picture.
func TestRadius(t *testing.T) {
	p := made(t, 1)[0]
	a := Affinity{Radius: near}
	whole := p.Side()
	for _, tt := range []struct {
		name   string
		s      Source
		length int // of an extent
		want   float64
	}{
		{"the frame before", Source{Latest: true, Pace: 1}, 0, 0.08 * whole},
		{"half of them dropped", Source{Latest: true, Pace: 1.5}, 0, 0.12 * whole},
		{"nearly all of them", Source{Latest: true, Pace: 1e18}, 0, 0.08 * maxPace * whole},
		{"from before the latest", Source{Pace: 2}, 0, 0.15 * whole},
		{"with an extent", Source{Latest: true, Pace: 1}, 3, 0.08 * ownLengths * 3},
		{"with an extent, half of them dropped", Source{Latest: true, Pace: 2}, 3, 0.08 * ownLengths * 3},
		{"with an extent, from before the latest", Source{Pace: 2}, 3, 0.15 * ownLengths * 3},
		{"an extent as long as the picture", Source{Latest: true, Pace: 1}, int(whole), 0.08 * whole},
	} {
		o := objects(p, 1)[0]
		if tt.length > 0 {
			o.Object = &trackstate.Object{Tracked: true}
			o.Extent = image.Rect(0, 0, tt.length, 1)
		}
		if got := a.radius(tt.s, o, p); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g; want %g", tt.name, got, tt.want)
		}
	}
}

// What is near an object that is seen larger is nearer: it can be, and is looked up, as far as in a
// picture of its surroundings alone.
func TestReachFollowsTheZoom(t *testing.T) {
	p := made(t, 1)[0]
	s := source(p, 3)
	s.Observed = []bool{true, true, true}
	last := p.N - 1 // the second object, which is seen as the picture is
	s.Soft[3*last], s.Soft[3*last+2] = 0, 1
	for _, zoom := range []int{1, 2, 4} {
		o := objects(p, 2)
		o[0].Zoom = zoom
		a := Affinity{Radius: near}
		a.Radius = 0.4
		var b Belief
		b.Reset(p.N, 3)
		a.Propagate(&b, p, 1, []Source{s}, o)
		away := func(i, j int) float64 {
			return math.Hypot(float64(p.Centroid[2*i]-p.Centroid[2*j]), float64(p.Centroid[2*i+1]-p.Centroid[2*j+1]))
		}
		for i := range p.N {
			first := false
			for j := range p.N {
				first = first || s.Soft[3*j+1] == 1 && away(i, j) <= 0.4*p.Side()/float64(zoom)
			}
			second := away(i, last) <= 0.4*p.Side()
			if a.candidate[3*i+1] != first || a.candidate[3*i+2] != second {
				t.Errorf("zoom %d, superpixel %d: candidates %v; want %t, %t", zoom, i, a.candidate[3*i:3*i+3], first, second)
			}
			want := 0.4 * p.Side()
			if !second {
				want /= float64(zoom)
			}
			if first || second {
				if math.Abs(a.radii[i]-want) > 1e-9 {
					t.Errorf("zoom %d, superpixel %d: looked up %g pixels far; want %g", zoom, i, a.radii[i], want)
				}
				for _, m := range a.matches[i*Links : (i+1)*Links] {
					if m.To >= 0 && away(i, int(m.To)) > want+1e-3 && (o[0].X == 0 || !first) {
						t.Errorf("zoom %d, superpixel %d: found %g pixels away; want %g at most", zoom, i, away(i, int(m.To)), want)
					}
				}
			}
		}
	}
}

func TestReference(t *testing.T) {
	p := made(t, 1)[0]
	r := Reference{Picture: p, Soft: []float64{0.5, 0.25, 0.25, 0.5, 0.25, 0.25}, Observed: []bool{true, false, true}, Trust: []float64{1, 1}}
	if !r.Knows(0) || r.Knows(1) || !r.Knows(2) || r.Knows(3) {
		t.Error("it knows other labels than it observed")
	}
	r.Label([]int32{2, 2}, func(i int) bool { return i == 1 }, 3)
	if !slices.Equal(r.Soft, []float64{0.5, 0.25, 0.25, 0, 0, 1}) {
		t.Errorf("the second one labelled: %v", r.Soft)
	}
	c := r.Clone()
	c.Hide(2, 3)
	c.Widen(3, 4)
	if !slices.Equal(c.Soft, []float64{0.75, 0.25, 0, 0, 1, 0, 0, 0}) {
		t.Errorf("label 2 hidden, and one more: %v", c.Soft)
	}
	c.Drop(1, 4)
	if !slices.Equal(c.Soft, []float64{1, 0, 0, 1, 0, 0}) || !slices.Equal(c.Observed, []bool{true, true}) {
		t.Errorf("label 1 dropped: %v, %v", c.Soft, c.Observed)
	}
	if r.Soft[5] != 1 || len(r.Observed) != 3 || c.Picture != r.Picture {
		t.Error("a clone shares more than the picture")
	}
}
