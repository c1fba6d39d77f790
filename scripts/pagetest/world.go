package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/scripts/browser"
	"github.com/segd/segd/scripts/steps"
)

const (
	likeIt  = 0.7 // intersection over union with the reference
	subject = "segd.v1.home.demo.mask"
)

// Frames of the clip in which the walker is marked; later ones leave too little of her
// way to see whether she is followed.
const firstMark, lastMark = 620, 655

// world is what the steps act on.
type world struct {
	pictures string
	draw     time.Duration
	within   time.Duration // from accepting to the first masks with the object
	out      io.Writer
	url      string
	walker   map[int]mask.RLE
	chromium *browser.Browser
	conn     *nats.Conn
	log      log

	desk, second, phone *hand
}

func (w *world) steps() []steps.Step {
	all := []steps.Step{
		{Name: "the page shows the live picture and the demo's objects", Do: w.open},
		{Name: "an object is renamed, and undo gives the old name back", Do: w.rename},
		{Name: "it is corrected with the eraser, and undo gives the mask back", Do: w.correct},
		{Name: "objects are removed, and one is brought back by undo", Do: w.remove},
		{Name: "a walking person is marked with a few strokes, and followed", Do: w.mark},
		{Name: "what is painted is the mask to the pixel, holes and separate pieces too", Do: w.painted},
		{Name: "by keyboard alone: a box is drawn, and cancelled", Do: w.keyboard},
		{Name: "two tabs mark a new object each at once", Do: w.twoTabs},
		{Name: "somebody slow: the picture is still there to be marked", Do: w.slow},
		{Name: "a phone in portrait: two fingers zoom, and an outline is where it was drawn", Do: w.fingers},
		{Name: "a phone in portrait: the walker is marked with a finger, and followed", Do: w.onPhone},
		{Name: "strokes on a walking person are previewed, and thrown away", Do: w.looks},
		{Name: "the page in the dark", Do: w.dark},
		{Name: "the console has no complaints", Do: w.console},
	}
	for i, step := range all {
		all[i].Do = func(ctx context.Context) error {
			err := step.Do(ctx)
			if err != nil {
				w.pictureAll(context.WithoutCancel(ctx))
			}
			return err
		}
	}
	return all
}

// pictureAll keeps how the pages look when something failed.
func (w *world) pictureAll(ctx context.Context) {
	for name, h := range map[string]*hand{"desk": w.desk, "second": w.second, "phone": w.phone} {
		if h != nil {
			_ = h.picture(ctx, "failed-"+name) // the failure itself matters more
		}
	}
}

// listen takes in every mask.
func (w *world) listen(ctx context.Context, url string) (err error) {
	w.log.news = make(chan struct{})
	for {
		if w.conn, err = nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond)); err == nil {
			break
		}
		if stopped := pause(ctx, 100*time.Millisecond); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
	_, err = w.conn.Subscribe(subject, w.log.add)
	return err
}

// tab opens the page and waits until it is live.
func (w *world) tab(ctx context.Context, tab browser.Tab) (*hand, error) {
	tab.URL = w.url
	page, err := w.chromium.Open(ctx, tab)
	if err != nil {
		return nil, err
	}
	h := &hand{Page: page, w: w, touch: tab.Touch}
	_, err = h.until(ctx, "live frames", func(s said) bool { return len(s.Frames) >= 1 && s.Frames != "0" })
	return h, err
}

func (w *world) note(format string, args ...any) { fmt.Fprintf(w.out, "     "+format+"\n", args...) }

func (w *world) open(ctx context.Context) (err error) {
	if w.desk, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1}); err != nil {
		return err
	}
	for _, label := range []string{"person", "second person"} {
		if _, err := w.log.until(ctx, 0, label, func(m *segdv1.MaskFrame) bool { return object(m, label) != nil }); err != nil {
			return err
		}
		if err := w.desk.listed(ctx, label); err != nil {
			return err
		}
	}
	return nil
}

// gone waits for masks without an object, there for those with it.
func (w *world) gone(ctx context.Context, label string) error {
	ctx, cancel := soon(ctx)
	defer cancel()
	_, err := w.log.until(ctx, w.log.count(), "no "+label, func(m *segdv1.MaskFrame) bool { return object(m, label) == nil })
	return err
}

func (w *world) there(ctx context.Context, label string) (*segdv1.MaskFrame, error) {
	ctx, cancel := soon(ctx)
	defer cancel()
	return w.log.until(ctx, w.log.count(), label, func(m *segdv1.MaskFrame) bool { return object(m, label) != nil })
}

// undo presses the button of what was just done, which the page tells in words that
// hold what.
func (h *hand) undo(ctx context.Context, what string) error {
	ctx, cancel := soon(ctx)
	defer cancel()
	if _, err := h.until(ctx, "word of "+what, func(said) bool { return strings.Contains(h.text(ctx, "#toast:not([hidden])"), what) }); err != nil {
		return err
	}
	return h.press(ctx, "#toast button")
}

// soon bounds what happens at once even on a busy machine.
func soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not within 30 s"))
}

func (w *world) remove(ctx context.Context) error {
	h := w.desk
	if err := h.pressRow(ctx, "second person", ".remove"); err != nil {
		return err
	}
	if err := w.gone(ctx, "second person"); err != nil {
		return err
	}
	if err := h.undo(ctx, "second person is removed"); err != nil {
		return err
	}
	if _, err := w.there(ctx, "second person"); err != nil {
		return err
	}
	// The other one is in the way of what follows: it is the person to be marked.
	if err := h.pressRow(ctx, "person", ".remove"); err != nil {
		return err
	}
	return w.gone(ctx, "person")
}

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

func (w *world) mark(ctx context.Context) error {
	h := w.desk
	seq, err := w.scribble(ctx, h)
	if err != nil {
		return err
	}
	if err := h.press(ctx, "#mark-name"); err != nil {
		return err
	}
	if err := h.Type(ctx, "lady"); err != nil {
		return err
	}
	from := w.log.count()
	at, err := h.accept(ctx)
	if err != nil {
		return err
	}
	m, err := w.log.until(ctx, from, "lady", func(m *segdv1.MaskFrame) bool { return object(m, "lady") != nil })
	if err != nil {
		return err
	}
	took := m.GetPublishTime().AsTime().Sub(at)
	w.note("marked on frame %d, accepted; %v later the masks of frame %d had it", seq, took.Round(time.Millisecond), m.GetSequence())
	if took > w.within {
		return fmt.Errorf("the first masks with it came %v after accepting; want %v at most", took, w.within)
	}
	if err := w.followed(ctx, "lady", m.GetSequence()); err != nil {
		return err
	}
	return h.picture(ctx, "1-followed")
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

// looks keeps how the page looks while somebody marks with strokes.
func (w *world) looks(ctx context.Context) error {
	if _, err := w.scribble(ctx, w.desk); err != nil {
		return err
	}
	if err := w.desk.picture(ctx, "2-marking"); err != nil {
		return err
	}
	return w.desk.leave(ctx)
}

// leastFrames are few because a busy machine drops frames.
const leastFrames = 3

// followed sees whether the masks cover the walker, from one frame on for as long as
// there is a reference.
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
	slices.Sort(all)
	w.note("intersection over union with the reference in %d frames: %.2f to %.2f, median %.2f", len(all), all[0], all[len(all)-1], all[len(all)/2])
	if all[0] < likeIt {
		return fmt.Errorf("intersection over union with the reference: %.2f; want %.2f", all, likeIt)
	}
	return nil
}

func (w *world) rename(ctx context.Context) error {
	h := w.desk
	if err := h.pressRow(ctx, "person", ".rename"); err != nil {
		return err
	}
	if err := h.Type(ctx, "walker"); err != nil { // the old name is selected
		return err
	}
	if err := h.Press(ctx, "Enter"); err != nil {
		return err
	}
	m, err := w.there(ctx, "walker")
	if err != nil {
		return err
	}
	if object(m, "person") != nil {
		return errors.New("the old name is there still")
	}
	if err := h.listed(ctx, "walker"); err != nil {
		return err
	}
	if err := h.undo(ctx, "is called walker"); err != nil {
		return err
	}
	_, err = w.there(ctx, "person")
	return err
}

// correct wipes the lower half of the walker's mask away.
func (w *world) correct(ctx context.Context) error {
	h := w.desk
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.pressRow(ctx, "person", ".correct") })
	if err != nil {
		return err
	}
	if err := h.press(ctx, "[data-tool=erase]"); err != nil {
		return err
	}
	box := w.walker[clip].Box()
	var wipe []image.Point
	for y := box.Min.Y + box.Dy()/2; y < box.Max.Y+4; y += 6 {
		wipe = append(wipe, image.Pt(box.Min.X-8, y), image.Pt(box.Max.X+8, y), image.Pt(box.Max.X+8, y+3), image.Pt(box.Min.X-8, y+3))
	}
	if err := h.draw(ctx, wipe...); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "3-erasing"); err != nil {
		return err
	}
	if _, err := h.accept(ctx); err != nil {
		return err
	}
	m, err := w.walkerIs(ctx, "half a person", func(iou, share float64) bool { return share < 0.75 })
	if err != nil {
		return err
	}
	w.note("frame %d was corrected; by frame %d it is half of her", seq, m.GetSequence())
	if err := h.undo(ctx, "is marked"); err != nil {
		return err
	}
	if m, err = w.walkerIs(ctx, "the whole person", func(iou, share float64) bool { return iou > likeIt }); err != nil {
		return err
	}
	w.note("undone by frame %d", m.GetSequence())
	return nil
}

// walkerIs waits for a mask of the person that is like the reference as is wanted: iou is
// their intersection over union, share her area over the reference's.
func (w *world) walkerIs(ctx context.Context, what string, want func(iou, share float64) bool) (*segdv1.MaskFrame, error) {
	return w.log.until(ctx, w.log.count(), what, func(m *segdv1.MaskFrame) bool {
		o := object(m, "person")
		ref, ok := w.walker[clipAt(m)]
		if o == nil || !ok {
			return false
		}
		got, err := decoded(o)
		return err == nil && want(mask.IoU(got, ref), float64(got.Area())/float64(ref.Area()))
	})
}

// painting paints a ring and a dot with the page's own modules and asks what segd
// makes of it.
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
  return { wrong, area };
})()`

func (w *world) painted(ctx context.Context) error {
	var got struct{ Wrong, Area int }
	if err := w.desk.Evaluate(ctx, painting, &got); err != nil {
		return err
	}
	if got.Wrong != 0 || got.Area < 1000 {
		return fmt.Errorf("%d pixels differ, of %d", got.Wrong, got.Area)
	}
	return nil
}

func (w *world) keyboard(ctx context.Context) error {
	h := w.desk
	for _, key := range []string{"n", "x", " ", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", " "} {
		if err := h.Press(ctx, key); err != nil {
			return err
		}
		if key == "n" {
			if _, err := h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" }); err != nil {
				return err
			}
		}
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "4-keyboard"); err != nil {
		return err
	}
	if err := h.Press(ctx, "Escape"); err != nil {
		return err
	}
	if s, err := h.said(ctx); err != nil || s.Mode != "marking" {
		return errors.Join(err, fmt.Errorf("marks were thrown away by Escape without asking: %+v", s))
	}
	if err := h.Press(ctx, "Escape"); err != nil {
		return err
	}
	_, err := h.until(ctx, "the live picture", func(s said) bool { return s.Mode == "live" })
	return err
}

// What never moves: the sign on the lamp post and the white car.
var (
	sign = image.Rect(414, 205, 444, 243)
	car  = image.Rect(650, 44, 728, 96)
)

// outlined draws the outline of a rectangle, corner by corner, and gives it a name.
func (h *hand) outlined(ctx context.Context, name string, r image.Rectangle) error {
	if err := h.press(ctx, "[data-tool=polygon]"); err != nil {
		return err
	}
	corners := []image.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
	for _, p := range append(corners, r.Min) { // the first one again closes it
		if err := h.draw(ctx, p); err != nil {
			return err
		}
	}
	if err := h.press(ctx, "#mark-name"); err != nil {
		return err
	}
	if err := h.Type(ctx, name); err != nil {
		return err
	}
	return h.previewed(ctx)
}

// twoTabs lets both choose their new object's number before either has sent it.
func (w *world) twoTabs(ctx context.Context) (err error) {
	if w.second, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 1100, Height: 720, Scale: 1}); err != nil {
		return err
	}
	for _, one := range []struct {
		h    *hand
		name string
		at   image.Rectangle
	}{{w.desk, "sign", sign}, {w.second, "car", car}} {
		if err := one.h.press(ctx, "#mark"); err != nil {
			return err
		}
		if _, err := one.h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" }); err != nil {
			return err
		}
		if err := one.h.outlined(ctx, one.name, one.at); err != nil {
			return err
		}
	}
	if err := w.second.picture(ctx, "5-two-tabs"); err != nil {
		return err
	}
	for _, h := range []*hand{w.desk, w.second} {
		if _, err := h.accept(ctx); err != nil {
			return err
		}
	}
	m, err := w.log.until(ctx, w.log.count(), "a sign and a car", func(m *segdv1.MaskFrame) bool {
		return object(m, "sign").GetArea() > 0 && object(m, "car").GetArea() > 0
	})
	if err != nil {
		return err
	}
	for label, at := range map[string]image.Rectangle{"sign": sign, "car": car} {
		o := object(m, label)
		got, err := decoded(o)
		if err != nil {
			return err
		}
		if box := got.Box(); !box.In(at.Inset(-8)) || 3*o.GetArea() < int32(at.Dx()*at.Dy()) {
			return fmt.Errorf("%s, %d pixels at %v, was marked at %v", label, o.GetArea(), box, at)
		}
		for _, h := range []*hand{w.desk, w.second} {
			if err := h.listed(ctx, label); err != nil {
				return err
			}
		}
	}
	return w.desk.picture(ctx, "6-four-objects")
}

func (h *hand) listed(ctx context.Context, label string) error {
	_, err := h.until(ctx, label+" in the list", func(said) bool { return strings.Contains(h.text(ctx, ".object-label"), label) })
	return err
}

// slow freezes, takes its time, and accepts when all frames of then are long gone.
func (w *world) slow(ctx context.Context) error {
	h := w.desk
	seq, _, err := h.freeze(ctx, 0, clipFrames, func() error { return h.Press(ctx, "n") })
	if err != nil {
		return err
	}
	if err := pause(ctx, w.draw); err != nil {
		return err
	}
	if err := h.outlined(ctx, "late", image.Rect(150, 480, 250, 540)); err != nil { // the vest on the grass
		return err
	}
	from := w.log.count()
	if _, err := h.accept(ctx); err != nil {
		return err
	}
	m, err := w.log.until(ctx, from, "late", func(m *segdv1.MaskFrame) bool { return object(m, "late").GetArea() > 0 })
	if err != nil {
		return err
	}
	w.note("frozen on frame %d, accepted when %d was the newest", seq, m.GetSequence())
	return nil
}

func (w *world) onPhone(ctx context.Context) error {
	h, err := w.withPhone(ctx)
	if err != nil {
		return err
	}
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.press(ctx, "#mark") })
	if err != nil {
		return err
	}
	box := w.walker[clip].Box().Inset(-4)
	if err := h.press(ctx, "[data-tool=box]"); err != nil {
		return err
	}
	if err := h.draw(ctx, box.Min, box.Max); err != nil {
		return err
	}
	body, _ := strokes(w.walker[clip])
	if err := h.press(ctx, "[data-tool=object]"); err != nil {
		return err
	}
	if err := h.draw(ctx, body...); err != nil {
		return err
	}
	if err := h.press(ctx, "#mark-name"); err != nil {
		return err
	}
	if err := h.Type(ctx, "by phone"); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "8-phone-marking"); err != nil {
		return err
	}
	from := w.log.count()
	at, err := h.accept(ctx)
	if err != nil {
		return err
	}
	m, err := w.log.until(ctx, from, "by phone", func(m *segdv1.MaskFrame) bool { return object(m, "by phone").GetArea() > 0 })
	if err != nil {
		return err
	}
	w.note("marked on frame %d; %v after accepting the masks of frame %d had it", seq, m.GetPublishTime().AsTime().Sub(at).Round(time.Millisecond), m.GetSequence())
	return w.followed(ctx, "by phone", m.GetSequence())
}

func (w *world) withPhone(ctx context.Context) (_ *hand, err error) {
	if w.phone == nil {
		w.phone, err = w.tab(ctx, browser.Tab{Theme: "light", Width: 390, Height: 844, Scale: 2, Touch: true})
	}
	return w.phone, err
}

// fingers zooms in with two and draws with one; the drawing must be where the finger
// was, on the enlarged picture.
func (w *world) fingers(ctx context.Context) error {
	h, err := w.withPhone(ctx)
	if err != nil {
		return err
	}
	if err := h.picture(ctx, "7-phone"); err != nil {
		return err
	}
	if err := h.press(ctx, "#mark"); err != nil {
		return err
	}
	if _, err := h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" }); err != nil {
		return err
	}
	canvas, err := h.Find(ctx, "#canvas")
	if err != nil {
		return err
	}
	middle := canvas.Middle()
	var left, right []browser.Point
	for d := 20.0; d <= 80; d += 10 {
		left = append(left, browser.Point{X: middle.X - d, Y: middle.Y})
		right = append(right, browser.Point{X: middle.X + d, Y: middle.Y})
	}
	if err := h.Touch(ctx, left, right); err != nil {
		return err
	}
	if s, err := h.said(ctx); err != nil || s.Preview != "none" {
		return errors.Join(err, fmt.Errorf("zooming drew something: %+v", s))
	}
	if err := h.press(ctx, "[data-tool=polygon]"); err != nil {
		return err
	}
	for _, d := range []browser.Point{{X: -60, Y: -60}, {X: 60, Y: -60}, {X: 60, Y: 60}, {X: -60, Y: 60}} {
		if err := h.Touch(ctx, []browser.Point{{X: middle.X + d.X, Y: middle.Y + d.Y}}); err != nil {
			return err
		}
	}
	if err := h.press(ctx, "#close-shape"); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "8-phone-outline"); err != nil {
		return err
	}
	// The fingers went four times as far apart, and the corners are 120 CSS pixels from
	// each other.
	side := 120 / (4 * canvas.Width / width)
	var area float64
	found := regexp.MustCompile(`([\d,]+) px`).FindStringSubmatch(h.text(ctx, "#mark-status"))
	if len(found) == 2 {
		area, _ = strconv.ParseFloat(strings.ReplaceAll(found[1], ",", ""), 64)
	}
	if area < 0.95*side*side || area > 1.05*side*side {
		return fmt.Errorf("a square of %.1f pixels a side is previewed as %q", side, h.text(ctx, "#mark-status"))
	}
	return h.leave(ctx)
}

func (w *world) dark(ctx context.Context) error {
	for name, tab := range map[string]browser.Tab{
		"9-dark":       {Theme: "dark", Width: 1280, Height: 800, Scale: 1},
		"9-dark-phone": {Theme: "dark", Width: 390, Height: 844, Scale: 2, Touch: true},
	} {
		h, err := w.tab(ctx, tab)
		if err != nil {
			return err
		}
		if err := pause(ctx, 3*time.Second); err != nil { // figures of the last seconds
			return err
		}
		if err := h.picture(ctx, name); err != nil {
			return err
		}
		if err := h.press(ctx, "#mark"); err != nil {
			return err
		}
		if _, err := h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" }); err != nil {
			return err
		}
		if err := h.outlined(ctx, "sign", sign); err != nil {
			return err
		}
		if err := h.picture(ctx, name+"-marking"); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) console(context.Context) error {
	if faults := w.chromium.Faults(); len(faults) > 0 {
		return fmt.Errorf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
	return nil
}
