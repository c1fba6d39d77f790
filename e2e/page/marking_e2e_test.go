//go:build e2e

package page

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/mask"
)

// scribble freezes a frame on which the walker is and draws on and around her.
func (w *world) scribble(ctx context.Context, h *hand) (seq uint64, err error) {
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.Press(ctx, "n") })
	if err != nil {
		return 0, err
	}
	person, ok := w.walker[clip]
	if !ok {
		return 0, fmt.Errorf("frame %d of the clip is frozen, of which there is no reference", clip)
	}
	body, around := strokes(person)
	if err := h.draw(ctx, body...); err != nil {
		return 0, err
	}
	if err := h.Press(ctx, "b"); err != nil {
		return 0, err
	}
	if err := h.draw(ctx, around...); err != nil {
		return 0, err
	}
	return seq, h.previewed(ctx)
}

func (w *world) mark(ctx context.Context, t *testing.T) {
	h := w.desk
	seq, err := w.scribble(ctx, h)
	require.NoError(t, err)
	require.NoError(t, h.name(ctx, "lady"))
	from := w.log.count()
	at, err := h.accept(ctx)
	require.NoError(t, err)
	m, err := w.log.until(ctx, from, "lady", func(m *segdv1.MaskFrame) bool { return object(m, "lady") != nil })
	require.NoError(t, err)
	took := m.GetPublishTime().AsTime().Sub(at)
	w.note("marked on frame %d, accepted; %v later the masks of frame %d had it", seq, took.Round(time.Millisecond), m.GetSequence())
	if took > *within {
		t.Fatalf("the first masks with it came %v after accepting; want %v at most", took, *within)
	}
	require.NoError(t, w.followed(ctx, "lady", m.GetSequence()))
	require.NoError(t, h.picture(ctx, "1-followed"))
}

// leave throws marks away, which has to be asked for twice.
func (h *hand) leave(ctx context.Context) error {
	for range 2 {
		if err := h.press(ctx, "#cancel"); err != nil {
			return err
		}
	}
	_, err := h.until(ctx, "the live picture", func(s said) bool { return s.Mode == "live" })
	return err
}

// looks keeps how the page looks while a user marks with strokes.
func (w *world) looks(ctx context.Context, t *testing.T) {
	_, err := w.scribble(ctx, w.desk)
	require.NoError(t, err)
	require.NoError(t, w.desk.picture(ctx, "2-marking"))
	require.NoError(t, w.desk.leave(ctx))
}

// leastFrames are few because a busy machine drops frames.
const leastFrames = 3

// followed sees whether the masks cover the walker: those of seq, the first frame that
// shows the object, and from then on for as long as there is a reference by the middle of
// them, without leaving her.
func (w *world) followed(ctx context.Context, label string, seq uint64) error {
	var all []float64
	_, err := w.log.until(ctx, 0, "the walker's way to its end", func(m *segdv1.MaskFrame) bool {
		if m.GetSequence() < seq {
			return false
		}
		want, ok := w.walker[clipAt(m)]
		if !ok {
			return true
		}
		iou := 0.0
		if o := object(m, label); o != nil {
			if got, err := decoded(o); err == nil {
				iou = mask.IoU(got, want)
			}
		}
		all = append(all, iou)
		return false
	})
	if err != nil {
		return err
	}
	if len(all) < leastFrames {
		return fmt.Errorf("%d frames could be compared; want %d at least", len(all), leastFrames)
	}
	sorted := slices.Sorted(slices.Values(all))
	median := sorted[len(sorted)/2]
	w.note("intersection over union with the reference: %.2f at first; in %d frames %.2f to %.2f, median %.2f",
		all[0], len(all), sorted[0], sorted[len(sorted)-1], median)
	if all[0] < likeIt || median < likeIt || sorted[0] < onIt {
		return fmt.Errorf("intersection over union with the reference, frame by frame: %.2f; want %.2f in the first and by the median, and %.2f in all",
			all, likeIt, onIt)
	}
	return nil
}

// painting paints a ring and a dot with the page's own modules and asks what segd
// makes of it. Of two boxes the second counts.
const painting = `(async () => {
  const { Sketch } = await import("/assets/sketch.js");
  const { cameras, preview } = await import("/assets/api.js");
  const { decode, parseCounts } = await import("/assets/rle.js");
  const [{ width, height }] = (await cameras()).cameras;
  const sketch = new Sketch({ sequence: Number(document.body.dataset.sequence), width, height });
  const mark = (kind, points, brush) => sketch.add({ kind, id: 200, points, width: brush, base: "" });
  mark("paint", [[300, 200], [360, 210], [350, 270]], 60);
  mark("erase", [[330, 215]], 20);
  mark("paint", [[500.5, 300.5]], 31);
  mark("paint", [[2, 2], [40, 2]], 9);
  const want = sketch.painted(200).bits;
  const { objects } = await preview("demo", sketch.annotation());
  const got = decode(parseCounts(objects.find((o) => o.id === 200).counts), width, height);
  let wrong = 0, area = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const inside = x >= got.left && x < got.left + got.width && y >= got.top && y < got.top + got.height;
      const bit = inside ? got.bits[(y - got.top) * got.width + x - got.left] : 0;
      area += want[y * width + x];
      if (bit !== want[y * width + x]) wrong++;
    }
  }
  mark("box", [[10, 10], [20, 20]]);
  mark("box", [[30, 30], [60, 70]]);
  return { wrong, area, counting: sketch.counting().map((m) => m.points[0][0]) };
})()`

func (w *world) painted(ctx context.Context, t *testing.T) {
	var got struct {
		Wrong, Area int
		Counting    []float64
	}
	require.NoError(t, w.desk.Evaluate(ctx, painting, &got))
	if got.Wrong != 0 || got.Area < 1000 {
		t.Fatalf("%d pixels differ, of %d", got.Wrong, got.Area)
	}
	if !slices.Equal(got.Counting, []float64{30}) {
		t.Fatalf("marks that begin at %v count; want the second box alone", got.Counting)
	}
}

func (w *world) keyboard(ctx context.Context, t *testing.T) {
	h := w.desk
	for _, key := range []string{"n", "x", " ", kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.ArrowDown, kb.ArrowDown, kb.ArrowDown, kb.ArrowDown, " "} {
		require.NoError(t, h.Press(ctx, key))
		if key == "n" {
			_, err := h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" })
			require.NoError(t, err)
		}
	}
	require.NoError(t, h.previewed(ctx))
	require.NoError(t, h.picture(ctx, "4-keyboard"))
	require.NoError(t, h.Press(ctx, kb.Escape))
	if s, err := h.said(ctx); err != nil || s.Mode != "marking" {
		t.Fatal(errors.Join(err, fmt.Errorf("marks were thrown away by Escape without asking: %+v", s)))
	}
	require.NoError(t, h.Press(ctx, kb.Escape))
	_, err := h.until(ctx, "the live picture", func(s said) bool { return s.Mode == "live" })
	require.NoError(t, err)
}

// What never moves: the sign on the lamp post and the white car.
var (
	sign = image.Rect(414, 205, 444, 243)
	car  = image.Rect(650, 44, 728, 96)
)

// outlined draws the outline of a rectangle, corner by corner, and gives it a name.
func (h *hand) outlined(ctx context.Context, name string, r image.Rectangle) error {
	if err := h.tool(ctx, "polygon"); err != nil {
		return err
	}
	corners := []image.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
	for _, p := range append(corners, r.Min) { // the first one again closes it
		if err := h.draw(ctx, p); err != nil {
			return err
		}
	}
	if err := h.name(ctx, name); err != nil {
		return err
	}
	return h.previewed(ctx)
}

// twoTabs lets both choose their new object's number before either has sent it.
func (w *world) twoTabs(ctx context.Context, t *testing.T) {
	var err error
	w.second, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1100, Height: 720, Scale: 1})
	require.NoError(t, err)
	for _, one := range []struct {
		h    *hand
		name string
		at   image.Rectangle
	}{{w.desk, "sign", sign}, {w.second, "car", car}} {
		require.NoError(t, one.h.begin(ctx))
		require.NoError(t, one.h.outlined(ctx, one.name, one.at))
	}
	require.NoError(t, w.desk.picture(ctx, "5-first-tab"))
	require.NoError(t, w.second.picture(ctx, "5-second-tab"))
	for _, h := range []*hand{w.desk, w.second} {
		if _, err := h.accept(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.log.until(ctx, w.log.count(), fmt.Sprintf("a sign at %v and a car at %v", sign, car), func(m *segdv1.MaskFrame) bool {
		return lies(object(m, "sign"), sign) && lies(object(m, "car"), car)
	}); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"sign", "car"} {
		for _, h := range []*hand{w.desk, w.second} {
			require.NoError(t, h.listed(ctx, label))
		}
	}
	require.NoError(t, w.desk.picture(ctx, "6-four-objects"))
}

// empty outlines a piece of the lawn and strokes all of it away again.
func (w *world) empty(ctx context.Context, t *testing.T) {
	var err error
	if w.second == nil { // where this step is taken alone
		w.second, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1100, Height: 720, Scale: 1})
		require.NoError(t, err)
	}
	h, lawn := w.desk, image.Rect(110, 500, 126, 516)
	require.NoError(t, h.begin(ctx))
	require.NoError(t, h.outlined(ctx, "nothing", lawn))
	require.NoError(t, h.tool(ctx, "background"))
	for y := lawn.Min.Y - 2; y <= lawn.Max.Y+2; y += 4 {
		require.NoError(t, h.draw(ctx, image.Pt(lawn.Min.X-8, y), image.Pt(lawn.Max.X+8, y)))
	}
	require.NoError(t, h.previewed(ctx))
	_, err = h.accept(ctx)
	require.NoError(t, err)
	const told = "nothing is not followed: it has no mask in frame"
	for _, h := range []*hand{w.second, h} {
		moment, cancel := soon(ctx)
		_, err := h.until(moment, "word that it is not followed", func(said) bool { return strings.Contains(h.text(ctx, "#toast:not([hidden])"), told) })
		cancel()
		require.NoError(t, err)
	}
	if n := strings.Count(h.text(ctx, "#toast"), told); n != 1 {
		t.Fatalf("the page says %d times that it is not followed; want once: %q", n, h.text(ctx, "#toast"))
	}
	require.NoError(t, h.picture(ctx, "6-no-mask"))
	require.NoError(t, h.undo(ctx, "nothing is marked"))
	_, err = h.until(ctx, "a list without it", func(said) bool { return !slices.Contains(h.labels(ctx), "nothing") })
	require.NoError(t, err)
}

// lies tells whether an object is what was marked at a place. It need not be the whole
// of it, or nothing else.
func lies(o *segdv1.Object, at image.Rectangle) bool {
	b := o.GetBox()
	box := image.Rect(int(b.GetX()), int(b.GetY()), int(b.GetX()+b.GetWidth()), int(b.GetY()+b.GetHeight()))
	both, marked := box.Intersect(at), at.Dx()*at.Dy()
	common := both.Dx() * both.Dy()
	return 2*common >= box.Dx()*box.Dy()+marked-common && 3*int(o.GetArea()) >= marked
}

func (h *hand) listed(ctx context.Context, label string) error {
	_, err := h.until(ctx, label+" in the list", func(said) bool { return slices.Contains(h.labels(ctx), label) })
	return err
}

// labels are those in the page's list of objects.
func (h *hand) labels(ctx context.Context) []string {
	return h.texts(ctx, ".object-label")
}

// slow freezes, takes its time, and accepts when all frames of then are long gone.
func (w *world) slow(ctx context.Context, t *testing.T) {
	h := w.desk
	seq, _, err := h.freeze(ctx, 0, clipFrames, func() error { return h.Press(ctx, "n") })
	require.NoError(t, err)
	require.NoError(t, harness.Pause(ctx, *draw))
	if err := h.outlined(ctx, "late", image.Rect(150, 480, 250, 540)); err != nil { // the vest on the grass
		t.Fatal(err)
	}
	m, err := w.accepted(ctx, h, "late")
	require.NoError(t, err)
	w.note("frozen on frame %d, accepted when %d was the newest", seq, m.GetSequence())
}

// accepted presses Accept and waits for the object's first mask.
func (w *world) accepted(ctx context.Context, h *hand, label string) (*segdv1.MaskFrame, error) {
	from := w.log.count()
	if _, err := h.accept(ctx); err != nil {
		return nil, err
	}
	return w.log.until(ctx, from, label, func(m *segdv1.MaskFrame) bool { return object(m, label).GetArea() > 0 })
}
