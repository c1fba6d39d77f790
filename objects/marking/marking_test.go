package marking

import (
	"cmp"
	"image"
	"slices"
	"testing"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/tracker"
)

const width, height = 640, 480

var everywhere = []image.Rectangle{image.Rect(0, 0, width, height)}

// scene is a Marker and a tracker that sees what it is told, in ten frames a second.
type scene struct {
	t     *testing.T
	m     *Marker
	table objects.Table
	n     int // frames so far

	marked   bool             // people mark something
	pan      int              // pixels that the camera moves a frame
	cut      bool             // another scene is shown
	objects  []tracker.Object // of the last frame, with those that are dormant
	begun    []uint32         // in the last frame
	gone     []objects.Event  // likewise
	rested   []uint32         // likewise
	decision Decision
	picture  features.Thumbnail // of the last frame
	part     bool               // whether each thing is a part of each other
	hides    image.Rectangle    // what is in it is not shown
	apart    time.Duration      // its frames; 0: 100 ms
}

func begin(t *testing.T, cfg Config) *scene {
	if cfg.Classes == nil {
		cfg.Classes = []string{"person", "car"}
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &scene{t: t, m: m}
}

// box is a person's, 30×80 with its left at x.
func box(x int) image.Rectangle { return image.Rect(x, 100, x+30, 180) }

func person(b image.Rectangle) features.Detection {
	return features.Detection{Box: b, Class: "person", Score: 0.8}
}

// colours are those of what is found, one after the other.
var colours = [][3]byte{{20, 20, 220}, {220, 40, 20}, {20, 200, 20}, {200, 200, 200}}

// frame shows one in which that is found. The tracker follows what is marked by the box of its track.
func (s *scene) frame(found ...features.Detection) {
	s.t.Helper()
	bgr := make([]byte, 3*width*height)
	for i := range width * height { // tiles of 16 pixels
		if x, y := (i%width+s.pan*s.n)/16, i/width/16; !s.cut && (x*7+y*13+x*y)%5 < 2 || s.cut && (x*x*3+y*y*y*11+x*y*y)%7 < 3 {
			bgr[3*i], bgr[3*i+1], bgr[3*i+2] = 90, 90, 90
		}
	}
	for k, d := range found {
		for y := d.Box.Min.Y; y < d.Box.Max.Y; y++ {
			for x := d.Box.Min.X; x < d.Box.Max.X; x++ {
				copy(bgr[3*(y*width+x):], colours[k][:])
			}
		}
	}
	s.picture.Set(bgr, width, height)
	s.begun, s.rested = nil, nil
	d := s.m.Decide(s.table, &Frame{
		Time: s.now(), Width: width, Height: height,
		Found: found, Looked: everywhere, Thumbnail: &s.picture, Marked: s.marked,
		Part: func(first, second image.Rectangle) bool { return s.part },
		Shows: func(b image.Rectangle) float64 {
			in := b.Intersect(s.hides)
			return 1 - float64(in.Dx()*in.Dy())/float64(b.Dx()*b.Dy())
		},
	})
	s.n++
	s.decision = d
	before := s.table
	s.gone = s.apply(d.Edits...)
	s.objects = slices.DeleteFunc(s.objects, func(o tracker.Object) bool {
		now, is := s.table.Get(o.ID)
		was, had := before.Get(o.ID)
		if now.Dormant && !was.Dormant {
			s.rested = append(s.rested, o.ID)
		}
		return o.State == tracker.Lost || had && !is || now.Dormant
	})
	if a := d.Annotation; a != nil {
		if err := a.Validate(); err != nil || !a.Automatic || a.Width != width || a.Height != height {
			s.t.Fatalf("annotation %+v: %v; want a valid one of a detector", a, err)
		}
		for _, o := range a.Objects {
			s.begun = append(s.begun, o.ID)
			b := image.Rect(int(o.Box[0]), int(o.Box[1]), int(o.Box[2]), int(o.Box[3]))
			s.objects = append(s.objects, tracker.Object{ID: o.ID, Box: b})
		}
	}
	for k := range s.objects {
		for _, e := range d.Extents {
			if e.ID == s.objects[k].ID {
				s.objects[k].Box, s.objects[k].State = e.Box, tracker.Visible
			}
		}
	}
	s.observe()
}

func (s *scene) candidates() []tracker.Candidate { return s.m.Candidates(s.table) }

// now is the next frame's time.
func (s *scene) now() time.Duration {
	return time.Duration(s.n) * cmp.Or(s.apart, 100*time.Millisecond)
}

// apply edits the table and returns what is told.
func (s *scene) apply(edits ...objects.Edit) (events []objects.Event) {
	s.table, events = s.table.Apply(edits...)
	return events
}

// observe has the table know what the tracker does.
func (s *scene) observe() {
	for k := range s.objects {
		o := &s.objects[k]
		if o.Area = 0; o.State == tracker.Visible && !o.Box.Empty() {
			o.Area = 1
		}
	}
	s.apply(objects.Observe{Result: &tracker.Result{Width: width, Height: height, Objects: s.objects}, Time: s.now()})
	for _, o := range s.table.All() {
		if o.Dormant {
			s.objects = append(s.objects, tracker.Object{ID: o.ID, State: tracker.Lost})
		}
	}
}

// mark is people's mark of an object in the last frame, or of none if id is not of one.
func (s *scene) mark(ids ...uint32) {
	by := &annotation.Annotation{Width: width, Height: height}
	for _, id := range ids {
		if o := s.object(id); o != nil {
			by.Objects = append(by.Objects, annotation.Object{ID: id, Box: []float64{
				float64(o.Box.Min.X), float64(o.Box.Min.Y), float64(o.Box.Max.X), float64(o.Box.Max.Y),
			}})
		}
	}
	s.apply(objects.Annotate{By: by, Time: s.now() - 100*time.Millisecond})
	s.apply(s.m.Bind(s.table, by, &s.picture)...)
}

// extent is that of an object in the last frame.
func (s *scene) extent(id uint32) image.Rectangle {
	for _, e := range s.decision.Extents {
		if e.ID == id {
			return e.Box
		}
	}
	return image.Rectangle{}
}

func (s *scene) object(id uint32) *tracker.Object {
	if at := slices.IndexFunc(s.objects, func(o tracker.Object) bool { return o.ID == id }); at >= 0 {
		return &s.objects[at]
	}
	return nil
}

// What is detected for long enough is a new object, marked once; then its extent goes where its track goes.
func TestBegins(t *testing.T) {
	s := begin(t, Config{})
	for n := range 30 {
		s.frame(person(box(100+4*n)), person(box(400)))
		var want []uint32
		if n == beginFrames {
			want = []uint32{objects.FirstID, objects.FirstID + 1}
		}
		if !slices.Equal(s.begun, want) {
			t.Fatalf("frame %d: marked %v; want %v", n, s.begun, want)
		}
		if n >= beginFrames {
			for id, b := range map[uint32]image.Rectangle{objects.FirstID: box(100 + 4*n), objects.FirstID + 1: box(400)} {
				if v := features.IoU(s.extent(id), b); v < 0.8 {
					t.Errorf("frame %d: object %d is in %v; want %v", n, id, s.extent(id), b)
				}
			}
		}
	}
	if o, _ := s.table.Get(objects.FirstID); o.Class != "person" || o.Label != "person" || !o.Automatic() || s.table.Automatic() != 2 || s.table.Len() != 2 || len(s.candidates()) != 0 {
		t.Errorf("%+v, %d objects", o, s.table.Len())
	}
}

// Of the upper half of a person an object begins if it is not a part of the person.
func TestBeginsNotOfAPart(t *testing.T) {
	for part, want := range map[bool]int{false: 2, true: 1} {
		s := begin(t, Config{})
		s.part = part
		for range 10 {
			s.frame(person(box(100)), person(image.Rect(100, 100, 130, 130)))
		}
		if n := s.table.Automatic(); n != want {
			t.Errorf("a part: %t: %d objects; want %d", part, n, want)
		}
	}
}

// An object begins where enough of it is shown.
func TestBeginsWhereItIsShown(t *testing.T) {
	s := begin(t, Config{})
	s.hides = image.Rect(120, 0, width, height)
	for range 10 {
		if s.frame(person(box(100))); s.table.Len() > 0 {
			t.Fatalf("marked %v of which a third is shown", s.begun)
		}
	}
	s.hides.Min.X = 128
	if s.frame(person(box(100))); s.table.Len() != 1 {
		t.Errorf("%d objects; want one, as all but two columns of 30 are shown", s.table.Len())
	}
}

// An object begins in a frame in which it is detected: else there is nothing to mark.
func TestBeginsWhereItIsDetected(t *testing.T) {
	s := begin(t, Config{})
	s.hides = image.Rect(0, 0, width, height)
	for range 5 {
		s.frame(person(box(100)))
	}
	s.hides = image.Rectangle{}
	if s.frame(); s.table.Len() > 0 {
		t.Errorf("marked %v, which was not detected", s.begun)
	}
	if s.frame(person(box(100))); s.table.Len() != 1 {
		t.Errorf("%d objects; want one", s.table.Len())
	}
}

// A track that has no object yet is to be looked at.
func TestCandidates(t *testing.T) {
	s := begin(t, Config{Track: track.Config{Confirm: 0.9}}) // so that it is no object
	for n := range 10 {
		s.frame(person(box(100 + 10*n)))
	}
	now, ahead := box(190), box(210) // the frame after the next one
	if c := s.candidates(); len(c) != 1 || features.IoU(c[0].Box, now) < 0.9 || features.IoU(c[0].Ahead, ahead) < 0.8 {
		t.Errorf("candidates %v; want one at %v, and at %v by the frame after the next one", c, now, ahead)
	}
	s.n += 20 // frames are dropped: it is not believed to go on for so long
	s.frame(person(box(190)))
	for _, c := range s.candidates() {
		if far := c.Ahead.Min.X - c.Box.Min.X; far > 70 {
			t.Errorf("%d pixels ahead; want no more than %v of a person's way", far, mostAhead)
		}
	}
}

// Who walks near what people marked is looked at, though no object will begin there, and is not where it is not near or what
// was marked is gone.
func TestNeighbours(t *testing.T) {
	for apart, want := range map[time.Duration]int{100 * time.Millisecond: 12, 40 * time.Millisecond: 4} {
		s := begin(t, Config{Classes: []string{"cat"}})
		s.apart = apart
		length := box(0).Dy()
		s.objects = []tracker.Object{{ID: 7, State: tracker.Visible, Box: box(100)}}
		s.observe()
		near, far := box(100).Max.X+length*9/10, box(100).Max.X+length*11/10
		for n := range 10 {
			if s.frame(person(box(100)), person(box(near)), person(box(far))); n == 3 {
				s.mark(7)
			}
		}
		if o, _ := s.table.Get(7); o.Track == 0 {
			t.Fatal("what was marked has no track")
		}
		looked := 0
		for range 12 {
			c := s.candidates()
			if len(c) > 1 || len(c) == 1 && (!c[0].Beside || features.IoU(c[0].Box, box(near)) < .9) {
				t.Errorf("candidates %v; want one at %v, beside", c, box(near))
			}
			looked += len(c)
			s.frame(person(box(100)), person(box(near)), person(box(far)))
		}
		if looked != want {
			t.Errorf("who is beside is looked at in %d of 12 frames; want %d", looked, want)
		}
		s.n = 0 // the stream's times begin anew
		s.frame(person(box(100)), person(box(near)), person(box(far)))
		if len(s.candidates()) != 1 {
			t.Error("who is beside is not looked at once times have gone back")
		}
		track := func() uint32 { o, _ := s.table.Get(7); return o.Track }()
		s.apply(objects.Bind{ID: 7, Gone: true})
		if slices.ContainsFunc(s.candidates(), func(c tracker.Candidate) bool { return c.Beside }) {
			t.Error("who is beside what is gone is to be looked at")
		}
		s.apply(objects.Bind{ID: 7, Track: track})
		for s.pan = 8; s.m.stands(); {
			s.frame(person(box(100)), person(box(near)))
		}
		if c := s.candidates(); len(c) != 0 {
			t.Errorf("candidates %v while the camera moves; want none", c)
		}
	}
}

// Nothing begins of a class that is not wanted, with a lower score, where Begin forbids it, while people mark, or
// where there is an object of people's.
func TestBeginsNot(t *testing.T) {
	dog, unsure := person(box(200)), person(box(300))
	dog.Class, unsure.Score = "dog", 0.48
	s := begin(t, Config{Begin: func(b image.Rectangle, size image.Point) bool {
		return size == image.Pt(width, height) && b.Min.X < 350
	}})
	s.objects = []tracker.Object{{ID: 7, State: tracker.Visible, Box: image.Rect(80, 90, 200, 180)}} // that fits no track
	s.observe()
	for range 10 {
		s.frame(dog, unsure, person(box(400)), person(box(100)))
	}
	beside := func(c tracker.Candidate) bool { return c.Beside }
	if w := slices.DeleteFunc(s.candidates(), beside); len(s.objects) != 1 || len(w) != 1 || w[0].Box != box(300) {
		t.Errorf("objects %v, windows %v; want people's alone, and only who is unsure to be looked at", s.objects, w)
	}
	s.marked = true
	for range 5 {
		s.frame(person(box(20)))
		if s.begun != nil {
			t.Fatal("an object began where people mark")
		}
	}
	s.marked = false
	if s.frame(person(box(20))); len(s.begun) != 1 {
		t.Error("it did not begin afterwards")
	}
	if s = begin(t, Config{Classes: []string{}}); s.m.cfg.Classes != nil {
		for range 10 {
			s.frame(person(box(100)))
		}
		if len(s.objects) > 0 || len(s.candidates()) != 0 {
			t.Errorf("objects %v, windows %v without classes; want none", s.objects, s.candidates())
		}
	}
}

// One that is hidden for a moment keeps its object; for longer it rests, and is the same again; when its track ends
// it is gone.
func TestRests(t *testing.T) {
	s := begin(t, Config{Track: track.Config{Keep: 4 * time.Second}})
	for range 10 {
		s.frame(person(box(100)))
	}
	for range 5 {
		s.frame()
		if o := s.object(objects.FirstID); o == nil || o.State != tracker.Visible || s.extent(objects.FirstID).Empty() {
			t.Fatalf("frame %d: %v; want it followed", s.n, o)
		}
	}
	rested := 0
	for range 15 {
		s.frame()
		rested += len(s.rested)
	}
	if o := s.object(objects.FirstID); rested != 1 || o == nil || o.State != tracker.Lost || s.table.Len() != 0 {
		t.Fatalf("%v, rested %d times; want it lost", o, rested)
	}
	s.apply(objects.Rename{ID: objects.FirstID, Label: "Ada"})
	for range 3 {
		s.frame(person(box(104)))
	}
	if o, _ := s.table.Get(objects.FirstID); o.State != tracker.Visible || o.Label != "Ada" || len(s.objects) != 1 {
		t.Fatalf("%v; want it to be back under its id", s.objects)
	}
	for range 60 {
		s.frame()
		if len(s.gone) > 0 {
			break
		}
	}
	if g := s.gone; len(g) != 1 || g[0].Object.ID != objects.FirstID || g[0].Message != "it was out of sight for too long" {
		t.Errorf("gone: %v", g)
	}
	for range 4 {
		s.frame(person(box(104)))
	}
	if s.object(objects.FirstID+1) == nil {
		t.Errorf("objects %v; want a new one", s.objects)
	}
}

// One that people keep while it rests is the same again when its track is known again, and ends with its track: the
// tracker does not know it.
func TestKeptResting(t *testing.T) {
	for name, back := range map[string]bool{"it comes back": true, "its track ends": false} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, Config{Track: track.Config{Keep: 4 * time.Second}})
			for range 10 {
				s.frame(person(box(100)))
			}
			for range 20 {
				s.frame()
			}
			s.apply(objects.Keep{ID: objects.FirstID})
			if o, _ := s.table.Get(objects.FirstID); !o.Dormant || o.Owner != objects.Kept {
				t.Fatalf("%+v; want it dormant and kept", o)
			}
			if back {
				for range 3 {
					s.frame(person(box(104)))
				}
				if o, _ := s.table.Get(objects.FirstID); o.Dormant || !o.InSight() {
					t.Fatalf("%+v; want it back", o)
				}
			}
			var gone []objects.Event
			for range 60 {
				s.frame()
				gone = append(gone, s.gone...)
			}
			switch o, is := s.table.Get(objects.FirstID); {
			case back && (!is || o.Dormant || len(gone) > 0):
				t.Errorf("%+v, told %v; want it followed without its track", o, gone)
			case !back && (is || len(gone) != 1 || gone[0].Kind != objects.Removed || gone[0].Message != "it was out of sight for too long"):
				t.Errorf("%+v, told %v; want it removed", o, gone)
			}
		})
	}
}

// There are only so many objects; each that is refused is told once, and begins when there is room.
func TestMaxObjects(t *testing.T) {
	s := begin(t, Config{MaxObjects: 2})
	refused := 0
	for range 10 {
		s.frame(person(box(50)), person(box(150)), person(box(250)), person(box(350)))
		refused += s.decision.Refused
	}
	if len(s.objects) != 2 || refused != 2 {
		t.Errorf("%d objects, %d refused; want 2 of both", len(s.objects), refused)
	}
	id := s.objects[0].ID
	s.objects = s.objects[1:]
	s.apply(s.m.Refuse(s.table, "", id)...)
	s.frame(person(box(50)), person(box(150)), person(box(250)), person(box(350)))
	if len(s.begun) != 1 {
		t.Errorf("%v began; want one of those that were refused", s.begun)
	}
}

// What the tracker refuses to follow is not marked again.
func TestRefused(t *testing.T) {
	s := begin(t, Config{})
	for n := range 10 {
		s.frame(person(box(100)))
		if len(s.begun) > 0 && n != beginFrames {
			t.Fatalf("marked again in frame %d", n)
		}
		s.apply(s.m.Refuse(s.table, "", s.begun...)...)
		s.objects = nil
		s.observe()
	}
}

// Pictures of another size begin anew.
func TestResize(t *testing.T) {
	s := begin(t, Config{})
	for range 5 {
		s.frame(person(box(100)))
	}
	d := s.m.Decide(s.table, &Frame{Time: time.Second, Width: 2 * width, Height: height, Thumbnail: &features.Thumbnail{}})
	s.apply(d.Edits...)
	if o, _ := s.table.OfTrack(1); o.ID != 0 || len(d.Extents) != 0 || len(s.candidates()) != 0 {
		t.Errorf("%v has its track, extents %v, windows %v; want none", o, d.Extents, s.candidates())
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{MaxObjects: -1}, {Track: track.Config{Keep: -1}}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// A frame in which nothing begins takes a few pieces of memory, however much is found: the decision.
func TestDecideAllocs(t *testing.T) {
	s := begin(t, Config{})
	found := []features.Detection{person(box(100)), person(box(200)), person(box(300))}
	for range 20 {
		s.frame(found...)
	}
	f := Frame{
		Width: width, Height: height, Found: found, Looked: everywhere, Thumbnail: &s.picture,
		Part: func(image.Rectangle, image.Rectangle) bool { return false },
	}
	if n := testing.AllocsPerRun(20, func() {
		f.Time = s.now()
		s.n++
		if d := s.m.Decide(s.table, &f); len(d.Extents) != len(found) || len(d.Edits) > 0 || d.Annotation != nil {
			t.Fatalf("%+v", d)
		}
	}); n > 1 {
		t.Errorf("%v allocations a frame", n)
	}
}
