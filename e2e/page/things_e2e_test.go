//go:build e2e

package page

import (
	"context"
	"image"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// clicked marks the walker by one click on her.
func (w *world) clicked(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.alone(ctx))
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.Press(ctx, "n") })
	require.NoError(t, err)
	require.NoError(t, h.offered(ctx))
	body, _ := strokes(w.walker[clip])
	require.NoError(t, h.click(ctx, body[len(body)/2]))
	require.NoError(t, h.previewed(ctx))
	require.NoError(t, h.name(ctx, "clicked"))
	m, err := w.accepted(ctx, h, "clicked")
	require.NoError(t, err)
	w.note("clicked on frame %d, followed from frame %d on", seq, m.GetSequence())
	require.NoError(t, w.followed(ctx, "clicked", m.GetSequence()))
}

// chosen chooses the parked car by keys and with the mouse, and on a phone by a tap, and throws that away.
func (w *world) chosen(ctx context.Context, t *testing.T) {
	phone, err := w.withPhone(ctx)
	require.NoError(t, err)
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
		require.NoError(t, by.h.begin(ctx))
		require.NoError(t, by.h.offered(ctx))
		require.NoError(t, by.choose())
		chosen := time.Now()
		require.NoError(t, by.h.previewed(ctx))
		w.note("chosen by %s: previewed after %v", by.name, time.Since(chosen).Round(time.Millisecond))
		require.NoError(t, by.h.picture(ctx, "8-chosen-by-"+by.name))
		if text := by.h.text(ctx, "#mark-status"); !strings.HasPrefix(text, "Preview.") {
			t.Fatalf("chosen by %s: the page says %q", by.name, text)
		}
		require.NoError(t, by.h.leave(ctx))
	}
}

// shifted takes a piece off the parked car, and what is beside it on.
func (w *world) shifted(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.begin(ctx))
	require.NoError(t, h.offered(ctx))
	middle := car.Min.Add(car.Max).Div(2)
	require.NoError(t, h.click(ctx, middle))
	require.NoError(t, h.previewed(ctx))
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
		require.NoError(t, err)
		require.NoError(t, h.ShiftClick(ctx, onScreen(box, by.at)))
		if _, err := h.until(ctx, "a piece "+by.name, func(s said) bool { return s.Preview == "ready" && by.changed(h.previewedArea(ctx)) }); err != nil {
			t.Fatalf("%v; it had %d pixels", err, whole)
		}
		require.NoError(t, h.picture(ctx, "8-shift-"+by.name))
		require.NoError(t, h.press(ctx, "#undo"))
		_, err = h.until(ctx, "the piece back", func(s said) bool { return s.Preview == "ready" && h.previewedArea(ctx) == whole })
		require.NoError(t, err)
	}
	require.NoError(t, h.leave(ctx))
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
