package layout

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
)

const cols, rows = 40, 30 // superpixels; one pixel is one cell of the grid

var (
	person   = [3][3]float64{{70, 10, 20}, {20, 40, 10}, {40, -5, -40}} // head, coat, legs
	stranger = [3][3]float64{{70, 10, 20}, {60, -40, 30}, {15, 0, 0}}
	headless = [3][3]float64{{40, -5, -40}, {20, 40, 10}, {70, 10, 20}} // person's colours upside down
)

const bodyWidth, bodyHeight = 14, 36

// body is somebody whose middle is at x, y; later ones hide earlier ones.
type body struct {
	x, y float64
	look [3][3]float64
	more float64 // by how much of its size it is larger
}

func (b body) box() image.Rectangle {
	w, h := int(bodyWidth*(1+b.more)), int(bodyHeight*(1+b.more))
	x, y := int(b.x)-w/2, int(b.y)-h/2
	return image.Rect(x, y, x+w, y+h)
}

// lit is b in more light, or less.
func (b body) lit(more float64) body {
	for k := range b.look {
		b.look[k][0] += more
	}
	return b
}

// scene is what a camera that has moved by shift pixels sees of bodies before a wall of
// bricks of different greys.
func scene(seq uint64, shift int, bodies ...body) *features.Scene {
	return scenetest.Squares(seq, cols, rows, func(x, y int) [3]float64 {
		for k := len(bodies) - 1; k >= 0; k-- {
			b := bodies[k]
			if r := b.box(); image.Pt(x, y).In(r) {
				return b.look[min(2, (y-r.Min.Y)*3/r.Dy())]
			}
		}
		brick := uint32((x+shift)/7)*2654435761 ^ uint32(y/7)*40503*97
		return [3]float64{50 + 40*float64(brick>>7%64)/64, 0, 0}
	})
}

// street is a camera and its follower.
type street struct {
	t       testing.TB
	f       Follower
	seq     uint64
	shift   int
	picture picture.Picture
	y       []int32 // its labels
}

// watch is a street that was empty until b came, who was marked then.
func watch(t testing.TB, b body) (*street, *Object) {
	s, o := &street{t: t}, &Object{}
	s.empty(10)
	s.mark([]*Object{o}, b)
	return s, o
}

// empty shows n pictures without anybody.
func (s *street) empty(n int) {
	for range n {
		s.f.Look(s.next())
		s.learn(nil)
	}
}

func (s *street) next(bodies ...body) *features.Scene {
	s.seq++
	sc := scene(s.seq, s.shift, bodies...)
	s.picture = picture.Picture{N: sc.N, Width: sc.Width, Height: sc.Height, Patches: sc.Patches, Area: sc.Area, Centroid: sc.Centroid}
	return sc
}

// learn takes in what the picture shows: of each object the superpixels in its box.
func (s *street) learn(seen []Seen) {
	s.y = slices.Grow(s.y[:0], s.picture.N)[:s.picture.N]
	clear(s.y)
	y := s.y
	for k := range seen {
		seen[k].Label = int32(k + 1)
		for i := range y {
			if image.Pt(int(s.picture.Centroid[2*i]), int(s.picture.Centroid[2*i+1])).In(seen[k].Box) {
				y[i] = seen[k].Label
			}
		}
	}
	s.f.Learn(seen, &s.picture, y)
}

// mark shows a picture in which the objects are marked by the boxes of the first bodies.
func (s *street) mark(objects []*Object, bodies ...body) {
	s.f.Look(s.next(bodies...))
	var seen []Seen
	for k, o := range objects {
		seen = append(seen, Seen{Object: o, InSight: true, Marked: true, Box: bodies[k].box()})
	}
	s.learn(seen)
}

// see shows a picture in which the objects are seen where they are found.
func (s *street) see(objects []*Object, bodies ...body) {
	s.f.Look(s.next(bodies...))
	var seen []Seen
	if s.f.Still() {
		s.f.Find(objects)
	}
	for _, o := range objects {
		seen = append(seen, Seen{Object: o, InSight: o.Found, Box: image.Rect(int(o.x-o.w/2), int(o.y-o.h/2), int(o.x+o.w/2), int(o.y+o.h/2))})
	}
	s.learn(seen)
}

// at fails the test unless o is found within a few pixels of b.
func (s *street) at(o *Object, b body, when string) {
	s.t.Helper()
	if !o.Found || math.Hypot(o.x-b.x, o.y-b.y) > 4 {
		s.t.Fatalf("%s: found %t at %.0f, %.0f, match %.2f of %.2f; want it at %.0f, %.0f", when, o.Found, o.x, o.y, o.match, o.typical, b.x, b.y)
	}
}

func (s *street) gone(o *Object, when string) {
	s.t.Helper()
	if o.Found {
		s.t.Fatalf("%s: found at %.0f, %.0f, match %.2f of %.2f; want it hidden", when, o.x, o.y, o.match, o.typical)
	}
}

// What was there before anybody marked it is no background: it stays in sight for as long as it
// stands there, is back when who hid it has gone, and is followed when it goes.
func TestStoodThere(t *testing.T) {
	b := body{x: 60, y: 90, look: person}
	s, o := &street{t: t}, &Object{}
	for range 30 {
		s.see(nil, b)
	}
	s.mark([]*Object{o}, b)
	sees := func(when string, pictures int, bodies ...body) {
		t.Helper()
		for range pictures {
			s.see([]*Object{o}, bodies...)
		}
		s.at(o, b, when)
		s.f.Look(s.next(bodies...))
		s.f.Find([]*Object{o})
		evidence := make([]float64, s.picture.N)
		s.f.Evidence(evidence, &s.picture, o)
		for i, e := range evidence {
			x, y := float64(s.picture.Centroid[2*i]), float64(s.picture.Centroid[2*i+1])
			if math.Abs(x-b.x) < bodyWidth/4 && math.Abs(y-b.y) < bodyHeight/3 && e < 0.7 {
				t.Fatalf("%s: evidence %.2f of a superpixel at %.0f, %.0f", when, e, x, y)
			}
		}
		s.learn([]Seen{{Object: o, InSight: true, Box: b.box()}})
	}
	sees("standing", 200, b)
	for range 40 {
		s.see([]*Object{o}, b, body{x: b.x, y: b.y, look: stranger, more: 0.3})
	}
	s.gone(o, "behind somebody")
	sees("after he has gone", 10, b)
	for range 30 {
		b.x += 2
		s.see([]*Object{o}, b)
	}
	sees("walking", 1, b)
}

// An object that moves is found, and the evidence is for it and nothing else.
func TestFind(t *testing.T) {
	b := body{x: 60, y: 90, look: person}
	s, o := watch(t, b)
	for range 30 {
		b.x += 3
		s.see([]*Object{o}, b)
		s.at(o, b, "walking")
	}
	s.f.Look(s.next(b))
	evidence := make([]float64, s.picture.N)
	s.f.Find([]*Object{o})
	s.f.Evidence(evidence, &s.picture, o)
	box := b.box()
	for i, p := range evidence {
		x, y := int(s.picture.Centroid[2*i]), int(s.picture.Centroid[2*i+1])
		inside := image.Rect(x-4, y-4, x+5, y+5).In(box)
		outside := image.Rect(x-4, y-4, x+5, y+5).Intersect(box).Empty()
		if inside && p < 0.6 || outside && p > 0.3 {
			t.Errorf("superpixel at %d, %d, inside %t: %.2f", x, y, inside, p)
		}
	}
}

// At first nobody knows how it moves.
func TestFastFromTheFirst(t *testing.T) {
	b := body{x: 60, y: 90, look: person}
	s, o := watch(t, b)
	for range 6 {
		b.x += 10
		s.see([]*Object{o}, b)
		s.at(o, b, "running")
	}
}

// What was hidden for longer may be farther away.
func TestComesBackElsewhere(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	for range 12 {
		s.see([]*Object{o}, b)
	}
	for range 12 {
		s.see([]*Object{o})
	}
	b.x += 20
	for range backPictures {
		s.see([]*Object{o}, b)
	}
	s.at(o, b, "elsewhere")
}

// The light may change slowly, and at once back to what it was.
func TestLight(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	for k := range 50 {
		s.see([]*Object{o}, b.lit(0.5*float64(k)))
		s.at(o, b, "in ever more light")
	}
	s.see([]*Object{o}, b)
	s.at(o, b, "as it was marked")
}

// The box of an object that comes nearer grows, though it lags far behind.
func TestGrows(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	for range 60 {
		b.more += 0.01
		s.see([]*Object{o}, b)
	}
	s.at(o, b, "larger")
	if w, h := o.w/bodyWidth, o.h/bodyHeight; w < 1.08 || h < 1.08 {
		t.Errorf("%.2f times as wide and %.2f times as tall, of 1.6", w, h)
	}
}

// Frames that were dropped make an object jump by as many times its motion.
func TestFindAfterDroppedFrames(t *testing.T) {
	for _, frames := range []int{4, 16} {
		b := body{x: 50, y: 90, look: person}
		s, o := watch(t, b)
		for range 8 {
			b.x += 5
			s.see([]*Object{o}, b)
		}
		b.x += 5 * float64(frames)
		s.seq += uint64(frames - 1)
		s.f.Look(s.next(b))
		s.f.Find([]*Object{o})
		s.at(o, b, fmt.Sprintf("%d frames later", frames))
	}
}

// What takes an object's place is not the object: neither somebody else, nor somebody of its
// colours in another order.
func TestComesBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		look [3][3]float64
		back bool
	}{{"itself", person, true}, {"somebody else", stranger, false}, {"its colours upside down", headless, false}} {
		t.Run(tt.name, func(t *testing.T) {
			b := body{x: 100, y: 90, look: person}
			s, o := watch(t, b)
			for range 10 {
				s.see([]*Object{o}, b)
			}
			s.at(o, b, "standing")
			for range 5 {
				s.see([]*Object{o})
				s.gone(o, "hidden")
			}
			evidence := slices.Repeat([]float64{1}, s.picture.N)
			if s.f.Evidence(evidence, &s.picture, o); slices.Max(evidence) > 0 {
				t.Error("there is evidence of what is hidden")
			}
			for k := range 12 {
				s.see([]*Object{o}, body{x: 104, y: 90, look: tt.look})
				if tt.back && k+1 >= backPictures {
					s.at(o, body{x: 104, y: 90, look: person}, "back")
				} else {
					s.gone(o, "not yet, or not it")
				}
			}
		})
	}
}

// Who comes in where an object left the picture is somebody else, unless very like it for
// longer.
func TestLeavesThePicture(t *testing.T) {
	for _, tt := range []struct {
		name string
		edge bool
		want int // pictures until it is back
	}{{"inside", false, backPictures}, {"at the border", true, leftPictures}} {
		t.Run(tt.name, func(t *testing.T) {
			b := body{x: 100, y: 90, look: person}
			if tt.edge {
				b.x = cols*scenetest.Side - bodyWidth/2 - 18
			}
			s, o := watch(t, b)
			for range 8 {
				if tt.edge {
					b.x += 2
				}
				s.see([]*Object{o}, b)
			}
			s.see([]*Object{o})
			s.gone(o, "out of sight")
			if o.left != tt.edge {
				t.Errorf("left %t; want %t", o.left, tt.edge)
			}
			n := 0
			for ; !o.Found && n < 20; n++ {
				s.see([]*Object{o}, b)
			}
			if n != tt.want {
				t.Errorf("back after %d pictures; want %d", n, tt.want)
			}
		})
	}
}

// An object that vanishes beside one that looks just like it does not go over to that.
func TestLooksAlike(t *testing.T) {
	s, o, twin := &street{t: t}, &Object{}, &Object{}
	s.empty(10)
	a, b := body{x: 100, y: 90, look: person}, body{x: 116, y: 90, look: person}
	objects := []*Object{o, twin}
	s.mark(objects, a, b)
	for range 10 {
		s.see(objects, a, b)
	}
	s.at(o, a, "side by side")
	for range 30 { // it is looked for ever farther away
		s.see(objects, b)
		s.gone(o, "only the other is left")
	}
	s.at(twin, b, "the other")
}

// Nor does it go over to a picture of it that has been there all the time.
func TestPaintedAlike(t *testing.T) {
	s, o := &street{t: t}, &Object{}
	painted, b := body{x: 116, y: 90, look: person}, body{x: 100, y: 90, look: person}
	for range 10 {
		s.f.Look(s.next(painted))
		s.learn(nil)
	}
	s.mark([]*Object{o}, b, painted)
	for range 10 {
		s.see([]*Object{o}, b, painted)
	}
	s.at(o, b, "beside the picture of it")
	for range 30 {
		s.see([]*Object{o}, painted)
		s.gone(o, "only the picture is left")
	}
}

// While the camera moves nobody is found, and what was known of the places is forgotten.
func TestCameraMoves(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	s.see([]*Object{o}, b)
	if s.f.Look(s.next(b)); !s.f.Still() {
		t.Fatal("the camera seems to move")
	}
	for range 4 {
		s.shift += 10
		if s.f.Look(s.next(b)); s.f.Still() {
			t.Fatal("the camera seems to stand")
		}
		s.learn([]Seen{{Object: o, InSight: true, Box: b.box()}})
	}
	for range stillFor - 1 {
		if s.f.Look(s.next(b)); s.f.Still() {
			t.Fatal("it is said to stand too soon")
		}
		s.learn([]Seen{{Object: o, InSight: true, Box: b.box()}})
	}
	s.see([]*Object{o}, b)
	s.at(o, b, "standing again")
}

// What an annotation says of an object begins it anew.
func TestMarkedAnew(t *testing.T) {
	s, o, other := &street{t: t}, &Object{}, &Object{}
	s.empty(10)
	a, b := body{x: 60, y: 90, look: person}, body{x: 150, y: 90, look: stranger}
	objects := []*Object{o, other}
	s.mark(objects, a, b)
	s.see(objects, a, b)
	s.f.Look(s.next(a, b))
	s.learn([]Seen{{Object: o, InSight: true, Marked: true, Box: b.box()}, {Object: other}})
	s.at(o, b, "marked elsewhere")
}

// An object that is marked in an earlier picture is what it was there, and is followed from
// there to the newest, while others stay as they are.
func TestLookBack(t *testing.T) {
	const pictures = 8
	s, o, other := &street{t: t}, &Object{}, &Object{}
	s.empty(10)
	standing := body{x: 150, y: 90, look: stranger}
	s.mark([]*Object{other}, standing)
	walking := func(k int) body { return body{x: 40 + 6*float64(k), y: 90, look: person} }
	var scenes []*features.Scene
	var kept [][]byte
	for k := range pictures {
		s.see([]*Object{other}, standing, walking(k))
		scenes = append(scenes, scene(s.seq, 0, standing, walking(k)))
		kept = append(kept, slices.Clone(s.f.Picture()))
	}
	background, before := slices.Clone(s.f.background.seen), *other.Clone()
	objects := []*Object{other, o}
	for k, sc := range scenes {
		s.f.LookBack(sc.Seq, kept[k])
		if w := walking(k); s.f.foregroundIn(w.x, w.y, bodyWidth, bodyHeight) < 0.8*bodyWidth*bodyHeight {
			t.Errorf("picture %d: the one who walks is not before the background", k)
		}
		switch k {
		case 0:
			s.learn([]Seen{{Object: other}, {Object: o, InSight: true, Marked: true, Box: walking(0).box()}})
		case 3: // one that is labelled
			s.f.Find(objects)
			if s.f.Looked(other) || !s.f.Looked(o) {
				t.Fatalf("looked for the other %t, the one that was marked %t; want that alone", s.f.Looked(other), s.f.Looked(o))
			}
			s.learn([]Seen{{Object: other}, {Object: o, InSight: true, Box: walking(k).box()}})
		default:
			s.f.Pass(objects)
		}
		s.at(o, walking(k), "looking back")
	}
	if s.f.Still() {
		t.Error("what was passed is to be learnt once")
	}
	if other.x != before.x || other.age != before.age || !slices.Equal(other.now, before.now) || !other.Found {
		t.Error("somebody who was not marked is not as before")
	}
	if !slices.Equal(s.f.background.seen, background) {
		t.Error("the background was learnt twice")
	}
	s.see(objects, standing, walking(pictures))
	s.at(o, walking(pictures), "in the newest picture")
	s.at(other, standing, "who was not marked")
}

// Of a picture in which the camera stood elsewhere, and while it moves, nothing is learnt; who
// is marked there is not known any more.
func TestLookBackElsewhere(t *testing.T) {
	for _, moves := range []bool{false, true} {
		b := body{x: 100, y: 90, look: person}
		s, o := watch(t, b)
		earlier := scene(s.seq, 0, b)
		picture := slices.Clone(s.f.Picture())
		s.shift += 10
		s.empty(stillFor + 2)
		if moves {
			s.shift += 10
			s.empty(1)
		}
		s.f.LookBack(earlier.Seq, picture)
		if s.f.Still() {
			t.Errorf("moves %t: it is said to stand there", moves)
		}
		s.f.Pass([]*Object{o})
		s.learn([]Seen{{Object: o, InSight: true, Marked: true, Box: b.box()}})
		if o.Known() {
			t.Errorf("moves %t: something is known of it", moves)
		}
	}
}

func TestClone(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	_, o := watch(t, b)
	c := o.Clone()
	o.now[5], o.first[5], o.occupied[5], o.x = colour{1, 2, 3}, colour{1, 2, 3}, 7, 9
	if c.now[5] == o.now[5] || c.first[5] == o.first[5] || c.occupied[5] == 7 || c.x != b.x {
		t.Error("the clone shares memory")
	}
}

// Following allocates nothing once everybody is known.
func TestAllocations(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	sc := s.next(b)
	objects, seen := []*Object{o}, []Seen{{Object: o, InSight: true, Box: b.box()}}
	evidence := make([]float64, s.picture.N)
	if n := testing.AllocsPerRun(20, func() {
		sc.Seq++
		s.f.Look(sc)
		s.f.Find(objects)
		s.f.Evidence(evidence, &s.picture, o)
		s.learn(seen)
	}); n > 0 {
		t.Errorf("%g allocations a picture", n)
	}
}

// The grid has the mean colours of its cells, also of pictures it does not divide, and as it was kept it is nearly the same.
func TestGrid(t *testing.T) {
	const w, h = 384, 6
	s := &features.Thumbnail{Cell: 3, Width: w, Height: h}
	for p := range w * h {
		s.Lab = append(s.Lab, int16((3*(p%w)+1)%100*features.LabUnit), int16((3*(p/w)+1)*features.LabUnit), -features.LabUnit)
	}
	var g grid
	g.set(s)
	if g.cell != 3 || g.width != w || g.height != h {
		t.Fatalf("%d×%d cells of %d", g.width, g.height, g.cell)
	}
	if got, want := g.mean(2, 1, 4, 3), (colour{8.5, 5.5, -1}); distance(got, want) > 1e-4 {
		t.Errorf("%v; want %v", got, want)
	}
	if got, ok := g.round(2.4, 1.5, 0.1, 0.1); !ok || distance(got, colour{7, 4, -1}) > 1e-4 {
		t.Errorf("%v round a point; want that of its cell", got)
	}
	if _, ok := g.round(-0.1, 2, 3, 3); ok {
		t.Error("a point outside is inside")
	}
	again := grid{cell: g.cell, width: w, height: h}
	if again.restore(g.keep()); distance(again.at(9, 3), g.at(9, 3)) > 0.1 || distance(again.at(40, 5), g.at(40, 5)) > 0.1 {
		t.Errorf("%v and %v as they were kept; want %v and %v", again.at(9, 3), again.at(40, 5), g.at(9, 3), g.at(40, 5))
	}
	for v, want := range map[int32]byte{-features.LabUnit: 0, 0: 0, 100 * features.LabUnit: 200, 300 * features.LabUnit: 255} {
		if got := step(v, keptL, 0); got != want {
			t.Errorf("L of %d is kept as %d; want %d", v, got, want)
		}
	}
}

// BenchmarkMoving is a picture of a camera that moves, in which an object was seen in a box of
// that many cells.
func BenchmarkMoving(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const w, h = 384, 216
	var scenes [2]features.Scene
	for k := range scenes {
		t := &scenes[k].Thumbnail
		*t = features.Thumbnail{Cell: 2, Width: w, Height: h, Lab: make([]int16, 3*w*h)}
		for i := range t.Lab {
			t.Lab[i] = int16(r.IntN(100 * features.LabUnit))
		}
	}
	p := &picture.Picture{Width: 2 * w, Height: 2 * h}
	for _, size := range []image.Point{{20, 50}, {150, 200}} {
		b.Run(fmt.Sprintf("%v", size), func(b *testing.B) {
			b.ReportAllocs()
			var f Follower
			o := &Object{}
			box := image.Rectangle{Max: size.Mul(2)}.Add(image.Pt(100, 10))
			seen := []Seen{{Object: o, InSight: true, Box: box, Label: 1}}
			for k := 0; b.Loop(); k++ {
				s := &scenes[k%2]
				s.Seq = uint64(k + 1)
				f.Look(s)
				f.Learn(seen, p, nil)
			}
			if f.background.still > 0 {
				b.Error("it stands")
			}
		})
	}
}

// Of many that are out of sight each is looked for in its turn, and no more than atOnce in a picture.
func TestInTurns(t *testing.T) {
	s, objects := &street{t: t}, []*Object(nil)
	s.empty(10)
	var bodies []body
	for k := range 5 {
		b := body{x: 30 + 30*float64(k), y: 60, look: person}
		bodies, objects = append(bodies, b), append(objects, &Object{})
	}
	s.mark(objects, bodies...)
	for range 10 {
		s.see(objects)
	}
	var ages [5]int
	for k, o := range objects {
		s.gone(o, "in an empty street")
		ages[k] = o.age
	}
	for range 5 {
		s.see(objects)
	}
	for k, o := range objects {
		if looked := o.age - ages[k]; looked != atOnce {
			t.Errorf("object %d was looked for in %d of 5 pictures; want %d", k, looked, atOnce)
		}
		if o.seq != s.seq || o.unseen < 10 {
			t.Errorf("object %d: out of sight for %d pictures until %d; want it known at %d", k, o.unseen, o.seq, s.seq)
		}
	}
}
