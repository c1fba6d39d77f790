//go:build e2e

package page

import (
	"context"
	"fmt"
	"image"
	"math"
	"strings"

	"github.com/chromedp/chromedp/kb"
)

// clicked marks the walker by one click on her.
func (w *world) clicked(ctx context.Context) error {
	h := w.desk
	if err := w.alone(ctx); err != nil {
		return err
	}
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.Press(ctx, "n") })
	if err != nil {
		return err
	}
	if err := h.offered(ctx); err != nil {
		return err
	}
	body, _ := strokes(w.walker[clip])
	if err := h.click(ctx, body[len(body)/2]); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	if err := h.name(ctx, "clicked"); err != nil {
		return err
	}
	m, err := w.accepted(ctx, h, "clicked")
	if err != nil {
		return err
	}
	w.note("clicked on frame %d, followed from frame %d on", seq, m.GetSequence())
	return w.followed(ctx, "clicked", m.GetSequence())
}

// chosen chooses the parked car by keys and with the mouse, and on a phone by a tap, and throws that away.
func (w *world) chosen(ctx context.Context) error {
	phone, err := w.withPhone(ctx)
	if err != nil {
		return err
	}
	at := car.Min.Add(car.Max).Div(2)
	for _, by := range []struct {
		h      *hand
		name   string
		choose func() error
	}{
		{w.desk, "keys", func() error { return w.desk.chooseByKeys(ctx, at) }},
		{w.desk, "mouse", func() error {
			if err := w.desk.hover(ctx, at); err != nil {
				return err
			}
			if err := w.desk.outlines(ctx); err != nil {
				return err
			}
			if err := w.desk.picture(ctx, "8-hover"); err != nil {
				return err
			}
			return w.desk.click(ctx, at)
		}},
		{phone, "tap", func() error { return phone.click(ctx, at) }},
	} {
		if err := by.h.begin(ctx); err != nil {
			return err
		}
		if err := by.h.offered(ctx); err != nil {
			return err
		}
		if err := by.choose(); err != nil {
			return err
		}
		if err := by.h.previewed(ctx); err != nil {
			return err
		}
		if err := by.h.picture(ctx, "8-chosen-by-"+by.name); err != nil {
			return err
		}
		if text := by.h.text(ctx, "#mark-status"); !strings.HasPrefix(text, "Preview.") {
			return fmt.Errorf("chosen by %s: the page says %q", by.name, text)
		}
		if err := by.h.leave(ctx); err != nil {
			return err
		}
	}
	return nil
}

// offered waits until things can be marked by a click.
func (h *hand) offered(ctx context.Context) error {
	_, err := h.until(ctx, "what is found in the picture", func(said) bool { return strings.HasPrefix(h.text(ctx, "#mark-status"), "Click or tap") })
	return err
}

// outlines waits until a click would mark a thing.
func (h *hand) outlines(ctx context.Context) error {
	_, err := h.until(ctx, "an outline", func(said) bool { return strings.HasPrefix(h.text(ctx, "#mark-status"), "Click to mark this ") })
	return err
}

// chooseByKeys moves the cross to a point of the picture and marks what is there.
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
	if err := h.outlines(ctx); err != nil {
		return err
	}
	return h.Press(ctx, "  ")
}

// hover moves the mouse to a point of the picture.
func (h *hand) hover(ctx context.Context, p image.Point) error {
	box, err := h.Find(ctx, "#canvas")
	if err != nil {
		return err
	}
	return h.Hover(ctx, onScreen(box, p))
}
