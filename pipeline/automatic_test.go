package pipeline

import (
	"context"
	"errors"
	"image"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/zones"
)

// finder is a detector that finds red things, each once, or says what it is told to.
type finder struct {
	calls atomic.Int32
	blind atomic.Bool // finds nothing
	say   func(call int, found []features.Detection) ([]features.Detection, error)
}

func (f *finder) Detect(dst []features.Detection, bgr []byte, width, height int, _ float64) ([]features.Detection, error) {
	n := int(f.calls.Add(1)) - 1
	var box image.Rectangle
	for p := range width * height {
		if bgr[3*p] < 80 && bgr[3*p+1] < 80 && bgr[3*p+2] > 120 {
			box = box.Union(image.Rect(p%width, p/width, p%width+1, p/width+1))
		}
	}
	dst = dst[:0]
	if !box.Empty() && !f.blind.Load() {
		dst = append(dst, features.Detection{Box: box, Class: "person", Score: 0.7})
	}
	if f.say != nil {
		return f.say(n, dst)
	}
	return dst, nil
}

// automaticMeter keeps what a meter is told of looks.
type automaticMeter struct {
	nopMeter
	mu                      sync.Mutex
	looks, failed, unmarked int
	classes                 map[string]int
}

func (m *automaticMeter) with(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *automaticMeter) Looked(time.Duration) { m.with(func() { m.looks++ }) }
func (m *automaticMeter) LookFailed()          { m.with(func() { m.failed++ }) }
func (m *automaticMeter) Unmarked(n int)       { m.with(func() { m.unmarked += n }) }
func (m *automaticMeter) Detected(class string) {
	m.with(func() {
		if m.classes == nil {
			m.classes = map[string]int{}
		}
		m.classes[class]++
	})
}

// detecting has b mark what f finds.
func (b *bench) detecting(f *finder, every time.Duration) *automaticMeter {
	m := &automaticMeter{}
	b.cfg.Annotation, b.cfg.Meter = nil, m
	b.cfg.NewDetector = func() (Detector, error) { return f, nil }
	b.cfg.Detect = Detect{Classes: []string{"person"}, Score: 0.4, Every: every}
	return m
}

// one is the only object of masks.
func one(t *testing.T, m *segdv1.MaskFrame) *segdv1.Object {
	t.Helper()
	if len(m.Objects) != 1 {
		t.Fatalf("frame %d has %v; want one object", m.Sequence, m.Objects)
	}
	return m.Objects[0]
}

// Where the detector has a mask of the square's upper half, that is the object's.
func TestAutomaticByMasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		b.detecting(&finder{say: func(_ int, found []features.Detection) ([]features.Detection, error) {
			for i := range found {
				box := features.Corners(found[i].Box)
				found[i].Mask = &features.Grid{X0: box[0], Y0: box[1], X1: box[2], Y1: box[3], Cols: 1, Rows: 8, Logits: []float32{5, 5, 5, 5, -5, -5, -5, -5}}
			}
			return found, nil
		}}, time.Millisecond)
		b.run(t.Context(), t)
		for _, m := range b.rec.masks[2:] {
			o := one(t, m)
			if all := o.Extent.Width * o.Extent.Height; float64(o.Area) < 0.3*float64(all) || float64(o.Area) > 0.7*float64(all) {
				t.Errorf("frame %d: %d pixels of a box of %d; want half", m.Sequence, o.Area, all)
			}
		}
	})
}

// Two frames after the square is detected it has a mask, and was not marked by hand.
func TestAutomatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		f := &finder{}
		meter := b.detecting(f, 200*time.Millisecond)
		_, snap := b.run(t.Context(), t)
		require.EqualValues(t, 30, snap.Published, "published")
		for n, m := range b.rec.masks {
			if n < 2 && len(m.Objects) == 0 {
				continue
			}
			o := one(t, m)
			if o.Id != 256 || o.Label != "person" || o.Class != "person" || !o.Automatic || o.State != segdv1.State_STATE_VISIBLE {
				t.Fatalf("frame %d: %v", n, o)
			}
			got, err := mask.Parse(o.Counts, testWidth, testHeight)
			require.NoError(t, err)
			if iou := mask.IoU(got, squareMask(n)); iou < 0.8 {
				t.Errorf("frame %d: IoU %.2f with the square", n, iou)
			}
		}
		assert.Equal(t, []string{"CAMERA_UP", "OBJECT_APPEARED", "CAMERA_DOWN"}, b.rec.kinds(), "events")
		assert.Equal(t, `detected as "person"`, b.rec.message(segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED), "message")
		// The first mask is frame 2's, and half a second later it is told of.
		if e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED); e != nil && (e.Sequence != 7 || e.ObjectClass != "person" || e.Box == nil) {
			t.Errorf("%v; want it of frame 7, with class and box", e)
		}
		if n := int(f.calls.Load()); n != 15 || meter.looks != n || meter.classes["person"] != n || meter.failed+meter.unmarked != 0 {
			t.Errorf("%d looks, meter %+v", n, meter)
		}
		if all := snap.Objects; len(all) != 1 || !all[0].Automatic() || all[0].Dormant {
			t.Errorf("%+v; want an automatic object", all)
		}
	})
}

// An object that is not detected any more ends with an event, and what is detected then is another.
func TestAutomaticGone(t *testing.T) {
	f := &finder{}
	live(t, func(b *bench) {
		b.detecting(f, 200*time.Millisecond)
		b.cfg.Detect.Keep = 1500 * time.Millisecond
	}, func(t *testing.T, b *bench, c *Camera) {
		f.blind.Store(true)
		time.Sleep(2500 * time.Millisecond)
		if m := b.rec.newest(); len(m.Objects) != 0 || len(c.Snapshot().Objects) != 0 {
			t.Errorf("objects %v, status %v; want none", m.Objects, c.Snapshot().Objects)
		}
		if e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED); e == nil || e.ObjectId != 256 || e.Message != "it was out of sight for too long" {
			t.Errorf("event %v", e)
		}
		f.blind.Store(false)
		time.Sleep(500 * time.Millisecond)
		if o := one(t, b.rec.newest()); o.Id != 257 || !o.Automatic {
			t.Errorf("object %v; want a new one", o)
		}
	})
}

// hidden covers the square of a source's frames from one on, up to another.
type hidden struct {
	Source
	from, to uint64
}

func (h hidden) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	return h.Source.Run(ctx, func(f *ingest.Frame) {
		if f.Seq >= h.from && f.Seq < h.to {
			for p := range f.Width * f.Height {
				copy(f.Pix[3*p:], []byte{40, 140, 30})
			}
		}
		sink(f)
	})
}

// One that is out of sight is kept for as long as it is said, in stream time, and is the same when it
// is back before.
func TestAutomaticOutOfSight(t *testing.T) {
	for _, tt := range []struct {
		keep time.Duration
		id   uint32
	}{{10 * time.Second, 256}, {500 * time.Millisecond, 257}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, "gate", 40)
			b.detecting(&finder{}, 200*time.Millisecond)
			b.cfg.Detect.Keep = tt.keep
			b.through(func(s Source) Source { return hidden{s, 16, 33} }) // then it is where it was
			b.run(t.Context(), t)
			if o := one(t, b.rec.newest()); o.Id != tt.id || o.State != segdv1.State_STATE_VISIBLE {
				t.Errorf("kept for %v: object %v; want %d in sight", tt.keep, o, tt.id)
			}
			e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED)
			if (e != nil) != (tt.id == 257) || e != nil && e.Message != "it was out of sight for too long" {
				t.Errorf("kept for %v: event %v", tt.keep, e)
			}
		})
	}
}

// What people keep does not end when it is not detected, and is found again by new stages; its id and
// class stay.
func TestKeep(t *testing.T) {
	f := &finder{}
	var fail atomic.Bool
	live(t, func(b *bench) {
		b.detecting(f, 200*time.Millisecond)
		b.onStep = func(*features.Scene, *annotation.Annotation) error {
			if fail.CompareAndSwap(true, false) {
				panic("a wild index")
			}
			return nil
		}
	}, func(t *testing.T, b *bench, c *Camera) {
		_, err := c.Keep(t.Context(), 9)
		assert.ErrorIs(t, err, api.ErrUnknownObject, "an unknown object")
		for range 2 { // again is no fault
			if o, err := c.Keep(t.Context(), 256); err != nil || o.Automatic || o.Class != "person" || o.Id != 256 {
				t.Fatalf("%v, %v", o, err)
			}
		}
		if _, objects := c.Objects(); len(objects) != 1 || objects[0].Automatic {
			t.Errorf("listed as %v", objects)
		}
		f.blind.Store(true)
		time.Sleep(2 * time.Second)
		if o := one(t, b.rec.newest()); o.Id != 256 || o.Automatic || o.Class != "person" {
			t.Errorf("object %v; want it kept", o)
		}
		fail.Store(true)
		time.Sleep(3 * time.Second)
		if o := one(t, b.rec.newest()); o.Id != 256 || o.Automatic || o.Class != "person" || o.Label != "person" || o.State != segdv1.State_STATE_VISIBLE {
			t.Errorf("after new stages: %v", o)
		}
		assert.EqualValues(t, 1, c.Snapshot().Restarts, "restarts")
		f.blind.Store(false)
		time.Sleep(time.Second)
		if o := one(t, b.rec.newest()); o.Id != 256 {
			t.Errorf("marked again as %v", o)
		}
	})
}

// One that is kept while it is out of sight is remembered by the first picture that shows it again.
func TestKeepOutOfSight(t *testing.T) {
	var fail atomic.Bool
	f := &finder{}
	live(t, func(b *bench) {
		b.detecting(f, 200*time.Millisecond)
		b.through(func(s Source) Source { return hidden{s, 15, 25} })
		b.onStep = func(*features.Scene, *annotation.Annotation) error {
			if fail.CompareAndSwap(true, false) {
				panic("a wild index")
			}
			return nil
		}
	}, func(t *testing.T, b *bench, c *Camera) {
		if o := one(t, b.rec.newest()); o.Area != 0 {
			t.Fatalf("%v is in sight", o)
		}
		_, err := c.Keep(t.Context(), 256)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		f.blind.Store(true)
		assert.Error(t, c.Clear(t.Context(), 77), "an unknown object was removed")
		assert.Equal(t, 1, len(c.memory.Marked()), "pictures are remembered")
		fail.Store(true)
		time.Sleep(2500 * time.Millisecond)
		if o := one(t, b.rec.newest()); o.Id != 256 || o.Automatic {
			t.Errorf("after new stages: %v", o)
		}
	})
}

// Automatic objects end with their stages, which is told, and are found anew under ids that were not
// used before.
func TestAutomaticEndsWithStages(t *testing.T) {
	var fail atomic.Bool
	live(t, func(b *bench) {
		b.detecting(&finder{}, 200*time.Millisecond)
		b.onStep = func(*features.Scene, *annotation.Annotation) error {
			if fail.CompareAndSwap(true, false) {
				panic("a wild index")
			}
			return nil
		}
	}, func(t *testing.T, b *bench, c *Camera) {
		fail.Store(true)
		time.Sleep(500 * time.Millisecond)
		if o := c.Snapshot().Objects; len(o) != 0 {
			t.Errorf("status has %v while there are no stages", o)
		}
		e := b.rec.event(segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED)
		if e == nil || e.ObjectId != 256 || e.Message != "the camera's stages ended; what is there is found anew" {
			t.Errorf("event %v", e)
		}
		time.Sleep(2 * time.Second)
		if o := one(t, b.rec.newest()); o.Id != 257 || !o.Automatic {
			t.Errorf("after new stages: %v", o)
		}
	})
}

// What people removed is not marked again while it is detected.
func TestRemoveAutomatic(t *testing.T) {
	f := &finder{}
	live(t, func(b *bench) {
		b.detecting(f, 200*time.Millisecond)
		b.cfg.Detect.Keep = 1500 * time.Millisecond
	}, func(t *testing.T, b *bench, c *Camera) {
		require.NoError(t, c.Clear(t.Context(), 256))
		time.Sleep(2 * time.Second)
		if m := b.rec.newest(); len(m.Objects) != 0 {
			t.Errorf("objects %v; want none", m.Objects)
		}
		f.blind.Store(true)
		time.Sleep(2500 * time.Millisecond)
		f.blind.Store(false)
		time.Sleep(time.Second)
		if o := one(t, b.rec.newest()); o.Id != 257 {
			t.Errorf("object %v; want what is detected later to be marked", o)
		}
	})
}

// A user who corrects an automatic object by strokes has it as their own. Its name stays when it is marked
// again.
func TestCorrectAutomatic(t *testing.T) {
	f := &finder{}
	var fail, marked atomic.Bool
	live(t, func(b *bench) {
		b.detecting(f, 200*time.Millisecond)
		b.onStep = func(_ *features.Scene, a *annotation.Annotation) error {
			if a != nil && a.Automatic {
				marked.Store(true)
			}
			if fail.CompareAndSwap(true, false) {
				panic("a wild index")
			}
			return nil
		}
	}, func(t *testing.T, b *bench, c *Camera) {
		if o, err := c.Rename(t.Context(), 256, "Ada"); err != nil || !o.Automatic || o.Class != "person" {
			t.Fatalf("%v, %v", o, err)
		}
		time.Sleep(time.Second)
		if o := one(t, b.rec.newest()); o.Label != "Ada" || !o.Automatic {
			t.Errorf("renamed: %v", o)
		}
		seq, objects := c.Objects()
		middle := annotation.Point{float64(objects[0].Box.X + 8), float64(objects[0].Box.Y + 8)}
		by := func(id uint32) *annotation.Annotation {
			return &annotation.Annotation{Frame: &seq, Width: testWidth, Height: testHeight, Objects: []annotation.Object{
				{ID: id, Scribbles: []annotation.Stroke{{Width: 4, Points: []annotation.Point{middle}}}},
			}}
		}
		if p, err := c.Preview(t.Context(), by(256)); err != nil || one(t, p).Automatic || one(t, p).Class != "person" {
			t.Errorf("preview %v, %v", p, err)
		}
		for _, ask := range []func(*annotation.Annotation) error{
			func(a *annotation.Annotation) error { _, err := c.Annotate(t.Context(), a); return err },
			func(a *annotation.Annotation) error { _, err := c.Preview(t.Context(), a); return err },
		} {
			if err := ask(by(300)); !errors.Is(err, annotation.ErrInvalid) || !strings.Contains(err.Error(), "objects[0].id: 300, and there is no such object; want 1…255 for a new one") {
				t.Errorf("an id that nobody has: %v", err)
			}
		}
		out, err := c.Annotate(t.Context(), by(256))
		if err != nil || len(out.Objects) != 1 || out.Objects[0].Automatic || out.Objects[0].Label != "Ada" {
			t.Fatalf("%v, %v", out, err)
		}
		f.blind.Store(true)
		time.Sleep(2 * time.Second)
		if o := one(t, b.rec.newest()); o.Id != 256 || o.Automatic || o.Class != "person" {
			t.Errorf("corrected: %v; want it kept", o)
		}
		// New stages find it again, and the detector leaves it alone still.
		f.blind.Store(false)
		marked.Store(false)
		fail.Store(true)
		time.Sleep(3 * time.Second)
		if o := one(t, b.rec.newest()); o.Id != 256 || o.Automatic || o.Label != "Ada" || marked.Load() {
			t.Errorf("after new stages: %v, marked by the detector: %v", o, marked.Load())
		}
	})
}

// Persons' objects are theirs beside a detector, and nothing begins on them.
func TestPeopleBesideDetector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 24)
		f := &finder{}
		b.detecting(f, 200*time.Millisecond)
		b.cfg.Annotation = annotate(ptr(0), 0)
		b.run(t.Context(), t)
		for _, m := range b.rec.masks {
			if o := one(t, m); o.Id != 1 || o.Automatic || o.Class != "" {
				t.Fatalf("frame %d: %v", m.Sequence, o)
			}
		}
	})
}

// What people mark is bound in that frame to what is detected there, though the mark is of no more than a part of it.
func TestMarkedIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 24)
		b.detecting(&finder{}, 100*time.Millisecond)
		part := &annotation.Annotation{Frame: ptr(0), Width: testWidth, Height: testHeight, Mask: make([]uint8, testWidth*testHeight), Objects: []annotation.Object{{ID: 1}}}
		r := square(0)
		for y := r.Min.Y; y < r.Min.Y+side*10/16; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				part.Mask[y*testWidth+x] = 1
			}
		}
		b.cfg.Annotation = part
		b.run(t.Context(), t)
		for _, m := range b.rec.masks[1:] {
			if o := one(t, m); o.Id != 1 || o.Extent == nil {
				t.Fatalf("frame %d: %v; want an extent", m.Sequence, o)
			}
		}
	})
}

// A detector that fails or panics costs the look, which is counted and told in the log, and no frame.
func TestDetectorFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		log := &logged{}
		meter := b.detecting(&finder{say: func(call int, found []features.Detection) ([]features.Detection, error) {
			switch call {
			case 0, 2:
				return nil, errors.New("out of memory")
			case 1:
				panic("a wild index")
			}
			return found, nil
		}}, 200*time.Millisecond)
		b.cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		_, snap := b.run(t.Context(), t)
		if snap.Published != 30 || snap.Restarts != 0 || meter.failed != 3 || meter.looks < 10 {
			t.Errorf("%d published, %d restarts, meter %+v", snap.Published, snap.Restarts, meter)
		}
		if o := one(t, b.rec.newest()); o.Id != 256 {
			t.Errorf("object %v", o)
		}
		if n := strings.Count(log.String(), "not looked for what there is"); n < 1 || n > 2 {
			t.Errorf("%d lines of failed looks; want one, or one more for the others:\n%s", n, log.String())
		}
	})
}

// Whatever a detector finds, there are only so many objects, and what makes no sense is none.
func TestDetectorFindsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 6)
		meter := b.detecting(&finder{say: func(_ int, found []features.Detection) ([]features.Detection, error) {
			for i := range 500 {
				box := image.Rect(0, 0, 6, 6).Add(image.Pt(i%10*6, i/10%8*6))
				found = append(found, features.Detection{Box: box, Class: "person", Score: 0.5})
			}
			return found, nil
		}}, 100*time.Millisecond)
		b.cfg.Detect.MaxObjects = 3
		_, snap := b.run(t.Context(), t)
		peak := 0
		for _, m := range b.rec.masks {
			peak = max(peak, len(m.Objects))
		}
		if snap.Published == 0 || peak != 3 || meter.unmarked < 10 || meter.failed != 0 {
			t.Errorf("%d published, %d objects, meter %+v; want 3 objects and all others refused", snap.Published, peak, meter)
		}
	})
	box := image.Rect(10, 10, 20, 30)
	found := sift([]features.Detection{
		{Box: image.Rectangle{Min: image.Pt(20, 30), Max: image.Pt(10, 10)}, Score: 0.9, Class: "person"}, {Box: image.Rect(-9, -9, 0, 0), Score: 0.9, Class: "person"},
		{Box: box, Score: math.NaN(), Class: "person"}, {Box: box, Score: math.Inf(1), Class: "person"},
		{Box: image.Rect(-1000, 40, 5, 1<<30), Score: 0.4, Class: "person"},
	}, 64, 48)
	if len(found) != 1 || found[0].Box != image.Rect(0, 40, 5, 48) {
		t.Errorf("sifted %v; want what is in the picture of the last", found)
	}
}

// Objects begin in the zones that are named, as they are by then, and are followed out of them.
func TestDetectZones(t *testing.T) {
	right := zones.Layout{Zones: []zones.Zone{
		{Name: "right", Polygon: []zones.Point{{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}}},
		{Name: "left", Polygon: []zones.Point{{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}}},
	}}
	live(t, func(b *bench) {
		b.detecting(&finder{}, 100*time.Millisecond)
		b.cfg.Zones, b.cfg.Detect.Zones = right, []string{"right"}
	}, func(t *testing.T, b *bench, c *Camera) {
		began, waited := -1, 0
		for n, m := range b.rec.all() {
			r := square(n)
			in := (r.Min.X+r.Max.X)/2 >= testWidth/2
			switch {
			case len(m.Objects) > 0 && began < 0:
				if began = n; !in {
					t.Errorf("it began in frame %d, out of the zone", n)
				}
			case in && began < 0:
				if waited++; waited > 2 {
					t.Errorf("frame %d: nothing is marked in the zone", n)
				}
			case began >= 0:
				one(t, m)
			}
		}
		if began < 1 {
			t.Errorf("it began in frame %d; want later ones", began)
		}
		_, err := c.SetZones(t.Context(), zones.Layout{})
		require.NoError(t, err)
		if c.mayBegin(image.Rect(40, 10, 60, 40), image.Pt(testWidth, testHeight)) {
			t.Error("something begins in a zone that is no more")
		}
	})
	if z := right.Zones[0]; !z.Holds(zones.Point{0.75, 0.99}) || z.Holds(zones.Point{0.25, 0.5}) {
		t.Error("a zone holds what is not in it, or not what is")
	}
}

// A configuration that cannot be is refused, with all that is wrong.
func TestDetectFaults(t *testing.T) {
	b := newBench(t, "gate", 1)
	b.detecting(&finder{}, 0)
	b.cfg.Detect = Detect{Classes: []string{"person", "", "a\x00b", strings.Repeat("x", 101)}, Every: -1, MaxObjects: 256, Zones: []string{"yard"}}
	_, err := New(b.cfg)
	for _, want := range []string{
		"Detect.Classes[1] is empty", "Classes[2]", "Classes[3]", "Detect.Every: -1ns",
		"Detect.MaxObjects: 256; want 0 to 255", `Detect.Zones[0]: "yard" is no zone of the camera`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant it to say %s", err, want)
		}
	}
	b.cfg.Detect = Detect{}
	_, err = New(b.cfg)
	assert.ErrorContains(t, err, "Detect.Classes: none", "no classes")
	b.cfg.Detect = Detect{Classes: []string{"person"}, Score: math.NaN()}
	_, err = New(b.cfg)
	assert.ErrorContains(t, err, "Confirm is NaN", "no score")
	b.cfg.Detect, b.cfg.NewDetector = Detect{}, nil
	b.cfg.Annotation = &annotation.Annotation{Width: 8, Height: 8, Objects: []annotation.Object{{ID: 256, Box: []float64{1, 1, 4, 4}}}}
	_, err = New(b.cfg)
	assert.ErrorContains(t, err, "ids above 255; accepted: 1 to 255", "a configured annotation with id 256")
}

// A camera whose detector cannot be built says so, and goes on trying.
func TestNoDetector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 5)
		b.detecting(&finder{}, time.Second)
		tries := 0
		make := b.cfg.NewDetector
		b.cfg.NewDetector = func() (Detector, error) {
			if tries++; tries == 1 {
				return nil, errors.New("no room")
			}
			return make()
		}
		_, snap := b.run(t.Context(), t)
		if snap.Restarts != 1 || snap.Published != 5 {
			t.Errorf("%d restarts, %d published", snap.Restarts, snap.Published)
		}
		assert.Contains(t, b.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN), "detector: no room", "it is down for")
	})
}
