//go:build e2e

package page

import (
	"context"
	"fmt"
	"image"
	"math"
	"strings"
	"time"

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
		chosen := time.Now()
		if err := by.h.previewed(ctx); err != nil {
			return err
		}
		w.note("chosen by %s: previewed after %v", by.name, time.Since(chosen).Round(time.Millisecond))
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

// shifted takes a piece off the parked car, and what is beside it on.
func (w *world) shifted(ctx context.Context) error {
	h := w.desk
	if err := h.begin(ctx); err != nil {
		return err
	}
	if err := h.offered(ctx); err != nil {
		return err
	}
	middle := car.Min.Add(car.Max).Div(2)
	if err := h.click(ctx, middle); err != nil {
		return err
	}
	if err := h.previewed(ctx); err != nil {
		return err
	}
	whole := h.previewedArea(ctx)
	for _, by := range []struct {
		name    string
		at      image.Point
		changed func(area int) bool
	}{
		{"off", middle, func(area int) bool { return area < whole }},
		{"on", image.Pt(middle.X, car.Max.Y+20), func(area int) bool { return area > whole }},
	} {
		box, err := h.Find(ctx, "#canvas")
		if err != nil {
			return err
		}
		if err := h.ShiftClick(ctx, onScreen(box, by.at)); err != nil {
			return err
		}
		if _, err := h.until(ctx, "a piece "+by.name, func(s said) bool { return s.Preview == "ready" && by.changed(h.previewedArea(ctx)) }); err != nil {
			return fmt.Errorf("%w; it had %d pixels", err, whole)
		}
		if err := h.picture(ctx, "8-shift-"+by.name); err != nil {
			return err
		}
		if err := h.press(ctx, "#undo"); err != nil {
			return err
		}
		if _, err := h.until(ctx, "the piece back", func(s said) bool { return s.Preview == "ready" && h.previewedArea(ctx) == whole }); err != nil {
			return err
		}
	}
	return h.leave(ctx)
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
