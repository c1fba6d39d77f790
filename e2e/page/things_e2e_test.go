//go:build e2e

package page

import (
	"context"
	"fmt"
	"image"
	"math"
	"strings"

	"github.com/chromedp/chromedp/kb"

	"github.com/segd/segd/bus/segdv1"
)

// clicked marks the walker by one click on her, and on a phone by a tap, of which only the preview is looked at.
func (w *world) clicked(ctx context.Context) error {
	h := w.desk
	phone, err := w.withPhone(ctx)
	if err != nil {
		return err
	}
	if err := w.alone(ctx); err != nil {
		return err
	}
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.Press(ctx, "n") })
	if err != nil {
		return err
	}
	_, onPhone, err := phone.freeze(ctx, firstMark, lastMark+10, func() error { return phone.press(ctx, "#mark") })
	if err != nil {
		return err
	}
	at := func(clip int) image.Point {
		body, _ := strokes(w.walker[clip])
		return body[len(body)/2]
	}
	if err := h.offered(ctx); err != nil {
		return err
	}
	if err := h.chooseByKeys(ctx, at(clip)); err != nil {
		return err
	}
	if err := h.hover(ctx, at(clip)); err != nil {
		return err
	}
	if err := h.outlines(ctx, "person"); err != nil {
		return err
	}
	if err := h.picture(ctx, "1-hover"); err != nil {
		return err
	}
	if err := h.click(ctx, at(clip)); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.picture(ctx, "1-clicked"); err != nil {
		return err
	}
	if err := h.name(ctx, "clicked"); err != nil {
		return err
	}
	from := w.log.count()
	if _, err := h.accept(ctx); err != nil {
		return err
	}
	m, err := w.log.until(ctx, from, "clicked", func(m *segdv1.MaskFrame) bool { return object(m, "clicked").GetArea() > 0 })
	if err != nil {
		return err
	}
	w.note("clicked on frame %d, followed from frame %d on", seq, m.GetSequence())
	if err := phone.offered(ctx); err != nil {
		return err
	}
	if err := phone.click(ctx, at(onPhone)); err != nil {
		return err
	}
	if err := phone.previewed(ctx); err != nil {
		return err
	}
	if err := phone.picture(ctx, "8-phone-tapped"); err != nil {
		return err
	}
	if text := phone.text(ctx, "#mark-status"); !strings.HasPrefix(text, "Preview.") {
		return fmt.Errorf("after a tap the page says %q", text)
	}
	if err := phone.leave(ctx); err != nil {
		return err
	}
	return w.followed(ctx, "clicked", m.GetSequence())
}

// offered waits until things can be marked by a click.
func (h *hand) offered(ctx context.Context) error {
	_, err := h.until(ctx, "what is found in the picture", func(said) bool { return strings.HasPrefix(h.text(ctx, "#mark-status"), "Click or tap") })
	return err
}

// outlines waits until a click would mark a thing of a class.
func (h *hand) outlines(ctx context.Context, class string) error {
	_, err := h.until(ctx, "the outline of a "+class, func(said) bool { return h.text(ctx, "#mark-status") == "Click to mark this "+class+"." })
	return err
}

// chooseByKeys moves the cross to a point of a person, marks her, and undoes that.
func (h *hand) chooseByKeys(ctx context.Context, p image.Point) error {
	box, err := h.Find(ctx, "#canvas")
	if err != nil {
		return err
	}
	const step = 12 // CSS pixels that the page moves the cross by
	to, from := onScreen(box, p), box.Middle()
	across, down := int(math.Round((to.X-from.X)/step)), int(math.Round((to.Y-from.Y)/step))
	keys := strings.Repeat(kb.ArrowRight, max(0, across)) + strings.Repeat(kb.ArrowLeft, max(0, -across)) +
		strings.Repeat(kb.ArrowDown, max(0, down)) + strings.Repeat(kb.ArrowUp, max(0, -down))
	if err := h.Press(ctx, keys); err != nil {
		return err
	}
	if err := h.outlines(ctx, "person"); err != nil {
		return err
	}
	if err := h.Press(ctx, "  "); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.Press(ctx, "z"); err != nil {
		return err
	}
	_, err = h.until(ctx, "no preview", func(s said) bool { return s.Preview == "none" })
	return err
}

// hover moves the mouse to a point of the picture.
func (h *hand) hover(ctx context.Context, p image.Point) error {
	box, err := h.Find(ctx, "#canvas")
	if err != nil {
		return err
	}
	return h.Hover(ctx, onScreen(box, p))
}
