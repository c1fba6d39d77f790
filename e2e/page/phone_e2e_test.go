//go:build e2e

package page

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
)

func (w *world) onPhone(ctx context.Context, t *testing.T) {
	h, err := w.withPhone(ctx)
	require.NoError(t, err)
	require.NoError(t, w.alone(ctx))
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.press(ctx, "#mark") })
	require.NoError(t, err)
	box := w.walker[clip].Box().Inset(-4)
	require.NoError(t, h.tool(ctx, "box"))
	require.NoError(t, h.draw(ctx, box.Min, box.Max))
	body, _ := strokes(w.walker[clip])
	require.NoError(t, h.tool(ctx, "object"))
	require.NoError(t, h.draw(ctx, body...))
	require.NoError(t, h.name(ctx, "by phone"))
	require.NoError(t, h.previewed(ctx))
	require.NoError(t, h.picture(ctx, "8-phone-marking"))
	from := w.log.count()
	at, err := h.accept(ctx)
	require.NoError(t, err)
	m, err := w.log.until(ctx, from, "by phone", func(m *segdv1.MaskFrame) bool { return object(m, "by phone").GetArea() > 0 })
	require.NoError(t, err)
	w.note("marked on frame %d; %v after accepting the masks of frame %d had it", seq, m.GetPublishTime().AsTime().Sub(at).Round(time.Millisecond), m.GetSequence())
	require.NoError(t, w.followed(ctx, "by phone", m.GetSequence()))
}

func (w *world) withPhone(ctx context.Context) (_ *hand, err error) {
	if w.phone == nil {
		if w.phone, err = w.tab(ctx, browser.Tab{Theme: "light", Width: phoneWidth, Height: 844, Scale: 2, Touch: true}); err != nil {
			return nil, err
		}
		err = w.phone.fits(ctx)
	}
	return w.phone, err
}

const phoneWidth = 390

// fits tells what is wider than a phone: the page would be shrunk, and taps miss.
func (h *hand) fits(ctx context.Context) error {
	var over []string
	err := h.Evaluate(ctx, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > %d)
		.map((e) => e.id || e.getAttribute("class") || e.tagName)`, phoneWidth), &over)
	if err == nil && len(over) > 0 {
		err = fmt.Errorf("wider than the phone's %d pixels: %q", phoneWidth, over)
	}
	return err
}

// fingers zooms in with two and draws with one; the drawing must be where the finger
// was, on the enlarged picture.
func (w *world) fingers(ctx context.Context, t *testing.T) {
	h, err := w.withPhone(ctx)
	require.NoError(t, err)
	require.NoError(t, h.picture(ctx, "7-phone"))
	require.NoError(t, h.begin(ctx))
	canvas, err := h.Find(ctx, "#canvas")
	require.NoError(t, err)
	middle := canvas.Middle()
	var left, right []browser.Point
	for d := 20.0; d <= 80; d += 10 {
		left = append(left, browser.Point{X: middle.X - d, Y: middle.Y})
		right = append(right, browser.Point{X: middle.X + d, Y: middle.Y})
	}
	require.NoError(t, h.Touch(ctx, left, right))
	if s, err := h.said(ctx); err != nil || s.Preview != "none" {
		t.Fatal(errors.Join(err, fmt.Errorf("zooming drew something: %+v", s)))
	}
	require.NoError(t, h.tool(ctx, "polygon"))
	for _, d := range []browser.Point{{X: -60, Y: -60}, {X: 60, Y: -60}, {X: 60, Y: 60}, {X: -60, Y: 60}} {
		require.NoError(t, h.Touch(ctx, []browser.Point{{X: middle.X + d.X, Y: middle.Y + d.Y}}))
	}
	require.NoError(t, h.press(ctx, "#close-shape"))
	require.NoError(t, h.previewed(ctx))
	require.NoError(t, h.picture(ctx, "8-phone-outline"))
	// The fingers went four times as far apart, and the corners are 120 CSS pixels from
	// each other.
	side := 120 / (4 * canvas.Width / width)
	area := float64(h.previewedArea(ctx))
	if area < 0.95*side*side || area > 1.05*side*side {
		t.Fatalf("a square of %.1f pixels a side is previewed as %q", side, h.text(ctx, "#mark-status"))
	}
	require.NoError(t, h.leave(ctx))
}
