package pipeline

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/tracker"
)

const (
	testWidth, testHeight = 64, 48
	testFPS               = 10
	side                  = 16 // of the red square in the pictures
)

// square is where the red square is in frame n.
func square(n int) image.Rectangle {
	x := n % 24 // there and back: pictures begin anew after as many
	return image.Rect(0, 0, side, side).Add(image.Pt(4+2*min(x, 24-x), 16))
}

// pictures writes n frames of a red square that moves over green into a folder.
func pictures(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, writePictures(dir, n))
	return dir
}

func writePictures(dir string, n int) error {
	for i := range n {
		img := image.NewRGBA(image.Rect(0, 0, testWidth, testHeight))
		draw.Draw(img, img.Bounds(), image.NewUniform(color.RGBA{30, 140, 40, 255}), image.Point{}, draw.Src)
		draw.Draw(img, square(i), image.NewUniform(color.RGBA{200, 20, 30, 255}), image.Point{}, draw.Src)
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.png", i)))
		if err != nil {
			return err
		}
		if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// annotation marks the square of frame n.
func annotate(frame *uint64, n int) *annotation.Annotation {
	r := square(n)
	middle := annotation.Point{float64(r.Min.X + side/2), float64(r.Min.Y + side/2)}
	return &annotation.Annotation{
		Frame: frame, Width: testWidth, Height: testHeight,
		Objects: []annotation.Object{{ID: 1, Label: "square", Scribbles: []annotation.Stroke{
			{Width: side - 6, Points: []annotation.Point{middle}},
		}}},
		Background: []annotation.Stroke{{Width: 6, Points: []annotation.Point{{4, 5}, {60, 5}, {60, 44}, {4, 44}}}},
	}
}

// recorder keeps what is published, and fails its test when a message is not what is promised.
type recorder struct {
	tb testing.TB

	mu       sync.Mutex
	masks    []*segdv1.MaskFrame
	events   []*segdv1.Event
	statuses []*segdv1.Status
	viewed   []uint64
	pictures map[uint64]uint32      // of those viewed, a sum
	thumbs   map[string]bool        // that were made
	refuse   func(seq uint64) error // of PublishMask; may be nil
}

// check holds a message against what is promised, as subscribers do.
func (r *recorder) check(m proto.Message) {
	if err := bustest.Check(m); err != nil {
		r.tb.Errorf("published: %v", err)
	}
}

func (r *recorder) PublishMask(m *segdv1.MaskFrame) error {
	r.check(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		if err := r.refuse(m.Sequence); err != nil {
			return err
		}
	}
	r.masks = append(r.masks, m)
	return nil
}

func (r *recorder) PublishEvent(e *segdv1.Event) error {
	r.check(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

func (r *recorder) PublishStatus(s *segdv1.Status) error {
	r.check(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses = append(r.statuses, s)
	return nil
}

func (r *recorder) Publish(m *segdv1.MaskFrame, p *privacy.Picture) {
	bgr := p.BGR(false)
	r.check(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(bgr) == 3*int(m.Width)*int(m.Height) {
		r.viewed = append(r.viewed, m.Sequence)
		if r.pictures == nil {
			r.pictures = map[uint64]uint32{}
		}
		r.pictures[m.Sequence] = crc32.ChecksumIEEE(bgr)
	}
}

// thumbnailOf names the thumbnail of an object by what it is made of.
func thumbnailOf(m *segdv1.MaskFrame, picture uint32, object uint32) string {
	return fmt.Sprintf("%d-%d-%d", m.Sequence, picture, object)
}

func (r *recorder) Thumbnail(m *segdv1.MaskFrame, p *privacy.Picture, object uint32) (path string, made, removed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path = thumbnailOf(m, crc32.ChecksumIEEE(p.BGR(false)), object)
	if !r.thumbs[path] {
		made = 1
	}
	if r.thumbs == nil {
		r.thumbs = map[string]bool{}
	}
	r.thumbs[path] = true
	return path, made, 0
}

func (r *recorder) Status(s *segdv1.Status) { r.check(s) }
func (r *recorder) Event(e *segdv1.Event)   { r.check(e) }

func (r *recorder) sequences() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var seqs []uint64
	for _, m := range r.masks {
		seqs = append(seqs, m.Sequence)
	}
	return seqs
}

func (r *recorder) statusCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.statuses)
}

// kinds lists the events in order, those of one kind in a row once.
func (r *recorder) kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []string
	for _, e := range r.events {
		kinds = append(kinds, strings.TrimPrefix(e.Kind.String(), "EVENT_KIND_"))
	}
	return kinds
}

func (r *recorder) message(kind segdv1.EventKind) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			return e.Message
		}
	}
	return ""
}

// counted is a source that remembers its frames, to see that each was released.
type counted struct {
	Source
	mu     sync.Mutex
	frames []*ingest.Frame
}

func (c *counted) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	return c.Source.Run(ctx, func(f *ingest.Frame) {
		f.Retain()
		c.mu.Lock()
		c.frames = append(c.frames, f)
		c.mu.Unlock()
		sink(f)
	})
}

// check releases the last reference of every frame; a frame that a caller still
// holds keeps its pixels.
func (c *counted) check(t *testing.T) {
	t.Helper()
	for _, f := range c.frames {
		if f.Release(); f.Pix != nil {
			t.Errorf("frame %d was not released", f.Seq)
		}
	}
}

// extractor and stepper let a test step in before the real one.
type (
	extractor struct {
		Extractor
		before func(s *features.Scene, plan features.Plan) error
	}
	stepper struct {
		Stepper
		before  func(s *features.Scene, a *annotation.Annotation) error // may be nil
		picture func(s *features.Scene, p tracker.Picture)              // may be nil
		after   func(*tracker.Result)                                   // may be nil
	}
)

func (e *extractor) Extract(dst *features.Scene, bgr []byte, width, height int, plan features.Plan) error {
	if err := e.before(dst, plan); err != nil {
		return err
	}
	return e.Extractor.Extract(dst, bgr, width, height, plan)
}

func (s *stepper) Step(ctx context.Context, sc *features.Scene, p tracker.Picture, a *annotation.Annotation, e []tracker.Extent) (*tracker.Result, error) {
	if s.before != nil {
		if err := s.before(sc, a); err != nil {
			return nil, err
		}
	}
	if s.picture != nil {
		s.picture(sc, p)
	}
	res, err := s.Stepper.Step(ctx, sc, p, a, e)
	if err == nil && s.after != nil {
		s.after(res)
	}
	return res, err
}

// bench is a camera over a folder of pictures, with its recorder.
type bench struct {
	cfg       Config
	rec       *recorder
	sources   []*counted
	loop      bool
	dir       string
	tracker   tracker.Config
	onExtract func(*features.Scene, features.Plan) error
	onStep    func(*features.Scene, *annotation.Annotation) error
	onPicture func(*features.Scene, tracker.Picture)
	onResult  func(*tracker.Result)
}

func newBench(t *testing.T, name string, frames int) *bench {
	b := &bench{rec: &recorder{tb: t}, dir: pictures(t, frames)}
	b.cfg = b.config(name)
	return b
}

func (b *bench) config(name string) Config {
	return Config{
		Site: "test", Name: name, Publisher: b.rec, Viewer: b.rec,
		Open: func(o ingest.Observer) (Source, error) {
			s, err := ingest.Open(ingest.Config{Camera: name, URL: "dir:" + b.dir, FPS: testFPS, Loop: b.loop, Observer: o})
			if err != nil {
				return nil, err
			}
			c := &counted{Source: s}
			b.sources = append(b.sources, c)
			return c, nil
		},
		NewExtractor: func() (Extractor, error) {
			e, err := features.New(features.Config{Superpixels: 48}, nil)
			if err != nil || b.onExtract == nil {
				return e, err
			}
			return &extractor{e, b.onExtract}, nil
		},
		NewStepper: func() (Stepper, error) {
			s, err := tracker.New(b.tracker)
			return &stepper{s, b.onStep, b.onPicture, b.onResult}, err
		},
	}
}

// through has the camera read what wrap makes of its source.
func (b *bench) through(wrap func(Source) Source) {
	open := b.cfg.Open
	b.cfg.Open = func(o ingest.Observer) (Source, error) {
		s, err := open(o)
		return wrap(s), err
	}
}

// run runs the camera to its end and checks what must always hold.
func (b *bench) run(ctx context.Context, t *testing.T) (*Camera, Snapshot) {
	t.Helper()
	c, err := New(b.cfg)
	require.NoError(t, err)
	require.NoError(t, c.Run(ctx))
	return c, b.check(t, c)
}

func (b *bench) check(t *testing.T, c *Camera) Snapshot {
	t.Helper()
	for _, s := range b.sources {
		s.check(t)
	}
	snap := c.Snapshot()
	if snap.In != snap.Published+snap.Dropped+snap.Failed {
		t.Errorf("%d frames in, but %d published, %d dropped and %d failed", snap.In, snap.Published, snap.Dropped, snap.Failed)
	}
	seqs := b.rec.sequences()
	if uint64(len(seqs)) != snap.Published {
		t.Errorf("%d masks on the bus, %d counted", len(seqs), snap.Published)
	}
	b.rec.checkEvents(t)
	if !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
		t.Errorf("sequence numbers do not rise: %v", seqs)
	}
	return snap
}

// checkEvents holds what events say of objects to be what the masks of their frames show.
func (r *recorder) checkEvents(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		i := slices.IndexFunc(r.masks, func(m *segdv1.MaskFrame) bool { return m.Sequence == e.Sequence && m.Epoch == e.Epoch })
		if e.ObjectId == 0 || i < 0 || len(r.masks) > maxFrames {
			continue
		}
		m := r.masks[i]
		if e.Width != m.Width || e.Height != m.Height || !proto.Equal(e.CaptureTime, m.CaptureTime) {
			t.Errorf("%v; want the size and the capture time of its frame: %d×%d, %v", e, m.Width, m.Height, m.CaptureTime)
		}
		for _, o := range m.Objects {
			if o.Id == e.ObjectId && o.Area > 0 && (!proto.Equal(e.Box, o.Box) || e.Score != o.Score || e.ObjectClass != o.Class || !proto.Equal(e.Extent, o.Extent)) {
				t.Errorf("%v; want what its frame shows: %v", e, o)
			}
			picture, viewed := r.pictures[e.Sequence]
			missing := e.Thumbnail == "" && e.Kind != segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED // which may be noticed with the next frame
			if o.Id == e.ObjectId && (missing && o.Area > 0 || e.Thumbnail != "" && o.Area == 0 || e.Thumbnail != "" && viewed && e.Thumbnail != thumbnailOf(m, picture, o.Id)) {
				t.Errorf("%v; want a thumbnail of what its frame shows: %v", e, o)
			}
		}
	}
}

func ptr(v uint64) *uint64 { return &v }

// From the first frame to the last the square has a mask, on every frame.
func TestCameraFollowsAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 30)
		b.cfg.Annotation = annotate(ptr(3), 3)
		_, snap := b.run(t.Context(), t)
		if snap.In != 30 || snap.Published != 30 {
			t.Fatalf("%d in, %d published; want 30 of 30", snap.In, snap.Published)
		}
		for n, m := range b.rec.masks {
			if n < 3 {
				assert.Len(t, m.Objects, 0, "frame %d has objects before the annotation", n)
				continue
			}
			if len(m.Objects) != 1 || m.Objects[0].State != segdv1.State_STATE_VISIBLE {
				t.Errorf("frame %d: %v", n, m.Objects)
				continue
			}
			got, err := mask.Parse(m.Objects[0].Counts, testWidth, testHeight)
			require.NoError(t, err)
			if iou := mask.IoU(got, squareMask(n)); iou < 0.8 {
				t.Errorf("frame %d: IoU %.2f with the square", n, iou)
			}
			if m.Objects[0].Area != int32(got.Area()) {
				t.Errorf("frame %d: area %d, the mask has %d pixels", n, m.Objects[0].Area, got.Area())
			}
		}
		if o := snap.Objects; len(o) != 1 || o[0].VisibleFrames != 27 || o[0].Label != "square" {
			t.Errorf("objects %+v, want the square visible in 27 frames", o)
		}
		want := []string{"CAMERA_UP", "ANNOTATION_ACCEPTED", "OBJECT_APPEARED", "CAMERA_DOWN"}
		assert.Equal(t, want, b.rec.kinds(), "events")
		assert.Len(t, b.rec.viewed, 30, "frames were shown")
		if n := len(b.rec.statuses); n != 3 { // at 1 s and 2 s, and the last word
			t.Errorf("%d statuses in 2.9 s, want 3", n)
		}
		if fps := b.rec.statuses[1].FpsIn; fps < 9 || fps > 11 {
			t.Errorf("status says %.1f fps in, want about %d", fps, testFPS)
		}
	})
}

func squareMask(n int) mask.RLE {
	bits := make([]uint8, testWidth*testHeight)
	r := square(n)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			bits[y*testWidth+x] = 1
		}
	}
	return mask.Encode(bits, testWidth, testHeight)
}

// A stage that takes three and a half frames' time makes others be dropped; the
// annotated frame never is, and the annotation is applied to it and no other.
func TestAnnotatedFrameIsNeverDropped(t *testing.T) {
	slow := func() { time.Sleep(350 * time.Millisecond) }
	for _, tt := range []struct {
		name  string
		stage Stage
	}{{"slow features", StageFeatures}, {"slow tracker", StageTrack}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", 40)
				if tt.stage == StageFeatures {
					b.onExtract = func(*features.Scene, features.Plan) error { slow(); return nil }
				}
				var annotated []uint64
				b.onStep = func(s *features.Scene, a *annotation.Annotation) error {
					if tt.stage == StageTrack {
						slow()
					}
					if a != nil {
						annotated = append(annotated, s.Seq)
					}
					return nil
				}
				b.cfg.Annotation = annotate(ptr(17), 17)
				_, snap := b.run(t.Context(), t)
				// What features were computed of is labelled.
				if snap.DroppedBefore[StageFeatures] < 20 || snap.Dropped != snap.DroppedBefore[StageFeatures] {
					t.Errorf("dropped %v; want many before features, none elsewhere", snap.DroppedBefore)
				}
				assert.Equal(t, []uint64{17}, annotated, "the annotation was applied to frames")
				if !slices.Contains(b.rec.sequences(), 17) {
					t.Error("the annotated frame was not published")
				}
				// A mailbox of one bounds the wait: the stage's own time twice over, and once more where
				// so many frames were dropped that a scene is made anew.
				if snap.Latency.P99 > 3*350*time.Millisecond+20*time.Millisecond {
					t.Errorf("p99 latency %v", snap.Latency.P99)
				}
			})
		})
	}
}

// What is marked is seen in finer superpixels in the frame it is marked on, and where it is
// then in those after.
func TestObjectsAreSeenFiner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "fine", 20)
		plans := make([]features.Plan, 20)
		b.onExtract = func(s *features.Scene, plan features.Plan) error {
			plans[s.Seq] = plan
			return nil
		}
		r := square(5)
		b.cfg.Annotation = &annotation.Annotation{
			Frame: ptr(5), Width: testWidth, Height: testHeight,
			Objects: []annotation.Object{{ID: 1, Label: "square", Box: []float64{float64(r.Min.X), float64(r.Min.Y), float64(r.Max.X), float64(r.Max.Y)}}},
		}
		b.run(t.Context(), t)
		for seq, p := range plans {
			middle := square(seq).Min.Add(image.Pt(side/2, side/2))
			shown := p.Whole || slices.ContainsFunc(p.Crops, func(c features.Crop) bool { return middle.In(c.Rectangle) })
			finer := slices.ContainsFunc(p.Fine, func(r features.Region) bool { return middle.In(r.Rectangle) })
			if want := seq >= 5; p.Whole && seq < 5 || seq == 5 && !p.Whole || shown != want || finer != want {
				t.Errorf("frame %d: %+v; want nothing before the annotation, all in its frame, then the object, finer", seq, p)
			}
		}
	})
}

// An annotation of an earlier frame says nothing of where the newest should be finer.
func TestEarlierMarksAreNotSeenFiner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "fine", 40)
		applied := false
		b.onStep = func(s *features.Scene, a *annotation.Annotation) error {
			if a != nil {
				applied = true
				if *a.Frame >= s.Seq || s.N != 0 {
					t.Errorf("an annotation of frame %d makes frame %d %d superpixels; want none", *a.Frame, s.Seq, s.N)
				}
			}
			return nil
		}
		c, stop := b.start(t)
		time.Sleep(2050 * time.Millisecond) // frames 0 to 20 have come
		r := square(17)
		_, err := c.Annotate(t.Context(), &annotation.Annotation{
			Frame: ptr(17), Width: testWidth, Height: testHeight,
			Objects: []annotation.Object{{ID: 1, Box: []float64{float64(r.Min.X), float64(r.Min.Y), float64(r.Max.X), float64(r.Max.Y)}}},
		})
		if err != nil || !applied {
			t.Errorf("applied %t, %v", applied, err)
		}
		stop()
	})
}

// A panic in one camera's stage restarts that camera, with its numbering going
// on, and the other camera does not lose a frame.
func TestPanicStaysInItsCamera(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := newBench(t, "bad", 20), newBench(t, "good", 60)
		bad.cfg.Annotation = annotate(ptr(0), 0)
		panicked := false
		bad.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			if s.Seq == 5 && !panicked {
				panicked = true
				panic("a wild index")
			}
			return nil
		}
		all := setOf(t, bad, good)
		require.NoError(t, all.Run(t.Context()))
		camera := func(name string) *Camera {
			c, err := all.Camera(name)
			require.NoError(t, err)
			return c
		}
		snap := bad.check(t, camera("bad"))
		if snap.Restarts != 1 || snap.Failed != 1 {
			t.Errorf("%d restarts, %d failed; want 1 and 1", snap.Restarts, snap.Failed)
		}
		if snap.Published < 20 {
			t.Errorf("%d frames published; want the 20 of the second life and some", snap.Published)
		}
		want := []string{"CAMERA_UP", "ANNOTATION_ACCEPTED", "OBJECT_APPEARED",
			"OBJECT_LOST", "CAMERA_DOWN", "CAMERA_UP", "OBJECT_BACK", "CAMERA_DOWN"}
		assert.Equal(t, want, bad.rec.kinds(), "events")
		assert.Equal(t, "track: frame 5: panic: a wild index", bad.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN), "the event says")
		other := good.check(t, camera("good"))
		if other.Published != 60 || other.Restarts != 0 {
			t.Errorf("the other camera: %d of 60 published, %d restarts", other.Published, other.Restarts)
		}
	})
}

// wildModel panics at the sixth image, on the goroutine it is run on.
type wildModel struct{ images int }

func (m *wildModel) Features(dst features.Sight, _ []byte, _, _ int, _ features.View) (features.Sight, error) {
	m.images++
	if m.images == 6 {
		panic("a wild index")
	}
	return dst, nil
}

// A panic of a model is one of its camera's stage too.
func TestModelPanicStaysInItsCamera(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := newBench(t, "bad", 20), newBench(t, "good", 60)
		bad.cfg.Annotation = annotate(ptr(0), 0)
		model := &wildModel{}
		bad.cfg.NewExtractor = func() (Extractor, error) { return features.New(features.Config{Superpixels: 48}, model) }
		var log strings.Builder
		bad.cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		all := setOf(t, bad, good)
		require.NoError(t, all.Run(t.Context()))
		c, err := all.Camera("bad")
		require.NoError(t, err)
		snap := bad.check(t, c)
		if snap.Restarts != 1 || snap.Failed != 1 || snap.Published < 20 {
			t.Errorf("%d restarts, %d failed, %d published; want 1, 1 and the 20 of the second life and some",
				snap.Restarts, snap.Failed, snap.Published)
		}
		assert.Equal(t, "features: frame 5: panic: a wild index", bad.rec.message(segdv1.EventKind_EVENT_KIND_CAMERA_DOWN), "the event says")
		assert.Contains(t, log.String(), "wildModel", "the log does not show where the model was:\n%s", &log)
		c, err = all.Camera("good")
		require.NoError(t, err)
		if other := good.check(t, c); other.Published != 60 || other.Restarts != 0 {
			t.Errorf("the other camera: %d of 60 published, %d restarts", other.Published, other.Restarts)
		}
	})
}

// A scene that waits for its next frame has lent others its memory.
func TestScenesAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 10)
		b.cfg.Annotation = annotate(ptr(0), 0)
		var labelled *features.Scene
		again := 0
		b.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			labelled = s
			return nil
		}
		b.onResult = func(*tracker.Result) {
			labelled.Patches[0].Maps = []features.Map{{Data: make([]float32, 8)}}
		}
		b.onExtract = func(s *features.Scene, _ features.Plan) error {
			patches := s.Patches[:cap(s.Patches)]
			if len(patches) == 0 || len(patches[0].Maps) == 0 {
				return nil
			}
			if again++; s.X != nil || patches[0].Labels != nil || patches[0].Maps[0].Data != nil {
				t.Error("a scene waited with what it showed")
			}
			return nil
		}
		b.run(t.Context(), t)
		if again == 0 {
			t.Error("no scene was used again")
		}
	})
}

// One bad frame costs that frame, not the objects; frame after frame restarts.
func TestErrors(t *testing.T) {
	errBad := errors.New("bad picture")
	for _, tt := range []struct {
		name             string
		fails            func(seq uint64) bool
		failed, restarts uint64
	}{
		{"one frame", func(seq uint64) bool { return seq == 5 }, 1, 0},
		{"nine in a row", func(seq uint64) bool { return seq >= 5 && seq < 14 }, 9, 0},
		{"ten in a row", func(seq uint64) bool { return seq >= 5 && seq < 15 }, 10, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", 25)
				b.onExtract = func(s *features.Scene, _ features.Plan) error {
					if tt.fails(s.Seq) {
						return errBad
					}
					return nil
				}
				_, snap := b.run(t.Context(), t)
				if snap.Failed != tt.failed || snap.Restarts != tt.restarts {
					t.Errorf("%d failed, %d restarts; want %d and %d", snap.Failed, snap.Restarts, tt.failed, tt.restarts)
				}
			})
		})
	}
}

// A part that cannot be built, and a source that cannot be read, are tried again
// with pauses that grow.
func TestRestartBacksOff(t *testing.T) {
	for _, tt := range []struct {
		name   string
		broken func(b *bench, opened func())
	}{
		{"no extractor", func(b *bench, opened func()) {
			b.cfg.NewExtractor = func() (Extractor, error) { opened(); return nil, errors.New("no model") }
		}},
		{"panic while building", func(b *bench, opened func()) {
			b.cfg.NewStepper = func() (Stepper, error) { opened(); panic("no") }
		}},
		{"no such folder", func(b *bench, opened func()) {
			b.dir = "/does/not/exist"
			open := b.cfg.Open
			b.cfg.Open = func(o ingest.Observer) (Source, error) { opened(); return open(o) }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "gate", 1)
				var at []time.Time
				tt.broken(b, func() { at = append(at, time.Now()) })
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				_, snap := b.run(ctx, t)
				if snap.Up || snap.Reason == "" {
					t.Errorf("up %v, reason %q", snap.Up, snap.Reason)
				}
				if n := int(snap.Attempts); n != len(at) && n != len(at)-1 || snap.NextAttempt.Sub(snap.Since) < 9*time.Minute {
					t.Errorf("%d attempts counted of %d, the next %v after it went down", n, len(at), snap.NextAttempt.Sub(snap.Since))
				}
				if len(at) < 20 || len(at) > 60 {
					t.Fatalf("%d attempts in ten minutes; want about one every 15 to 30 s", len(at))
				}
				if first := at[1].Sub(at[0]); first > time.Second {
					t.Errorf("first pause %v, want at most 1 s", first)
				}
				if last := at[len(at)-1].Sub(at[len(at)-2]); last < 15*time.Second || last > 31*time.Second {
					t.Errorf("last pause %v, want 15 to 30 s", last)
				}
				if got := b.rec.kinds(); len(got) == 0 || got[0] != "CAMERA_DOWN" || len(got) > 1 {
					t.Errorf("events %v, want one CAMERA_DOWN", got)
				}
			})
		})
	}
}

// When the context ends, the frame in hand is finished and published.
func TestShutdownFinishesTheFrameInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 100)
		ctx, cancel := context.WithCancel(t.Context())
		b.onStep = func(s *features.Scene, _ *annotation.Annotation) error {
			if s.Seq == 10 {
				cancel()
				time.Sleep(time.Second)
			}
			return nil
		}
		_, snap := b.run(ctx, t)
		if seqs := b.rec.sequences(); seqs[len(seqs)-1] != 10 || snap.Published != 11 {
			t.Errorf("published %v; want up to the 10 that was in hand", seqs)
		}
	})
}

func TestPublishFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 10)
		b.rec.refuse = func(seq uint64) error {
			if seq == 4 {
				return errors.New("buffer is full")
			}
			return nil
		}
		_, snap := b.run(t.Context(), t)
		if snap.Failed != 1 || snap.PublishFailures != 1 || snap.Restarts != 0 || snap.Published != 9 {
			t.Errorf("got %+v", snap)
		}
		assert.Len(t, b.rec.viewed, 10, "frames shown; the page does not depend on the bus")
	})
}

func TestAnnotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "gate", 10)
		b.loop = true
		b.tracker.History = 150_000 // about ten frames
		c, err := New(b.cfg)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = c.Run(ctx) })
		time.Sleep(2050 * time.Millisecond) // frames 0 to 20 have come

		other := annotate(nil, 1)
		other.Width, other.Height = 128, 96
		for _, tt := range []struct {
			name string
			a    *annotation.Annotation
			want string
		}{
			{"another size", other, "128×96"},
			{"a frame far ahead", annotate(ptr(1<<63), 3), "frame: 9223372036854775808 is far ahead, the next is 2"},
			{"a frame that is not kept", annotate(ptr(3), 3), "frame: 3 is no longer kept; accepted: "},
		} {
			_, err := c.Annotate(ctx, tt.a)
			if !errors.Is(err, ErrAnnotate) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}

		if out, err := c.Annotate(ctx, annotate(ptr(17), 7)); err != nil || out.Sequence != 17 || out.MasksSequence < 20 {
			t.Errorf("annotating frame 17, which has passed: %v, %v", out, err)
		}
		out, err := c.Annotate(ctx, annotate(nil, 3))
		if err != nil || out.Sequence < 20 || out.Sequence > 24 || out.MasksSequence != out.Sequence {
			t.Errorf("annotating the newest frame: %v, %v", out, err)
		}
		if out, err = c.Annotate(ctx, annotate(ptr(40), 0)); err != nil || out.Sequence != 40 {
			t.Errorf("annotating frame 40: %v, %v", out, err)
		}

		// One that was taken back is not applied.
		short, stop := context.WithCancel(ctx)
		time.AfterFunc(time.Second, stop)
		_, err = c.Annotate(short, annotate(ptr(1000), 0))
		assert.ErrorIs(t, err, context.Canceled, "waiting for a frame far away")

		// Those that wait when the camera ends are refused.
		var pending error
		running.Go(func() { _, pending = c.Annotate(context.WithoutCancel(ctx), annotate(ptr(1000), 0)) })
		synctest.Wait()
		cancel()
		running.Wait()
		assert.ErrorIs(t, pending, api.ErrDown, "pending at the end")
		_, err = c.Annotate(t.Context(), annotate(nil, 0))
		assert.ErrorIs(t, err, api.ErrDown, "after the end")
		b.check(t, c)
		rejected := 0
		for _, kind := range b.rec.kinds() {
			if kind == "ANNOTATION_REJECTED" {
				rejected++
			}
		}
		if rejected != 5 { // the one after the end finds no bus
			t.Errorf("%d rejections told, want 5: %v", rejected, b.rec.kinds())
		}
	})
}

// spoiling calls every second frame damaged, tells of units that gave none and of deinterlacing, and asks
// once whether the pipeline is behind.
type spoiling struct {
	Source
	o      ingest.Observer
	behind *bool
	asked  chan struct{} // closed when it has asked with frame 1
}

func (s spoiling) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	return s.Source.Run(ctx, func(f *ingest.Frame) {
		f.Damaged = f.Seq%2 == 0
		s.o.Missed(ingest.MissLost, 2)
		s.o.Missed(ingest.MissOverflow, 3)
		s.o.Deinterlaced(true)
		f.Retain()
		sink(f)
		if f.Seq == 1 {
			*s.behind = s.o.Behind()
			close(s.asked)
		}
		f.Release()
	})
}

// What the source says of damage and of frames that never came is counted, the
// annotation goes to a frame that is whole, and the source can ask whether frames
// wait.
func TestDamageIsCounted(t *testing.T) {
	const frames = 6
	b := newBench(t, "gate", frames)
	open, behind, asked := b.cfg.Open, false, make(chan struct{})
	b.onExtract = func(s *features.Scene, _ features.Plan) error {
		if s.Seq == 0 {
			<-asked
		}
		return nil
	}
	b.cfg.Open = func(o ingest.Observer) (Source, error) {
		s, err := open(o)
		return spoiling{s, o, &behind, asked}, err
	}
	b.cfg.Annotation = annotate(nil, 1)
	annotated := uint64(99)
	b.onStep = func(s *features.Scene, a *annotation.Annotation) error {
		if a != nil {
			annotated = s.Seq
		}
		return nil
	}
	_, snap := b.run(t.Context(), t)
	if snap.Damaged != frames/2 || snap.Missed[ingest.MissLost] != 2*frames || snap.Missed[ingest.MissOverflow] != 3*frames {
		t.Errorf("%d damaged, %v missed", snap.Damaged, snap.Missed)
	}
	if !snap.Deinterlaced || !status("site", snap, time.Now()).GetDeinterlaced() {
		t.Error("it is not said that pictures are deinterlaced")
	}
	if annotated != 1 {
		t.Errorf("frame %d was annotated, want the first that is whole", annotated)
	}
	if !behind {
		t.Error("the source was never told that a frame waits")
	}
}

func TestLatencyBelievesOnlyPlausibleClocks(t *testing.T) {
	received := time.Now()
	now := received.Add(50 * time.Millisecond)
	for _, tt := range []struct {
		name     string
		clock    ingest.Clock
		captured time.Duration // after received
		want     time.Duration
	}{
		{"arrival", ingest.ClockArrival, 0, 50 * time.Millisecond},
		{"sender report", ingest.ClockSenderReport, -30 * time.Millisecond, 80 * time.Millisecond},
		{"a clock that runs ahead", ingest.ClockSenderReport, time.Hour, 50 * time.Millisecond},
		{"a clock far behind", ingest.ClockSenderReport, -time.Hour, 50 * time.Millisecond},
	} {
		f := &ingest.Frame{Clock: tt.clock, Received: received, Captured: received.Add(tt.captured)}
		assert.Equal(t, tt.want, now.Sub(taken(f)), "%s", tt.name)
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	_, err := New(Config{Name: "gate"})
	require.Error(t, err, "an empty config was accepted")
	assert.Error(t, (Config{Name: "gate"}).Check(), "Check finds nothing")
	for _, want := range []string{"Site", "Open", "NewExtractor", "NewStepper", "Publisher"} {
		assert.Contains(t, err.Error(), "Config."+want, "%v does not name %s", err, want)
	}
}
