//go:build e2e

package page

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
)

func rectangle(b *segdv1.Box) image.Rectangle {
	return image.Rect(int(b.GetX()), int(b.GetY()), int(b.GetX()+b.GetWidth()), int(b.GetY()+b.GetHeight()))
}

// regions has the page show where objects are looked for: each of those that are seen lies in
// a rectangle, as long as the button is pressed.
func (w *world) regions(ctx context.Context, t *testing.T) {
	h := w.desk
	parts := func(m *segdv1.MaskFrame) (all []image.Rectangle) {
		for _, r := range m.GetRegionsOfInterest() {
			all = append(all, rectangle(r.GetBox()))
		}
		return all
	}
	// Of the frame that they were marked on all is looked at.
	round := func(m *segdv1.MaskFrame) bool {
		o := object(m, "person")
		return o.GetArea() > 0 && len(parts(m)) > 0 && !slices.Contains(parts(m), image.Rect(0, 0, width, height))
	}
	const what = "parts of the picture that are looked at"
	before, err := h.shown(ctx, what, round)
	require.NoError(t, err)
	for _, r := range parts(before.masks) {
		if before.dashed(r) {
			t.Fatalf("frame %d: a rectangle round %v before anybody wants it", before.masks.GetSequence(), r)
		}
	}
	require.NoError(t, h.toggleRegions(ctx, true))
	on, err := h.shown(ctx, what, round)
	require.NoError(t, err)
	require.NoError(t, h.picture(ctx, "1-regions"))
	w.note("frame %d: %v", on.masks.GetSequence(), on.masks.GetRegionsOfInterest())
	for _, r := range parts(on.masks) {
		if !on.dashed(r) {
			t.Fatalf("frame %d: %v is looked at, and no rectangle round it: %v of its sides is white", on.masks.GetSequence(), r, on.edges(r))
		}
	}
	for _, o := range on.masks.GetObjects() {
		box := rectangle(o.GetBox())
		if o.GetArea() > 0 && !slices.ContainsFunc(parts(on.masks), box.In) {
			t.Fatalf("frame %d: %s at %v is in none of %v", on.masks.GetSequence(), o.GetLabel(), box, parts(on.masks))
		}
	}
	var inked [2]int // the demo's picture has no more to be seen where it is zoomed
	require.NoError(t, h.Evaluate(ctx, zooming, &inked))
	if inked[0] != 0 || inked[1] == 0 {
		t.Fatalf("%d pixels tell of zoom 1, %d of zoom 4; want none and some", inked[0], inked[1])
	}
	require.NoError(t, h.toggleRegions(ctx, false))
}

// zooming draws a region seen at 1 and at 4 times its size, and counts what is in its corner.
const zooming = `(async () => {
  const { drawRegions } = await import("/assets/draw.js");
  return [1, 4].map((zoom) => {
    const ctx = document.createElement("canvas").getContext("2d");
    drawRegions(ctx, [{ x: 10, y: 10, width: 80, height: 80, zoom }], { left: 0, top: 0, scale: 1, across: 1 }, 1);
    return ctx.getImageData(12, 12, 20, 12).data.filter((v, i) => i % 4 === 3 && v > 0).length;
  });
})()`

// noRegions sees that nothing is looked at any more when all objects were removed.
func (w *world) noRegions(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, w.alone(ctx))
	require.NoError(t, h.toggleRegions(ctx, true))
	none, err := h.shown(ctx, "nothing that is looked at", func(m *segdv1.MaskFrame) bool {
		return len(m.GetObjects()) == 0 && len(m.GetRegionsOfInterest()) == 0
	})
	require.NoError(t, err)
	require.NoError(t, h.picture(ctx, "3-no-regions"))
	masks, _, _ := w.log.from(0)
	for _, m := range masks { // of any frame before
		for _, r := range m.GetRegionsOfInterest() {
			if none.dashed(rectangle(r.GetBox())) {
				t.Fatalf("frame %d: nothing is looked at, and a rectangle round %v", none.masks.GetSequence(), r.GetBox())
			}
		}
	}
	require.NoError(t, h.toggleRegions(ctx, false))
}

// toggleRegions presses the button, which then says whether it is pressed.
func (h *hand) toggleRegions(ctx context.Context, on bool) error {
	if err := h.press(ctx, "#regions"); err != nil {
		return err
	}
	ctx, cancel := soon(ctx)
	defer cancel()
	pressed := fmt.Sprintf("#regions[aria-pressed=%t]", on)
	_, err := h.until(ctx, pressed, func(said) bool { return len(h.texts(ctx, pressed)) == 1 })
	return err
}

// shown is what the canvas of a page shows, and what came on NATS of that frame.
type shown struct {
	image.Image
	masks *segdv1.MaskFrame
}

// shown waits for a frame that is wanted.
func (h *hand) shown(ctx context.Context, what string, want func(*segdv1.MaskFrame) bool) (shown, error) {
	ctx, cancel := soon(ctx)
	defer cancel()
	for {
		var got struct{ Sequence, URL string }
		if err := h.Evaluate(ctx, `({ sequence: document.body.dataset.sequence, url: document.querySelector("#canvas").toDataURL() })`, &got); err != nil {
			return shown{}, err
		}
		seq, err := strconv.ParseUint(got.Sequence, 10, 64)
		if err != nil {
			return shown{}, err
		}
		if m := h.w.log.of(seq); m != nil && want(m) {
			text, ok := strings.CutPrefix(got.URL, "data:image/png;base64,")
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil || !ok {
				return shown{}, errors.Join(err, fmt.Errorf("the canvas is no PNG but %.30q", got.URL))
			}
			img, err := png.Decode(bytes.NewReader(data))
			return shown{img, m}, err
		}
		if err := harness.Pause(ctx, 100*time.Millisecond); err != nil {
			return shown{}, fmt.Errorf("%w: waited for %s; frame %d is shown: %v", err, what, seq, h.w.log.of(seq))
		}
	}
}

// dashed says whether there are white dashes, and gaps between them, along all sides of a
// rectangle of the frame.
func (s shown) dashed(r image.Rectangle) bool {
	return !slices.ContainsFunc(s.edges(r), func(white float64) bool { return white < 0.25 || white > 0.75 })
}

// edges are the shares of white pixels of a rectangle's sides: top, bottom, left, right.
func (s shown) edges(r image.Rectangle) (white []float64) {
	b := s.Bounds()
	scale := min(float64(b.Dx())/width, float64(b.Dy())/height)
	left, top := (float64(b.Dx())-scale*width)/2, (float64(b.Dy())-scale*height)/2
	x := func(v int) int { return int(math.Round(left + scale*float64(v))) }
	y := func(v int) int { return int(math.Round(top + scale*float64(v))) }
	x0, y0, x1, y1 := x(r.Min.X), y(r.Min.Y), x(r.Max.X), y(r.Max.Y)
	for _, side := range []image.Rectangle{
		image.Rect(x0, y0, x1, y0+1), image.Rect(x0, y1-1, x1, y1), image.Rect(x0, y0, x0+1, y1), image.Rect(x1-1, y0, x1, y1),
	} {
		n := 0
		for y := side.Min.Y; y < side.Max.Y; y++ {
			for x := side.Min.X; x < side.Max.X; x++ {
				if red, green, blue, _ := s.At(x, y).RGBA(); min(red, green, blue) >= 0xf000 {
					n++
				}
			}
		}
		white = append(white, float64(n)/float64(max(1, side.Dx()*side.Dy())))
	}
	return white
}
