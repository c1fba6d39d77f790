//go:build e2e

package page

import (
	"context"
	"errors"
	"image"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// discard removes an object in the first page and waits until it is gone from the masks,
// and from the list, which moves up then.
func (w *world) discard(ctx context.Context, label string) error {
	if err := w.desk.pressRow(ctx, label, ".remove"); err != nil {
		return err
	}
	ctx, cancel := soon(ctx)
	defer cancel()
	if _, err := w.log.until(ctx, w.log.count(), "no "+label, func(m *segdv1.MaskFrame) bool { return object(m, label) == nil }); err != nil {
		return err
	}
	_, err := w.desk.until(ctx, "a list without "+label, func(said) bool { return !slices.Contains(w.desk.labels(ctx), label) })
	return err
}

// there waits for masks with an object.
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
	if err := h.press(ctx, "#toast button"); err != nil {
		return err
	}
	// Its answer would take the place of what is told next.
	_, err := h.until(ctx, "an answer to undo", func(said) bool { return !strings.Contains(h.text(ctx, "#toast:not([hidden])"), what) })
	return err
}

// toast: what undo needs is kept until undo is done, and the picture below what is told can be drawn on.
func (w *world) toast(ctx context.Context, t *testing.T) {
	var got struct{ Early, Below, Then []string }
	require.NoError(t, w.desk.Evaluate(ctx, toastOver, &got))
	if len(got.Early) > 0 || !slices.Equal(got.Below, []string{"canvas"}) || !slices.Equal(got.Then, []string{"undone", "gone"}) {
		t.Fatalf("before undo was done: %q; below the text: %q; then: %q", got.Early, got.Below, got.Then)
	}
}

const toastOver = `(async () => {
  const { Toast } = await import("/assets/toast.js");
  const box = document.createElement("div");
  box.className = "toast";
  document.querySelector("#toast").after(box);
  const toast = new Toast(box);
  const said = [];
  let done;
  toast.show("Something is marked on a frame.", { undo: () => new Promise((end) => (done = end)), gone: () => said.push("gone") });
  const { left, top, height } = box.getBoundingClientRect();
  const below = document.elementFromPoint(left + 20, top + height / 2);
  const undone = toast.undo();
  toast.hide(); // something else begins
  const early = [...said];
  said.push("undone");
  done("Undone.");
  await undone;
  box.remove();
  return { early, below: [below.id], then: said };
})()`

// soon bounds what happens at once even on a busy machine.
func soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not within 30 s"))
}

func (w *world) remove(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.discard(ctx, "second person"))
	require.NoError(t, h.undo(ctx, "second person is removed"))
	_, err := w.there(ctx, "second person")
	require.NoError(t, err)
	// Both are in the way of what follows: one is the person to be marked, and the other
	// walks off, and strangers may be taken for it then.
	for _, label := range []string{"person", "second person"} {
		require.NoError(t, h.listed(ctx, label))
		require.NoError(t, w.discard(ctx, label))
	}
}

// alone removes all objects, as a person who is followed is in the way of marking her
// anew, and leaves the second page: a phone does not draw on the machine that segd is on.
func (w *world) alone(ctx context.Context) error {
	if w.second != nil {
		if err := w.second.Evaluate(ctx, `location.href = "about:blank"`, new(string)); err != nil {
			return err
		}
		w.second = nil
	}
	for _, label := range w.desk.labels(ctx) {
		if err := w.discard(ctx, label); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) rename(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.pressRow(ctx, "person", ".rename"))
	if err := h.Type(ctx, "walker"); err != nil { // the old name is selected
		t.Fatal(err)
	}
	require.NoError(t, h.Press(ctx, kb.Enter))
	m, err := w.there(ctx, "walker")
	require.NoError(t, err)
	if object(m, "person") != nil {
		t.Fatal("the old name is there still")
	}
	require.NoError(t, h.listed(ctx, "walker"))
	require.NoError(t, h.undo(ctx, "is called walker"))
	_, err = w.there(ctx, "person")
	require.NoError(t, err)
	require.NoError(t, h.listed(ctx, "person"))
}

// correct wipes the lower half of the walker's mask away.
func (w *world) correct(ctx context.Context, t *testing.T) {
	h := w.desk
	seq, clip, err := h.freeze(ctx, firstMark, lastMark, func() error { return h.pressRow(ctx, "person", ".correct") })
	require.NoError(t, err)
	require.NoError(t, h.tool(ctx, "erase"))
	box := w.walker[clip].Box()
	var wipe []image.Point // to and fro, with few points: she is gone soon
	from, to := box.Min.X-8, box.Max.X+8
	for y := box.Min.Y + box.Dy()/2; y < box.Max.Y+4; y += 8 {
		wipe = append(wipe, image.Pt(from, y), image.Pt(to, y))
		from, to = to, from
	}
	require.NoError(t, h.draw(ctx, wipe...))
	require.NoError(t, h.previewed(ctx))
	require.NoError(t, h.picture(ctx, "3-erasing"))
	_, err = h.accept(ctx)
	require.NoError(t, err)
	half, err := w.walkerIs(ctx, "half a person", func(high float64) bool { return high < 0.75 })
	require.NoError(t, err)
	w.note("frame %d was corrected; by frame %d it is half of her", seq, half.GetSequence())
	require.NoError(t, h.undo(ctx, "is marked"))
	again, err := w.walkerIs(ctx, "the whole person", func(high float64) bool { return high > 0.85 })
	require.NoError(t, err)
	w.note("undone by frame %d", again.GetSequence())
}

// walkerIs waits for a mask of the walker whose height is as is wanted, as a share of the reference's in that frame: she gets smaller.
func (w *world) walkerIs(ctx context.Context, what string, want func(high float64) bool) (*segdv1.MaskFrame, error) {
	return w.log.until(ctx, w.log.count(), what, func(m *segdv1.MaskFrame) bool {
		o, walker := object(m, "person"), w.walker[clipAt(m)]
		return o != nil && o.GetArea() > 0 && !walker.Box().Empty() && want(float64(o.GetBox().GetHeight())/float64(walker.Box().Dy()))
	})
}
