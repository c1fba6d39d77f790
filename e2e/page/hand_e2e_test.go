//go:build e2e

package page

import (
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/mask"
)

// hand uses one page.
type hand struct {
	*browser.Page
	w     *world
	touch bool
}

// said is what the page tells of itself on its body.
type said struct{ Mode, Preview, Frozen, Sequence, Frames, Objects string }

func (h *hand) said(ctx context.Context) (s said, err error) {
	return s, h.Evaluate(ctx, `({...document.body?.dataset})`, &s)
}

// until waits for the page to say something.
func (h *hand) until(ctx context.Context, what string, ok func(said) bool) (said, error) {
	for {
		s, err := h.said(ctx)
		if err != nil || ok(s) {
			return s, err
		}
		if err := harness.Pause(ctx, 30*time.Millisecond); err != nil {
			return s, fmt.Errorf("%w: waited for %s; the page says %+v and %q", err, what, s, h.text(ctx, "#mark-status, #mark-faults, #toast"))
		}
	}
}

// texts are what the elements that a selector finds say.
func (h *hand) texts(ctx context.Context, selector string) (texts []string) {
	_ = h.Evaluate(context.WithoutCancel(ctx), fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.textContent.trim())`, selector), &texts)
	return texts
}

// text is texts in a line.
func (h *hand) text(ctx context.Context, selector string) string {
	return strings.Join(h.texts(ctx, selector), " | ")
}

// press clicks or taps what a selector finds.
func (h *hand) press(ctx context.Context, selector string) error {
	box, err := h.Find(ctx, selector)
	if err != nil {
		return err
	}
	if h.touch {
		// As a hand takes.
		if err := harness.Pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
		return h.Touch(ctx, []browser.Point{box.Middle()})
	}
	return h.Click(ctx, box.Middle())
}

// tool chooses one. A tap soon after a stroke is none to a Chromium that is busy: as
// people do, it is tried again if the tool is not the chosen one then.
func (h *hand) tool(ctx context.Context, name string) error {
	selector := "[data-tool=" + name + "]"
	for range 3 {
		if err := h.press(ctx, selector); err != nil {
			return err
		}
		moment, cancel := context.WithTimeout(ctx, time.Second)
		_, err := h.until(moment, name+" to be chosen", func(said) bool { return len(h.texts(ctx, selector+"[aria-pressed=true]")) > 0 })
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is not chosen", selector)
}

// row is the selector of something in the row of the object with a label.
func (h *hand) row(ctx context.Context, label, selector string) (string, error) {
	var id string
	err := h.Evaluate(ctx, fmt.Sprintf(`[...document.querySelectorAll(".object")].find((e) => e.querySelector(".object-label").textContent === %q)?.dataset.id ?? ""`, label), &id)
	if err == nil && id == "" {
		err = fmt.Errorf("the page lists no %q but %q", label, h.text(ctx, ".object-label"))
	}
	return fmt.Sprintf(".object[data-id='%s'] %s", id, selector), err
}

func (h *hand) pressRow(ctx context.Context, label, selector string) error {
	at, err := h.row(ctx, label, selector)
	if err != nil {
		return err
	}
	return h.press(ctx, at)
}

// freeze waits until the picture shows one of the clip's frames from low to high,
// freezes it by do, and returns its sequence number and clip frame.
func (h *hand) freeze(ctx context.Context, low, high int, do func() error) (seq uint64, clip int, err error) {
	_, err = h.until(ctx, fmt.Sprintf("frame %d of the clip", low), func(s said) bool {
		n, err := strconv.ParseUint(s.Sequence, 10, 64)
		m := h.w.log.of(n)
		return err == nil && m != nil && clipAt(m) >= low && clipAt(m) <= high
	})
	if err != nil {
		return 0, 0, err
	}
	if err := do(); err != nil {
		return 0, 0, err
	}
	s, err := h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" })
	if err != nil {
		return 0, 0, err
	}
	if seq, err = strconv.ParseUint(s.Frozen, 10, 64); err != nil {
		return 0, 0, err
	}
	m := h.w.log.of(seq)
	if m == nil {
		return 0, 0, fmt.Errorf("frame %d is frozen, and its masks were never on NATS", seq)
	}
	return seq, clipAt(m), nil
}

// draw draws through points of the picture; the view must be all of it.
func (h *hand) draw(ctx context.Context, points ...image.Point) error {
	box, err := h.Find(ctx, "#canvas")
	if err != nil {
		return err
	}
	var way []browser.Point
	for k, p := range points {
		q := points[max(0, k-1)]
		for s := 1; s <= 2; s++ { // as a hand goes, not in leaps
			way = append(way, onScreen(box, image.Pt(q.X+(p.X-q.X)*s/2, q.Y+(p.Y-q.Y)*s/2)))
		}
	}
	if h.touch {
		return h.Touch(ctx, way)
	}
	return h.Drag(ctx, way...)
}

// onScreen is where a point of the picture is, all of which is seen on the canvas.
func onScreen(canvas browser.Box, p image.Point) browser.Point {
	scale := min(canvas.Width/width, canvas.Height/height)
	return browser.Point{
		X: canvas.Left + (canvas.Width-scale*width)/2 + scale*float64(p.X),
		Y: canvas.Top + (canvas.Height-scale*height)/2 + scale*float64(p.Y),
	}
}

// click presses the mouse's button, or taps, on points of the picture, one after the other.
func (h *hand) click(ctx context.Context, points ...image.Point) error {
	box, err := h.Find(ctx, "#canvas")
	if err != nil {
		return err
	}
	for _, p := range points {
		if h.touch {
			err = h.Touch(ctx, []browser.Point{onScreen(box, p)})
		} else {
			err = h.Click(ctx, onScreen(box, p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin presses the button that freezes the picture for a new object.
func (h *hand) begin(ctx context.Context) error {
	if err := h.press(ctx, "#mark"); err != nil {
		return err
	}
	_, err := h.until(ctx, "the frozen picture", func(s said) bool { return s.Mode == "marking" })
	return err
}

// name gives what is being marked a name.
func (h *hand) name(ctx context.Context, name string) error {
	if err := h.press(ctx, "#mark-name"); err != nil {
		return err
	}
	return h.Type(ctx, name)
}

// previewed waits for what the page shows of the marks.
func (h *hand) previewed(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Second, fmt.Errorf("no preview after 20 s"))
	defer cancel()
	_, err := h.until(ctx, "a preview", func(s said) bool { return s.Preview == "ready" })
	return err
}

// previewedArea is how many pixels the page says that the marks make; 0: it does not say.
func (h *hand) previewedArea(ctx context.Context) int {
	found := regexp.MustCompile(`([\d,]+) px`).FindStringSubmatch(h.text(ctx, "#mark-status"))
	if len(found) != 2 {
		return 0
	}
	area, _ := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	return area
}

// accept presses the button and returns when it did, once the page is live again.
func (h *hand) accept(ctx context.Context) (at time.Time, err error) {
	box, err := h.Find(ctx, "#accept")
	if err != nil {
		return at, err
	}
	at = time.Now()
	if h.touch {
		err = h.Touch(ctx, []browser.Point{box.Middle()})
	} else {
		err = h.Click(ctx, box.Middle())
	}
	if err != nil {
		return at, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Second, fmt.Errorf("not accepted after 20 s"))
	defer cancel()
	_, err = h.until(ctx, "the live picture", func(s said) bool { return s.Mode == "live" })
	return at, err
}

// picture keeps how the page looks.
func (h *hand) picture(ctx context.Context, name string) error {
	if err := harness.Pause(ctx, 300*time.Millisecond); err != nil { // what has just changed is drawn
		return err
	}
	png, err := h.Capture(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.w.pictures, name+".png"), png, 0o644)
}

// strokes are where a user who sees a person would draw: down the body, and right
// around it.
func strokes(person mask.RLE) (body, around []image.Point) {
	box := person.Box()
	bits := person.Decode(nil)
	for _, share := range []float64{0.1, 0.25, 0.4, 0.55, 0.7} {
		y := box.Min.Y + int(share*float64(box.Dy()))
		sum, n := 0, 0
		for x := box.Min.X; x < box.Max.X; x++ {
			if bits[y*width+x] != 0 {
				sum, n = sum+x, n+1
			}
		}
		if n > 0 {
			body = append(body, image.Pt(sum/n, y))
		}
	}
	ring := box.Inset(-14).Intersect(image.Rect(2, 2, width-2, height-2))
	around = []image.Point{
		ring.Min, {X: ring.Max.X, Y: ring.Min.Y}, ring.Max, {X: ring.Min.X, Y: ring.Max.Y}, ring.Min,
	}
	return body, around
}
